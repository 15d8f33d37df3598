"""log Gamma(x + a) - log Gamma(x + 1), fast and without the cancellation that ruins it for large x."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

_SHIFT = 10


def log_gamma_ratio(x: Any, a: Any) -> Any:
    """log of Gamma(x + a) / Gamma(x + 1) for x >= 0 and a > 0, elementwise.

    It is the part of a Dirichlet-multinomial probability that belongs to one count x. Both arguments are moved up by 10
    with Gamma(y + 1) = y Gamma(y), and the difference is taken inside Stirling's series, whose error there is below
    1e-13. The plain difference of two log-gammas would lose about log10(x) digits more, and costs more.
    """
    up, down = 1.0, 1.0  # at most (1e15)^10 for every count that a double can hold exactly
    for i in range(_SHIFT):
        up, down = up * (x + 1 + i), down * (x + a + i)
    p, q = x + a + _SHIFT, x + 1 + _SHIFT
    change = (p - 0.5) * jnp.log1p((a - 1) / q) + (a - 1) * (jnp.log(q) - 1)
    return jnp.log(up / down) + change + _tail(p) - _tail(q)


def _tail(y: Any) -> Any:
    """What Stirling's formula leaves out: 1/(12 y) - 1/(360 y^3) + 1/(1260 y^5) - 1/(1680 y^7) + 1/(1188 y^9)."""
    r = 1 / (y * y)
    return (1 / 12 - r * (1 / 360 - r * (1 / 1260 - r * (1 / 1680 - r / 1188)))) / y
