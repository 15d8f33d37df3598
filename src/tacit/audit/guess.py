"""The attacker who counts: guess which of two data sets made each output, and count the errors.

The score of an output is its log likelihood ratio, the strongest there is (Neyman and Pearson), or, where no
distribution is known, a linear score learnt from outputs. Half of the runs choose the threshold; the other half is
judged by it, so the choice costs no confidence.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.audit.empirical import Attack, epsilon_lower_bound

_THRESHOLDS = 60


def threshold_attack(first: Any, second: Any, *, delta: float, confidence: float) -> Attack:
    """Guess the second data set where the score is above a threshold; ``first`` and ``second`` hold the scores.

    The threshold is the one whose errors in the first half of the runs prove most.
    """
    scores = [np.asarray(one, np.float64) for one in (first, second)]
    halves = [(one[: len(one) // 2], one[len(one) // 2 :]) for one in scores]
    together = np.concatenate([half[0] for half in halves])
    places = np.unique(np.quantile(together, np.linspace(0, 1, _THRESHOLDS), method="lower"))

    def errors(threshold: float, which: int) -> Attack:
        x, y = halves[0][which], halves[1][which]
        return Attack(int((x > threshold).sum()), len(x), int((y <= threshold).sum()), len(y))

    def merit(threshold: float) -> tuple[float, float]:
        """What the errors prove; where none proves anything, how few they are."""
        seen = errors(threshold, 0)
        wrong = seen.false_positives / seen.negatives + seen.false_negatives / seen.positives
        return epsilon_lower_bound(seen, delta=delta, confidence=confidence), -wrong

    return errors(float(max(places, key=merit)), 1)


def learnt_scores(first: Any, second: Any) -> tuple[Any, Any]:
    """Scores of outputs (runs, numbers) whose distribution is unknown: Fisher's discriminant of numbers, squares and
    signs.

    Learnt from the first halves alone, which is where `threshold_attack` chooses its threshold.
    """
    tables = [np.asarray(one, np.float64) for one in (first, second)]
    learning = [table[: len(table) // 2] for table in tables]
    middle = np.median(np.concatenate(learning), axis=0)
    spread = np.quantile(np.abs(np.concatenate(learning) - middle), 0.75, axis=0)
    spread = np.where(spread > 0, spread, 1.0)

    def features(table: Any) -> Any:
        standard = np.clip((table - middle) / spread, -8, 8)
        return np.concatenate([standard, standard**2, np.sign(standard)], axis=1)

    x, y = (features(table) for table in learning)
    scatter = np.cov(x.T) + np.cov(y.T) if x.shape[1] > 1 else np.atleast_2d(x.var() + y.var())
    scatter = np.atleast_2d(scatter) + 1e-6 * np.eye(x.shape[1])
    direction = np.linalg.solve(scatter, y.mean(axis=0) - x.mean(axis=0))
    return features(tables[0]) @ direction, features(tables[1]) @ direction
