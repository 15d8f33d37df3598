"""How far one record can move the Gram statistic of a design with B-splines, which add up to at most 1.

`gram_sensitivity` takes each number for free of the others, which counts five splines as five. Here columns are taken
in the groups of `score_region`: a constant, a number, the levels of a factor, the splines of a term (by level if they
are multiplied by one), and the response. In whole numbers, let M be the largest sum of sizes within a group, so that
M^2 bounds its sum of squares, too, and let [lo, hi] hold a number. v and w are the vectors of two records.

L1. Products of the entries of two groups g and h add up to at most M_g M_h in each record, so they move by at most
2 M_g M_h; beside the constant, a number moves by at most hi - lo times the constant. Products within a group add up to
at most M_g^2 in each record, so they move by 2 M_g^2; of a number they are its square, which moves by its own range;
the squares of a constant and of a sign do not move.

L2. The sum over j <= k of (v_j v_k - w_j w_k)^2 is half of |vv' - ww'|^2 + sum_j (v_j^2 - w_j^2)^2. The first is
|v|^4 + |w|^4 - 2 <v, w>^2 <= 2 S^2 - 2 c^2, with S the sum of all M^2 and c >= 0 a lower bound on <v, w>: the
constant's square, with lo hi for a number that can be negative, nothing for levels and splines. The second is at most
the square of the range of a number's square, 2 M^4 for levels and splines, as sum v_j^4 <= M^4, and 0 for a constant
and a sign.

Proof: above, for replace-one neighbours. The released entries are the distinct ones among all products with j <= k, so
both sums bound theirs. []
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit.statistics.design import DesignColumn, Indicator, Scaled, Sign
from tacit.statistics.score_region import column_groups


@dataclass(frozen=True)
class _Group:
    """``most`` is M; ``width`` how far a number moves, ``square`` how far its square does; ``inner`` is in <v, w>."""

    most: int
    width: int
    square: int
    inner: int
    squares: int  # bounds sum_j (v_j^2 - w_j^2)^2
    constant: bool = False


def has_splines(design: Sequence[DesignColumn]) -> bool:
    """Whether some columns of a design are B-splines."""
    return any(isinstance(column, Scaled) and column.number.partition is not None for column in design)


def grouped_bounds(design: Sequence[DesignColumn], response: Scaled | Sign, steps: int) -> tuple[Fraction, Fraction]:
    """Bounds on the L1 and on the squared L2 distance of two records' products, in lattice units."""
    groups = [_group([design[j] for j in places], steps) for places in column_groups(design)]
    sign = _Group(steps, 2 * steps, 0, -(steps**2), 0)
    groups.append(sign if isinstance(response, Sign) else _group([response], steps))
    l1 = 0
    for i, first in enumerate(groups):
        l1 += first.square
        for second in groups[i + 1 :]:
            one, other = (second, first) if second.constant else (first, second)
            l1 += one.most * other.width if one.constant else 2 * one.most * other.most
    whole = sum(group.most**2 for group in groups)
    inner = max(0, sum(group.inner for group in groups))
    l2_squared = Fraction(2 * whole**2 - 2 * inner**2 + sum(group.squares for group in groups), 2)
    return Fraction(l1), l2_squared


def _group(columns: Sequence[DesignColumn], steps: int) -> _Group:
    first = columns[0]
    if isinstance(first, Indicator):
        if not first.levels:
            return _Group(steps, 0, 0, steps**2, 0, constant=True)
        return _Group(steps, 2 * steps, 2 * steps**2, 0, 2 * steps**4)
    bounds = [column.number.bounds(steps) for column in columns if isinstance(column, Scaled)]
    low, high = min(low for low, _ in bounds), max(high for _, high in bounds)
    most = max(abs(low), abs(high))
    if first.levels or first.number.partition is not None:
        return _Group(most, 2 * most, 2 * most**2, min(0, low * high), 2 * most**4)
    least = 0 if low <= 0 <= high else min(abs(low), abs(high))
    square = most**2 - least**2
    return _Group(most, high - low, square, low * high if low < 0 < high else least**2, square**2)
