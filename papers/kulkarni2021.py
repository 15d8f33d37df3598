"""Figures 3 to 6 of Kulkarni et al. 2021, "Differentially Private Bayesian Inference for Generalized Linear Models".

    python papers/kulkarni2021.py --out FOLDER [--data FOLDER] [--figures 3,4,5,6,choices,steps] [--methods naive]
                                  [--repetitions 5] [--quick] [--processes 4] [--stop-after 3600] [--page FILE]

Writes the figures as .svg, kulkarni2021.jsonl and kulkarni2021-claims.json, and prints what the paper says beside what
comes out here. Figure 3 needs nhanes_2017_2018_extract.parquet in the data folder, Figure 4 adult.parquet; without them
they are left out. With Figure 4 comes a check of prediction on Adult at epsilon = 1. "choices" says what the paper's
noise, cut of theta and scale of rows do, "steps" switches on what it does otherwise, one by one, in chains of its own
model (kulkarni2021_choices.py). Data are released by `tacit.privatize`, with fresh noise: numbers differ a little from
run to run, by design.

Settings of the paper: delta = 1e-5; Figures 3 and 4 at epsilon = 0.1; Figure 5 with 1,000 rows, three covariates, 20
repetitions and 10 values of epsilon from 0.001 to 1.1; Figure 6 with 500 rows, counts up to 5, 5 repetitions and
epsilon from 0.1 to 1.1. Where tacit has to differ, `NOTES` says why.
"""

from __future__ import annotations

import math
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# XLA's thread pool can wait for itself where it has two threads; one is as fast for many small matrices.
os.environ.setdefault("NPROC", "1")

import matplotlib
import numpy as np
from matplotlib.figure import Figure

import tacit
from tacit import studies

sys.path.insert(0, str(Path(__file__).resolve().parent))
import common
import kulkarni2021_choices as paper
from common import Cell, Claim

matplotlib.use("Agg")

FIGURES = ("3", "4", "5", "6", "choices", "steps")
DELTA = 1e-5
DATA_EPSILON, CHECK_EPSILON = 0.1, 1.0
ADULT_ROWS, DIABETES_ROWS = 5_000, 758
CLOSE = 0.02  # how near to the non-private fit the area under the curve has to come
ROWS, REPETITIONS = {5: 1_000, 6: 500}, {5: 20, 6: 5}
EPSILONS = {5: tuple(map(float, np.linspace(0.001, 1.1, 10))), 6: tuple(map(float, np.linspace(0.1, 1.1, 10)))}
CHOICE_EPSILONS, CHOICE_REPETITIONS = (0.1, 1.1), 10
KEPT = 50  # quantiles of a posterior that are kept for the figures
SHOWN = (1, 4, 9)  # the epsilons whose empirical distribution functions are drawn
TRUTHS = {5: (-0.9, -0.5, 0.3), 6: (0.3, -0.6, 0.8)}
MOST = 5  # the largest count of Figure 6, R_y in the paper
METHODS = ("gaussian-covariates", "taylor", "naive")
LABELS = {
    "non-private": "non-private",
    "gaussian-covariates": "gaussian-covariates (tacit's default)",
    "taylor": "taylor (the paper's moments)",
    "naive": "naive (noise ignored)",
}
COLOURS = {"non-private": "#1d2733", "gaussian-covariates": "#2f6690", "taylor": "#3a8f5c", "naive": "#c0562f"}
DATA_PRIOR = {"theta_sd": 3.0, "mean_sd": 0.4, "scale": 0.4}  # covariates of Figures 3 and 4 fill their bounds
SYNTHETIC_PRIOR = {"theta_sd": 1.0, "theta_radius": 2.0, "mean_sd": 1e-3, "shape": 2.0}
SEED = 2021
BEGIN, END = "<!-- begin adult -->", "<!-- end adult -->"
NOTES = f"""\
Where this differs from the paper, and why
* Moments. `taylor` is the paper's method with its sign errors and its missing variances mended (docs/errata.md, K5, K6,
  K8); as printed it has negative variances. `marginal` has exact moments instead of a Taylor polynomial.
* Means. The paper takes covariates with mean 0 for granted. Figures 5 and 6 do so here, too (no intercept, and
  mean_sd = {SYNTHETIC_PRIOR["mean_sd"]:g}). Figures 3 and 4 have an intercept and means: 24% of Adult earn above 50K.
* Prior of theta. The paper's is N(0, I) with the norm cut off at sqrt(2) or sqrt(3) times that of the non-private fit,
  which is not private. Here the cut of Figures 5 and 6 is public, {SYNTHETIC_PRIOR["theta_radius"]:g}. In Figures 3
  and 4 there is none, and theta ~ N(0, {DATA_PRIOR["theta_sd"]:g}^2). So where noise leaves little to learn, our
  posteriors are as wide as the prior; the paper's are held near the non-private fit by a bound that was read off it.
* Prior of the covariance. The paper's scales are N(0, 2.5) for covariates within a ball of radius 1. Here they are
  half-normal with a scale that suits the ball.
* Encoding. The paper says "pre-processed". Here every feature is a number between public bounds, divided by the root of
  5, so that all rows lie in the ball of radius 1: age 17 to 90, hours 1 to 99, and three that are 0 or 1: married,
  dependant (own child or other relative), male. "Levels" in the check keeps categories as categories: three kinds of
  marital status, three of relationship, two of sex, which tacit does not take for normal numbers.
* Diabetes. The paper's data set (758 rows) could not be found. As many adults of NHANES 2017-2018 stand in, with age,
  marital status and gender; education and income stand in for occupation and relationship.
* Noise. All sums in one release, each block with the noise that suits it (docs/glm.md); the paper has equal noise.
* Non-private posteriors have the same prior of theta and see the rows, clamped as in the release; independence
  Metropolis around the mode. Repetitions of Figures 5 and 6 are releases of the same rows.
"""


# ---------------------------------------------------------------------------------------------------------------------
# Non-private posteriors


@dataclass(frozen=True)
class Likelihood:
    """Rows that were seen: a design (n, p) and a response, -1 or 1 for the logistic family, else a count."""

    family: str
    design: Any
    response: Any

    def value(self, theta: Any) -> Any:
        """The log likelihood at theta (..., p)."""
        u = np.asarray(theta) @ self.design.T
        if self.family == "logistic":
            return -np.logaddexp(0, -self.response * u).sum(axis=-1)
        rate = np.logaddexp(0, u)
        return (self.response * np.log(rate) - rate).sum(axis=-1)


def newton(design: Any, response: Any, ridge: Any = 0.0) -> tuple[Any, Any]:
    """The mode of logistic regression by Newton's method, and the negative Hessian there; ``ridge`` is 1/sd^2."""
    theta = np.zeros(design.shape[1])
    hessian = np.eye(len(theta))
    for _ in range(50):
        p = 1 / (1 + np.exp(-design @ theta))
        gradient = design.T @ ((response + 1) / 2 - p) - ridge * theta
        hessian = (design * (p * (1 - p))[:, None]).T @ design + np.diag(np.broadcast_to(ridge + 1e-9, len(theta)))
        step = np.linalg.solve(hessian, gradient)
        theta = theta + step
        if np.max(np.abs(step)) < 1e-10:
            break
    return theta, hessian


def non_private(seen: Likelihood, theta_sd: float, radius: float | None, draws: int, rng: Any) -> Any:
    """Draws (draws, p) of the posterior of theta, by Metropolis with proposals from a t distribution around the
    mode.
    """

    def smooth(theta: Any) -> Any:
        return seen.value(theta) - np.sum(np.square(theta), axis=-1) / (2 * theta_sd**2)

    def target(theta: Any) -> Any:
        inside = radius is None or np.linalg.norm(theta, axis=-1) <= radius
        return np.where(inside, smooth(theta), -np.inf)

    p = seen.design.shape[1]
    if seen.family == "logistic":
        mode, hessian = newton(seen.design, seen.response, 1 / theta_sd**2)
        root = np.linalg.cholesky(np.linalg.inv(hessian))
    else:
        from scipy.optimize import minimize

        found = minimize(lambda theta: -float(smooth(theta)), np.zeros(p), method="BFGS")  # the ball has an edge
        mode, root = found.x, np.linalg.cholesky(found.hess_inv)
    degrees = 8
    places = rng.standard_normal((draws, p)) * np.sqrt(degrees / rng.chisquare(degrees, (draws, 1)))
    proposals = mode + places @ root.T
    weights = np.concatenate([target(part) for part in np.array_split(proposals, max(1, draws // 100))])
    weights = weights + (degrees + p) / 2 * np.log1p(np.sum(places**2, axis=1) / degrees)
    kept = np.empty((draws, p))
    at = int(np.argmax(weights))
    for i, coin in enumerate(np.log(rng.random(draws))):
        at = i if coin < weights[i] - weights[at] else at
        kept[i] = proposals[at]
    return kept


# ---------------------------------------------------------------------------------------------------------------------
# Figures 3 and 4: data


def widened(low: float, high: float) -> tuple[float, float]:
    """Bounds that make a number within [low, high] at most 1/sqrt(5) in mapped units: five of them fit into a ball."""
    middle, half = (low + high) / 2, (high - low) / 2 * math.sqrt(5)
    return middle - half, middle + half


def _columns(path: Path, names: list[str]) -> dict[str, Any]:
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=names)
    return {name: np.array(table[name].to_pylist(), dtype=object) for name in names}


MARRIED = ("Married-civ-spouse", "Married-AF-spouse")
DEPENDENT = ("Own-child", "Other-relative")
SPOUSE = ("Husband", "Wife")


def adult(folder: Path) -> dict[str, Any]:
    """All rows of Adult: five numbers and, beside them, the same with categories as levels."""
    raw = _columns(
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
    raw = _columns(folder / "nhanes_2017_2018_extract.parquet", [*names, "doctor_told_diabetes"])
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


def posterior_of_data(figure: int, folder: str, methods: list[str], sizes: dict[str, int]) -> dict[str, Any]:
    """The posterior of every coefficient by method: means, widths, distances, and quantiles for the figure."""
    plan, rows, _ = chosen_rows(figure, folder)
    rng = np.random.default_rng(SEED)
    release = tacit.privatize(rows, plan, ledger=None)
    draws = {
        "non-private": non_private(seen_through(plan, rows), DATA_PRIOR["theta_sd"], None, 4 * sizes["draws"], rng)
    }
    found: dict[str, Any] = {}
    for method in methods:
        posterior = tacit.infer(release, method=method, prior=DATA_PRIOR, seed=SEED, anyway=True, **sizes)
        theta = posterior.draws("theta")
        draws[method] = np.asarray(theta).reshape(-1, np.shape(theta)[-1])
        found[method] = {"warnings": list(posterior.warnings())}
    exact = draws["non-private"]
    names = plan.model.design(plan.schema).names
    for method, theta in draws.items():
        found.setdefault(method, {})
        found[method] |= {
            "mean": dict(zip(names, map(float, theta.mean(axis=0)), strict=True)),
            "sd": dict(zip(names, map(float, theta.std(axis=0)), strict=True)),
            "ks": {name: distance(theta[:, i], exact[:, i]) for i, name in enumerate(names)},
            "wider": float(np.median(theta.std(axis=0) / exact.std(axis=0))),
            "quantiles": np.quantile(theta, (np.arange(400) + 0.5) / 400, axis=0).T.round(4).tolist(),
        }
    return found


def distance(a: Any, b: Any) -> float:
    """The largest gap between two empirical distribution functions."""
    both = np.sort(np.concatenate([a, b]))
    gaps = np.searchsorted(np.sort(a), both, "right") / len(a) - np.searchsorted(np.sort(b), both, "right") / len(b)
    return float(np.max(np.abs(gaps)))


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


def area(score: Any, response: Any) -> float:
    """The area under the receiver operating curve: how often a positive scores above a negative, ties by half."""
    from scipy.stats import rankdata

    positive = response > 0
    ranks = rankdata(score)
    count = int(positive.sum())
    return float((ranks[positive].sum() - count * (count + 1) / 2) / (count * (len(score) - count)))


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


# ---------------------------------------------------------------------------------------------------------------------
# Figures 5 and 6: distribution functions against epsilon


def covariance(rng: Any) -> Any:
    """A random covariance, scaled so that 99% of rows lie in the ball of radius 1.

    Not far from equal variances: in directions of small variance 1,000 rows say nothing about theta, noise or not.
    """
    root = np.eye(3) + 0.3 * rng.standard_normal((3, 3))
    sigma = root @ root.T
    lengths = np.linalg.norm(rng.standard_normal((100_000, 3)) @ np.linalg.cholesky(sigma).T, axis=1)
    return sigma / np.quantile(lengths, 0.99) ** 2


def synthetic(figure: int, epsilon: float) -> tacit.Plan:
    """Three covariates with mean 0, no intercept."""
    logistic = figure == 5
    schema = tacit.Schema(y=["no", "yes"] if logistic else (0, MOST), x1=(-1, 1), x2=(-1, 1), x3=(-1, 1))
    family = tacit.LogisticRegression if logistic else tacit.PoissonRegression
    return tacit.Plan(
        family("y ~ x1 + x2 + x3 - 1", radius=1.0), schema, tacit.ApproxDP(epsilon, DELTA), tacit.AddNoise()
    )


def synthetic_rows(figure: int) -> tuple[Any, Likelihood]:
    """The rows of Figure 5 or 6, and what a non-private fit sees of them."""
    rng = np.random.default_rng([SEED, figure])
    parameters = {"theta": np.array(TRUTHS[figure]), "mu_x": np.zeros(3), "Sigma_x": covariance(rng)}
    first = synthetic(figure, 1.0)
    rows = first.model.draw_rows(parameters, first.schema, ROWS[figure], rng)
    design = np.stack([rows[name] for name in ("x1", "x2", "x3")], axis=1)
    design = design / np.maximum(1, np.linalg.norm(design, axis=1))[:, None]
    logistic = figure == 5
    response = np.where(np.array(rows["y"]) == "yes", 1.0, -1.0) if logistic else np.minimum(rows["y"], MOST)
    return rows, Likelihood("logistic" if logistic else "poisson", design, response)


def exact_posterior(figure: int, draws: int) -> dict[str, Any]:
    """Quantiles of the non-private posterior, (3, 400)."""
    _, seen = synthetic_rows(figure)
    rng = np.random.default_rng([SEED, figure, 1])
    exact = non_private(seen, SYNTHETIC_PRIOR["theta_sd"], SYNTHETIC_PRIOR["theta_radius"], 4 * draws, rng)
    outside = float(np.mean(np.linalg.norm(seen.design, axis=1) >= 1 - 1e-9))
    quantiles = np.quantile(exact, (np.arange(400) + 0.5) / 400, axis=0).T
    return {"figure": figure, "quantiles": quantiles.round(4).tolist(), "outside": outside}


def against_epsilon(
    figure: int, epsilon: float, method: str, repetitions: int, sizes: dict[str, int]
) -> dict[str, Any]:
    """Posteriors of theta from ``repetitions`` releases of the same rows, and their KS scores."""
    rows, seen = synthetic_rows(figure)
    rng = np.random.default_rng([SEED, figure, 1])
    radius, theta_sd = SYNTHETIC_PRIOR["theta_radius"], SYNTHETIC_PRIOR["theta_sd"]
    exact = non_private(seen, theta_sd, radius, 4 * sizes["draws"], rng)
    plan = synthetic(figure, epsilon)
    releases = [tacit.privatize(rows, plan, ledger=None) for _ in range(repetitions)]
    arrays, diagnostics = studies.posteriors(releases, method=method, prior=SYNTHETIC_PRIOR, seed=SEED, **sizes)
    return {**scored(arrays["theta"], exact, TRUTHS[figure]), "diverging": float(np.mean(diagnostics["diverging"]))} | {
        "figure": figure,
        "method": method,
        "epsilon": epsilon,
    }


def scored(theta: Any, exact: Any, truth: Any = None) -> dict[str, Any]:
    """KS scores with their errors, widths, coverage and quantiles of posteriors (repetitions, draws, p)."""
    scores = np.array([[distance(own[:, i], exact[:, i]) for i in range(theta.shape[2])] for own in theta])
    at = (np.arange(KEPT) + 0.5) / KEPT
    found = {
        "repetitions": len(theta),
        "ks": scores.mean(axis=0).tolist(),
        "ks error": float(scores.mean(axis=1).std(ddof=1) / math.sqrt(len(scores))) if len(scores) > 1 else None,
        "wider": float(np.median(theta.std(axis=1) / exact.std(axis=0))),
        "quantiles": np.quantile(theta, at, axis=1).transpose(1, 2, 0).round(3).tolist(),
    }
    if truth is not None:
        found["covered"] = np.mean(_inside(theta, truth), axis=0).tolist()
    return found


def rows_of(table: str, folder: str | None) -> tuple[Any, Any]:
    """Covariates with mean 0 and responses of Figure 5, 3 or 4, for the paper's own model."""
    if table == "synthetic":
        _, seen = synthetic_rows(5)
        return seen.design, seen.response
    plan, rows, _ = chosen_rows(3 if table == "diabetes" else 4, str(folder))
    seen = seen_through(plan, rows)
    x = seen.design[:, 1:]
    return x - x.mean(axis=0), seen.response  # the paper takes means of 0 for granted and has no intercept


def least_widths(table: str, folder: str | None) -> list[dict[str, Any]]:
    """What the noisy sums allow, whatever the method: as released, with rows that are scaled up, with less noise."""
    x, y = rows_of(table, folder)
    scaled = {"rows in the ball of radius 1": x}
    if table != "synthetic":
        scaled["rows not divided by the root of 5"] = math.sqrt(5) * x
    scaled["rows of variance 1"] = x / x.std(axis=0)
    found = []
    for epsilon in CHOICE_EPSILONS if table == "synthetic" else (DATA_EPSILON,):
        widths = {name: paper.least_width(rows, y, epsilon) for name, rows in scaled.items()}
        for shrink in (3, 10, 30, 100):
            widths[f"noise divided by {shrink}"] = paper.least_width(x, y, epsilon, shrink=shrink)
        found.append({"table": table, "epsilon": epsilon, "widths": widths})
    return found


ENOUGH = 200  # effective draws of a posterior, at least


def cut_and_scale(table: str, folder: str | None, repetitions: int, draws: int) -> list[dict[str, Any]]:
    """What a cut of theta and larger rows buy, the covariance of the covariates known."""
    rows, y = rows_of(table, folder)
    found = []
    for epsilon in CHOICE_EPSILONS if table == "synthetic" else (DATA_EPSILON,):
        for kind, x, shrink in (
            ("rows in the ball", rows, 1.0),
            ("rows of variance 1", rows / rows.std(axis=0), 1.0),
            ("a tenth of the noise", rows, 10.0),
        ):
            radius = math.sqrt(2) * float(np.linalg.norm(newton(x, y)[0]))
            for prior, cut in (("no cut", 10.0), ("the paper's cut", radius)):
                rng = np.random.default_rng([SEED, 8])
                exact = non_private(Likelihood("logistic", x, y), 1.0, cut, 4 * draws, rng)
                said = {"cut": cut, "repetitions": repetitions, "draws": draws, "seed": SEED, "shrink": shrink}
                theta, effective = paper.given_covariance(x, y, epsilon, **said)
                if effective >= ENOUGH:
                    own = scored(theta, exact)
                    del own["quantiles"]
                    found.append({"table": table, "epsilon": epsilon, "kind": f"{kind}, {prior}", **own})
    return found


def with_choices(
    table: str, step: str, epsilon: float, folder: str | None, repetitions: int, sizes: dict[str, int]
) -> dict[str, Any]:
    """What one of the paper's choices buys, on the rows of Figure 5, 3 or 4."""
    x, y = rows_of(table, folder)
    likelihood = Likelihood("logistic", x, y)
    fit, _ = newton(x, y)
    choices = paper.STEPS[step]
    radius = math.sqrt(2) * float(np.linalg.norm(fit))
    rng = np.random.default_rng([SEED, 7])
    exact = non_private(likelihood, 1.0, radius if choices.cut is None else choices.cut, 4 * sizes["draws"], rng)
    theta, diverging = paper.sampled(x, y, epsilon, step, radius=radius, repetitions=repetitions, seed=SEED, **sizes)
    found = scored(theta, exact)
    del found["quantiles"]
    return {"table": table, "step": step, "epsilon": epsilon, "diverging": diverging, "radius": radius, **found}


def _inside(theta: Any, truth: tuple[float, ...]) -> Any:
    low, high = np.quantile(theta, [0.025, 0.975], axis=1)
    return (low <= truth) & (truth <= high)


def curves(figure: int, cells: list[dict[str, Any]], exact: Any) -> Figure:
    """A row a coefficient; distribution functions at a few epsilons, one line a repetition, and the KS scores."""
    epsilons = sorted({cell["epsilon"] for cell in cells})
    shown = [epsilons[i] for i in SHOWN] if len(epsilons) > max(SHOWN) else epsilons[:3]
    drawn = Figure(figsize=(12.5, 8), layout="constrained", facecolor="white")
    axes = drawn.subplots(3, len(shown) + 1, squeeze=False)
    methods = list(dict.fromkeys(cell["method"] for cell in cells))
    for i in range(3):
        for column, epsilon in enumerate(shown):
            panel = axes[i][column]
            for cell in (c for c in cells if c["epsilon"] == epsilon):
                for own in cell["quantiles"][:8]:
                    _steps(panel, own[i], COLOURS[cell["method"]], 0.6, 0.35)
            _steps(panel, exact[i][::8], COLOURS["non-private"], 1.8, 1.0)
            panel.axvline(TRUTHS[figure][i], color="#888888", linewidth=0.8, linestyle=":")
            panel.set(ylim=(0, 1), xlim=(-2, 2))
            panel.set_title(f"theta$_{i + 1}$, epsilon = {epsilon:.3f}", fontsize=10, loc="left")
        panel = axes[i][-1]
        for method in methods:
            own = sorted((cell for cell in cells if cell["method"] == method), key=lambda cell: cell["epsilon"])
            at, bars = [cell["epsilon"] for cell in own], [2 * (cell["ks error"] or 0) for cell in own]
            scores = [cell["ks"][i] for cell in own]
            panel.errorbar(at, scores, bars, fmt="o-", color=COLOURS[method], markersize=4, linewidth=1.3)
        panel.set(ylim=(0, 1), xlabel="epsilon" if i == 2 else "")
        panel.set_title(f"theta$_{i + 1}$, KS score to non-private", fontsize=10, loc="left")
    for panel in axes.flat:
        panel.spines[["top", "right"]].set_visible(False)
    shown_methods = ["non-private", *methods]
    handles = [matplotlib.lines.Line2D([], [], color=COLOURS[method]) for method in shown_methods]
    drawn.legend(handles, [LABELS[m] for m in shown_methods], loc="outside lower center", ncols=4, frameon=False)
    return drawn


def _steps(panel: Any, sample: Any, colour: str, width: float, alpha: float) -> None:
    panel.plot(sample, (np.arange(len(sample)) + 0.5) / len(sample), color=colour, linewidth=width, alpha=alpha)


# ---------------------------------------------------------------------------------------------------------------------


def claims(found: dict[str, Any]) -> list[Claim]:
    """What the paper says of its figures, beside the same numbers here."""
    claims: list[Claim] = []
    for number in (3, 4):
        own = {m: r for m, r in found.get(f"figure {number}", {}).items() if m != "non-private"}
        if own:
            here = "; ".join(
                f"{LABELS[m]} {r['wider']:.1f} times as wide, largest KS {max(r['ks'].values()):.2f}"
                for m, r in own.items()
            )
            best = own.get("gaussian-covariates") or next(iter(own.values()))
            held = (max(best["ks"].values()) < 0.3, best["wider"] > 1)
            paper_says = "private and non-private posteriors are close, the private ones wider (epsilon = 0.1)"
            claims.append(Claim(f"Figure {number}", paper_says, here, common.verdict(*held)))
    for number in (5, 6):
        cells = found.get(f"figure {number}", [])
        best = [c for c in cells if c["method"] == "gaussian-covariates"]
        if best:
            parts = []
            for method in dict.fromkeys(c["method"] for c in cells):
                own = sorted((c for c in cells if c["method"] == method), key=lambda c: c["epsilon"])
                scores = ", ".join(
                    f"{np.mean(c['ks']):.2f} (se {c['ks error'] or 0:.2f}, {c['wider']:.1f} times as wide) "
                    f"at {c['epsilon']:.3g}"
                    for c in (own[0], own[-1])
                )
                held = np.mean([c["covered"] for c in own])
                parts.append(f"{LABELS[method]}: KS {scores}; 95% intervals held theta in {held:.0%}")
            best.sort(key=lambda c: c["epsilon"])
            falls = len(best) > 1 and np.mean(best[-1]["ks"]) < np.mean(best[0]["ks"])
            overlap = np.mean(best[-1]["ks"]) < (0.15 if number == 5 else 0.35)
            parts.append(f"{best[0]['repetitions']} repetitions of {REPETITIONS[number]}")
            says = "overlap" if number == 5 else "partly overlap"
            says = f"KS scores fall with epsilon; distribution functions {says} at the largest"
            claims.append(Claim(f"Figure {number}", says, "; ".join(parts), common.verdict(falls, overlap)))
    choices = found.get("choices", [])
    for table, epsilon in dict.fromkeys((c["table"], c["epsilon"]) for c in choices):
        own = {c["step"]: c for c in choices if (c["table"], c["epsilon"]) == (table, epsilon)}
        here = "; ".join(
            f"{step}: KS {np.mean(own[step]['ks']):.2f} (se {own[step]['ks error'] or 0:.2f}), "
            f"{own[step]['wider']:.1f} times as wide"
            for step in paper.STEPS
            if step in own
        )
        last = own.get("and its moments as printed")
        closed = last is not None and np.mean(last["ks"]) < 0.15
        which = {"synthetic": "5", "diabetes": "3", "adult": "4"}[table]
        title = f"The paper's choices, Figure {which} at epsilon = {epsilon:g}"
        here += f" ({next(iter(own.values()))['repetitions']} repetitions)"
        claims.append(Claim(title, "private and non-private posteriors nearly overlap", here, common.verdict(closed)))
    for r in found.get("least widths", []):
        widths = r["widths"]
        here = "times as wide as without privacy: " + ", ".join(f"{k} {v:.1f}" for k, v in widths.items())
        which = {"synthetic": "5", "diabetes": "3", "adult": "4"}[r["table"]]
        title = f"The paper's choices, Figure {which} at epsilon = {r['epsilon']:g}: least width"
        says = "private and non-private posteriors nearly overlap"
        claims.append(Claim(title, says, here, common.verdict(widths["rows in the ball of radius 1"] < 1.5)))
    cuts = found.get("cuts", [])
    for table, epsilon in dict.fromkeys((c["table"], c["epsilon"]) for c in cuts):
        own = {c["kind"]: c for c in cuts if (c["table"], c["epsilon"]) == (table, epsilon)}
        here = "; ".join(
            f"{kind}: KS {np.mean(c['ks']):.2f} (se {c['ks error']:.2f}), {c['wider']:.1f} times as wide"
            for kind, c in own.items()
        )
        here += f" ({next(iter(own.values()))['repetitions']} repetitions)"
        which = {"synthetic": "5", "diabetes": "3", "adult": "4"}[table]
        title = f"The paper's choices, Figure {which} at epsilon = {epsilon:g}: the covariance known"
        closed = np.mean(own["rows in the ball, the paper's cut"]["ks"]) < 0.15
        says = "private and non-private posteriors nearly overlap"
        claims.append(Claim(title, says, here, common.verdict(closed)))
    for r in found.get("adult at epsilon 1", []):
        gap = r["area"] - r["non-private area"]
        here = f"area under the curve {r['area']:.4f}, non-private {r['non-private area']:.4f}, tolerance {CLOSE}"
        title = f"Adult at epsilon = 1, {r['encoding']}, {LABELS[r['method']]}"
        says = "not in the paper: prediction is as good as without privacy"
        claims.append(Claim(title, says, here, common.verdict(abs(gap) <= CLOSE)))
    return claims


def main() -> None:
    parser = common.parser("Figures 3 to 6 of Kulkarni et al. 2021.", FIGURES)
    parser.add_argument("--repetitions", type=int, default=max(REPETITIONS.values()), help="releases a cell, at most")
    parser.add_argument("--methods", default=",".join(METHODS), help="comma-separated; all by default")
    parser.add_argument("--page", type=Path, help="Markdown page to put the check on Adult into, between its two marks")
    said = parser.parse_args()
    wanted = common.chosen(said, FIGURES)
    if said.repetitions < 2:
        raise SystemExit(f"Expected --repetitions to be at least 2; found {said.repetitions}.")
    methods = [method for method in METHODS if method in said.methods.split(",")]
    unknown = [name for name in said.methods.split(",") if name not in METHODS]
    if unknown:
        raise SystemExit(f"Expected --methods to be some of {', '.join(METHODS)}; found {', '.join(unknown)}.")
    if said.quick:
        methods = methods[:1]
    many = {"warmup": 60, "draws": 60} if said.quick else {"warmup": 500, "draws": 1000}
    sizes = {**many, "chains": 2 if said.quick else 4}
    folder = None if said.data is None else str(said.data)
    cells: list[Cell] = []
    there = {}
    for number, name in ((3, "nhanes_2017_2018_extract.parquet"), (4, "adult.parquet")):
        why = common.missing(said.data, name)
        there[number] = why is None
        if why is not None and str(number) in wanted:
            common.left_out(f"Figure {number}", why)
        elif str(number) in wanted:
            given = {"folder": folder, "methods": methods, "sizes": sizes}
            cells.append(Cell(posterior_of_data, {"figure": number, **given}, 60.0))
            if number == 4 and not said.quick:
                cells += [Cell(prediction, {"encoding": kind, **given}, 60.0) for kind in ("numbers", "levels")]
    for number in (n for n in (5, 6) if str(n) in wanted):
        cells.append(Cell(exact_posterior, {"figure": number, "draws": many["draws"]}, 0))
        repetitions = 3 if said.quick else min(said.repetitions, REPETITIONS[number])
        for epsilon in EPSILONS[number][-1:] if said.quick else EPSILONS[number]:
            given = {"figure": number, "epsilon": epsilon, "repetitions": repetitions, "sizes": many}
            slow = {"gaussian-covariates": 30.0, "taylor": 20.0, "naive": 25.0}
            cells += [Cell(against_epsilon, {**given, "method": method}, slow[method] * number) for method in methods]
    for table in ("synthetic", "diabetes", "adult"):
        if table != "synthetic" and (said.quick or not there[3 if table == "diabetes" else 4]):
            continue
        where = {"table": table, "folder": folder}
        few = 2 if said.quick else min(said.repetitions, CHOICE_REPETITIONS)
        if "choices" in wanted:
            cells.append(Cell(least_widths, where, 0))
            cells.append(Cell(cut_and_scale, {**where, "repetitions": few, "draws": many["draws"]}, 1))
        epsilons = CHOICE_EPSILONS[-1:] if said.quick else CHOICE_EPSILONS if table == "synthetic" else (DATA_EPSILON,)
        steps = ["and its moments as printed"] if said.quick else list(paper.STEPS)
        for step in steps if "steps" in wanted else ():
            for epsilon in epsilons:
                given = {**where, "step": step, "epsilon": epsilon, "sizes": many, "repetitions": few}
                cells.append(Cell(with_choices, given, 40.0))
    done = common.measured(cells, said.out, "kulkarni2021", processes=said.processes, stop_after=said.stop_after)
    found: dict[str, Any] = {}
    for row in done:
        kind, result = row["function"], row["found"]
        if kind == "posterior_of_data":
            found[f"figure {row['given']['figure']}"] = result
        elif kind == "prediction":
            found.setdefault("adult at epsilon 1", []).extend(result)
        elif kind == "against_epsilon":
            found.setdefault(f"figure {result['figure']}", []).append(result)
        elif kind in ("least_widths", "cut_and_scale"):
            found.setdefault("cuts" if kind == "cut_and_scale" else "least widths", []).extend(result)
        elif kind == "exact_posterior":
            found[f"exact {result['figure']}"] = result
        else:
            found.setdefault("choices", []).append(result)
    for number, title in ((3, f"Diabetes (NHANES), n = {DIABETES_ROWS}"), (4, f"Adult, n = {ADULT_ROWS}")):
        if f"figure {number}" in found:
            title = f"{title}, epsilon = {DATA_EPSILON}, coefficients in mapped units"
            common.save(densities(found[f"figure {number}"], title), said.out, f"kulkarni2021-figure{number}")
    for number in (5, 6):
        if f"figure {number}" in found and f"exact {number}" in found:
            exact = np.array(found[f"exact {number}"]["quantiles"])
            common.save(curves(number, found[f"figure {number}"], exact), said.out, f"kulkarni2021-figure{number}")
    if said.page is not None and "adult at epsilon 1" in found:
        before, rest = said.page.read_text("utf-8").split(BEGIN)
        table = adult_table(found["adult at epsilon 1"])
        said.page.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{rest.split(END)[1]}", "utf-8")
    common.show(claims(found), said.out, "kulkarni2021", quick=said.quick)
    print("\n" + NOTES)


if __name__ == "__main__":
    main()
