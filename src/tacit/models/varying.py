"""Linear regression whose intercept, and perhaps one slope, varies by the levels of a column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from tacit._support.printable import in_prose
from tacit.bibliography import HOFFMAN_2014, Paper
from tacit.errors import expected
from tacit.models.effects import EffectDraws, condition, response_words
from tacit.models.formula import Varying
from tacit.models.gram_layout import site_noises
from tacit.models.groups import MOST_GROUPS
from tacit.models.model import Example, Method, Prior, Problem
from tacit.models.prior_draws import largest_share_outside
from tacit.models.regression import Regression
from tacit.models.score_rows import draw_columns, raw_cells
from tacit.models.support import POSITIVE
from tacit.models.varying_prior import VaryingPrior
from tacit.runtime.chain import Arrays, Chain, SamplerSettings
from tacit.schema import Schema
from tacit.statistics.design import Scaled, product_of
from tacit.statistics.factors import Factors
from tacit.statistics.group_gram import GroupGram

_MOST_SHOWN = 20  # groups that have a sentence each
_MOST_COLUMNS = 30
_TRIES, _FEW_OUTSIDE = 1000, 0.002  # draws of parameters and rows; the share of values outside the bounds
_NAIVE = 1e-2  # rows: the noise that the naive method knows of


@dataclass(frozen=True)
class VaryingRegression(Regression):
    """y = x'theta + z'u_g + e with z = 1, or (1, slope): ``formula`` has one term (1 | g) or (slope | g) beside others.

    Released: `GroupGram`. The effects u_g of the levels of g are draws from a normal distribution with mean 0 whose
    standard deviation, ``spread``, is learned, so that a level of few rows is moved towards the others (partial
    pooling). An intercept and a slope vary independently of each other. ``group_mean`` is each level's expected response, in the
    units of the data, with numbers at the middle of their bounds and other columns at their first levels.
    """

    family: ClassVar[str] = "varying"
    about: ClassVar[str] = "a number explained by others, and by groups that inform each other"
    papers: ClassVar[tuple[Paper, ...]] = (
        Paper("gelman2006", "article", ("Gelman, Andrew",), "Prior distributions for variance parameters in hierarchical models", "Bayesian Analysis", 2006),
    )  # fmt: skip
    varies: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.radius is not None:
            raise expected("radius", self.radius, 'to be left out in the family "varying"')

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """Clinics; with a covariate; with a slope of each."""
        clinics = [f"c{i}" for i in range(8)]
        schema = Schema(cost=(0, 100), age=(18, 90), sex=["f", "m"], clinic=clinics)
        narrow = {"level": 0.2, "slope": 0.15, "spread": 0.12, "sigma": 0.15}
        return (
            Example(cls("cost ~ (1 | clinic)"), schema, narrow, quick=False),
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
        """Sums of products by group, and a few over all rows."""
        design, term = self.design(schema), self.term(schema)
        self.check_offsets(schema, taken=False)
        if len(design.columns) > _MOST_COLUMNS:
            raise expected("formula", self.formula, f"to make at most {_MOST_COLUMNS} columns beside the groups")
        levels = tuple(map(str, schema.category(term.column).levels))
        if not 3 <= len(levels) <= MOST_GROUPS:
            raise expected(
                "formula",
                self.formula,
                f"to have 3 to {MOST_GROUPS} levels behind |, not {len(levels)}: from fewer no spread is learned",
            )
        slopes = tuple(j for j, name in enumerate(design.names) if name in term.slopes)
        return GroupGram(design.columns, design.number_response, Factors((term.column,), (levels,)), slopes)

    def default_prior(self, schema: Schema) -> VaryingPrior:
        """Weak, and the same for every design."""
        return VaryingPrior()

    def draw_parameters(self, prior: Prior, schema: Schema, rng: Any) -> Arrays:
        """Coefficients, sigma, the spreads, and the effect of every level."""
        import numpy as np

        assert isinstance(prior, VaryingPrior)
        statistic = self.statistic(schema)
        theta = prior.slope * rng.standard_normal(len(statistic.design))
        theta[0] *= prior.level / prior.slope
        spread = prior.spread * np.abs(rng.standard_normal(1 + len(statistic.slopes)))
        effect = spread * rng.standard_normal((statistic.by.size, len(spread)))
        sigma = np.float64(prior.sigma * abs(rng.standard_normal()))
        found = {"theta": theta, "sigma": sigma, "spread": spread, "effect": effect}
        return {**found, "group_mean": self._group_mean(found, schema)}

    def draw_together(self, prior: Prior, schema: Schema, n: int, rng: Any) -> tuple[Arrays, Arrays]:
        """Both drawn anew until few rows lie outside the bounds: clamping is no part of the model."""
        tries = (super(VaryingRegression, self).draw_together(prior, schema, n, rng) for _ in range(_TRIES))
        found = next((one for one in tries if largest_share_outside(one[1], schema) <= _FEW_OUTSIDE), None)
        return found or super().draw_together(prior, schema, n, rng)

    def draw_rows(self, parameters: Arrays, schema: Schema, n: int, rng: Any) -> Arrays:
        """Covariates of many shapes, sizes of groups as uniform as shares can be, the response from the model."""
        import numpy as np

        design, column = self.design(schema), self.term(schema).column
        cells = draw_columns([name for name in design.cells if name != column], schema, n, rng)
        size = len(schema.category(column).levels)
        cells[column] = rng.choice(size, size=n, p=rng.dirichlet(np.ones(size)))
        number = design.number_response
        draws = {name: np.asarray(value)[None] for name, value in parameters.items()}
        mean = self._mapped(draws, schema, cells)[0]
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
        statistic = self.statistic(schema)
        matrix = self.design(schema).matrix(cells)
        own = draws["effect"][:, cells[statistic.by.columns[0]], :]
        return draws["theta"] @ matrix.T + (own * matrix[:, [0, *statistic.slopes]]).sum(axis=-1)

    def _group_mean(self, draws: Arrays, schema: Schema) -> Any:
        number = self.design(schema).number_response
        return number.offset + number.scale * (draws["theta"][..., 0][..., None] + draws["effect"][..., 0])

    def coefficients(self, draws: Arrays, schema: Schema) -> dict[str, Any]:
        """Coefficients, sigma and the spreads, in the units of the data; that of the intercept at the middle of bounds."""
        design, statistic, term = self.design(schema), self.statistic(schema), self.term(schema)
        number = design.number_response
        values = design.original_units(draws["theta"], number)
        found = {name: values[..., i] for i, name in enumerate(design.names)}
        found["sigma"] = number.scale * draws["sigma"]
        for i, j in enumerate((0, *statistic.slopes)):
            column = design.columns[j]
            scale = number.scale / (column.scale if isinstance(column, Scaled) else 1.0)
            found[f"sd({column.name} | {term.column})"] = scale * draws["spread"][..., i]
        return found

    def effects(self, draws: Arrays, schema: Schema) -> list[EffectDraws]:
        """The other terms, how far groups lie apart, and the mean of each group where they are few."""
        found = super().effects(draws, schema)
        term, outcome = self.term(schema), response_words(self.design(schema).formula.response, schema)
        spread = self.coefficients(draws, schema)[f"sd(Intercept | {term.column})"]
        apart = f"The levels of {in_prose(term.column)} differ in {outcome} by a standard deviation of "
        found.append(EffectDraws(f"sd by {term.column}", "amount", spread, apart))
        levels = self.coords(schema)["group"]
        for i, level in enumerate(levels if len(levels) <= _MOST_SHOWN else []):
            before = f"{condition(term.column, level)}the mean of {outcome} is "
            found.append(EffectDraws(level, "amount", draws["group_mean"][..., i], before))
        return found

    @property
    def sums_must_fit(self) -> bool:
        """They need not: second moments say all about a linear response, whatever the distribution of covariates."""
        return False

    @property
    def supports(self) -> Mapping[str, str]:
        """Where the draws lie."""
        return {"sigma": POSITIVE, "count": POSITIVE}

    def dims(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        """Coefficients by name; effects by level."""
        return {
            "theta": ("coefficient",),
            "sigma": (),
            "spread": ("varies",),
            "effect": ("group", "varies"),
            "group_mean": ("group",),
            "count": ("group",),
        }

    def coords(self, schema: Schema) -> dict[str, list[str]]:
        """The names of the design's columns, of those that vary, and the levels."""
        statistic, names = self.statistic(schema), self.design(schema).names
        varies = [names[j] for j in (0, *statistic.slopes)]
        return {"coefficient": names, "varies": varies, "group": list(statistic.by.labels)}


def _layout(problem: Problem) -> Any:
    """Where the entries of a release stand, for the sampler."""
    from tacit.samplers.varying_effects import GroupSums

    model, (site,) = problem.model, problem.sites
    assert isinstance(model, VaryingRegression)
    statistic = model.statistic(problem.schema)
    rest, last = statistic.rest, len(statistic.design)
    place = {j: i for i, j in enumerate(rest)} | {last: len(rest)}
    columns = {product_of(statistic.design[0], statistic.design[j]): i for j, i in place.items() if j != last}
    made = {product_of(statistic.vector[j], statistic.vector[k]): (place[j], place[k]) for j, k in statistic.pooled}
    fixed: list[tuple[int, int, int | tuple[int, int] | None]] = []
    for i, j in enumerate(rest):
        for k in rest[i:]:
            product = product_of(statistic.design[j], statistic.design[k])
            pair = place[j], place[k]
            if product is None:
                fixed.append((*pair, None))
            elif made.get(product) != pair:
                fixed.append((*pair, columns[product] if product in columns else made[product]))
    return GroupSums(
        n=None if site.n is None else float(site.n),
        groups=statistic.by.size,
        rest=len(rest),
        slope=bool(statistic.slopes),
        pooled=tuple((place[j], place[k]) for j, k in statistic.pooled),
        fixed=tuple(fixed),
        noises=site_noises(site, statistic.unit, len(statistic.entries)),
    )


def _by_group(problem: Problem, settings: SamplerSettings) -> Chain:
    """From the layout of a release."""
    return _chain(problem, _layout(problem), settings)


def _chain(problem: Problem, layout: Any, settings: SamplerSettings) -> Chain:
    import jax.numpy as jnp

    from tacit.samplers.varying_effects import VaryingScales, varying_chain

    model, prior, schema = problem.model, problem.prior, problem.schema
    assert isinstance(model, VaryingRegression)
    assert isinstance(prior, VaryingPrior)
    scales = VaryingScales(prior.level, prior.slope, prior.spread, prior.sigma)
    chain, statistic = varying_chain(layout, scales, settings), model.statistic(schema)
    number = model.design(schema).number_response
    order = [[0, *statistic.slopes, *statistic.rest].index(j) for j in range(len(statistic.design))]

    def named(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        draws, info = chain(key, released)
        draws["theta"] = draws["theta"][:, jnp.array(order)]
        level = draws["theta"][:, :1] + draws["effect"][:, :, 0]
        draws["group_mean"] = number.offset + number.scale * level
        if problem.unknown_n:
            draws["n"] = jnp.sum(draws["count"], axis=1)
        return draws, info

    return named


def _naive(problem: Problem, settings: SamplerSettings) -> Chain:
    """The same around the released sums, moved to where sums can be, with next to no noise."""
    from dataclasses import replace

    import jax.numpy as jnp
    import numpy as np

    layout = _layout(problem)
    quiet = np.full_like(layout.noises.scales[:1], _NAIVE)
    normal = replace(
        layout.noises,
        scales=quiet,
        spreads=quiet,
        log_densities=(lambda residual: -(residual**2) / 2,),
        laplace=(False,),
    )
    chain = _chain(problem, replace(layout, noises=normal), settings)
    width = (len(layout.noises.scales[0]) - len(layout.pooled)) // layout.groups

    def taken(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        blocks = released[: width * layout.groups].reshape(layout.groups, width)
        blocks = blocks.at[:, :2].set(jnp.maximum(blocks[:, :2], 0.5))
        return chain(key, jnp.concatenate([blocks.reshape(-1), released[width * layout.groups :]]))

    return taken
