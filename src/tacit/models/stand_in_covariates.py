"""Covariates of the made-up rows that stand in for real ones: numbers are normal, levels are levels.

A row has a level of each factor, and a weight: its levels' shares over how often they are among these rows. So a level
that few rows have is there, with the weight of few rows, and an indicator is 0 or 1. Given the levels, numbers are
normal about a mean that depends on them, and those beyond the ends that a column can have are moved there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tacit.numerics.even_points import even_points
from tacit.schema import Schema
from tacit.statistics.design import DesignColumn, Indicator, Scaled

_RAREST = 0.004  # the least share of a level: the information of one without rows could not be bent to any other
_RIDGE = 0.01  # of an indicator's variance: the mean of numbers in a rare level is little known


@dataclass(frozen=True, eq=False)
class StandInCovariates:
    """``normal`` (m, numbers) are standard normal, ``holds`` (m, columns) says where the levels of a column hold.

    ``numbers`` are the places of columns that are not 0 or 1, which lie between ``low`` and ``high``. ``factors`` has,
    for each factor with indicators of its own, their places and what each row has: 0 for the other level, 1 for the
    first of them, and so on.
    """

    normal: Any
    holds: Any
    numbers: Any
    low: Any
    high: Any
    factors: tuple[tuple[Any, Any], ...]

    @property
    def indicators(self) -> Any:
        """The places of indicators of a single level."""
        import numpy as np

        return np.array([place for places, _ in self.factors for place in places], int)

    @property
    def usual_mean(self) -> Any:
        """Levels alike, numbers at the middle of their bounds."""
        import numpy as np

        found = self.holds.mean(axis=0)
        found[self.numbers] = np.zeros(len(self.numbers))
        return found

    def placed(self, mean: Any, root: Any, np: Any) -> tuple[Any, Any]:
        """The design (m, columns) and the weight of each row, 1 on average, by the mean and covariance root root'."""
        own, weights, shares = self.indicators, np.ones(len(self.holds)), []
        for places, which in self.factors:
            share = np.maximum(mean[places], _RAREST)
            share = share * np.minimum(1.0, (1 - _RAREST) / np.sum(share))
            often = _bincount(which, len(places) + 1)
            weights = weights * (np.concatenate([1 - np.sum(share)[None], share]) / often)[which]
            shares.append(share)
        weights = weights / np.mean(weights)
        covariance, around = root @ root.T, mean[self.numbers]
        inner = covariance[self.numbers][:, self.numbers]
        if len(own):
            cross = covariance[self.numbers][:, own]
            slopes = cross @ np.linalg.inv(covariance[own][:, own] + _RIDGE * np.eye(len(own)))
            inner = inner - slopes @ cross.T
            around = around + (self.holds[:, own] - np.concatenate(shares)) @ slopes.T
        if len(self.numbers):
            spread = np.linalg.cholesky((inner + inner.T) / 2 + 1e-6 * np.eye(len(self.numbers)))
            values = np.clip(around + self.normal @ spread.T, self.low, self.high)
        else:
            values = self.normal
        columns = [self.holds[:, j] for j in range(self.holds.shape[1])]
        for k, j in enumerate(self.numbers):
            columns[j] = values[:, k] * self.holds[:, j]
        return np.stack(columns, axis=1), weights

    def groups(self, mean: Any) -> Any:
        """The mean with each indicator 0 and 1 in turn."""
        import numpy as np

        own = self.indicators
        found = np.tile(mean, (2 * len(own) + 1, 1))
        for i, place in enumerate(own):
            found[2 * i, place], found[2 * i + 1, place] = 0.0, 1.0
        return found


def stand_in_covariates(design: Sequence[DesignColumn], schema: Schema, count: int) -> StandInCovariates:
    """``count`` rows of the columns, the first of which is the constant, spread evenly; one if it is alone."""
    import numpy as np
    from scipy.special import ndtri

    names = sorted({name for column in design for name, _ in column.levels})
    numbers = np.array([j for j, column in enumerate(design) if isinstance(column, Scaled)], int)
    if len(design) == 1:
        count = 1
    points = even_points(len(numbers) + len(names), count) if count > 1 else np.full((1, 0), 0.5)
    levels = {
        name: (points[:, len(numbers) + k] * len(schema.category(name).levels)).astype(int)
        for k, name in enumerate(names)
    }
    normal = _standard(ndtri(points[:, : len(numbers)]), np.array([*levels.values()]).reshape(-1, count).T)
    holds = np.ones((count, len(design)))
    for j, column in enumerate(design):
        for name, code in column.levels:
            holds[:, j] *= levels[name] == code
    factors = []
    for name in names:
        places = [
            j for j, one in enumerate(design) if isinstance(one, Indicator) and [f for f, _ in one.levels] == [name]
        ]
        if places:
            own = holds[:, places]
            factors.append((np.array(places), np.where(own.any(axis=1), 1 + own.argmax(axis=1), 0)))
    low, high = (
        np.array([getattr(column.number, end) for column in design if isinstance(column, Scaled)])
        for end in ("low", "high")
    )
    return StandInCovariates(normal, holds, numbers, low, high, tuple(factors))


def _bincount(which: Any, kinds: int) -> Any:
    import numpy as np

    return np.maximum(np.bincount(which, minlength=kinds) / len(which), 1e-9)


def _standard(normal: Any, levels: Any) -> Any:
    """With mean 0 and covariance 1, among the rows of each combination of levels where they are many enough."""
    import numpy as np

    size, found = normal.shape[1], np.array(normal)
    _, which = np.unique(levels, axis=0, return_inverse=True)
    which = which.reshape(-1) if levels.shape[1] else np.zeros(len(normal), int)
    if np.bincount(which).min() <= 2 * size + 2:
        which = np.zeros(len(normal), int)
    for one in range(which.max() + 1) if size and len(normal) > 1 else ():
        rows = which == one
        some = found[rows] - found[rows].mean(axis=0)
        found[rows] = some @ np.linalg.inv(np.linalg.cholesky(np.cov(some.T, ddof=0).reshape(size, -1))).T
    return found
