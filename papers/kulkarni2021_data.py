"""Figures 3 and 4 of Kulkarni et al. 2021, about two tables, and prediction on Adult; called by kulkarni2021.py."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import common
import numpy as np
from common import Claim, area, columns
from kulkarni2021_exact import Likelihood, distance, newton, non_private
from matplotlib.figure import Figure

import tacit
from tacit import studies

SEED, DELTA = 2021, 1e-5
DATA_EPSILON, CHECK_EPSILON = 0.1, 1.0
ADULT_ROWS, DIABETES_ROWS = 5_000, 758
CLOSE = 0.02  # how near to the non-private fit the area under the curve has to come
LABELS = {
    "non-private": "non-private",
    "gaussian-covariates": "gaussian-covariates (tacit's default)",
    "taylor": "taylor (the paper's moments)",
    "naive": "naive (noise ignored)",
}
COLOURS = {"non-private": "#1d2733", "gaussian-covariates": "#2f6690", "taylor": "#3a8f5c", "naive": "#c0562f"}
DATA_PRIOR = {"theta_sd": 3.0, "mean_sd": 0.4, "scale": 0.4}  # covariates of Figures 3 and 4 fill their bounds


# ---------------------------------------------------------------------------------------------------------------------
# Figures 3 and 4: data


def widened(low: float, high: float) -> tuple[float, float]:
    """Bounds that make a number within [low, high] at most 1/sqrt(5) in mapped units: five of them fit into a ball."""
    middle, half = (low + high) / 2, (high - low) / 2 * math.sqrt(5)
    return middle - half, middle + half


MARRIED = ("Married-civ-spouse", "Married-AF-spouse")
DEPENDENT = ("Own-child", "Other-relative")
SPOUSE = ("Husband", "Wife")


def adult(folder: Path) -> dict[str, Any]:
    """All rows of Adult: five numbers and, beside them, the same with categories as levels."""
    raw = columns(
        folder / "adult.parquet", ["age", "marital_status", "relationship", "sex", "hours_per_week", "income"]
    )
    married, dependant = np.isin(raw["marital_status"], MARRIED), np.isin(raw["relationship"], DEPENDENT)
    never = raw["marital_status"] == "Never-married"
    spouse = np.isin(raw["relationship"], SPOUSE)
    return {
        "income": np.where(raw["income"] == ">50K", "above", "below"),
        "age": raw["age"].astype(float),
        "married": married.astype(float),
        "dependant": dependant.astype(float),
        "male": (raw["sex"] == "Male").astype(float),
        "hours": raw["hours_per_week"].astype(float),
        "marital": np.where(married, "married", np.where(never, "never", "formerly")),
        "relationship": np.where(spouse, "spouse", np.where(dependant, "dependant", "neither")),
        "sex": raw["sex"].astype(str),
    }


YES = (0.0, 1.0)
ADULT_BOUNDS = {"age": (17, 90), "married": YES, "dependant": YES, "male": YES, "hours": (1, 99)}
DIABETES_BOUNDS = {"age": (20, 80), "married": YES, "college": YES, "income": (0, 5), "male": YES}


def diabetes(folder: Path) -> dict[str, Any]:
    """Adults of NHANES with complete answers."""
    names = ["age_years", "gender", "marital_status", "education_adults20", "income_poverty_ratio"]
    raw = columns(folder / "nhanes_2017_2018_extract.parquet", [*names, "doctor_told_diabetes"])
    income = np.array([math.nan if value is None else value for value in raw["income_poverty_ratio"]], float)
    known = np.all([[value is not None for value in column] for column in raw.values()], axis=0)
    keep = known & ~np.isnan(income) & (np.array([age or 0 for age in raw["age_years"]]) >= 20)
    college = ("Some college or AA degree", "College graduate or above")
    return {
        "diabetes": np.where(raw["doctor_told_diabetes"][keep] == "yes", "yes", "no"),
        "age": raw["age_years"][keep].astype(float),
        "married": (raw["marital_status"][keep] == "Married").astype(float),
        "college": np.isin(raw["education_adults20"][keep], college).astype(float),
        "income": income[keep],
        "male": (raw["gender"][keep] == "Male").astype(float),
    }


def numbers_plan(response: str, levels: list[str], bounds: dict[str, Any], epsilon: float) -> tacit.Plan:
    """Five numbers in the ball of radius 1, as in the paper."""
    columns = {name: widened(*ends) for name, ends in bounds.items()}
    schema = tacit.Schema(**{response: levels}, **columns)
    model = tacit.LogisticRegression(f"{response} ~ {' + '.join(bounds)}", radius=1.0)
    return tacit.Plan(model, schema, tacit.ApproxDP(epsilon, DELTA), tacit.AddNoise())


def levels_plan(epsilon: float) -> tacit.Plan:
    """Adult with categories as categories."""
    schema = tacit.Schema(
        income=["below", "above"],
        age=ADULT_BOUNDS["age"],
        hours=ADULT_BOUNDS["hours"],
        marital=["never", "formerly", "married"],
        relationship=["neither", "dependant", "spouse"],
        sex=["Female", "Male"],
    )
    model = tacit.LogisticRegression("income ~ age + hours + marital + relationship + sex")
    return tacit.Plan(model, schema, tacit.ApproxDP(epsilon, DELTA), tacit.AddNoise())


def seen_through(plan: tacit.Plan, rows: dict[str, Any]) -> Likelihood:
    """What a non-private fit sees: the design in mapped units, clamped to the bounds as in a release."""
    schema, design = plan.schema, plan.model.design(plan.schema)
    cells: dict[str, Any] = {}
    for name in design.cells:
        column = schema[name]
        if isinstance(column, tacit.Number):
            cells[name] = np.clip(rows[name], column.low, column.high)
        else:
            cells[name] = rows[name]
    response = design.formula.response
    second = schema.category(response).levels[1]
    return Likelihood("logistic", design.matrix(design.parse(cells)), np.where(rows[response] == second, 1.0, -1.0))


def chosen_rows(figure: int, folder: str) -> tuple[tacit.Plan, dict[str, Any], Any]:
    """The plan, the rows that are released and which rows of the table these are."""
    everything = diabetes(Path(folder)) if figure == 3 else adult(Path(folder))
    rng = np.random.default_rng([SEED, figure])
    chosen = rng.permutation(len(everything["age"]))[: DIABETES_ROWS if figure == 3 else ADULT_ROWS]
    if figure == 3:
        plan = numbers_plan("diabetes", ["no", "yes"], DIABETES_BOUNDS, DATA_EPSILON)
        return plan, {name: column[chosen] for name, column in everything.items()}, chosen
    plan = numbers_plan("income", ["below", "above"], ADULT_BOUNDS, DATA_EPSILON)
    return plan, {name: everything[name][chosen] for name in ("income", *ADULT_BOUNDS)}, chosen


def posterior_of_data(
    figure: int, folder: str, methods: list[str], sizes: dict[str, int], releases: int
) -> dict[str, Any]:
    """The posterior of every coefficient by method: means, widths, distances, and quantiles for the figure.

    The figure shows the first release; widths and distances of all of them say how much a release moves them.
    """
    plan, rows, _ = chosen_rows(figure, folder)
    rng = np.random.default_rng(SEED)
    made = [tacit.privatize(rows, plan, ledger=None) for _ in range(releases)]
    exact = non_private(seen_through(plan, rows), DATA_PRIOR["theta_sd"], None, 4 * sizes["draws"], rng)
    draws, found = {"non-private": exact}, {"non-private": {}}
    for method in methods:
        said = {"method": method, "prior": DATA_PRIOR, "seed": SEED}
        posterior = tacit.infer(made[0], anyway=True, **said, **sizes)
        theta = posterior.draws("theta")
        draws[method] = np.asarray(theta).reshape(-1, np.shape(theta)[-1])
        found[method] = {"warnings": list(posterior.warnings()), "releases": releases}
        if releases > 1:
            several = {name: sizes[name] for name in ("warmup", "draws")}
            found[method] |= _spread(studies.posteriors(made, **said, **several)[0]["theta"], exact)
    names = plan.model.design(plan.schema).names
    for method, theta in draws.items():
        found[method] |= {
            "mean": dict(zip(names, map(float, theta.mean(axis=0)), strict=True)),
            "sd": dict(zip(names, map(float, theta.std(axis=0)), strict=True)),
            "ks": {name: distance(theta[:, i], exact[:, i]) for i, name in enumerate(names)},
            "wider": float(np.median(theta.std(axis=0) / exact.std(axis=0))),
            "quantiles": np.quantile(theta, (np.arange(400) + 0.5) / 400, axis=0).T.round(4).tolist(),
        }
    return found


def _spread(theta: Any, exact: Any) -> dict[str, list[float]]:
    """Widths and largest distances of posteriors (releases, draws, p): the mean and its standard error."""
    widths = np.median(theta.std(axis=1) / exact.std(axis=0), axis=1)
    largest = np.array([max(distance(own[:, i], exact[:, i]) for i in range(own.shape[1])) for own in theta])
    return {
        name: [float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))]
        for name, values in (("widths", widths), ("largest ks", largest))
    }


def densities(found: dict[str, Any], title: str) -> Figure:
    """One panel a coefficient, a smoothed density a method."""
    from scipy.stats import gaussian_kde

    draws = {method: np.array(own["quantiles"]).T for method, own in found.items()}
    names = list(found["non-private"]["mean"])

    figure = Figure(figsize=(11, 5.6), layout="constrained", facecolor="white")
    for place, name in enumerate(names):
        axes = figure.add_subplot(2, 3, place + 1)
        everything = [own[:, place] for method, own in draws.items() if method != "naive"]
        ends = np.quantile(np.concatenate(everything), [0.001, 0.999])
        at = np.linspace(*(ends + np.array([-0.1, 0.1]) * np.ptp(ends)), 80)
        for method, own in draws.items():
            sample = own[:: max(1, len(own) // 4000), place]
            if np.std(sample) > 1e-9:
                density = gaussian_kde(sample)(at)
                height = max(density.max(), 1e-300)  # 0 where all of it lies outside the panel
                axes.plot(at, density / height, color=COLOURS[method], linewidth=1.4, label=LABELS[method])
        axes.set_title(name, fontsize=10, loc="left")
        axes.set(yticks=[], ylim=(0, 1.08), xlim=(at[0], at[-1]))
        axes.set_ylabel("density, highest = 1" if place % 3 == 0 else "")
        axes.spines[["top", "right"]].set_visible(False)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    figure.suptitle(title, fontsize=11, x=0.01, ha="left")
    return figure


# ---------------------------------------------------------------------------------------------------------------------
# Prediction on Adult


def prediction(folder: str, encoding: str, methods: list[str], sizes: dict[str, int]) -> list[dict[str, Any]]:
    """Areas under the curve on the rows that were not released, of posterior means and of the non-private fit."""
    everything, (_, _, chosen) = adult(Path(folder)), chosen_rows(4, folder)
    training = {name: column[chosen] for name, column in everything.items()}
    test = {name: np.delete(column, chosen) for name, column in everything.items()}
    found: list[dict[str, Any]] = []
    numbers = numbers_plan("income", ["below", "above"], ADULT_BOUNDS, CHECK_EPSILON)
    plan = numbers if encoding == "numbers" else levels_plan(CHECK_EPSILON)
    kept = plan.model.statistic(plan.schema).columns
    release = tacit.privatize({name: training[name] for name in kept}, plan, ledger=None)
    seen, unseen = seen_through(plan, training), seen_through(plan, test)
    best = area(unseen.design @ newton(seen.design, seen.response)[0], unseen.response)
    for method in methods if encoding == "numbers" else ["gaussian-covariates"]:
        posterior = tacit.infer(release, method=method, prior=DATA_PRIOR, seed=SEED, anyway=True, **sizes)
        mean = np.asarray(posterior.draws("theta")).reshape(-1, unseen.design.shape[1]).mean(axis=0)
        found.append(
            {
                "encoding": encoding,
                "method": method,
                "epsilon": CHECK_EPSILON,
                "rows": len(chosen),
                "test rows": len(unseen.response),
                "area": area(unseen.design @ mean, unseen.response),
                "non-private area": best,
                "warnings": list(posterior.warnings()),
            }
        )
    return found


def adult_table(found: list[dict[str, Any]]) -> str:
    """The check as Markdown."""
    headings = ("covariates", "method", "AUC", "non-private AUC", "difference")
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    for r in found:
        cells = (r["encoding"], r["method"], f"{r['area']:.4f}", f"{r['non-private area']:.4f}")
        lines.append("| " + " | ".join((*cells, f"{r['area'] - r['non-private area']:+.4f}")) + " |")
    return "\n".join(lines)


def _said(r: dict[str, Any]) -> str:
    if "widths" not in r:
        return f"{r['wider']:.1f} times as wide, largest KS {max(r['ks'].values()):.2f} (one release)"
    (width, error), (ks, off) = r["widths"], r["largest ks"]
    return (
        f"{width:.1f} times as wide (se {error:.2f}), largest KS {ks:.2f} (se {off:.2f}), means of "
        f"{r['releases']} releases"
    )


def claims(found: dict[str, Any]) -> list[Claim]:
    """What the paper says of both figures, and what it does not say of prediction, beside the same numbers here."""
    claims: list[Claim] = []
    for number in (3, 4):
        own = {m: r for m, r in found.get(f"figure {number}", {}).items() if m != "non-private"}
        if own:
            here = "; ".join(f"{LABELS[m]} {_said(r)}" for m, r in own.items())
            best = own.get("gaussian-covariates") or next(iter(own.values()))
            largest = best["largest ks"][0] if "largest ks" in best else max(best["ks"].values())
            held = (largest < 0.3, best["wider"] > 1)
            paper_says = "private and non-private posteriors are close, the private ones wider (epsilon = 0.1)"
            claims.append(Claim(f"Figure {number}", paper_says, here, common.verdict(*held)))
    for r in found.get("adult at epsilon 1", []):
        gap = r["area"] - r["non-private area"]
        here = f"area under the curve {r['area']:.4f}, non-private {r['non-private area']:.4f}, tolerance {CLOSE}"
        title = f"Adult at epsilon = 1, {r['encoding']}, {LABELS[r['method']]}"
        says = "not in the paper: prediction is as good as without privacy"
        claims.append(Claim(title, says, here, common.verdict(abs(gap) <= CLOSE)))
    return claims
