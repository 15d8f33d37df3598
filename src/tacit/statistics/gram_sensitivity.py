"""How far one record can move the Gram statistic: over the levels and the box of the numbers together.

Notation. An entry is a product of at most two numbers where some levels hold (`Product`). Numbers u_1..u_m lie in boxes
[lo_j, hi_j], oriented so that hi_j >= |lo_j|. The plain numbers are those whose square is an entry without levels; all
products of two of them are entries. For a pair of records and a tuple of numbers, count the entries that multiply those
numbers: c11 whose levels hold in both records, c (c') whose levels hold in one record alone, the one with more (fewer)
of them. Let s be the number of entries that are levels alone and differ.

L1, for given levels, when levels multiply no product of two numbers and all numbers are plain:

    max over u in the box of  T(hi) - T(u) + sum_j (c11_j (hi_j - u_j) + c_j hi_j + c'_j |u_j|) + s

Proof: the entries are products of numbers, |v_j v_k - w_j w_k|; numbers within levels, |a v_j - b w_j| with a, b in {0,
1}; and levels alone, which contribute s. Put p_j = |v_j - w_j|, u_j = hi_j - p_j. By the corner theorem (`box_extrema`)
the first are at most hi_j hi_k - u_j u_k. Of the second, the c11 that hold in both records give p_j = hi_j - u_j. The
others give c_j |v_j| + c'_j |w_j|, or the same with v and w exchanged. For a fixed p_j this is convex in the position
of the pair, so it is largest with the pair at an end of the box. The two sizes are hi_j and |u_j| at one end, |lo_j|
and |lo_j + p_j| at the other. The latter add up to no more than the former, and none is above hi_j, so in both cases
the largest is c_j hi_j + c'_j |u_j|. All bounds are attained together by v = hi, w = u if the same record has more
levels for every number, as it does when each level column multiplies every number. []

T is convex and |u_j| is not concave, so the maximum is taken as follows. If every box is [-h, h] and the counts are the
same for all numbers: by symmetry and convexity within a sign pattern, k of the numbers equal -x and the others y, with
x, y in [0, h]; for each k a convex quadratic in (x, y) is minimised over a square, in rationals. Otherwise |u_j| is
replaced by its chord, an upper bound, and the convex problem is solved exactly.

A sign (a response that is -1 or 1) multiplies at most one number. If both records have the same sign, each of its
entries moves as the entry without it does, and the counts are added. If they have opposite signs, an entry whose levels
hold in both records moves by |v_j + w_j|, or by 2 if it has no number; let d11_j count those with number j. They add

    sum_j d11_j (hi_j + u_j) + 2 d11

Proof: with p_j = |v_j - w_j| the middle of the pair is at most hi_j - p_j / 2 in size, so |v_j + w_j| <= 2 hi_j - p_j =
hi_j + u_j, with equality at v = hi, w = u. (It is the corner theorem for a number in [-1, 1] that is at its ends.)
Levels that hold in one record alone count as before, as the size of an entry does not depend on its sign. []
The claim is the larger of both cases.

Every other entry (a product of two numbers within levels, as interactions of numbers with levels make; a number that is
not plain) is bounded alone: by its range where its levels hold in both records, by its largest size where they hold in
one. The sum of bounds is a bound. Numbers that are functions of the same columns (x, z and x:z) are treated as free of
each other, which is a bound, too.

L2 squared, for given levels and equal noise on all entries, where `l2_at_corners_squared` knows the maximum over u of

    sum_{j<k} (hi_j hi_k - u_j u_k)^2 + sum_j (hi_j^2 - u_j^2)^2
    + sum_j (c11_j (hi_j - u_j)^2 + d11_j (hi_j + u_j)^2 + c_j hi_j^2 + c'_j u_j^2) + 4 d11 + s

and the squared bounds of the other entries come on top. Proof: as above, term by term. []
With an intercept or a sign every c11_j or d11_j is at least 1; with an intercept every box is [-1, 1], too, and the
maximum is exact.
Otherwise: the squared bounds of all entries added up. Where L1 times the largest bound of an entry is less, that is
taken: sum D_i^2 <= max |D_i| sum |D_i|.

The worst levels are found by enumeration of all pairs of level combinations, where there are at most 1,000
combinations; beyond that all counts are replaced by the largest values that each could take alone, an upper bound
because every expression grows in each of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from tacit.privacy.sensitivity import Sensitivity
from tacit.statistics.box_extrema import (
    Bends,
    half_square,
    l2_at_corners_squared,
    least_half_square,
    oriented,
    product_range,
)
from tacit.statistics.design import Levels, Mapped, Product
from tacit.statistics.region import Interval

_MOST_COMBINATIONS = 1_000

MappedNumbers = tuple[Mapped, ...]
LevelCounts = tuple[int, int, int]  # how many entries hold in both records, in one record alone, in the other alone
FactorGroup = tuple[MappedNumbers, bool]  # the entries that multiply these numbers, with the sign or without it


@dataclass(frozen=True)
class _Moves:
    """How many entries of some numbers move by a difference, by a sum, and by the size in one record or the other."""

    minus: int = 0
    plus: int = 0
    larger: int = 0
    smaller: int = 0


@dataclass(frozen=True)
class _Boxes:
    """The oriented box of every number, in lattice steps; the plain numbers, in order; and the steps of a one."""

    of: dict[Mapped, Interval]
    plain: list[Mapped]
    unit: Fraction

    @property
    def intervals(self) -> list[Interval]:
        return [self.of[number] for number in self.plain]

    def width(self, numbers: MappedNumbers) -> Fraction:
        """The range of a product of numbers, in lattice units."""
        if not numbers:
            return Fraction(0)
        if len(numbers) == 1:
            low, high = self.of[numbers[0]]
            return (high - low) * self.unit
        first, second = numbers
        return product_range(self.of[first], None if first == second else self.of[second])

    def size(self, numbers: MappedNumbers) -> Fraction:
        """The largest absolute value of a product of numbers, in lattice units."""
        highs = [self.of[number][1] for number in numbers]
        return math.prod(highs, start=self.unit ** (2 - len(numbers)))


def gram_sensitivity(
    products: Sequence[Product], steps: int, bounds: Mapping[Mapped, tuple[int, int]] | None = None
) -> Sensitivity:
    """The sensitivity of the sums of distinct ``products``; 1 stands for ``steps`` on the lattice.

    ``bounds`` names the whole numbers between which a number lies, where they are not the ends of its range.
    """
    numbers = dict.fromkeys(number for entry in products for number in entry.numbers)
    whole = {number: number.bounds(steps) for number in numbers} | dict(bounds or {})
    boxed = oriented([(Fraction(low), Fraction(high)) for low, high in (whole[number] for number in numbers)])
    known = set(products)
    plain = [number for number in numbers if Product((), (number, number)) in known]
    boxes = _Boxes(dict(zip(numbers, boxed, strict=True)), plain, Fraction(steps))
    squared = set(plain)
    groups: dict[FactorGroup, list[Levels]] = {}
    for entry in products:
        if not _is_plain(entry, squared):
            groups.setdefault((entry.numbers, bool(entry.signs)), []).append(entry.levels)
    opposite = (False, True) if any(entry.signs for entry in products) else (False,)
    cases = [_moves(counts, turned) for counts in _patterns(groups) for turned in opposite]
    l1 = max(_l1(boxes, moves) for moves in cases)
    l2_squared = max(_l2_squared(boxes, moves) for moves in cases)
    largest = max(_largest(boxes, entry) for entry in products)
    # Narrow bounds may round to one lattice point, and then nothing can move: one step bounds that, too.
    one = Fraction(1)
    return Sensitivity(max(l1, one), max(min(l2_squared, l1 * largest), one), (one,) * len(products))


def _largest(boxes: _Boxes, entry: Product) -> Fraction:
    """The most that one entry can move."""
    if entry.signs:
        return 2 * boxes.size(entry.numbers)
    return max(boxes.width(entry.numbers), boxes.size(entry.numbers) if entry.levels else Fraction(0))


def _moves(counts: dict[FactorGroup, LevelCounts], turned: bool) -> dict[MappedNumbers, _Moves]:
    """The counts by numbers, when the signs of the records are the same or, if ``turned``, opposite."""
    found: dict[MappedNumbers, _Moves] = {}
    for (numbers, signed), (both, larger, smaller) in counts.items():
        before = found.get(numbers, _Moves())
        found[numbers] = _Moves(
            before.minus + (0 if signed and turned else both),
            before.plus + (both if signed and turned else 0),
            before.larger + larger,
            before.smaller + smaller,
        )
    return found


def _is_plain(entry: Product, plain: set[Mapped]) -> bool:
    return not entry.levels and len(entry.numbers) == 2 and all(number in plain for number in entry.numbers)


def _patterns(groups: dict[FactorGroup, list[Levels]]) -> list[dict[FactorGroup, LevelCounts]]:
    """The counts of every group, for every pair of records that may be the worst, or larger ones."""
    import numpy as np

    if not groups:
        return [{}]
    kinds: dict[tuple[Levels, ...], None] = dict.fromkeys(tuple(parts) for parts in groups.values())
    codes: dict[str, set[int]] = {}
    for parts in kinds:
        for column, code in (pair for part in parts for pair in part):
            codes.setdefault(column, set()).add(code)
    # -1 stands for all levels that no entry names: they look alike.
    if math.prod(len(known) + 1 for known in codes.values()) > _MOST_COMBINATIONS:
        rows = [[_most(parts) for parts in kinds]]
    else:
        table = np.array(list(product(*([-1, *sorted(known)] for known in codes.values()))))
        records = {column: table[:, i] for i, column in enumerate(codes)}
        rows = _undominated([count for parts in kinds for count in _counts(records, len(table), parts)])
    found: list[dict[FactorGroup, LevelCounts]] = []
    for row in rows:
        of_kind = dict(zip(kinds, row, strict=True))
        found.append({group: of_kind[tuple(parts)] for group, parts in groups.items()})
    return found


def _counts(records: dict[str, Any], size: int, parts: Sequence[Levels]) -> list[Any]:
    """For every pair of records: how many of the parts hold in both, in one alone, in the other alone."""
    import numpy as np

    active = np.ones((size, len(parts)))
    for i, part in enumerate(parts):
        for column, code in part:
            active[:, i] *= records[column] == code
    pairs = np.triu_indices(size)
    both = (active @ active.T).astype(np.int64)[pairs]
    ones = active.sum(axis=1).astype(np.int64)
    first, second = ones[pairs[0]] - both, ones[pairs[1]] - both
    return [both, np.maximum(first, second), np.minimum(first, second)]


def _undominated(columns: list[Any]) -> list[list[LevelCounts]]:
    """The rows of which no other row is at least as large everywhere: every bound grows in every count."""
    import numpy as np

    label, place = np.zeros_like(columns[0]), np.zeros(1, np.int64)
    for column in columns:  # number the different rows, one column at a time: sorting integers is faster than rows
        _, place, label = np.unique(label * (column.max() + 1) + column, return_index=True, return_inverse=True)
    rows = np.stack([column[place] for column in columns], axis=1)
    kept: list[Any] = []
    for row in rows[np.argsort(-rows.sum(axis=1), kind="stable")]:
        if not any((other >= row).all() for other in kept):
            kept.append(row)
    return [[(int(a), int(b), int(c)) for a, b, c in row.reshape(-1, 3)] for row in kept]


def _most(parts: Sequence[Levels]) -> LevelCounts:
    """The largest counts: no more parts can hold at once than there are different sets of columns among them."""
    always = sum(1 for part in parts if not part)
    at_once = len({tuple(column for column, _ in part) for part in parts if part})
    return always + at_once, at_once, at_once


def _l1(boxes: _Boxes, moves: dict[MappedNumbers, _Moves]) -> Fraction:
    fixed = half_square([high for _, high in boxes.intervals])
    slopes = dict.fromkeys(boxes.plain, Fraction(0))
    bonuses = dict.fromkeys(boxes.plain, Fraction(0))
    for numbers, move in moves.items():
        size = boxes.size(numbers)
        if len(numbers) == 1 and numbers[0] in slopes:
            fixed += (move.minus + move.plus + move.larger) * size
            slopes[numbers[0]] = (move.minus - move.plus) * boxes.unit
            bonuses[numbers[0]] = move.smaller * boxes.unit
        else:
            fixed += move.minus * boxes.width(numbers) + (2 * move.plus + move.larger + move.smaller) * size
    return fixed - _least(boxes.intervals, list(slopes.values()), list(bonuses.values()))


def _l2_squared(boxes: _Boxes, moves: dict[MappedNumbers, _Moves]) -> Fraction:
    plain, one, squared = boxes.plain, Fraction(1), boxes.unit**2
    own = [moves.get((number,), _Moves()) for number in plain]
    bends = [Bends(squared * move.minus, squared * move.plus, squared * move.smaller) for move in own]
    at_corners = l2_at_corners_squared(boxes.intervals, bends, one, one) if plain else None
    if at_corners is None:
        pairs = [(first, second) for j, first in enumerate(plain) for second in plain[j:]]
        total = sum((boxes.width(pair) ** 2 for pair in pairs), Fraction(0))
    else:
        larger = (move.larger * boxes.size((number,)) ** 2 for number, move in zip(plain, own, strict=True))
        total = at_corners + sum(larger, Fraction(0))
    for numbers, move in moves.items():
        if at_corners is None or len(numbers) != 1 or numbers[0] not in plain:
            size = boxes.size(numbers)
            total += move.minus * boxes.width(numbers) ** 2
            total += (4 * move.plus + move.larger + move.smaller) * size**2
    return total


def _least(boxes: list[Interval], slopes: list[Fraction], bonuses: list[Fraction]) -> Fraction:
    """The minimum of T(u) + sum slopes u - sum bonuses |u|, or a lower bound on it."""
    if not any(bonuses):  # or no numbers at all
        return least_half_square(boxes, slopes)
    same = len(set(boxes)) == len(set(slopes)) == len(set(bonuses)) == 1
    if same and boxes[0][0] == -boxes[0][1]:
        half, slope, bonus = boxes[0][1], slopes[0], bonuses[0]
        return min(_least_two_groups(k, len(boxes) - k, slope, bonus, half) for k in range(len(boxes) + 1))
    chords = [(abs(hi) - abs(lo)) / (hi - lo) if lo < hi else Fraction(0) for lo, hi in boxes]
    ends = [bonus * (hi - chord * hi) for (_, hi), bonus, chord in zip(boxes, bonuses, chords, strict=True)]
    tilted = [slope - bonus * chord for slope, bonus, chord in zip(slopes, bonuses, chords, strict=True)]
    return least_half_square(boxes, tilted) - sum(ends, Fraction(0))


def _least_two_groups(negative: int, positive: int, slope: Fraction, bonus: Fraction, half: Fraction) -> Fraction:
    """The minimum when ``negative`` coordinates are -x and ``positive`` are y, x and y in [0, half].

    The objective is convex in (x, y), so its minimum over the square is at the stationary point if that lies inside,
    else on an edge, where the same holds in one variable.
    """

    def value(x: Fraction, y: Fraction) -> Fraction:
        total = positive * y - negative * x
        squares = negative * x * x + positive * y * y
        return (total * total + squares) / 2 + slope * total - bonus * (negative * x + positive * y)

    # Stationary: (negative + 1) x - positive y = slope + bonus;  (positive + 1) y - negative x = bonus - slope.
    right_x, right_y = slope + bonus, bonus - slope
    determinant = (negative + 1) * (positive + 1) - negative * positive
    inside_x = ((positive + 1) * right_x + positive * right_y) / determinant
    inside_y = ((negative + 1) * right_y + negative * right_x) / determinant
    candidates = []
    if 0 <= inside_x <= half and 0 <= inside_y <= half:
        candidates.append((inside_x, inside_y))
    for end in (Fraction(0), half):
        candidates.append((_clip((right_x + positive * end) / (negative + 1), half), end))
        candidates.append((end, _clip((right_y + negative * end) / (positive + 1), half)))
    return min(value(x, y) for x, y in candidates)


def _clip(value: Fraction, high: Fraction) -> Fraction:
    return min(max(value, Fraction(0)), high)
