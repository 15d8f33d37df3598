"""A number in many groups that inform each other: y ~ x + (1 | g), and y ~ x + (x | g)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from tacit._support.printable import in_prose
from tacit.bibliography import GELMAN_2006, HOFFMAN_2014, Paper
from tacit.errors import expected
from tacit.models.effects import EffectDraws, condition, response_words
from tacit.models.formula import Varying
from tacit.models.groups import MOST_GROUPS
from tacit.models.model import Example, Method, Prior, Problem
from tacit.models.prior_draws import largest_share_outside
from tacit.models.regression import Regression
from tacit.models.score_rows import draw_columns, raw_cells
from tacit.models.support import POSITIVE
from tacit.models.varying_layout import group_sums
from tacit.models.varying_prior import VaryingPrior
from tacit.runtime.chain import Arrays, Chain, SamplerSettings
from tacit.schema import Schema
from tacit.statistics.design import Scaled
from tacit.statistics.factors import Factors
from tacit.statistics.group_gram import GroupGram

_MOST_COLUMNS = 12
_TRIES, _FEW_OUTSIDE = 1000, 0.002  # draws of parameters and rows; the share of values outside the bounds
_NAIVE = 1e-2  # rows: the noise that the naive method knows of


@dataclass(frozen=True)
class VaryingRegression(Regression):
    """y = x'theta + u_g + s_g v + e: ``formula`` has one term (1 | g), or (v | g), beside others.

    Released: `GroupGram`. Each declared level of g has an effect u_g of its own, and a slope s_g where a number v
    stands in front of |. They are independent draws from N(0, ``spread``^2) and N(0, ``slope_spread``^2) whose standard
    deviations are learned, so that a level of few rows is moved towards the others (partial pooling); e is N(0,
    ``sigma``^2) for every row. ``group_mean`` is each level's expected response in the units of the data, with numbers
    at the middle of their bounds and other columns at their first levels; ``group_slope`` its own slope in the units of
    the data. ``theta``, ``sigma``, ``spread`` and ``effect`` are in mapped units.
    """

    family: ClassVar[str] = "varying"
    about: ClassVar[str] = "the mean of a number in many groups that inform each other"
    papers: ClassVar[tuple[Paper, ...]] = (GELMAN_2006,)
    varies: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.radius is not None:
            raise expected("radius", self.radius, 'to be left out in the family "varying"')

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """Costs by clinic; beside other columns; with a slope of each clinic."""
        schema = Schema(cost=(0, 100), age=(18, 90), sex=["f", "m"], clinic=[f"c{i}" for i in range(8)])
        narrow = {"level": 0.2, "slope": 0.15, "spread": 0.12, "sigma": 0.15}
        return (
            Example(cls("cost ~ (1 | clinic)"), schema, narrow, quick=False, always=False),
            Example(cls("cost ~ age + sex + (1 | clinic)"), schema, narrow, quick=False, always=False),
            Example(cls("cost ~ age + (age | clinic)"), schema, narrow, quick=False, always=False),
        )

    def term(self, schema: Schema) -> Varying:
        """What varies, and by which column."""
        found = self.design(schema).formula.varying
        if found is None:
            raise expected(
                "formula", self.formula, "to have a term (1 | g) or (x | g); without one it is of the family 'linear'"
            )
        return found

    def statistic(self, schema: Schema) -> GroupGram:
        """Sums of products by group, and a few over all rows; refuses what is not built."""
        design, term = self.design(schema), self.term(schema)
        self.check_offsets(schema, taken=False)
        if len(design.columns) > _MOST_COLUMNS:
            raise expected(
                "formula", self.formula, f"to make at most {_MOST_COLUMNS} columns beside those of the groups"
            )
        levels = tuple(map(str, schema.category(term.column).levels))
        if not 3 <= len(levels) <= MOST_GROUPS:
            raise expected("formula", self.formula, f"to have 3 to {MOST_GROUPS} levels behind |, not {len(levels)}")
        slopes = tuple(j for j, name in enumerate(design.names) if name in term.slopes)
        return GroupGram(design.columns, design.number_response, Factors((term.column,), (levels,)), slopes)

    def default_prior(self, schema: Schema) -> VaryingPrior:
        """Weak, and the same for all bounds."""
        return VaryingPrior()

    def draw_parameters(self, prior: Prior, schema: Schema, rng: Any) -> Arrays:
        """Coefficients, sigma, the spreads, and the effects of every level."""
        import numpy as np

        assert isinstance(prior, VaryingPrior)
        statistic = self.statistic(schema)
        theta = prior.slope * rng.standard_normal(len(statistic.design))
        theta[0] *= prior.level / prior.slope
        found: dict[str, Any] = {"theta": theta, "sigma": np.float64(prior.sigma * abs(rng.standard_normal()))}
        for before in ("", "slope_")[: 1 + len(statistic.slopes)]:
            spread = np.float64(prior.spread * abs(rng.standard_normal()))
            found[f"{before}spread"] = spread
            found[f"{before}effect"] = spread * rng.standard_normal(statistic.by.size)
        return {**found, **self.by_level(found, schema)}

    def by_level(self, draws: Arrays, schema: Schema) -> Arrays:
        """Means, and slopes, of the levels in the units of the data."""
        statistic, number = self.statistic(schema), self.design(schema).number_response
        theta = draws["theta"]
        found = {"group_mean": number.offset + number.scale * (theta[..., :1] + draws["effect"])}
        for j in statistic.slopes:
            scale = number.scale / self._scale_of(schema, j)
            found["group_slope"] = scale * (theta[..., j : j + 1] + draws["slope_effect"])
        return found

    def _scale_of(self, schema: Schema, j: int) -> float:
        """Of the j-th column of the design."""
        column = self.design(schema).columns[j]
        assert isinstance(column, Scaled)
        return column.scale

    def draw_together(self, prior: Prior, schema: Schema, n: int, rng: Any) -> tuple[Arrays, Arrays]:
        """Both drawn anew until few rows lie outside the bounds: clamping is no part of the model."""
        tries = (super(VaryingRegression, self).draw_together(prior, schema, n, rng) for _ in range(_TRIES))
        found = next((one for one in tries if largest_share_outside(one[1], schema) <= _FEW_OUTSIDE), None)
        return found or super().draw_together(prior, schema, n, rng)

    def draw_rows(self, parameters: Arrays, schema: Schema, n: int, rng: Any) -> Arrays:
        """Covariates of many shapes, sizes of groups as uniform as shares can be, the response from the model."""
        import numpy as np

        design, by = self.design(schema), self.statistic(schema).by
        cells = draw_columns([name for name in design.cells if name != by.columns[0]], schema, n, rng)
        cells[by.columns[0]] = rng.choice(by.size, size=n, p=rng.dirichlet(np.ones(by.size)))
        number = design.number_response
        mean = self._mapped({name: np.asarray(value)[None] for name, value in parameters.items()}, schema, cells)[0]
        mapped = mean + float(np.asarray(parameters["sigma"])) * rng.standard_normal(n)
        return {**raw_cells(cells, schema), number.name: number.offset + number.scale * mapped}

    @property
    def methods(self) -> Mapping[str, Method]:
        """By Hamiltonian steps, the noise known; and the released sums taken for the exact ones."""
        return {
            "by-group": Method(_by_group, thin=2, releases=True, unknown_n=True, papers=(HOFFMAN_2014,)),
            "naive": Method(_naive, thin=2),
        }

    def mean_response(self, draws: Arrays, schema: Schema, new: Any) -> Any:
        """Of the named level, without the scatter of rows."""
        design = self.design(schema)
        number = design.number_response
        return number.offset + number.scale * self._mapped(draws, schema, design.parse(new))

    def predict(self, draws: Arrays, schema: Schema, new: Any, rng: Any) -> Any:
        """The response of rows of the named level, their own scatter included."""
        mean = self.mean_response(draws, schema, new)
        scatter = self.design(schema).number_response.scale * draws["sigma"][:, None]
        return mean + scatter * rng.standard_normal(mean.shape)

    def _mapped(self, draws: Arrays, schema: Schema, cells: Arrays) -> Any:
        """The expected response (draws, points) in mapped units."""
        statistic, matrix = self.statistic(schema), self.design(schema).matrix(cells)
        codes = cells[statistic.by.columns[0]]
        found = draws["theta"] @ matrix.T + draws["effect"][:, codes]
        for j in statistic.slopes:
            found = found + draws["slope_effect"][:, codes] * matrix[:, j]
        return found

    def coefficients(self, draws: Arrays, schema: Schema) -> dict[str, Any]:
        """Of the formula, sigma and the spreads, in the units of the data."""
        design, statistic = self.design(schema), self.statistic(schema)
        number = design.number_response
        values = design.original_units(draws["theta"], number)
        found = {name: values[..., i] for i, name in enumerate(design.names)}
        found |= {name: number.scale * draws[name] for name in ("sigma", "spread")}
        for j in statistic.slopes:
            found["slope_spread"] = number.scale / self._scale_of(schema, j) * draws["slope_spread"]
        return found

    def effects(self, draws: Arrays, schema: Schema) -> list[EffectDraws]:
        """The other terms, how far groups lie apart, and the mean of each."""
        found = super().effects(draws, schema)
        design, by = self.design(schema), self.statistic(schema).by
        number, column = design.number_response, by.columns[0]
        outcome = response_words(number.name, schema) if design.formula.terms else in_prose(number.name)
        before = f"The {by.size} levels of {in_prose(column)} differ in {outcome} by a standard deviation of "
        found.append(EffectDraws(f"sd by {column}", "amount", number.scale * draws["spread"], before))
        for i, level in enumerate(by.labels):
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
        found: dict[str, tuple[str, ...]] = {"theta": ("coefficient",), "sigma": (), "spread": (), "effect": group}
        if self.term(schema).slopes:
            found |= {"slope_spread": (), "slope_effect": group, "group_slope": group}
        return {**found, "group_mean": group, "count": group}

    def coords(self, schema: Schema) -> dict[str, list[str]]:
        """The names of the design's columns, and the levels."""
        statistic = self.statistic(schema)
        return {"coefficient": self.design(schema).names, "group": list(statistic.by.labels)}


def _by_group(problem: Problem, settings: SamplerSettings) -> Chain:
    """From the noise of the releases."""
    return _chain(problem, group_sums(problem), settings)


def _chain(problem: Problem, known: Any, settings: SamplerSettings) -> Chain:
    import jax.numpy as jnp
    import numpy as np

    from tacit.samplers.varying_effects import VaryingScales, varying_chain

    model, prior, statistic = problem.model, problem.prior, problem.statistic
    assert isinstance(model, VaryingRegression)
    assert isinstance(prior, VaryingPrior)
    assert isinstance(statistic, GroupGram)
    chain = varying_chain(known, VaryingScales(prior.level, prior.slope, prior.spread, prior.sigma), settings)
    order = np.argsort([0, *statistic.slopes, *statistic.rest])

    def named(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        made, info = chain(key, released)
        found = {"theta": made["theta"][:, order], "sigma": made["sigma"], "count": made["count"]}
        for i, before in enumerate(("", "slope_")[: 1 + len(statistic.slopes)]):
            found |= {f"{before}spread": made["spread"][:, i], f"{before}effect": made["effect"][:, :, i]}
        found |= model.by_level(found, problem.schema)
        return {**found, "n": jnp.sum(made["count"], axis=1)} if problem.unknown_n else found, info

    return named


def _naive(problem: Problem, settings: SamplerSettings) -> Chain:
    """The same around the released sums, moved to where sums can be, with next to no noise."""
    import jax.numpy as jnp
    import numpy as np

    known = group_sums(problem)
    quiet = np.full_like(known.noises.scales, _NAIVE)
    noises = replace(known.noises, scales=quiet, spreads=quiet, laplace=(False,))
    # Released sizes, taken for exact, do not add up to n.
    chain, end = _chain(problem, replace(known, noises=noises, n=None), settings), known.width * known.groups

    def taken(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        blocks = released[:end].reshape(known.groups, known.width)
        blocks = blocks.at[:, :2].set(jnp.maximum(blocks[:, :2], 0.5))
        return chain(key, jnp.concatenate([blocks.reshape(-1), released[end:]]))

    return taken
