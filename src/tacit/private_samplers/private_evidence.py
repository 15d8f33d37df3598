"""What a private chain may know of the rows: noisy answers, and public numbers about their noise.

A chain is post-processing: it sees the rows through an `Evidence` alone, whose answers are noisy sums. So every state
that it visits is covered by the price of the answers, and all of them could be released.
"""

from __future__ import annotations

from typing import Any, Protocol


class Evidence(Protocol):
    """The rows' part of U(theta) = weight * sum_i l(theta, row_i) + V(theta), the potential of the posterior."""

    @property
    def gradient_sd(self) -> float:
        """The standard deviation of the Gaussian noise in each entry of `gradient`. Public."""
        ...

    def gradient(self, theta: Any) -> Any:
        """An unbiased estimate of weight * sum_i grad l, with Gaussian noise."""
        ...

    def ratio_sd(self, theta: Any, proposal: Any) -> float:
        """The standard deviation of the Gaussian noise of `log_ratio`; inf for a pair that is not asked about. Public.

        It is the same for (theta, proposal) as for (proposal, theta).
        """
        ...

    def log_ratio(self, theta: Any, proposal: Any) -> float:
        """weight * sum_i (l(theta, row_i) - l(proposal, row_i)), or a `sampled_ratio` in its place, plus the noise."""
        ...


class Prior(Protocol):
    """V and its gradient."""

    def potential(self, theta: Any) -> float:
        """V(theta)."""
        ...

    def gradient(self, theta: Any) -> Any:
        """The gradient of V."""
        ...
