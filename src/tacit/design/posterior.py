"""The normal approximation of a posterior, in coordinates in which the prior has mean 0 and covariance 1."""

from __future__ import annotations

from typing import Any

import numpy as np

_CENTRES, _DRAWS = 64, 512


def centres_and_draws(truth: Any, information: Any, rng: Any) -> tuple[Any, Any]:
    """Posterior means (64, size) over releases, and draws (512, size) from posteriors, each of a release of its own.

    With e ~ N(0, I^-1) the error of the efficient estimate and C = (1 + I)^-1, the posterior of one release is
    N(C I (truth + e), C). The draws are centred on one posterior mean, of a typical release: the first.
    """
    values, vectors = np.linalg.eigh(information)
    values = np.maximum(values, 0.0)
    variance = 1 / (1 + values)  # of the posterior, along each axis
    own = vectors.T @ truth
    # C I e has variance C I C: values * variance^2 along an axis.
    errors = rng.standard_normal((_CENTRES, len(own))) * np.sqrt(values) * variance
    centres = own * values * variance + errors
    half = rng.standard_normal((_DRAWS // 2, len(own)))
    draws = centres[0] + np.concatenate([half, -half]) * np.sqrt(variance)
    return centres @ vectors.T, draws @ vectors.T
