"""Figures 1 to 6 and 9 to 11 of Kulkarni et al. 2022, "Locally Differentially Private Bayesian Inference".

    python papers/kulkarni2022.py --out FOLDER [--data FOLDER] [--figures 1,2,3,4,5,6,9,10,11] [--quick] [--page FILE]
                                  [--repetitions SHARE] [--inputs ROWS] [--processes 4] [--stop-after 3600]

Writes the figures as .svg, kulkarni2022.jsonl and kulkarni2022-claims.json, and prints what the paper says beside what
comes out here. Figure 2 needs kosarak_5_25.parquet in the data folder, Figure 4 wine_quality.parquet, Figure 5
adult.parquet; without them they are left out. Reports about data are made by `tacit.randomize_rows`, with fresh noise:
numbers differ a little from run to run, by design. `--repetitions 0.2` runs a fifth of the repetitions. Reports of
inputs in Figure 5 (10,000 rows in the paper) take a minute a repetition for every 1,000 rows, so that they have to be
asked for.

Settings of the paper (captions): Figure 1, 5,000 normal rows clamped to [-5, 5], 500 repeats; Figure 2, 11,000 records
of 10 items, 50 repeats; Figures 3 and 9, shares 0.7, 0.2, 0.1, 50 repeats (here 200); Figures 4 and 5, 30 repeats;
Figure 10, 1,000 rows of 6 levels, 100 repeats; Figure 11, 1,000 rows clamped to 5, 80 repeats. The text gives epsilon
for Figure 3 alone. Where tacit has to differ, `NOTES` says why.
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
from common import Cell, Claim

from comparisons.local_sgd import group_size, local_sgd
from comparisons.point_estimates import nearest_shares, unbiased_shares

matplotlib.use("Agg")

FIGURES = ("1", "2", "3", "4", "5", "6", "9", "10", "11")
MASSES = (0.5, 0.7, 0.9, 0.95)
TRUTH = (0.7, 0.2, 0.1)
SIZES = (100, 500, 1000, 5000)
SHARES_EPSILONS = {3: (0.5,), 9: (0.25, 1.0, 2.0)}
SHARES_REPEATS = 200
CHEBYSHEV_SIZES, CHEBYSHEV_RUNS, CHEBYSHEV_ROWS = (2, 3, 4, 5, 6, 8, 10), 50, 1000
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


def simulated(plan: tacit.Plan, repeats: int, n: int, parameters: Any, seed: int) -> list[tacit.Simulation]:
    """Reports of made-up people, the same parameters every time."""
    return [tacit.simulate(plan, n=n, seed=seed + i, parameters=parameters) for i in range(repeats)]


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


def coverage(number: int, trials: int, epsilon: float, n: int, protocol: str | None) -> list[dict[str, Any]]:
    """How often central intervals of each mass held the truth, all numbers of one parameter together."""
    study = STUDIES[number]
    plan = tacit.Plan(study.model, study.schema, tacit.PureDP(epsilon), tacit.Local(protocol))
    found = tacit.calibrate(plan, n=n, trials=trials, seed=SEED, warmup=study.warmup)
    held: dict[str, list[list[float]]] = {}
    for name in found.ranks:
        held.setdefault(name.split("[")[0], []).append([found.coverage(mass)[name] for mass in MASSES])
    return [
        {
            "protocol": plan.local_randomizer().protocol.kind,
            "epsilon": epsilon,
            "parameter": parameter,
            "numbers": len(shares),
            "trials": trials,
            "coverage": np.mean(shares, axis=0).tolist(),
            "least p": min(p for name, p in found.p_values().items() if name.split("[")[0] == parameter),
            "failed": int(found.failed.sum()),
        }
        for parameter, shares in held.items()
    ]


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


def kosarak_gaps(folder: str, epsilon: float, protocol: str, repeats: int, sizes: dict[str, int]) -> dict[str, Any]:
    """The gap to the non-private posterior of every share, averaged over fresh reports of the same records."""
    records = kosarak(Path(folder))
    levels = [f"item {i}" for i in range(1, 11)]
    exact = np.random.default_rng(SEED).dirichlet(1 + np.bincount(records, minlength=10), 4000)
    rows = {"item": [levels[i] for i in records]}
    schema = tacit.Schema(item=levels)
    plan = tacit.Plan(tacit.Categorical("item"), schema, tacit.PureDP(epsilon), tacit.Local(protocol))
    surveys = [tacit.randomize_rows(rows, plan, dataset=f"kosarak-{i}") for i in range(repeats)]
    theta = studies.posteriors(surveys, method="shares", seed=SEED, **sizes)[0]["theta"]
    gaps = np.array([[gap(own[:, j], exact[:, j]) for j in range(10)] for own in theta])
    return {
        "protocol": protocol,
        "epsilon": epsilon,
        "records": len(records),
        "gap": gaps.mean(axis=0).tolist(),
        "gap error": float(gaps.mean(axis=1).std(ddof=1) / math.sqrt(repeats)),
        "wider": float(np.median(theta.std(axis=1) / exact.std(axis=0))),
    }


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
        means, bars = [np.mean(cell["gap"]) for cell in own], [2 * cell["gap error"] for cell in own]
        panel.errorbar(at, means, bars, fmt="o-", color=BLUE, linewidth=1.8, label="mean of 10 items")
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


def shares_errors(epsilon: float, protocol: str, people: int, repeats: int, sizes: dict[str, int]) -> dict[str, Any]:
    """Root mean squared errors of the shares, run by run, and unusable solutions."""
    truth = np.array(TRUTH)
    schema = tacit.Schema(x=["a", "b", "c"])
    plan = tacit.Plan(tacit.Categorical("x"), schema, tacit.PureDP(epsilon), tacit.Local(protocol))
    surveys = [one.release for one in simulated(plan, repeats, people, {"theta": truth}, SEED + 10_000 * people)]
    means = studies.posteriors(surveys, method="shares", seed=SEED, **sizes)[0]["theta"].mean(axis=1)
    groups = [one.groups[0] for one in surveys]
    points = nearest_shares([unbiased_shares(group.protocol, group.values) for group in groups])
    errors = {
        name: np.sqrt(np.mean((found - truth) ** 2, axis=1))
        for name, found in (("posterior", means), ("point", points))
    }
    difference = errors["posterior"] - errors["point"]
    return {
        "protocol": protocol,
        "epsilon": epsilon,
        "n": people,
        "repeats": repeats,
        "posterior": float(errors["posterior"].mean()),
        "posterior error": float(errors["posterior"].std(ddof=1) / math.sqrt(repeats)),
        "point": float(errors["point"].mean()),
        "point error": float(errors["point"].std(ddof=1) / math.sqrt(repeats)),
        "difference": float(difference.mean()),
        "difference error": float(difference.std(ddof=1) / math.sqrt(repeats)),
        "posterior unusable": unusable(means),
        "point unusable": unusable(points),
    }


def shares_figure(cells: list[dict[str, Any]]) -> Figure:
    """A column for each protocol and epsilon; errors above, unusable solutions below; bars of two standard errors."""
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
            bars = [2 * c[f"{name} error"] for c in own]
            style = {"color": colour, "markersize": 4, "elinewidth": 0.8}
            above.errorbar(at, [c[name] for c in own], bars, fmt="o-", linewidth=1.4, label=label, **style)
            for place, line in ((1, "o-"), (0, "s--")):
                worse = np.array([c[f"{name} unusable"][place] for c in own])
                bars = 2 * np.sqrt(worse * (1 - worse) / own[0]["repeats"])
                below.errorbar(at, worse, bars, fmt=line, linewidth=1.2, **style)
        above.set_title(f"{protocol},\nepsilon = {epsilon:g}", fontsize=10, loc="left")
        above.set(xscale="log", ylim=(0, None))
        below.set(xscale="log", ylim=(-0.03, 1), xlabel="people")
        below.set_xlim(min(at) / 1.4, max(at) * 1.4)
        _plain_ticks(below, at)
        below.tick_params(axis="x", labelsize=8)
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
    _plain_ticks(panel, list(dict.fromkeys(cell["epsilon"] for cell in cells)))
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(frameon=False, fontsize=9)
    panel.set_title(f"{title}; {cells[0]['repeats']} repetitions, bars of one sd", fontsize=11, loc="left")
    return drawn


# ---------------------------------------------------------------------------------------------------------------------
# Figure 6: the mean of the logistic function, and of its Chebyshev series of order 2


def chebyshev_error(size: int, runs: int, rows: int) -> dict[str, Any]:
    """The absolute difference of the two means over rows in the ball of radius 1, by runs: its mean and error.

    A random full-rank covariance for the size; theta is standard normal, anew in every run. The series on [-3, 3] is
    the least-squares fit in the Chebyshev weight; by symmetry its quadratic term is 0 (docs/errata.md, L7).
    """
    rng = np.random.default_rng([SEED, size])
    root = rng.standard_normal((size, size))
    sigma = root @ root.T / size
    series = np.polynomial.Chebyshev.interpolate(lambda u: 1 / (1 + np.exp(-u)), 2, domain=[-3, 3])
    factor, off, worst = np.linalg.cholesky(sigma), [], 0.0
    for _ in range(runs):
        theta = rng.standard_normal(size)
        x = rng.standard_normal((rows, size)) @ factor.T
        u = x / np.maximum(1, np.linalg.norm(x, axis=1))[:, None] @ theta
        own = 1 / (1 + np.exp(-u))
        off.append(abs(float(own.mean() - series(u).mean())))
        worst = max(worst, float(np.max(np.abs(own - series(u)))))
    error = float(np.std(off, ddof=1) / math.sqrt(runs))
    return {"size": size, "runs": runs, "off": float(np.mean(off)), "error": error, "worst row": worst}


def chebyshev_figure(cells: list[dict[str, Any]]) -> Figure:
    """Means with two standard errors."""
    drawn = Figure(figsize=(5.4, 3.6), layout="constrained", facecolor="white")
    panel = drawn.subplots()
    at, off = [c["size"] for c in cells], [c["off"] for c in cells]
    panel.errorbar(at, off, [2 * c["error"] for c in cells], fmt="o-", color=BLUE, markersize=4)
    panel.set(xlabel="covariates", ylabel="mean absolute difference", ylim=(0, None))
    panel.set_title("Mean of the logistic function and of its series of order 2", fontsize=10, loc="left")
    panel.spines[["top", "right"]].set_visible(False)
    return drawn


# ---------------------------------------------------------------------------------------------------------------------


def claims(found: dict[str, Any]) -> list[Claim]:
    """What the paper says of its figures, beside the same numbers here. Two standard errors make a difference."""
    claims: list[Claim] = []
    for number in ("1", "10", "11"):
        cells = found.get(number, [])
        if cells:
            off = max(abs(held - mass) for c in cells for held, mass in zip(c["coverage"], MASSES, strict=True))
            least, tests = min(c["least p"] for c in cells), sum(c["numbers"] for c in cells)
            sd = 0.5 / math.sqrt(cells[0]["trials"])
            here = (
                f"coverage off by at most {off:.3f} ({cells[0]['trials']} trials: sd of a share up to {sd:.3f}); "
                f"least p {least:.2g} of {tests} rank tests; epsilon {min(c['epsilon'] for c in cells):g} to "
                f"{max(c['epsilon'] for c in cells):g}"
            )
            says = "posteriors are well calibrated, also under strict privacy"
            claims.append(Claim(f"Figure {number}", says, here, common.verdict(least * tests > 0.01, off < 4 * sd)))
    if found.get("2"):
        parts, near = [], []
        for protocol in dict.fromkeys(c["protocol"] for c in found["2"]):
            own = sorted((c for c in found["2"] if c["protocol"] == protocol), key=lambda c: c["epsilon"])
            said = ", ".join(f"{np.mean(c['gap']):.4f} (se {c['gap error']:.4f}) at {c['epsilon']:g}" for c in own)
            parts.append(f"{protocol}: {said}")
            near.append(np.mean(own[-1]["gap"]) < 0.01)
            near.append(len(own) == 1 or np.mean(own[-1]["gap"]) < np.mean(own[0]["gap"]) / 2)
        says = "close to the non-private posterior also at small epsilon, and converging to it"
        claims.append(
            Claim("Figure 2", says, "mean gap of distribution functions " + "; ".join(parts), common.verdict(*near))
        )
    for number in ("3", "9"):
        cells = found.get(number, [])
        for protocol in dict.fromkeys(c["protocol"] for c in cells):
            own = sorted((c for c in cells if c["protocol"] == protocol), key=lambda c: (c["epsilon"], c["n"]))
            said = "; ".join(
                f"epsilon {c['epsilon']:g}, n = {c['n']}: {c['posterior']:.4f} against {c['point']:.4f} "
                f"({c['posterior'] / c['point'] - 1:+.0%}, "
                f"difference {c['difference']:+.4f} ± {c['difference error']:.4f})"
                for c in own
            )
            few = [c for c in own if c["n"] == min(c["n"] for c in own)]
            lower = [c["difference"] < -2 * c["difference error"] for c in few]
            never = not any(c["difference"] > 2 * c["difference error"] for c in own)
            usable = [c["posterior unusable"][0] <= c["point unusable"][0] for c in own]
            says = "the posterior's RMSE is 10-30% lower, mostly with few people; fewer unusable solutions"
            claims.append(Claim(f"Figure {number}, {protocol}", says, said, common.verdict(*lower, never, *usable)))
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
    if found.get("6"):
        said = ", ".join(f"{c['off']:.4f} (se {c['error']:.4f}) for d = {c['size']}" for c in found["6"])
        worst = max(c["worst row"] for c in found["6"])
        says = "the Chebyshev series of order 2 is a moderately accurate approximation of the mean"
        here = f"mean absolute difference {said}; a single row is off by up to {worst:.2f}"
        claims.append(Claim("Figure 6", says, here, common.verdict(all(c["off"] < 0.05 for c in found["6"]))))
    return claims


def main() -> None:
    parser = common.parser("Figures 1 to 6 and 9 to 11 of Kulkarni et al. 2022.", FIGURES)
    parser.add_argument("--repetitions", type=float, default=1.0, help="the share of the repetitions to run")
    parser.add_argument("--inputs", type=int, default=0, help="reports of inputs in Figure 5, 10000 in the paper: slow")
    parser.add_argument(
        "--page", type=Path, help="Markdown page to put Figure 3 into as a table, between its two marks"
    )
    said = parser.parse_args()
    figures, quick = common.chosen(said, FIGURES), bool(said.quick)
    if not 0 < said.repetitions <= 1:
        raise SystemExit(f"Expected --repetitions to be above 0 and at most 1; found {said.repetitions}.")
    sizes = {"warmup": 60, "draws": 60} if quick else {"warmup": 300, "draws": 500}

    def repeats(many: int) -> int:
        return 4 if quick else max(4, round(many * said.repetitions))

    def last(several: Any) -> Any:
        return several[-1:] if quick else several

    if quick:  # one of each kind: Figures 9, 10 and 11 run the code of 3 and 1, and 5 that of 4
        figures = [name for name in figures if name in ("1", "2", "3", "4", "6")] or figures
    tables = {"2": "kosarak_5_25.parquet", "4": "wine_quality.parquet", "5": "adult.parquet"}
    cells: list[Cell] = []
    of: dict[str, str] = {}

    def add(figure: str, slow: float, function: Any, **given: Any) -> None:
        cells.append(Cell(function, given, slow))
        of[cells[-1].name] = figure if function is not plain_scores else f"{figure} plain"

    for number in figures:
        why = common.missing(said.data, tables[number]) if number in tables else None
        if why is not None:
            common.left_out(f"Figure {number}", why)
        elif number in ("1", "10", "11"):
            study = STUDIES[int(number)]
            trials, n = max(repeats(study.trials), 10), 200 if quick else study.n
            for protocol in last(study.protocols):
                for epsilon in last(study.epsilons):
                    given = {"number": int(number), "trials": trials, "epsilon": epsilon, "n": n, "protocol": protocol}
                    add(number, trials * n / 1e4, coverage, **given)
        elif number == "2":
            for protocol in last(PROTOCOLS):
                for epsilon in last(KOSARAK_EPSILONS):
                    given = {"folder": str(said.data), "epsilon": epsilon, "protocol": protocol, "sizes": sizes}
                    add(number, 50.0, kosarak_gaps, **given, repeats=repeats(KOSARAK_REPEATS))
        elif number in ("3", "9"):
            # What was compiled for Figure 3 serves a quick Figure 9.
            for protocol in last(PROTOCOLS):
                for epsilon in SHARES_EPSILONS[3 if quick else int(number)]:
                    for people in SIZES[:1] if quick else SIZES:
                        given = {"epsilon": epsilon, "protocol": protocol, "people": people, "sizes": sizes}
                        add(number, 20.0, shares_errors, **given, repeats=repeats(SHARES_REPEATS))
        elif number == "6":
            for size in CHEBYSHEV_SIZES:
                add(number, 0, chebyshev_error, size=size, runs=CHEBYSHEV_RUNS, rows=CHEBYSHEV_ROWS)
        else:
            everybody = 1_000 if quick else len(task_of(int(number), str(said.data)).x)
            rows = {"statistics": everybody, "sgd": everybody}
            if number == "5" and said.inputs:
                rows["inputs"] = min(said.inputs, everybody)
            elif number == "5":
                print("Reports of inputs are left out of Figure 5: --inputs is not given.", flush=True)
            few = {**sizes} if quick else {"warmup": 200, "draws": 200}  # for a mean
            where = {"number": int(number), "folder": str(said.data)}
            add(number, 0, plain_scores, **where, rows=everybody)
            for method, count in rows.items():
                for epsilon in last(REGRESSION_EPSILONS):
                    given = {"method": method, "rows": count, "epsilon": epsilon, "sizes": few}
                    add(number, count / 100, regression_scores, **where, **given, repeats=repeats(REGRESSION_REPEATS))
    done = common.measured(cells, said.out, "kulkarni2022", processes=said.processes, stop_after=said.stop_after)
    found: dict[str, Any] = {}
    for row in done:
        number, result = of[row["cell"]], row["found"]
        if number.endswith("plain"):
            found[number] = result
        else:
            found.setdefault(number, []).extend(result if isinstance(result, list) else [result])
    drawn: dict[str, Figure] = {}
    for number, own in found.items():
        if number in ("1", "10", "11"):
            drawn[number] = coverage_figure(f"{STUDIES[int(number)].title}", own)
        elif number == "2":
            drawn[number] = gaps_figure(own)
        elif number in ("3", "9"):
            drawn[number] = shares_figure(own)
        elif number == "6":
            drawn[number] = chebyshev_figure(own)
        elif number in ("4", "5"):
            title, ylabel = (
                ("Wine", "RMSE on test rows") if number == "4" else ("Adult", "area under the curve, test rows")
            )
            drawn[number] = scores_figure(
                f"{title}, {COMPONENTS} components", ylabel, own, found.get(f"{number} plain", {})
            )
    for number, figure in drawn.items():
        common.save(figure, said.out, f"kulkarni2022-figure{number}")
    if said.page is not None and "3" in found:
        before, rest = said.page.read_text("utf-8").split(BEGIN)
        said.page.write_text(f"{before}{BEGIN}\n\n{shares_table(found['3'])}\n\n{END}{rest.split(END)[1]}", "utf-8")
    common.show(claims(found), said.out, "kulkarni2022", quick=quick)
    print("\n" + NOTES)


if __name__ == "__main__":
    main()
