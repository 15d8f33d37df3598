"""Figures 1 to 5 and 9 to 11 of Kulkarni et al. 2022, "Locally Differentially Private Bayesian Inference".

    python papers/kulkarni2022.py --out FOLDER [--data FOLDER] [--figures 1,2,3,4,5,9,10,11] [--quick] [--page FILE]
                                  [--repetitions SHARE] [--inputs ROWS]

Writes figure1 to figure11 as .png and .svg and kulkarni2022.json, and prints what the paper says beside what comes out
here. Figure 2 needs kosarak_5_25.parquet in the data folder, Figure 4 wine_quality.parquet, Figure 5 adult.parquet;
without them they are left out. Reports about data are made by `tacit.randomize_rows`, with fresh noise: numbers differ
a little from run to run, by design. `--repetitions 0.2` runs a fifth of the repetitions. Reports of inputs in Figure 5
(10,000 rows in the paper) take a minute a repetition for every 1,000 rows, so that they have to be asked for.

Settings of the paper (captions): Figure 1, 5,000 normal rows clamped to [-5, 5], 500 repeats; Figure 2, 11,000 records
of 10 items, 50 repeats; Figures 3 and 9, shares 0.7, 0.2, 0.1, 50 repeats (here 200); Figures 4 and 5, 30 repeats;
Figure 10, 1,000 rows of 6 levels, 100 repeats; Figure 11, 1,000 rows clamped to 5, 80 repeats. The text gives epsilon
for Figure 3 alone. Where tacit has to differ, `NOTES` says why.
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

from comparisons.local_sgd import group_size, local_sgd
from comparisons.point_estimates import nearest_shares, unbiased_shares

matplotlib.use("Agg")

FIGURES = (1, 2, 3, 4, 5, 9, 10, 11)
MASSES = (0.5, 0.7, 0.9, 0.95)
TRUTH = (0.7, 0.2, 0.1)
SIZES = (100, 500, 1000, 5000)
SHARES_EPSILONS = {3: (0.5,), 9: (0.25, 1.0, 2.0)}
SHARES_REPEATS = 200
PROTOCOLS = ("unary-encoding", "randomized-response")
KOSARAK_EPSILONS, KOSARAK_REPEATS, KOSARAK_RECORDS = (0.25, 0.5, 1.0, 2.0, 4.0), 50, (10_500, 11_500)
DELTA = 1e-5
REGRESSION_EPSILONS, REGRESSION_REPEATS = (0.25, 0.5, 1.0, 2.0, 4.0), 30
COMPONENTS, RESPONSE_BOUND = 4, 2.0
SGD_RADIUS = {"linear": 1.0, "logistic": 2.0}  # of 1, 2, 5 and 10 those that serve LDP-SGD best here
SEED = 2022
BEGIN, END = "<!-- begin shares -->", "<!-- end shares -->"
BLUE, ORANGE, GREEN, DARK, GREY = "#2f6690", "#c0562f", "#3a8f5c", "#1d2733", "#8a939c"
NOTES = f"""\
Where this differs from the paper, and why
* Priors. Those of tacit, which are known from the bounds alone: N(0, 2.5^2) for the mean and a log-normal for the
  standard deviation (the paper: N and Gamma with unnamed numbers), Gamma(2, 2.5) for the rate. Shares have the paper's
  uniform Dirichlet prior. Parameters of Figures 1, 10 and 11 are drawn from the prior, as in the paper.
* Intervals are central ones by ranks, so that their probability is met exactly where the posterior is right.
* Figure 2. The paper draws 10 of the 10,000 most frequent items of 990,000 click streams. The table here holds the
  505,217 streams of at most 5 items, 2,605 items in all. Sets of 10 items are drawn until one has
  {KOSARAK_RECORDS[0]:,} to {KOSARAK_RECORDS[1]:,} clicks, each of which counts as a record. The distance is the mean
  over 0 to 1 of the absolute difference of the two distribution functions.
* Figures 3 and 9. The point estimate of unary encoding as printed has the mean f - 1 (docs/errata.md); here it is
  unbiased. It is projected on the simplex (Euclidean, exact). "Unusable" is not defined: here a solution is trivial if
  one level has everything, and unordered if its shares do not come in the order of the truth. Both protocols are shown.
* Figures 4 and 5. Centring and principal components are public here: they come from the 20% of rows held back for the
  test. The paper takes them from the private rows. {COMPONENTS} components (the paper does not say how many) are scaled
  so that nearly all rows lie in the ball of radius 1, and others are moved into it. Wine has 11 numbers and the colour;
  Adult has age, education, hours, gains and losses (as logarithms), married, male and white. Wine has no intercept.
* Noise. One release for each person with the exact sensitivity; for the statistics of the paper with R = 1 and R_y = 2
  the bound of Lemma 3.1 is 24% larger. Label and features of reports of inputs are priced together, exactly.
* LDP-SGD: clip 1, groups of d ln d / epsilon^2 people, a step from public numbers, the average of all iterates,
  coefficients within a ball of radius {SGD_RADIUS["linear"]:g} (linear) and {SGD_RADIUS["logistic"]:g} (logistic). Of
  four radii these served LDP-SGD best on the test rows, which favours it. The paper does not name its step.
* Rows of Figure 5. LDP-SGD has all rows here, as reports of statistics have; the paper gives it the 10,000 that reports
  of inputs have.
"""


def say(text: str) -> None:
    print(text, flush=True)


def simulated(plan: tacit.Plan, repeats: int, n: int, parameters: Any, seed: int) -> list[tacit.Simulation]:
    """Reports of made-up people, the same parameters every time."""
    return [tacit.simulate(plan, n=n, seed=seed + i, parameters=parameters) for i in range(repeats)]


def batched(plan: tacit.Plan, method: str, values: Any, sizes: dict[str, int], prior: Any = None, n: int = 1) -> Any:
    """Draws of many surveys under one plan: arrays (surveys, draws, ...).

    One batched call: tacit.infer takes the reports of one analysis.
    """
    from tacit.infer import check_settings, posterior_arrays, problem_of

    settings = check_settings(**sizes, chains=1, seed=SEED)
    arrays, info = posterior_arrays(problem_of(plan, prior, n), method, settings, values, chains=1, seed=SEED)
    return {name: array[:, 0] for name, array in arrays.items()}, info


# ---------------------------------------------------------------------------------------------------------------------
# Figures 1, 10 and 11: do intervals hold the truth?


@dataclass(frozen=True)
class Study:
    """A family, its rows and the paper's repetitions."""

    title: str
    model: Any
    schema: tacit.Schema
    n: int
    trials: int
    epsilons: tuple[float, ...]
    protocols: tuple[str | None, ...] = (None,)
    warmup: int = 300


LEVELS = [f"level {i}" for i in range(1, 7)]
STUDIES = {
    1: Study("Normal", tacit.Normal("x"), tacit.Schema(x=(-5, 5)), 5000, 500, (0.1, 0.25, 0.5, 1.0, 2.0)),
    10: Study(
        "Shares of 6 levels",
        tacit.Categorical("x"),
        tacit.Schema(x=LEVELS),
        1000,
        100,
        (0.25, 0.5, 1.0, 2.0),
        PROTOCOLS,
    ),
    11: Study("Exponential", tacit.Exponential("x"), tacit.Schema(x=(0, 5)), 1000, 80, (0.1, 0.25, 0.5, 1.0, 2.0)),
}


def coverage(
    study: Study, trials: int, epsilons: tuple[float, ...], n: int, protocols: tuple[str | None, ...]
) -> list[dict[str, Any]]:
    """How often central intervals of each mass held the truth, all numbers of one parameter together."""
    cells: list[dict[str, Any]] = []
    for protocol in protocols:
        for epsilon in epsilons:
            plan = tacit.Plan(study.model, study.schema, tacit.PureDP(epsilon), tacit.Local(protocol))
            begin = time.time()
            found = tacit.calibrate(plan, n=n, trials=trials, seed=SEED, warmup=study.warmup)
            held: dict[str, list[list[float]]] = {}
            for number in found.ranks:
                held.setdefault(number.split("[")[0], []).append([found.coverage(mass)[number] for mass in MASSES])
            for parameter, shares in held.items():
                cells.append(
                    {
                        "protocol": plan.client().protocol.kind,
                        "epsilon": epsilon,
                        "parameter": parameter,
                        "numbers": len(shares),
                        "trials": trials,
                        "coverage": np.mean(shares, axis=0).tolist(),
                        "least p": min(p for name, p in found.p_values().items() if name.split("[")[0] == parameter),
                        "failed": int(found.failed.sum()),
                        "seconds": time.time() - begin,
                    }
                )
            say(f"  {study.title}, epsilon = {epsilon:g}, {cells[-1]['protocol']}: {time.time() - begin:.0f} s")
    return cells


def coverage_figure(title: str, cells: list[dict[str, Any]]) -> Figure:
    """A panel for each parameter and protocol: coverage against epsilon, a line a mass, bars of two sd."""
    kinds = list(dict.fromkeys((cell["parameter"], cell["protocol"]) for cell in cells))
    drawn = Figure(figsize=(4.4 * len(kinds) + 1.6, 4.4), layout="constrained", facecolor="white")
    panels = drawn.subplots(1, len(kinds), squeeze=False, sharey=True)[0]
    colours = [GREEN, BLUE, ORANGE, DARK]
    for panel, (parameter, protocol) in zip(panels, kinds, strict=True):
        own = [cell for cell in cells if (cell["parameter"], cell["protocol"]) == (parameter, protocol)]
        at = np.array([cell["epsilon"] for cell in own])
        for i, mass in enumerate(MASSES):
            sd = math.sqrt(mass * (1 - mass) / own[0]["trials"])
            panel.axhline(mass, color=colours[i], linewidth=0.9, linestyle=":")
            held = [cell["coverage"][i] for cell in own]
            shifted = at * (1 + 0.025 * (i - 1.5))
            panel.errorbar(
                shifted, held, 2 * sd, fmt="o-", color=colours[i], markersize=4, linewidth=1.3, elinewidth=0.8
            )
            if panel is panels[-1]:
                place = (1.0, mass)
                panel.annotate(
                    f"{mass:.0%}", place, (6, -4), panel.get_yaxis_transform(), "offset points", color=colours[i]
                )
        panel.set_title(f"{parameter}, {protocol}", fontsize=10, loc="left")
        panel.set(xlabel="epsilon", xscale="log", ylim=(0.25, 1.04))
        _plain_ticks(panel, at)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("share of intervals that held the truth")
    trials = f"{cells[0]['trials']} trials, bars of two sd"
    drawn.suptitle(f"{title}; {trials}", fontsize=11, x=0.01, ha="left")
    return drawn


def _plain_ticks(panel: Any, at: Any) -> None:
    panel.set_xticks(list(at), [f"{value:g}" for value in at])
    panel.minorticks_off()


# ---------------------------------------------------------------------------------------------------------------------
# Figure 2: private and non-private posteriors of shares


def kosarak(folder: Path) -> Any:
    """The clicks on 10 random items, as many as in the paper: one item's place (0 to 9) a record."""
    import pyarrow.parquet as pq

    items = pq.read_table(folder / "kosarak_5_25.parquet", columns=["items"])["items"].combine_chunks()
    clicks = np.asarray(items.flatten())
    counts = np.bincount(clicks)
    known = np.flatnonzero(counts)
    rng = np.random.default_rng(SEED)
    while True:
        chosen = np.sort(rng.choice(known, 10, replace=False))
        if KOSARAK_RECORDS[0] <= counts[chosen].sum() <= KOSARAK_RECORDS[1]:
            break
    kept = clicks[np.isin(clicks, chosen)]
    order = chosen[np.argsort(-counts[chosen])]
    return np.argsort(order)[np.searchsorted(np.sort(order), kept)]


def gap(a: Any, b: Any) -> float:
    """The mean over [0, 1] of the absolute difference of two empirical distribution functions."""
    both = np.sort(np.concatenate([[0.0, 1.0], a, b]))
    left = both[:-1]
    f = np.searchsorted(np.sort(a), left, "right") / len(a) - np.searchsorted(np.sort(b), left, "right") / len(b)
    return float(np.abs(f) @ np.diff(both))


def kosarak_gaps(
    records: Any, epsilons: tuple[float, ...], protocols: tuple[str, ...], repeats: int, sizes: dict[str, int]
) -> list[dict[str, Any]]:
    """The gap to the non-private posterior of every share, averaged over fresh reports of the same records."""
    levels = [f"item {i}" for i in range(1, 11)]
    exact = np.random.default_rng(SEED).dirichlet(1 + np.bincount(records, minlength=10), 4000)
    rows = {"item": [levels[i] for i in records]}
    cells: list[dict[str, Any]] = []
    for protocol in protocols:
        for epsilon in epsilons:
            begin = time.time()
            schema = tacit.Schema(item=levels)
            plan = tacit.Plan(tacit.Categorical("item"), schema, tacit.PureDP(epsilon), tacit.Local(protocol))
            surveys = [tacit.randomize_rows(rows, plan, dataset=f"kosarak-{i}") for i in range(repeats)]
            values = [plan.model.summary(plan.client(), survey.groups[0].values) for survey in surveys]
            theta = batched(plan, "shares", values, sizes, n=len(records))[0]["theta"]
            gaps = [[gap(own[:, j], exact[:, j]) for j in range(10)] for own in theta]
            cells.append(
                {
                    "protocol": protocol,
                    "epsilon": epsilon,
                    "records": len(records),
                    "gap": np.mean(gaps, axis=0).tolist(),
                    "wider": float(np.median(theta.std(axis=1) / exact.std(axis=0))),
                    "seconds": time.time() - begin,
                }
            )
            say(f"  Kosarak, {protocol}, epsilon = {epsilon:g}: {np.mean(gaps):.4f}, {time.time() - begin:.0f} s")
    return cells


def gaps_figure(cells: list[dict[str, Any]]) -> Figure:
    """A panel a protocol, a line an item, the mean in bold."""
    protocols = list(dict.fromkeys(cell["protocol"] for cell in cells))
    drawn = Figure(figsize=(10.5, 4.2), layout="constrained", facecolor="white")
    panels = drawn.subplots(1, len(protocols), squeeze=False, sharey=True)[0]
    for panel, protocol in zip(panels, protocols, strict=True):
        own = [cell for cell in cells if cell["protocol"] == protocol]
        at = [cell["epsilon"] for cell in own]
        for j in range(10):
            label = "each item" if j == 0 else None
            panel.plot(at, [cell["gap"][j] for cell in own], color=GREY, linewidth=0.8, label=label)
        panel.plot(
            at, [np.mean(cell["gap"]) for cell in own], "o-", color=BLUE, linewidth=1.8, label="mean of 10 items"
        )
        top = 1.05 * max(value for cell in cells for value in cell["gap"])
        panel.set(xscale="log", xlabel="epsilon", ylim=(0, top))
        panel.set_title(protocol, fontsize=10, loc="left")
        _plain_ticks(panel, at)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("mean difference of distribution functions")
    panels[-1].legend(frameon=False)
    title = f"Kosarak, {cells[0]['records']:,} records: private against non-private posteriors of the shares"
    drawn.suptitle(title, fontsize=11, x=0.01, ha="left")
    return drawn


# ---------------------------------------------------------------------------------------------------------------------
# Figures 3 and 9: posterior means against projected point estimates


def unusable(shares: Any) -> tuple[float, float]:
    """How often one level has everything, and how often the order is not that of the truth."""
    trivial = shares.max(axis=1) > 1 - 1e-9
    unordered = np.any(np.argsort(-shares, axis=1, kind="stable") != np.argsort(-np.array(TRUTH)), axis=1)
    return float(np.mean(trivial)), float(np.mean(unordered | trivial))


def shares_errors(
    epsilons: tuple[float, ...],
    protocols: tuple[str, ...],
    people: tuple[int, ...],
    repeats: int,
    sizes: dict[str, int],
) -> list[dict[str, Any]]:
    """Root mean squared errors of the shares, run by run, and unusable solutions."""
    truth = np.array(TRUTH)
    cells: list[dict[str, Any]] = []
    for protocol in protocols:
        for epsilon in epsilons:
            begin = time.time()
            schema = tacit.Schema(x=["a", "b", "c"])
            plan = tacit.Plan(tacit.Categorical("x"), schema, tacit.PureDP(epsilon), tacit.Local(protocol))
            made = {n: simulated(plan, repeats, n, {"theta": truth}, SEED + 10_000 * n) for n in people}
            # The chain knows n through the counts alone, so that surveys of all sizes go into one call.
            values = [one.numbers() for own in made.values() for one in own]
            theta = batched(plan, "shares", values, sizes)[0]["theta"].mean(axis=1)
            for place, (n, own) in enumerate(made.items()):
                groups = [one.release.groups[0] for one in own]
                points = nearest_shares([unbiased_shares(group.protocol, group.values) for group in groups])
                means = theta[place * repeats : (place + 1) * repeats]
                errors = {
                    name: np.sqrt(np.mean((found - truth) ** 2, axis=1))
                    for name, found in (("posterior", means), ("point", points))
                }
                difference = errors["posterior"] - errors["point"]
                cells.append(
                    {
                        "protocol": protocol,
                        "epsilon": epsilon,
                        "n": n,
                        "repeats": repeats,
                        "posterior": float(errors["posterior"].mean()),
                        "point": float(errors["point"].mean()),
                        "difference": float(difference.mean()),
                        "difference error": float(difference.std(ddof=1) / math.sqrt(repeats)),
                        "posterior unusable": unusable(means),
                        "point unusable": unusable(points),
                    }
                )
            say(f"  shares, {protocol}, epsilon = {epsilon:g}: {time.time() - begin:.0f} s")
    return cells


def shares_figure(cells: list[dict[str, Any]]) -> Figure:
    """A column for each protocol and epsilon; errors above, unusable solutions below."""
    kinds = list(dict.fromkeys((cell["protocol"], cell["epsilon"]) for cell in cells))
    columns = len(kinds)
    drawn = Figure(figsize=(2.6 * columns + 2.6, 6.0), layout="constrained", facecolor="white")
    panels = drawn.subplots(2, columns, squeeze=False, sharex=True)
    for column, (protocol, epsilon) in enumerate(kinds):
        own = [cell for cell in cells if (cell["protocol"], cell["epsilon"]) == (protocol, epsilon)]
        at = [cell["n"] for cell in own]
        above, below = panels[0][column], panels[1][column]
        for name, label, colour in (
            ("posterior", "posterior mean", BLUE),
            ("point", "point estimate, projected", ORANGE),
        ):
            above.plot(at, [c[name] for c in own], "o-", color=colour, markersize=4, linewidth=1.4, label=label)
            worse = [c[f"{name} unusable"] for c in own]
            below.plot(at, [w[1] for w in worse], "o-", color=colour, markersize=4, linewidth=1.4)
            below.plot(at, [w[0] for w in worse], "s--", color=colour, markersize=4, linewidth=1.0)
        above.set_title(f"{protocol},\nepsilon = {epsilon:g}", fontsize=10, loc="left")
        above.set(xscale="log", ylim=(0, None))
        below.set(xscale="log", ylim=(-0.03, 1), xlabel="people")
        _plain_ticks(below, at)
        for panel in (above, below):
            panel.spines[["top", "right"]].set_visible(False)
    panels[0][0].set_ylabel("RMSE of the shares")
    panels[1][0].set_ylabel("unusable solutions, share of runs")
    handles, labels = panels[0][0].get_legend_handles_labels()
    line = matplotlib.lines.Line2D
    handles += [line([], [], color=DARK, marker="o"), line([], [], color=DARK, marker="s", linestyle="--")]
    labels += ["below: unordered or trivial", "below: trivial"]
    drawn.legend(handles, labels, loc="outside lower center", ncols=2 if columns < 4 else 4, frameon=False)
    return drawn


def shares_table(cells: list[dict[str, Any]]) -> str:
    """Figure 3 as Markdown."""
    headings = ("protocol", "people", "posterior mean", "projected point estimate", "difference")
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    for c in cells:
        numbers = (
            f"{c['posterior']:.4f}",
            f"{c['point']:.4f}",
            f"{c['difference']:+.4f} ± {c['difference error']:.4f}",
        )
        lines.append("| " + " | ".join((c["protocol"], f"{c['n']:,}", *numbers)) + " |")
    return "\n".join(lines)


# ---------------------------------------------------------------------------------------------------------------------
# Figures 4 and 5: regression from reports, against gradient descent


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


def area(score: Any, response: Any) -> float:
    """The area under the receiver operating curve: how often a positive scores above a negative, ties by half."""
    from scipy.stats import rankdata

    positive = response > 0
    count = int(positive.sum())
    return float((rankdata(score)[positive].sum() - count * (count + 1) / 2) / (count * (len(score) - count)))


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


def regression_scores(
    task: Task, rows: dict[str, int], epsilons: tuple[float, ...], repeats: int, sizes: dict[str, int]
) -> list[dict[str, Any]]:
    """Test scores of posterior means by kind of report, and of gradient descent, at every epsilon."""
    cells: list[dict[str, Any]] = []
    rng = np.random.default_rng(SEED)
    for epsilon in epsilons:
        budget = tacit.ApproxDP(epsilon, DELTA)
        for method, count in rows.items():
            begin = time.time()
            own = task.some(count)
            if method == "sgd":
                scores = [
                    own.score(
                        local_sgd(
                            own.design[order],
                            own.response[order] / (RESPONSE_BOUND if task.family == "linear" else 1.0),
                            family=task.family,
                            budget=budget,
                            radius=SGD_RADIUS[task.family],
                            rng=rng,
                        )
                    )
                    for order in (rng.permutation(len(own.x)) for _ in range(repeats))
                ]
            else:
                plan = regression_plan(own, epsilon, method)
                linear = task.family == "linear"
                response = own.response if linear else np.where(own.response > 0, "above", "below")
                table = {"y": response, **{f"x{i + 1}": column for i, column in enumerate(own.x.T)}}
                surveys = [tacit.randomize_rows(table, plan, dataset=f"survey-{i}") for i in range(repeats)]
                values = [plan.model.summary(plan.client(), survey.groups[0].values) for survey in surveys]
                chosen = plan.model.default_method(plan.schema)
                theta = batched(plan, chosen, values, sizes, n=len(own.x))[0]["theta"].mean(axis=1)
                scores = [own.score(one) for one in theta]
            cells.append(
                {
                    "method": method,
                    "epsilon": epsilon,
                    "rows": len(own.x),
                    "repeats": repeats,
                    "mean": float(np.mean(scores)),
                    "sd": float(np.std(scores, ddof=1)),
                    "groups": len(own.x) // group_size(budget, own.design.shape[1], len(own.x)),
                    "seconds": time.time() - begin,
                }
            )
            say(f"  {task.family}, {method}, epsilon = {epsilon:g}: {np.mean(scores):.4f}, {time.time() - begin:.0f} s")
    return cells


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
    _plain_ticks(panel, list(dict.fromkeys(cell["epsilon"] for cell in cells)))
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(frameon=False, fontsize=9)
    panel.set_title(f"{title}; {cells[0]['repeats']} repetitions, bars of one sd", fontsize=11, loc="left")
    return drawn


# ---------------------------------------------------------------------------------------------------------------------


def claims(results: dict[str, Any]) -> list[str]:
    """What the paper says of its figures, beside the same numbers here."""
    lines: list[str] = []
    for number in (1, 10, 11):
        if f"figure {number}" in results:
            lines.append(f"{number:<4}paper: posteriors are well calibrated, also at the smallest epsilon.")
            cells = results[f"figure {number}"]
            off = max(abs(held - mass) for c in cells for held, mass in zip(c["coverage"], MASSES, strict=True))
            least = min(c["least p"] for c in cells)
            tests = sum(c["numbers"] for c in cells)
            lines.append(f"    here: coverage off by at most {off:.3f}; least p {least:.2g} of {tests} rank tests.")
    if "figure 2" in results:
        lines.append("2   paper: close to non-private also at small epsilon, and converging to it.")
        for protocol in dict.fromkeys(c["protocol"] for c in results["figure 2"]):
            own = [c for c in results["figure 2"] if c["protocol"] == protocol]
            said = ", ".join(f"{np.mean(c['gap']):.4f} at {c['epsilon']:g}" for c in own)
            lines.append(f"    here: {protocol}: {said}.")
    for number in (3, 9):
        if f"figure {number}" in results:
            lines.append(f"{number}   paper: the posterior's error is 10-30% lower, mostly with few people.")
            cells = results[f"figure {number}"]
            for protocol, epsilon in dict.fromkeys((c["protocol"], c["epsilon"]) for c in cells):
                own = [c for c in cells if (c["protocol"], c["epsilon"]) == (protocol, epsilon)]
                said = ", ".join(f"{c['posterior'] / c['point'] - 1:+.0%} for n = {c['n']}" for c in own)
                lines.append(f"    here: {protocol}, epsilon = {epsilon:g}: {said}.")
    for number, what in (
        (4, "better than LDP-SGD at small epsilon, worse at large"),
        (5, "better up to 0.8, then near"),
    ):
        if f"figure {number}" in results:
            lines.append(f"{number}   paper: reports of statistics are {what}.")
            found = results[f"figure {number}"]
            for method in dict.fromkeys(c["method"] for c in found["cells"]):
                own = [c for c in found["cells"] if c["method"] == method]
                said = ", ".join(f"{c['mean']:.3f} at {c['epsilon']:g}" for c in own)
                lines.append(f"    here: {method}: {said}; non-private {found['non-private']:.3f}.")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description="Figures 1 to 5 and 9 to 11 of Kulkarni et al. 2022.")
    parser.add_argument("--data", type=Path, help="folder with kosarak_5_25, wine_quality and adult as .parquet")
    parser.add_argument("--out", type=Path, required=True, help="folder for figures and numbers")
    parser.add_argument("--figures", default=",".join(map(str, FIGURES)), help="comma-separated; all by default")
    parser.add_argument("--quick", action="store_true", help="few draws, trials and epsilons: does it run?")
    parser.add_argument("--repetitions", type=float, default=1.0, help="the share of the repetitions to run")
    parser.add_argument("--inputs", type=int, default=0, help="reports of inputs in Figure 5, 10000 in the paper: slow")
    parser.add_argument(
        "--page", type=Path, help="Markdown page to put Figure 3 into as a table, between its two marks"
    )
    said = parser.parse_args()
    if not said.figures or set(said.figures.split(",")) - set(map(str, FIGURES)):
        raise SystemExit(f"Expected --figures to be some of {','.join(map(str, FIGURES))}; found {said.figures}.")
    if not 0 < said.repetitions <= 1:
        raise SystemExit(f"Expected --repetitions to be above 0 and at most 1; found {said.repetitions}.")
    figures = [int(number) for number in said.figures.split(",")]
    quick = bool(said.quick)
    sizes = {"warmup": 60, "draws": 60} if quick else {"warmup": 300, "draws": 500}

    def repeats(many: int) -> int:
        return 4 if quick else max(4, round(many * said.repetitions))

    def last(several: Any) -> Any:
        return several[-1:] if quick else several

    said.out.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {}
    drawn: dict[str, Figure] = {}

    def keep(number: int, found: Any, figure: Figure) -> None:
        """Written at once: a later figure may take hours."""
        results[f"figure {number}"] = found
        figure.savefig(said.out / f"figure{number}.png", dpi=120)
        figure.savefig(said.out / f"figure{number}.svg", metadata={"Date": None})
        (said.out / "kulkarni2022.json").write_text(json.dumps(results, indent=1), "utf-8")
        drawn[f"figure{number}"] = figure

    tables = {2: "kosarak_5_25.parquet", 4: "wine_quality.parquet", 5: "adult.parquet"}
    for number in figures:
        why = missing(said.data, tables[number]) if number in tables else None
        if why is not None:
            say(f"Figure {number} is left out: {why}.")
        elif number in STUDIES:
            study = STUDIES[number]
            trials, n = repeats(study.trials), 200 if quick else study.n
            found = coverage(study, max(trials, 10), last(study.epsilons), n, last(study.protocols))
            keep(number, found, coverage_figure(f"{study.title}, n = {n:,}", found))
        elif number == 2:
            records = kosarak(said.data)
            found = kosarak_gaps(records, last(KOSARAK_EPSILONS), last(PROTOCOLS), repeats(KOSARAK_REPEATS), sizes)
            keep(number, found, gaps_figure(found))
        elif number in SHARES_EPSILONS:
            people = SIZES[:2] if quick else SIZES
            # What was compiled for Figure 3 serves a quick Figure 9.
            epsilons = SHARES_EPSILONS[3 if quick else number]
            found = shares_errors(epsilons, last(PROTOCOLS), people, repeats(SHARES_REPEATS), sizes)
            keep(number, found, shares_figure(found))
            if number == 3 and said.page is not None:
                before, rest = said.page.read_text("utf-8").split(BEGIN)
                said.page.write_text(f"{before}{BEGIN}\n\n{shares_table(found)}\n\n{END}{rest.split(END)[1]}", "utf-8")
        else:
            task = wine(said.data) if number == 4 else adult(said.data)
            everybody = 2_000 if quick else len(task.x)
            rows = {"statistics": everybody, "sgd": everybody}
            if number == 5 and said.inputs:
                rows["inputs"] = min(said.inputs, everybody)
            elif number == 5:
                say("Reports of inputs are left out of Figure 5: --inputs is not given.")
            few = sizes if quick else {"warmup": 200, "draws": 200}  # for a mean
            found = regression_scores(task, rows, last(REGRESSION_EPSILONS), repeats(REGRESSION_REPEATS), few)
            level = {"non-private": task.some(everybody).non_private()}
            if number == 4:
                level["always the public mean"] = task.score(np.zeros(task.x.shape[1]))
            title, ylabel = (
                ("Wine", "RMSE on test rows") if number == 4 else ("Adult", "area under the curve, test rows")
            )
            plain = {"cells": found, **level}
            keep(number, plain, scores_figure(f"{title}, {task.x.shape[1]} components", ylabel, found, level))
    (said.out / "kulkarni2022.json").write_text(json.dumps(results, indent=1), "utf-8")
    say("\n" + "\n".join(claims(results)))
    say("\n" + NOTES)


if __name__ == "__main__":
    main()
