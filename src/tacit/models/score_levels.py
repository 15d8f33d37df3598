"""Levels of a covariate in which scores of a Poisson regression cannot tell whether there is any count above 0.

With none in a level its coefficient may be anything below some bound, and the rows' likelihood is flat there. The
anchored normal stand-in is not: it knows an indicator by its mean and its variance alone, and bends where rows do not.
With the log link a row adds (y - mu) x to the score and mu x x' to the information. So the score S_l of a level's
indicator and J_0l of its product with the constant say at every point that has a matrix

    sum of y in the level = S_l + J_0l,

and the reference level has the rest of S_0 + J_00. (Rows whose mean is above the largest count weigh a little less.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.models.regression import DesignMatrix
from tacit.models.score_round import Round
from tacit.statistics.design import Indicator

HIDDEN, KNOWN = 1.5, 1 / 3
"""Sds of noise within which a sum may be 0; the share of the prior's sd below which draws claim to know a number."""


@dataclass(frozen=True)
class LevelTotal:
    """``name`` of a level; the places of the ``coefficients`` that hang on it; the ``sum`` of its counts, and the
    ``sd`` of the noise on it.
    """

    name: str
    coefficients: tuple[int, ...]
    sum: float
    sd: float

    @property
    def doubtful(self) -> bool:
        """Whether it may be 0."""
        return self.sum < HIDDEN * self.sd


def level_totals(
    design: DesignMatrix, sites: Sequence[tuple[Sequence[Round], Sequence[Any], float]]
) -> list[LevelTotal]:
    """What rounds with a matrix say of every level, weighted by their noise, all sites together."""
    if not design.formula.intercept:
        return []
    p = len(design.columns)
    sums, variance = np.zeros(p), 0.0
    for rounds, values, _ in sites:
        own, weight = np.zeros(p), 0.0
        for one, value in zip(rounds, values, strict=True):
            if one.matrix:
                laplace = 2.0 if one.laplace else 1.0
                known = 1 / (one.score_scale**2 * laplace + one.matrix_scale**2 * (2.0 if one.laplace else 0.5))
                own, weight = own + known * (np.asarray(value[:p], float) + value[p : 2 * p]), weight + known
        if not weight:
            return []
        sums, variance = sums + own / weight, variance + 1 / weight
    factors: dict[str, list[int]] = {}
    for place, column in enumerate(design.columns):
        if isinstance(column, Indicator) and len(column.levels) == 1:
            factors.setdefault(column.levels[0][0], []).append(place)
    found: list[LevelTotal] = []
    for factor, places in factors.items():
        found += [LevelTotal(design.names[i], (i,), float(sums[i]), float(np.sqrt(variance))) for i in places]
        rest, sd = float(sums[0] - sums[places].sum()), float(np.sqrt((len(places) + 1) * variance))
        found.append(LevelTotal(f"{factor}, its first", tuple(places), rest, sd))
    return found


def empty_level(totals: Sequence[LevelTotal], sd: Any, prior_sd: Any) -> str | None:
    """Why the coefficients of a level cannot be trusted: their draws have a small ``sd`` (p,) beside that of the prior,
    but the release does not tell whether the level has any count above 0.
    """
    for one in totals:
        places = list(one.coefficients)
        if one.doubtful and bool(np.all(np.asarray(sd)[places] < KNOWN * np.asarray(prior_sd)[places])):
            return (
                f"Expected the noise to leave no doubt that the level {one.name} has counts above 0: its coefficient "
                "may be much larger than these draws say. Join it with another level, or give its coefficient a "
                "narrower prior; anyway=True or --anyway shows these draws."
            )
    return None
