"""Exact draws from the tempered posterior of a conjugate family (geumlek2017, Algorithms 1 to 3).

The posterior with data weight r and prior scale m is the family's own with its prior's coordinates divided by m and the
rows' sums multiplied by r: direct (r = m = 1), diffused (r < 1) or concentrated (m < 1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from tacit.errors import expected
from tacit.mechanisms.posterior_sample.loss import SAMPLERS, Loss, Numbers, Settings
from tacit.models.conjugate import Conjugacy, ConjugateModel
from tacit.models.model import Model
from tacit.noise.continuous import log_gamma_number, normal, shares
from tacit.noise.entropy import Entropy
from tacit.privacy.basis import Basis
from tacit.privacy.conjugate_event import ConjugateEvent
from tacit.privacy.conjugate_renyi import gaussian_mu_squared
from tacit.privacy.events import Event, GaussianEvent
from tacit.privacy.guarantees import ApproxDP, Guarantee, RenyiDP
from tacit.schema import Schema
from tacit.statistics.collector import Sums

_SMALLEST = 1e-9  # weight or scale: below it a draw says nothing about the rows
_HALVINGS = 60


@dataclass(frozen=True)
class ConjugateLoss(Loss):
    """The log-likelihood of a conjugate family, drawn from exactly."""

    conjugacy: Conjugacy
    sampling: Settings

    @property
    def settings(self) -> Settings:
        """Those it was built with."""
        return self.sampling

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the statistic."""
        return self.conjugacy.statistic.columns

    @property
    def parameters(self) -> tuple[str, ...]:
        """The family's."""
        return self.conjugacy.parameters

    @property
    def bounds(self) -> tuple[float, float]:
        """Shares lie in [0, 1], rates above 0."""
        kind = self.conjugacy.kind
        if kind == "normal":
            return -math.inf, math.inf
        return 0.0, math.inf if kind.startswith("gamma") else 1.0

    def calibrate(self, budget: Guarantee) -> dict[str, float]:
        """The largest ``weight`` (diffused) or prior ``scale`` (concentrated) that meets the budget, by bisection.

        The lower end is returned, where the event was priced and met the budget; that the price grows in between was
        found numerically and nothing rests on it.
        """
        return dict(_calibrated(self, budget))

    def event(self, numbers: Numbers) -> Event:
        """A `ConjugateEvent`, or for a normal mean a `GaussianEvent`.

        Proof: a draw from the posterior of the rows, with coins of its own, rounded to the grid (post-processing). One
        record adds between 0 and r step to a coordinate, so `conjugate_worst` and `beta_profile` cover all pairs; the
        statistic's lattice only makes fewer of them. For a normal mean see `gaussian_mu_squared`: records lie in
        [-1, 1], so the width is 2; k draws have k mu^2. n not declared counts as 1, where mu is largest. []
        """
        weight, scale, n = self._weight(numbers), self._scale(numbers), self.settings.n
        draws, found = self.settings.draws, self.conjugacy
        prior = tuple(value / scale for value in found.prior)
        match found.kind:
            case "normal":
                variance = found.step**2
                one = gaussian_mu_squared(weight, Fraction(2), variance, found.prior[1] / scale, n or 1)
                return GaussianEvent(draws * one, 0)
            case "gamma-shape":
                return ConjugateEvent("gamma-shape", prior[:1], weight * found.step, 0, draws)
            case "gamma-rate":
                if n is None:
                    raise expected("n", n, "to be declared: the price of an exponential's draw depends on it")
                return ConjugateEvent("gamma-rate", (prior[0] + weight * n, prior[1]), weight * found.step, 0, draws)
            case "dirichlet":
                return ConjugateEvent("dirichlet", prior, weight, 0, draws)
            case kind:
                return ConjugateEvent(kind, prior, weight, n or 0, draws)

    @property
    def basis(self) -> Basis:
        """A proof: draws are exact, and never fail.

        Proof: gamma and normal numbers are drawn by rejection until one is accepted, whatever the sums are. []
        """
        return SAMPLERS[self.sampler]

    def assumes(self, numbers: Numbers) -> tuple[str, ...]:
        """Ideal arithmetic, and a clock that nobody reads."""
        return ("exact draw, ideal arithmetic", "nobody sees how long the draw took")

    def collector(self) -> Sums:
        """Exact sums of no rows."""
        return Sums(self.conjugacy.statistic)

    def coordinates(self, numbers: Numbers) -> tuple[float, ...]:
        """The prior's coordinates as used; a normal mean's own mean is not scaled."""
        scale, prior = self._scale(numbers), self.conjugacy.prior
        if self.conjugacy.kind == "normal":
            return float(prior[0]), float(prior[1] / scale)
        return tuple(float(value / scale) for value in prior)

    def draw(self, numbers: Numbers, collected: Any, n: int, entropy: Entropy) -> Sequence[Sequence[float] | None]:
        """Gamma, Dirichlet or normal numbers from fresh bytes."""
        statistic = self.conjugacy.statistic
        sums = [total / statistic.unit for total in collected.totals]
        prior, weight = self.coordinates(numbers), float(self._weight(numbers))
        return [self._one(prior, weight, sums, n, entropy) for _ in range(self.settings.draws)]

    def _one(self, prior: Sequence[float], r: float, sums: Sequence[float], n: int, entropy: Entropy) -> list[float]:
        step = float(self.conjugacy.step)
        match self.conjugacy.kind:
            case "dirichlet":
                return shares([a + r * count for a, count in zip(prior, sums, strict=True)], entropy)
            case "gamma-shape":
                log = log_gamma_number(prior[0] + r * step * sums[0], entropy)
                return [math.exp(log - math.log(prior[1] + r * n))]
            case "gamma-rate":
                log = log_gamma_number(prior[0] + r * n, entropy)
                return [math.exp(log - math.log(prior[1] + r * step * sums[0]))]
            case "normal":
                precision = prior[1] + r * n / step**2
                mean = (prior[0] * prior[1] + r * sums[0] / step**2) / precision
                return [mean + normal(entropy) / math.sqrt(precision)]
            case _:
                return shares([prior[0] + r * (n - sums[0]), prior[1] + r * sums[0]], entropy)[1:]

    def _weight(self, numbers: Numbers) -> Fraction:
        return _share("weight", numbers.get("weight"))

    def _scale(self, numbers: Numbers) -> Fraction:
        return _share("scale", numbers.get("scale"))


def conjugate_loss(model: Model, schema: Schema, settings: Settings) -> ConjugateLoss:
    """The conjugate density of a plan, the mechanism's prior with public data folded in."""
    assert isinstance(model, ConjugateModel)
    if settings.sampler not in (None, "exact"):
        raise expected("sampler", settings.sampler, "to be exact for a conjugate family")
    if settings.gamma:
        raise expected("gamma", settings.gamma, "to be left out: draws of a conjugate family are exact")
    if settings.private != "record":
        raise expected("private", settings.private, "to be record: only regressions have a response")
    prior = model.default_prior(schema).replaced(settings.prior)
    if settings.public:
        prior = model.with_public(prior, settings.public, schema)
    return ConjugateLoss(model.conjugacy(schema, prior), settings)


@lru_cache(maxsize=512)
def _calibrated(loss: ConjugateLoss, budget: Guarantee) -> tuple[tuple[str, float], ...]:
    tempering = loss.settings.tempering

    def numbers(value: float) -> dict[str, float]:
        return {"weight": value if tempering == "diffused" else 1.0, "scale": value if tempering != "diffused" else 1.0}

    def meets(value: float) -> bool:
        return loss.event(numbers(value)).satisfies(budget)

    if meets(1.0):
        return tuple(numbers(1.0).items())
    if tempering == "direct":
        raise expected("tempering", tempering, f"to meet {budget.symbols}: untempered draws cost more; diffused would")
    low, high = math.log(_SMALLEST), 0.0
    if not meets(_SMALLEST):
        raise expected("budget", budget.symbols, _why_not(loss, budget))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if meets(math.exp(middle)) else (low, middle)
        if high - low < 1e-11:
            break
    return tuple(numbers(math.exp(low)).items())


def _why_not(loss: ConjugateLoss, budget: Guarantee) -> str:
    if isinstance(budget, ApproxDP | RenyiDP):
        return "to be met by a draw: with this prior even a faint trace of the data gives too much away"
    if loss.conjugacy.kind == "normal":
        return "to be mu, rho, an order with epsilon, or epsilon with delta: a normal law has no pure epsilon"
    return (
        "to be an order with epsilon, or epsilon with delta: the divergence of such draws is infinite from some order "
        "on, so that no pure epsilon, no rho and no mu holds"
    )


def _share(name: str, value: object) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise expected(name, value, "to be a number above 0 and at most 1")
    return Fraction(value)
