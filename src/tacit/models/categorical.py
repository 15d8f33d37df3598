"""One column with two or more levels: the share of rows at each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from tacit._support.printable import in_prose
from tacit.bibliography import HOFFMAN_2014
from tacit.errors import expected
from tacit.models.conjugate import Conjugacy, ConjugateModel, public_numbers
from tacit.models.conjugate_draws import shares_from_draws
from tacit.models.effects import EffectDraws, effects_of_array, question_of_levels
from tacit.models.free_cells import free_counts_chain
from tacit.models.levels import LEVEL_PROTOCOLS, level_randomizer, level_summary, shares_chain
from tacit.models.local import LocalModel
from tacit.models.model import Example, Method, Model, Prior, Problem
from tacit.models.support import POSITIVE, SHARES
from tacit.numerics.dirichlet import draw_shares
from tacit.privacy.guarantees import Guarantee
from tacit.protocols.local_randomizer import LocalRandomizer
from tacit.runtime.chain import Arrays, Chain, SamplerSettings
from tacit.schema import Schema
from tacit.statistics.counts import Counts

_LEARNED = (0.2, 0.4, 0.8, 1.6, 3.2)
_MANY = 5  # levels, from which on the default prior learns the concentration


@dataclass(frozen=True)
class DirichletPrior(Prior):
    """theta ~ Dirichlet(concentration): one number for all levels, or one each. The default is uniform.

    None, the default from 5 levels on, learns one number for all: it is as likely to be each of 0.2, 0.4, ... 3.2. Many
    levels under a uniform prior are pulled to equal shares by as many made-up rows as there are levels.
    """

    concentration: float | tuple[float, ...] | None = 1.0

    def __post_init__(self) -> None:
        value = self.concentration
        if value is None:
            return
        if isinstance(value, list):
            object.__setattr__(self, "concentration", value := tuple(value))
        for number in value if isinstance(value, tuple) else (value,):
            if isinstance(number, bool) or not isinstance(number, int | float) or not 1e-3 <= number <= 1e9:
                raise expected("prior concentration", value, "to be numbers from 0.001 to 1e9")

    def rows(self, levels: int) -> Any:
        """The concentrations of all levels that are equally likely, one row each."""
        import numpy as np

        if self.concentration is None:
            return np.tile(np.array(_LEARNED)[:, None], (1, levels))
        return self.vector(levels)[None]

    def vector(self, levels: int) -> Any:
        """The concentration of each level; 1 where it is learned, for draws of the conjugate posterior."""
        import numpy as np

        if self.concentration is None:
            return np.ones(levels)

        if isinstance(self.concentration, tuple) and len(self.concentration) != levels:
            raise expected("prior concentration", self.concentration, f"to hold one number or {levels}")
        return np.broadcast_to(np.asarray(self.concentration, np.float64), (levels,))


@dataclass(frozen=True)
class Categorical(Model, LocalModel, ConjugateModel):
    """Rows are independent, each at level k with probability theta_k.

    Released: the number of rows at each level, plus noise. With n public and theta ~ Dirichlet(alpha), the exact counts
    are Dirichlet-multinomial given their sum n. They are sampled as latent numbers, theta integrated out, and theta is
    then drawn from Dirichlet(alpha + counts). Where alpha is learned it is drawn given the counts in every sweep.

    ```pycon
    >>> tacit.Categorical("drinks").question(tacit.Schema(drinks=["never", "weekly", "daily"]))
    'How many have each level of drinks?'

    ```
    """

    family: ClassVar[str] = "categorical"
    about: ClassVar[str] = "the shares of several levels"
    column: str

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """Four regions; and two levels, where one count says it all."""
        return (
            Example(cls("region"), Schema(region=["north", "east", "south", "west"])),
            Example(cls("vote"), Schema(vote=["against", "for"])),
        )

    def statistic(self, schema: Schema) -> Counts:
        """The counts of the levels."""
        return Counts(self.column, tuple(map(str, schema.category(self.column).levels)))

    def default_prior(self, schema: Schema) -> DirichletPrior:
        """Uniform on the simplex; for many levels its concentration is learned."""
        return DirichletPrior(None if len(schema.category(self.column).levels) >= _MANY else 1.0)

    def draw_parameters(self, prior: Prior, schema: Schema, rng: Any) -> Arrays:
        """Theta from its Dirichlet prior."""
        assert isinstance(prior, DirichletPrior)
        rows = prior.rows(len(schema.category(self.column).levels))
        return {"theta": draw_shares(rng, rows[rng.integers(len(rows))])}

    def draw_rows(self, parameters: Arrays, schema: Schema, n: int, rng: Any) -> Arrays:
        levels = schema.category(self.column).levels
        codes = rng.choice(len(levels), size=n, p=parameters["theta"])
        return {self.column: [levels[code] for code in codes]}

    @property
    def methods(self) -> Mapping[str, Method]:
        return {
            "gibbs": Method(_gibbs, thin=8, unknown_n=True),
            "shares": Method(_shares, thin=2, sites=True, surveys=True, unknown_n=True, papers=(HOFFMAN_2014,)),
            "naive": Method(_naive, thin=1),
        }

    @property
    def draw_methods(self) -> Mapping[str, Method]:
        """Gibbs sweeps over the counts."""
        return {"gibbs": Method(shares_from_draws, thin=8)}

    def conjugacy(self, schema: Schema, prior: Prior) -> Conjugacy:
        """Dirichlet; with two levels, of which one is counted, Beta."""
        assert isinstance(prior, DirichletPrior)
        levels = [str(level) for level in schema.category(self.column).levels]
        concentration = tuple(Fraction(float(value)) for value in prior.vector(len(levels)))
        names = tuple(f"theta[{level}]" for level in levels)
        if len(levels) == 2:
            return Conjugacy("beta", self.statistic(schema), concentration, Fraction(1), names[1:])
        return Conjugacy("dirichlet", self.statistic(schema), concentration, Fraction(1), names)

    def with_public(self, prior: Prior, public: Mapping[str, Any], schema: Schema) -> DirichletPrior:
        """``counts`` of public rows, one a level."""
        assert isinstance(prior, DirichletPrior)
        levels, counts = len(schema.category(self.column).levels), public.get("counts")
        if set(public) != {"counts"} or not isinstance(counts, list | tuple) or len(counts) != levels:
            raise expected("public", dict(public), f"to say counts, {levels} of them")
        added = public_numbers({str(i): count for i, count in enumerate(counts)}, [str(i) for i in range(levels)])
        return DirichletPrior(tuple(float(a) + b for a, b in zip(prior.vector(levels), added, strict=True)))

    def protocols(self, schema: Schema) -> tuple[str, ...]:
        """Randomized response, or one randomised bit a level, which is better for many levels and small budgets."""
        return tuple(LEVEL_PROTOCOLS)

    def local_randomizer(self, schema: Schema, budget: Guarantee, protocol: str) -> LocalRandomizer:
        """A device that randomises the code of the level."""
        return level_randomizer(self.column, schema, budget, protocol)

    def summary(self, randomizer: LocalRandomizer, reports: Any) -> Any:
        """Counts of the levels or of bit patterns."""
        return level_summary(randomizer, reports)

    @property
    def supports(self) -> Mapping[str, str]:
        """Where the draws lie."""
        return {"theta": SHARES, "count": POSITIVE}

    def question(self, schema: Schema) -> str:
        """How many have each level?"""
        return f"{question_of_levels(self.column, schema)}?"

    def effects(self, draws: Arrays, schema: Schema) -> list[EffectDraws]:
        """The share of every level; of two that of the second."""
        levels = self.coords(schema)["level"]
        first = int(len(levels) == 2)

        def words(level: str) -> tuple[str, str, str]:
            return level, "", f" have {in_prose(self.column)} = {in_prose(level)}"

        return effects_of_array(draws["theta"][..., first:], [levels[first:]], words, "share")

    def dims(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        """Both parameters have one number a level."""
        return {"theta": ("level",), "count": ("level",)}

    def coords(self, schema: Schema) -> dict[str, list[str]]:
        return {"level": list(map(str, schema.category(self.column).levels))}


def _all_counts(released: Any, problem: Problem, n: Any) -> Any:
    """The released counts with, for two levels, the one that n implies put in front."""
    import jax.numpy as jnp

    statistic = problem.statistic
    assert isinstance(statistic, Counts)
    return released if len(statistic.counted) > 1 else jnp.stack([n - released[0], released[0]])


def _gibbs(problem: Problem, settings: SamplerSettings) -> Chain:
    """Gibbs sweeps over the latent counts; theta exactly given them."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    from tacit.runtime.backend import argument
    from tacit.samplers.latent_counts import nearest_counts, strides, sweep

    prior, statistic, noise = problem.prior, problem.statistic, problem.noise
    assert isinstance(prior, DirichletPrior)
    assert isinstance(statistic, Counts)
    levels = len(statistic.levels)
    concentrations = np.array(prior.rows(levels))
    if problem.unknown_n:
        return free_counts_chain(
            problem,
            concentrations,
            lambda key, logs, counts: {"theta": jax.nn.softmax(logs), "count": counts[:, 0]},
            settings,
        )
    entry_of = np.zeros(levels, int)
    entry_of[list(statistic.counted)] = range(len(statistic.counted))
    counted = np.isin(np.arange(levels), statistic.counted)
    n, scales = argument(problem.n), argument(np.array(noise.scales, np.float64) / statistic.unit)
    step_sizes = strides(min(problem.n + 1.0, 8 * max(noise.sd) / statistic.unit))

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        def log_noise(level: Any, count: Any) -> Any:
            entry = jnp.asarray(entry_of)[level]
            scored = noise.standard_log_density((released[entry] - count) / scales[entry], jnp)
            return jnp.where(jnp.asarray(counted)[level], scored, 0.0)

        def step(counts: Any, key: Any) -> tuple[Any, Any]:
            for_counts, for_alpha = jax.random.split(key)
            alpha = concentration_given(for_alpha, counts, concentrations)
            counts = sweep(for_counts, counts, alpha, log_noise, step_sizes)
            return counts, counts

        for_warmup, for_draws, for_theta, for_alpha = jax.random.split(key, 4)
        counts = nearest_counts(_all_counts(released, problem, n[0]), n[0])
        counts, _ = jax.lax.scan(step, counts, jax.random.split(for_warmup, settings.warmup))
        _, counts = jax.lax.scan(step, counts, jax.random.split(for_draws, settings.draws))
        alpha = jax.vmap(lambda key, counts: concentration_given(key, counts, concentrations))(
            jax.random.split(for_alpha, settings.draws), counts
        )
        return {"theta": jax.random.dirichlet(for_theta, alpha + counts), "count": counts}, {}

    return chain


def concentration_given(key: Any, counts: Any, concentrations: Any) -> Any:
    """One of the rows of ``concentrations`` given the exact counts, theta integrated out; the only one, if it is."""
    import jax
    import jax.numpy as jnp
    from jax.scipy.special import gammaln

    rows = jnp.asarray(concentrations)
    if len(rows) == 1:
        return rows[0]
    totals = rows.sum(axis=1)
    logs = gammaln(totals) - gammaln(totals + counts.sum()) + jnp.sum(gammaln(rows + counts) - gammaln(rows), axis=1)
    return rows[jax.random.categorical(key, logs)]


def _shares(problem: Problem, settings: SamplerSettings) -> Chain:
    """NUTS on the shares, for local reports and for several sites; central counts by the central limit theorem."""
    import jax.numpy as jnp

    prior = problem.prior
    assert isinstance(prior, DirichletPrior)
    model = problem.model
    assert isinstance(model, Categorical)
    chain = shares_chain(problem, prior.rows(len(problem.schema.category(model.column).levels)), settings)

    def shares(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        draws, info = chain(key, released)
        return {"theta": jnp.exp(draws["log_theta"])}, info

    return shares


def _naive(problem: Problem, settings: SamplerSettings) -> Chain:
    """The conjugate posterior with the released counts, made non-negative with sum n, taken for the exact ones."""
    import jax
    import jax.numpy as jnp

    prior, n = problem.prior, problem.n
    assert isinstance(prior, DirichletPrior)

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        counts = jnp.maximum(_all_counts(released, problem, n), 0)
        counts = counts * n / jnp.maximum(jnp.sum(counts), 1e-9)
        for_alpha, for_theta = jax.random.split(key)
        rows = prior.rows(counts.shape[0])
        alpha = jax.vmap(lambda key: concentration_given(key, counts, rows))(
            jax.random.split(for_alpha, settings.draws)
        )
        counts = jnp.broadcast_to(counts, (settings.draws, *counts.shape))
        return {"theta": jax.random.dirichlet(for_theta, alpha + counts), "count": counts}, {}

    return chain
