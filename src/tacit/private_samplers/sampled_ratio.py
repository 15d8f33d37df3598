"""A log ratio of posteriors from a random part of the rows, without bias in the chain's law: exact minibatch tests.

Let d_i, |d_i| <= D, be what row i adds to the log ratio ln p(theta' | rows) / p(theta | rows), and K > D. Take row i
with probability

    r_i = 1 - e^-B_i,   B_i = K - (D + d_i) / 2,   and add   h_i = ln((e^A_i - 1) / (e^B_i - 1)),   A_i = B_i + d_i

for it. A Metropolis or Barker test on the sum of the h_i in place of the sum of the d_i keeps the posterior.

Proof: let s_i say whether row i was taken. Going back from theta' to theta d_i changes its sign: B_i becomes A_i. The
chance of one s on the way there times p(theta), against the chance of the same s on the way back times p(theta'), has
the log ratio: sum over rows of d_i plus, for s_i = 1, ln (1 - e^-A_i) / (1 - e^-B_i), and for s_i = 0, -A_i + B_i =
-d_i. Rows with s_i = 0 cancel; those with s_i = 1 leave ln e^(A_i - B_i) (1 - e^-A_i) / (1 - e^-B_i) = h_i. So
(theta, s) -> (theta', s) is an involution whose log ratio is sum s_i h_i, which is all that a test needs. [] It is the
Poisson sampling of Zhang, Cooper and De Sa (2020) with each row taken at most once, so that its part is bounded:
|h_i| <= H = ln((e^K - 1) / (e^(K - D) - 1)), as h grows with d.

Privacy: r_i <= q = 1 - e^-K. So take rows by Poisson sampling with rate q, whatever they hold, and keep one that was
taken with probability r_i / q by a coin of its own; one that is not kept adds 0. Given that coin's uniform number, what
a row adds is a function of the row and is at most H in size: this is a noisy sum over a Poisson sample as
`tacit.privacy.subsampled_gaussian` prices it, with joint convexity over the coin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

_MOST_SHARE = 0.5  # of D in K: beyond it what a row adds is far larger than its share


@dataclass(frozen=True)
class SampledRatio:
    """``bound`` is D, ``rate`` is q, with K = -ln(1 - q)."""

    bound: float
    rate: float

    @property
    def ceiling(self) -> float:
        """K."""
        return -math.log1p(-self.rate)

    @property
    def near(self) -> bool:
        """Whether D is small enough beside K; a proposal that is not near is refused, on the way back as well."""
        return 0 < self.bound <= _MOST_SHARE * self.ceiling

    @property
    def largest(self) -> float:
        """H, rounded up."""
        k, near = self.ceiling, self.ceiling - self.bound
        return (k + math.log(-math.expm1(-k)) - near - math.log(-math.expm1(-near))) * (1 + 1e-12)

    def terms(self, differences: Any, uniforms: Any) -> Any:
        """What the rows that were taken add; ``differences`` are their d_i, ``uniforms`` numbers in [0, 1)."""
        import numpy as np

        return kept_terms(differences, uniforms, self.bound, self.rate, np)


def kept_terms(differences: Any, uniforms: Any, bound: Any, rate: Any, xp: Any) -> Any:
    """h_i for the rows that are kept, 0 for the others, with ``xp`` numpy or its like in JAX."""
    d = xp.clip(differences, -bound, bound)
    low = -xp.log1p(-rate) - (bound + d) / 2
    kept = uniforms * rate < -xp.expm1(-low)
    return xp.where(kept, _log_expm1(low + d, xp) - _log_expm1(low, xp), 0.0)


def _log_expm1(value: Any, xp: Any) -> Any:
    """ln(e^v - 1) for v > 0, without overflow."""
    return value + xp.log(-xp.expm1(-value))
