"""Shares that are Dirichlet, from the logarithms of gamma numbers: where concentrations are small, most are below any
float, and so may be those of a whole group among others.
"""

from __future__ import annotations

from typing import Any

LEAST = 1e-290
"""Shares below count as 0 in truths and in draws alike, whatever a processor does with denormal numbers."""


def shares_of_logs(logs: Any, xp: Any) -> Any:
    """Shares that add up to 1 over the last axis, from logarithms that need not; ``xp`` is numpy or jax.numpy."""
    weights = xp.exp(logs - xp.max(logs, axis=-1, keepdims=True))
    shares = weights / xp.sum(weights, axis=-1, keepdims=True)
    return xp.where(shares < LEAST, 0.0, shares)


def draw_shares(rng: Any, concentration: Any) -> Any:
    """One draw from the Dirichlet distribution over the last axis of ``concentration``, for each of the others.

    log G(a) = log G(a + 1) - E / a with E ~ Exp(1), so that nothing is lost where a is small.
    """
    import numpy as np

    a = np.asarray(concentration, np.float64)
    return shares_of_logs(np.log(rng.standard_gamma(a + 1)) - rng.standard_exponential(a.shape) / a, np)
