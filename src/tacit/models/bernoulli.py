"""A yes/no column: the share of rows at the second level."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from tacit.bibliography import HOFFMAN_2014
from tacit.errors import expected
from tacit.models.conjugate import Conjugacy, ConjugateModel, public_numbers
from tacit.models.conjugate_draws import share_from_draws
from tacit.models.effects import EffectDraws, effects_of_array, response_words
from tacit.models.free_cells import free_counts_chain
from tacit.models.levels import LEVEL_PROTOCOLS, level_randomizer, level_summary, shares_chain
from tacit.models.local import LocalModel
from tacit.models.model import Example, Method, Model, Prior, Problem
from tacit.models.support import POSITIVE, SHARE
from tacit.privacy.guarantees import Guarantee
from tacit.protocols.local_randomizer import LocalRandomizer
from tacit.runtime.chain import Arrays, Chain, SamplerSettings
from tacit.schema import Schema
from tacit.statistics.counts import Counts


@dataclass(frozen=True)
class BetaPrior(Prior):
    """theta ~ Beta(a, b), where theta is the probability of the second level. The default is uniform."""

    a: float = 1.0
    b: float = 1.0

    def __post_init__(self) -> None:
        for name in ("a", "b"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 1e-3 <= value <= 1e9:
                raise expected(f"prior {name}", value, "to be a number from 0.001 to 1e9")


@dataclass(frozen=True)
class Bernoulli(Model, LocalModel, ConjugateModel):
    """Rows are independent, each at the second of two levels with probability theta.

    Released: the number of rows at the second level, plus noise. With n public and theta ~ Beta(a, b), the exact count
    c is beta-binomial, so the posterior is the mixture

        p(theta | z) = sum_c p(c | z) Beta(theta; a + c, b + n - c),    p(c | z) ~ BetaBinomial(c; n, a, b) noise(z - c)

    Where n is not public, both counts are released with noise, and both are sampled (`free_cells`).

    ```pycon
    >>> tacit.Bernoulli("smoker").question(tacit.Schema(smoker=["no", "yes"]))
    'How many have smoker = yes?'

    ```
    """

    family: ClassVar[str] = "bernoulli"
    about: ClassVar[str] = "the share of one of two levels"
    column: str

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        return (Example(cls("smoker"), Schema(smoker=["no", "yes"])),)

    def statistic(self, schema: Schema) -> Counts:
        """One count: the rows at the second level."""
        levels = schema.category(self.column).levels
        if len(levels) != 2:
            raise expected("levels", list(levels), f"of column {self.column!r} to be two for a bernoulli model")
        return Counts(self.column, tuple(map(str, levels)))

    def default_prior(self, schema: Schema) -> BetaPrior:
        return BetaPrior()

    def draw_parameters(self, prior: Prior, schema: Schema, rng: Any) -> Arrays:
        """Theta from its Beta prior."""
        assert isinstance(prior, BetaPrior)
        return {"theta": rng.beta(prior.a, prior.b)}

    def draw_rows(self, parameters: Arrays, schema: Schema, n: int, rng: Any) -> Arrays:
        levels = schema.category(self.column).levels
        return {self.column: [levels[int(yes)] for yes in rng.random(n) < parameters["theta"]]}

    @property
    def methods(self) -> Mapping[str, Method]:
        return {
            "exact": Method(_exact, thin=1, releases=True),
            "gibbs": Method(_gibbs, thin=8, releases=True, known_n=False, unknown_n=True),
            "shares": Method(_shares, thin=2, sites=True, surveys=True, unknown_n=True, papers=(HOFFMAN_2014,)),
            "naive": Method(_naive, thin=1),
        }

    @property
    def draw_methods(self) -> Mapping[str, Method]:
        """Exact, by summing over the count."""
        return {"exact": Method(share_from_draws, thin=1)}

    def conjugacy(self, schema: Schema, prior: Prior) -> Conjugacy:
        assert isinstance(prior, BetaPrior)
        return Conjugacy(
            "beta", self.statistic(schema), (Fraction(prior.b), Fraction(prior.a)), Fraction(1), ("theta",)
        )

    def with_public(self, prior: Prior, public: Mapping[str, Any], schema: Schema) -> BetaPrior:
        """``n`` public rows, ``count`` of them at the second level."""
        assert isinstance(prior, BetaPrior)
        n, count = public_numbers(public, ("n", "count"))
        if count > n:
            raise expected("public count", count, f"to be at most n = {n:g}")
        return BetaPrior(prior.a + count, prior.b + n - count)

    def protocols(self, schema: Schema) -> tuple[str, ...]:
        """Randomized response is the best for two levels."""
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
        return {"theta": SHARE, "count": POSITIVE}

    def question(self, schema: Schema) -> str:
        """How many have the second level?"""
        return f"How many have {response_words(self.column, schema)}?"

    def effects(self, draws: Arrays, schema: Schema) -> list[EffectDraws]:
        """The share of the second level."""
        said = response_words(self.column, schema)
        return effects_of_array(draws["theta"], (), lambda: (said, "", f" have {said}"), "share")

    def dims(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        """Both parameters are single numbers."""
        return {"theta": (), "count": ()}

    def coords(self, schema: Schema) -> dict[str, list[str]]:
        return {}


def _exact(problem: Problem, settings: SamplerSettings) -> Chain:
    """Independent draws: the latent count by enumeration, then theta from its Beta distribution."""
    import jax
    import jax.numpy as jnp

    from tacit.numerics.gamma_ratio import log_gamma_ratio
    from tacit.samplers.enumeration import draw_latent

    prior, n, unit = problem.prior, problem.n, problem.statistic.unit
    assert isinstance(prior, BetaPrior)
    (site,) = problem.sites
    # Below 1, a and b make the prior convex near an end, by no more than this over the whole range.
    excess = (max(1 - prior.a, 0) + max(1 - prior.b, 0)) * (math.log(n + 1) + 8)

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        def log_weight(count: Any, a: float = prior.a, b: float = prior.b) -> Any:
            log_prior = log_gamma_ratio(count, a) + log_gamma_ratio(n - count, b)
            noise = (
                distribution.standard_log_density((value - count) / (distribution.scales[0] / unit), jnp)
                for distribution, value in zip(site.noises, released, strict=True)
            )
            return sum(noise, log_prior)

        for_count, for_theta = jax.random.split(key)
        count = draw_latent(
            for_count,
            log_weight,
            envelope=lambda count: log_weight(count, max(prior.a, 1.0), max(prior.b, 1.0)),
            excess=excess,
            highest=n,
            draws=settings.draws,
        )
        theta = jax.random.beta(for_theta, prior.a + count, prior.b + n - count)
        return {"theta": theta, "count": count}, {}

    return chain


def _gibbs(problem: Problem, settings: SamplerSettings) -> Chain:
    """Where n is not public: both latent counts, whose sum it is."""
    import jax

    prior = problem.prior
    assert isinstance(prior, BetaPrior)

    def described(key: Any, logs: Any, counts: Any) -> Arrays:
        return {"theta": jax.nn.softmax(logs)[:, 1], "count": counts[:, 0, 1]}

    return free_counts_chain(problem, [[prior.b, prior.a]], described, settings)


def _shares(problem: Problem, settings: SamplerSettings) -> Chain:
    """NUTS on theta, for local reports and for several sites; central counts by the central limit theorem."""
    import jax.numpy as jnp

    prior = problem.prior
    assert isinstance(prior, BetaPrior)
    chain = shares_chain(problem, (prior.b, prior.a), settings)

    def second(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        draws, info = chain(key, released)
        return {"theta": jnp.exp(draws["log_theta"][:, 1])}, info

    return second


def _naive(problem: Problem, settings: SamplerSettings) -> Chain:
    """The conjugate posterior with the released count, clamped to 0..n, taken for the exact one."""
    import jax
    import jax.numpy as jnp

    prior, n = problem.prior, problem.n
    assert isinstance(prior, BetaPrior)

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        count = jnp.broadcast_to(jnp.clip(released[0], 0, n), (settings.draws,))
        return {"theta": jax.random.beta(key, prior.a + count, prior.b + n - count), "count": count}, {}

    return chain
