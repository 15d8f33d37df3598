"""Posteriors of 300 datasets: tacit in one call, beside loops over PyMC and nutpie.

    python benchmarks/side_batch.py --time WHO DATASETS START      (what `measure` runs, each in a fresh process)

Logistic regression with three covariates as in `glm.py`, a release a dataset. The job is done when every dataset has
1,000 effective draws. Peers run a few datasets and the rest is multiplied: "model built for each dataset" is a plain
loop, which compiles every time; "compiled once" is the best that a careful user of nutpie can do, which swaps the data
of one compiled model. Their compilation caches are warm, tacit's is empty.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import glm
from fresh import TARGET, effective, missing
from side import sizes

DATASETS, COVARIATES, SAMPLED = 300, 3, 3
WARMUP, DRAWS = 300, 1_500  # nearly as many as the job takes: the least effective of 300 chains is badly known from few
LIMIT = 900.0
WORST = "all datasets go on until the one that mixes worst has enough"


def measure(quick: bool) -> list[dict[str, Any]]:
    datasets = 3 if quick else DATASETS
    job = f"logistic, {COVARIATES} covariates, {DATASETS} datasets, 1,000 effective draws each"
    with sizes(quick), tempfile.TemporaryDirectory() as cache:
        ours = _timed("tacit", datasets, f"{cache}/tacit")
        said = {"target": 50.0, "against": "built", "why": WORST}
        rows = [{"job": job, "who": "tacit, one call, cache empty", **said, **ours}]
        why = missing("pymc", "nutpie")
        for who in (
            "nutpie, model built for each dataset",
            "PyMC, model built for each dataset",
            "nutpie, compiled once",
        ):
            if not why:
                _timed(who, 1, f"{cache}/peers")  # fills the cache
            found = {"note": why} if why else _timed(who, 2 if quick else SAMPLED, f"{cache}/peers")
            rows.append({"job": job, "who": who, **found})
    return rows


def _timed(who: str, datasets: int, cache: str) -> dict[str, Any]:
    import subprocess

    os.makedirs(cache, exist_ok=True)
    places = {"XDG_CACHE_HOME": cache, "PYTENSOR_FLAGS": f"base_compiledir={cache}", "NUMBA_CACHE_DIR": cache}
    command = [sys.executable, __file__, "--time", who, str(datasets), str(time.time())]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=LIMIT, env={**os.environ, **places}, check=False
        )
    except subprocess.TimeoutExpired:
        return {"note": f"stopped after {LIMIT:g} s"}
    if done.returncode:
        return {"note": f"failed: {(done.stderr.strip().splitlines() or ['no message'])[-1][:200]}"}
    return json.loads(done.stdout.splitlines()[-1])


def _problems(count: int) -> tuple[Any, list[Any], list[dict[str, Any]]]:
    """The plan, releases of so many datasets, and each as plain arrays."""
    import numpy as np

    import tacit

    with tempfile.TemporaryDirectory() as folder:
        glm.write_problem(Path(folder), COVARIATES, glm.ROWS)
        plain = dict(np.load(Path(folder) / "problem.npz"))
        plan = tacit.Release.load(Path(folder) / "release.json").plan
    size = 0.25 / COVARIATES**0.5
    parameters = {
        "theta": np.array([-0.5, *(2.0 * (-1) ** i / COVARIATES**0.5 for i in range(COVARIATES))]),
        "mu_x": np.full(COVARIATES, 0.2 * size),
        "Sigma_x": size**2 * (0.8 * np.eye(COVARIATES) + 0.2),
    }
    releases = [tacit.simulate(plan, n=glm.ROWS, seed=seed, parameters=parameters).release for seed in range(count)]
    return plan, releases, [{**plain, "released": np.array([v / r.unit for v in r.values])} for r in releases]


def _tacit(count: int, started: float) -> dict[str, Any]:
    import numpy as np

    from tacit.infer import method_for, posterior_arrays, problem_of
    from tacit.runtime.chain import Settings

    plan, releases, _ = _problems(count)
    making = time.time() - started
    problem = problem_of(plan, None, glm.ROWS)
    quick = "TACIT_BENCH_QUICK" in os.environ
    settings = Settings(*((20, 20) if quick else (WARMUP, DRAWS)), leaps=16)
    share = settings.draws / (settings.warmup + settings.draws)
    took: list[float] = []
    each: list[list[float]] = []
    for seed in (0, 1) if quick else (0, 1, 2, 3):  # the first compiles
        begin = time.time()
        arrays, _ = posterior_arrays(
            problem, method_for(problem, None), settings, [r.values for r in releases], chains=1, seed=seed
        )
        took.append(time.time() - begin)
        each.append([effective(np.asarray(arrays["theta"][i])) for i in range(count)])
    compiled = took[0] - statistics.median(took[1:])
    # Every dataset goes on until the one that mixes worst has enough.
    runs = list(zip(took, each, strict=True))[1:]
    seconds = [compiled + run * (1 - share) + run * share * TARGET / min(found) for run, found in runs]
    least = ", ".join(f"{min(found):.0f}" for _, found in runs)
    return {
        "seconds": [round(one, 2) for one in seconds],
        "effective": sum(each[1]),
        "rate": sum(each[1]) / (took[1] * share),
        "note": f"compiled in {compiled:.0f} s; least effective draws of a dataset {least} of {settings.draws}; making "
        f"the datasets, {making:.0f} s, is left out for everyone",
    }


def _peer(who: str, count: int) -> dict[str, Any]:
    import numpy as np

    _, _, problems = _problems(count)
    quick = "TACIT_BENCH_QUICK" in os.environ
    warmup, draws, chains = (30, 30, 2) if quick else (glm.WARMUP, glm.DRAWS, glm.CHAINS)
    share = draws / (warmup + draws)
    once, each, found = 0.0, [], []
    compiled = None
    for problem in problems:
        begin = time.time()
        if who == "nutpie, compiled once":
            import nutpie

            if compiled is None:
                compiled = nutpie.compile_pymc_model(glm.pymc_model(problem, swapped=True))
                once = time.time() - begin
                begin = time.time()
            trace = nutpie.sample(
                compiled.with_data(released=problem["released"]),
                draws=draws,
                tune=warmup,
                chains=chains,
                seed=1,
                progress_bar=False,
            )
            kept = share * (time.time() - begin)
        else:
            trace, kept = glm.sampled(glm.pymc_model(problem), who.split(",")[0].lower(), warmup, draws, chains)
        took = time.time() - begin
        enough = effective(trace.posterior["theta"].values)
        each.append(took - kept + kept * TARGET / enough)
        found.append(enough)
    note = f"each of {count} datasets multiplied by {DATASETS}"
    seconds = [round(once + DATASETS * one, 1) for one in each]
    return {"seconds": seconds, "effective": DATASETS * float(np.mean(found)), "note": note}


def main() -> None:
    """What runs in the fresh process."""
    who, count, started = sys.argv[-3], int(sys.argv[-2]), float(sys.argv[-1])
    print(json.dumps(_tacit(count, started) if who == "tacit" else _peer(who, count)))


if __name__ == "__main__":
    main()
