"""Figures 4 and 11 of Jewson, Ghalebikesabi and Holmes 2023: attacks on estimates; called by jewson2023.py."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import common
import numpy as np
from common import Claim
from jewson2023_data import DELTA, SD, SEED, SHOWN, scores, simulated
from jewson2023_influence import beta_loss
from matplotlib.figure import Figure
from scipy.special import expit

from comparisons.logistic_methods import METHODS, Bounds, Problem
from comparisons.tempering import LOGISTIC_SLOPE_ONE, minami_weight
from tacit import InputError
from tacit.studies import (
    ExactPair,
    OutputPerturbation,
    Probabilities,
    beta_for,
    certified_epsilon,
    default_beta,
    minimiser,
    weight_for,
)

ATTACKS = ("beta-divergence", "beta-divergence, weight 1", "Minami", "output, ball, fixed ridge", "output, ball")


def attack(name: str, epsilon: float, repeats: int, rounds: int) -> dict[str, Any]:
    """D = {(1, 1), (0, 0)} against D' = {(-1, 1), (0, 0)}: success, what it certifies, and the error at n = 1,000."""
    theta, x, y = simulated(repeats, 1000, 2, np.random.default_rng([SEED, 2]))
    rng = np.random.default_rng([SEED, 3, ATTACKS.index(name)])
    delta = 0.0 if METHODS[name].pure else DELTA
    try:
        first, second, success = _attacked(name, epsilon, rounds, rng)
        value = METHODS[name].estimate(Problem(x, y, epsilon, DELTA, SD, Bounds(math.sqrt(2), 1.0), SEED))
    except InputError as refusal:
        return {"method": name, "epsilon": epsilon, "refused": str(refusal)}
    lower = certified_epsilon(first, second, delta=delta, level=0.05)
    found = {"method": name, "epsilon": epsilon, "success": float(success), "lower bound": float(lower)}
    return found | scores(value, theta)


def _attacked(name: str, epsilon: float, rounds: int, rng: Any) -> tuple[Any, Any, float]:
    """Log ratios at releases about D and D', and how often the attacker is right."""
    if name.startswith("output"):
        ridge = SD**-2 if name.endswith("ridge") else SD**-2 / 2
        method = OutputPerturbation("ball", 2, 1, ridge, epsilon)
        rows, labels = np.array([[1.0], [0.0]]), np.array([1.0, -1.0])
        centres = minimiser(rows, labels, ridge), minimiser(-rows, labels, ridge)
        seen = [c + method.noise(rounds, rng) for c in centres]
        first, second = (method.log_noise(s - centres[0]) - method.log_noise(s - centres[1]) for s in seen)
        return first, second, float((np.mean(first >= 0) + np.mean(second < 0)) / 2)
    grid = np.linspace(-40, 40, 40_001)
    if name == "Minami":
        weight, beta = minami_weight(epsilon, DELTA, slope=LOGISTIC_SLOPE_ONE, precision=SD**-2), None
    else:
        beta = beta_for(Probabilities(), epsilon) if name.endswith("1") else default_beta(epsilon)
        weight = 1.0 if name.endswith("1") else weight_for(Probabilities(), beta, epsilon)

    def log_density(place: float) -> Any:
        own = expit(place * grid)
        loss = np.logaddexp(0, -place * grid) if beta is None else beta_loss(own, beta)
        return -weight * loss - grid**2 / (2 * SD**2)  # the row with x = 0 says nothing

    pair = ExactPair(log_density(1.0), log_density(-1.0), np.full_like(grid, math.log(grid[1] - grid[0])))
    first, second = pair.releases(rounds, rng)
    return first, second, (1 + pair.delta(0.0)) / 2


def attack_panel(cells: list[Any], quantity: str, label: str) -> Figure:
    """Points are values of epsilon."""
    drawn = Figure(figsize=(6, 4.2), layout="constrained", facecolor="white")
    panel = drawn.subplots()
    for name, (colour, text) in SHOWN.items():
        own = [c for c in cells if c["method"] == name and "success" in c]
        if own:
            own.sort(key=lambda c: c["epsilon"])
            at, bars = [c[quantity] for c in own], [c["log rmse error"] for c in own]
            panel.errorbar(at, [c["log rmse"] for c in own], bars, fmt="o-", color=colour, label=text)
            for c in own:
                panel.annotate(
                    f"{c['epsilon']:g}",
                    (c[quantity], c["log rmse"]),
                    fontsize=7,
                    xytext=(3, 3),
                    textcoords="offset points",
                )
    panel.set(xlabel=label, ylabel="log RMSE at n = 1,000, d = 2", ylim=(-1.5, 3.5))
    panel.legend(frameon=False, fontsize=8)
    panel.spines[["top", "right"]].set_visible(False)
    return drawn


def claims(cells: list[dict[str, Any]]) -> list[Claim]:
    """What the paper says of both figures, beside the same numbers here; ± is one standard error."""
    found: list[Claim] = []
    done = [c for c in cells if "success" in c]
    here = "; ".join(
        f"{c['method']}, epsilon = {c['epsilon']:g}: right in {c['success']:.1%}, log RMSE {c['log rmse']:.2f} ± "
        f"{c['log rmse error']:.2f}"
        for c in done
    )
    rises = all(
        b["success"] >= a["success"] - 0.01
        for m in ATTACKS
        for a, b in pairwise(sorted((c for c in done if c["method"] == m), key=lambda c: c["epsilon"]))
    )
    says = "success rises with epsilon; for the same success the beta-divergence has the smallest error"
    held = _lower_envelope(done, "success")
    found.append(Claim("Figure 4", says, here, common.verdict(rises, held)))
    here = "; ".join(f"{c['method']}, epsilon = {c['epsilon']:g}: certifies {c['lower bound']:.2f}" for c in done)
    kept = all(c["lower bound"] <= c["epsilon"] for c in done)
    refused = sorted({c["epsilon"] for c in cells if "refused" in c})
    here += f"; every certified bound {'is below' if kept else 'EXCEEDS'} its epsilon; Minami refused at {refused}"
    says = "for any error the beta-divergence has a lower practical epsilon than output perturbation"
    found.append(Claim("Figure 11", says, here, common.verdict(kept, _lower_envelope(done, "lower bound"))))
    return found


def _lower_envelope(cells: list[dict[str, Any]], quantity: str) -> bool:
    """Whether, wherever another method's points lie, beta-divergence draws have less error by interpolation."""
    own = {m: sorted((c for c in cells if c["method"] == m), key=lambda c: c[quantity]) for m in ATTACKS}
    ours = [own[m] for m in ATTACKS[:2] if own[m]]
    return all(
        any(
            np.interp(c[quantity], [o[quantity] for o in one], [o["log rmse"] for o in one])
            <= c["log rmse"] + 2 * c["log rmse error"]
            for one in ours
        )
        for m in ATTACKS[2:]
        for c in own[m]
    )
