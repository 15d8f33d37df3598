"""What a regression with varying effects needs of the rows: sums of products by group, and a few over all rows.

A row has the design vector x = (1, slopes, rest) in mapped units and a response y in [-1, 1], all whole numbers of
lattice steps, and is in one group g. Released are

* for each group how many rows it has and the sum of y, as the two sums of (1 - y) / 2 and (1 + y) / 2;
* for each group the sums of every other column of x, and of the products of every slope with slopes, rest and y;
* over all rows the sums of products of rest and y with each other.

Everything that a dense Gram matrix with an indicator for each group holds follows, but for products of groups with each
other, which are 0. A row is in one group, so the noise does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from tacit.privacy.sensitivity import Sensitivity
from tacit.statistics import lattice
from tacit.statistics.design import DesignColumn, Indicator, Product, Scaled, product_of
from tacit.statistics.factors import Factors
from tacit.statistics.score_region import column_groups
from tacit.statistics.statistic import Statistic

_CHUNK = 2**15
_BLOCK, _POOLED = Fraction(3, 2), Fraction(2)  # relative scales: of products with a slope, of sums over all rows


@dataclass(frozen=True)
class GroupGram(Statistic):
    """Sums of products by the group of ``by`` and over all rows; ``slopes`` are places in ``design``, whose first
    column is the constant.
    """

    design: tuple[DesignColumn, ...]
    response: Scaled
    by: Factors
    slopes: tuple[int, ...] = ()
    steps: int = lattice.resolution(2)

    @property
    def vector(self) -> tuple[DesignColumn, ...]:
        """All columns whose products are summed."""
        return (*self.design, self.response)

    @property
    def columns(self) -> tuple[str, ...]:
        """The group, and every column that the design or the response reads."""
        named: dict[str, None] = dict.fromkeys(self.by.columns)
        for column in self.vector:
            named |= dict.fromkeys(name for name, _ in column.levels)
            named |= dict.fromkeys(column.numbers if isinstance(column, Scaled) else ())
        return tuple(named)

    @property
    def rest(self) -> tuple[int, ...]:
        """The places of the columns that are neither the constant nor a slope."""
        return tuple(j for j in range(1, len(self.design)) if j not in self.slopes)

    @cached_property
    def single(self) -> tuple[int, ...]:
        """The places whose sums are released by group, beside those of 1 and y."""
        return (*self.slopes, *self.rest)

    @cached_property
    def block(self) -> tuple[tuple[int, int], ...]:
        """The pairs of places whose products are summed by group."""
        last = len(self.design)
        found: list[tuple[int, int]] = []
        for i, s in enumerate(self.slopes):
            found += [(s, other) for other in (*self.slopes[i:], *self.rest, last)]
        return tuple(found)

    @cached_property
    def pooled(self) -> tuple[tuple[int, int], ...]:
        """The pairs of places whose products are summed over all rows: none that is 0, or a column of the design."""
        known = {product_of(self.design[0], column) for column in self.vector}
        places = (*self.rest, len(self.design))
        found: dict[Product, tuple[int, int]] = {}
        for i, j in enumerate(places):
            for k in places[i:]:
                made = product_of(self.vector[j], self.vector[k])
                if made is not None and made not in known:
                    found.setdefault(made, (j, k))
        return tuple(found.values())

    @property
    def width(self) -> int:
        """How many entries each group has."""
        return 2 + len(self.single) + len(self.block)

    @property
    def entries(self) -> tuple[str, ...]:
        """Group by group, then those over all rows."""
        names = [column.name for column in self.vector]
        parts = [f"{names[-1]} low", f"{names[-1]} high", *(names[j] for j in self.single)]
        parts += [f"{names[j]}*{names[k]}" for j, k in self.block]
        by_group = tuple(f"{part}, {group}" for group in self.by.named for part in parts)
        return (*by_group, *(f"{names[j]}*{names[k]}" for j, k in self.pooled))

    @property
    def row_entries(self) -> tuple[int, ...]:
        """The two parts of each group, which add up to its rows."""
        return tuple(self.width * g + part for g in range(self.by.size) for part in (0, 1))

    @property
    def unit(self) -> int:
        """Products of two lattice numbers."""
        return self.steps**2

    @property
    def batch_rows(self) -> int:
        """As many rows as keep every sum below 2^53."""
        return lattice.batch_rows(2)

    def batch_sum(self, columns: Mapping[str, Any]) -> list[int]:
        """Exact: float64 counts whole numbers below 2^53, which `batch_rows` sees to."""
        import numpy as np

        size = self.by.size
        blocks, pooled = np.zeros((self.width, size)), np.zeros(len(self.pooled))
        rows = len(next(iter(columns.values())))
        for start in range(0, rows, _CHUNK):
            chunk = {name: values[start : start + _CHUNK] for name, values in columns.items()}
            group = self.by.codes(chunk)
            v = [column.values(chunk, self.steps) for column in self.vector]
            half, y = self.steps / 2, v[-1]
            parts = [half * (self.steps - y), half * (self.steps + y)]
            parts += [self.steps * v[j] for j in self.single] + [v[j] * v[k] for j, k in self.block]
            for i, part in enumerate(parts):
                blocks[i] += np.bincount(group, weights=part, minlength=size)
            for i, (j, k) in enumerate(self.pooled):
                pooled[i] += v[j] @ v[k]
        return [*blocks.T.reshape(-1).astype(np.int64).tolist(), *pooled.astype(np.int64).tolist()]

    def sensitivity(self) -> Sensitivity:
        """A row that changes its group moves two blocks; one that stays moves its own block, and both the sums over
        all rows.

        Products with a slope have the relative scale 3/2, sums over all rows 2; so their weights are b = 2/3 and c =
        1/2. Let the rest of the design fall into k numbers, each free in [-1, 1], and compounds (`column_groups`:
        levels, splines, numbers within levels), whose entries have sizes that add up to at most 1; let there be s
        slopes, also free, and y. Of y the two parts are in one block, the sum of sizes is 1 and that of squares (1 +
        y^2) / 2. With m = k + 1 the sums over all rows of products of numbers, y among them, move by

            p(i, j) = 2 i j + m + max over t of ((j - i) t - t^2),    i + j = k.

        L1, for two groups: 2 + 2 (s + k + compounds) + 2 b (pairs with a slope) + c (max p + 2 for each pair with a
        compound + 2 for each compound with products of its own). For one group it is no more, by |u - u'| <= |u| +
        |u'|.

        L2, squared, is the larger of two. For two groups: 2 + 2 (s + k + compounds) + 2 b^2 (pairs with a slope) + c^2
        (4 floor(m^2 / 4) + compounds). For one group: over which numbers turn their sign, 4 for each that does (2 for
        y), 4 b^2 and 4 c^2 for each product of which exactly one factor does, and for compounds 4 (2 where nothing is
        negative) and as before. A pair over all rows with a compound counts 4 c^2, of two that are never negative 2
        c^2, and products within one compound 2 c^2.

        Proof: for replace-one neighbours, in units. Take compounds out first: all their terms are bounded by themselves
        (for vectors e, e' whose sizes add up to at most 1, |e - e'|_1 <= 2, and |e - e'|^2 <= 4, or 2 where nothing is
        negative; products of two such vectors are again such a vector). What is left is a function of the numbers of
        both records. Let v be one of them, not y, and v' the same number of the other record. L1: the function is |v| +
        c |v^2 - v'^2| + h(v) with h convex, as every other term is the size of an affine function of v or of v^2. g(v)
        = |v| + c |v^2 - v'^2| is at most g(1) = g(-1): it grows in |v| beyond |v'|, and before, g(1) - g(v) is at least
        (1 - |v|) - c (2 v'^2 - v^2 - 1) >= (1 - |v|)(1 - c (1 + |v|)) >= 0 for c <= 1/2. So the function is at most its
        mean at -1 and 1 with the weights of v, and v may be moved to an end. Of y let |y| >= |y'|: in y the function is
        then convex on both rays, so y may be moved to an end, or to |y| = |y'|, where the squares cancel and it is
        less. There products of numbers that turn their sign with products of those that do not move by 2, and those of
        y with them by 1 + y' or 1 - y', and y^2 by 1 - y'^2, which is p. L2: in v the sum of squares is w (v - v')^2 or
        w v^2, w >= 1/2, plus e (v^2 - v'^2)^2 or e v^4 with 0 <= e <= w / 2 (for y: w = 1/2, e = c^2 = 1/4; for a slope
        w = 1, e = b^2 = 4/9), plus squares of affine functions; its second derivative is at least 2 w + e (12 v^2 - 4
        v'^2) >= 2 w - 4 e >= 0, so it is convex and largest at the ends, where the terms are those above. []
        """
        return Sensitivity(self._l1 * self.unit, self._l2_squared * self.unit**2, self._scales)

    def addition(self) -> Sensitivity:
        """One row's vector.

        Proof: under add-remove the sums differ by the vector of one row. The parts of y add up to 1 unit, with squares
        that add up to at most 1; every number, compound and product of two is at most 1 unit in size, a compound in the
        sum of its sizes and so in the sum of its squares. []
        """
        b, c = 1 / _BLOCK, 1 / _POOLED
        numbers, kinds = self._numbers, self._compounds
        m, single = numbers + 1, 1 + len(self.slopes) + numbers + len(kinds)
        over_all = m * (m + 1) // 2 + m * len(kinds) + len(kinds) * (len(kinds) - 1) // 2
        over_all += sum(within for _, within in kinds)
        l1 = single + b * self._with_slopes + c * over_all
        l2_squared = single + b * b * self._with_slopes + c * c * over_all
        return Sensitivity(l1 * self.unit, l2_squared * self.unit**2, self._scales)

    @property
    def attained(self) -> tuple[float, float]:
        """Exact for plain numbers without slopes; compounds, and in L1 slopes, are bounded by themselves."""
        if self._compounds or any(isinstance(c, Scaled) and not c.number.plain for c in self.design):
            return 0.4, 0.4
        return (0.85, 0.999) if self.slopes else (0.999, 0.999)

    @property
    def addition_attained(self) -> tuple[float, float]:
        """Exact for plain numbers."""
        return (0.999, 0.999) if self.attained[1] > 0.5 else (0.3, 0.3)

    def of_unknown_n(self) -> GroupGram:
        """Itself: some of its entries add up to the number of rows."""
        return self

    @property
    def _scales(self) -> tuple[Fraction, ...]:
        group = (Fraction(1),) * (2 + len(self.single)) + (_BLOCK,) * len(self.block)
        return group * self.by.size + (_POOLED,) * len(self.pooled)

    @cached_property
    def _groups(self) -> tuple[int, list[tuple[bool, bool]]]:
        """How many numbers the rest has; of each compound whether it can be negative and has products of its own."""
        numbers, compounds = 0, list[tuple[bool, bool]]()
        columns = [self.design[j] for j in self.rest]
        for places in column_groups(columns):
            first = columns[places[0]]
            if isinstance(first, Scaled) and not first.levels and first.number.partition is None:
                numbers += len(places)
            else:
                negative = isinstance(first, Scaled) and first.number.bounds(self.steps)[0] < 0
                compounds.append((negative, not isinstance(first, Indicator)))
        return numbers, compounds

    @property
    def _numbers(self) -> int:
        return self._groups[0]

    @property
    def _compounds(self) -> list[tuple[bool, bool]]:
        return self._groups[1]

    @property
    def _with_slopes(self) -> int:
        """The most products with a slope that a row can have at their largest."""
        s = len(self.slopes)
        return s * (s + 1) // 2 + s * (self._numbers + len(self._compounds) + 1)

    @property
    def _l1(self) -> Fraction:
        k, kinds, c = self._numbers, self._compounds, 1 / _POOLED
        m, most = k + 1, Fraction(0)
        for i in range(k + 1):
            apart = abs(k - 2 * i)
            peak = Fraction(apart**2, 4) if apart <= 2 else Fraction(apart - 1)
            most = max(most, 2 * i * (k - i) + m + peak)
        most += 2 * (m * len(kinds) + len(kinds) * (len(kinds) - 1) // 2) + 2 * sum(within for _, within in kinds)
        return 2 + 2 * (len(self.slopes) + k + len(kinds)) + 2 / _BLOCK * self._with_slopes + c * most

    @property
    def _l2_squared(self) -> Fraction:
        s, k, kinds = len(self.slopes), self._numbers, self._compounds
        b, c = _BLOCK**-2, _POOLED**-2
        over_all = 4 * (k + 1) * len(kinds) + 2 * sum(within for _, within in kinds)
        for i, (negative, _) in enumerate(kinds):
            over_all += sum(4 if negative or other else 2 for other, _ in kinds[:i])
        apart = 2 + 2 * (s + k + len(kinds)) + 2 * b * self._with_slopes + c * (4 * ((k + 1) ** 2 // 4) + over_all)
        fixed = sum(4 if negative else 2 for negative, _ in kinds) + 4 * b * s * len(kinds) + c * over_all
        together = Fraction(0)
        for turned in range(s + 1):
            for numbers in range(k + 1):
                for y in (0, 1):
                    one = turned * (s - turned) + turned * (k - numbers) + (s - turned) * numbers
                    one += (s - turned) if y else turned
                    other = numbers * (k - numbers) + ((k - numbers) if y else numbers)
                    together = max(together, 4 * turned + 4 * numbers + 2 * y + 4 * b * one + 4 * c * other)
        return max(apart, together + fixed)
