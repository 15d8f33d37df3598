"""A number in many groups that inform each other: y ~ (1 | g)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from tacit._support.printable import in_prose
from tacit.bibliography import HOFFMAN_2014, Paper
from tacit.errors import expected
from tacit.models.effects import EffectDraws, condition
from tacit.models.gram_layout import site_noises
from tacit.models.groups import MOST_GROUPS
from tacit.models.model import Example, Method, Prior, Problem
from tacit.models.prior_draws import largest_share_outside
from tacit.models.regression import Regression
from tacit.models.support import POSITIVE
from tacit.models.varying_prior import VaryingPrior
from tacit.runtime.chain import Arrays, Chain, SamplerSettings
from tacit.schema import Schema
from tacit.statistics.factors import Factors
from tacit.statistics.group_response import GroupResponse

_MOST_SHOWN = 20  # groups that have a sentence each
_TRIES, _FEW_OUTSIDE = 1000, 0.002  # draws of parameters and rows; the share of values outside the bounds
_NAIVE = 1e-2  # rows: the noise that the naive method knows of
_GELMAN = Paper(
    "gelman2006",
    "article",
    ("Gelman, Andrew",),
    "Prior Distributions for Variance Parameters in Hierarchical Models",
    "Bayesian Analysis",
    2006,
)


@dataclass(frozen=True)
class VaryingRegression(Regression):
    """y = theta + u_g + e: ``formula`` is y ~ (1 | g), and each declared level of g has an effect u_g of its own.

    Released: `GroupResponse`. The effects are draws from N(0, ``spread``^2) whose standard deviation is learned, so
    that a
    level of few rows is moved towards the others (partial pooling); e is N(0, ``sigma``^2) for every row.
    ``group_mean`` is each level's expected response in the units of the data; ``theta``, ``sigma``, ``spread`` and
    ``effect`` are in mapped units.
    """

    family: ClassVar[str] = "varying"
    about: ClassVar[str] = "the mean of a number in many groups that inform each other"
    papers: ClassVar[tuple[Paper, ...]] = (_GELMAN,)
    varies: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.radius is not None:
            raise expected("radius", self.radius, 'to be left out in the family "varying"')

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """Costs by clinic."""
        schema = Schema(cost=(0, 100), clinic=[f"c{i}" for i in range(8)])
        narrow = {"level": 0.2, "spread": 0.12, "sigma": 0.15}
        return (Example(cls("cost ~ (1 | clinic)"), schema, narrow, quick=False, always=False),)

    def by(self, schema: Schema) -> Factors:
        """The groups; refuses what is not built."""
        formula = self.design(schema).formula
        if formula.varying is None:
            raise expected("formula", self.formula, "to have a term (1 | g); without one it is of the family 'linear'")
        if formula.terms or formula.offsets:
            raise expected(
                "formula",
                self.formula,
                f"to have (1 | {formula.varying.column}) alone: other terms beside it, and slopes that vary, are not "
                "built",
            )
        levels = tuple(map(str, schema.category(formula.varying.column).levels))
        if not 3 <= len(levels) <= MOST_GROUPS:
            raise expected("formula", self.formula, f"to have 3 to {MOST_GROUPS} levels behind |, not {len(levels)}")
        return Factors((formula.varying.column,), (levels,))

    def statistic(self, schema: Schema) -> GroupResponse:
        """Rows and sums of the response by group, and its sum of squares."""
        return GroupResponse(self.design(schema).number_response, self.by(schema))

    def default_prior(self, schema: Schema) -> VaryingPrior:
        """Weak, and the same for all bounds."""
        return VaryingPrior()

    def draw_parameters(self, prior: Prior, schema: Schema, rng: Any) -> Arrays:
        """The intercept, sigma, the spread, and the effect of every level."""
        import numpy as np

        assert isinstance(prior, VaryingPrior)
        theta, spread = prior.level * rng.standard_normal(1), np.float64(prior.spread * abs(rng.standard_normal()))
        effect = spread * rng.standard_normal(self.by(schema).size)
        sigma = np.float64(prior.sigma * abs(rng.standard_normal()))
        number = self.design(schema).number_response
        mean = number.offset + number.scale * (theta + effect)
        return {"theta": theta, "sigma": sigma, "spread": spread, "effect": effect, "group_mean": mean}

    def draw_together(self, prior: Prior, schema: Schema, n: int, rng: Any) -> tuple[Arrays, Arrays]:
        """Both drawn anew until few rows lie outside the bounds: clamping is no part of the model."""
        tries = (super(VaryingRegression, self).draw_together(prior, schema, n, rng) for _ in range(_TRIES))
        found = next((one for one in tries if largest_share_outside(one[1], schema) <= _FEW_OUTSIDE), None)
        return found or super().draw_together(prior, schema, n, rng)

    def draw_rows(self, parameters: Arrays, schema: Schema, n: int, rng: Any) -> Arrays:
        """Sizes of groups as uniform as shares can be, the response from the model."""
        import numpy as np

        by, number = self.by(schema), self.design(schema).number_response
        codes = rng.choice(by.size, size=n, p=rng.dirichlet(np.ones(by.size)))
        theta, effect = np.asarray(parameters["theta"]), np.asarray(parameters["effect"])
        mapped = theta[0] + effect[codes] + float(np.asarray(parameters["sigma"])) * rng.standard_normal(n)
        levels = schema.category(by.columns[0]).levels
        return {by.columns[0]: [levels[code] for code in codes], number.name: number.offset + number.scale * mapped}

    @property
    def methods(self) -> Mapping[str, Method]:
        """By Hamiltonian steps, the noise known; and the released sums taken for the exact ones."""
        return {
            "by-group": Method(_by_group, thin=2, releases=True, unknown_n=True, papers=(HOFFMAN_2014,)),
            "naive": Method(_naive, thin=2),
        }

    def mean_response(self, draws: Arrays, schema: Schema, new: Any) -> Any:
        """Of the named level, without the scatter of rows."""
        cells = self.design(schema).parse(new)
        return draws["group_mean"][:, cells[self.by(schema).columns[0]]]

    def predict(self, draws: Arrays, schema: Schema, new: Any, rng: Any) -> Any:
        """The response of rows of the named level, their own scatter included."""
        mean = self.mean_response(draws, schema, new)
        scatter = self.design(schema).number_response.scale * draws["sigma"][:, None]
        return mean + scatter * rng.standard_normal(mean.shape)

    def coefficients(self, draws: Arrays, schema: Schema) -> dict[str, Any]:
        """The mean of all levels, sigma and the spread, in the units of the data."""
        number = self.design(schema).number_response
        level = number.offset + number.scale * draws["theta"][..., 0]
        scaled = {name: number.scale * draws[name] for name in ("sigma", "spread")}
        return {"Intercept": level, **scaled}

    def effects(self, draws: Arrays, schema: Schema) -> list[EffectDraws]:
        """How far groups lie apart, and the mean of each where they are few."""
        number, by = self.design(schema).number_response, self.by(schema)
        column, outcome = by.columns[0], in_prose(number.name)
        before = f"The levels of {in_prose(column)} differ in {outcome} by a standard deviation of "
        found = [EffectDraws(f"sd by {column}", "amount", number.scale * draws["spread"], before)]
        for i, level in enumerate(by.labels if by.size <= _MOST_SHOWN else ()):
            before = f"{condition(column, level)}the mean of {outcome} is "
            found.append(EffectDraws(level, "amount", draws["group_mean"][..., i], before))
        return found

    @property
    def sums_must_fit(self) -> bool:
        """They need not: any sums that rows can have fit."""
        return False

    @property
    def supports(self) -> Mapping[str, str]:
        """Where the draws lie."""
        return {"sigma": POSITIVE, "count": POSITIVE}

    def dims(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        """The mean and the size of each level, beside what they follow from."""
        group = ("group",)
        return {
            "theta": ("coefficient",),
            "sigma": (),
            "spread": (),
            "effect": group,
            "group_mean": group,
            "count": group,
        }

    def coords(self, schema: Schema) -> dict[str, list[str]]:
        """The intercept, and the levels."""
        return {"coefficient": self.design(schema).names, "group": list(self.by(schema).labels)}


def _by_group(problem: Problem, settings: SamplerSettings) -> Chain:
    """From the noise of the releases."""
    (site,) = problem.sites
    return _chain(problem, site_noises(site, problem.statistic.unit, len(problem.statistic.entries)), settings)


def _chain(problem: Problem, noises: Any, settings: SamplerSettings) -> Chain:
    import jax.numpy as jnp

    from tacit.samplers.varying_intercept import GroupSums, VaryingScales, varying_chain

    model, prior, (site,) = problem.model, problem.prior, problem.sites
    assert isinstance(model, VaryingRegression)
    assert isinstance(prior, VaryingPrior)
    known = GroupSums(None if site.n is None else float(site.n), model.by(problem.schema).size, noises)
    chain = varying_chain(known, VaryingScales(prior.level, prior.spread, prior.sigma), settings)
    number = model.design(problem.schema).number_response

    def named(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        draws, info = chain(key, released)
        alpha = draws.pop("alpha")[:, None]
        found = {**draws, "theta": alpha, "group_mean": number.offset + number.scale * (alpha + draws["effect"])}
        return {**found, "n": jnp.sum(draws["count"], axis=1)} if problem.unknown_n else found, info

    return named


def _naive(problem: Problem, settings: SamplerSettings) -> Chain:
    """The same around the released sums, moved to where sums can be, with next to no noise."""
    import jax.numpy as jnp
    import numpy as np

    (site,) = problem.sites
    noises = site_noises(site, problem.statistic.unit, len(problem.statistic.entries))
    quiet = np.full_like(noises.scales, _NAIVE)
    chain = _chain(problem, replace(noises, scales=quiet, spreads=quiet, laplace=(False,)), settings)

    def taken(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        return chain(key, released.at[:-1].set(jnp.maximum(released[:-1], 0.5)))

    return taken
