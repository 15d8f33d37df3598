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

sys.path.insert(0, str(Path(__file__).resolve().parent))
import common
import kulkarni2022_regression as regression
import kulkarni2022_shares as shares
from common import BLUE, DARK, GREEN, ORANGE, Cell, Claim, plain_ticks
from kulkarni2022_regression import COMPONENTS, SGD_RADIUS, plain_scores, regression_scores, scores_figure, task_of
from kulkarni2022_shares import KOSARAK_RECORDS, gaps_figure, kosarak_gaps, shares_errors, shares_figure, shares_table

matplotlib.use("Agg")

FIGURES = ("1", "2", "3", "4", "5", "6", "9", "10", "11")
MASSES = (0.5, 0.7, 0.9, 0.95)
SIZES = (100, 500, 1000, 5000)
SHARES_EPSILONS = {3: (0.5,), 9: (0.25, 1.0, 2.0)}
SHARES_REPEATS = 200
CHEBYSHEV_SIZES, CHEBYSHEV_RUNS, CHEBYSHEV_ROWS = (2, 3, 4, 5, 6, 8, 10), 50, 1000
PROTOCOLS = ("unary-encoding", "randomized-response")
KOSARAK_EPSILONS, KOSARAK_REPEATS = (0.25, 0.5, 1.0, 2.0, 4.0), 50
REGRESSION_EPSILONS, REGRESSION_REPEATS = (0.25, 0.5, 1.0, 2.0, 4.0), 30
SEED = 2022
BEGIN, END = "<!-- begin shares -->", "<!-- end shares -->"
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
        plain_ticks(panel, at)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("share of intervals that held the truth")
    trials = f"{cells[0]['trials']} trials, bars of two sd"
    drawn.suptitle(f"{title}; {trials}", fontsize=11, x=0.01, ha="left")
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
    claims += shares.claims(found) + regression.claims(found)
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
                    add(
                        number,
                        count / 100,
                        regression_scores,
                        **where,
                        **given,
                        repeats=repeats(REGRESSION_REPEATS),
                    )
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
