"""Tests that accept a proposal by a log ratio with Gaussian noise, such that the chain keeps its law all the same."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

from tacit.private_samplers.barker_correction import NOISE_SD, Correction, correction


class NoisyTest(Protocol):
    """``most_sd`` is the most noise with which it can be used."""

    @property
    def most_sd(self) -> float:
        """The largest standard deviation that it takes."""
        ...

    def accepts(self, log_ratio: float, sd: float, rng: Any) -> bool:
        """Whether to move; ``log_ratio`` has noise N(0, sd^2)."""
        ...


@dataclass(frozen=True)
class Penalty:
    """Accept with probability min(1, exp(R - sd^2 / 2)), R the noisy log ratio (Ceperley and Dewing 1999).

    For R = r + N(0, sd^2) the chance of acceptance is the normal integral a(r) = Phi((r - sd^2/2) / sd) + e^r
    Phi((-r - sd^2/2) / sd), and e^r a(-r) has the same two terms. So a(r) = e^r a(-r): detailed balance, exactly,
    whatever sd is. What noise costs is acceptance. Yildirim and Ermis (2019) use it for privacy.
    """

    @property
    def most_sd(self) -> float:
        """Any."""
        return math.inf

    def accepts(self, log_ratio: float, sd: float, rng: Any) -> bool:
        """Whether to move."""
        return bool(math.log(1 - rng.random()) < log_ratio - sd * sd / 2)


@dataclass(frozen=True)
class Barker:
    """Accept where R + N(0, NOISE_SD^2 - sd^2) + C > 0, with C the `correction` that makes the sum logistic.

    The chance of acceptance is then 1 / (1 + e^-r) up to the correction's stated error, and that has detailed balance:
    a(r) = e^r a(-r) (Barker 1965). The privacy noise is a part of the test's own.
    """

    @property
    def law(self) -> Correction:
        """That for the noise of `NOISE_SD`."""
        return correction(NOISE_SD)

    @property
    def most_sd(self) -> float:
        """`NOISE_SD`."""
        return NOISE_SD

    def accepts(self, log_ratio: float, sd: float, rng: Any) -> bool:
        """Whether to move."""
        rest = math.sqrt(max(0.0, NOISE_SD**2 - sd * sd))
        return log_ratio + rest * float(rng.standard_normal()) + self.law.draw(rng) > 0
