"""What `tacit design` predicts beside what releases of real tables give: widths of 95% intervals, in data units.

    python benchmarks/design_tables.py --data DATA --out results/design_tables --releases 12
    python benchmarks/design_tables.py --out results/design_tables --table      the cells that are there, as Markdown

A cell is a regression of `table_cases` and an epsilon (delta 1e-6). The table is released several times and inferred,
and for each coefficient the median width is compared with what was predicted from

    nothing   the plan and n
    columns   mean and sd, or shares, of every column, to two digits
    all       these, all correlations of numbers, and the effects that the rows have

A cell passes if the median over coefficients of predicted / obtained is within a factor of 1.5. Two planted faults must
fail in most cells: ``--fault bounds`` takes the bounds for the spread of columns, ``--fault noiseless`` leaves the
noise out of the prediction. Cells that have a file in ``--out`` are not run again.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from table_cases import CASES, Case

import tacit

DELTA = 1e-6
EPSILONS = (1.0, 4.0)
FACTOR = 1.5
KNOWN = ("nothing", "columns", "all")


def plan_of(case: Case, epsilon: float) -> Any:
    """Scores in rounds, or sums for linear regression."""
    mechanism = tacit.AddNoise() if case.family == "linear" else tacit.Newton()
    budget = tacit.ApproxDP(epsilon=epsilon, delta=DELTA)
    return tacit.Plan(case.model(), tacit.Schema(**case.schema), budget, mechanism)


def obtained(case: Case, frame: Any, epsilon: float, releases: int) -> dict[str, float]:
    """Of each coefficient the median over releases of the width of its 95% interval."""
    from tacit.infer import check_settings, method_for, numbers_of, posterior_arrays, problem_of

    plan = plan_of(case, epsilon)
    problem = problem_of(plan, None, len(frame))
    numbers = [numbers_of(problem, [tacit.privatize(frame, plan, ledger=None)]) for _ in range(releases)]
    settings = check_settings(warmup=200, draws=300, chains=1, seed=1)
    arrays, _ = posterior_arrays(problem, method_for(problem, None), settings, numbers, chains=1, seed=1)
    found = plan.model.coefficients({name: values[:, 0] for name, values in arrays.items()}, plan.schema)
    ends = {name: np.quantile(one, [0.025, 0.975], axis=1) for name, one in found.items()}
    return {name: float(np.median(high - low)) for name, (low, high) in ends.items()}


def knowledge(case: Case, frame: Any, known: str, fault: str | None) -> dict[str, Any]:
    """The arguments of `tacit.design` that say what is known of a table."""
    if known == "nothing":
        return {}
    design = case.model().design(tacit.Schema(**case.schema))
    response = design.formula.response
    expect: dict[str, Any] = {}
    values: dict[str, Any] = {}
    for name, said in case.schema.items():
        if not isinstance(said, tuple):
            expect[name] = {level: round(float(np.mean(frame[name] == level)), 2) for level in said}
            continue
        low, high = said
        values[name] = np.clip(frame[name].to_numpy(float), low, high)
        mean, sd = (float(f"{number:.2g}") for number in (values[name].mean(), values[name].std()))
        if fault == "bounds" and name != response:
            mean, sd = (low + high) / 2, (high - low) / 12**0.5
        count = name == response and case.family in ("log", "softplus")
        expect[name] = mean if count else (mean, sd)
    if known == "columns":
        return {"expect": expect}
    numbers = [name for name in design.cells if name in values]
    for i, first in enumerate(numbers):
        for second in numbers[i + 1 :]:
            expect[f"{first}:{second}"] = round(float(np.corrcoef(values[first], values[second])[0, 1]), 2)
    return {"expect": expect, "effect": effects(case, frame)}


def effects(case: Case, frame: Any) -> dict[str, float]:
    """The rows' own coefficients, in data units, to two digits."""
    from score_mechanism import row_values

    design = case.model().design(tacit.Schema(**case.schema))
    parsed = {
        name: np.clip(frame[name].to_numpy(float), *said)
        if isinstance(said, tuple)
        else np.array([said.index(value) for value in frame[name]])
        for name, said in case.schema.items()
    }
    x, y = np.asarray(design.matrix(parsed)), parsed[design.formula.response].astype(float)
    if case.family == "linear":
        number = design.number_response
        theta = np.linalg.lstsq(x, (y - number.offset) / number.scale, rcond=None)[0]
        own = design.original_units(theta, number)
    else:
        clamp = 1.0 if case.family == "logistic" else float(case.schema[design.formula.response][1])
        theta = np.zeros(x.shape[1])
        for _ in range(100):  # damped Fisher scoring
            u, w = row_values(case.family, clamp, x @ theta, y)
            step = np.linalg.solve((x * w[:, None]).T @ x + 1e-6 * np.eye(len(theta)), u @ x)
            theta = theta + step * min(1.0, 2.0 / max(np.abs(x @ step).max(), 1e-12))
        own = design.original_units(theta)
    return {name: float(f"{own[i]:.2g}") for i, name in enumerate(design.names) if name != "Intercept"}


def cell(case: Case, epsilon: float, said: Any) -> str:
    """Run one cell and write its file."""
    path = said.out / f"{case.name}-{epsilon:g}{'-' + said.fault if said.fault else ''}.json"
    if path.exists():
        return f"{path.name}: there"
    frame = case.frame(said.data)
    real = said.out / f"{case.name}-{epsilon:g}.json"
    got = json.loads(real.read_text())["obtained"] if real.exists() else None
    got = got or obtained(case, frame, epsilon, said.releases)
    found: dict[str, Any] = {"case": case.name, "family": case.family, "epsilon": epsilon, "n": len(frame)}
    found |= {"fault": said.fault, "obtained": got}
    for known in KNOWN[2:] if said.fault else said.known:
        study = tacit.design(plan_of(case, epsilon), n=len(frame), **knowledge(case, frame, known, said.fault))
        found[known] = {
            one.name: [
                value / (one.to_exact if said.fault == "noiseless" else 1) for value in (one.width, one.low, one.high)
            ]
            for one in study.cells[0].numbers
        }
    path.write_text(json.dumps(found, indent=1))
    return f"{path.name}: " + ", ".join(f"{known} {middle(found, known):.2f}" for known in KNOWN if known in found)


def middle(found: dict[str, Any], known: str) -> float:
    """The median over coefficients of predicted / obtained."""
    return float(np.median(ratios(found, known)))


def ratios(found: dict[str, Any], known: str) -> list[float]:
    """Of each coefficient predicted / obtained."""
    return [found[known][name][0] / width for name, width in found["obtained"].items()]


def table(out: Path) -> list[str]:
    """A row for each cell."""
    lines = ["| regression | epsilon | n | obtained, first slope | " + " | ".join(KNOWN) + " | in range | fails |"]
    lines.append("|---" * (len(KNOWN) + 6) + "|")
    for path in sorted(out.glob("*.json")):
        c = json.loads(path.read_text())
        cells = [
            f"{middle(c, k):.2f} ({min(ratios(c, k)):.2f} to {max(ratios(c, k)):.2f})" if k in c else "" for k in KNOWN
        ]
        slope = next(width for name, width in c["obtained"].items() if name != "Intercept")
        ranges = c.get("nothing", {})
        inside = [low <= c["obtained"][name] <= high for name, (_, low, high) in ranges.items()]
        held = f"{sum(inside)} of {len(inside)}" if inside else ""
        fails = "" if 1 / FACTOR <= middle(c, "all") <= FACTOR else "fails"
        name = f"{c['case']}, {c['family']}" + (f" ({c['fault']})" if c["fault"] else "")
        lines.append(
            f"| {name} | {c['epsilon']:g} | {c['n']:,} | {slope:.3g} | {' | '.join(cells)} | {held} | {fails} |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, help="the folder of the tables")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--releases", type=int, default=12)
    parser.add_argument("--only", default="", help="names of cases, or case-epsilon, by commas")
    parser.add_argument("--fault", choices=("bounds", "noiseless"))
    parser.add_argument("--table", action="store_true", help="print the cells that are there, and run none")
    parser.add_argument("--known", nargs="+", choices=KNOWN, default=KNOWN, help="what predictions may use")
    said = parser.parse_args()
    said.out.mkdir(parents=True, exist_ok=True)
    if said.table:
        print("\n".join(table(said.out)))
        return
    only = [one for one in said.only.split(",") if one]
    for case in CASES:
        for epsilon in EPSILONS:
            if not only or case.name in only or f"{case.name}-{epsilon:g}" in only:
                print(cell(case, epsilon, said), flush=True)


if __name__ == "__main__":
    main()
