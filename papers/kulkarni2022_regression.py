"""Figures 4 and 5 of Kulkarni et al. 2022: regression from local reports; called by kulkarni2022.py."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import common
import numpy as np
from common import BLUE, DARK, GREEN, ORANGE, Claim, area, plain_ticks
from matplotlib.figure import Figure

import tacit
from comparisons.local_sgd import group_size, local_sgd
from tacit import studies

DELTA = 1e-5
COMPONENTS, RESPONSE_BOUND = 4, 2.0
SGD_RADIUS = {"linear": 1.0, "logistic": 2.0}  # of 1, 2, 5 and 10 those that serve LDP-SGD best here
SEED = 2022


@dataclass(frozen=True)
class Task:
    """Rows to learn from and rows to predict: covariates (n, d) in the ball of radius 1, responses in their own units.

    ``response`` is within the bounds for the linear family, -1 or 1 for the logistic one; ``target`` is not clamped.
    """

    family: str
    x: Any
    response: Any
    test_x: Any
    target: Any

    @property
    def design(self) -> Any:
        """The covariates, for the logistic family with a constant before them."""
        return self._design(self.x)

    def _design(self, x: Any) -> Any:
        return x if self.family == "linear" else np.column_stack([np.ones(len(x)), x])

    def score(self, theta: Any) -> float:
        """What theta, in mapped units, is worth on the test rows: RMSE, or area under the curve."""
        predicted = self._design(self.test_x) @ theta
        if self.family == "linear":
            return float(np.sqrt(np.mean((RESPONSE_BOUND * predicted - self.target) ** 2)))
        return area(predicted, self.target)

    def non_private(self) -> float:
        """The same by least squares, or by the largest likelihood."""
        if self.family == "linear":
            return self.score(np.linalg.lstsq(self.design, self.response / RESPONSE_BOUND, rcond=None)[0])
        theta = np.zeros(self.design.shape[1])
        for _ in range(30):
            p = 1 / (1 + np.exp(-self.design @ theta))
            hessian = (self.design * (p * (1 - p))[:, None]).T @ self.design + 1e-6 * np.eye(len(theta))
            theta = theta + np.linalg.solve(hessian, self.design.T @ ((self.response + 1) / 2 - p))
        return self.score(theta)

    def some(self, rows: int) -> Task:
        """The first rows alone."""
        return Task(self.family, self.x[:rows], self.response[:rows], self.test_x, self.target)


def split(features: Any, response: Any, family: str) -> Task:
    """80% to learn from. Centre, principal components and scale come from the other 20%, which are public here."""
    order = np.random.default_rng(SEED).permutation(len(features))
    test, train = order[: len(order) // 5], order[len(order) // 5 :]
    centre, spread = features[test].mean(axis=0), features[test].std(axis=0)
    standard = (features - centre) / np.maximum(spread, 1e-9)
    directions = np.linalg.svd(standard[test], full_matrices=False)[2][:COMPONENTS]
    x = standard @ directions.T
    x = x / np.quantile(np.linalg.norm(x[test], axis=1), 0.99)
    x = x / np.maximum(1, np.linalg.norm(x, axis=1))[:, None]
    y = response - response[test].mean() if family == "linear" else response
    seen = np.clip(y, -RESPONSE_BOUND, RESPONSE_BOUND) if family == "linear" else y
    return Task(family, x[train], seen[train], x[test], y[test])


def wine(folder: Path) -> Task:
    """All numbers and the colour, red and white together."""
    import pyarrow.parquet as pq

    table = pq.read_table(folder / "wine_quality.parquet")
    names = [name for name in table.column_names if name not in ("quality", "color")]
    columns = [np.asarray(table[name], float) for name in names]
    columns.append(np.array([value == "red" for value in table["color"].to_pylist()], float))
    return split(np.stack(columns, axis=1), np.asarray(table["quality"], float), "linear")


def adult(folder: Path) -> Task:
    """Five numbers, gains and losses as logarithms, and three that are 0 or 1."""
    import pyarrow.parquet as pq

    table = pq.read_table(folder / "adult.parquet")
    plain = [np.asarray(table[name], float) for name in ("age", "education_num", "hours_per_week")]
    heavy = [np.log1p(np.asarray(table[name], float)) for name in ("capital_gain", "capital_loss")]
    married = np.array([str(value).startswith("Married-civ") for value in table["marital_status"].to_pylist()], float)
    others = [
        np.array([value == kind for value in table[name].to_pylist()], float)
        for name, kind in (("sex", "Male"), ("race", "White"))
    ]
    income = np.where(np.array(table["income"].to_pylist()) == ">50K", 1.0, -1.0)
    return split(np.stack([*plain, *heavy, married, *others], axis=1), income, "logistic")


def regression_plan(task: Task, epsilon: float, protocol: str) -> tacit.Plan:
    """Covariates in the ball of radius 1; reports of sums or of inputs."""
    names = [f"x{i}" for i in range(1, task.x.shape[1] + 1)]
    linear = task.family == "linear"
    response: Any = (-RESPONSE_BOUND, RESPONSE_BOUND) if linear else ["below", "above"]
    schema = tacit.Schema(y=response, **dict.fromkeys(names, (-1, 1)))
    family = tacit.LinearRegression if linear else tacit.LogisticRegression
    model = family(f"y ~ {' + '.join(names)}{' - 1' if linear else ''}", radius=1.0)
    return tacit.Plan(model, schema, tacit.ApproxDP(epsilon, DELTA), tacit.Local(protocol))


def plain_scores(number: int, folder: str, rows: int) -> dict[str, float]:
    """What predictions are worth without privacy, and for wine without covariates."""
    task = task_of(number, folder).some(rows)
    found = {"non-private": task.non_private()}
    return found | ({"always the public mean": task.score(np.zeros(task.x.shape[1]))} if number == 4 else {})


def task_of(number: int, folder: str) -> Task:
    """Wine or Adult."""
    return wine(Path(folder)) if number == 4 else adult(Path(folder))


def regression_scores(
    number: int, folder: str, method: str, rows: int, epsilon: float, repeats: int, sizes: dict[str, int]
) -> dict[str, Any]:
    """Test scores of posterior means by kind of report, or of gradient descent."""
    own = task_of(number, folder).some(rows)
    rng = np.random.default_rng(SEED)
    budget = tacit.ApproxDP(epsilon, DELTA)
    linear = own.family == "linear"
    if method == "sgd":
        scores = [
            own.score(
                local_sgd(
                    own.design[order],
                    own.response[order] / (RESPONSE_BOUND if linear else 1.0),
                    family=own.family,
                    budget=budget,
                    radius=SGD_RADIUS[own.family],
                    rng=rng,
                )
            )
            for order in (rng.permutation(len(own.x)) for _ in range(repeats))
        ]
    else:
        plan = regression_plan(own, epsilon, method)
        response = own.response if linear else np.where(own.response > 0, "above", "below")
        table = {"y": response, **{f"x{i + 1}": column for i, column in enumerate(own.x.T)}}
        surveys = [tacit.randomize_rows(table, plan, dataset=f"survey-{i}") for i in range(repeats)]
        theta = studies.posteriors(surveys, seed=SEED, **sizes)[0]["theta"].mean(axis=1)
        scores = [own.score(one) for one in theta]
    return {
        "method": method,
        "epsilon": epsilon,
        "rows": len(own.x),
        "repeats": repeats,
        "mean": float(np.mean(scores)),
        "sd": float(np.std(scores, ddof=1)),
        "groups": len(own.x) // group_size(budget, own.design.shape[1], len(own.x)),
    }


def scores_figure(title: str, ylabel: str, cells: list[dict[str, Any]], level: dict[str, float]) -> Figure:
    """Means with one standard deviation, shifted a little so that bars do not hide each other."""
    drawn = Figure(figsize=(7.2, 4.6), layout="constrained", facecolor="white")
    panel = drawn.subplots()
    labels = {"statistics": "reports of statistics", "inputs": "reports of inputs", "sgd": "LDP-SGD"}
    colours = {"statistics": BLUE, "inputs": GREEN, "sgd": ORANGE}
    for shift, method in enumerate(dict.fromkeys(cell["method"] for cell in cells)):
        own = [cell for cell in cells if cell["method"] == method]
        at = [cell["epsilon"] * (1 + 0.03 * (shift - 1)) for cell in own]
        label = f"{labels[method]}, n = {own[0]['rows']:,}"
        panel.errorbar(
            at,
            [cell["mean"] for cell in own],
            [cell["sd"] for cell in own],
            fmt="o-",
            color=colours[method],
            markersize=4,
            linewidth=1.4,
            capsize=2.5,
            label=label,
        )
    for (name, value), style in zip(level.items(), ("--", ":"), strict=False):
        panel.axhline(value, color=DARK, linewidth=1.0, linestyle=style, label=name)
    panel.set(xscale="log", xlabel=f"epsilon (delta = {DELTA:g})", ylabel=ylabel)
    plain_ticks(panel, list(dict.fromkeys(cell["epsilon"] for cell in cells)))
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(frameon=False, fontsize=9)
    panel.set_title(f"{title}; {cells[0]['repeats']} repetitions, bars of one sd", fontsize=11, loc="left")
    return drawn


def claims(found: dict[str, Any]) -> list[Claim]:
    """What the paper says of both figures, beside the same numbers here. Two standard errors make a difference."""
    claims: list[Claim] = []
    for number, what, low in (("4", "RMSE", True), ("5", "area under the curve", False)):
        cells = found.get(number, [])
        by = {(c["method"], c["epsilon"]): c for c in cells}
        epsilons = sorted({e for m, e in by if ("statistics", e) in by and ("sgd", e) in by})
        if epsilons:
            said = "; ".join(
                f"epsilon {e:g}: statistics {by['statistics', e]['mean']:.3f} (sd {by['statistics', e]['sd']:.3f}), "
                f"LDP-SGD {by['sgd', e]['mean']:.3f} (sd {by['sgd', e]['sd']:.3f})"
                + (
                    f", inputs {by['inputs', e]['mean']:.3f} (sd {by['inputs', e]['sd']:.3f})"
                    if ("inputs", e) in by
                    else ""
                )
                for e in epsilons
            )
            sign = 1 if low else -1

            def ahead(e: float, sign: int = sign, by: Any = by) -> float:
                ours, theirs = by["statistics", e], by["sgd", e]
                error = math.hypot(ours["sd"], theirs["sd"]) / math.sqrt(ours["repeats"])
                return sign * (theirs["mean"] - ours["mean"]) / max(error, 1e-12)

            level = ", ".join(f"{k} {v:.3f}" for k, v in found.get(f"{number} plain", {}).items())
            small, large = min(epsilons), max(epsilons)
            if number == "4":
                says = "reports of statistics have the smaller RMSE at small epsilon, LDP-SGD at large"
                held = (ahead(small) > 2, ahead(large) < -2)
            else:
                says = "reports of statistics beat LDP-SGD up to epsilon = 0.8, and are near it beyond"
                gap = abs(by["statistics", large]["mean"] - by["sgd", large]["mean"])
                held = (ahead(small) > 2, gap < 0.03)
            here = f"{what}: {said}; {level} ({cells[0]['repeats']} repetitions)"
            claims.append(Claim(f"Figure {number}", says, here, common.verdict(*held)))
            if any(m == "inputs" for m, _ in by):
                worse = [by["inputs", e]["mean"] < by["statistics", e]["mean"] for m, e in by if m == "inputs"]
                says = "reports of inputs cannot perform at a similar level"
                claims.append(Claim(f"Figure {number}, inputs", says, here, common.verdict(*worse)))
    return claims
