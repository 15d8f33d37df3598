"""The prior of linear regression that learns the explained share, and tables that covariates nearly separate.

    python benchmarks/linear_prior.py sbc 'y ~ x + z' 3000 1 5     calibration: formula, n, epsilon, seed
    python benchmarks/linear_prior.py table health 1               20 releases of a table: name, epsilon (delta = 1e-6)
    python benchmarks/linear_prior.py plan 7                       plan 7 of the random plans of seed 27, 60 trials

Each run prints one line of JSON. Tables come with scikit-learn and statsmodels, or are made up: `five` and `gap<n>` are
separated, or nearly so. Bounds are a fifth below and three tenths above a column's range.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import tacit
import tacit.calibration.table as study
from tacit.calibration.random_plans import random_plan, try_plan
from tacit.models.score_data import separated

MADE_UP = {"y": (0, 10), "x": (18, 90), "z": (0, 12), "w": (-5, 5), "g": ["a", "b", "c"]}
BOTH = ["no", "yes"]
LEARNED = {"explained": (0.5, 0.5)}


def plan_of(formula: str, schema: dict[str, Any], epsilon: str) -> tacit.Plan:
    """A plan with the family's default mechanism; `ill` is a response of two levels."""
    family = tacit.LogisticRegression if formula.startswith("ill") else tacit.LinearRegression
    return tacit.Plan(family(formula), tacit.Schema(**schema), tacit.ApproxDP(epsilon=float(epsilon), delta=1e-6))


def columns(name: str) -> dict[str, Any]:
    """The response and some numbers that are to explain it."""
    rng = np.random.default_rng(7)
    if name == "five":
        x = rng.choice([1.0, 2.0, 3.0, 4.0, 5.0], 20_000, p=[0.02, 0.05, 0.16, 0.35, 0.42])
        return {"x": x, "ill": (x > 3) | ((x == 3) & (rng.random(len(x)) < 0.5))}
    if name.startswith("gap"):
        ill = rng.random(int(name[3:])) < 0.5
        return {"x": np.where(ill, 4.3, 1.5) + 0.4 * rng.standard_normal(len(ill)), "ill": ill}
    if name in ("health", "cancer", "iris"):
        import sklearn.datasets

        load = {"health": "load_diabetes", "cancer": "load_breast_cancer", "iris": "load_iris"}[name]
        options = {"scaled": False} if name == "health" else {}
        d = getattr(sklearn.datasets, load)(as_frame=True, **options).frame
        if name == "health":
            return {"y": d["target"], "bmi": d["bmi"], "bp": d["bp"], "s5": d["s5"]}
        own = ["petal length (cm)", "petal width (cm)"] if name == "iris" else ["worst radius", "worst texture"]
        return {"ill": d["target"] > 0, **{f"x{i}": d[one] for i, one in enumerate(own)}}
    import statsmodels.datasets as other

    d = {"poll": other.anes96, "visits": other.randhie, "marriage": other.fair}[name].load_pandas().data
    if name == "poll":
        return {"ill": d["vote"] > 0, "left": d["selfLR"], "age": d["age"], "educ": d["educ"]}
    if name == "marriage":
        return {"y": d["rate_marriage"], "age": d["age"], "years": d["yrs_married"], "religious": d["religious"]}
    return {"y": d["mdvis"], "lncoins": d["lncoins"], "physlm": d["physlm"], "disea": d["disea"]}


def table(name: str, epsilon: str) -> dict[str, Any]:
    """What releases of a table give beside what its rows say."""
    schema, rows = {}, {}
    for column, cells in columns(name).items():
        if column == "ill":
            schema[column], rows[column] = BOTH, np.where(cells, "yes", "no")
            continue
        values = np.asarray(cells, float)
        length = float(np.ptp(values))
        schema[column], rows[column] = (values.min() - 0.2 * length, values.max() + 0.3 * length), values
    response = "ill" if "ill" in schema else "y"
    formula = f"{response} ~ {' + '.join(one for one in schema if one != response)}"
    kept: list[Any] = []
    draws = study.posterior_arrays

    def kept_draws(*arguments: Any, **options: Any) -> Any:
        kept.append(draws(*arguments, **options))
        return kept[-1]

    study.posterior_arrays = kept_draws
    prior = None if response == "ill" else LEARNED
    settings = {"releases": 20, "draws": 200, "warmup": 200, "seed": 1, "progress": False, "prior": prior}
    found = study.calibrate_table(plan_of(formula, schema, epsilon), rows, public=True, **settings)
    names = [one for one in found.own if one.startswith(("theta", "sigma"))]
    said = {row["number"]: row for row in found.rows()}
    shown = {key: [round(float(said[one][key]), 2) for one in names] for key in ("held", "spread", "ratio", "error")}
    arrays, info = kept[-1]
    if "spread" in info:
        theta, spread = np.asarray(arrays["theta"])[:, 0], np.asarray(info["spread"])[:, 0]
        ends = [found.intervals[one] for one in names]
        own = [found.own[one][0] for one in names]
        held = [[low[i] <= mid <= high[i] for (low, high), mid in zip(ends, own, strict=True)] for i in range(20)]
        shown["refused"] = [separated(s, t) is not None for s, t in zip(spread, theta, strict=True)]
        shown["all held"] = [all(one) for one in held]
        shown["least spread"] = [round(float(np.quantile(s, 0.025)), 2) for s in spread]
        shown["doubt"] = [round(float(np.std(np.abs(t[:, 1:]).sum(1))), 2) for t in theta]
    return {"n": found.n, "names": names, **shown}


def sbc(formula: str, n: str, epsilon: str, seed: str, method: str = "") -> dict[str, Any]:
    """50 trials; places of truths among draws, so that runs of several seeds can be judged together."""
    schema = {name: said for name, said in MADE_UP.items() if name in formula.split()}
    settings = {"trials": 50, "seed": int(seed), "method": method or None, "progress": False, "prior": LEARNED}
    found = tacit.calibrate(plan_of(formula, schema, epsilon), n=int(n), **settings)
    places = {name: np.round(one, 3).tolist() for name, one in found.positions().items()}
    return {"least p": min(found.least_p().values()), "failed": int(found.failed.sum()), "places": places}


def plan(number: str) -> dict[str, Any]:
    """One of the random plans."""
    return try_plan(random_plan(27, int(number)), trials=60, seed=int(number))


def main() -> None:
    runs: dict[str, Callable[..., dict[str, Any]]] = {"sbc": sbc, "table": table, "plan": plan}
    started = time.time()
    found = runs[sys.argv[1]](*sys.argv[2:])
    print(json.dumps({"run": sys.argv[1:], "seconds": round(time.time() - started), **found}, default=str))


if __name__ == "__main__":
    main()
