"""The figures of Geumlek, Song and Chaudhuri 2017, "Renyi Differential Privacy Mechanisms for Posterior Sampling".

    python papers/geumlek2017.py --out FOLDER [--data FOLDER] [--figures beta,abalone,adult,mnist] [--quick]

Writes beta, abalone, adult and mnist as .png and .svg and geumlek2017.json, and prints what the paper says beside what
comes out here. The last three need abalone.parquet, adult.parquet and mnist_3vs8.parquet in the data folder; without
them they are left out. Data are released by `tacit.privatize`, with fresh randomness: numbers differ a little from run
to run, by design.

Settings of the paper (appendix A.5): 100 rows and 100 held-out rows, order 15, priors (6, 18) and (1, 2) in the paper's
coordinates, which are Beta(6, 12) and Beta(1, 1). Of the figures about regressions only their kind is known to us: test
error and negative log-likelihood against epsilon, orders 1, 10 and 100. Where tacit has to differ, `NOTES` says why.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from pathlib import Path
from typing import Any

# XLA's thread pool can wait for itself where it has two threads; one is as fast here.
os.environ.setdefault("NPROC", "1")

import matplotlib
import numpy as np
import pyarrow.parquet as pq
from matplotlib.figure import Figure
from scipy import stats
from scipy.special import expit

import tacit
from tacit.boundary import collect
from tacit.privacy.gaussian import epsilon_for
from tacit.sources.open import open_source

matplotlib.use("Agg")

ROWS, ORDER = 100, 15
PANELS = (((6, 12), 1 / 3), ((6, 12), 1 / 2), ((6, 12), 2 / 3), ((1, 1), 0.2))
BETA_EPSILONS = tuple(float(e) for e in np.geomspace(0.01, 10, 13))
REPETITIONS = 4000
DELTA = 1e-5
CHAIN = {"sampler": "mcmc", "gamma": 1e-300, "assume": "converged"}
PROVED = {"sampler": "rejection", "gamma": None, "assume": None}
GLM_EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
ORDERS = (1, 10, 100)
TIGHT_EPSILONS = (0.1, 1.0, 5.0)
DRAWS = {"abalone": (10, 40), "adult": (10, 40), "mnist": (4, 4)}  # for the curves, for the tighter calibration
ADULT_ROWS = 10_000
SEED = 2017
COLOURS = {
    "non-private": "#1d2733",
    "diffused": "#2f6690",
    "concentrated": "#3a8f5c",
    "bounded": "#c0562f",
    "direct": "#8a5a9e",
}
NOTES = """\
Where this differs from the paper, and why
* Exact draws and prices. Worst cases are those of docs/posterior-sampling.md, in both directions; a clamped number
  moves by twice its bound (docs/errata.md).
* The bounded baseline of the Beta figures keeps the share in [a, 1 - a], with the log ratio of a record in
  [-L, L], L = log((1 - a)/a), so that 2 L = epsilon; its weight is 1. That of the regressions keeps |logit| <= 5.
* Features and their bounds are declared, not read off the data; the prior is N(0, sd^2) for every mapped coefficient.
* Abalone: rings > 10. Adult: 10,000 rows of the training file, the test file held out, seven features. MNIST: pixels
  averaged over 4 x 4 squares, rows moved into the ball of radius 1, no intercept.
* Draws of regressions come from Hamiltonian chains, so that their guarantee is assumed, not proved: nobody bounds how
  far a chain is from its posterior. The plans say assume = "converged" with a gamma of 1e-300, as these are trials on
  public data. The bounded baseline's draws are exact, and proved. Non-private draws are those of the normal
  approximation. Several draws of one density are one release with as many times the price.
"""


# ---------------------------------------------------------------------------------------------------------------------
# Shares


def beta_plan(prior: tuple[int, int], budget: Any, tempering: str) -> tacit.Plan:
    said = {"prior": {"a": prior[0], "b": prior[1]}, "n": ROWS, "tempering": tempering}
    return tacit.Plan(tacit.Bernoulli("x"), tacit.Schema(x=["no", "yes"]), budget, tacit.PosteriorSample(**said))


def loss_of(shares: Any, held_out: Any) -> float:
    """The mean negative log-likelihood of a held-out row under a drawn share."""
    shares = np.clip(shares, 1e-12, 1 - 1e-12)
    return float(np.mean(-held_out * np.log(shares) - (1 - held_out) * np.log1p(-shares)))


def beta_figure(epsilons: tuple[float, ...], repetitions: int) -> dict[str, Any]:
    """Mean held-out loss by method and epsilon, for each panel. Seeded: rows and draws are simulated."""
    rng = np.random.default_rng(SEED)
    found = []
    for prior, truth in PANELS:
        ones = rng.binomial(ROWS, truth, repetitions)
        held_out = rng.binomial(ROWS, truth, repetitions) / ROWS
        a, b = prior
        curves: dict[str, list[float | None]] = {"diffused": [], "concentrated": [], "bounded": []}
        exact = loss_of(rng.beta(a + ones, b + ROWS - ones), held_out)
        for epsilon in epsilons:
            for method in ("diffused", "concentrated"):
                law = (
                    beta_plan(prior, tacit.RenyiDP(order=ORDER, epsilon=epsilon), method)
                    .calibrated_mechanism()
                    .noise_parameters
                )
                r, m = law.number("weight"), law.number("scale")
                curves[method].append(loss_of(rng.beta(a / m + r * ones, b / m + r * (ROWS - ones)), held_out))
            least = 1 / (1 + math.exp(epsilon / 2))
            law = stats.beta(a + ones, b + ROWS - ones)
            low, high = law.cdf(least), law.cdf(1 - least)
            inside = law.ppf(low + (high - low) * rng.uniform(size=repetitions))
            inside = np.where(np.isfinite(inside), inside, np.where(2 * ones > ROWS, 1 - least, least))
            curves["bounded"].append(loss_of(np.clip(inside, least, 1 - least), held_out))
        found.append({"prior": prior, "truth": truth, "non-private": exact, "curves": curves})
    return {"epsilons": list(epsilons), "panels": found}


def beta_weights() -> list[dict[str, float]]:
    """How much the data may weigh at (epsilon, 1e-5): exact profile, best Renyi order, and order 15 alone."""
    rows = []
    for epsilon in TIGHT_EPSILONS:
        exact = (
            beta_plan((6, 12), tacit.ApproxDP(epsilon, DELTA), "diffused")
            .calibrated_mechanism()
            .noise_parameters.number("weight")
        )
        said = tacit.PosteriorSample(prior={"a": 6, "b": 12})
        whole = tacit.Plan(tacit.Bernoulli("x"), tacit.Schema(x=["no", "yes"]), tacit.ApproxDP(epsilon, DELTA), said)
        renyi = epsilon - math.log(1 / DELTA) / (ORDER - 1)
        classic = (
            beta_plan((6, 12), tacit.RenyiDP(order=ORDER, epsilon=renyi), "diffused")
            .calibrated_mechanism()
            .noise_parameters.number("weight")
            if renyi > 0
            else 0.0
        )
        row = {
            "epsilon": epsilon,
            "exact": exact,
            "renyi": whole.calibrated_mechanism().noise_parameters.number("weight"),
            "order 15": classic,
        }
        rows.append(row)
    return rows


def draw_beta(found: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(10, 6.4), layout="constrained")
    for place, panel in enumerate(found["panels"], start=1):
        axes = figure.add_subplot(2, 2, place)
        for method, values in panel["curves"].items():
            label = {"bounded": "bounded likelihood"}.get(method, method)
            axes.plot(found["epsilons"], values, color=COLOURS[method], marker="o", markersize=3, label=label)
        axes.axhline(
            panel["non-private"], color=COLOURS["non-private"], linestyle="--", linewidth=1, label="non-private"
        )
        axes.set_xscale("log")
        axes.set_title(f"Beta{panel['prior']}, share {panel['truth']:.3g}", fontsize=10)
        axes.set_xlabel(f"epsilon at order {ORDER}")
        axes.set_ylabel("held-out loss")
        if place == 1:
            axes.legend(fontsize=8)
    return figure


# ---------------------------------------------------------------------------------------------------------------------
# Regressions


def abalone(folder: Path) -> tuple[Any, Any, Any, Any, float]:
    table = pq.read_table(folder / "abalone.parquet").to_pydict()
    bounds = {
        "length": (0, 1),
        "diameter": (0, 1),
        "height": (0, 0.5),
        "whole_weight": (0, 3),
        "shucked_weight": (0, 1.5),
        "viscera_weight": (0, 1),
        "shell_weight": (0, 1),
    }
    table["old"] = ["yes" if rings > 10 else "no" for rings in table["rings"]]
    schema = tacit.Schema(old=["no", "yes"], sex=["M", "F", "I"], **bounds)
    order = np.random.default_rng(SEED).permutation(len(table["rings"]))
    test = order[: len(order) // 10]
    train = order[len(order) // 10 :]
    model = tacit.LogisticRegression("old ~ sex + " + " + ".join(bounds))
    return model, schema, pick(table, train, schema), pick(table, test, schema), 5.0


def adult(folder: Path) -> tuple[Any, Any, Any, Any, float]:
    table = pq.read_table(folder / "adult.parquet").to_pydict()
    married = {"Married-civ-spouse": "married", "Married-AF-spouse": "married", "Never-married": "never"}
    table["marital"] = [married.get(value, "apart") for value in table["marital_status"]]
    schema = tacit.Schema(
        income=["<=50K", ">50K"],
        age=(17, 90),
        education_num=(1, 16),
        hours_per_week=(1, 99),
        capital_gain=(0, 20_000),
        capital_loss=(0, 3_000),
        sex=["Male", "Female"],
        marital=["married", "never", "apart"],
    )
    split = np.array(table["split"])
    parts = [np.flatnonzero(split == name) for name in sorted(set(split), key=lambda s: -np.sum(split == s))]
    parts[0] = np.random.default_rng(SEED).permutation(parts[0])[:ADULT_ROWS]
    formula = "income ~ age + education_num + hours_per_week + capital_gain + capital_loss + sex + marital"
    return tacit.LogisticRegression(formula), schema, pick(table, parts[0], schema), pick(table, parts[1], schema), 5.0


def mnist(folder: Path) -> tuple[Any, Any, Any, Any, float]:
    table = pq.read_table(folder / "mnist_3vs8.parquet")
    pixels = np.stack(table["pixels"].to_pandas().to_numpy()).reshape(-1, 7, 4, 7, 4).mean(axis=(2, 4)) / 255
    columns: dict[str, Any] = {f"p{i}": column for i, column in enumerate(pixels.reshape(-1, 49).T)}
    columns["digit"] = ["eight" if label == 8 else "three" for label in table["label"].to_pylist()]
    split = np.array(table["split"].to_pylist())
    schema = tacit.Schema(digit=["three", "eight"], **{f"p{i}": (0, 1) for i in range(49)})
    model = tacit.LogisticRegression("digit ~ 0 + " + " + ".join(f"p{i}" for i in range(49)), radius=1.0)
    train, test = (np.flatnonzero((split == "train") == kind) for kind in (True, False))
    return model, schema, pick(columns, train, schema), pick(columns, test, schema), 20.0


def pick(table: dict[str, Any], chosen: Any, schema: tacit.Schema) -> dict[str, Any]:
    return {name: [table[name][i] for i in chosen] for name in schema}


class Trial:
    """One data set: releases of several draws at the price of one each, and how they predict held-out rows."""

    def __init__(self, parts: tuple[Any, Any, Any, Any, float], draws: int) -> None:
        self.model, self.schema, self.train, self.test, self.sd = parts
        self.draws = draws
        self._scores: dict[Any, dict[str, float]] = {}
        response = next(iter(self.schema))
        self.truth = np.array([value == self.schema.category(response).levels[1] for value in self.test[response]])

    def plan(self, budget: Any, draws: int = 1, **said: Any) -> tacit.Plan:
        said = {**CHAIN, "prior": {"sd": self.sd}, "draws": draws, **said}
        return tacit.Plan(self.model, self.schema, budget, tacit.PosteriorSample(**said))

    def score(self, mu: float, **said: Any) -> dict[str, float]:
        """Test error and mean negative log-likelihood of draws that cost ``mu`` each, if their chains converged."""
        key = (round(mu, 12), *said.items())  # orders and epsilons meet in one mu
        if key not in self._scores:
            price = mu * math.sqrt(self.draws) * (1 + 1e-9)
            budget = tacit.ApproxDP(epsilon_for(price, DELTA), DELTA)
            self._scores[key] = self.measured(self.plan(budget, self.draws, **said))
        return self._scores[key]

    def measured(self, plan: tacit.Plan) -> dict[str, float]:
        release = tacit.privatize(self.train, plan, ledger=None)
        print(".", end="", flush=True)
        law = release.noise_parameters
        scores = self.scored(tacit.released_draws(release).predict(self.test).draws)
        return {**scores, "weight": law.number("weight"), "precision": law.number("precision")}

    def scored(self, chances: Any) -> dict[str, float]:
        chances = np.clip(chances, 1e-12, 1 - 1e-12)
        losses = np.where(self.truth, -np.log(chances), -np.log1p(-chances)).mean(axis=1)
        errors = ((chances > 0.5) != self.truth).mean(axis=1)
        return {
            "error": float(errors.mean()),
            "error se": float(errors.std(ddof=1) / math.sqrt(len(errors))),
            "loss": float(losses.mean()),
            "loss se": float(losses.std(ddof=1) / math.sqrt(len(losses))),
        }

    def non_private(self) -> dict[str, float]:
        """The scores of draws from the normal approximation to the plain posterior, on rows mapped as releases are."""
        plan = self.plan(tacit.ApproxDP(1.0, DELTA))
        sources = (
            open_source(part, plan.calibrated_mechanism().columns, self.schema) for part in (self.train, self.test)
        )
        (x, y), (new, _) = (collect(source, plan)[1].arrays() for source in sources)
        theta = np.zeros(x.shape[1])
        for _ in range(50):
            chance = expit(x @ theta)
            hessian = (x.T * (chance * (1 - chance))) @ x + np.eye(len(theta)) / self.sd**2
            theta = theta - np.linalg.solve(hessian, x.T @ (chance - (y > 0)) + theta / self.sd**2)
        drawn = np.random.default_rng(SEED).multivariate_normal(theta, np.linalg.inv(hessian), self.draws)
        return self.scored(expit(drawn @ new.T))


def glm_figure(
    name: str, trial: Trial, more: Trial, epsilons: tuple[float, ...], orders: tuple[int, ...]
) -> dict[str, Any]:
    """Curves at the paper's orders by ``trial``, and by ``more`` draws the tighter calibration at (epsilon, 1e-5)."""
    cells: list[dict[str, Any]] = []
    best = trial.non_private()
    print(f"{name}: non-private test error {best['error']:.4f}, loss {best['loss']:.4f}", flush=True)
    for order in orders:
        for epsilon in epsilons:
            mu = math.sqrt(2 * epsilon / order)  # D_order = order mu^2 / 2 (geumlek2017, section A.7)
            for tempering in ("diffused", "concentrated"):
                cells.append(
                    {"order": order, "epsilon": epsilon, "method": tempering, **trial.score(mu, tempering=tempering)}
                )
    for epsilon in epsilons:
        said = {"loss": "bounded-log-likelihood", "options": {"bound": 5.0}, **PROVED}
        plan = trial.plan(tacit.PureDP(epsilon * trial.draws), trial.draws, **said)
        cells.append({"order": None, "epsilon": epsilon, "method": "bounded", **trial.measured(plan)})
    tight: list[dict[str, Any]] = []
    for epsilon in TIGHT_EPSILONS:
        ours = trial.plan(tacit.ApproxDP(epsilon, DELTA)).event().event.mu()
        minami = epsilon / math.sqrt(1 + 2 * math.log(1 / DELTA))
        for label, mu, said in (
            ("ours", ours, {}),
            ("Minami", minami, {}),
            ("order 10", paper_mu(epsilon, 10), {}),
            ("order 100", paper_mu(epsilon, 100), {}),
            ("ours, responses alone", ours, {"private": "response"}),
        ):
            if mu > 0:
                tight.append({"epsilon": epsilon, "method": label, "mu": mu, **more.score(mu, **said)})
    return {"non-private": best, "cells": cells, "tight": tight}


def paper_mu(epsilon: float, order: int) -> float:
    """The mu that order alone allows by the conversion epsilon = D + log(1/delta) / (order - 1); 0 if none."""
    return math.sqrt(max(0.0, 2 * (epsilon - math.log(1 / DELTA) / (order - 1)) / order))


def draw_glm(name: str, found: dict[str, Any], orders: tuple[int, ...]) -> Figure:
    figure = Figure(figsize=(11, 6.4), layout="constrained")
    for line, (field, words) in enumerate((("error", "test error"), ("loss", "test loss"))):
        for place, order in enumerate(orders):
            axes = figure.add_subplot(2, len(orders), line * len(orders) + place + 1)
            for method in ("diffused", "concentrated", "bounded"):
                wanted = [c for c in found["cells"] if c["method"] == method and c["order"] in (order, None)]
                axes.errorbar(
                    [c["epsilon"] for c in wanted],
                    [c[field] for c in wanted],
                    yerr=[2 * c[f"{field} se"] for c in wanted],
                    color=COLOURS[method],
                    marker="o",
                    markersize=3,
                    linestyle=":" if method == "bounded" else "-",
                    label="bounded likelihood (pure, proved)" if method == "bounded" else f"{method} (assumed)",
                )
            axes.axhline(found["non-private"][field], color=COLOURS["non-private"], linestyle="--", linewidth=1)
            axes.set_xscale("log")
            axes.set_xlabel(f"epsilon at order {order}")
            axes.set_ylabel(words)
            if line == 0:
                axes.set_title(f"{name}, order {order}", fontsize=10)
            if line == place == 0:
                axes.legend(fontsize=8)
    return figure


def claims(results: dict[str, Any]) -> list[str]:
    """What the paper says, and what came out."""
    lines: list[str] = []
    if "beta" in results:
        first = results["beta"]["panels"][0]
        lines.append("A prior that fits keeps its utility at any epsilon: held-out loss of Beta(6, 12) at share 1/3")
        lines.append(
            f"  non-private {first['non-private']:.4f}, diffused at epsilon 0.01 {first['curves']['diffused'][0]:.4f}"
        )
        lines.append("How much the data of 100 rows may weigh under Beta(6, 12) at delta = 1e-5:")
        for row in results["beta weights"]:
            lines.append("  " + ", ".join(f"{name} {value:.4g}" for name, value in row.items()))
    for name in ("abalone", "adult", "mnist"):
        for row in results.get(name, {}).get("tight", []):
            lines.append(
                f"{name}, epsilon {row['epsilon']:g}, {row['method']}: weight {row['weight']:.4f}, test error "
                f"{row['error']:.4f} (se {row['error se']:.4f}), loss {row['loss']:.4f} (se {row['loss se']:.4f})"
            )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for figures and numbers")
    parser.add_argument("--data", type=Path, help="folder with the parquet files")
    parser.add_argument("--figures", default="beta,abalone,adult,mnist")
    parser.add_argument("--quick", action="store_true", help="few draws and few epsilons, to see that it runs")
    said = parser.parse_args()
    wanted = said.figures.split(",")
    said.out.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {}
    drawn: dict[str, Figure] = {}
    if "beta" in wanted:
        results["beta"] = beta_figure(
            BETA_EPSILONS[::6] if said.quick else BETA_EPSILONS, 200 if said.quick else REPETITIONS
        )
        results["beta weights"] = beta_weights()
        drawn["beta"] = draw_beta(results["beta"])
    for name, read in (("abalone", abalone), ("adult", adult), ("mnist", mnist)):
        if name not in wanted:
            continue
        file = {"mnist": "mnist_3vs8"}.get(name, name) + ".parquet"
        if said.data is None or not (said.data / file).is_file():
            print(
                f"{name} is left out: {'--data is not given' if said.data is None else f'{file} is not in the folder'}."
            )
            continue
        orders = ORDERS[1:2] if said.quick else ORDERS
        parts, (few, many) = read(said.data), (2, 2) if said.quick else DRAWS[name]
        epsilons = GLM_EPSILONS[2:3] if said.quick else GLM_EPSILONS
        results[name] = glm_figure(name, Trial(parts, few), Trial(parts, many), epsilons, orders)
        drawn[name] = draw_glm(name, results[name], orders)
        (said.out / "geumlek2017.json").write_text(json.dumps(results, indent=1), "utf-8")
    for name, figure in drawn.items():
        figure.savefig(said.out / f"{name}.png", dpi=120)
        figure.savefig(said.out / f"{name}.svg", metadata={"Date": None})
    (said.out / "geumlek2017.json").write_text(json.dumps(results, indent=1), "utf-8")
    print("\n" + "\n".join(claims(results)))
    print("\n" + NOTES)


if __name__ == "__main__":
    main()
