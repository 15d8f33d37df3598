"""Sums of rows' scores, cut to a public length: what one round releases of a likelihood that is any function.

The score of a row is the gradient of its log-likelihood at a public point. A function that somebody wrote has no bound
that could be proved, so a row's score is rounded to whole numbers and cut to the length ``clip``: the bound then holds
whatever the function returns, and numbers that are not finite count as a zero vector. How many rows were cut is one
more released number.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from tacit.errors import expected
from tacit.privacy.sensitivity import Sensitivity
from tacit.statistics.noise_allocation import HALF_ROOT
from tacit.statistics.score_region import POINT_UNIT
from tacit.statistics.score_sensitivity import rounded_ratio
from tacit.statistics.statistic import Statistic

SCORE_STEPS = 2**10
"""Lattice steps of a score that make a 1."""
MOST_CLIP = 2**10
UNITS, MOST_UNIT = 2**4, 2**10
"""What a 1 is in the units that a round measures scores in, and the largest of them."""
_COUNT_SHARE = Fraction(1, 50)  # of what one row can do, the square of its distance, that the count may add


class RowScores(ABC):
    """What gives the scores of rows: each a function of its own row and of the public point, bit for bit."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns of the data that it reads."""

    @property
    @abstractmethod
    def coordinates(self) -> tuple[str, ...]:
        """The name of each entry of a point, and of a score."""

    @property
    @abstractmethod
    def covariates(self) -> int:
        """How many of the first coordinates multiply a covariate that is mapped to [-1, 1], or the constant."""

    @abstractmethod
    def check_here(self) -> None:
        """Refuse a likelihood that cannot be evaluated in this process; it sees no row."""

    def units(self, point: tuple[float, ...]) -> tuple[int, ...] | None:
        """What each entry of a score at ``point`` is divided by, in 1 / `UNITS`: public numbers. None: by 1."""
        return None

    @abstractmethod
    def scores(self, columns: Mapping[str, Any], point: tuple[float, ...]) -> Any:
        """The gradient of each row's log-likelihood at ``point``, float64 (rows, coordinates); anything may be in it.

        It must not raise on account of a value.
        """


@dataclass(frozen=True)
class ClippedScores(Statistic):
    """Sums over rows of s and, with ``matrix``, of s s' (its upper triangle), and of how many rows were cut.

    s is the score of a row at ``point`` (in steps of 1 / `POINT_UNIT`), each entry over its unit there, rounded to
    1 / `SCORE_STEPS` and cut to the length ``clip``. s s' is the Gauss-Newton information of a row, the outer product
    of its score: never indefinite, whatever the likelihood, and where the model holds its expectation at the truth is
    the expected information.
    ``laplace``, ``share``, ``ratio`` and ``empty`` are as in `ScoreSums`.
    """

    likelihood: RowScores
    clip: Fraction
    point: tuple[int, ...]
    matrix: bool
    laplace: bool = False
    share: Fraction = Fraction(1, 2)
    ratio: Fraction | None = None
    empty: bool = False

    def __post_init__(self) -> None:
        if not Fraction(1, 16) <= self.clip <= MOST_CLIP:
            raise expected("clip", float(self.clip), f"to be a number from 1/16 to {MOST_CLIP}")
        if len(self.point) != len(self.likelihood.coordinates):
            raise expected("point", list(self.point), f"to have {len(self.likelihood.coordinates)} coordinates")

    def at(self, point: tuple[int, ...], *, matrix: bool) -> ClippedScores:
        """The same sums at another point."""
        return replace(self, point=point, matrix=matrix)

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the likelihood."""
        return self.likelihood.columns

    @property
    def coordinates(self) -> tuple[str, ...]:
        """The name of each entry of a point."""
        return self.likelihood.coordinates

    @property
    def covariates(self) -> int:
        """How many coordinates multiply a covariate that is mapped to [-1, 1]."""
        return self.likelihood.covariates

    @property
    def entries(self) -> tuple[str, ...]:
        """``score`` of each coordinate, ``information`` of each pair, and the rows that were cut."""
        names = self.coordinates
        found = [f"score[{name}]" for name in names]
        if self.matrix:
            found += [f"information[{a}, {b}]" for j, a in enumerate(names) for b in names[j:]]
        return (*found, "clipped rows")

    @property
    def real_point(self) -> tuple[float, ...]:
        """The point as numbers."""
        return tuple(t / POINT_UNIT for t in self.point)

    @property
    def units(self) -> tuple[int, ...] | None:
        """What entries of scores are divided by here."""
        return self.likelihood.units(self.real_point)

    @property
    def unit(self) -> int:
        """The whole number that stands for a score, an information or a row of 1."""
        return SCORE_STEPS**2

    @property
    def longest(self) -> int:
        """The most that a row's score is long, in steps, rounded up."""
        return math.ceil(self.clip * SCORE_STEPS)

    @property
    def largest(self) -> int:
        """A bound on what one row adds to any entry."""
        return max(self.longest**2, self.longest * SCORE_STEPS, self.unit)

    @property
    def batch_rows(self) -> int:
        """As many rows as keep every sum inside int64."""
        return max(1, 2**62 // self.largest)

    def vectors(self, columns: Mapping[str, Any]) -> tuple[Any, Any]:
        """s of each row in whole numbers, int64 (rows, coordinates), and whether it was cut.

        Every operation is correctly rounded, elementwise and of one row: a product, a rounding, a comparison, sums of
        whole numbers, a root and a quotient. So the integers of a row depend on its score alone.
        """
        import numpy as np

        real, units = self.likelihood.scores(columns, self.real_point), self.units
        with np.errstate(all="ignore"):
            if units is not None:
                real = real * (UNITS / np.array(units, np.float64))
            finite = np.isfinite(real).all(axis=1)
            far = _farthest(real.shape[1])
            steps = np.rint(np.clip(np.where(finite[:, None], real, 0.0), -far, far) * SCORE_STEPS)
        whole = steps.astype(np.int64)
        squares = (whole * whole).sum(axis=1)
        long = squares > self.longest**2
        if long.any():
            shrink = self.longest / np.sqrt(squares[long].astype(np.float64)) * (1 - 2.0**-40)
            whole[long] = np.trunc(whole[long] * shrink[:, None]).astype(np.int64)
        return whole, long | ~finite

    def each_row(self, columns: Mapping[str, Any]) -> Any:
        """What each row alone adds, an int64 array (rows, entries)."""
        import numpy as np

        whole, cut = self.vectors(columns)
        first, second = np.triu_indices(len(self.coordinates))
        parts = [whole * SCORE_STEPS]
        if self.matrix:
            parts.append(whole[:, first] * whole[:, second])
        return np.concatenate([*parts, (cut * self.unit)[:, None].astype(np.int64)], axis=1)

    def batch_sum(self, columns: Mapping[str, Any]) -> list[int]:
        """Exact sums in int64."""
        import numpy as np

        whole, cut = self.vectors(columns)
        total = (whole.sum(axis=0) * SCORE_STEPS).tolist()
        if self.matrix:
            total += (whole.T @ whole)[np.triu_indices(len(self.coordinates))].tolist()
        return [*total, int(cut.sum()) * self.unit]

    @property
    def attained(self) -> tuple[float, float]:
        """A bound: whether any two rows have opposite scores of full length is up to the function."""
        return 0.0, 0.0

    def sensitivity(self) -> Sensitivity:
        """How far replacing one row moves the sums, the same at every point.

        Proof: for replace-one neighbours, in L2, of whole numbers. A row adds (U s, s s', U^2 k): s whole numbers with
        |s|^2 <= C^2 by `vectors` whatever the function returned and whatever it is divided by (no sum of squares leaves
        int64, by `_farthest`; the cut multiplies by a factor that is too small by 2^-40, more than its few roundings,
        and then rounds towards 0), k 0 or 1, U = `SCORE_STEPS`. With relative
        scales 1 for scores, r on the diagonal, r `HALF_ROOT` (at least r / sqrt 2) off it and v for the count, the
        squared distance of two rows is at most, with c = <s, s'> and the norm of Frobenius,

            U^2 |s - s'|^2 + |s s' - s' s''|^2 / r^2 + U^4 / v^2
              = U^2 (|s|^2 + |s'|^2 - 2 c) + (|s|^4 + |s'|^4 - 2 c^2) / r^2 + U^4 / v^2.

        At fixed c it grows with |s| and |s'|; with both at C what c can be, -C^2 to C^2, only grows. Then it is concave
        in c, with its maximum at c = -U^2 r^2 / 2, or at -C^2 if that is larger: exact rational numbers. A row that is
        missing adds 0, which is |s'| = c = 0. In L1, by Cauchy and Schwarz, at most sqrt(entries) times the root. []
        """
        return _sensitivity(
            self.clip, len(self.coordinates), self.matrix, self.laplace, self.share, self.ratio if self.matrix else None
        )

    @property
    def addition_attained(self) -> tuple[float, float]:
        """A bound: whether any row has a score of full length is up to the function."""
        return 0.0, 0.0

    def addition(self) -> Sensitivity:
        """How far one row more, or less, moves the sums, the same at every point.

        Proof: in the terms of `sensitivity`, the row adds (U s, s s', U^2 k) with |s| <= C, whatever its cells hold, of
        squared length at most U^2 C^2 + C^4 / r^2 + U^4 / v^2: entries off the diagonal stand for two of the norm of
        Frobenius, and their scales are at least r / sqrt 2. In L1, by Cauchy and Schwarz, at most sqrt(entries) times
        the root. []
        """
        scales, p = self.sensitivity().relative_scales, len(self.coordinates)
        squared = Fraction(SCORE_STEPS**2 * self.longest**2) + Fraction(SCORE_STEPS**4) / scales[-1] ** 2
        if self.matrix:
            squared += Fraction(self.longest**4) / scales[p] ** 2
        return Sensitivity(Fraction(math.isqrt(math.ceil(len(scales) * squared)) + 1), squared, scales)


_HUGE = 2.0**17  # of a score before it is cut: up to 511 squares of its steps stay inside int64


def _farthest(coordinates: int) -> float:
    """What an entry of a score is clamped to before it is cut: so little that the squares of all add up in int64."""
    found = _HUGE
    while coordinates * (found * SCORE_STEPS) ** 2 >= 2.0**63:
        found /= 2
    return found


@lru_cache(maxsize=256)
def _sensitivity(
    clip: Fraction, p: int, matrix: bool, laplace: bool, share: Fraction, ratio: Fraction | None
) -> Sensitivity:
    unit, longest = SCORE_STEPS, math.ceil(clip * SCORE_STEPS)
    scores = Fraction(4 * longest**2 * unit**2)
    if ratio is None:  # the matrix alone would use up ``share``
        ratio = rounded_ratio(math.sqrt((1 - share) / share * 2 * longest**4 / scores))
    scales = [Fraction(1)] * p
    squared = scores
    if matrix:
        off = ratio if laplace else ratio * HALF_ROOT
        scales += [ratio if j == k else off for j in range(p) for k in range(j, p)]
        c = max(-(unit**2) * ratio**2 / 2, Fraction(-(longest**2)))
        squared = unit**2 * (2 * longest**2 - 2 * c) + (2 * longest**4 - 2 * c * c) / ratio**2
    count = rounded_ratio(math.sqrt(unit**4 / (_COUNT_SHARE * squared)))
    squared += Fraction(unit**4) / count**2
    scales.append(count)
    l1 = Fraction(math.isqrt(math.ceil(len(scales) * squared)) + 1)
    return Sensitivity(l1, squared, tuple(scales))
