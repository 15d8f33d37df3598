"""The natural logarithm as the same sequence of IEEE operations for every number.

NumPy's own differs in the last bit between its vector code, its scalar code and its builds, so that a row's logarithm
could depend on where the row stands, or on which machine reads it. Here it is the method of FreeBSD's e_log.c (after
Tang 1990): x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), s = f / (2 + f), log(1 + f) = 2 s + s^3 P(s^2) by a
polynomial of degree 7 with Sun's coefficients. Its error is below one unit in the last place. `frexp` is exact, and all
else is +, -, * and /, each a step of its own that no compiler joins with another.
"""

from __future__ import annotations

from typing import Any

_HALF_ROOT = 0.7071067811865476
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_EVEN = (6.666666666666735130e-01, 2.857142874366239149e-01, 1.818357216161805012e-01, 1.479819860511658591e-01)
_ODD = (3.999999999940941908e-01, 2.222219843214978396e-01, 1.531383769920937332e-01)


def logarithm(values: Any) -> Any:
    """log of each of ``values``; NaN where one is not above 0. They are settled, so not subnormal."""
    import numpy as np

    mantissa, exponent = np.frexp(np.where(values > 0, values, 1.0))
    small = mantissa < _HALF_ROOT
    mantissa = np.where(small, mantissa * 2, mantissa)
    k = (exponent - small).astype(np.float64)
    f = mantissa - 1
    s = f / (2 + f)
    z = s * s
    w = z * z
    odd = w * (_ODD[0] + w * (_ODD[1] + w * _ODD[2]))
    even = z * (_EVEN[0] + w * (_EVEN[1] + w * (_EVEN[2] + w * _EVEN[3])))
    half = 0.5 * f * f
    found = k * _LN2_HIGH - ((half - (s * (half + (odd + even)) + k * _LN2_LOW)) - f)
    return np.where(values > 0, found, np.nan)
