"""Sums of rows' scores and information at a public point: what one round of a noisy Newton's method releases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

from tacit.errors import expected
from tacit.privacy.sensitivity import Sensitivity
from tacit.statistics import lattice
from tacit.statistics.design import DesignColumn, Indicator, Scaled
from tacit.statistics.region import checked_radius, plain_numbers
from tacit.statistics.score_region import POINT_UNIT, ScoreRegion, score_region, shifted
from tacit.statistics.score_sensitivity import ScorePairs, score_sensitivity
from tacit.statistics.score_tables import LINKS, STEPS, ScoreTable, score_table
from tacit.statistics.statistic import Statistic

LARGEST = 2**8
"""The largest coefficient of a point, in size and in mapped units."""
_CHUNK = 2**13  # rows whose products are held at once


@dataclass(frozen=True)
class ScoreSums(Statistic):
    """Sums over rows of u x and, with ``matrix``, of w x x' (its upper triangle, row by row) at ``point``.

    x is the row's design vector in mapped units, eta = <x, point>, u the score of its log-likelihood with respect to
    eta and w the expected information (`score_tables`). ``point`` is in whole steps of 1 / `POINT_UNIT`. The response
    is the code of one of two levels (``link`` "logistic", ``most`` 1) or a count that is rounded and clamped to 0 to
    ``most``. With a ``radius`` the numbers, mapped to [-1, 1], are moved into the Euclidean ball of that radius.

    q = the covariates times `STEPS`, the response, eta = sum q_j t_j, rho, omega and their products are whole numbers,
    each a function of one row. ``laplace`` and ``share`` say for which noise, and how divided between score and
    information, `sensitivity` is to be; ``ratio`` fixes the relative scale of the diagonal instead. ``empty`` says that
    some rows may be missing: of a person who has few. ``observed`` says that w is the observed information.
    """

    design: tuple[DesignColumn, ...]
    response: str
    link: str
    most: int
    point: tuple[int, ...]
    matrix: bool
    radius: Fraction | None = None
    laplace: bool = False
    share: Fraction = Fraction(1, 2)
    ratio: Fraction | None = None
    empty: bool = False
    observed: bool = False

    def __post_init__(self) -> None:
        if self.link not in LINKS:
            raise expected("link", self.link, f"to be one of {', '.join(LINKS)}")
        if len(self.point) != len(self.design) or any(abs(t) > LARGEST * POINT_UNIT for t in self.point):
            raise expected("point", list(self.point), f"to have {len(self.design)} coefficients of at most {LARGEST}")
        if self.radius is not None:
            numbers = plain_numbers(self.design)
            if numbers is None:
                names = [column.name for column in self.design]
                raise expected("design", names, "to be different plain numbers and at most a constant, for a radius")
            object.__setattr__(self, "radius", checked_radius(self.radius, numbers, STEPS))

    def at(self, point: tuple[int, ...], *, matrix: bool) -> ScoreSums:
        """The same sums at another point."""
        return replace(self, point=point, matrix=matrix)

    @property
    def table(self) -> ScoreTable:
        """Scores and information as functions of eta."""
        return score_table(self.link, self.most, self.observed)

    @cached_property
    def region(self) -> ScoreRegion:
        """What the design lets a row's vector be."""
        return score_region(self.design, self.radius)

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column of the data that some design column reads, and the response."""
        named: dict[str, None] = {}
        for column in self.design:
            named |= dict.fromkeys(name for name, _ in column.levels)
            named |= dict.fromkeys(column.numbers if isinstance(column, Scaled) else ())
        return tuple(named | {self.response: None})

    @property
    def coordinates(self) -> tuple[str, ...]:
        """The name of each entry of a point: those of the design."""
        return tuple(column.name for column in self.design)

    @property
    def entries(self) -> tuple[str, ...]:
        """``score`` of each coefficient, then ``information`` of each pair."""
        names = [column.name for column in self.design]
        scores = [f"score[{name}]" for name in names]
        if self.matrix:
            scores += [f"information[{a}, {b}]" for j, a in enumerate(names) for b in names[j:]]
        return tuple(scores)

    @property
    def unit(self) -> int:
        """The whole number that stands for a score, or an information, of 1."""
        return self.table.score_unit * STEPS

    @property
    def largest(self) -> int:
        """A bound on what one row adds to any entry, in lattice units."""
        score, weight = self.table.largest
        return max(score * STEPS, weight * STEPS**2)

    @property
    def batch_rows(self) -> int:
        """As many rows as keep every sum inside int64."""
        return max(1, (2**62) // self.largest)

    def rows(self, columns: Mapping[str, Any]) -> tuple[Any, Any, Any]:
        """q (rows, p), rho and omega of each row, int64: every number a function of its own row, in whole numbers."""
        import numpy as np

        count = len(next(iter(columns.values())))
        q = np.empty((len(self.design), count)).T
        for j, column in enumerate(self.design):
            column.write(columns, STEPS, q[:, j])
        if self.radius is not None:
            places = [j for j, column in enumerate(self.design) if not isinstance(column, Indicator)]
            q[:, places] = lattice.into_ball(q[:, places], self.radius, STEPS)
        q = q.astype(np.int64)
        eta = np.zeros(count, np.int64)  # at most 300 * 2^12 * 2^28 in size
        for j, t in enumerate(self.point):
            eta += q[:, j] * t
        if self.link == "logistic":
            response = (np.asarray(columns[self.response]) == 1).astype(np.int64)
        else:
            counts = np.clip(np.rint(np.asarray(columns[self.response], np.float64)), 0, self.most)
            response = counts.astype(np.int64)
        rho, omega = self.table.of_rows(shifted(eta), response)  # type: ignore[arg-type]
        return q, rho, omega

    def each_row(self, columns: Mapping[str, Any]) -> Any:
        """What each row alone adds, an int64 array (rows, entries)."""
        import numpy as np

        q, rho, omega = self.rows(columns)
        scores = rho[:, None] * q
        if not self.matrix:
            return scores
        first, second = np.triu_indices(len(self.design))
        return np.concatenate([scores, omega[:, None] * q[:, first] * q[:, second]], axis=1)

    def batch_sum(self, columns: Mapping[str, Any]) -> list[int]:
        """Exact sums in int64, chunk by chunk."""
        import numpy as np

        rows, p = len(next(iter(columns.values()))), len(self.design)
        upper = np.triu_indices(p)
        total = np.zeros(len(self.entries), np.int64)
        for start in range(0, rows, _CHUNK):
            q, rho, omega = self.rows({name: values[start : start + _CHUNK] for name, values in columns.items()})
            total[:p] += (rho[:, None] * q).sum(axis=0)
            if self.matrix:
                total[p:] += ((omega[:, None] * q).T @ q)[upper]
        return total.tolist()

    @property
    def attained(self) -> tuple[float, float]:
        """Bounds: norms, products and etas of vectors are taken as if they could be chosen apart from each other."""
        return 0.3, 0.3

    def sensitivity(self) -> Sensitivity:
        """See `score_sensitivity`, which holds the proof.

        Proof: a row adds rho q and omega q q', with q in the region, eta = <q, point> rounded down, and (rho, omega)
        what the table has at eta for some response: the pairs that `ScorePairs` is about. []
        """
        return _sensitivity(self)

    @property
    def addition_attained(self) -> tuple[float, float]:
        """Bounds: norms and etas of vectors are taken as if they could be chosen apart from each other."""
        return 0.15, 0.15

    def addition(self) -> Sensitivity:
        """See `ScorePairs.alone`, which holds the proof.

        Proof: a row adds rho q and omega q q', as in `sensitivity`. []
        """
        return _addition(self)


@lru_cache(maxsize=256)
def _addition(sums: ScoreSums) -> Sensitivity:
    pairs = ScorePairs(sums.table, sums.region, sums.point, sums.empty)
    return pairs.alone(sums.sensitivity().relative_scales, matrix=sums.matrix)


@lru_cache(maxsize=256)
def _sensitivity(sums: ScoreSums) -> Sensitivity:
    pairs = ScorePairs(sums.table, sums.region, sums.point, sums.empty)
    return score_sensitivity(pairs, matrix=sums.matrix, laplace=sums.laplace, share=sums.share, ratio=sums.ratio)
