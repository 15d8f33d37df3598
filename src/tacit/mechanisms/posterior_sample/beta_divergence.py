"""The beta-divergence as a loss: posterior draws whose privacy asks nothing of the covariates (jewson2023).

``[mechanism]`` may say, beside what every posterior draw may,

    beta       the power; solved for from the budget where ``weight`` is said and beta is not
    weight     the weight of the loss; found from the budget and beta where it is not said. 1 is the paper's choice
    density    the model's density by name, where the family's own is not meant
    sigma_min  for normal models: the smallest standard deviation that the model allows, in the units of the response

and its prior has sd, the standard deviation of the coefficients in mapped units; normal models also ``shape`` and
``scale`` of the inverse gamma distribution of sigma^2 in mapped units, 1 and (2 sigma_min)^2 unless said. Linear
regression takes ``sd_per_sigma`` in place of sd: coefficients then have the standard deviation sd_per_sigma times sigma
(3 in the paper). With neither beta nor weight beta is `default_beta` and the weight is the largest that the budget
allows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tacit.errors import InputError, did_you_mean, expected
from tacit.mechanisms.posterior_sample.loss import DrawSettings, LossParameters, positive
from tacit.mechanisms.posterior_sample.row_loss import RowLoss
from tacit.mechanisms.posterior_sample.rows import ClampedResponse, Codes, ResponseMap
from tacit.mechanisms.posterior_sample.unclamped_rows import UnclampedRowMap
from tacit.mechanisms.targets import beta_densities as densities
from tacit.mechanisms.targets.bounded_density import BoundedDensity
from tacit.mechanisms.targets.network_densities import NetworkBernoulli, NetworkNormal
from tacit.models.model import Model
from tacit.models.network import Network
from tacit.models.poisson_regression import PoissonRegression
from tacit.models.regression import Regression
from tacit.noise.entropy import Entropy
from tacit.privacy.beta_divergence import beta_for, check_beta, default_beta, epsilon_of, weight_for
from tacit.privacy.events import BoundedRangeEvent, Event, Price
from tacit.privacy.guarantees import Guarantee
from tacit.privacy.repeated_event import RepeatedEvent
from tacit.schema import Schema
from tacit.statistics.design import sign

KEYS = ("beta", "weight", "density", "sigma_min")
MOST_IN_CELLS = 5  # coefficients of a part; each multiplies the cells by ten or twenty
_SD, _NETWORK_SD = 2.5, 1.0  # of a coefficient; of a weight (jewson2023, appendix B)


@dataclass(frozen=True)
class BetaLoss(RowLoss):
    """l = -f^b / b + (integral of f^beta) / beta for a ``density`` f, b = beta - 1."""

    density: BoundedDensity
    power: float | None = None
    """beta, where it is known already: a table of a density needs it as a plain number."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Those of the density."""
        return self.density.parameters

    def record_losses(self, theta: Any, x: Any, y: Any, numbers: LossParameters) -> Any:
        """The loss of every row (jewson2023, equation 4)."""
        import jax.numpy as jnp

        beta = numbers["beta"] if self.power is None else self.power
        powers = jnp.exp((beta - 1) * self.density.log_density(theta, x, y))
        return -powers / (beta - 1) + self.density.power_integral(theta, x, beta) / beta

    def prior_potential(self, theta: Any, numbers: LossParameters) -> Any:
        return self.density.prior_potential(theta)

    def difference_range(self, numbers: LossParameters) -> Price:
        """2 R(beta).

        Proof: at the top of `tacit.privacy.beta_divergence`; R is proved by the density's `LossRange`. []
        """
        return 2 * self.density.loss_range.at(numbers["beta"])

    def calibrate(self, budget: Guarantee) -> dict[str, float]:
        """beta and weight: the largest range of a draw that the budget allows, then whichever of the two is open."""
        epsilon = self._allowed(budget)
        said = self.settings.options
        beta, weight = said.get("beta"), said.get("weight")
        if beta is None and weight is not None:
            beta = beta_for(self.density.loss_range, epsilon, weight)
        elif beta is None:
            beta = default_beta(epsilon)
        allowed = weight_for(self.density.loss_range, beta, epsilon)
        if weight is None:
            weight = allowed
        elif epsilon_of(self.density.loss_range, beta, weight) > epsilon:
            raise expected("weight", weight, f"to be at most {allowed:.6g} for {budget.symbols} with beta = {beta:.6g}")
        found = {"beta": float(beta), "weight": float(weight)}
        if self.sampler == "rejection" and not self.in_cells:
            self._check_tries(found)
        return found

    def _allowed(self, budget: Guarantee) -> float:
        """The largest epsilon of one draw with which all draws meet the budget; nearly, from below."""
        if not self._priced(1e-9).satisfies(budget):
            why = "" if self.gamma() == 0 else f": gamma = {self.gamma():g} is part of delta, which must be larger"
            raise expected("budget", budget.symbols, f"to be within reach of posterior draws{why}")
        low, high = 1e-9, 2e-9
        while high < 1e6 and self._priced(high).satisfies(budget):
            low, high = high, 2 * high
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self._priced(middle).satisfies(budget) else (low, middle)
        return low * (1 - 1e-9)  # room for the roundings of beta and weight

    def _priced(self, epsilon: float) -> Event:
        one = BoundedRangeEvent(epsilon)
        return self.nearly(one if self.settings.draws == 1 else RepeatedEvent(one, self.settings.draws))

    def exact_event(self, numbers: LossParameters) -> Event:
        """That of every loss with a bounded range, for a beta and a weight that make sense.

        Proof: that of `RowLoss.exact_event`. []
        """
        self.density.checked_beta(check_beta(numbers.get("beta")))
        return super().exact_event(numbers)

    @property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """Those of the design, where the coefficients are all there is."""
        return self.rows.parts if self.density.linear_logistic else super().parts

    @property
    def in_cells(self) -> bool:
        """Whether rejection is that of `private_samplers.cell_rejection`, part by part, or from the prior."""
        return self.density.linear_logistic and max(map(len, self.parts)) <= MOST_IN_CELLS

    @property
    def _from_prior(self) -> bool:
        known = self.density.draws_prior and self.density.loss_range.ends(2.0) is not None
        return known and self.settings.n is not None

    @property
    def sampler(self) -> str:
        """A Markov chain, as the density is not log-concave; rejection where it is asked for and takes no age.

        Proof: of rejection, that its draws are exact and never fail: `private_samplers.cell_rejection` and
        `private_samplers.prior_rejection`. []
        """
        wanted = self.settings.sampler
        if wanted == "rejection":
            if not (self.in_cells or self._from_prior):
                raise expected(
                    "sampler",
                    wanted,
                    f"to be mcmc for loss beta-divergence, but for logistic regressions of up to {MOST_IN_CELLS} "
                    "coefficients and where few rows are declared as n",
                )
            return "rejection"
        if wanted not in (None, "mcmc"):
            raise expected("sampler", wanted, "to be mcmc for loss beta-divergence, which is not convex")
        return "mcmc"

    def draw(
        self, numbers: LossParameters, collected: Any, n: int, entropy: Entropy
    ) -> Sequence[Sequence[float] | None]:
        """By rejection, the no-U-turn sampler, or particles; then from unbounded numbers to those that are released."""
        if self.sampler == "rejection":
            return self._rejected(numbers, collected, entropy)
        if self.density.rugged:
            from tacit.private_samplers.particle_draws import draw_by_particles as by_sampler
        else:
            from tacit.private_samplers.nuts_draws import draw_by_nuts as by_sampler

        bound = replace(self, power=float(numbers["beta"]))
        x, y = collected.arrays()
        wide, k = self.density.wide, self.settings.draws
        found = by_sampler(bound, numbers, x, y, wide=wide, source=entropy, draws=k)
        return [self.released(draw) for draw in found]

    def _rejected(self, numbers: LossParameters, collected: Any, entropy: Entropy) -> Sequence[Sequence[float] | None]:
        x, y = collected.arrays()
        k = self.settings.draws
        if self.in_cells:
            import numpy as np

            from tacit.private_samplers.cell_rejection import draw_in_cells

            said = {"beta": float(numbers["beta"]), "weight": float(numbers["weight"]), "sd": self.density.sd}
            exact = np.empty((k, len(self.parameters)))
            for part in self.parts:
                exact[:, part] = draw_in_cells(x[:, part], y, **said, draws=k, source=entropy)
            return [[float(v) for v in draw] for draw in exact]
        from tacit.private_samplers.prior_rejection import draw_from_prior

        bound, prior = replace(self, power=float(numbers["beta"])), self.density.prior_draws
        ends = self._ends(numbers)
        found = draw_from_prior(bound, numbers, x, y, ends=ends, prior=prior, draws=k, source=entropy)
        return [self.released(draw) for draw in found]

    def _ends(self, numbers: LossParameters) -> tuple[float, float]:
        found = self.density.loss_range.ends(float(numbers["beta"]))
        assert found is not None
        return found

    def _check_tries(self, numbers: LossParameters) -> None:
        """Refuse rejection from the prior that nobody would wait for: what it costs is known before rows are read."""
        from tacit.private_samplers.prior_rejection import MOST_WORK, most_rows

        n, most = self.settings.n, most_rows(self._ends(numbers), float(numbers["weight"]))
        if n is not None and n > most:
            raise expected(
                "n",
                n,
                f"to be at most {most} for sampler rejection at this budget: with more rows a draw may take more than "
                f"{MOST_WORK:g} tries times rows",
            )

    def about_draws(self, numbers: LossParameters) -> str:
        """Which of the two kinds of rejection it is, and what it costs."""
        from tacit.private_samplers.prior_rejection import log_tries

        if self.sampler != "rejection":
            return ""
        if not self.in_cells:
            tries = math.exp(log_tries(self._ends(numbers), float(numbers["weight"]), self.settings.n or 0))
            return (
                "Draws are exact: by rejection from the prior, as the loss is bounded and rows are few. That takes "
                f"nothing of the budget, and at most {tries:.2g} tries a draw are expected, whatever the rows are."
            )
        parts = f"the {len(self.parts)} parts that no row shares are drawn apart, " if len(self.parts) > 1 else ""
        return (
            f"Draws are exact: {parts}by rejection under certified envelopes on boxes. That takes nothing of the "
            "budget, only time: how long depends on the rows."
        )

    def released(self, draw: Any) -> list[float] | None:
        """A point as the numbers that are released; None where one is not finite."""
        import numpy as np

        with np.errstate(all="ignore"):
            numbers = [float(v) for v in self.density.released(draw)]
        return numbers if np.all(np.isfinite([*draw, *numbers])) else None

    def theta_of(self, released: Any) -> Any:
        return self.density.theta_of(released)


# (model, schema, options, prior) -> the density and the response; raises where the model does not fit.
DensityBuilder = Callable[
    [Regression, Schema, Mapping[str, Any], Mapping[str, Any]], tuple[BoundedDensity, ResponseMap]
]


def _bernoulli(
    model: Regression, schema: Schema, options: Mapping[str, Any], prior: Mapping[str, Any]
) -> tuple[BoundedDensity, ResponseMap]:
    design = model.design(schema)
    return densities.BernoulliDensity(tuple(design.names), _sd(prior)), sign(design.formula.response, schema)


def _softmax(
    model: Regression, schema: Schema, options: Mapping[str, Any], prior: Mapping[str, Any]
) -> tuple[BoundedDensity, ResponseMap]:
    design = model.design(schema)
    name = design.formula.response
    levels = schema.category(name).levels
    names = tuple(f"{level}: {column}" for level in levels for column in design.names)
    return densities.Softmax(names, _sd(prior), len(levels)), Codes(name, name)


def _normal(
    model: Regression, schema: Schema, options: Mapping[str, Any], prior: Mapping[str, Any]
) -> tuple[BoundedDensity, ResponseMap]:
    design = model.design(schema)
    if "sigma_min" not in options:
        raise InputError(
            "Expected [mechanism] to say sigma_min, the smallest standard deviation of the response around its mean "
            "that the model allows, in the units of the response: without one a normal density has no bound."
        )
    response = design.number_response
    sigma_min = positive("sigma_min", options["sigma_min"]) / response.scale
    shape = positive("shape", prior.get("shape", 1.0))
    scale = positive("scale", prior.get("scale", 4 * sigma_min**2))
    kind, sd = densities.NormalDensity, _sd(prior)
    if "sd_per_sigma" in prior:
        if "sd" in prior:
            raise expected("prior sd", prior["sd"], "to be left out beside sd_per_sigma, which takes its place")
        kind, sd = densities.NormalOfSigma, positive("prior sd_per_sigma", prior["sd_per_sigma"])
    return kind(tuple(design.names), sd, sigma_min, shape, scale, response.scale), response


def _poisson(
    model: Regression, schema: Schema, options: Mapping[str, Any], prior: Mapping[str, Any]
) -> tuple[BoundedDensity, ResponseMap]:
    if not isinstance(model, PoissonRegression):
        raise expected("family", model.family, "to be poisson-regression for counts")
    design, name = model.design(schema), model.design(schema).formula.response
    density = densities.PoissonDensity(tuple(design.names), _sd(prior), model.link)
    return density, ClampedResponse(name, 0.0, float(model.most(schema)), name)


def _network(
    model: Regression, schema: Schema, options: Mapping[str, Any], prior: Mapping[str, Any]
) -> tuple[BoundedDensity, ResponseMap]:
    if not isinstance(model, Network):
        raise expected("family", model.family, "to be network for the density of one")
    names, sd = model.weights(schema), positive("prior sd", prior.get("sd", _NETWORK_SD))
    if model.classifies(schema):
        return NetworkBernoulli(names, sd, model.hidden), sign(model.design(schema).formula.response, schema)
    normal, response = _normal(model, schema, options, prior)
    assert isinstance(normal, densities.NormalDensity)
    scatter = normal.sigma_min, normal.shape, normal.scale, normal.unit
    return NetworkNormal(names, sd, *scatter, model.hidden), response


DENSITIES: dict[str, DensityBuilder] = {
    "bernoulli": _bernoulli,
    "softmax": _softmax,
    "normal": _normal,
    "poisson": _poisson,
    "network": _network,
}
OF_FAMILY = {
    "logistic": "bernoulli",
    "softmax": "softmax",
    "linear": "normal",
    "poisson-regression": "poisson",
    "network": "network",
}


def beta_divergence(model: Model, schema: Schema, settings: DrawSettings) -> BetaLoss:
    """The loss of a plan, refused where it does not fit."""
    options = settings.options
    if not isinstance(model, Regression) or ("density" not in options and model.family not in OF_FAMILY):
        raise expected("family", model.family, f"to be one of {', '.join(OF_FAMILY)} for loss beta-divergence")
    if model.radius is not None:
        raise expected("radius", model.radius, "to be left out for loss beta-divergence, which needs no bound")
    if settings.tempering != "diffused" or settings.private != "record" or settings.public:
        raise InputError(
            "Expected [mechanism] to leave out tempering, private and public for loss beta-divergence, which has none."
        )
    if "beta" in options:
        check_beta(options["beta"])
    if "weight" in options:
        positive("weight", options["weight"])
    name = options.get("density", OF_FAMILY.get(model.family))
    if not isinstance(name, str) or name not in DENSITIES:
        raise expected("density", name, f"to be one of {', '.join(DENSITIES)}{did_you_mean(name, DENSITIES)}")
    density, response = DENSITIES[name](model, schema, options, settings.prior)
    known = ("sd", "shape", "scale") if isinstance(density, densities.NormalDensity) else ("sd",)
    known += ("sd_per_sigma",) if name == "normal" else ()
    for key in settings.prior:
        if key not in known and name in OF_FAMILY.values():
            raise expected("prior", key, f"to be one of {', '.join(known)}{did_you_mean(key, known)}")
    if settings.sampler == "rejection" and not 1e-6 <= density.sd <= 1e6:
        raise expected("prior sd", density.sd, "to be a number from 1e-06 to 1e+06 for sampler rejection")
    return BetaLoss(UnclampedRowMap(model.design(schema).columns, response), settings, density)


def _sd(prior: Mapping[str, Any]) -> float:
    return positive("prior sd", prior.get("sd", _SD))
