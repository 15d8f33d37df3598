"""The study of real tables without a trusted holder: does the posterior from people's own reports say what rows say?

    python benchmarks/local_tables.py --data DATA --out results/local_tables --surveys 20
    python benchmarks/local_tables.py --out results/local_tables --table        the cells that are there, as Markdown

A cell is a regression of `table_cases`, a protocol and an epsilon. People are rows of the table, drawn with replacement,
so what a posterior is about is the table's own maximum-likelihood estimate. With the protocol `scores` a quarter of them
is asked at 0, a quarter at the next point and half at the one after it; `statistics`, the planted fault, assumes normally
distributed covariates. For each coefficient:

    coverage   of the table's own estimate by the central 95% interval; a cell fails below the 1e-3 quantile of a binomial
               distribution with that probability, over all coefficients of the cell: 14 of 20, with four
    spread     of (mean - own estimate) / sd, as a root of a mean square: 1 if sampling and noise are accounted for
    sd         the median posterior sd, in mapped units
"""

# ruff: noqa: E501
from __future__ import annotations

import argparse
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom
from table_cases import CASES, Case

import tacit
from tacit.calibration.simulate import SeededEntropy
from tacit.reports import Group

SHARES = {"scores": (0.25, 0.25, 0.5), "statistics": (1.0,)}
NAMES = ("charges", "banknote", "children", "quality")
"""Of the cases: two or three covariates, skewed, discrete and U-shaped ones, yes and no and counts."""


def own_estimate(x: Any, y: Any, family: str) -> Any:
    """The maximum-likelihood estimate from the rows, by damped Newton steps."""
    theta = np.zeros(x.shape[1])
    for _ in range(200):
        eta = np.clip(x @ theta, -30, 30)
        mean = 1 / (1 + np.exp(-eta)) if family == "logistic" else np.exp(eta)
        weight = mean * (1 - mean) if family == "logistic" else mean
        step = np.linalg.solve((x * weight[:, None]).T @ x, x.T @ (y - mean))
        theta = theta + step * min(1.0, 2.0 / np.abs(step).max())
    return theta


def survey(case: Case, cells: dict[str, Any], protocol: str, epsilon: float, people: int, seed: int) -> list[Any]:
    """The reports of each cohort."""
    rng, rows = np.random.default_rng(seed), len(next(iter(cells.values())))
    plan = tacit.Plan(case.model(), tacit.Schema(**case.schema), tacit.PureDP(epsilon), tacit.Local(protocol))
    found: list[Any] = []
    for place, share in enumerate(SHARES[protocol]):
        if place:
            plan = tacit.next_cohort(found)
        chosen = rng.integers(0, rows, round(share * people))
        randomizer = plan.local_randomizer()
        parsed = {name: cells[name][chosen] for name in randomizer.columns}
        values = randomizer.reports(parsed, SeededEntropy(1000 * seed + place))
        found.append(tacit.Reports((Group(plan, randomizer.protocol, values),), case.name, simulated=True))
    return found


def cell(case: Case, protocol: str, epsilon: float, said: Any) -> str:
    """Run one cell, unless its file is there; what it says of itself."""
    path = said.out / f"{case.name}-{protocol}-{epsilon:g}.json"
    if path.exists():
        return f"{path.name} is there"
    x, y = case.rows(said.data)
    own, cells = own_estimate(x, y, case.family), case.parsed(said.data)
    first = zlib.crc32(f"{case.name}-{epsilon:g}".encode()) % 10**6 + 1000 * said.seed
    means, sds, held, refused = [], [], [], 0
    for place in range(said.surveys):
        reports = survey(case, cells, protocol, epsilon, said.people, first + place)
        try:
            posterior = tacit.infer(reports, seed=place, chains=2, draws=500, warmup=400)
        except tacit.RefusedError:
            refused += 1
            continue
        theta = posterior.draws("theta")
        low, high = np.quantile(theta, [0.025, 0.975], axis=0)
        means.append(theta.mean(axis=0).tolist())
        sds.append(theta.std(axis=0).tolist())
        held.append(((low < own) & (own < high)).tolist())
    content = {
        "case": case.name, "family": case.family, "protocol": protocol, "epsilon": epsilon, "people": said.people,
        "surveys": said.surveys, "refused": refused, "own": own.tolist(), "means": means, "sds": sds, "held": held,
    }  # fmt: skip
    path.write_text(json.dumps(content))
    return row(content)


def fails(content: dict[str, Any]) -> bool:
    """Whether some coefficient is covered too seldom, or most surveys had no posterior."""
    held = np.array(content["held"])
    if 2 * len(held) < content["surveys"]:
        return True
    return bool(held.sum(axis=0).min() < binom.ppf(1e-3 / held.shape[1], len(held), 0.95))


def row(content: dict[str, Any]) -> str:
    """A line of the table."""
    held, means, sds = (np.array(content[name], float) for name in ("held", "means", "sds"))
    name = f"| {content['case']}, {content['family']} | {content['protocol']} | {content['epsilon']:g} |"
    if not len(held):
        return f"{name} | | | refused |"
    spread = np.sqrt((((means - np.array(content["own"])) / sds) ** 2).mean(axis=0))
    cover, sd = held.mean(axis=0), np.median(sds, axis=0)
    said = f"{np.median(cover):.2f}, {cover.min():.2f} | {spread.min():.2f} to {spread.max():.2f} | {np.median(sd):.2f}, {sd.max():.2f}"
    return f"{name} {said} | {'fails' if fails(content) else ''} |"


def table(out: Path) -> list[str]:
    """The cells that are there."""
    head = "| regression | protocol | epsilon | coverage, worst | spread | sd, median, worst | |"
    return [
        head,
        "|---|---|---|---|---|---|---|",
        *(row(json.loads(p.read_text())) for p in sorted(out.glob("*.json"))),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, help="the folder of the tables")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--surveys", type=int, default=20)
    parser.add_argument("--people", type=int, default=100_000)
    parser.add_argument("--epsilons", default="4", help="by commas")
    parser.add_argument("--only", default=",".join(NAMES), help="names of cases, by commas")
    parser.add_argument("--protocols", default=",".join(SHARES), help="by commas")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--table", action="store_true", help="print the cells that are there, and run none")
    said = parser.parse_args()
    said.out.mkdir(parents=True, exist_ok=True)
    if not said.table:
        for case in CASES:
            for protocol in said.protocols.split(","):
                for epsilon in map(float, said.epsilons.split(",")):
                    if case.name in said.only.split(","):
                        print(cell(case, protocol, epsilon, said), flush=True)
    print("\n".join(table(said.out)))


if __name__ == "__main__":
    main()
