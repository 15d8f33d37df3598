"""The strongest attack on a released draw: guess between two known data sets by the exact density ratio.

An attacker who knows two neighbours D and D' and the distribution of the release on each can do no better, for equal
probabilities beforehand, than to say D' where ln p(theta | D) < ln p(theta | D') (jewson2023, Remark 1; its formula
lacks the step from the ratio to a probability, Errata J10). Weighing one error more than the other moves the
threshold. What such guesses prove is a lower bound on epsilon. Where that would need too many runs, `ExactPair` has
the two distributions on a grid and needs none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tacit.audit.empirical import Attack, epsilon_lower_bound
from tacit.errors import expected


def membership_probability(log_ratio: Any) -> Any:
    """P(the rows were D' | theta) = 1 / (1 + ratio), ratio = p(theta | D) / p(theta | D'), for equal probabilities
    before.
    """
    import numpy as np

    return 1 / (1 + np.exp(np.clip(log_ratio, -700, 700)))


def log_ratio_by_draws(moved: Any, moved_at_draws: Any) -> Any:
    """ln p(theta | D) / p(theta | D') for posteriors that differ in one record, from draws given D alone.

    ``moved`` is l(theta; D) - l(theta; D') of the records that differ, weighted, at the released theta;
    ``moved_at_draws`` the same at draws from the posterior given D. The ratio is exp(-moved) times the mean of
    exp(moved) over the posterior given D (jewson2023, Appendix A.5), here estimated.
    """
    import numpy as np
    from scipy.special import logsumexp

    return -np.asarray(moved) + logsumexp(moved_at_draws) - math.log(np.size(moved_at_draws))


def certified_epsilon(
    ratios: Any, ratios_neighbour: Any, *, delta: float, level: float = 1e-3, thresholds: Sequence[float] = (0.0,)
) -> float:
    """The largest epsilon that the attack refutes, at the given ``delta``; wrong with probability ``level`` at most.

    ``ratios`` are ln p(theta | D) / p(theta | D') at independent releases about D, ``ratios_neighbour`` at independent
    releases about D'. The attacker says D' where the ratio is below a threshold. Every threshold, fixed beforehand, is
    an attack of its own; each has an equal share of ``level`` (a union bound), and within it the two error rates have
    half each (`epsilon_lower_bound`: Clopper-Pearson limits, rates per class).
    """
    import numpy as np

    if not 0 < level < 1:
        raise expected("level", level, "to lie between 0 and 1")
    if not thresholds:
        raise expected("thresholds", thresholds, "to be one at least")
    first, second = np.asarray(ratios), np.asarray(ratios_neighbour)
    found = 0.0
    for threshold in thresholds:
        attack = Attack(
            false_positives=int(np.sum(first < threshold)),
            negatives=first.size,
            false_negatives=int(np.sum(second >= threshold)),
            positives=second.size,
        )
        found = max(found, epsilon_lower_bound(attack, delta=delta, confidence=1 - level / len(thresholds)))
    return found


@dataclass(frozen=True)
class ExactPair:
    """The distributions of a release on two neighbours, as log densities on the nodes of a quadrature with
    ``log_cells``.

    The densities need not be normalised. What comes out is exact up to the error of the quadrature.
    """

    log_density: Any
    log_density_neighbour: Any
    log_cells: Any

    @property
    def log_ratio(self) -> Any:
        """ln p(theta | D) / p(theta | D') at every node."""
        return self._normalised(self.log_density) - self._normalised(self.log_density_neighbour)

    @property
    def epsilon(self) -> float:
        """The largest |log ratio|: the pure epsilon of this pair."""
        import numpy as np

        return float(np.max(np.abs(self.log_ratio)))

    @property
    def range(self) -> float:
        """The length of the interval that holds the log ratio."""
        import numpy as np

        return float(np.ptp(self.log_ratio))

    def delta(self, epsilon: float) -> float:
        """The hockey-stick divergence at ``epsilon``, the larger of both directions."""
        import numpy as np

        ratio = self.log_ratio
        first = np.exp(self._normalised(self.log_density) + self.log_cells)
        second = np.exp(self._normalised(self.log_density_neighbour) + self.log_cells)
        return max(
            float(np.sum(np.where(ratio > epsilon, -first * np.expm1(epsilon - ratio), 0.0))),
            float(np.sum(np.where(-ratio > epsilon, -second * np.expm1(epsilon + ratio), 0.0))),
        )

    def releases(self, runs: int, rng: Any) -> tuple[Any, Any]:
        """The log ratios at ``runs`` releases about D, and at as many about D'."""
        import numpy as np

        picked: list[Any] = []
        for log_density in (self.log_density, self.log_density_neighbour):
            probabilities = np.exp(self._normalised(log_density) + self.log_cells).ravel()
            picked.append(
                self.log_ratio.ravel()[rng.choice(probabilities.size, runs, p=probabilities / probabilities.sum())]
            )
        return picked[0], picked[1]

    def _normalised(self, log_density: Any) -> Any:
        from scipy.special import logsumexp

        return log_density - logsumexp(log_density + self.log_cells)
