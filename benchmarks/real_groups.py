"""The study of real tables, for effects that vary by group: does a release say of groups what the rows say?

    python benchmarks/real_groups.py --data DATA --out groups.jsonl --releases 20
    python benchmarks/real_groups.py --out groups.jsonl --table

A cell is a regression of `CASES` and an epsilon. The rows' own posterior (a formula for a number, that of a release at
epsilon = 1e5 for shares) is compared with those of many releases: how often 90% intervals hold its means of levels and
of coefficients, the error of the levels' means beside that of the released counts by themselves, and their sds beside
the own ones.
"""

from __future__ import annotations

import argparse
import json
import zlib
from pathlib import Path
from typing import Any

import jax
import numpy as np
from varying import released
from varying_known import rows_posterior

import tacit
from tacit.infer import problem_of
from tacit.runtime.chain import SamplerSettings

ADULT = {"hours_per_week": (1, 99), "age": (17, 90), "sex": ["Female", "Male"], "income": ["<=50K", ">50K"]}
NHANES = {
    "systolic_bp1": (60, 250),
    "age_years": (18, 80),
    "gender": ["Male", "Female"],
    "doctor_told_diabetes": ["no", "yes"],
}
LINEAR, LOGISTIC = tacit.VaryingRegression, tacit.VaryingLogisticRegression
CASES: dict[str, tuple[str, dict[str, Any], Any]] = {
    "hours": ("adult", ADULT, LINEAR("hours_per_week ~ age + sex + (1 | occupation)")),
    "pressure": ("nhanes_2017_2018_extract", NHANES, LINEAR("systolic_bp1 ~ age_years + (age_years | race_ethnicity)")),
    "income": ("adult", ADULT, LOGISTIC("income ~ (1 | occupation)")),
    "diabetes": ("nhanes_2017_2018_extract", NHANES, LOGISTIC("doctor_told_diabetes ~ (1 | race_ethnicity)")),
}
_SETTINGS = SamplerSettings(400, 400)


def table_of(case: str, folder: Path) -> tuple[Any, dict[str, Any]]:
    """The model with the schema of its columns, and the rows without missing cells; levels are those that occur."""
    import pyarrow.parquet as pq

    file, columns, model = CASES[case]
    group = model.formula.split("| ")[1].rstrip(")")
    names = [name for name in columns if name in model.formula]
    table = pq.read_table(folder / f"{file}.parquet", columns=[*names, group]).drop_null()
    rows: dict[str, Any] = {name: table[name].to_pylist() for name in table.column_names}
    keep = [i for i, cell in enumerate(rows[group]) if str(cell).strip() not in ("", "?")]
    for name in names:
        if isinstance(columns[name], list):
            keep = [i for i in keep if str(rows[name][i]).strip() in columns[name]]
    picked: dict[str, Any] = {name: [cells[i] for i in keep] for name, cells in rows.items()}
    for name in names:
        picked[name] = (
            [str(cell).strip() for cell in picked[name]]
            if isinstance(columns[name], list)
            else np.array(picked[name], float)
        )
    picked[group] = [str(cell).strip() for cell in picked[group]]
    levels = sorted(set(picked[group]))
    return tacit.Schema(**{name: columns[name] for name in names}, **{group: levels}), picked


def cell(case: str, epsilon: float, folder: Path, releases: int) -> dict[str, Any]:
    """One line of the table."""
    schema, rows = table_of(case, folder)
    model, n = CASES[case][2], len(next(iter(rows.values())))

    def posteriors(budget: float, count: int) -> tuple[list[Any], list[Any]]:
        plan = tacit.Plan(model, schema, tacit.PureDP(budget))
        chain = jax.jit(model.methods["by-group"].build(problem_of(plan, {}, n), _SETTINGS))
        rng = np.random.default_rng([zlib.crc32(case.encode()), int(1000 * budget)])
        sums = [released(plan, rows, rng) for _ in range(count)]
        return sums, [{k: np.asarray(v) for k, v in chain(jax.random.key(i), z)[0].items()} for i, z in enumerate(sums)]

    if model.family == "varying":
        own = rows_posterior(tacit.Plan(model, schema, tacit.PureDP(epsilon)), rows, np.random.default_rng(0))
    else:
        _, (own,) = posteriors(1e5, 1)
    sums, found = posteriors(epsilon, releases)
    name = "group_mean" if model.family == "varying" else "group_share"
    errors = np.array([draws[name].mean(axis=0) - own[name].mean(axis=0) for draws in found])
    line: dict[str, Any] = {
        "case": case,
        "epsilon": epsilon,
        "releases": releases,
        "rows": n,
        "levels": errors.shape[1],
    }
    for one in ("theta", "spread", "slope_spread", name, "group_slope"):
        if one in own:
            ends = np.array([np.quantile(draws[one], [0.05, 0.95], axis=0) for draws in found])
            truth = own[one].mean(axis=0)
            line[f"held {one}"] = round(float(((ends[:, 0] <= truth) & (truth <= ends[:, 1])).mean()), 3)
    line["error"] = round(float(np.sqrt(np.mean(errors**2))), 4)
    line["own sd"] = round(float(np.median(own[name].std(axis=0))), 4)
    line["sd"] = round(float(np.median([draws[name].std(axis=0) for draws in found])), 4)
    if name == "group_share":
        alone = [np.clip(z.reshape(-1, 2)[:, 1] / np.maximum(z.reshape(-1, 2).sum(axis=1), 1), 0, 1) for z in sums]
        line["error by themselves"] = round(float(np.sqrt(np.mean((np.array(alone) - own[name].mean(axis=0)) ** 2))), 4)
    return line


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--releases", type=int, default=20)
    parser.add_argument("--cells", nargs="*", default=[f"{case}:{epsilon}" for case in CASES for epsilon in (0.1, 1.0)])
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    known = [json.loads(line) for line in arguments.out.read_text().splitlines()] if arguments.out.exists() else []
    if arguments.table:
        for line in known:
            print("|", " | ".join(f"{name} {value}" for name, value in line.items()), "|")
    else:
        with jax.enable_x64(True):
            for one in arguments.cells:
                which, budget = one.split(":")
                made = cell(which, float(budget), arguments.data, arguments.releases)
                with arguments.out.open("a") as file:
                    file.write(json.dumps(made) + "\n")
