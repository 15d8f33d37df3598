"""The study of real tables: does the posterior from a release agree with what the rows themselves say?

    python benchmarks/real_tables.py --data DATA --out results/real_tables --releases 100 --processes 16
    python benchmarks/real_tables.py --out results/real_tables --table        the cells that are there, as Markdown

A cell is a regression of `table_cases` and an epsilon (delta 1e-6): `tacit.calibrate_table` of a plan with the default
mechanism and prior. The rows' own posterior is compared, coefficient by coefficient, with those of many releases:

    coverage   of the rows' own posterior mean by the central 95% interval; a cell fails below 361 of 400, or the
               same quantile of fewer: a false alarm in 1% of studies of 240 cells
    spread     root of the mean of (mean - own mean)^2 over that of sd^2 - own sd^2: about 1 if noise is accounted for,
               and not just wide
    ratio      median sd over the own sd
    error      root-mean-square of mean - own mean, in own sds, beside objective perturbation's and averaged noisy
               gradient descent's with the whole budget (best of six settings, chosen with hindsight)

At epsilon = 1e4 the distance of the means is to be below 0.1 sd, and the ratio 0.95 to 1.05. Two planted faults must
fail: ``--fault normal`` (covariates assumed normal: `marginal` on kind noise) and ``--fault pooled`` (all rounds taken
as measurements of one score and one information). Cells that have a file in ``--out`` are not run again.

Tables whose rows are in groups have a script of their own, `real_groups.py`.
"""

# ruff: noqa: E501
from __future__ import annotations

import argparse
import json
import os
import zlib
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from score_mechanism import release, row_values, sensitivity
from table_cases import CASES, Case

import tacit
from tacit.models.registry import SCORED
from tacit.models.score_model import ScoreLink

DELTA = 1e-6
EPSILONS = (0.3, 1.0, 4.0, 1e4)


def link_of(case: Case) -> Any:
    """What steps and inference need to know of the response."""
    response = case.formula.split("~")[0].strip()
    return ScoreLink(kind=case.family, clamp=None if case.family == "logistic" else int(case.schema[response][1]))


def objective_perturbation(x: Any, y: Any, epsilon: float, rng: Any, size: int) -> Any:
    """Minimisers of the loss plus a random linear term, for |x|^2 <= p; a tenth of epsilon pays for the determinant."""
    from tacit.privacy.gaussian import mu_for

    p = x.shape[1]
    ridge = p / 4 / np.expm1(0.1 * epsilon) if epsilon < 500 else 0.0
    sd = 2 * np.sqrt(p) / mu_for(0.9 * epsilon, DELTA)
    found = []
    for _ in range(size):
        tilt, theta = sd * rng.standard_normal(p), np.zeros(p)
        for _ in range(60):
            u, w = row_values("logistic", 1.0, x @ theta, y)
            step = np.linalg.solve((x * w[:, None]).T @ x + (ridge + 1e-9) * np.eye(p), u @ x - tilt - ridge * theta)
            theta = theta + step * min(1.0, 2.0 / max(np.abs(x @ step).max(), 1e-12))
            if np.abs(step).max() < 1e-8:
                break
        found.append(theta)
    return np.array(found)


def gradient_descent(x: Any, y: Any, link: Any, mu: float, rng: Any, size: int, own: Any) -> Any:
    """Averages of the second half of noisy gradient descent; the best of six settings with hindsight."""
    n, p = x.shape
    clamp, best = float(link.clamp or 1), None
    curvature = float(np.max(row_values(link.kind, clamp, x @ own, y)[1])) * n
    for steps, speed in ((10, 1.0), (10, 3.0), (40, 1.0), (40, 3.0), (120, 1.0), (120, 3.0)):
        found = []
        for _ in range(size):
            theta, path = np.zeros(p), []
            for _ in range(steps):
                noise = sensitivity(link.kind, clamp, theta, 1.0, 0.0) * np.sqrt(steps) / mu
                score = row_values(link.kind, clamp, x @ theta, y)[0] @ x + noise * rng.standard_normal(p)
                theta = np.clip(theta + speed * score / curvature, -20, 20)
                path.append(theta)
            found.append(np.mean(path[steps // 2 :], 0))
        error = float(np.mean((np.array(found) - own) ** 2))
        best = (error, found) if best is None or error < best[0] else best
    assert best is not None
    return np.array(best[1])


def pooled_posteriors(case: Case, x: Any, y: Any, epsilon: float, said: Any, rng: Any) -> tuple[Any, Any, Any]:
    """Mean, sd and central 95% interval (releases, p) where all rounds count as measurements of one information."""
    from tacit.models.score_data import layout, pack
    from tacit.models.score_steps import default_schedule
    from tacit.privacy.gaussian import mu_for
    from tacit.runtime.backend import run
    from tacit.runtime.chain import SamplerSettings
    from tacit.samplers.score_chain import score_chain
    from tacit.samplers.score_curve import LINEAR

    link, mu = link_of(case), mu_for(epsilon, DELTA)
    schedule = default_schedule(x.shape[1], len(x), mu)
    packed, rounds = [], []
    for _ in range(said.releases):
        rounds, values = release(x, y, link, mu, schedule, rng)
        packed.append(pack([(rounds, values, len(x))], link, pooled=True))
    chain = score_chain((layout(rounds),), LINEAR, SamplerSettings(said.warmup, said.draws))
    theta = np.asarray(run(chain, np.array(packed), chains=1, seed=1)[0]["theta"])[:, 0]
    return theta.mean(1), theta.std(1), np.quantile(theta, [0.025, 0.975], axis=1)


def study(case: Case, epsilon: float, said: Any) -> dict[str, Any]:
    """The figures of one cell, each a list with a number for each coefficient."""
    normal = said.fault == "normal"
    plan = tacit.Plan(
        case.model(),
        tacit.Schema(**case.schema),
        tacit.ApproxDP(epsilon=epsilon, delta=DELTA),
        tacit.AddNoise() if normal or case.family == "linear" else tacit.Newton(),
    )
    settings = {"releases": said.releases, "draws": said.draws, "warmup": said.warmup, "seed": said.seed}
    found = tacit.calibrate_table(plan, case.frame(said.data), public=True, **settings)
    names = [name for name in found.own if name.startswith("theta") or case.family in SCORED] or list(found.own)
    own, own_sd = (np.array([found.own[name][i] for name in names]) for i in (0, 1))
    if said.fault == "pooled":
        x, y = case.rows(said.data)
        rng = np.random.default_rng(zlib.crc32(f"{case.name} {epsilon:g} {said.seed}".encode()))
        means, sds, ends = pooled_posteriors(case, x, y, epsilon, said, rng)
    else:
        means, sds = (np.stack([some[name] for name in names], 1) for some in (found.means, found.sds))
        ends = np.stack([np.stack(found.intervals[name]) for name in names], -1)
    beyond = np.maximum(np.mean(sds**2, 0) - own_sd**2, (0.1 * own_sd) ** 2)
    return {
        "own": own.tolist(),
        "own_sd": own_sd.tolist(),
        "diverging": found.diverging,
        "coverage": np.mean((ends[0] <= own) & (own <= ends[1]), 0).tolist(),
        "spread": np.sqrt(np.mean((means - own) ** 2, 0) / beyond).tolist(),
        "ratio": np.median(sds / own_sd, 0).tolist(),
        "error": np.sqrt(np.mean(((means - own) / own_sd) ** 2, 0)).tolist(),
        "distance": np.median(np.abs(means - own) / own_sd, 0).tolist(),
    }


def cell(case: Case, epsilon: float, said: Any) -> str:
    """Run one cell and write its file."""
    path = said.out / f"{case.name}-{epsilon:g}{'-' + said.fault if said.fault else ''}.json"
    if path.exists():
        return f"{path.name}: there"
    x, y = case.rows(said.data)
    found: dict[str, Any] = {
        "case": case.name, "family": case.family, "epsilon": epsilon, "n": len(x), "releases": said.releases,
        "fault": said.fault, **study(case, epsilon, said),
    }  # fmt: skip
    if not said.fault and case.family not in ("linear", *SCORED) and epsilon < 100 and len(x) <= 20_000:
        from tacit.privacy.gaussian import mu_for

        rng = np.random.default_rng(zlib.crc32(f"{case.name} {epsilon:g} {said.seed} others".encode()))
        own, own_sd, few = np.array(found["own"]), np.array(found["own_sd"]), min(said.releases, 20)
        others = {"gradient descent": gradient_descent(x, y, link_of(case), mu_for(epsilon, DELTA), rng, few, own)}
        if case.family == "logistic":
            others["objective perturbation"] = objective_perturbation(x, y, epsilon, rng, few)
        found |= {name: np.sqrt(np.mean(((v - own) / own_sd) ** 2, 0)).tolist() for name, v in others.items()}
    path.write_text(json.dumps(found, indent=1))
    return f"{path.name}: coverage {min(found['coverage']):.2f} ratio {np.median(found['ratio']):.2f}"


def least_covered(releases: int) -> int:
    """The least number of covering intervals that passes: 361 of 400."""
    from scipy.stats import binom

    return int(binom.ppf(4e-5, releases, 0.95))


def table(out: Path) -> list[str]:
    """A row for each cell."""
    lines = ["| regression | epsilon | n | coverage, worst | spread | sd ratio, median, worst | error, median, worst | objective perturbation | gradient descent | fails |", "|---|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for path in sorted(out.glob("*-*.json")):
        if path.name.startswith("own-"):
            continue
        c = json.loads(path.read_text())
        fails = []
        if min(c["coverage"]) * c["releases"] < least_covered(c["releases"]):
            fails.append("coverage")
        if c["epsilon"] >= 1e4:
            fails += ["distance"] * (max(c["distance"]) > 0.1)
            fails += ["ratio"] * (min(c["ratio"]) < 0.95 or max(c["ratio"]) > 1.05)
        elif max(c["spread"]) > 1.2 + 2 / np.sqrt(c["releases"]):
            fails.append("spread")
        pair = lambda v: f"{np.median(v):.2f}, {max(v):.2f}" if v else ""  # noqa: E731
        name = c["case"] + (f" ({c['fault']})" if c["fault"] else "")
        lines.append(f"| {name}, {c['family']} | {c['epsilon']:g} | {c['n']:,} | {np.median(c['coverage']):.2f}, {min(c['coverage']):.2f} | {min(c['spread']):.2f} to {max(c['spread']):.2f} | {pair(c['ratio'])} | {pair(c['error'])} | {pair(c.get('objective perturbation'))} | {pair(c.get('gradient descent'))} | {', '.join(fails)} |")  # fmt: skip
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, help="the folder of the tables")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--releases", type=int, default=100)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--only", default="", help="names of cases, or case-epsilon, by commas")
    parser.add_argument("--fault", choices=("normal", "pooled"))
    parser.add_argument("--warmup", type=int, default=300)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--table", action="store_true", help="print the cells that are there, and run none")
    said = parser.parse_args()
    said.out.mkdir(parents=True, exist_ok=True)
    if said.table:
        print("\n".join(table(said.out)))
        return
    only = [one for one in said.only.split(",") if one]
    jobs = [
        (case, epsilon)
        for epsilon in EPSILONS
        for case in CASES
        if (not only or case.name in only or f"{case.name}-{epsilon:g}" in only)
        and not (said.fault and case.family in ("linear", *SCORED))
    ]
    jobs.sort(key=lambda job: -len(job[0].schema))  # the longest first
    if said.processes == 1:
        for case, epsilon in jobs:
            print(cell(case, epsilon, said), flush=True)
        return
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    with ProcessPoolExecutor(said.processes, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(cell, case, epsilon, said) for case, epsilon in jobs]
        for one in as_completed(waiting):
            failed = one.exception()  # the other cells go on
            print(f"failed: {failed!r}" if failed else one.result(), flush=True)
    print("\n".join(table(said.out)))


if __name__ == "__main__":
    main()
