"""A normal prior of coefficients that knows the spread of their columns.

p independent statements about linear functions of the p coefficients, V theta ~ N(means, diag(precisions)^-1). With
c the mean of the design vector and s_j^2 the variance of its column j (latent numbers, in the same joint posterior),

    V          = rows + lifted c'                                    a lifted row speaks of the predictor at the means
    precisions = fixed + alone (s^2 + 0.001) + (by_sigma + (by_spread + shared / W) (s^2 + 0.001)) / sigma^2

where sigma^2 = 1 if a family has none, and W is one more unknown.

So by_spread = 1 / k^2 says that theta_j has about the standard deviation k sigma / s_j: a covariate's whole effect,
from one standard deviation below its mean to one above, is about 2 k sigma, whatever its bounds are. alone = 1 / e^2
says about e / s_j, whatever sigma is: then noise that could be a large effect does not speak for a small sigma.
shared = k for each of k columns says that they explain about W times as much variance as sigma^2, together. The
0.001 keeps the prior proper for a column, mapped to [-1, 1], that hardly varies.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

_LEAST = 1e-3


class CoefficientPrior(NamedTuple):
    """``rows`` (p, p); all others (p,)."""

    rows: Any
    lifted: Any
    means: Any
    fixed: Any
    by_sigma: Any
    by_spread: Any
    alone: Any = np.zeros(1)
    shared: Any = np.zeros(1)

    @property
    def plain(self) -> bool:
        """Whether it depends on no moment of the columns."""
        return not (self.lifted.any() or self.by_spread.any() or self.alone.any() or self.shared.any())

    @property
    def scaled(self) -> bool:
        """Whether every precision is a multiple of 1 / sigma^2, so that the prior is conjugate given the design."""
        return not (self.fixed.any() or self.alone.any() or self.shared.any())

    def statements(self, centre: Any) -> Any:
        """V."""
        return self.rows + self.lifted[:, None] * centre

    def precisions(self, squares: Any, variance: Any = 1.0, ratio: Any = 1.0) -> Any:
        """Of the statements; ``ratio`` is W."""
        spread = squares + _LEAST
        by_spread = self.by_spread * spread + self.shared * spread / ratio
        return self.fixed + self.alone * spread + (self.by_sigma + by_spread) / variance

    def normal(self, centre: Any, squares: Any, variance: Any = 1.0, ratio: Any = 1.0) -> tuple[Any, Any, Any]:
        """Mean and precision matrix of theta, and the logarithm of the latter's determinant."""
        v, precisions = self.statements(centre), self.precisions(squares, variance, ratio)
        # Without named coefficients V differs from the identity in one row, whose first number is 1.
        volume = 0.0 if self.scaled else 2 * jnp.linalg.slogdet(v)[1]
        mean = jnp.linalg.solve(v, self.means) if np.any(self.means) else np.zeros(len(self.means))
        return mean, (v.T * precisions) @ v, volume + jnp.sum(jnp.log(precisions))

    def place(self, t: Any, centre: Any, squares: Any, variance: Any = 1.0, ratio: Any = 1.0) -> Any:
        """theta made of p numbers t, which are standard normal under the prior."""
        spread = t / jnp.sqrt(self.precisions(squares, variance, ratio))
        return jnp.linalg.solve(self.statements(centre), self.means + spread)

    def unplace(self, theta: Any, centre: Any, squares: Any, variance: Any = 1.0) -> Any:
        """The t of `place`."""
        return (self.statements(centre) @ theta - self.means) * jnp.sqrt(self.precisions(squares, variance))


class NumberColumns(NamedTuple):
    """Which columns of a design are numbers: ``picks`` (p, d) by one 1 each; ``plain`` (p,) not within levels."""

    picks: Any
    plain: Any
    intercept: bool

    @classmethod
    def of(cls, slopes: Any, *, intercept: bool) -> NumberColumns:
        """Off the B_c (cells, p, d) of `design_moments.Design`."""
        whole = np.asarray(slopes)
        return cls(whole.max(axis=0), whole.min(axis=0).sum(axis=1), intercept)

    def moments(self, probabilities: Any, means: Any, variances: Any, numpy: Any = jnp) -> tuple[Any, Any]:
        """Centre and squares of `CoefficientPrior` for cells with ``probabilities`` (K,), ``means`` (K, d) of numbers
        there.

        ``variances`` (d,) are those within cells. The centre is that of the reference levels, the square of a column
        that is no number is 1.
        """
        overall = probabilities @ means
        squares = numpy.maximum(variances + probabilities @ (means - overall) ** 2, 1e-12)
        centre = self.plain * (self.picks @ overall)
        first = np.eye(len(self.plain))[0] if self.intercept else np.zeros(len(self.plain))
        return centre + first, self.picks @ squares + (1 - self.picks.sum(axis=1))


def column_moments(gram: Any, n: Any, *, intercept: bool) -> tuple[Any, Any]:
    """Mean and variance of the design's columns from X'X; around 0 where there is no constant, which comes first."""
    centre = gram[0] / n if intercept else jnp.zeros(gram.shape[0])
    return centre, jnp.maximum(jnp.diagonal(gram) / n - centre**2, 0.0)
