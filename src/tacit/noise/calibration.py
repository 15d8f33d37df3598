"""From a budget to whole noise scales, in rational arithmetic, and back to the base scale that prices them."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from tacit.errors import expected
from tacit.noise.noise import Noise
from tacit.privacy import gaussian
from tacit.privacy.guarantees import GDP, ZCDP, ApproxDP, Guarantee, RenyiDP
from tacit.privacy.sensitivity import Sensitivity

N = TypeVar("N", bound=Noise)

STEP = Fraction(1, 10**12)
_MOST_STEPS = 10**15


def base_scale(scales: tuple[int, ...], sensitivity: Sensitivity) -> Fraction:
    """The largest base with scales[i] >= base * relative_scales[i] for every entry i."""
    if len(scales) != sensitivity.entries:
        raise expected("scales", scales, f"to have {sensitivity.entries} entries, as the sensitivity has")
    return min(Fraction(scale) / weight for scale, weight in zip(scales, sensitivity.relative_scales, strict=True))


def least_noise(build: Callable[[Fraction], N], budget: Guarantee, sensitivity: Sensitivity) -> N:
    """``build(1 + m * STEP)`` for the least whole m >= 0 whose event satisfies ``budget``.

    ``build(1)`` is what the budget needs in ideal arithmetic and on the real line; the stretch covers the rounding of
    prices and the slack of a discrete distribution. More noise never costs more, so m is found by doubling and
    bisection. The event is asked about the very noise that is returned: no budget is met by belief.
    """

    def noise_if_enough(steps: int) -> N | None:
        noise = build(1 + steps * STEP)
        return noise if noise.event(sensitivity).satisfies(budget) else None

    too_few, steps = -1, 0
    found = noise_if_enough(steps)
    while found is None:
        too_few, steps = steps, max(1, 2 * steps)
        if steps > _MOST_STEPS:
            raise expected("budget", budget, "to be one that this noise can meet")
        found = noise_if_enough(steps)
    while steps - too_few > 1:
        middle = (too_few + steps) // 2
        noise = noise_if_enough(middle)
        if noise is None:
            too_few = middle
        else:
            steps, found = middle, noise
    return found


def calibrate_gaussian(kind: type[N], budget: Guarantee, sensitivity: Sensitivity) -> N:
    """Noise of a Gaussian ``kind`` for ``budget``: s_i = ceil(stretch * w_i * sqrt(l2_squared) / mu)."""
    mu_squared = mu_squared_of(budget, kind.kind)

    def build(stretch: Fraction) -> N:
        squared_base = sensitivity.l2_squared * stretch**2 / mu_squared
        return kind(tuple(root_above(squared_base * weight**2) for weight in sensitivity.relative_scales))

    return least_noise(build, budget, sensitivity)


def mu_squared_of(budget: Guarantee, kind: str) -> Fraction:
    """The square of the largest mu whose Gaussian mechanism meets ``budget``.

    A Gaussian mechanism of parameter mu is mu-GDP, (mu^2 / 2)-zCDP and has D_order = order * mu^2 / 2.
    """
    match budget:
        case GDP(mu=mu):
            return Fraction(mu) ** 2
        case ZCDP(rho=rho):
            return 2 * Fraction(rho)
        case RenyiDP(order=order, epsilon=epsilon):
            return 2 * Fraction(epsilon) / Fraction(order)
        case ApproxDP(epsilon=epsilon, delta=delta):
            return Fraction(gaussian.mu_for(epsilon, delta)) ** 2
        case _:
            raise expected("budget", budget, f"to be ApproxDP, ZCDP, RenyiDP or GDP: {kind} noise is never pure")


def root_above(square: Fraction) -> int:
    """The least whole s with s^2 >= ``square`` > 0; for a whole s that is s^2 >= ceil(square)."""
    return math.isqrt(math.ceil(square) - 1) + 1
