"""Public functions of one number on its declared bounds: logarithms, roots, powers, polynomials, splines.

A curve is computed from a cell and public numbers by additions, subtractions, multiplications, divisions, square roots,
comparisons and `frexp` alone. IEEE 754 fixes the result of each of them, whatever the place in a vector, the batch, the
thread, the library or the processor. (A math library's logarithm may differ in its last digit between the body and the
tail of a vector; so the logarithm here is a series of its own.) What comes of a curve is then mapped, rounded to the
lattice and clamped like any other number (`design.Mapped`), so bounds of integers are what a sensitivity rests on.

    log       x = m 2^e, m from sqrt(1/2) to sqrt(2):  e ln 2 + 2 artanh((m - 1) / (m + 1)), by its series
    poly      Legendre polynomials P_k(u), u in [-1, 1] the place of x in its bounds: orthogonal for x uniform on them
    bs        B-splines with the bounds as outer knots: never below 0, and their sum is 1 (Cox and de Boor's recursion)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

_LOGARITHMS = {"log": 1.0, "log1p": 1.0, "log2": 0.6931471805599453, "log10": 2.302585092994046}
_LN_2 = 0.6931471805599453
_ROOT_HALF = 0.7071067811865476
_TERMS = 13  # of the series: |s| <= 0.1716, so that the next term is below 1e-20


@dataclass(frozen=True, order=True)
class PublicFunction:
    """A ``function`` of a number between ``low`` and ``high``: what lies outside counts as the nearer end.

    ``numbers`` are a power or a degree; of a B-spline its degree, which one of them it is, and the inner knots.
    """

    function: str
    low: float
    high: float
    numbers: tuple[float, ...] = ()

    def of(self, values: Any) -> Any:
        """The function of each value, float64. Total for finite values, where `range` is finite."""
        import numpy as np

        x = np.clip(np.asarray(values, np.float64), self.low, self.high)
        match self.function:
            case "identity":
                return x
            case "sqrt":
                return np.sqrt(x)
            case "power":
                return _power(x, int(self.numbers[0]))
            case "poly":
                half = self.high / 2 - self.low / 2
                return _legendre(np.clip((x - (self.low + half)) / half, -1.0, 1.0), int(self.numbers[0]))
            case "bs":
                return self._spline(x)
            case _:
                return _log(1.0 + x if self.function == "log1p" else x) / _LOGARITHMS[self.function]

    @property
    def range(self) -> tuple[float, float]:
        """Between which numbers it lies."""
        match self.function:
            case "poly":
                return -1.0, 1.0
            case "bs":
                return 0.0, 1.0
            case "power" if self.low < 0 < self.high and self.numbers[0] % 2 == 0:
                return 0.0, max(float(end) for end in self.of([self.low, self.high]))
            case _:
                low, high = (float(end) for end in self.of([self.low, self.high]))
                return min(low, high), max(low, high)

    @property
    def partition(self) -> tuple[object, ...] | None:
        """What the B-splines of one term have in common: together they are at most 1. None for any other curve."""
        if self.function != "bs":
            return None
        degree, _, *knots = self.numbers
        return (self.low, self.high, degree, *knots)

    def _spline(self, x: Any) -> Any:
        """One B-spline, by the triangle of those of lower degree that it is made of.

        Proof: that all B-splines at x add up to less than 1 + 2^-45 as they are computed. On the support of a piece,
        x - t_i and t_j - x are not negative, and elsewhere the piece is 0. So only differences of two given numbers,
        quotients, products and sums of numbers that are not negative are taken: at most 6 operations a degree, each
        off by a factor of at most 1 + 2^-53, 30 in all. []
        """
        import numpy as np

        degree, place = int(self.numbers[0]), int(self.numbers[1])
        t = [self.low] * (degree + 1) + list(self.numbers[2:]) + [self.high] * (degree + 1)

        def piece(i: int) -> Any:
            inside = (t[i] <= x) & (x < t[i + 1]) if t[i + 1] < self.high else (t[i] <= x) & (t[i] < t[i + 1])
            return inside.astype(np.float64)

        pieces = [piece(i) for i in range(place, place + degree + 1)]
        for d in range(1, degree + 1):
            for k in range(degree - d + 1):
                i, found = place + k, np.zeros_like(x)
                if t[i + d] > t[i]:
                    found = (x - t[i]) / (t[i + d] - t[i]) * pieces[k]
                if t[i + d + 1] > t[i + 1]:
                    found = found + (t[i + d + 1] - x) / (t[i + d + 1] - t[i + 1]) * pieces[k + 1]
                pieces[k] = found
        return np.maximum(pieces[0], 0.0)


def _power(x: Any, power: int) -> Any:
    found = x
    for _ in range(power - 1):
        found = found * x
    return found


def _legendre(u: Any, degree: int) -> Any:
    """P_k of ``u`` by (k + 1) P_(k+1) = (2k + 1) u P_k - k P_(k-1)."""
    before, found = 0.0 * u + 1.0, u
    for k in range(1, degree):
        before, found = found, ((2 * k + 1) * u * found - k * before) / (k + 1)
    return found


def _log(x: Any) -> Any:
    import numpy as np

    mantissa, exponent = np.frexp(x)
    low = mantissa < _ROOT_HALF
    mantissa = np.where(low, 2.0 * mantissa, mantissa)
    s = (mantissa - 1.0) / (mantissa + 1.0)
    square = s * s
    series = np.full_like(s, 1.0 / (2 * _TERMS - 1))
    for k in range(_TERMS - 2, -1, -1):
        series = series * square + 1.0 / (2 * k + 1)
    return (exponent - low) * _LN_2 + 2.0 * s * series


def least_of(function: str) -> tuple[float, bool]:
    """The bound below which a declared range has no such function, and whether the range may begin there."""
    least = {"log": 0.0, "log2": 0.0, "log10": 0.0, "log1p": -1.0, "sqrt": 0.0}.get(function, -math.inf)
    return least, not function.startswith("log")
