"""Figures 1 to 4 of the appendix of Geumlek, Song and Chaudhuri 2017, "Renyi Differential Privacy Mechanisms for
Posterior Sampling".

    python papers/geumlek2017.py --out FOLDER [--data FOLDER] [--figures beta,abalone,adult,mnist] [--quick]
                                 [--processes 4] [--stop-after 3600]

Writes the figures as .svg, geumlek2017.jsonl and geumlek2017-claims.json, and prints what the paper says beside what
comes out here. "beta" is Figures 1 and 2; the others are the three tables of Figures 3 and 4, which need
abalone.parquet, adult.parquet and mnist_3vs8.parquet in the data folder. Without mnist_3vs8.parquet the digits that
scikit-learn ships stand in, if it is there; the other two are left out. Data are released by `tacit.privatize`, with
fresh randomness: numbers differ a little from run to run, by design.

Settings of the paper (appendix A.5, A.8): 100 rows and 100 held-out rows, order 15, priors (6, 18) and (1, 2) in the
paper's coordinates, which are Beta(6, 12) and Beta(1, 1); test error at orders 1 and 10, negative log-likelihood at
orders 1, 10 and 100 against epsilon. The main paper is not at hand. Where tacit has to differ, `NOTES` says why.
"""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path
from typing import Any

# XLA's thread pool can wait for itself where it has two threads; one is as fast here.
os.environ.setdefault("NPROC", "1")

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from scipy import stats

import tacit

sys.path.insert(0, str(Path(__file__).resolve().parent))
import common
import geumlek2017_regressions as regressions
from common import Cell, Claim
from geumlek2017_regressions import (
    COLOURS,
    DELTA,
    DRAWS,
    FILES,
    GLM_EPSILONS,
    ORDERS,
    SEED,
    TIGHT_EPSILONS,
    bounded_scores,
    calibrated_scores,
    draw_glm,
    plain_scores,
    tempered_scores,
)

matplotlib.use("Agg")

FIGURES = ("beta", "abalone", "adult", "mnist")
ROWS, ORDER = 100, 15
PANELS = (((6, 12), 1 / 3), ((6, 12), 1 / 2), ((6, 12), 2 / 3), ((1, 1), 0.2))
BETA_EPSILONS = tuple(float(e) for e in np.geomspace(0.01, 10, 13))
REPETITIONS = 4000
NOTES = """\
Where this differs from the paper, and why
* Exact draws and prices. Worst cases are those of docs/posterior-sampling.md, in both directions; a clamped number
  moves by twice its bound (docs/errata.md).
* The bounded baseline of the Beta figures keeps the share in [a, 1 - a], with the log ratio of a record in
  [-L, L], L = log((1 - a)/a), so that 2 L = epsilon; its weight is 1. That of the regressions keeps |logit| <= 5.
* Features and their bounds are declared, not read off the data; the prior is N(0, sd^2) for every mapped coefficient.
* Abalone: rings > 10. Adult: 10,000 rows of the training file, the test file held out, seven features. MNIST: pixels
  averaged over 4 x 4 squares (49 numbers), every row divided by its norm, no intercept.
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


def losses(shares: Any, held_out: Any) -> Any:
    """The mean negative log-likelihood of a held-out row under each drawn share."""
    shares = np.clip(shares, 1e-12, 1 - 1e-12)
    return -held_out * np.log(shares) - (1 - held_out) * np.log1p(-shares)


def beta_panel(place: int, epsilons: list[float], repetitions: int) -> dict[str, Any]:
    """Mean held-out loss by method and epsilon, with standard errors."""
    prior, truth = PANELS[place]
    rng = np.random.default_rng([SEED, place])
    ones = rng.binomial(ROWS, truth, repetitions)
    held_out = rng.binomial(ROWS, truth, repetitions) / ROWS
    a, b = prior
    curves: dict[str, list[float]] = {"diffused": [], "concentrated": [], "bounded": []}
    errors: dict[str, list[float]] = {name: [] for name in curves}
    exact = losses(rng.beta(a + ones, b + ROWS - ones), held_out)
    for epsilon in epsilons:
        found = {}
        for method in ("diffused", "concentrated"):
            law = beta_plan(prior, tacit.RenyiDP(order=ORDER, epsilon=epsilon), method).calibrated_mechanism()
            r, m = law.noise_parameters.number("weight"), law.noise_parameters.number("scale")
            found[method] = losses(rng.beta(a / m + r * ones, b / m + r * (ROWS - ones)), held_out)
        least = 1 / (1 + math.exp(epsilon / 2))
        law = stats.beta(a + ones, b + ROWS - ones)
        low, high = law.cdf(least), law.cdf(1 - least)
        inside = law.ppf(low + (high - low) * rng.uniform(size=repetitions))
        inside = np.where(np.isfinite(inside), inside, np.where(2 * ones > ROWS, 1 - least, least))
        found["bounded"] = losses(np.clip(inside, least, 1 - least), held_out)
        for name, own in found.items():
            curves[name].append(float(own.mean()))
            errors[name].append(float(own.std(ddof=1) / math.sqrt(repetitions)))
    return {
        "prior": list(prior),
        "truth": truth,
        "non-private": float(exact.mean()),
        "epsilons": epsilons,
        "curves": curves,
        "errors": errors,
    }


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


def draw_beta(panels: list[dict[str, Any]]) -> Figure:
    figure = Figure(figsize=(10, 6.4), layout="constrained")
    for place, panel in enumerate(panels, start=1):
        axes = figure.add_subplot(2, 2, place)
        for method, values in panel["curves"].items():
            label = {"bounded": "bounded likelihood"}.get(method, method)
            bars = [2 * e for e in panel["errors"][method]]
            axes.errorbar(panel["epsilons"], values, bars, color=COLOURS[method], marker="o", markersize=3, label=label)
        axes.axhline(
            panel["non-private"], color=COLOURS["non-private"], linestyle="--", linewidth=1, label="non-private"
        )
        axes.set_xscale("log")
        axes.set_title(f"Beta{tuple(panel['prior'])}, share {panel['truth']:.3g}", fontsize=10)
        axes.set_xlabel(f"epsilon at order {ORDER}")
        axes.set_ylabel("held-out loss")
        if place == 1:
            axes.legend(fontsize=8)
    return figure


# ---------------------------------------------------------------------------------------------------------------------


def claims(panels: list[dict[str, Any]], weights: list[dict[str, float]], tables: dict[str, Any]) -> list[Claim]:
    """What the paper says, and what came out. A difference counts from two standard errors of it on."""
    found: list[Claim] = []

    def line(panel: dict[str, Any], place: int) -> str:
        own = ", ".join(
            f"{name} {panel['curves'][name][place]:.4f} (se {panel['errors'][name][place]:.4f})"
            for name in ("diffused", "concentrated", "bounded")
        )
        return f"{own} at epsilon {panel['epsilons'][place]:g}"

    for place, panel in enumerate(panels):
        best, curves, errors = panel["non-private"], panel["curves"], panel["errors"]
        number = "1" + "abc"[place] if place < 3 else "2"
        title = f"Figure {number}, Beta{tuple(panel['prior'])}, share {panel['truth']:.2g}"
        here = f"held-out loss: non-private {best:.4f}; {line(panel, 0)}; {line(panel, -1)}"
        if place == 0:
            paper = "a prior that fits keeps its utility however small epsilon is"
            held = [curves[m][0] < best + 0.02 for m in ("diffused", "concentrated")]
        elif place < 3:
            paper = "with a misleading prior the algorithms act conservatively: far from the data at small epsilon"
            held = [curves[m][0] > best + 0.02 for m in ("diffused", "concentrated")]
        else:
            paper = "a uniform prior is the difficult case: draws stay near one half at small epsilon (lambda* = 2)"
            held = [curves["concentrated"][0] > best + 0.05]
        beats = [
            curves[m][0] + 2 * (errors[m][0] + errors["bounded"][0]) < curves["bounded"][0]
            for m in ("diffused", "concentrated")
        ]
        held += beats if place == 0 else []
        found.append(Claim(title, paper, here, common.verdict(*held)))
    if weights:
        here = "; ".join(
            f"epsilon {row['epsilon']:g}: " + ", ".join(f"{k} {v:.3g}" for k, v in row.items() if k != "epsilon")
            for row in weights
        )
        held = [row["exact"] >= row["renyi"] >= row["order 15"] for row in weights]
        paper = "not in the paper: the weight of 100 rows by exact profile, all orders and order 15 at delta = 1e-5"
        found.append(Claim("Weights", paper, here, common.verdict(*held)))
    found += regressions.claims(tables)
    return found


def main() -> None:
    said = common.parser("Figures 1 to 4 of Geumlek, Song and Chaudhuri 2017.", FIGURES).parse_args()
    wanted = common.chosen(said, FIGURES)
    folder = None if said.data is None else str(said.data)
    cells: list[Cell] = []
    if "beta" in wanted:
        given = {"epsilons": list(BETA_EPSILONS[::6] if said.quick else BETA_EPSILONS)}
        given["repetitions"] = 200 if said.quick else REPETITIONS
        cells += [Cell(beta_panel, {"place": place, **given}, 0) for place in range(len(PANELS))]
        cells.append(Cell(beta_weights, {}, 0))
    orders = ORDERS[1:2] if said.quick else ORDERS
    names = []
    for name in (n for n in FIGURES[1:] if n in wanted):
        why = common.missing(said.data, FILES[name])
        if why is not None and name == "mnist" and _digits():
            print("mnist_3vs8.parquet is not there: the digits of scikit-learn, 8 x 8 pixels, stand in.", flush=True)
        elif why is not None:
            common.left_out(name, why)
            continue
        names.append(name)
        few, many = (2, 2) if said.quick else DRAWS[name]
        slow = {"abalone": 1.0, "adult": 4.0, "mnist": 20.0}[name]
        where = {"folder": folder, "table": name}
        cells.append(Cell(plain_scores, where, 0))
        for epsilon in GLM_EPSILONS[2:3] if said.quick else GLM_EPSILONS:
            cells.append(Cell(bounded_scores, {**where, "epsilon": epsilon, "draws": few}, slow * few))
            for order in orders:
                cells.append(
                    Cell(tempered_scores, {**where, "order": order, "epsilon": epsilon, "draws": few}, slow * few)
                )
        for epsilon in TIGHT_EPSILONS[:0] if said.quick else TIGHT_EPSILONS:
            cells.append(Cell(calibrated_scores, {**where, "epsilon": epsilon, "draws": many}, slow * many / 4))
    done = common.measured(cells, said.out, "geumlek2017", processes=said.processes, stop_after=said.stop_after)
    panels = [r["found"] for r in done if r["function"] == "beta_panel"]
    weights = next((r["found"] for r in done if r["function"] == "beta_weights"), [])
    if panels:
        common.save(draw_beta(panels), said.out, "geumlek2017-figures1-2")
    tables: dict[str, Any] = {}
    for name in names:
        own = [r for r in done if r["given"].get("table") == name]
        plain = [r["found"] for r in own if r["function"] == "plain_scores"]
        curves = [c for r in own if r["function"] == "tempered_scores" for c in r["found"]]
        curves += [r["found"] for r in own if r["function"] == "bounded_scores"]
        tight = [c for r in own if r["function"] == "calibrated_scores" for c in r["found"]]
        if plain and curves:
            tables[name] = {"non-private": plain[0], "cells": curves, "tight": tight}
            shown = tuple(o for o in orders if any(c["order"] == o for c in curves))
            if shown:
                common.save(draw_glm(name, tables[name], shown), said.out, f"geumlek2017-figures3-4-{name}")
    for name, own in tables.items():
        for row in own["tight"]:
            print(
                f"{name}, epsilon {row['epsilon']:g}, {row['method']}: weight {row['weight']:.4f}, test error "
                f"{row['error']:.4f} (se {row['error se']:.4f}), loss {row['loss']:.4f} (se {row['loss se']:.4f})"
            )
    common.show(claims(panels, weights, tables), said.out, "geumlek2017", quick=said.quick)
    print("\n" + NOTES)


def _digits() -> bool:
    from importlib.util import find_spec

    return find_spec("sklearn") is not None


if __name__ == "__main__":
    main()
