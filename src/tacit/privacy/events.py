"""What a mechanism did, with its price under every definition.

An event is made from public parameters before any row is read. Its numbers are exact rationals; where a price needs a
logarithm or an exponential it is a float with a relative error below `MARGIN`, and it is rounded up by that margin
before it is compared with a budget. So no budget is ever met by rounding. All prices are for the neighbour relation
replace-one; P and Q are the distributions of the release on two such data sets.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from inspect import signature
from typing import Any, ClassVar

from tacit.errors import did_you_mean, expected
from tacit.privacy import bounded_range, gaussian, randomized_response_joint
from tacit.privacy.basis import Basis
from tacit.privacy.conversions import (
    Real,
    approximate_sampler_delta,
    discrete_laplace_renyi,
    pure_to_delta,
    pure_to_gdp,
    pure_to_renyi,
    pure_to_zcdp,
    renyi_point_to_delta,
    zcdp_to_delta,
)
from tacit.privacy.guarantees import GDP, ZCDP, ApproxDP, Guarantee, PureDP, RenyiDP
from tacit.privacy.rationals import rational, read, whole, written
from tacit.privacy.rounding import float_above, float_below

MARGIN = 1e-12

Price = Fraction | float  # a Fraction is exact; a float may be off by MARGIN, relatively; math.inf: nothing is proved


def rounded_up(price: Price) -> Price:
    """The price to compare with a budget: an exact one as it is, a computed one larger by `MARGIN`."""
    return price if isinstance(price, Fraction) else math.nextafter(price * (1 + MARGIN), math.inf)


class Event(ABC):
    """One use of a mechanism. Prices that nothing proves are ``math.inf`` (a delta: 1): what an event does not say.

    Proof: an infinite price claims nothing. []
    """

    kind: ClassVar[str]

    @property
    def basis(self) -> Basis:
        """What its prices rest on."""
        return Basis.PROVED

    def epsilon(self) -> Price:
        """The pure epsilon."""
        return math.inf

    def rho(self) -> Price:
        """The rho of zero-concentrated DP."""
        return math.inf

    def _mu_squared(self) -> Price:
        """The square of the mu of Gaussian DP."""
        return math.inf

    def _renyi(self, order: Fraction) -> Price:
        """A bound on the Renyi divergence of this order."""
        return math.inf

    @abstractmethod
    def _delta(self, epsilon: Fraction) -> float:
        """A bound on the hockey-stick divergence at ``epsilon`` >= 0."""

    def renyi(self, order: float) -> float:
        """The best proved bound on the Renyi divergence of this order, above 1."""
        if not (math.isfinite(order) and order > 1):
            raise expected("order", order, "to be a finite number above 1")
        return float(self._renyi(Fraction(order)))

    def mu(self) -> float:
        """The mu of Gaussian DP."""
        return math.sqrt(self._mu_squared())

    def delta(self, epsilon: float) -> float:
        """The best proved bound on sup over S of P(S) - e^epsilon Q(S)."""
        if not (math.isfinite(epsilon) and epsilon >= 0):
            raise expected("epsilon", epsilon, "to be a finite number of at least 0")
        return self._delta(Fraction(epsilon))

    def satisfies(self, guarantee: Guarantee) -> bool:
        """Whether the price is at most what ``guarantee`` allows: exact against exact, and computed ones rounded up."""
        match guarantee:
            case PureDP(epsilon=epsilon):
                return rounded_up(self.epsilon()) <= Fraction(epsilon)
            case ApproxDP(epsilon=epsilon, delta=delta):
                pure = rounded_up(self.epsilon()) <= Fraction(epsilon)
                return pure or rounded_up(self._delta(Fraction(epsilon))) <= Fraction(delta)
            case ZCDP(rho=rho):
                return rounded_up(self.rho()) <= Fraction(rho)
            case GDP(mu=mu):
                return rounded_up(self._mu_squared()) <= Fraction(mu) ** 2
            case RenyiDP(order=order, epsilon=epsilon):
                pure = rounded_up(self.epsilon()) <= Fraction(epsilon)  # D_order never exceeds the largest log ratio
                return pure or rounded_up(self._renyi(Fraction(order))) <= Fraction(epsilon)
            case _:
                raise expected("guarantee", guarantee, "to be one of the definitions in tacit.privacy.guarantees")

    @abstractmethod
    def to_plain(self) -> dict[str, Any]:
        """A JSON table from which `event_from_plain` makes the same event: rationals are written "p/q"."""


@dataclass(frozen=True, init=False)
class LaplaceEvent(Event):
    """Discrete Laplace noise on an integer vector, entry i with scale s_i.

    ``epsilon`` = max over pairs of records of sum_i |D_i| / s_i, D the difference of their statistics (a weighted L1
    norm); ``grain`` = min_i s_i, the smallest scale in lattice units.

    Proof: P(k) / Q(k) = prod_i e^{(|k_i - D_i| - |k_i|) / s_i} <= e^epsilon by the triangle inequality, so the event is
    epsilon-DP, and rho, mu and delta follow from that alone. The Renyi curve is sharper: `discrete_laplace_renyi`.
    """

    kind: ClassVar[str] = "laplace"
    pure: Fraction
    grain: int

    def __init__(self, epsilon: Real, grain: int) -> None:
        object.__setattr__(self, "pure", rational("epsilon", epsilon))
        object.__setattr__(self, "grain", whole("grain", grain))

    def epsilon(self) -> Price:
        """The pure epsilon, exact."""
        return self.pure

    def rho(self) -> Price:
        """The rho of any epsilon-DP event: `pure_to_zcdp`."""
        return pure_to_zcdp(float(self.pure))

    def _mu_squared(self) -> Price:
        return pure_to_gdp(float(self.pure)) ** 2

    def _renyi(self, order: Fraction) -> Price:
        pure, a = float(self.pure), float(order)
        # The first is the smaller one unless the entries that move have scales far above the smallest.
        return min(discrete_laplace_renyi(pure, a, self.grain), pure_to_renyi(pure, a))

    def _delta(self, epsilon: Fraction) -> float:
        return pure_to_delta(self.pure, epsilon)

    def to_plain(self) -> dict[str, Any]:
        return {"kind": self.kind, "epsilon": written(self.pure), "grain": self.grain}


@dataclass(frozen=True, init=False)
class GaussianEvent(Event):
    """Discrete Gaussian noise on an integer vector, entry i with parameter sigma_i, or a Gaussian rounded to integers.

    ``mu_squared`` = max over pairs of records of sum_i (D_i / sigma_i)^2 (a weighted squared L2 norm); ``slack`` = the
    total variation distance, at most, between the noise vector as drawn and a Gaussian vector rounded to integers.

    Proof: for the discrete Gaussian D_a <= a D^2 / (2 sigma^2) for integer shifts D (Canonne, Kamath, Steinke 2020,
    Proposition 5), and divergences of independent entries add, so rho = mu_squared / 2; a rounded Gaussian has it by
    post-processing. An integer shift commutes with rounding, so the rounded Gaussian is a post-processing of N(0, 1)
    against N(mu, 1) and has its delta (`gaussian`); the noise as drawn pays `approximate_sampler_delta` for the slack.
    mu itself is claimed only where the slack is 0.
    """

    kind: ClassVar[str] = "gaussian"
    mu_squared: Fraction
    slack: Fraction

    def __init__(self, mu_squared: Real, slack: Real) -> None:
        object.__setattr__(self, "mu_squared", rational("mu_squared", mu_squared))
        object.__setattr__(self, "slack", rational("slack", slack, zero=True))
        if self.slack >= 1:
            raise expected("slack", slack, "to be less than 1")

    def epsilon(self) -> Price:
        """Infinite: a Gaussian tail has no pure epsilon."""
        return math.inf

    def rho(self) -> Price:
        """mu_squared / 2, exact."""
        return self.mu_squared / 2

    def _mu_squared(self) -> Price:
        return self.mu_squared if self.slack == 0 else math.inf

    def _renyi(self, order: Fraction) -> Price:
        return order * self.mu_squared / 2

    def _delta(self, epsilon: Fraction) -> float:
        ideal = gaussian.delta_exact(epsilon, self.mu_squared)
        drawn = approximate_sampler_delta(float_above(epsilon), ideal, self.slack)
        return drawn if self.slack == 0 else min(drawn, zcdp_to_delta(self.mu_squared / 2, epsilon))

    def to_plain(self) -> dict[str, Any]:
        return {"kind": self.kind, "mu_squared": written(self.mu_squared), "slack": written(self.slack)}


@dataclass(frozen=True, init=False)
class PureEvent(Event):
    """Randomised response, and anything else whose only proof is a pure ``epsilon``.

    Proof: |ln(P/Q)| <= epsilon makes randomised response the worst pair; each price is its conversion from there.
    """

    kind: ClassVar[str] = "pure"
    pure: Fraction

    def __init__(self, epsilon: Real) -> None:
        object.__setattr__(self, "pure", rational("epsilon", epsilon))

    def epsilon(self) -> Price:
        """The pure epsilon, exact."""
        return self.pure

    def rho(self) -> Price:
        return pure_to_zcdp(float(self.pure))

    def _mu_squared(self) -> Price:
        return pure_to_gdp(float(self.pure)) ** 2

    def _renyi(self, order: Fraction) -> Price:
        return pure_to_renyi(float(self.pure), float(order))

    def _delta(self, epsilon: Fraction) -> float:
        return pure_to_delta(self.pure, epsilon)

    def to_plain(self) -> dict[str, Any]:
        return {"kind": self.kind, "epsilon": written(self.pure)}


@dataclass(frozen=True, init=False)
class BoundedRangeEvent(Event):
    """A draw whose log ratio ln(P/Q) lies, for each pair, in some interval of length ``epsilon``.

    Proof: see `bounded_range` for each price. The interval holds 0, so epsilon-DP follows.
    """

    kind: ClassVar[str] = "bounded-range"
    pure: Fraction

    def __init__(self, epsilon: Real) -> None:
        object.__setattr__(self, "pure", rational("epsilon", epsilon))

    def epsilon(self) -> Price:
        """The pure epsilon, exact."""
        return self.pure

    def rho(self) -> Price:
        """The least one that is proved; for a tiny epsilon epsilon^2 / 8, which needs no rounding up."""
        return min(bounded_range.zcdp(self.pure), bounded_range.simple_zcdp(self.pure), key=rounded_up)

    @property
    def _no_less(self) -> Fraction:
        """The range, or 1e-100 if that is longer, which costs no less: squares of smaller floats would be 0."""
        return max(self.pure, Fraction(1, 10**100)) if self.pure else self.pure

    def _mu_squared(self) -> Price:
        return bounded_range.gdp_mu(self._no_less) ** 2

    def _renyi(self, order: Fraction) -> Price:
        return bounded_range.renyi(float(self._no_less), float(order))

    def _delta(self, epsilon: Fraction) -> float:
        return bounded_range.delta(self._no_less, epsilon)

    def to_plain(self) -> dict[str, Any]:
        return {"kind": self.kind, "epsilon": written(self.pure)}


@dataclass(frozen=True, init=False)
class RenyiEvent(Event):
    """One point of a Renyi curve: D_order <= ``epsilon`` at this ``order``, and nothing else is known.

    Proof: D_a grows with a (van Erven and Harremoes 2014, Theorem 3), so the bound holds at smaller orders as well. One
    order says nothing about the largest log ratio, and zCDP and GDP need every order: these prices are infinite.
    """

    kind: ClassVar[str] = "renyi"
    order: Fraction
    divergence: Fraction

    def __init__(self, order: Real, epsilon: Real) -> None:
        object.__setattr__(self, "order", rational("order", order))
        object.__setattr__(self, "divergence", rational("epsilon", epsilon))
        if float_below(self.order) <= 1:
            raise expected("order", order, "to be above 1, in a float too")

    def _renyi(self, order: Fraction) -> Price:
        return self.divergence if order <= self.order else math.inf

    def _delta(self, epsilon: Fraction) -> float:
        # The order as a float must not be above the exact one: nothing is known there.
        return renyi_point_to_delta(float_below(self.order), self.divergence, epsilon)

    def to_plain(self) -> dict[str, Any]:
        return {"kind": self.kind, "order": written(self.order), "epsilon": written(self.divergence)}


@dataclass(frozen=True, init=False)
class ResponseGaussianEvent(Event):
    """Randomised response among ``levels`` values with pure ``epsilon``, beside a `GaussianEvent` with its own coins.

    Proof: the two are independent, so rho, mu^2 and D_a add up (as in `Composition`). For delta see
    `randomized_response_joint`.
    """

    kind: ClassVar[str] = "response-gaussian"
    response: PureEvent
    levels: int
    vector: GaussianEvent

    def __init__(self, epsilon: Real, levels: int, mu_squared: Real, slack: Real) -> None:
        object.__setattr__(self, "response", PureEvent(epsilon))
        object.__setattr__(self, "levels", whole("levels", levels, least=2))
        object.__setattr__(self, "vector", GaussianEvent(mu_squared, slack))

    def epsilon(self) -> Price:
        """Infinite, as the vector's is."""
        return math.inf

    def rho(self) -> Price:
        """The sum of both parts'."""
        return float(self.response.rho() + self.vector.rho())

    def _mu_squared(self) -> Price:
        return self.response.mu() ** 2 + self.vector.mu() ** 2

    def _renyi(self, order: Fraction) -> Price:
        return self.response.renyi(float(order)) + self.vector.renyi(float(order))

    def _delta(self, epsilon: Fraction) -> float:
        return randomized_response_joint.delta(self.vector.delta, self.response.pure, self.levels, epsilon)

    def to_plain(self) -> dict[str, Any]:
        return {**self.vector.to_plain(), **self.response.to_plain(), "kind": self.kind, "levels": self.levels}


_KINDS: dict[str, type[Event]] = {
    event.kind: event
    for event in (LaplaceEvent, GaussianEvent, PureEvent, BoundedRangeEvent, RenyiEvent, ResponseGaussianEvent)
}


def event_from_plain(mapping: object) -> Event:
    """Read what `Event.to_plain` wrote, exactly."""
    if not isinstance(mapping, Mapping):
        raise expected("event", mapping, "to be a table with a kind")
    plain: dict[str, Any] = {
        str(key): event_from_plain(value) if isinstance(value, Mapping) else read(value)
        for key, value in mapping.items()
    }
    kind = plain.pop("kind", None)
    kinds = _KINDS if isinstance(kind, str) and kind in _KINDS else _all_kinds()
    if not isinstance(kind, str) or kind not in kinds:
        raise expected("event kind", kind, f"to be one of {', '.join(kinds)}{did_you_mean(kind, kinds)}")
    names = signature(kinds[kind]).parameters
    if set(plain) != set(names):
        raise expected("event", sorted(plain), f"to have exactly the entries {', '.join(names)} besides its kind")
    return kinds[kind](**plain)


def _all_kinds() -> dict[str, type[Event]]:
    """Those of this file, and those of posterior draws and of many noisy steps, which are built on them."""
    from tacit.privacy.approximate_event import ApproximateEvent, AssumedEvent
    from tacit.privacy.conjugate_event import ConjugateEvent
    from tacit.privacy.repeated_event import RepeatedEvent
    from tacit.privacy.subsampled_gaussian import SubsampledGaussian

    further = (RepeatedEvent, ApproximateEvent, AssumedEvent, ConjugateEvent, SubsampledGaussian)
    return {**_KINDS, **{kind.kind: kind for kind in further}}
