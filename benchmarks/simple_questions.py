"""The study of the simplest questions: do intervals of means, medians and group means hold what the rows say?

    python benchmarks/simple_questions.py mean --data DATA --out results/simple --releases 200
    python benchmarks/simple_questions.py median --data DATA --out results/simple --releases 200
    python benchmarks/simple_questions.py groups --data DATA --out results/simple --releases 200
    python benchmarks/simple_questions.py normal --out results/simple        the planted fault: `Normal` on counts
    python benchmarks/simple_questions.py sbc --out results/simple           ranks of a population's mean, any shape
    python benchmarks/simple_questions.py table --out results/simple         what is there, as Markdown

A cell is a numeric column of a real table, with bounds as a person would say them, and an epsilon (PureDP). Its rows are
summed once, exactly, by the family's own statistic; every release is those sums with noise of its own, from the plan's
noise. In each cell:

    held    how often the central 95% interval held the rows' own mean (as clamped), median or group mean. A cell fails
            where a coverage of 93% would have given so few with probability below 1% / cells (one-sided, binomial)
    width   of the 95% interval of the population's mean, median over releases, over 2 * 1.96 times the root of noise
            variance and sampling variance: what the noise leaves at best. Judged for n above 1,000, at most 1.1
    error   of medians: root-mean-square of the posterior mean of the median around the rows' own, over the bounds'
            width. `side_quantiles.py` has the error of other libraries for the same columns

Noise is drawn by a seeded generator, which only a study may do.
"""

# ruff: noqa: E501
from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import tacit
from tacit.calibration.simulate import SeededEntropy
from tacit.infer import check_settings, posterior_arrays, problem_of
from tacit.sources.open import open_source

EPSILONS = (0.1, 1.0, 10.0)
SHARES = (0, 1)
BOUNDS: dict[str, dict[str, tuple[float, float]]] = {
    "abalone": {
        "length": (0, 1), "diameter": (0, 1), "height": (0, 0.5), "whole_weight": (0, 4), "shucked_weight": (0, 2),
        "viscera_weight": (0, 1), "shell_weight": (0, 1.5), "rings": (0, 30),
    },
    "adult": {
        "age": (16, 100), "fnlwgt": (0, 1_000_000), "education_num": (1, 16), "capital_gain": (0, 100_000),
        "capital_loss": (0, 5_000), "hours_per_week": (0, 100),
    },
    "banknote": {"variance": (-10, 10), "skewness": (-20, 20), "curtosis": (-10, 20), "entropy": (-10, 5), "class": SHARES},
    "boston_housing": {
        "crim": (0, 100), "zn": (0, 100), "indus": (0, 30), "chas": SHARES, "nox": (0, 1), "rm": (1, 10), "age": (0, 100),
        "dis": (0, 15), "rad": (1, 24), "tax": (100, 800), "ptratio": (10, 25), "b": (0, 400), "lstat": (0, 40), "medv": (0, 50),
    },
    "cirrhosis_x20": {
        "urban_population_pct": (0, 100), "late_births_recip_x100": (0, 100), "wine_per_capita": (0, 50),
        "liquor_per_capita": (0, 200), "cirrhosis_death_rate": (0, 200),
    },
    "insurance_charges": {"age": (18, 64), "bmi": (10, 60), "children": (0, 10), "charges": (0, 70_000)},
    "kin8nm": {"theta1": (-2, 2), "theta5": (-2, 2), "y": (0, 2)},
    "naval_propulsion": {
        "lever_position": (0, 10), "ship_speed_knots": (0, 30), "gt_shaft_torque_knm": (0, 80_000), "gt_rpm": (0, 4_000),
        "gg_rpm": (0, 10_000), "hp_turbine_exit_temp_c": (300, 1_200), "gt_compressor_outlet_temp_c": (500, 800),
        "hp_turbine_exit_pressure_bar": (0, 5), "gt_exhaust_pressure_bar": (1, 1.1), "turbine_injection_control_pct": (0, 100),
        "fuel_flow_kgs": (0, 2), "gt_compressor_decay": (0.9, 1), "gt_turbine_decay": (0.9, 1),
    },
    "nhanes_2017_2018_extract": {
        "age_years": (0, 80), "income_poverty_ratio": (0, 5), "health_insurance": SHARES, "bmi": (10, 80),
        "weight_kg": (0, 200), "height_cm": (50, 220), "waist_cm": (30, 180), "systolic_bp1": (60, 240),
        "diastolic_bp1": (0, 140), "total_cholesterol_mgdl": (50, 400), "hdl_mgdl": (0, 150), "glycohemoglobin_pct": (3, 15),
        "smoked_100_cigarettes": SHARES, "heart_attack": SHARES,
    },
    "pima_diabetes": {
        "pregnancies": (0, 20), "glucose": (0, 250), "blood_pressure": (0, 150), "skin_thickness": (0, 100),
        "insulin": (0, 900), "bmi": (0, 70), "diabetes_pedigree": (0, 2.5), "age": (18, 90), "outcome": SHARES,
    },
    "vertebral_column_2c": {
        "pelvic_incidence": (0, 150), "pelvic_tilt": (-20, 60), "lumbar_lordosis_angle": (0, 150), "sacral_slope": (0, 130),
        "pelvic_radius": (50, 180), "degree_spondylolisthesis": (-50, 200),
    },
    "wine_quality": {
        "fixed_acidity": (0, 20), "volatile_acidity": (0, 2), "citric_acid": (0, 2), "residual_sugar": (0, 50),
        "chlorides": (0, 1), "free_sulfur_dioxide": (0, 200), "total_sulfur_dioxide": (0, 400), "density": (0.95, 1.05),
        "ph": (2, 5), "sulphates": (0, 2), "alcohol": (5, 20), "quality": (0, 10),
    },
}  # fmt: skip
GROUPS = [
    ("adult", "hours_per_week", "education"), ("adult", "age", ("sex", "race")), ("adult", "capital_gain", "workclass"),
    ("nhanes_2017_2018_extract", "bmi", "race_ethnicity"), ("nhanes_2017_2018_extract", "systolic_bp1", ("gender", "marital_status")),
    ("insurance_charges", "charges", "smoker"), ("insurance_charges", "charges", "region"), ("wine_quality", "alcohol", "color"),
    ("abalone", "rings", "sex"), ("vertebral_column_2c", "pelvic_tilt", "class"),
]  # fmt: skip
BINS = 32


def columns() -> list[tuple[str, str]]:
    """Every column of the study."""
    return [(table, column) for table, own in BOUNDS.items() for column in own]


def edges_of(cells: Any, low: float, high: float) -> list[float]:
    """As a person would say them: halves between whole numbers that are few, else equal bins."""
    whole = low == int(low) and high == int(high) and high - low < BINS and np.all(cells == np.rint(cells))
    return [k + 0.5 for k in range(int(low), int(high))] if whole else list(np.linspace(low, high, BINS + 1)[1:-1])


def releases(plan: Any, rows: Any, count: int, seed: int) -> tuple[int, Any]:
    """n, and the numbers of ``count`` releases of the same rows."""
    statistic = plan.statistic()
    source = open_source(rows, statistic.columns, plan.schema)
    n, total = 0, [0] * len(statistic.entries)
    for batch in source.batches(plan.schema, statistic.columns, statistic.batch_rows):
        n += batch.rows
        total = [a + b for a, b in zip(total, statistic.batch_sum(batch.columns), strict=True)]
    noise = np.asarray(plan.noise().sample(count, SeededEntropy(seed)), object)
    return n, (noise + np.array(total, object)).tolist()


def posteriors(plan: Any, n: int, values: Any, draws: int, warmup: int = 100) -> Any:
    """Draws (releases, draws, ...) by name, one chain a release."""
    problem = problem_of(plan, None, n)
    method = plan.model.default_method(plan.schema)
    arrays, _ = posterior_arrays(
        problem, method, check_settings(warmup=warmup, draws=draws, chains=1, seed=1), values, chains=1, seed=1
    )
    return {name: array[:, 0] for name, array in arrays.items()}


def ends(draws: Any) -> tuple[Any, Any]:
    """The central 95% interval over the axis of draws."""
    low, high = np.quantile(draws, [0.025, 0.975], axis=1)
    return low, high


def held(draws: Any, own: Any) -> Any:
    """How often the interval held what the rows say, to rounding."""
    low, high = ends(draws)
    slack = 1e-9 * (np.abs(own) + 1)
    return np.mean((low <= own + slack) & (own - slack <= high), axis=0)


def mean_cell(table: str, column: str, epsilon: float, folder: Path, count: int) -> dict[str, Any]:
    """One column's mean."""
    low, high = BOUNDS[table][column]
    cells = np.clip(
        pd.read_parquet(folder / f"{table}.parquet", columns=[column])[column].dropna().to_numpy(float), low, high
    )
    plan = tacit.Plan(tacit.Mean(column), tacit.Schema({column: (low, high)}), tacit.PureDP(epsilon))
    n, values = releases(plan, {column: cells}, count, seed_of(table, column))
    start = time.perf_counter()
    found = posteriors(plan, n, values, 500)
    seconds = time.perf_counter() - start
    noise = plan.noise().sd[0] / plan.statistic().unit * (high - low) / 2 / n
    best = 2 * 1.959964 * math.hypot(noise, cells.std() / math.sqrt(n))
    a, b = ends(found["mean"])
    return {
        "n": n, "held": float(held(found["rows_mean"], cells.mean())), "held_sd": float(held(found["rows_sd"], cells.std())),
        "held_population": float(held(found["mean"], cells.mean())), "width": float(np.median(b - a) / best), "seconds": seconds,
    }  # fmt: skip


def median_cell(table: str, column: str, epsilon: float, folder: Path, count: int) -> dict[str, Any]:
    """One column's median."""
    low, high = BOUNDS[table][column]
    cells = np.clip(
        pd.read_parquet(folder / f"{table}.parquet", columns=[column])[column].dropna().to_numpy(float), low, high
    )
    model = tacit.Quantiles(column, [0.5], edges_of(cells, low, high))
    plan = tacit.Plan(model, tacit.Schema({column: (low, high)}), tacit.PureDP(epsilon))
    n, values = releases(plan, {column: cells}, count, seed_of(table, column))
    start = time.perf_counter()
    found = posteriors(plan, n, values, 1024, warmup=500)["rows_quantile"]  # fewer keep too much of the start
    seconds = time.perf_counter() - start
    own = float(np.quantile(cells, 0.5, method="inverted_cdf"))
    a, b = ends(found[:, :, 0])
    error = math.sqrt(np.mean((found[:, :, 0].mean(axis=1) - own) ** 2)) / (high - low)
    return {
        "n": n, "held": float(held(found[:, :, 0], own)), "width": float(np.median(b - a) / (high - low)), "error": error,
        "seconds": seconds,
    }  # fmt: skip


def group_cell(table: str, column: str, by: Any, epsilon: float, folder: Path, count: int) -> dict[str, Any]:
    """The means of a column by one or two factors."""
    low, high = BOUNDS[table][column]
    names = [by] if isinstance(by, str) else list(by)
    frame = pd.read_parquet(folder / f"{table}.parquet", columns=[column, *names]).dropna()
    schema = {column: (low, high), **{name: sorted(frame[name].unique()) for name in names}}
    plan = tacit.Plan(tacit.Mean(column, by=by), tacit.Schema(schema), tacit.PureDP(epsilon))
    rows = {name: frame[name].tolist() for name in frame}
    n, values = releases(plan, rows, count, seed_of(table, column))
    start = time.perf_counter()
    found = posteriors(plan, n, values, 256)
    seconds = time.perf_counter() - start
    cells = frame[column].clip(low, high)
    labels = plan.model.coords(plan.schema)["group"]
    key = frame[names].astype(str).agg(", ".join, axis=1)
    own = np.array([cells[key == label].mean() if (key == label).any() else np.nan for label in labels])
    sizes = np.array([(key == label).sum() for label in labels])
    share = held(found["rows_mean"], own)
    present = sizes > 0
    return {
        "n": n, "groups": len(labels), "held": float(share[present].min()), "each": [float(v) for v in share[present]],
        "sizes": [int(v) for v in sizes[present]], "held_count": [float(v) for v in held(found["count"], sizes)[present]],
        "seconds": seconds,
    }  # fmt: skip


def seed_of(table: str, column: str) -> int:
    """The same noise for the same column, whatever else is run."""
    return sum(ord(c) * (i + 1) for i, c in enumerate(f"{table} {column}"))


def normal_fault(count: int) -> dict[str, Any]:
    """How often `Normal`'s and `Mean`'s interval held the mean of 20,000 counts of visits, made up, (0, 30)."""
    rng = np.random.default_rng(28)
    cells = np.minimum(rng.negative_binomial(0.6, 0.6 / 3.4, 20_000), 30).astype(float)
    found: dict[str, Any] = {"rows": float(cells.mean())}
    for name, model in (("normal", tacit.Normal("visits", shape_check=False)), ("mean", tacit.Mean("visits"))):
        plan = tacit.Plan(model, tacit.Schema(visits=(0, 30)), tacit.PureDP(1.0))
        n, values = releases(plan, {"visits": cells}, count, 28)
        draws = posteriors(plan, n, values, 256)["mean"]
        low, high = ends(draws)
        found[name] = {
            "held": float(held(draws, cells.mean())),
            "mean": float(draws.mean()),
            "low": float(np.median(low)),
            "high": float(np.median(high)),
        }
    return found


def population(shape: str, rng: Any) -> tuple[Any, float]:
    """A sampler of [0, 1] and its mean: skewed, discrete, two-peaked or clamped log-normal, parameters at random."""
    if shape == "skewed":
        a, b = np.exp(rng.uniform(np.log(0.3), np.log(3))), np.exp(rng.uniform(np.log(2), np.log(20)))
        return (lambda n: rng.beta(a, b, n)), a / (a + b)
    if shape == "discrete":
        points = np.linspace(0, 1, 5)
        p = rng.dirichlet(np.full(5, 0.7))
        return (lambda n: points[rng.choice(5, n, p=p)]), float(points @ p)
    if shape == "two-peaked":
        share, (a, b) = rng.uniform(0.1, 0.9), np.sort(rng.random(2))
        k = 30.0
        mean = share * a + (1 - share) * b

        def draw(n: int) -> Any:
            m = np.where(rng.random(n) < share, a, b)
            return rng.beta(k * m + 1e-3, k * (1 - m) + 1e-3)

        exact = share * (k * a + 1e-3) / (k + 2e-3) + (1 - share) * (k * b + 1e-3) / (k + 2e-3)
        assert abs(exact - mean) < 1e-3
        return draw, exact
    mu, sigma = rng.uniform(-4, -1.5), rng.uniform(0.5, 1.2)  # heavy-tailed, clamped at 1
    from scipy.stats import norm

    inside = math.exp(mu + sigma**2 / 2) * norm.cdf((-mu - sigma**2) / sigma) + norm.sf(-mu / sigma)
    return (lambda n: np.minimum(np.exp(rng.normal(mu, sigma, n)), 1.0)), float(inside)


def sbc_cell(shape: str, n: int, epsilon: float, trials: int) -> dict[str, Any]:
    """Ranks of the population's mean among posterior draws, over populations of one kind."""
    from scipy.stats import kstest

    rng = np.random.default_rng([n, len(shape), int(10 * epsilon)])
    plan = tacit.Plan(tacit.Mean("x"), tacit.Schema(x=(0, 1)), tacit.PureDP(epsilon))
    statistic, truths, exact = plan.statistic(), [], []
    for _ in range(trials):
        draw, mean = population(shape, rng)
        truths.append(mean)
        exact.append(statistic.batch_sum({"x": draw(n)}))
    noise = np.asarray(plan.noise().sample(trials, SeededEntropy(n)), object)
    draws = posteriors(plan, n, (noise + np.array(exact, object)).tolist(), 256)["mean"]
    truth = np.array(truths)
    places = (np.sum(draws < truth[:, None], axis=1) + rng.random(trials)) / 257
    low, high = ends(draws)
    return {
        "held": float(np.mean((low <= truth) & (truth <= high))), "below": float(np.mean(truth < low)),
        "above": float(np.mean(truth > high)), "p": float(kstest(places, "uniform").pvalue), "trials": trials,
    }  # fmt: skip


def cells_of(part: str, folder: Path | None, count: int) -> list[tuple[str, Any]]:
    """The name of each cell, and what computes it."""
    found: list[tuple[str, Any]] = []
    if part in ("mean", "median"):
        run = mean_cell if part == "mean" else median_cell
        for table, column in columns():
            for epsilon in EPSILONS:
                found.append(
                    (
                        f"{part} {table} {column} {epsilon:g}",
                        lambda t=table, c=column, e=epsilon: run(t, c, e, folder, count),
                    )
                )
    if part == "groups":
        for table, column, by in GROUPS:
            for epsilon in EPSILONS:
                name = by if isinstance(by, str) else " x ".join(by)
                found.append(
                    (
                        f"groups {table} {column} by {name} {epsilon:g}",
                        lambda t=table, c=column, b=by, e=epsilon: group_cell(t, c, b, e, folder, count),
                    )
                )
    if part == "normal":
        found.append(("normal visits", lambda: normal_fault(count)))
    if part == "sbc":
        for shape in ("skewed", "discrete", "two-peaked", "heavy"):
            for n, trials in ((20, 1000), (100, 1000), (1000, 1000), (20_000, 600), (1_000_000, 200)):
                for epsilon in (0.3, 10.0):
                    found.append(
                        (f"sbc {shape} {n} {epsilon:g}", lambda s=shape, n=n, e=epsilon, t=trials: sbc_cell(s, n, e, t))
                    )
    return found


def least_held(count: int, cells: int, share: float = 0.93, level: float = 0.01) -> float:
    """The share of ``count`` below which a cell fails: a coverage of ``share`` gives so few in 1% of such studies."""
    from scipy.stats import binom

    return float(binom.ppf(level / cells, count, share)) / count


def summary(out: Path, count: int) -> None:
    """What is there, as Markdown."""
    found = {json.loads(path.read_text())["cell"]: json.loads(path.read_text()) for path in sorted(out.glob("*.json"))}
    for part in ("mean", "median", "groups"):
        own = {name: cell for name, cell in found.items() if name.startswith(f"{part} ")}
        if not own:
            continue
        every = [(name, share, cell["n"]) for name, cell in own.items() for share in cell.get("each", [cell["held"]])]
        limit = least_held(count, len(every))
        failed = [name for name, share, _ in every if share < limit]
        print(f"\n{part}: {len(own)} cells, {len(every)} numbers; limit {limit:.3f}; {len(failed)} failed {failed}")
        print(
            "| epsilon | numbers | least held | held on average | widest, n > 1,000 | median seconds for a release |\n|---|---|---|---|---|---|"
        )
        for epsilon in EPSILONS:
            here = {name: cell for name, cell in own.items() if name.endswith(f" {epsilon:g}")}
            shares = [s for cell in here.values() for s in cell.get("each", [cell["held"]])]
            if not shares:
                continue
            widths = [cell["width"] for cell in here.values() if cell["n"] > 1000 and part == "mean"]
            seconds = np.median([cell["seconds"] / count for cell in here.values()])
            print(
                f"| {epsilon:g} | {len(shares)} | {min(shares):.3f} | {np.mean(shares):.3f} | {max(widths, default=math.nan):.3f} | {seconds:.3f} |"
            )
    for name, cell in found.items():
        if name.startswith(("sbc", "normal")):
            print(name, {k: v if isinstance(v, dict) else round(v, 4) for k, v in cell.items() if k != "cell"})


def main() -> None:
    """Run a part, or print what is there."""
    parser = argparse.ArgumentParser()
    parser.add_argument("part", choices=("mean", "median", "groups", "normal", "sbc", "table"))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--releases", type=int, default=200)
    parser.add_argument("--only", default="")
    said = parser.parse_args()
    said.out.mkdir(parents=True, exist_ok=True)
    if said.part == "table":
        summary(said.out, said.releases)
        return
    for name, run in cells_of(said.part, said.data, said.releases):
        path = said.out / f"{name.replace(' ', '-').replace(',', '')}.json"
        if path.exists() or said.only not in name:
            continue
        cell = {"cell": name, **run()}
        path.write_text(json.dumps(cell))
        print({k: v for k, v in cell.items() if k not in ("each", "sizes", "held_count")}, flush=True)


if __name__ == "__main__":
    main()
