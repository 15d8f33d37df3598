"""Figure 4 of Bernstein and Sheldon 2019: predictive intervals for rates of cirrhosis; called by bernstein2019.py."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import common
import numpy as np
from common import Claim
from matplotlib.figure import Figure

import tacit
from tacit import studies

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
THIN = {"linewidth": 0.8, "ecolor": "#333333"}  # bars of two standard errors
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


def conjugate(x: Any, y: Any, draws: int, rng: Any) -> dict[str, Any]:
    """Draws of theta and sigma given the rows, under the normal-inverse-gamma prior of Figure 4."""
    design, precision = np.column_stack([np.ones(len(x)), x]), np.diag(FIGURE4_PRIOR["lambda0"])
    mu0 = np.array(FIGURE4_PRIOR["mu0"])
    after = precision + design.T @ design
    mean = np.linalg.solve(after, precision @ mu0 + design.T @ y)
    rate = FIGURE4_PRIOR["b0"] + (y @ y + mu0 @ precision @ mu0 - mean @ after @ mean) / 2
    sigma = np.sqrt(rate / rng.gamma(FIGURE4_PRIOR["a0"] + len(x) / 2, size=draws))
    normal = rng.standard_normal((draws, 2)) @ np.linalg.inv(np.linalg.cholesky(after))
    return {"theta": mean + sigma[:, None] * normal, "sigma": sigma}


def predictive(folder: str, method: str, splits: int, drink: str, epsilon: float) -> dict[str, Any]:
    """Coverage of predictive intervals for the points that were held out, with the standard error over splits."""
    columns = _scaled(Path(folder) / "cirrhosis_x20.parquet", drink)
    schema = tacit.Schema(drink=(-1, 1), cirrhosis=(-1, 1))
    rng = np.random.default_rng(2019)
    orders = [rng.permutation(len(columns["drink"])) for _ in range(splits)]
    extra = {"moments": 4} if method == "gibbs-noisy" else {}
    plan = tacit.Plan(tacit.LinearRegression("cirrhosis ~ drink", **extra), schema, tacit.PureDP(epsilon))
    training = [{name: values[order[:TRAINING]] for name, values in columns.items()} for order in orders]
    if method == "non-private":
        every = [conjugate(rows["drink"], rows["cirrhosis"], 1000, rng) for rows in training]
        drawn = {name: np.stack([one[name] for one in every]) for name in ("theta", "sigma")}
    else:
        releases = [tacit.privatize(rows, plan, ledger=None) for rows in training]
        warmup = 0 if method == "naive" else 1000
        drawn, _ = studies.posteriors(releases, method=method, prior=FIGURE4_PRIOR, draws=1000, warmup=warmup, seed=1)
    held: dict[str, list[Any]] = {"0.5": [], "0.9": []}
    for split, order in enumerate(orders):
        test = order[TRAINING:]
        draws = {name: drawn[name][split] for name in ("theta", "sigma")}
        made = plan.model.predict(draws, schema, {"drink": columns["drink"][test]}, rng)
        for probability, inside in held.items():
            tail = (1 - float(probability)) / 2
            low, high = np.quantile(made, [tail, 1 - tail], axis=0)
            truth = columns["cirrhosis"][test]
            inside.append((low <= truth) & (truth <= high))
    coverage = {probability: float(np.mean(inside)) for probability, inside in held.items()}
    error = {p: float(np.std(np.mean(inside, axis=1)) / math.sqrt(splits)) for p, inside in held.items()}
    return {"method": method, "epsilon": epsilon, "drink": drink, "coverage": coverage, "error": error}


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
            bars = [2 * r["error"][probability] for r in results if r["method"] == method]
            width = 0.8 / len(methods)
            at = np.arange(len(epsilons)) + (place - (len(methods) - 1) / 2) * width
            axes.bar(at, chosen, 0.9 * width, yerr=bars, color=COLOURS[method], label=LABELS[method], error_kw=THIN)
        axes.axhline(float(probability), color="#333333", linewidth=0.9)
        axes.set(ylim=(0, 1), xlabel="epsilon", ylabel="held the new response" if column == 0 else "")
        axes.set_xticks(range(len(epsilons)), [f"{e:g}" for e in epsilons])
        axes.set_title(f"{float(probability):.0%} predictive intervals", fontsize=10, loc="left")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure


def claims(predictions: list[dict[str, Any]]) -> list[Claim]:
    """What the paper says of the figure, beside the same numbers here."""
    here = "; ".join(
        f"epsilon = {r['epsilon']:g}, {LABELS[r['method']]}: "
        + " and ".join(f"{v:.3f} of {float(p):.0%} (se {r['error'][p]:.3f})" for p, v in r["coverage"].items())
        for r in predictions
    )
    own = {(r["method"], r["epsilon"]): r["coverage"] for r in predictions}
    epsilons = sorted({e for _, e in own})
    near = [
        abs(own["gibbs-noisy", e][p] - own["non-private", e][p]) < 0.1
        for e in epsilons
        if ("gibbs-noisy", e) in own and ("non-private", e) in own
        for p in ("0.5", "0.9")
    ]
    far = [own["naive", e]["0.9"] < 0.7 for e in epsilons if ("naive", e) in own]
    paper = "Gibbs-SS-Noisy covers nearly as Non-Private does, Naive is drastically worse (epsilon is not stated)"
    return [Claim("Figure 4", paper, here, common.verdict(*near, *far))]
