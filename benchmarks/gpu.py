"""What a GPU does: batches of datasets, many local reports, one draw from many rows. One command, one file of JSON.

    python benchmarks/gpu.py --out gpu.json [--limit 360] [--only calibration-300 ...] [--data DATA] [--quick]

From a checkout nothing has to be installed but numpy, scipy, jax, numpyro and pyarrow. Every part is a process of its
own with a time limit of its own and an empty cache of compiled programs, and writes down what it has found so far: one
that fails or runs out of time leaves a line that says so, and the others go on. The part named "processor" does the
work of "calibration-300" on the processor of the same machine.

The sizes are those of the table in docs/benchmarks.md; ``--quick`` takes very small ones, which shows that every part
runs and measures nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from itertools import chain
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROWS = 1000  # of a dataset in a batch
WARMUP, RANKED = 300, 99  # steps before the draws, and draws that are ranked: those of `tacit calibrate`
LEAPS = 16  # of every trajectory: see `tacit.calibrate`
STUDY = 500  # replicates of benchmarks/calibration_sbc.py
REPORTS, LEVELS = 10_000_000, 16
MANY_ROWS = 50_000
RELEASES, DISTINCT = 1000, 20  # posteriors of one table in one call, and how many releases they are of
DATA = "TACIT_GPU_DATA"  # where the table's file is
REPEATS = 3  # after the first call, which compiles

Found = Generator[dict[str, Any], None, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("gpu.json"))
    parser.add_argument("--limit", type=float, default=360.0, help="seconds for all parts together")
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--data", help="the folder of the tables of `real_tables.py`, for the part named table-1000")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    said = parser.parse_args()
    if said.data is not None:
        os.environ[DATA] = str(Path(said.data).resolve())
    if said.part is not None:
        _work(said.part, said.out, quick=said.quick)
        return
    deadline = time.time() + said.limit
    whole: dict[str, Any] = {"date": time.strftime("%Y-%m-%d"), "quick": said.quick, "parts": {}}
    for name in said.only:
        if name == "table-1000" and DATA not in os.environ:
            continue
        limit = min(PARTS[name][0], deadline - time.time())
        found = _run(name, limit, quick=said.quick) if limit > 5 else {"error": "not started: no time was left"}
        whole["parts"][name] = found
        print(json.dumps({name: found}), flush=True)
        said.out.write_text(json.dumps(whole, indent=1) + "\n", "utf-8")


def _run(name: str, limit: float, *, quick: bool) -> dict[str, Any]:
    """One part in a process of its own; what it had written down when it ended, and how it ended."""
    began = time.time()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "found.json"
        places = [str(HERE.parent / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
        settings = {"JAX_COMPILATION_CACHE_DIR": f"{folder}/cache", "PYTHONPATH": os.pathsep.join(places)}
        if name == "processor":
            settings["JAX_PLATFORMS"] = "cpu"
        command = [sys.executable, str(HERE / "gpu.py"), "--part", name, "--out", str(out), *["--quick"] * quick]
        error = None
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=limit, env={**os.environ, **settings}, check=False
            )
            if done.returncode:
                error = (done.stderr.strip().splitlines() or ["no message"])[-1][:400]
        except subprocess.TimeoutExpired:
            error = f"stopped after {limit:.0f} s"
        found = json.loads(out.read_text("utf-8")) if out.exists() else {}
    return {**found, **({"error": error} if error else {}), "wall_seconds": round(time.time() - began, 1)}


def _work(name: str, out: Path, *, quick: bool) -> None:
    """In the process of one part: keep on disk what has been found so far."""
    found: dict[str, Any] = {}
    try:
        for more in chain([_machine()], PARTS[name][1](quick)):
            found.update(more)
            _keep(found, out)
    except Exception as error:  # the other parts go on
        _keep({**found, "error": f"{type(error).__name__}: {error}"[:400]}, out)
        raise SystemExit(f"{type(error).__name__}: {error}"[:400]) from None


def _keep(found: dict[str, Any], out: Path) -> None:
    half = out.with_suffix(".half")
    half.write_text(json.dumps(found), "utf-8")
    half.replace(out)


def _machine() -> dict[str, Any]:
    """The hardware and the versions that matter."""
    from importlib.metadata import version

    import jax

    device = jax.devices()[0]
    return {
        "device": device.device_kind,
        "platform": device.platform,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "versions": {"python": platform.python_version(), **{p: version(p) for p in ("jax", "numpyro", "numpy")}},
    }


def _repeated(call: Callable[[int], Any]) -> Found:
    """Times of ``call(seed)``, the first with compilation and `REPEATS` without; gives what the last call gave."""
    took: list[float] = []
    for seed in range(1, 2 + REPEATS):
        began = time.perf_counter()
        found = call(seed)
        took.append(round(time.perf_counter() - began, 3))
        yield {"first_seconds": took[0], "again_seconds": took[1:]}
    return found


# ---------------------------------------------------------------------------------------------------------------------
# A batch of datasets


def linear_plan() -> tuple[Any, dict[str, Any]]:
    """The default linear model with three covariates, and a prior that keeps values inside the bounds."""
    import tacit

    names = ["x1", "x2", "x3"]
    schema = tacit.Schema(y=(-1, 1), **dict.fromkeys(names, (-1, 1)))
    plan = tacit.Plan(tacit.LinearRegression("y ~ " + " + ".join(names)), schema, tacit.PureDP(1.0))
    prior = {"a0": 20.0, "b0": 0.5, "psi0": 1.0, "kappa0": 20.0, "nu0": 32.0, "lambda0": (20.0, 5.0, 5.0, 5.0)}
    return plan, prior


def _batch(datasets: int) -> Callable[[bool], Found]:
    """Posteriors of so many datasets in one compiled call, twice: with compilation, and without."""

    def work(quick: bool) -> Found:
        import numpy as np

        import tacit
        from tacit.infer import method_for, posterior_arrays, problem_of
        from tacit.runtime.chain import SamplerSettings

        count = 4 if quick else datasets
        plan, prior = linear_plan()
        problem = problem_of(plan, prior, ROWS)
        method = method_for(problem, None)
        thin = problem.methods[method].thin
        settings = SamplerSettings(*((20, 8) if quick else (WARMUP, RANKED * thin)), num_leapfrog_steps=LEAPS)
        yield {"what": f"linear, 3 covariates, {ROWS} rows, method {method}", "datasets": count}
        began = time.perf_counter()
        releases = [tacit.simulate(plan, n=ROWS, seed=seed, prior=prior) for seed in range(count)]
        values = [one.numbers() for one in releases]
        yield {"simulating_seconds": round(time.perf_counter() - began, 2)}
        arrays, diagnostics = yield from _repeated(
            lambda seed: posterior_arrays(problem, method, settings, values, chains=1, seed=seed)
        )
        effective = {name: _effective(array) for name, array in arrays.items() if name in ("theta", "sigma")}
        least = np.minimum(effective["theta"], effective["sigma"])
        yield {
            "steps": settings.warmup + settings.draws,
            "gradients_a_step": round(float(np.mean(diagnostics["n_steps"])), 1),
            "most_gradients_a_step": int(np.max(diagnostics["n_steps"])),
            "diverging": int(np.sum(diagnostics["diverging"])),
            "not_finite": int(sum((~np.isfinite(array)).sum() for array in arrays.values())),
            "draws": settings.draws,
            "effective_draws_of_a_dataset": round(float(np.median(least))),
            "effective_draws": round(float(least.sum())),
        }

    return work


def _effective(array: Any) -> Any:
    """For every dataset, the least effective number of draws over the numbers of one parameter, by NumPyro's rule."""
    import numpy as np
    from numpyro.diagnostics import effective_sample_size

    datasets, _, draws = array.shape[:3]
    flat = np.asarray(array).reshape(datasets, draws, -1)
    return effective_sample_size(np.moveaxis(flat, 0, 1)[None]).min(axis=1)


def _study(quick: bool) -> Found:
    """The study of benchmarks/calibration_sbc.py: simulating, sampling and ranking, with and without compilation."""
    import tacit

    plan, prior = linear_plan()
    trials = 8 if quick else STUDY
    said: dict[str, Any] = {"draws": 9, "warmup": 20} if quick else {}
    yield {"what": f"calibrate, linear, 3 covariates, n = {ROWS}", "datasets": trials}
    found = yield from _repeated(
        lambda seed: tacit.calibrate(
            plan, n=ROWS, trials=trials, seed=seed, prior=prior, num_leapfrog_steps=LEAPS, **said
        )
    )
    p, covers = found.p_values(), found.coverage(0.95).values()
    yield {
        "least_p_times_the_numbers": round(min(1.0, min(p.values()) * len(p)), 3),
        "covers_95_percent": f"{100 * min(covers):.1f} to {100 * max(covers):.1f}",
        "failed": int(found.failed.sum()),
    }


def _table(quick: bool) -> Found:
    """Posteriors of many releases of a real table in one call: income of `table_cases` by scores in rounds.

    A few releases stand for all, as the sampler does as much for each; then the study itself, which makes every release
    and finds the rows' own posterior as well.
    """
    import pyarrow.parquet as pq

    import tacit
    from tacit.infer import method_for, numbers_of, posterior_arrays, problem_of
    from tacit.runtime.chain import SamplerSettings

    bounds: dict[str, Any] = {"age": (17, 90), "education_num": (1, 16), "hours_per_week": (0, 100)}
    bounds |= {"capital_loss": (0, 5000), "sex": ["Female", "Male"]}
    schema = tacit.Schema(income=["<=50K", ">50K"], **bounds)
    model = tacit.LogisticRegression("income ~ " + " + ".join(bounds))
    plan = tacit.Plan(model, schema, tacit.ApproxDP(epsilon=1.0, delta=1e-6), tacit.Newton())
    table = pq.read_table(Path(os.environ[DATA]) / "adult.parquet", columns=list(schema)).drop_null()
    count, settings = (4, SamplerSettings(20, 20)) if quick else (RELEASES, SamplerSettings(300, 500))
    yield {"what": f"{model.formula}, {len(table):,} rows, epsilon = 1, scores in rounds", "datasets": count}
    began = time.perf_counter()
    made = [tacit.privatize(table, plan, ledger=None, dataset="income") for _ in range(min(count, DISTINCT))]
    yield {"releasing_seconds": round(time.perf_counter() - began, 2), "releases": len(made)}
    problem = problem_of(plan, None, len(table))
    values = [numbers_of(problem, [made[i % len(made)]]) for i in range(count)]
    _, diagnostics = yield from _repeated(
        lambda seed: posterior_arrays(problem, method_for(problem, None), settings, values, chains=1, seed=seed)
    )
    yield {"diverging": int(diagnostics["diverging"].sum()), "most_gradients_a_step": int(diagnostics["n_steps"].max())}
    began = time.perf_counter()
    found = tacit.calibrate_table(
        plan, table, public=True, releases=count, draws=settings.draws, warmup=settings.warmup
    )
    yield {"study_seconds": round(time.perf_counter() - began, 1), "sentence": found.sentence()}


# ---------------------------------------------------------------------------------------------------------------------
# Many reports


def _reports(family: str) -> Callable[[bool], Found]:
    """Reports made, summed up and inferred; the sampler sees a summary whose size does not grow with their number."""

    def work(quick: bool) -> Found:
        import numpy as np

        import tacit
        from tacit.infer import method_for, posterior_arrays, problem_of, summary_of
        from tacit.runtime.chain import SamplerSettings

        count = 10_000 if quick else REPORTS
        if family == "normal":
            model, schema, protocol = tacit.Normal("height"), tacit.Schema(height=(140, 210)), "noisy-number"
            truth: dict[str, Any] = {"mean": 172.0, "sd": 9.0}
        else:
            model, schema = tacit.Categorical("answer"), tacit.Schema(answer=[f"level {i}" for i in range(LEVELS)])
            shares = 1 / np.arange(1, LEVELS + 1)
            protocol, truth = "randomized-response", {"theta": shares / shares.sum()}
        plan = tacit.Plan(model, schema, tacit.PureDP(1.0), tacit.Local(protocol))
        yield {"what": f"{family}, {protocol}, epsilon = 1, 4 chains of 500 + 1,000 steps", "reports": count}
        began = time.perf_counter()
        group = tacit.simulate(plan, n=count, seed=1, parameters=truth).release.groups[0]
        yield {"making_reports_seconds": round(time.perf_counter() - began, 2)}
        began = time.perf_counter()
        values = [list(summary_of(model, group.local_randomizer, group.values))]
        yield {"summing_up_seconds": round(time.perf_counter() - began, 2), "summary_numbers": len(values[0])}
        problem = problem_of(plan, None, count)
        settings = SamplerSettings(*((20, 20) if quick else (500, 1000)), num_leapfrog_steps=LEAPS)
        method = method_for(problem, None)
        arrays, _ = yield from _repeated(
            lambda seed: posterior_arrays(problem, method, settings, values, chains=4, seed=seed)
        )
        from numpyro.diagnostics import effective_sample_size

        least = min(float(np.min(effective_sample_size(array[0]))) for array in arrays.values())
        worst = max(
            float(np.max(np.abs(arrays[name].mean(axis=(0, 1, 2)) - value) / arrays[name].std(axis=(0, 1, 2))))
            for name, value in truth.items()
        )
        yield {"effective_draws": round(least), "sds_from_the_truth": round(worst, 2)}

    return work


# ---------------------------------------------------------------------------------------------------------------------
# One draw from many rows


def _draw(quick: bool) -> Found:
    """One draw of two logistic coefficients from the posterior of a beta-divergence, as a release makes it."""
    import numpy as np

    import tacit
    from tacit.boundary import collect
    from tacit.noise.entropy import OSEntropy
    from tacit.sources.open import open_source

    n = 500 if quick else MANY_ROWS
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((2, n))
    y = np.where(rng.random(n) < 1 / (1 + np.exp(2 * b - a)), "yes", "no")
    free: dict[str, Any] = {"bounds": [-1, 1], "clamp": False}
    schema = tacit.Schema(y=["no", "yes"], a=free, b=free)
    mechanism = tacit.PosteriorSample(loss="beta-divergence", gamma=1e-9, assume="converged")
    plan = tacit.Plan(tacit.LogisticRegression("y ~ a + b - 1"), schema, tacit.ApproxDP(1.0, 1e-6), mechanism)
    yield {"what": "one beta-divergence draw, logistic, two coefficients, modes and start included", "rows": n}
    calibrated = plan.calibrated_mechanism()
    _, collected = collect(open_source({"y": y, "a": a, "b": b}, calibrated.columns, schema), plan)
    values = yield from _repeated(lambda _: calibrated.cross(collected, n, OSEntropy()))
    yield {"draw": [round(value / calibrated.unit, 3) for value in values], "made_with": [1.0, -2.0]}


def _network(quick: bool) -> Found:
    """One draw of a network, by benchmarks/networks.py, which keeps a cache of compiled programs of its own."""
    sys.path.insert(0, str(HERE))
    import networks

    units, count = (2, 200) if quick else (50, 8192)
    yield {"what": f"one draw of a network of {units} units, {count:,} rows, 8 covariates"}
    first, *again = networks.rows(units, count, times=1 + REPEATS)
    yield {"first_seconds": float(first["seconds"]), "again_seconds": [float(one["seconds"]) for one in again]}
    yield {"rmse_on_new_rows": [float(one["error"]) for one in again]}


# By name: the seconds that it may take, and what it does. The most wanted come first.
PARTS: dict[str, tuple[float, Callable[[bool], Found]]] = {
    "calibration-300": (75.0, _batch(300)),
    "calibration-3000": (100.0, _batch(3000)),
    "study-500": (80.0, _study),
    "table-1000": (120.0, _table),
    "draw-50000": (60.0, _draw),
    "reports-response": (45.0, _reports("response")),
    "reports-normal": (75.0, _reports("normal")),
    "network-50": (120.0, _network),
    "processor": (90.0, _batch(300)),
}

if __name__ == "__main__":
    main()
