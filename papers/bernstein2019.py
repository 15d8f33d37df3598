"""Figures 3 and 4 of Bernstein and Sheldon 2019, "Differentially Private Bayesian Linear Regression".

    python papers/bernstein2019.py --out FOLDER [--data FOLDER] [--trials 300] [--methods wishart,naive] [--quick]

Writes figure3.png, figure3.svg, figure4.png, figure4.svg and bernstein2019.json, and prints what the paper says beside
what comes out here. Figure 4 needs cirrhosis_x20.parquet in the data folder: the regression data set x20 of J. Burkardt
(Brownlee 1965) with columns wine_per_capita, liquor_per_capita and cirrhosis_death_rate. Without it Figure 3 is drawn.

Settings of the paper (section 4.2): one covariate and an intercept, theta, sigma^2 ~ NIG(0, diag(.5/19, .5/19), 20,
.5), mu_x, tau^2 ~ NIW(0, 1, 1, 50), 300 trials. Where tacit has to differ, `NOTES` says how and why.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

# XLA's thread pool can wait for itself where it has two threads; one is as fast for many small matrices.
os.environ.setdefault("NPROC", "1")

import matplotlib
import numpy as np
from matplotlib.figure import Figure

import tacit

matplotlib.use("Agg")

ROWS, EPSILONS = (10, 100, 1000), (0.01, 0.1, 1.0, 10.0)
FIXED_EPSILON, FIXED_N = 0.1, 10  # panels a, d, e, f; panels b, c
MOST_INDIVIDUALS = 10  # MCMC-Ind samples every record: batched over all trials it is for small n only
PARAMETERS = {"theta[0]": "intercept", "theta[1]": "slope", "sigma": "sigma"}
BOUND = 4.0  # of the response; see NOTES
A0, B0, LAMBDA0 = 20.0, 0.5, 0.5 / 19
COVARIATES = {"m0": 0.0, "kappa0": 1.0, "psi0": 1.0, "nu0": 50.0}
DRAWS, WARMUP = 199, 300
# Gibbs samplers make five sweeps a draw. A sweep moves theta by about one standard error of the exact data, and at
# n >= 100 the posterior is 50 of these wide: neighbouring draws are then far from independent.
GIBBS_DRAWS, GIBBS_WARMUP = 99, 2000
LABELS = {
    "non-private": "Non-Private",
    "naive": "Naive",
    "wishart": "wishart (tacit's default)",
    "gibbs-update": "Gibbs-SS-Update",
    "gibbs-prior": "Gibbs-SS-Prior",
    "gibbs-noisy": "Gibbs-SS-Noisy",
    "individual": "MCMC-Ind",
}
COLOURS = {
    "non-private": "#5b6673",
    "naive": "#c0562f",
    "wishart": "#2f6690",
    "gibbs-update": "#3a8f5c",
    "gibbs-prior": "#b58900",
    "gibbs-noisy": "#8e5ea2",
    "individual": "#d16ba5",
}
NOTES = f"""\
Where this differs from the paper, and why
* Bounds. The paper takes bounds of [-1, 1] for x and y, says that at least 95% of both lie inside, and does not clamp,
  so its synthetic releases have no privacy. tacit always clamps. Under the paper's own prior the intercept has standard
  deviation 1, so about a third of the responses lie outside [-1, 1] (measured above). Here y has bounds
  [-{BOUND:g}, {BOUND:g}] instead; the rows "bounds [-1, 1]" show what clamping a third of the responses does.
* Noise. The paper's sensitivity for these bounds is 24, the right one 5.3333 (docs/linear-noise.md). With y in
  [-{BOUND:g}, {BOUND:g}] the scale of the noise in the paper's units is 5.33/epsilon on the sums of x and x^2,
  {5.3333 * BOUND:.1f}/epsilon on those of y and xy, and {5.3333 * BOUND**2:.0f}/epsilon on that of y^2,
  against 24/epsilon on each.
* Samplers. Gibbs-SS as corrected in docs/errata.md; Gibbs-SS-Noisy takes its moments from one joint release, not from
  half of the budget. MCMC-Ind for n <= {MOST_INDIVIDUALS} only. Ranks among {DRAWS} ({GIBBS_DRAWS} for Gibbs-SS) draws
  far enough apart, spread over their cells, instead of quantiles among 2,000 or 20,000 dependent ones. Gibbs chains
  move slowly: with 10,000 sweeps instead of 30,000 95% intervals for the intercept cover 0.79 at n = 100.
* Gibbs-SS-Prior is too wide for n >= 100: a normal law stands in for the prior of the moments, and this prior is weak.
* Gibbs-SS-Noisy is further off than the paper's. At n = 10 and epsilon = 0.1 the noise of the moments of x is hundreds
  of times larger than they are, and the method ignores it. The authors' public code computes noisy moments but hands
  the exact ones to the sampler.
* MMD. The paper's estimator (a square) and kernel of bandwidth 1 in the paper's units, for theta and sigma together.
* Run time. CPU seconds per posterior in one batched call of all trials, with simulation and compilation; the paper's
  are one by one, on another machine.
* Figure 4. The paper names neither epsilon nor which of wine and liquor is its drinking rate. Bounds of [-1, 1] for
  data in [0, 1] keep the paper's prior as it is, with noise of scale 5.33/epsilon against its 6/epsilon. Methods that
  need a law of the covariate get a weak one; the paper showed Gibbs-SS-Noisy only.
"""


# ---------------------------------------------------------------------------------------------------------------------
# Figure 3


def synthetic(epsilon: float, bound: float, *, moments: bool) -> tuple[tacit.Plan, dict[str, Any]]:
    """The paper's model and prior. Mapped units are those of the paper, but for y, which is divided by its bound."""
    schema = tacit.Schema(x=(-1, 1), y=(-bound, bound))
    model = tacit.LinearRegression("y ~ x", **({"moments": 4} if moments else {}))
    prior = {"mu0": 0.0, "lambda0": (LAMBDA0, LAMBDA0), "a0": A0, "b0": B0 / bound**2, **COVARIATES}
    return tacit.Plan(model, schema, tacit.PureDP(epsilon)), prior


def measure(method: str, n: int, epsilon: float, trials: int, *, seed: int, bound: float = BOUND) -> dict[str, Any]:
    """One method in one cell: every trial in one batched call. ``non-private`` is what the exact sums give."""
    plan, prior = synthetic(epsilon, bound, moments=method == "gibbs-noisy")
    gibbs = method.startswith("gibbs")
    begin = time.process_time()
    study = tacit.calibrate(
        plan,
        n=n,
        trials=trials,
        seed=seed,
        method="naive" if method == "non-private" else method,
        prior=prior,
        draws=GIBBS_DRAWS if gibbs else DRAWS,
        thin=(60 if n >= 100 else 10) if gibbs else None,
        warmup=GIBBS_WARMUP if gibbs else WARMUP,
        non_private=True,
    )
    seconds = time.process_time() - begin
    exact = study.non_private
    assert exact is not None
    shown = exact if method == "non-private" else study
    places = shown.positions()
    mmd = 0.0 if method == "non-private" else study.mmd(PARAMETERS, bandwidth=1 / bound)
    return {
        "method": method,
        "n": n,
        "epsilon": epsilon,
        "bound": bound,
        "trials": trials,
        "ks": {name: shown.ks()[name] for name in PARAMETERS},
        "p_value": {name: shown.p_values()[name] for name in PARAMETERS},
        "coverage": {name: shown.coverage(0.95)[name] for name in PARAMETERS},
        "quantiles": {name: sorted(round(float(u), 4) for u in places[name]) for name in PARAMETERS},
        "mmd": mmd,
        "width": {name: 1.0 if shown is exact else study.width_ratio()[name] for name in PARAMETERS},
        "failed": int(shown.failed.sum()),
        "seconds": seconds / trials,
    }


def predicted(data_sets: int) -> tuple[Any, Any]:
    """Covariates and responses under the paper's prior, in its units."""
    plan, changes = synthetic(1.0, 1.0, moments=False)
    prior = plan.model.default_prior(plan.schema).replaced(changes)
    rng = np.random.default_rng(0)
    rows = [
        plan.model.draw_rows(plan.model.draw_parameters(prior, plan.schema, rng), plan.schema, 5, rng)
        for _ in range(data_sets)
    ]
    return tuple(np.concatenate([np.asarray(row[name]) for row in rows]) for name in ("x", "y"))


def figure3(results: list[dict[str, Any]], trials: int) -> Figure:
    """Panels a to f, one line a method; the parameters of a, b and d side by side."""
    figure = Figure(figsize=(13, 11), layout="constrained", facecolor="white")
    grid = figure.add_gridspec(4, 3)
    line = 1.358 / math.sqrt(trials)  # the 95% point of the Kolmogorov-Smirnov distance
    over_n = [r for r in results if r["epsilon"] == FIXED_EPSILON]
    over_epsilon = [r for r in results if r["n"] == FIXED_N]
    rows = (("a", over_n, "n", "ks"), ("b", over_epsilon, "epsilon", "ks"), ("d", over_n, "n", "coverage"))
    for row, (panel, chosen, axis, measure_) in enumerate(rows):
        for column, (name, title) in enumerate(PARAMETERS.items()):
            axes = figure.add_subplot(grid[row, column])
            _lines(axes, chosen, axis, lambda r, m=measure_, name=name: r[m][name])
            if measure_ == "ks":
                axes.axhspan(0, line, color="#e3e8ec", linewidth=0, zorder=0)
                axes.set(ylim=(0, 1.0), ylabel="KS distance of ranks" if column == 0 else "")
            else:
                axes.axhline(0.95, color="#888888", linewidth=0.8, zorder=0)
                axes.set(ylim=(0, 1.02), ylabel="coverage of 95% intervals" if column == 0 else "")
            where = f"epsilon = {FIXED_EPSILON}" if axis == "n" else f"n = {FIXED_N}"
            axes.set_title(f"({panel}) {title}, {where}", fontsize=10, loc="left")
    axes = figure.add_subplot(grid[3, 0])
    for r in results:
        if r["n"] == FIXED_N and r["epsilon"] == FIXED_EPSILON:
            u = np.array(r["quantiles"]["theta[1]"])
            axes.plot(np.linspace(0, 1, len(u)), u, color=COLOURS[r["method"]], linewidth=1.3)
    axes.plot([0, 1], [0, 1], color="#888888", linewidth=0.8, zorder=0)
    axes.set(xlabel="uniform quantile", ylabel="quantile of the true slope", xlim=(0, 1), ylim=(0, 1))
    axes.set_title(f"(c) QQ plot, slope, n = {FIXED_N}, epsilon = {FIXED_EPSILON}", fontsize=10, loc="left")
    axes = figure.add_subplot(grid[3, 1])
    _lines(axes, [r for r in over_n if r["method"] != "non-private"], "n", lambda r: r["mmd"])
    axes.axhline(0, color="#888888", linewidth=0.8, zorder=0)
    axes.set(ylabel="MMD$^2$ to Non-Private")
    axes.set_title(f"(e) utility, epsilon = {FIXED_EPSILON}", fontsize=10, loc="left")
    axes = figure.add_subplot(grid[3, 2])
    _lines(axes, [r for r in over_n if r["method"] != "non-private"], "n", lambda r: r["seconds"])
    axes.set(yscale="log", ylabel="CPU seconds a posterior")
    axes.set_title(f"(f) run time in a batch, epsilon = {FIXED_EPSILON}", fontsize=10, loc="left")
    methods = list(dict.fromkeys(r["method"] for r in results))
    handles = [matplotlib.lines.Line2D([], [], color=COLOURS[m], marker="o", markersize=4) for m in methods]
    figure.legend(handles, [LABELS[m] for m in methods], loc="outside lower center", ncols=4, frameon=False)
    return figure


def _lines(axes: Any, results: list[dict[str, Any]], axis: str, value: Any) -> None:
    methods = list(dict.fromkeys(r["method"] for r in results))
    for place, method in enumerate(methods):
        points = sorted((r[axis], value(r)) for r in results if r["method"] == method)
        # A little aside from each other, so that lines on top of each other can be told apart.
        shift = 1.06 ** (place - (len(methods) - 1) / 2)
        xs, ys = [x * shift for x, _ in points], [y for _, y in points]
        axes.plot(xs, ys, "o-", color=COLOURS[method], markersize=4, linewidth=1.3)
    ticks = sorted({r[axis] for r in results})
    axes.set(xscale="log", xlabel=axis)
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axes.minorticks_off()


# ---------------------------------------------------------------------------------------------------------------------
# Figure 4

FIGURE4_EPSILONS = (0.1, 1.0, 10.0)
TRAINING, SPLITS = 36, 100
FIGURE4_PRIOR = {  # theta = (intercept, slope): the paper's [1, 0] turned round
    "mu0": (0.0, 1.0),
    "lambda0": (0.25, 0.25),
    "a0": 20.0,
    "b0": 0.5,
    "m0": 0.5,
    "kappa0": 1.0,
    "nu0": 6.0,
    "psi0": 0.25,
}


def predictive(
    data: Path, methods: list[str], splits: int, drink: str, epsilons: tuple[float, ...]
) -> list[dict[str, Any]]:
    """Coverage of predictive intervals for the points that were held out."""
    # One batched call for all splits: tacit.infer takes the releases of one analysis, not a hundred independent ones.
    from tacit.infer import check_settings, posterior_arrays, problem_for

    columns = _scaled(data / "cirrhosis_x20.parquet", drink)
    schema = tacit.Schema(drink=(-1, 1), cirrhosis=(-1, 1))
    rng = np.random.default_rng(2019)
    orders = [rng.permutation(len(columns["drink"])) for _ in range(splits)]
    found: list[dict[str, Any]] = []
    for epsilon in epsilons:
        for method in (m for m in methods if m != "individual"):
            if method == "non-private" and epsilon != epsilons[0]:
                found.append({**next(r for r in found if r["method"] == method), "epsilon": epsilon})
                continue
            extra = {"moments": 4} if method == "gibbs-noisy" else {}
            plan = tacit.Plan(tacit.LinearRegression("cirrhosis ~ drink", **extra), schema, tacit.PureDP(epsilon))
            training = [{name: values[order[:TRAINING]] for name, values in columns.items()} for order in orders]
            if method == "non-private":
                values: list[Any] = [plan.statistic().batch_sum(rows) for rows in training]
            else:
                values = [tacit.privatize(rows, plan, ledger=None).values for rows in training]
            problem = problem_for(plan.model, schema, FIGURE4_PRIOR, TRAINING, plan.noise())
            settings = check_settings(
                warmup=0 if method in ("naive", "non-private") else 1000, draws=1000, chains=1, seed=1
            )
            kind = "naive" if method == "non-private" else method
            arrays, _ = posterior_arrays(problem, kind, settings, values, chains=1, seed=1)
            held: dict[str, list[Any]] = {"0.5": [], "0.9": []}
            for split, order in enumerate(orders):
                test = order[TRAINING:]
                draws = {name: arrays[name][split, 0] for name in ("theta", "sigma")}
                made = plan.model.predict(draws, schema, {"drink": columns["drink"][test]}, rng)
                for probability, inside in held.items():
                    tail = (1 - float(probability)) / 2
                    low, high = np.quantile(made, [tail, 1 - tail], axis=0)
                    truth = columns["cirrhosis"][test]
                    inside.append((low <= truth) & (truth <= high))
            coverage = {probability: float(np.mean(inside)) for probability, inside in held.items()}
            found.append({"method": method, "epsilon": epsilon, "drink": drink, "splits": splits, "coverage": coverage})
            print(f"  figure 4: {method}, epsilon = {epsilon:g}: {coverage}", flush=True)
    return found


def _scaled(path: Path, drink: str) -> dict[str, Any]:
    """Both columns scaled to [0, 1] by their own ranges, as in the paper: not private, and the paper says so."""
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=[drink, "cirrhosis_death_rate"])
    drinks, deaths = (np.asarray(table[name], np.float64) for name in (drink, "cirrhosis_death_rate"))
    return {"drink": (drinks - drinks.min()) / np.ptp(drinks), "cirrhosis": (deaths - deaths.min()) / np.ptp(deaths)}


def figure4(results: list[dict[str, Any]]) -> Figure:
    """Coverage of 50% and 90% intervals, one group of bars an epsilon."""
    figure = Figure(figsize=(9, 3.6), layout="constrained", facecolor="white")
    methods = list(dict.fromkeys(r["method"] for r in results))
    epsilons = list(dict.fromkeys(r["epsilon"] for r in results))
    for column, probability in enumerate(("0.5", "0.9")):
        axes = figure.add_subplot(1, 2, column + 1)
        for place, method in enumerate(methods):
            chosen = [r["coverage"][probability] for r in results if r["method"] == method]
            width = 0.8 / len(methods)
            at = np.arange(len(epsilons)) + (place - (len(methods) - 1) / 2) * width
            axes.bar(at, chosen, width=0.9 * width, color=COLOURS[method], label=LABELS[method])
        axes.axhline(float(probability), color="#333333", linewidth=0.9)
        axes.set(ylim=(0, 1), xlabel="epsilon", ylabel="held the new response" if column == 0 else "")
        axes.set_xticks(range(len(epsilons)), [f"{e:g}" for e in epsilons])
        axes.set_title(f"{float(probability):.0%} predictive intervals", fontsize=10, loc="left")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure


# ---------------------------------------------------------------------------------------------------------------------


def claims(results: list[dict[str, Any]], predictions: list[dict[str, Any]]) -> list[str]:
    """What the paper says of its figures, beside the same numbers here."""
    aware = [r for r in results if r["method"] not in ("naive", "non-private")]
    worst = {
        r["method"]: max(x["ks"][p] for x in results if x["method"] == r["method"] for p in PARAMETERS) for r in results
    }
    by_method = ", ".join(f"{LABELS[m]} {ks:.3f}" for m, ks in worst.items())
    failed = {m: sum(r["failed"] for r in results if r["method"] == m) for m in worst}
    least = {m: min(min(x["coverage"].values()) for x in results if x["method"] == m) for m in worst}
    covered = ", ".join(f"{LABELS[m]} {c:.3f}" for m, c in least.items())
    lines = [
        "3a, 3b  paper: noise-aware methods at or near Non-Private, Naive worse.",
        f"        here: largest KS distance of any cell and parameter: {by_method};",
        f"        95% point for uniform ranks, one test: {1.358 / math.sqrt(results[0]['trials']):.3f}.",
        "3d      paper: the same of 95% coverage.",
        f"        here: least coverage of any cell and parameter: {covered}.",
        *(f"        {LABELS[m]}: draws that are no numbers in {k} trials." for m, k in failed.items() if k),
    ]
    for n in sorted({r["n"] for r in results}):
        here = {r["method"]: r["mmd"] for r in results if r["n"] == n and r["epsilon"] == FIXED_EPSILON}
        here.pop("non-private", None)
        if aware and "naive" in here:
            if n == min(r["n"] for r in results):
                lines.append("3e      paper: noise-aware methods are at least as useful as Naive (lower MMD).")
            lines.append(f"        here: n = {n}: " + ", ".join(f"{LABELS[m]} {v:.3f}" for m, v in here.items()) + ".")
    if predictions:
        lines.append("4       paper: Gibbs-SS-Noisy nearly as Non-Private, Naive drastically worse.")
    for r in predictions:
        shares = " and ".join(f"{v:.3f} of {float(p):.0%}" for p, v in r["coverage"].items())
        lines.append(f"        here: epsilon = {r['epsilon']:g}, {LABELS[r['method']]}: {shares}.")
    return lines


def available(asked: str | None) -> list[str]:
    """The methods to run: all that this version of tacit has, or the ones that were asked for."""
    known = set(tacit.LinearRegression("y ~ x").methods) | {"non-private"}
    if "moments" in {f.name for f in fields(tacit.LinearRegression)}:
        known |= set(tacit.LinearRegression("y ~ x", moments=4).methods)
    names = [name for name in LABELS if name in known]
    if asked is None:
        return names
    unknown = [name for name in asked.split(",") if name not in names]
    if unknown:
        raise SystemExit(f"Expected --methods to be some of {', '.join(names)}; found {', '.join(unknown)}.")
    return [name for name in names if name in asked.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description="Figures 3 and 4 of Bernstein and Sheldon 2019.")
    parser.add_argument("--data", type=Path, help="folder with cirrhosis_x20.parquet, for Figure 4")
    parser.add_argument("--out", type=Path, required=True, help="folder for figures and numbers")
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--methods", help="comma-separated; all by default")
    parser.add_argument("--drink", default="wine_per_capita", help="the column of Figure 4 that is the drinking rate")
    parser.add_argument("--seed", type=int, default=2019)
    parser.add_argument("--quick", action="store_true", help="one size, one epsilon, few splits: does it run?")
    said = parser.parse_args()
    methods = available(said.methods)
    rows, epsilons, splits = (ROWS, EPSILONS, SPLITS) if not said.quick else (ROWS[:1], (FIXED_EPSILON,), 5)
    figure4_epsilons = FIGURE4_EPSILONS if not said.quick else FIGURE4_EPSILONS[:1]
    said.out.mkdir(parents=True, exist_ok=True)
    x, y = predicted(1_000 if said.quick else 20_000)
    x_out, y_out, clamped = (float(np.mean(np.abs(v) > b)) for v, b in ((x, 1.0), (y, 1.0), (y, BOUND)))
    print(f"Outside [-1, 1] under the paper's prior: {x_out:.2%} of x, {y_out:.2%} of y.")
    print(f"Clamped here: {x_out:.2%} of x, {clamped:.3%} of y, which has bounds of {BOUND:g}.", flush=True)
    cells = [(n, FIXED_EPSILON) for n in rows] + [(FIXED_N, e) for e in epsilons if e != FIXED_EPSILON]
    results: list[dict[str, Any]] = []
    tight: list[dict[str, Any]] = []
    for n, epsilon in cells:
        for method in methods:
            if method == "individual" and n > MOST_INDIVIDUALS:
                continue
            begin = time.time()
            results.append(measure(method, n, epsilon, said.trials, seed=said.seed))
            ks = max(results[-1]["ks"].values())
            print(f"  {method}, n = {n}, epsilon = {epsilon:g}: KS {ks:.3f}, {time.time() - begin:.0f} s", flush=True)
    for n in rows:
        for method in (m for m in methods if m in ("non-private", "wishart")):
            tight.append(measure(method, n, FIXED_EPSILON, said.trials, seed=said.seed, bound=1.0))
    predictions: list[dict[str, Any]] = []
    if said.data is None or not (said.data / "cirrhosis_x20.parquet").is_file():
        where = "--data is not given" if said.data is None else f"{said.data} does not hold cirrhosis_x20.parquet"
        print(f"Figure 4 is left out: {where}.")
    else:
        predictions = predictive(said.data, methods, splits, said.drink, figure4_epsilons)
    figures = {"figure3": figure3(results, said.trials)} | ({"figure4": figure4(predictions)} if predictions else {})
    for name, figure in figures.items():
        figure.savefig(said.out / f"{name}.png", dpi=120)
        figure.savefig(said.out / f"{name}.svg", metadata={"Date": None})
    found = {"results": results, "bounds of [-1, 1]": tight, "figure 4": predictions, "outside [-1, 1]": [x_out, y_out]}
    (said.out / "bernstein2019.json").write_text(json.dumps(found, indent=1), "utf-8")
    print("\n" + "\n".join(claims(results, predictions)))
    for r in tight:
        numbers = ", ".join(f"{PARAMETERS[p]} {ks:.3f}" for p, ks in r["ks"].items())
        print(f"bounds [-1, 1], n = {r['n']}, {LABELS[r['method']]}: KS distance {numbers}")
    print("\n" + NOTES)


if __name__ == "__main__":
    main()
