"""Figures 3 to 6 of Kulkarni et al. 2021, "Differentially Private Bayesian Inference for Generalized Linear Models".

    python papers/kulkarni2021.py --out FOLDER [--data FOLDER] [--figures 3,4,5,6] [--methods marginal,taylor] [--quick]

Writes figure3 to figure6 as .png and .svg and kulkarni2021.json, and prints what the paper says beside what comes out
here. Figure 3 needs nhanes_2017_2018_extract.parquet in the data folder, Figure 4 adult.parquet; without them they are
left out. With Figure 4 comes a check of prediction on Adult at epsilon = 1. Data are released by `tacit.privatize`,
with fresh noise: numbers differ a little from run to run, by design.

Settings of the paper (section 4): delta = 1e-5; Figures 3 and 4 at epsilon = 0.1; Figures 5 and 6 with 1,000 rows,
three covariates, 20 repetitions and 10 values of epsilon from 0.001 to 1.1. Where tacit has to differ, `NOTES` says
why.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# XLA's thread pool can wait for itself where it has two threads; one is as fast for many small matrices.
os.environ.setdefault("NPROC", "1")

import matplotlib
import numpy as np
from matplotlib.figure import Figure

import tacit

sys.path.insert(0, str(Path(__file__).parent))
from tables import missing

matplotlib.use("Agg")

DELTA = 1e-5
DATA_EPSILON, CHECK_EPSILON = 0.1, 1.0
ADULT_ROWS, DIABETES_ROWS = 5_000, 758
CLOSE = 0.02  # how near to the non-private fit the area under the curve has to come
ROWS, REPETITIONS = 1_000, 20
EPSILONS = tuple(float(e) for e in np.linspace(0.001, 1.1, 10))
SHOWN = (1, 4, 9)  # the epsilons whose empirical distribution functions are drawn
TRUTHS = {5: (-0.9, -0.5, 0.3), 6: (0.3, -0.6, 0.8)}
MOST = 6  # the largest count of Figure 6: about one in 45,000 is larger
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


def data_figure(
    plan: tacit.Plan, rows: dict[str, Any], methods: list[str], sizes: dict[str, int]
) -> tuple[Any, dict[str, Any]]:
    """Posterior draws of every coefficient (draws, p) by method, and what they say in numbers."""
    rng = np.random.default_rng(SEED)
    release = tacit.privatize(rows, plan, ledger=None)
    draws = {
        "non-private": non_private(seen_through(plan, rows), DATA_PRIOR["theta_sd"], None, 4 * sizes["draws"], rng)
    }
    found: dict[str, Any] = {}
    for method in methods:
        begin = time.time()
        posterior = tacit.infer(release, method=method, prior=DATA_PRIOR, seed=SEED, **sizes)
        theta = posterior.draws("theta")
        draws[method] = np.asarray(theta).reshape(-1, np.shape(theta)[-1])
        found[method] = {"warnings": list(posterior.warnings()), "seconds": time.time() - begin}
    exact = draws["non-private"]
    names = plan.model.design(plan.schema).names
    for method, theta in draws.items():
        found.setdefault(method, {})
        found[method] |= {
            "mean": dict(zip(names, map(float, theta.mean(axis=0)), strict=True)),
            "sd": dict(zip(names, map(float, theta.std(axis=0)), strict=True)),
            "ks": {name: distance(theta[:, i], exact[:, i]) for i, name in enumerate(names)},
            "wider": float(np.median(theta.std(axis=0) / exact.std(axis=0))),
        }
    return draws, found


def distance(a: Any, b: Any) -> float:
    """The largest gap between two empirical distribution functions."""
    both = np.sort(np.concatenate([a, b]))
    gaps = np.searchsorted(np.sort(a), both, "right") / len(a) - np.searchsorted(np.sort(b), both, "right") / len(b)
    return float(np.max(np.abs(gaps)))


def densities(draws: dict[str, Any], names: list[str], title: str) -> Figure:
    """One panel a coefficient, a smoothed density a method."""
    from scipy.stats import gaussian_kde

    figure = Figure(figsize=(11, 5.6), layout="constrained", facecolor="white")
    for place, name in enumerate(names):
        axes = figure.add_subplot(2, 3, place + 1)
        everything = [own[:, place] for method, own in draws.items() if method != "naive"]
        ends = np.quantile(np.concatenate(everything), [0.001, 0.999])
        at = np.linspace(*(ends + np.array([-0.1, 0.1]) * np.ptp(ends)), 300)
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


def prediction(
    everything: dict[str, Any], chosen: Any, methods: list[str], sizes: dict[str, int], encodings: list[str]
) -> list[dict[str, Any]]:
    """Areas under the curve on the rows that were not released, of posterior means and of the non-private fit."""
    training = {name: column[chosen] for name, column in everything.items()}
    test = {name: np.delete(column, chosen) for name, column in everything.items()}
    found: list[dict[str, Any]] = []
    for encoding in encodings:
        numbers = numbers_plan("income", ["below", "above"], ADULT_BOUNDS, CHECK_EPSILON)
        plan = numbers if encoding == "numbers" else levels_plan(CHECK_EPSILON)
        kept = plan.model.statistic(plan.schema).columns
        release = tacit.privatize({name: training[name] for name in kept}, plan, ledger=None)
        seen, unseen = seen_through(plan, training), seen_through(plan, test)
        best = area(unseen.design @ newton(seen.design, seen.response)[0], unseen.response)
        for method in methods if encoding == "numbers" else ["gaussian-covariates"]:
            begin = time.time()
            posterior = tacit.infer(release, method=method, prior=DATA_PRIOR, seed=SEED, **sizes)
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
                    "seconds": time.time() - begin,
                    "warnings": list(posterior.warnings()),
                }
            )
            r = found[-1]
            print(
                f"  Adult as {encoding}, {method}: {r['area']:.4f} against {best:.4f}, {r['seconds']:.0f} s", flush=True
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


def against_epsilon(
    figure: int, methods: list[str], epsilons: tuple[float, ...], repetitions: int, sizes: dict[str, int]
) -> dict[str, Any]:
    """Draws of theta from ``repetitions`` releases of the same rows at every epsilon, and the KS scores."""
    # One batched call for all releases: tacit.infer takes the releases of one analysis.
    from tacit.infer import check_settings, posterior_arrays, problem_for

    rng = np.random.default_rng([SEED, figure])
    parameters = {"theta": np.array(TRUTHS[figure]), "mu_x": np.zeros(3), "Sigma_x": covariance(rng)}
    first = synthetic(figure, 1.0)
    rows = first.model.draw_rows(parameters, first.schema, ROWS, rng)
    design = np.stack([rows[name] for name in ("x1", "x2", "x3")], axis=1)
    design = design / np.maximum(1, np.linalg.norm(design, axis=1))[:, None]
    logistic = figure == 5
    response = np.where(np.array(rows["y"]) == "yes", 1.0, -1.0) if logistic else np.minimum(rows["y"], MOST)
    seen = Likelihood("logistic" if logistic else "poisson", design, response)
    radius, theta_sd = SYNTHETIC_PRIOR["theta_radius"], SYNTHETIC_PRIOR["theta_sd"]
    exact = non_private(seen, theta_sd, radius, 4 * sizes["draws"], rng)
    cells: list[dict[str, Any]] = []
    for epsilon in epsilons:
        plan = synthetic(figure, epsilon)
        values = [tacit.privatize(rows, plan, ledger=None).values for _ in range(repetitions)]
        problem = problem_for(plan.model, plan.schema, SYNTHETIC_PRIOR, ROWS, plan.noise())
        settings = check_settings(warmup=sizes["warmup"], draws=sizes["draws"], chains=1, seed=SEED)
        for method in methods:
            begin = time.time()
            arrays, diagnostics = posterior_arrays(problem, method, settings, values, chains=1, seed=SEED)
            theta = arrays["theta"][:, 0]
            scores = [[distance(own[:, i], exact[:, i]) for i in range(3)] for own in theta]
            cells.append(
                {
                    "method": method,
                    "epsilon": epsilon,
                    "ks": np.mean(scores, axis=0).tolist(),
                    "covered": np.mean(_inside(theta, TRUTHS[figure]), axis=0).tolist(),
                    "diverging": float(np.mean(diagnostics["diverging"])),
                    "seconds": time.time() - begin,
                    "draws": theta,
                }
            )
            print(
                f"  figure {figure}: {method}, epsilon = {epsilon:.3f}: KS {np.mean(scores):.3f}, "
                f"{time.time() - begin:.0f} s",
                flush=True,
            )
    return {"non-private": exact, "cells": cells, "outside": float(np.mean(np.linalg.norm(design, axis=1) >= 1 - 1e-9))}


def _inside(theta: Any, truth: tuple[float, ...]) -> Any:
    low, high = np.quantile(theta, [0.025, 0.975], axis=1)
    return (low <= truth) & (truth <= high)


def curves(figure: int, found: dict[str, Any]) -> Figure:
    """A row a coefficient; distribution functions at a few epsilons, one line a repetition, and the KS scores."""
    cells, exact = found["cells"], found["non-private"]
    epsilons = list(dict.fromkeys(cell["epsilon"] for cell in cells))
    shown = [epsilons[i] for i in SHOWN] if len(epsilons) > max(SHOWN) else epsilons[:3]
    drawn = Figure(figsize=(12.5, 8), layout="constrained", facecolor="white")
    axes = drawn.subplots(3, len(shown) + 1, squeeze=False)
    methods = list(dict.fromkeys(cell["method"] for cell in cells))
    for i in range(3):
        for column, epsilon in enumerate(shown):
            panel = axes[i][column]
            for cell in (c for c in cells if c["epsilon"] == epsilon):
                for own in cell["draws"]:
                    _steps(panel, own[:, i], COLOURS[cell["method"]], 0.6, 0.35)
            _steps(panel, exact[:, i], COLOURS["non-private"], 1.8, 1.0)
            panel.axvline(TRUTHS[figure][i], color="#888888", linewidth=0.8, linestyle=":")
            panel.set(ylim=(0, 1), xlim=(-2, 2))
            panel.set_title(f"theta$_{i + 1}$, epsilon = {epsilon:.3f}", fontsize=10, loc="left")
        panel = axes[i][-1]
        for method in methods:
            own = [cell for cell in cells if cell["method"] == method]
            at = [cell["epsilon"] for cell in own]
            panel.plot(at, [cell["ks"][i] for cell in own], "o-", color=COLOURS[method], markersize=4, linewidth=1.3)
        panel.set(ylim=(0, 1), xlabel="epsilon" if i == 2 else "")
        panel.set_title(f"theta$_{i + 1}$, KS score to non-private", fontsize=10, loc="left")
    for panel in axes.flat:
        panel.spines[["top", "right"]].set_visible(False)
    shown_methods = ["non-private", *methods]
    handles = [matplotlib.lines.Line2D([], [], color=COLOURS[method]) for method in shown_methods]
    drawn.legend(handles, [LABELS[m] for m in shown_methods], loc="outside lower center", ncols=4, frameon=False)
    return drawn


def _steps(panel: Any, sample: Any, colour: str, width: float, alpha: float) -> None:
    panel.plot(np.sort(sample), np.linspace(0, 1, len(sample)), color=colour, linewidth=width, alpha=alpha)


# ---------------------------------------------------------------------------------------------------------------------


def claims(results: dict[str, Any]) -> list[str]:
    """What the paper says of its figures, beside the same numbers here."""
    lines: list[str] = []
    for number in (3, 4):
        if f"figure {number}" in results:
            lines.append(f"{number}       paper: private and non-private posteriors are close, the private ones wider.")
            for method, own in results[f"figure {number}"].items():
                if method != "non-private":
                    ks = max(own["ks"].values())
                    lines.append(
                        f"        here: {LABELS[method]}: {own['wider']:.1f} times as wide, largest KS {ks:.2f}."
                    )
    for number in (5, 6):
        if f"figure {number}" in results:
            lines.append(
                f"{number}       paper: KS scores fall with epsilon, distribution functions overlap at the largest."
            )
            cells = results[f"figure {number}"]["cells"]
            for method in dict.fromkeys(cell["method"] for cell in cells):
                own = [cell for cell in cells if cell["method"] == method]
                scores = ", ".join(f"{np.mean(c['ks']):.2f} at {c['epsilon']:.3f}" for c in (own[0], own[-1]))
                held = np.mean([c["covered"] for c in own])
                lines.append(f"        here: {LABELS[method]}: {scores}; 95% intervals held theta in {held:.0%}.")
    for r in results.get("adult at epsilon 1", []):
        gap = r["area"] - r["non-private area"]
        verdict = "within" if abs(gap) <= CLOSE else "NOT within"
        said = f"{r['area']:.4f}, non-private {r['non-private area']:.4f}: {verdict} {CLOSE}"
        lines.append(f"Adult   AUC at epsilon = 1, {r['encoding']}, {LABELS[r['method']]}: {said}.")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description="Figures 3 to 6 of Kulkarni et al. 2021.")
    parser.add_argument("--data", type=Path, help="folder with adult.parquet and nhanes_2017_2018_extract.parquet")
    parser.add_argument("--out", type=Path, required=True, help="folder for figures and numbers")
    parser.add_argument("--figures", default="3,4,5,6", help="comma-separated; all by default")
    parser.add_argument("--methods", default=",".join(METHODS), help="comma-separated; all by default")
    parser.add_argument("--quick", action="store_true", help="few draws, one or two epsilons: does it run?")
    parser.add_argument("--page", type=Path, help="Markdown page to put the check on Adult into, between its two marks")
    said = parser.parse_args()
    methods = [method for method in METHODS if method in said.methods.split(",")]
    unknown = [name for name in said.methods.split(",") if name not in METHODS]
    if unknown:
        raise SystemExit(f"Expected --methods to be some of {', '.join(METHODS)}; found {', '.join(unknown)}.")
    if not said.figures or set(said.figures.split(",")) - {"3", "4", "5", "6"}:
        raise SystemExit(f"Expected --figures to be some of 3,4,5,6; found {said.figures}.")
    figures = [int(number) for number in said.figures.split(",")]
    many = {"warmup": 60, "draws": 60} if said.quick else {"warmup": 500, "draws": 1000}
    sizes = {**many, "chains": 2 if said.quick else 4}
    said.out.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {}

    def keep(name: str, figure: Figure) -> None:
        """Write a figure, and all numbers so far: the next one may take long."""
        figure.savefig(said.out / f"{name}.png", dpi=120)
        figure.savefig(said.out / f"{name}.svg", metadata={"Date": None})
        (said.out / "kulkarni2021.json").write_text(json.dumps(results, indent=1), "utf-8")

    rng = np.random.default_rng(SEED)
    if 3 in figures:
        why = missing(said.data, "nhanes_2017_2018_extract.parquet")
        if why is not None:
            print(f"Figure 3 is left out: {why}.")
        else:
            everything = diabetes(said.data)
            chosen = rng.permutation(len(everything["age"]))[:DIABETES_ROWS]
            rows = {name: column[chosen] for name, column in everything.items()}
            plan = numbers_plan("diabetes", ["no", "yes"], DIABETES_BOUNDS, DATA_EPSILON)
            draws, results["figure 3"] = data_figure(plan, rows, methods, sizes)
            title = f"Diabetes (NHANES), n = {len(chosen)}, epsilon = {DATA_EPSILON}, coefficients in mapped units"
            keep("figure3", densities(draws, plan.model.design(plan.schema).names, title))
    if 4 in figures:
        why = missing(said.data, "adult.parquet")
        if why is not None:
            print(f"Figure 4 is left out: {why}.")
        else:
            everything = adult(said.data)
            chosen = rng.permutation(len(everything["age"]))[:ADULT_ROWS]
            plan = numbers_plan("income", ["below", "above"], ADULT_BOUNDS, DATA_EPSILON)
            rows = {name: everything[name][chosen] for name in ("income", *ADULT_BOUNDS)}
            draws, results["figure 4"] = data_figure(plan, rows, methods, sizes)
            title = f"Adult, n = {len(chosen)}, epsilon = {DATA_EPSILON}, coefficients in mapped units"
            keep("figure4", densities(draws, plan.model.design(plan.schema).names, title))
            encodings = ["numbers"] if said.quick else ["numbers", "levels"]
            results["adult at epsilon 1"] = prediction(everything, chosen, methods, sizes, encodings)
            if said.page is not None:
                before, rest = said.page.read_text("utf-8").split(BEGIN)
                table = adult_table(results["adult at epsilon 1"])
                said.page.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{rest.split(END)[1]}", "utf-8")
    for number in (n for n in (5, 6) if n in figures):
        epsilons = EPSILONS if not said.quick else (EPSILONS[-1],)
        found = against_epsilon(number, methods, epsilons, 3 if said.quick else REPETITIONS, many)
        plain = [{name: value for name, value in cell.items() if name != "draws"} for cell in found["cells"]]
        results[f"figure {number}"] = {"cells": plain, "outside": found["outside"]}
        keep(f"figure{number}", curves(number, found))
    (said.out / "kulkarni2021.json").write_text(json.dumps(results, indent=1), "utf-8")
    print("\n" + "\n".join(claims(results)))
    print("\n" + NOTES)


if __name__ == "__main__":
    main()
