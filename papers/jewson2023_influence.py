"""Figures 1 and 5 of Jewson, Ghalebikesabi and Holmes 2023: influence of one observation; called by jewson2023.py."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import common
import numpy as np
from jewson2023_data import SEED
from matplotlib.figure import Figure
from scipy.special import expit

from comparisons.tempering import gibbs_weight, logistic_range
from tacit.studies import Probabilities, beta_for, gaussian_range


def influence_of_one_label(out: Path) -> dict[str, Any]:
    """Figure 1: what multiplies the prior, for a binary label and for a normal response, at epsilon = 6."""
    drawn = Figure(figsize=(10, 4), layout="constrained", facecolor="white")
    left, right = drawn.subplots(1, 2)
    m = np.linspace(-8, 8, 161)
    reach = 6.0 / (4 * 0.09)  # the paper's w = 0.09 is epsilon / (4 B): |log f| and so |logit| up to 16.7
    tight = gibbs_weight(6.0, low=logistic_range(reach)[0], high=logistic_range(reach)[1])
    beta = beta_for(Probabilities(), 6.0)
    rise = expit(m)
    curves = {"Bayes": np.log(rise), "Gibbs, w = 0.09 (paper)": 0.09 * np.log(rise)}
    curves[f"Gibbs, w = {tight:.2f} (tight)"] = tight * np.log(rise)
    curves[f"beta-divergence, beta = {beta:.2f}"] = -beta_loss(rise, beta)
    shares: dict[str, Any] = {}
    for name, log_f in curves.items():
        other = log_f[::-1]  # y = 0 at m is y = 1 at -m
        shares[name] = expit(log_f - other)
        left.plot(m, shares[name], label=name)
    left.set(xlabel="m(X, theta)", ylabel="normalised exp(-loss) of y = 1", title="binary label, epsilon = 6")
    z = np.linspace(-8, 8, 161)
    log_n = -(z**2) / 2 - math.log(2 * math.pi) / 2
    right.plot(z, log_n, label="log-likelihood")
    right.plot(z, 0.09 * log_n, label="Gibbs, w = 0.09: still unbounded")
    power = beta_for(gaussian_range(1.0), 6.0)
    b = power - 1
    loss = (2 * math.pi) ** (-b / 2) * (power**-1.5 - np.exp(-b * z**2 / 2) / b)
    right.plot(z, -loss, label=f"beta-divergence, beta = {power:.2f}")
    right.set(xlabel="(y - m) / sigma", ylabel="-loss", title="normal response, sigma = 1", ylim=(-12, 3))
    _save(drawn, out, "jewson2023-figure1", (left, right))
    gap = {name: float(np.max(np.abs(value - shares["Bayes"]))) for name, value in shares.items()}
    return {"largest distance from Bayes": gap, "beta": beta, "beta of the normal model": power}


def beta_loss(own: Any, beta: float) -> Any:
    return (own**beta + (1 - own) ** beta) / beta - own ** (beta - 1) / (beta - 1)


def influence_by_distance(out: Path) -> dict[str, Any]:
    """Figure 5: Fisher-Rao distance between posteriors of (mu, sigma^2) with and without one more observation."""
    rows = np.random.default_rng(SEED).standard_normal(1000)
    mu, sigma = np.meshgrid(np.linspace(-0.3, 0.3, 121), np.linspace(0.8, 1.25, 121))
    distances = np.linspace(0, 10, 81)
    drawn = Figure(figsize=(6, 4), layout="constrained", facecolor="white")
    panel = drawn.subplots()
    found: dict[str, Any] = {}
    for beta in (1.0, 1.1, 1.25, 1.5, 2.0):
        total = sum(_normal_loss(y, mu, sigma, beta) for y in rows)
        log_posterior = -total - 4 * np.log(sigma) - 1 / sigma**2 + np.log(2 * sigma)
        weights = np.exp(log_posterior - log_posterior.max())
        weights /= weights.sum()
        values = []
        for y in distances:
            ratio = np.exp(-_normal_loss(y, mu, sigma, beta))
            overlap = (weights * np.sqrt(ratio)).sum() / math.sqrt((weights * ratio).sum())
            values.append(float(np.arccos(min(1.0, overlap))))
        name = "Kullback-Leibler (beta = 1)" if beta == 1 else f"beta = {beta:g}"
        panel.plot(distances, values, label=name, color="#1d2733" if beta == 1 else None)
        found[name] = {"at 10": values[-1], "largest": max(values), "where": float(distances[int(np.argmax(values))])}
    panel.set(xlabel="|y - mu|", ylabel="influence (Fisher-Rao)", title="one more observation among 1,000")
    _save(drawn, out, "jewson2023-figure5", (panel,))
    return found


def _normal_loss(y: float, mu: Any, sigma: Any, beta: float) -> Any:
    z = (y - mu) / sigma
    if beta == 1:
        return z**2 / 2 + np.log(sigma)
    b = beta - 1
    return (2 * math.pi * sigma**2) ** (-b / 2) * (beta**-1.5 - np.exp(-b * z**2 / 2) / b)


def _save(drawn: Figure, out: Path, name: str, with_legend: tuple[Any, ...]) -> None:
    for panel in with_legend:
        panel.legend(frameon=False, fontsize=7)
        panel.spines[["top", "right"]].set_visible(False)
    common.save(drawn, out, name)
