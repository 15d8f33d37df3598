"""Shares in many groups that inform each other: y ~ (1 | g) for a response of two levels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from tacit._support.printable import in_prose
from tacit.bibliography import GELMAN_2006, HOFFMAN_2014, Paper
from tacit.errors import expected
from tacit.models.effects import EffectDraws, EffectScale, condition
from tacit.models.gram_layout import site_noises
from tacit.models.groups import MOST_GROUPS
from tacit.models.model import Example, Method, Prior, Problem
from tacit.models.regression import Regression
from tacit.models.support import POSITIVE, SHARE
from tacit.models.varying_logistic_prior import VaryingLogisticPrior
from tacit.runtime.chain import Arrays, Chain, SamplerSettings
from tacit.schema import Category, Schema
from tacit.statistics.cell_table import CellTable
from tacit.statistics.factors import Factors

_NAIVE = 0.05  # rows: the noise that the naive method knows of


@dataclass(frozen=True)
class VaryingLogisticRegression(Regression):
    """logit P(y) = theta + u_g: ``formula`` is y ~ (1 | g), and each declared level of g has an effect u_g of its own.

    Released: how many rows of each level of g have each level of y, `CellTable`. The effects are draws from N(0,
    ``spread``^2) whose standard deviation is learned, so that a level of few rows is moved towards the others (partial
    pooling). ``group_share`` is the probability of the second level of y in each level of g.

    ```pycon
    >>> schema = tacit.Schema(smokes=["no", "yes"], clinic=["a", "b", "c"])
    >>> len(tacit.VaryingLogisticRegression("smokes ~ (1 | clinic)").statistic(schema).entries)
    6

    ```
    """

    family: ClassVar[str] = "varying-logistic"
    about: ClassVar[str] = "the share of yes in many groups that inform each other"
    papers: ClassVar[tuple[Paper, ...]] = (GELMAN_2006,)
    varies: ClassVar[bool] = True
    effect_scale: ClassVar[EffectScale] = "odds"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.radius is not None:
            raise expected("radius", self.radius, 'to be left out in the family "varying-logistic"')

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """Smokers by clinic."""
        schema = Schema(smokes=["no", "yes"], clinic=[f"c{i}" for i in range(8)])
        return (Example(cls("smokes ~ (1 | clinic)"), schema, quick=False, always=False),)

    def by(self, schema: Schema) -> Factors:
        """The groups; refuses what is not built."""
        formula = self.design(schema).formula
        if formula.varying is None:
            raise expected(
                "formula", self.formula, "to have a term (1 | g); without one it is of the family 'logistic'"
            )
        if formula.terms or formula.offsets:
            raise expected(
                "formula",
                self.formula,
                f"to have (1 | {formula.varying.column}) alone: a logistic regression with other terms beside it, or "
                "with slopes that vary, is not built",
            )
        response = schema.declared(formula.response)
        if not isinstance(response, Category) or len(response.levels) != 2:
            raise expected(
                "formula", self.formula, f"to have a response of two levels: declare them for {formula.response!r}"
            )
        levels = tuple(map(str, schema.category(formula.varying.column).levels))
        if not 3 <= len(levels) <= MOST_GROUPS:
            raise expected("formula", self.formula, f"to have 3 to {MOST_GROUPS} levels behind |, not {len(levels)}")
        return Factors((formula.varying.column,), (levels,))

    def statistic(self, schema: Schema) -> CellTable:
        """Rows by group and response."""
        by, name = self.by(schema), self.design(schema).formula.response
        return CellTable(Factors((name,), (tuple(map(str, schema.category(name).levels)),)), by)

    def default_prior(self, schema: Schema) -> VaryingLogisticPrior:
        """Weak: before the release a share may be nearly 0 or nearly 1."""
        return VaryingLogisticPrior()

    def draw_parameters(self, prior: Prior, schema: Schema, rng: Any) -> Arrays:
        """The intercept, the spread, and the effect of every level."""
        import numpy as np

        assert isinstance(prior, VaryingLogisticPrior)
        theta, spread = prior.level * rng.standard_normal(1), np.float64(prior.spread * abs(rng.standard_normal()))
        effect = spread * rng.standard_normal(self.by(schema).size)
        return {"theta": theta, "spread": spread, "effect": effect, "group_share": 1 / (1 + np.exp(-theta - effect))}

    def draw_rows(self, parameters: Arrays, schema: Schema, n: int, rng: Any) -> Arrays:
        """Sizes of groups as uniform as shares can be, the response from the model."""
        import numpy as np

        by, name = self.by(schema), self.design(schema).formula.response
        codes = rng.choice(by.size, size=n, p=rng.dirichlet(np.ones(by.size)))
        answers = rng.random(n) < np.asarray(parameters["group_share"])[codes]
        no, yes = schema.category(name).levels
        levels = schema.category(by.columns[0]).levels
        return {by.columns[0]: [levels[code] for code in codes], name: [yes if one else no for one in answers]}

    @property
    def methods(self) -> Mapping[str, Method]:
        """The counts summed out, group by group; and the released counts taken for the exact ones."""
        return {
            "by-group": Method(_by_group, thin=2, unknown_n=True, papers=(HOFFMAN_2014,)),
            "naive": Method(_naive, thin=2),
        }

    def mean_response(self, draws: Arrays, schema: Schema, new: Any) -> Any:
        """The probability of the second level in the named group."""
        cells = self.design(schema).parse(new)
        return draws["group_share"][:, cells[self.by(schema).columns[0]]]

    def predict(self, draws: Arrays, schema: Schema, new: Any, rng: Any) -> Any:
        """Answers, 0 or 1, of rows of the named group."""
        mean = self.mean_response(draws, schema, new)
        return (rng.random(mean.shape) < mean) * 1.0

    def coefficients(self, draws: Arrays, schema: Schema) -> dict[str, Any]:
        """The mean of all levels and their standard deviation, in log odds."""
        return {"Intercept": draws["theta"][..., 0], "spread": draws["spread"]}

    def effects(self, draws: Arrays, schema: Schema) -> list[EffectDraws]:
        """How far groups lie apart, and the share of each."""
        by, name = self.by(schema), self.design(schema).formula.response
        column, yes = by.columns[0], schema.category(name).levels[1]
        before = (
            f"The {by.size} levels of {in_prose(column)} differ in the log odds of {in_prose(name)} by a standard "
            "deviation of "
        )
        found = [EffectDraws(f"sd by {column}", "amount", draws["spread"], before)]
        for i, level in enumerate(by.labels):
            after = f" have {in_prose(name)} = {in_prose(str(yes))}"
            values = draws["group_share"][..., i]
            found.append(EffectDraws(level, "share", values, condition(column, level), after))
        return found

    @property
    def supports(self) -> Mapping[str, str]:
        """Where the draws lie."""
        return {"group_share": SHARE, "spread": POSITIVE}

    def dims(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        """The share of each level, beside what it follows from."""
        return {"theta": ("coefficient",), "spread": (), "effect": ("group",), "group_share": ("group",)}

    def coords(self, schema: Schema) -> dict[str, list[str]]:
        """The intercept, and the levels."""
        return {"coefficient": self.design(schema).names, "group": list(self.by(schema).labels)}


def _by_group(problem: Problem, settings: SamplerSettings) -> Chain:
    """From the noise of the release."""
    noises = _noises(problem)
    return _chain(problem, noises.scales, settings, laplace=noises.laplace[0])


def _noises(problem: Problem) -> Any:
    (site,) = problem.sites
    return site_noises(site, problem.statistic.unit, len(problem.statistic.entries))


def _chain(problem: Problem, scales: Any, settings: SamplerSettings, *, laplace: bool) -> Chain:
    from tacit.samplers.varying_shares import GroupCounts, varying_shares_chain

    prior, (site,) = problem.prior, problem.sites
    assert isinstance(prior, VaryingLogisticPrior)
    own = scales[0][: len(problem.statistic.entries)].reshape(-1, 2)
    known = GroupCounts(None if site.n is None else float(site.n), own, laplace)
    return varying_shares_chain(known, prior.level, prior.spread, settings)


def _naive(problem: Problem, settings: SamplerSettings) -> Chain:
    """The same around the released counts, moved to where counts can be, with next to no noise."""
    import jax.numpy as jnp
    import numpy as np

    chain = _chain(problem, np.full_like(_noises(problem).scales, _NAIVE), settings, laplace=False)
    return lambda key, released: chain(key, jnp.maximum(jnp.round(released), 0.0))
