"""The prior of the correlations of covariates: most tables have nearly unrelated columns, some have columns that say
nearly the same.

Each part of it is the distribution of Lewandowski, Kurowicka and Joe (2009), with the density |K|^(shape - 1) over its
integral. In it the share of a covariate's variance that the k - 1 others leave unexplained has the distribution
Beta(shape, (k - 1) / 2). One shape cannot serve both kinds of table: what the others leave unexplained of two columns
that say nearly the same, 0.08 and 0.15 in two of the study's tables, has a probability of 1 in 50 under a shape of 1.5.
Where noise hides the least eigenvalue of the information, such a prior makes it too large, and the posterior too narrow
around a point too close to 0.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

_RELATED = 0.5  # the probability of a table whose columns may say nearly the same
_RELATED_SHAPE = 0.5


def unrelated_shape(covariates: int) -> float:
    """The shape of the usual part, for so many covariates.

    One shape for every number k of them would make the unexplained share smaller the more there are. So its mean is
    0.6 for 3 to 6 covariates; beyond, the shape stays, since many columns do explain each other.
    """
    return min(max(0.75 * (covariates - 1), 1.5), 4.0)


def log_correlation_prior(log_determinant: Any, covariates: int) -> Any:
    """The log density of a correlation matrix by the logarithm of its determinant."""
    if covariates < 2:
        return jnp.zeros_like(log_determinant)
    parts = ((1 - _RELATED, unrelated_shape(covariates)), (_RELATED, _RELATED_SHAPE))
    return jnp.logaddexp(
        *(np.log(weight) + (shape - 1) * log_determinant - log_integral(shape, covariates) for weight, shape in parts)
    )


def log_integral(shape: float, covariates: int) -> float:
    """The logarithm of the integral of |K|^(shape - 1) over all correlation matrices (equation 16 there)."""
    from scipy.special import betaln

    later = covariates - np.arange(1, covariates)
    half = shape + (later - 1) / 2
    return float(np.sum((2 * shape - 2 + later) * later * np.log(2) + later * betaln(half, half)))
