"""Is linear regression calibrated, and what is learnt? A grid of simulation-based calibration.

    python benchmarks/calibration_linear.py --list
    python benchmarks/calibration_linear.py --cells 0,4-7 --out results.jsonl [--trials 500] [--processes 2]
    python benchmarks/calibration_linear.py --table results.jsonl [--page docs/linear-calibration.md]

A cell is a design, a number of rows, an epsilon, a method and perhaps a departure from the model. Each writes one line
of JSON when it is done, so cells can run in any order and in many processes at once, into one file. Only numpy, scipy,
jax, numpyro and pyarrow have to be installed.

The priors send fewer than one value in 10,000 outside the bounds; every cell measures that again and writes it down.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Generator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

# XLA's thread pool can wait for itself where it has two threads; one is as fast for many small matrices, and leaves the
# other cores to other cells.
os.environ.setdefault("NPROC", "1")

import numpy as np

import tacit
from tacit.baselines.adassp import adassp
from tacit.calibration.misspecification import DISTURBANCES, as_disturbance
from tacit.calibration.parts import joined
from tacit.infer import prior_for

TRIALS, DRAWS, SEED = 500, 99, 1905
# In draws, of five sweeps each for Gibbs, whose neighbouring draws are strongly dependent; else 500, and as many as the
# method says.
WARMUP, THIN = {"gibbs-update": 1000, "naive": 0, "free": 300}, {"gibbs-update": 30}
ROWS, EPSILONS, COVARIATES = (10, 100, 1_000, 100_000), (0.1, 1.0), (1, 5)
NARROW = {"a0": 20.0, "b0": 0.5, "psi0": 1.0, "kappa0": 20.0}
BEGIN, END = "<!-- begin tables -->", "<!-- end tables -->"


@dataclass(frozen=True)
class Cell:
    """What is simulated and how it is inferred. ``design`` is a number of covariates, or "mixed"."""

    table: str
    design: str
    n: int
    epsilon: float
    method: str
    disturbance: str = "none"

    def setting(self) -> tuple[tacit.Plan, dict[str, Any]]:
        """The plan, and the changes to the default prior."""
        if self.design == "mixed":
            schema = tacit.Schema(y=(-1, 1), a=(-1, 1), b=(-1, 1), f=["low", "middle", "high"])
            model, lambda0, nu0 = tacit.LinearRegression("y ~ a + b + f"), (20.0, 5.0, 5.0, 20.0, 20.0), 30.0
        else:
            names = [f"x{i + 1}" for i in range(int(self.design))]
            schema = tacit.Schema(y=(-1, 1), **dict.fromkeys(names, (-1, 1)))
            model = tacit.LinearRegression(f"y ~ {' + '.join(names)}")
            lambda0, nu0 = (20.0, *[5.0] * len(names)), 29.0 + len(names)
        plan = tacit.Plan(model, schema, tacit.PureDP(self.epsilon))
        return plan, {**NARROW, "nu0": nu0, "lambda0": lambda0}

    def __str__(self) -> str:
        design = "2 numbers and 3 levels" if self.design == "mixed" else f"{self.design} covariate(s)"
        return f"{design}, n = {self.n}, epsilon = {self.epsilon:g}, {self.method}, {self.disturbance}"


CELLS = [
    *(
        Cell("grid", str(d), n, epsilon, method)
        for d in COVARIATES
        for n in ROWS
        for epsilon in EPSILONS
        for method in ("collapsed", "gibbs-update", "naive")
    ),
    *(Cell("mixed", "mixed", n, epsilon, method) for n in ROWS for epsilon in EPSILONS for method in ("free", "naive")),
    *(Cell("disturbed", "1", 1_000, 1.0, "collapsed", disturbance) for disturbance in ("none", *DISTURBANCES)),
]


def study(cell: Cell, trials: int, part: int = 0) -> tuple[tacit.Calibration, float]:
    """One batched call, and the seconds that simulating took; parts have seeds of their own."""
    plan, prior = cell.setting()
    started = time.time()
    simulated: list[float] = []
    found = tacit.calibrate(
        plan,
        n=cell.n,
        trials=trials,
        seed=SEED + part,
        method=cell.method,
        prior=prior,
        draws=DRAWS,
        thin=THIN.get(cell.method),
        warmup=WARMUP.get(cell.method, 500),
        non_private=True,
        disturb=None if cell.disturbance == "none" else cell.disturbance,
        progress=lambda _: simulated.append(time.time()),
    )
    return found, simulated[-1] - started


def measure(cell: Cell, trials: int, done: list[tuple[tacit.Calibration, float]]) -> dict[str, Any]:
    """Everything that is written down about a cell, as plain numbers."""
    return {**summary(cell, joined([one for one, _ in done]), trials), "simulation_seconds": sum(s for _, s in done)}


def run_cells(
    study: Callable[..., Any],
    measure: Callable[..., dict[str, Any]],
    work: list[tuple[int, Any, int]],
    parts: int,
    processes: int,
    out: Path,
    first: int = 0,
) -> None:
    """Measure cells, each given as its number, itself and its trials, and add one line to ``out`` for each.

    The trials of a cell are run in batches of one size, which compile once a process. Small ones: all chains of a batch
    wait for its longest trajectory. They are numbered from ``first``, and a batch's number decides its seed: another
    ``first`` is another study.
    """
    if uneven := [trials for _, _, trials in work if trials % parts]:
        raise SystemExit(f"Expected --parts to divide {uneven[0]} trials.")
    with _pool(processes) as submit:
        asked = [
            [submit(_timed, study, cell, trials // parts, first + i) for i in range(parts)] for _, cell, trials in work
        ]
        for (number, cell, trials), waiting in zip(work, asked, strict=True):
            found, seconds = zip(*(result() for result in waiting), strict=True)
            line = json.dumps(
                {"cell": number, "first": first, **measure(cell, trials, list(found)), "seconds": sum(seconds)}
            )
            print(line[:300], file=sys.stderr, flush=True)
            with out.open("a", encoding="utf-8") as file:
                file.write(line + "\n")


@contextmanager
def _pool(processes: int) -> Generator[Callable[..., Callable[[], Any]]]:
    """What makes of a call something that gives its result: in other processes, or in this one when it is asked."""
    if processes == 1:
        yield partial
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        yield lambda *call: pool.submit(*call).result


def measured(study: Callable[..., Any], measure: Callable[..., dict[str, Any]], cell: Any, trials: int) -> Any:
    """One cell in this process, in four batches."""
    found, seconds = zip(*(_timed(study, cell, trials // 4, part) for part in range(4)), strict=True)
    return {**measure(cell, trials, list(found)), "seconds": sum(seconds)}


def _timed(study: Callable[..., Any], *given: Any) -> tuple[Any, float]:
    started = time.time()
    return study(*given), time.time() - started


def summary(cell: Cell, study: tacit.Calibration, trials: int) -> dict[str, Any]:
    """What a study says, as plain numbers."""
    plan, _ = cell.setting()
    p_values, coverage, contraction = study.p_values(), study.coverage(0.95), study.contraction()
    p_values = {name: p for name, p in p_values.items() if _once(name, cell)}
    worst = min(p_values, key=lambda name: p_values[name])
    theta = [name for name in study.truths if name.startswith("theta")]
    truth = np.stack([study.truths[name] for name in theta], axis=1)
    mean = np.stack([study.means[name] for name in theta], axis=1)
    exact = study.non_private
    assert exact is not None
    best = np.stack([exact.means[name] for name in theta], axis=1)
    ridge = adassp(plan.statistic(), plan.noise(), cell.n, study.released)
    diverging = study.diagnostics.get("diverging")
    return {
        **cell.__dict__,
        "trials": trials,
        "numbers": len(p_values),
        "least_p": p_values[worst],
        "bonferroni": min(1.0, p_values[worst] * len(p_values)),
        "worst": worst,
        "ks": max(study.ks().values()),
        "p_values": p_values,
        "coverage": coverage,
        "contraction": contraction,
        "width_ratio": study.width_ratio(),
        "non_private_bonferroni": min(1.0, min(exact.p_values()[name] for name in p_values) * len(p_values)),
        "rmse": {
            "posterior mean": _rmse(mean, truth),
            "AdaSSP": _rmse(ridge, truth),
            "non-private": _rmse(best, truth),
            "prior mean": _rmse(truth.mean(axis=0), truth),
        },
        "failed": int(study.failed.sum()),
        "diverging": None if diverging is None else float(np.mean(diverging)),
        "outside": outside(cell),
    }


def _once(name: str, cell: Cell) -> bool:
    """Whether a number is the first of its name: Sigma_x is symmetric."""
    if not name.startswith("Sigma_x["):
        return True
    place, d = int(name[8:-1]), 2 if cell.design == "mixed" else int(cell.design)
    return place // d <= place % d


def _rmse(estimate: Any, truth: Any) -> float:
    return float(np.sqrt(np.mean(np.square(estimate - truth))))


def outside(cell: Cell, data_sets: int = 4_000, n: int = 50) -> dict[str, float]:
    """The share of each numeric column's values that lie outside its bounds and are clamped, over the prior."""
    plan, changes = cell.setting()
    model, schema = plan.model, plan.schema
    prior, rng = prior_for(model, schema, changes), np.random.default_rng(SEED)
    departure = None if cell.disturbance == "none" else as_disturbance(cell.disturbance)
    if departure is not None:
        prior = departure.restated(model, schema, prior)
    counts = dict.fromkeys([name for name in plan.statistic().columns if isinstance(schema[name], tacit.Number)], 0)
    for _ in range(data_sets):
        parameters = model.draw_parameters(prior, schema, rng)
        rows = model.draw_rows(parameters, schema, n, rng)
        if departure is not None:
            rows = departure.applied(rows, parameters, model, schema, rng)
        for name in counts:
            column = schema.number(name)
            counts[name] += int(np.sum((rows[name] < column.low) | (rows[name] > column.high)))
    return {name: count / (data_sets * n) for name, count in counts.items()}


# ---------------------------------------------------------------------------------------------------------------------
# Tables


def tables(lines: list[dict[str, Any]]) -> str:
    """Everything that was measured, as Markdown; of two lines about one cell the later one counts."""
    found = {(r["table"], r["design"], r["n"], r["epsilon"], r["method"], r["disturbance"]): r for r in lines}
    ordered = [found[key] for key in (tuple(cell.__dict__.values()) for cell in CELLS) if key in found]
    parts: list[str] = []
    for d in COVARIATES:
        chosen = [r for r in ordered if r["table"] == "grid" and r["design"] == str(d)]
        parts += _table(f"{d} covariate{'s' if d > 1 else ''}", chosen, ("n", "epsilon", "method"))
    parts += _table("Two numbers and a factor of three levels", _of(ordered, "mixed"), ("n", "epsilon", "method"))
    title = "Departures from the model, 1 covariate, n = 1,000, epsilon = 1"
    parts += _table(title, _of(ordered, "disturbed"), ("disturbance", "method"))
    clean = [r for r in ordered if r["disturbance"] == "none"]
    if clean:
        most = max(share for r in clean for share in r["outside"].values())
        counts = " or ".join(sorted({str(r["trials"]) for r in clean}))
        parts += [
            f"Trials: {counts}. Largest share of a column outside its bounds where nothing is disturbed: {most:.1e}."
        ]
    return "\n".join(parts)


def _of(rows: list[dict[str, Any]], table: str) -> list[dict[str, Any]]:
    return [r for r in rows if r["table"] == table]


def _table(title: str, rows: list[dict[str, Any]], keys: tuple[str, ...]) -> list[str]:
    if not rows:
        return []
    measured = ("least p", "number", "95% covers", "learnt", "width", "RMSE", "AdaSSP", "exact")
    lines = [
        f"### {title}",
        "",
        "| " + " | ".join((*keys, *measured)) + " |",
        "|" + "---|" * (len(keys) + len(measured)),
    ]
    for r in rows:
        slopes = [name for name in r["contraction"] if name.startswith("theta") and name != "theta[0]"]
        covers = [100 * share for share in r["coverage"].values()]
        cells = [f"{r[key]:,}" if key == "n" else f"{r[key]:g}" if key == "epsilon" else r[key] for key in keys]
        p = f"{r['bonferroni']:.3f}" if r["bonferroni"] >= 0.001 else f"{r['bonferroni']:.0e}"
        cells += [
            f"**{p}**" if r["bonferroni"] < 0.01 else p,
            r["worst"],
            f"{min(covers):.1f} to {max(covers):.1f}",
            f"{np.mean([r['contraction'][name] for name in slopes]):.2f}",
            f"{np.mean([r['width_ratio'][name] for name in slopes]):.2f}",
            *(f"{r['rmse'][name]:.3f}" for name in ("posterior mean", "AdaSSP", "non-private")),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def rows() -> list[dict[str, Any]]:
    """A short version for the table of all benchmarks: three methods, 100 trials."""
    found = [
        measured(study, measure, cell, 100) for cell in CELLS if (cell.design, cell.n, cell.epsilon) == ("1", 100, 1.0)
    ]
    return [
        {
            "method": r["method"],
            "n": r["n"],
            "epsilon": r["epsilon"],
            "least p, Bonferroni": f"{r['bonferroni']:.2g}",
            "least 95% coverage": f"{min(r['coverage'].values()):.2f}",
            "seconds": f"{r['seconds']:.1f}",
        }
        for r in found
    ]


def _numbers(text: str) -> list[int]:
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--list", action="store_true", help="number and name every cell")
    parser.add_argument("--cells", type=_numbers, help="which to run, such as 0,4-7")
    parser.add_argument("--out", type=Path, default=Path("results.jsonl"), help="lines of JSON, added to")
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--parts", type=int, default=20, help="batches that the trials of a cell are run in")
    parser.add_argument("--processes", type=int, default=1, help="batches at a time")
    parser.add_argument("--table", type=Path, nargs="+", help="files of results to make tables of")
    parser.add_argument("--page", type=Path, help="Markdown page to put the tables into, between its two marks")
    said = parser.parse_args()
    if said.list:
        print("\n".join(f"{i:>3}  {cell}" for i, cell in enumerate(CELLS)))
    if said.cells:
        work = [(i, CELLS[i], said.trials) for i in said.cells]
        run_cells(study, measure, work, said.parts, said.processes, said.out)
    if said.table:
        lines = [json.loads(line) for path in said.table for line in path.read_text("utf-8").splitlines() if line]
        made = tables(lines)
        if said.page is None:
            print(made)
        else:
            before, rest = said.page.read_text("utf-8").split(BEGIN)
            after = rest.split(END)[1]
            said.page.write_text(f"{before}{BEGIN}\n\n{made}\n\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
