"""How far one row can move its score and its information at a public point, jointly.

A row has a vector q with |q|^2 <= S, and at the point a score rho and a weight omega >= 0, all in real units here. It
adds (rho q, omega q q'). With c = <q, q'> for the vectors of two rows, and with weights a for the score and b for the
matrix (by its Frobenius norm: an entry off the diagonal stands for two), the squared distance is

    F = a^2 (|q|^2 rho^2 + |q'|^2 rho'^2 - 2 rho rho' c) + b^2 (|q|^4 omega^2 + |q'|^4 omega'^2 - 2 omega omega' c^2)

Proof of the bound. At fixed c it grows with |q| and |q'|, so both are replaced by S. What remains is concave in c, with
its maximum in closed form over the c that there are; and convex in (rho, omega), and in (rho', omega'), so over a
polygon it is largest at vertices.

The linear predictor couples them. The eta of rows are cut into intervals. For rows with eta in interval i and eta' in
interval j, (rho, omega) and (rho', omega') lie in the polygons of `ScoreTable.curves`; and q and q' can not be too near
to, or too far from, each other: with t the point without the constant's coefficient, |eta - eta'| <= |q - q'| |t|, so
c <= S - (eta - eta')^2 / (2 |t|^2); likewise, with all of t, c >= (eta + eta')^2 / (2 |t|^2) - S. These hold for
|q|^2, |q'|^2 <= S as well. So the bound is the largest over pairs of intervals, of that over pairs of vertices. []

L1, with a and b for the two parts and g for entries off the diagonal: for vectors with entries in [-1, 1], N of them
not 0 and o of those in the same places, bound the change of a squared entry by max(omega, omega'), and that
of the constant's by |omega - omega'|. All other terms are absolute values of what is affine in each entry of q and of
q', so the sum is largest where entries are 1 or -1. With m of the o places of different signs it is

    a ((o - m) |rho - rho'| + m |rho + rho'| + (N - o) (|rho| + |rho'|))
    + b g ((C(o-m, 2) + C(m, 2)) |omega - omega'| + (m (o - m) + C(N, 2) - C(o, 2)) (omega + omega'))
    + b ((o - constant) max(omega, omega') + constant |omega - omega'| + (N - o) (omega + omega'))

and again convex in (rho, omega). A second bound has the coupling in the score: where rho and rho' have different signs,
|rho q_j - rho' q'_j| <= |rho| + |rho'| - min(|rho|, |rho'|) |q_j - q'_j|, and sum_j |q_j - q'_j| >= |eta - eta'| /
max |t_j|, of which places that are not shared make up at most 2 (N - o). It is convex in rho and in rho', too. For each
pair of intervals the smaller of the two bounds holds.

A group of B-splines counts as one of the N entries, never as shared. Its vectors v, v' are convex combinations of 0 and
of vectors with a single 1. Since sum v_j^2 + g sum_{j<k} v_j v_k <= max(1, g / 2) (sum v_j)^2, squares and products of
its own entries add up to at most b max(1, g / 2) (omega + omega'), which is taken for them, wherever entries are. All
else is convex in (v, v') while other entries are fixed, so it is largest where v and v' have one 1 each, in the same
place or not, or none; which is what the formula is about. []

The neighbour relation is replace-one. Where rows may be missing (``empty``), (0, 0) is one more vertex. Everything is
computed in float64 with fewer than 100 operations from exact numbers; `_MARGIN` times the sum of the sizes of all terms
is 10^4 times what they may be off by together, and is added. Results are rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

from tacit.privacy.sensitivity import Sensitivity
from tacit.statistics.noise_allocation import HALF_ROOT
from tacit.statistics.score_region import ScoreRegion
from tacit.statistics.score_tables import FINE, STEPS, ScoreTable

_MARGIN = 1e-10
_INTERVALS = 64
_MOST_CASES = 100
_BITS = 32  # significant bits of a result, rounded up


@dataclass(frozen=True)
class ScorePairs:
    """Everything that pairs of rows can be at a point: vertices by interval of eta, and the c between intervals."""

    table: ScoreTable
    region: ScoreRegion
    point: tuple[int, ...]
    empty: bool

    @cached_property
    def _vertices(self) -> tuple[Any, Any]:
        """rho and omega (intervals, vertices) in real units."""
        import numpy as np

        scores: list[list[float]] = []
        weights: list[list[float]] = []
        slack = self.table.most + 1
        for low, high in self._intervals:
            rho: list[int] = []
            omega: list[int] = []
            for _, points in self.table.curves(low, high):
                first, second = zip(*points, strict=True)
                for score in (min(first) - slack, max(first) + slack):
                    rho += [score, score]
                    omega += [max(0, min(second) - self.table.weight_slack), max(second) + self.table.weight_slack]
            if self.empty:
                rho, omega = [*rho, 0], [*omega, 0]
            scores.append([score / self.table.score_unit for score in rho])
            weights.append([weight / self.table.weight_unit for weight in omega])
        return np.array(scores), np.array(weights)

    @cached_property
    def _intervals(self) -> list[tuple[int, int]]:
        """The etas of rows, cut in whole numbers: narrow where functions bend, wider further out."""
        low, high = self.region.etas(self.point)
        step = max(1, min(FINE // 16, (high - low) // _INTERVALS))
        cuts = {low, high}
        for start, sign in ((max(low, 0), 1), (min(high, 0), -1)):
            place = start
            while low <= place <= high:
                cuts.add(place)
                place += sign * max(step, abs(place) >> 4)
        ordered = sorted(cuts)
        return list(pairwise(ordered)) or [(low, high)]

    @cached_property
    def _products(self) -> tuple[Any, Any, Any]:
        """The least and the largest c, and the least |eta - eta'|, for each pair of intervals, in real units."""
        import numpy as np

        low, high = np.array(self._intervals, np.float64).T / FINE
        one = 1.0 / FINE  # eta was rounded down
        gap = np.maximum(0.0, np.maximum(low[:, None] - high[None, :], low[None, :] - high[:, None]) - one)
        sums = np.maximum(0.0, np.maximum(low[:, None] + low[None, :], -(high[:, None] + high[None, :])) - 2 * one)
        short, whole, _ = self.region.lengths(self.point)
        square = self.region.square / STEPS**2
        with np.errstate(over="ignore"):  # of intervals that no row is in, where the point is 0 but for the constant's
            most = square - (gap / max(short, 1e-300)) ** 2 / 2 * (1 - 1e-9)
            least = (sums / max(whole, 1e-300)) ** 2 / 2 * (1 - 1e-9) - square
        least = np.maximum(self.region.inner_low / STEPS**2, least)
        if self.empty:  # a missing row has no eta
            gap, most, least = (
                0 * gap,
                np.full_like(most, square),
                np.full_like(least, self.region.inner_low / STEPS**2),
            )
        return least, np.maximum(most, least), gap

    def l2_squared(self, score: float, matrix: float) -> float:
        """A bound on F with a = ``score`` and b = ``matrix``, in real units.

        Proof: in the head of this file. []
        """
        import numpy as np

        rho, omega = self._vertices
        least, most, _ = self._products
        a, b, square = score * score, matrix * matrix, self.region.square / STEPS**2
        best = 0.0
        for i in range(len(rho)):
            r, w = rho[i][:, None, None], omega[i][:, None, None]
            other, weight = rho[None, i:], omega[None, i:]
            lo, hi = least[i, i:][None, :, None], most[i, i:][None, :, None]
            bend, tilt = 2 * b * w * weight, a * r * other
            ends = np.where(tilt > 0, lo, hi)
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                c = np.where(bend > 0, np.clip(-tilt / bend, lo, hi), ends)
            c = np.where(np.isfinite(c), c, ends)
            found = a * square * (r**2 + other**2) + b * square**2 * (w**2 + weight**2) - 2 * tilt * c - bend * c * c
            best = max(best, float(found.max()))
        size = a * square * float(np.abs(rho).max()) ** 2 + b * square**2 * float(omega.max()) ** 2
        return best + 8 * _MARGIN * size

    def l1(self, score: float, matrix: float, off: float) -> float:
        """A bound on the L1 distance with a = ``score``, b = ``matrix`` and g = ``off``, in real units.

        Proof: in the head of this file. []
        """
        import numpy as np

        rho, omega = self._vertices
        _, _, gap = self._products
        region = self.region
        if region.nonzero - region.shared > _MOST_CASES and len(rho) > 1:  # too many: one box around all rows
            ends = [(r, w) for r in (rho.min(), rho.max()) for w in (omega.min(), omega.max())]
            rho, omega = (np.array([one]) for one in zip(*ends, strict=True))
            gap = np.zeros((1, 1))
        _, _, steepest = region.lengths(self.point)
        apart = np.maximum(0.0, gap / max(steepest, 1e-300) * (1 - 1e-9) - 2 * (region.nonzero - region.shared))
        apart = np.minimum(apart, 2.0 * region.nonzero)
        best = 0.0
        for i in range(len(rho)):
            r, w = rho[i][:, None, None], omega[i][:, None, None]
            other, weight = rho[None, i:], omega[None, i:]
            parts = (
                np.abs(r - other),
                np.abs(r + other),
                np.abs(r) + np.abs(other),
                np.abs(w - weight),
                w + weight,
                np.maximum(w, weight),
            )
            joint, rest = self._l1_of(parts, score, matrix, off), self._l1_of(parts, 0.0, matrix, off)
            nearer = np.where(r * other < 0, np.minimum(np.abs(r), np.abs(other)), 0.0) * apart[i, i:][None, :, None]
            coupled = rest + score * (region.nonzero * parts[2] - nearer)
            over = (0, 2)  # vertices of both: what is left is one bound for each pair of intervals
            best = max(best, float(np.minimum(joint.max(axis=over), coupled.max(axis=over)).max()))
        size = score * region.nonzero * float(np.abs(rho).max()) + matrix * off * region.nonzero**2 * float(omega.max())
        return best + 8 * _MARGIN * size

    def alone(self, scales: Sequence[Fraction], *, matrix: bool) -> Sensitivity:
        """How long the vector of one row is, under ``scales`` as `score_sensitivity` makes them, in lattice units.

        Proof: under add-remove two neighbours differ by one row's (rho q, omega q q'). With a = 1, b the weight of the
        diagonal and g that of the other entries over it, squared entries off the diagonal count twice in the Frobenius
        norm and at most twice here: the squared norm is at most |q|^2 rho^2 + b^2 |q|^4 omega^2 <= S rho^2 + b^2 S^2
        omega^2. N entries of q are not 0, none above 1 in size: in L1 it is at most N |rho| + b (N + g C(N, 2)) omega.
        Both are convex in (rho, omega), so largest at a vertex of the polygons. []
        """
        import numpy as np

        rho, omega = (np.abs(some) for some in self._vertices)
        p, unit = len(self.point), self.table.score_unit * STEPS
        b = float(1 / scales[p]) if matrix else 0.0
        off = float(scales[p] / scales[p + 1]) * (1 + 1e-12) if matrix and p > 1 else 0.0
        square, n = self.region.square / STEPS**2, self.region.nonzero
        squared = float((square * rho**2 + (b * square * omega) ** 2).max()) * (1 + _MARGIN)
        l1 = float((n * rho + b * (n + off * math.comb(n, 2)) * omega).max()) * (1 + _MARGIN)
        found = _rounded_up(squared) * unit**2
        root = Fraction(math.isqrt(math.ceil(len(scales) * found)) + 1)
        return Sensitivity(max(min(_rounded_up(l1) * unit, root), Fraction(1)), max(found, Fraction(1)), tuple(scales))

    def _l1_of(self, parts: Sequence[Any], a: float, b: float, g: float) -> Any:
        """The L1 distance of the head of this file for six parts, the largest over o and m.

        Proof: C(o-m, 2) + C(m, 2) = C(o, 2) - m (o - m), so that m adds m A + m (o - m) B to what there is at m = 0,
        with A = a (|rho + rho'| - |rho - rho'|) and B = b g (omega + omega' - |omega - omega'|) >= 0. That is concave
        in m: over whole m in a range it is largest beside o / 2 + A / (2 B), or at the end that is nearest to it. []
        """
        import numpy as np

        apart, sums, sizes, changes, weights, larger = parts
        region, some, found = self.region, int(self.region.constant), None
        for o in range(region.shared, region.nonzero + 1):
            rest, pairs = region.nonzero - o, math.comb(o, 2)
            total = a * (o * apart + rest * sizes) + b * ((o - some) * larger + some * changes + rest * weights)
            total = total + b * g * (pairs * changes + (math.comb(region.nonzero, 2) - pairs) * weights)
            total = total + b * region.splines * (max(1.0, g / 2) * weights - larger)
            most, linear, bend = min(o - some, region.numbers), a * (sums - apart), b * g * (weights - changes)
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                best = np.where(bend > 0, o / 2 + linear / (2 * bend), np.where(linear > 0, most, 0))
            low = np.clip(np.floor(best), 0, most)
            for m in (low, np.minimum(low + 1, most)):
                value = total + m * linear + m * (o - m) * bend
                found = value if found is None else np.maximum(found, value)
        return found


def score_sensitivity(
    pairs: ScorePairs, *, matrix: bool, laplace: bool, share: Fraction, ratio: Fraction | None = None
) -> Sensitivity:
    """The claim for p scores and, with ``matrix``, the upper triangle of the information, row by row, in lattice units.

    Scores have the relative scale 1, the diagonal a ``ratio``, entries off it that ratio over sqrt 2, for ``laplace``
    the same ratio. Left out, it is such that the matrix alone would use up ``share`` of what one row can do (of the
    square of its distance, or of its distance in L1), if the two parts did not share a budget so well as they do.

    Proof: `ScorePairs.l2_squared` bounds sum (D_i / w_i)^2 with a = 1 and b = 1 / ratio: an entry off the diagonal
    counts twice in the Frobenius norm, and at most twice here (`HALF_ROOT` is rounded up), or once for ``laplace``.
    `ScorePairs.l1` bounds sum |D_i| / w_i with g = 1 / w. By Cauchy and Schwarz the latter is at most sqrt(entries)
    times the root of the former. []
    """
    p, unit = len(pairs.point), pairs.table.score_unit * STEPS
    if ratio is None or not matrix:
        ratio = _ratio(pairs, laplace, share) if matrix else Fraction(1)
    off = ratio if laplace else ratio * HALF_ROOT
    scales = [Fraction(1)] * p
    if matrix:
        scales += [ratio if j == k else off for j in range(p) for k in range(j, p)]
    b = 1 / float(ratio) if matrix else 0.0
    squared = _rounded_up(pairs.l2_squared(1.0, b)) * unit**2
    root = Fraction(math.isqrt(math.ceil(len(scales) * squared)) + 1)
    l1 = min(_rounded_up(pairs.l1(1.0, b, float(ratio / off) * (1 + 1e-12))) * unit, root)
    return Sensitivity(max(l1, Fraction(1)), max(squared, Fraction(1)), tuple(scales))


def _ratio(pairs: ScorePairs, laplace: bool, share: Fraction) -> Fraction:
    """The relative scale of the diagonal for a share of the matrix."""
    split = float((1 - share) / share)
    if laplace:
        found = split * pairs.l1(0.0, 1.0, 1.0) / pairs.l1(1.0, 0.0, 1.0)
    else:
        found = math.sqrt(split * pairs.l2_squared(0.0, 1.0) / pairs.l2_squared(1.0, 0.0))
    return rounded_ratio(found)


def rounded_ratio(ratio: float | Fraction) -> Fraction:
    """A relative scale to 8 significant bits, from a 1024th to 1024: one that can be read off whole scales again."""
    found = min(max(Fraction(ratio), Fraction(1, 1024)), Fraction(1024))
    grid = Fraction(2) ** (8 - math.frexp(float(found))[1])
    return Fraction(round(found * grid)) / grid


def _rounded_up(value: float) -> Fraction:
    grid = Fraction(2) ** (_BITS - math.frexp(value)[1])
    return Fraction(math.ceil(Fraction(value) * grid)) / grid
