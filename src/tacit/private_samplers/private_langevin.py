"""Langevin steps whose noise is the privacy noise: DP-SGLD (Wang et al. 2015; Li et al. 2019, Algorithm 1)."""

from __future__ import annotations

from typing import Any

from tacit.private_samplers.private_evidence import Evidence, Prior


def langevin_chain(evidence: Evidence, prior: Prior, start: Any, *, steps: int, size: float, rng: Any) -> list[Any]:
    """The states after each of ``steps`` steps of length h = ``size``:

        theta <- theta - h/2 (G + N(0, s^2 I) + grad V) + N(0, (h - h^2 s^2 / 4) I)

    G estimates the gradient of the rows' part, and s is its noise (`Evidence.gradient_sd`). What the privacy noise adds
    to theta, (h s / 2)^2 in variance, is taken off the h that Langevin steps need. h must be at most
    `longest_step` (s), or the chain is hotter than the posterior. What is left is the error of the
    step length, and the noise of sampling rows, as in every SGLD.
    """
    import numpy as np

    theta = np.asarray(start, np.float64)
    rest = np.sqrt(max(0.0, size - (size * evidence.gradient_sd / 2) ** 2))
    states: list[Any] = []
    for _ in range(steps):
        slope = evidence.gradient(theta) + prior.gradient(theta)
        theta = theta - size / 2 * slope + rest * rng.standard_normal(theta.shape)
        states.append(theta)
    return states


def longest_step(gradient_sd: float) -> float:
    """4 / s^2: there the privacy noise is all the noise that a Langevin step needs."""
    return 4 / gradient_sd**2 if gradient_sd > 0 else float("inf")
