"""Randomized response: one person's category, made private on that person's side."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.errors import expected
from tacit.noise.entropy import Entropy
from tacit.privacy.events import PureEvent


@dataclass(frozen=True)
class RandomizedResponse:
    """Report one of ``levels`` categories: the truth with probability e^epsilon / (e^epsilon + levels - 1).

    Each of the other categories has probability 1 / (e^epsilon + levels - 1). ``epsilon`` is an exact rational; a float
    is converted exactly.

    Proof: of local epsilon-DP, where neighbours are any two values of one person's category (replace-one on a data set
    of one record). The two probabilities of a report have the same denominator for every truth and numerators
    e^epsilon or 1, so for any report and any two truths their ratio is at most e^epsilon.
    """

    levels: int
    epsilon: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", _checked(self.levels, self.epsilon))

    def event(self) -> PureEvent:
        """What one report costs."""
        return PureEvent(self.epsilon)

    def draw(self, codes: Any, entropy: Entropy) -> Any:
        """Reports (int64) for ``codes`` (integers from 0 to ``levels`` - 1), of the same shape, exactly from `log_pmf`.

        Propose a category uniformly; accept it if it is the truth, else with probability exp(-epsilon); else propose
        again. Given acceptance the truth has weight 1 and every other category exp(-epsilon), which is the law above
        divided by e^epsilon.
        """
        import numpy as np

        from tacit.noise.coins import exp_minus_ratio, uniform_below, whole_numbers

        truth = np.asarray(codes)
        if truth.dtype.kind not in "iu" or (truth.size and not 0 <= int(truth.min()) <= int(truth.max()) < self.levels):
            # The codes came from rows, so they are not shown.
            raise expected("codes", "...", f"to be an array of integers from 0 to {self.levels - 1}")
        flat = truth.ravel().astype(np.int64)
        reports = np.empty_like(flat)
        exponent = whole_numbers([self.epsilon.numerator, self.epsilon.denominator])
        bound = whole_numbers([self.levels])
        missing = np.arange(flat.size)
        while missing.size:
            proposed = uniform_below(bound.repeat(missing.size), entropy).astype(np.int64)
            accepted = proposed == flat[missing]
            others = np.flatnonzero(~accepted)
            numerators, denominators = np.repeat(exponent[:, None], others.size, axis=1)
            accepted[others] = exp_minus_ratio(numerators, denominators, entropy)
            reports[missing[accepted]] = proposed[accepted]
            missing = missing[~accepted]
        return reports.reshape(truth.shape)

    def log_pmf(self, reported: Any, truth: Any) -> Any:
        """The log probability of each report, elementwise.

        It is -log(1 + (levels - 1) exp(-epsilon)) for the truth and less by epsilon for any other category.
        """
        import numpy as np

        normaliser = math.log1p((self.levels - 1) * math.exp(-self.epsilon))
        return np.where(np.equal(reported, truth), 0.0, -float(self.epsilon)) - normaliser


def _checked(levels: object, epsilon: object) -> Fraction:
    if isinstance(levels, bool) or not isinstance(levels, int) or levels < 2:
        raise expected("levels", levels, "to be a whole number of at least 2")
    if isinstance(epsilon, bool) or not isinstance(epsilon, Fraction | int | float) or not 0 < epsilon < math.inf:
        raise expected("epsilon", epsilon, "to be a positive number")
    return Fraction(epsilon)
