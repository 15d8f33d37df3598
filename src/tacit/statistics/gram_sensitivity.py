"""How far one record can move the Gram statistic: exact over the levels and the box of the numbers together.

Notation. Numbers u_1..u_m lie in boxes [lo_j, hi_j], oriented so that hi_j >= |lo_j|; levels give 0/1 indicators. For
a pair of records write a_S, b_S for the value of the indicator column S in each (the constant column is always 1 in
both), and count the columns: c11 with a = b = 1, c10 with a = 1, b = 0, c01 with a = 0, b = 1; let c >= c' be the
larger and the smaller of c10, c01. Let s be the number of distinct pure level entries (products of indicators) that
differ.

L1, for given levels:

    max over u in the box of  T(hi) - T(u) + c11 sum_j (hi_j - u_j) + c sum_j hi_j + c' sum_j |u_j| + s

Proof: the entries are products of numbers, |v_j v_k - w_j w_k|; products of a number with an indicator column, |a_S
v_j - b_S w_j|; and pure level entries, which contribute s. Put p_j = |v_j - w_j|, u_j = hi_j - p_j. By the corner
theorem (`box`) the first are at most hi_j hi_k - u_j u_k. Of the second, the c11 columns give p_j = hi_j - u_j, and
the others c10 |v_j| + c01 |w_j|, which for a fixed p_j is convex in the position of the pair and so largest at an end
of the box: at most c hi_j + c' |u_j|. All bounds are attained together by v = hi, w = u (with the roles of the
records chosen so that c belongs to v). []

T is convex and |u_j| is not concave, so the maximum is taken as follows. If every box is [-h, h]: by symmetry and
convexity within a sign pattern, k of the numbers equal -x and the others y, with x, y in [0, h]; for each k a convex
quadratic in (x, y) is minimised over a square, in rationals. Otherwise |u_j| is replaced by its chord, an upper bound,
and the convex problem is solved exactly.

L2 squared, for given levels, equal noise on all entries. If every box is [-1, 1] and c11 >= 1:

    4 max_k k (m - k + c11)  +  m (c10 + c01)  +  s

Proof: as above it is the maximum over u of sum_{j<k} (1 - u_j u_k)^2 + sum_j (1 - u_j^2)^2 + c11 sum_j (1 - u_j)^2
+ c m + c' sum_j u_j^2 + s. Replace (1 - u_j^2)^2 by the larger 1 - u_j^2. The result is convex in each coordinate, its
second derivative being 2 sum_{k != j} u_k^2 - 2 + 2 c11 + 2 c' >= 0, so it is largest at a corner, where nothing was
lost. With k coordinates at -1, k (m - k) products and k c11 columns differ by 2. []
Otherwise: the squared ranges of all entries added up, or L1 times the largest range, whichever is less. Both bound
sum D_i^2 trivially.

The worst levels are found by enumeration of all pairs of level combinations, where there are at most 1,000
combinations; beyond that c11, c10, c01 and s are replaced by the largest values that each could take alone, an upper
bound because every expression grows in each of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from tacit.privacy.sensitivity import Sensitivity
from tacit.statistics.box import half_square, least_half_square, oriented, product_range
from tacit.statistics.design import DesignColumn, Indicator, Scaled

_MOST_COMBINATIONS = 1_000

Counts = tuple[int, int, int, int]  # c11, c10, c01, s


def gram_sensitivity(vector: Sequence[DesignColumn], keys: Sequence[Any], steps: int) -> Sensitivity:
    """The sensitivity of the distinct products of ``vector``; ``keys`` are the entries of the Gram statistic."""
    boxes = oriented([_box(column, steps) for column in vector if isinstance(column, Scaled)])
    indicators = [column.levels for column in vector if isinstance(column, Indicator)]
    pure = [key for key in keys if _is_pure(key)]
    patterns = _patterns(indicators, pure)
    unit = Fraction(steps)
    l1 = max(_l1(boxes, counts, unit) for counts in patterns)
    l2_squared = max(_l2_squared(boxes, counts, unit) for counts in patterns)
    return Sensitivity(l1, min(l2_squared, _cauchy(boxes, l1, unit)), (Fraction(1),) * len(keys))


def _box(column: Scaled, steps: int) -> tuple[Fraction, Fraction]:
    return Fraction(-math.ceil(-column.low * steps)), Fraction(math.ceil(column.high * steps))


def _is_pure(key: Any) -> bool:
    """Whether an entry's key is a set of levels alone: pairs (column, code), and no number."""
    return all(isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], str) for part in key)


def _patterns(indicators: list[Any], pure: list[Any]) -> set[Counts]:
    """Every (c11, c10, c01, s) that some pair of records can show, or one that is no smaller than all of them."""
    import numpy as np

    levels: dict[str, set[int]] = {}
    for part in [*indicators, *pure]:
        for column, code in part:
            levels.setdefault(column, set()).add(code)
    # -1 stands for all levels that no column names: they look alike.
    combinations = math.prod(len(codes) + 1 for codes in levels.values())
    if combinations > _MOST_COMBINATIONS:
        constants = sum(1 for part in indicators if not part)
        most = constants + _most_at_once([part for part in indicators if part])
        return {(most, most - constants, most - constants, 2 * _most_at_once(pure))}
    names = list(levels)
    table = [dict(zip(names, codes, strict=True)) for codes in product(*([-1, *sorted(levels[n])] for n in names))]
    columns = _active(table, indicators)
    entries = _active(table, pure)
    ones = columns.sum(axis=1)
    both = columns @ columns.T
    shared = entries @ entries.T
    differ = entries.sum(axis=1)[:, None] + entries.sum(axis=1)[None, :] - 2 * shared
    stacked = np.stack([both, ones[:, None] - both, ones[None, :] - both, differ], axis=-1).reshape(-1, 4)
    return {tuple(int(v) for v in row) for row in np.unique(stacked, axis=0)}  # type: ignore[misc]


def _active(table: list[dict[str, int]], parts: list[Any]) -> Any:
    import numpy as np

    rows = [[all(levels[column] == code for column, code in part) for part in parts] for levels in table]
    return np.array(rows, dtype=np.int64).reshape(len(table), len(parts))


def _most_at_once(parts: list[Any]) -> int:
    """No more of ``parts`` can hold at once than there are different sets of columns among them."""
    return len({tuple(column for column, _ in part) for part in parts})


def _l1(boxes: list[tuple[Fraction, Fraction]], counts: Counts, unit: Fraction) -> Fraction:
    both, first, second, pure = counts
    larger, smaller = max(first, second) * unit, min(first, second) * unit
    high = [hi for _, hi in boxes]
    fixed = half_square(high) + (both * unit + larger) * sum(high, Fraction(0)) + pure * unit**2
    return fixed - _least(boxes, both * unit, smaller)


def _least(boxes: list[tuple[Fraction, Fraction]], slope: Fraction, bonus: Fraction) -> Fraction:
    """The minimum of T(u) + slope sum u - bonus sum |u|, or a lower bound on it."""
    symmetric = len(set(boxes)) == 1 and boxes[0][0] == -boxes[0][1]
    if bonus == 0:
        return least_half_square(boxes, [slope] * len(boxes))
    if symmetric:
        half = boxes[0][1]
        return min(_least_two_groups(k, len(boxes) - k, slope, bonus, half) for k in range(len(boxes) + 1))
    chords = [(abs(hi) - abs(lo)) / (hi - lo) for lo, hi in boxes]
    ends = sum((abs(hi) - beta * hi for (_, hi), beta in zip(boxes, chords, strict=True)), Fraction(0))
    return least_half_square(boxes, [slope - bonus * beta for beta in chords]) - bonus * ends


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


def _l2_squared(boxes: list[tuple[Fraction, Fraction]], counts: Counts, unit: Fraction) -> Fraction:
    both, first, second, pure = counts
    m = len(boxes)
    if both >= 1 and all(box == (-unit, unit) for box in boxes):
        corner = max(4 * k * (m - k + both) for k in range(m + 1))
        return unit**4 * (corner + m * (first + second) + pure)
    squares = sum((product_range(box, None) ** 2 for box in boxes), Fraction(0))
    crossed = sum((product_range(boxes[j], boxes[k]) ** 2 for j in range(m) for k in range(j + 1, m)), Fraction(0))
    alone = sum((both * (hi - lo) ** 2 + (first + second) * hi**2 for lo, hi in boxes), Fraction(0)) * unit**2
    return squares + crossed + alone + pure * unit**4


def _cauchy(boxes: list[tuple[Fraction, Fraction]], l1: Fraction, unit: Fraction) -> Fraction:
    """L1 times the largest that any one entry can differ by."""
    widest = max(hi - lo for lo, hi in boxes) * unit
    crossed = [product_range(a, b) for i, a in enumerate(boxes) for b in boxes[i + 1 :]]
    return l1 * max([widest, unit**2, *crossed, *(product_range(box, None) for box in boxes)])
