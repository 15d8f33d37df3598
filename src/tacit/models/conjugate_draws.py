"""What released posterior draws say about the parameters: p(theta | draws), the exact statistic of the rows summed out.

A draw w has the density p(w | s) of the mechanism's own posterior, whose prior and tempering stand in the release, and
depends on the rows through their statistic s alone. So

    p(theta | w) ~ p(theta) sum_s p(s | theta) prod over draws of p(w_i | s)

with p(theta) the analyst's prior, which need not be the mechanism's. Public rows that the mechanism's prior contains
have been folded into p(theta), once.
"""

from __future__ import annotations

import math
from typing import Any

from tacit.models.model import Problem
from tacit.runtime.chain import Arrays, Chain, SamplerSettings


def share_from_draws(problem: Problem, settings: SamplerSettings) -> Chain:
    """A yes/no column: the count by enumeration, then theta from its Beta distribution; independent draws.

    log p(w | c) = r c log w + r (n - c) log(1 - w) - log B(b1 + r (n - c), b2 + r c) is concave in c, as log-gamma is
    convex, which is what the enumeration asks of it.
    """
    import jax
    import jax.numpy as jnp
    from jax.scipy.special import gammaln

    from tacit.numerics.gamma_ratio import log_gamma_ratio
    from tacit.samplers.enumeration import draw_latent

    numbers, noise_parameters, n = problem.prior.to_plain(), problem.sample, problem.n
    a, b = float(numbers["a"]), float(numbers["b"])
    first, second = noise_parameters.coordinates
    weight = noise_parameters.number("weight")
    excess = (max(1 - a, 0) + max(1 - b, 0)) * (math.log(n + 1) + 8)

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        w = inside(released, noise_parameters.grid)
        odds = jnp.sum(jnp.log(w) - jnp.log1p(-w))

        def log_weight(count: Any, a: float = a, b: float = b) -> Any:
            log_prior = log_gamma_ratio(count, a) + log_gamma_ratio(n - count, b)
            normaliser = gammaln(first + weight * (n - count)) + gammaln(second + weight * count)
            return log_prior + weight * count * odds - noise_parameters.draws * normaliser

        for_count, for_theta = jax.random.split(key)
        count = draw_latent(
            for_count,
            log_weight,
            envelope=lambda count: log_weight(count, max(a, 1.0), max(b, 1.0)),
            excess=excess,
            highest=n,
            draws=settings.draws,
        )
        return {"theta": jax.random.beta(for_theta, a + count, b + n - count), "count": count}, {}

    return chain


def shares_from_draws(problem: Problem, settings: SamplerSettings) -> Chain:
    """Several levels: Gibbs sweeps over the counts, theta exactly given them.

    log p(w | c) is a sum over levels of r c_j log w_j - lnGamma(alpha_j + r c_j), so `latent_counts.sweep` takes it as
    it takes noise.
    """
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.scipy.special import gammaln

    from tacit.samplers.latent_counts import nearest_counts, strides, sweep

    noise_parameters, n = problem.sample, problem.n
    alpha = np.array(noise_parameters.coordinates)
    levels, weight = len(alpha), noise_parameters.number("weight")
    said = problem.prior.to_plain()["concentration"]
    concentration = np.broadcast_to(np.asarray(1.0 if said is None else said, np.float64), (levels,)) + np.zeros(levels)
    total = float(alpha.sum()) + weight * n
    step_sizes = strides(min(n + 1.0, 4 * math.sqrt(total) / weight))

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        w = inside(released.reshape(noise_parameters.draws, noise_parameters.parameters), noise_parameters.grid)
        if noise_parameters.parameters == 1:
            w = jnp.concatenate([1 - w, w], axis=1)
        logs = jnp.sum(jnp.log(w), axis=0)

        def log_noise(level: Any, count: Any) -> Any:
            return weight * count * logs[level] - noise_parameters.draws * gammaln(
                jnp.asarray(alpha)[level] + weight * count
            )

        def step(counts: Any, key: Any) -> tuple[Any, Any]:
            counts = sweep(key, counts, jnp.asarray(concentration), log_noise, step_sizes)
            return counts, counts

        for_warmup, for_draws, for_theta = jax.random.split(key, 3)
        counts = nearest_counts((jnp.mean(w, axis=0) * total - alpha) / weight, n)
        counts, _ = jax.lax.scan(step, counts, jax.random.split(for_warmup, settings.warmup))
        _, counts = jax.lax.scan(step, counts, jax.random.split(for_draws, settings.draws))
        return {"theta": jax.random.dirichlet(for_theta, concentration + counts), "count": counts}, {}

    return chain


def number_from_draws(problem: Problem, settings: SamplerSettings) -> Chain:
    """One bounded number a row: its parameter along a line, the sum of the rows normal by the central limit theorem."""
    from tacit.likelihoods.drawn_sums import DrawnSum
    from tacit.models.conjugate import ConjugateModel
    from tacit.models.one_number import OneNumber
    from tacit.samplers.grid_1d import grid_1d_chain

    model, noise_parameters = problem.model, problem.sample
    assert isinstance(model, OneNumber)
    assert isinstance(model, ConjugateModel)
    found = model.conjugacy(problem.schema, problem.prior)
    pieces: list[Any] = [
        DrawnSum(
            kind=found.kind,
            n=problem.n,
            draws=noise_parameters.draws,
            grid=noise_parameters.grid,
            prior=(noise_parameters.coordinates[0], noise_parameters.coordinates[1]),
            weight=noise_parameters.number("weight"),
            step=float(found.step),
        )
    ]
    chain = grid_1d_chain(model.distribution(problem.prior, problem.schema), pieces, settings)

    def original(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        draws, info = chain(key, released)
        return model.original(draws, problem.schema), info

    return original


def inside(shares: Any, grid: int) -> Any:
    """Shares off 0 and 1: a draw that was rounded to an end lies, on average, a quarter of a step inside."""
    import jax.numpy as jnp

    return jnp.clip(shares, 0.25 / grid, 1 - 0.25 / grid)


def query_from_draws(problem: Problem, settings: SamplerSettings) -> Chain:
    """The mean of the rows themselves: p(mean | draws) ~ prior(mean) prod p(w_i | n mean), by a fine table of means.

    The table has 2^14 cells of the prior's quantiles, so that a narrow prior has as many as a flat one; draws are
    spread evenly inside a cell. With n mean known the draw's distribution is Beta(b1 + r n (1 - mean), b2 + r n mean).
    """
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.scipy.special import gammaln
    from scipy.special import betaincinv

    from tacit.models.statistical_query import StatisticalQuery

    model, noise_parameters, n, numbers = problem.model, problem.sample, problem.n, problem.prior.to_plain()
    assert isinstance(model, StatisticalQuery)
    bounds = problem.schema.number(model.column)
    first, second = noise_parameters.coordinates
    weight = noise_parameters.number("weight")
    edges = betaincinv(float(numbers["a"]), float(numbers["b"]), np.linspace(0.0, 1.0, 2**14 + 1))
    means = (edges[:-1] + edges[1:]) / 2

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        w = inside(released, noise_parameters.grid)
        odds = jnp.sum(jnp.log(w) - jnp.log1p(-w))
        sums = weight * n * means
        normaliser = gammaln(first + weight * n - sums) + gammaln(second + sums)
        log_weights = sums * odds - noise_parameters.draws * normaliser
        cumulative = jnp.cumsum(jnp.exp(log_weights - jnp.max(log_weights)))
        for_cell, for_place = jax.random.split(key)
        aim = jax.random.uniform(for_cell, (settings.draws,), jnp.float64) * cumulative[-1]
        cell = jnp.clip(jnp.searchsorted(cumulative, aim, side="right"), 0, means.size - 1)
        place = jax.random.uniform(for_place, (settings.draws,), jnp.float64)
        drawn = jnp.asarray(edges)[cell] + place * (jnp.asarray(edges)[cell + 1] - jnp.asarray(edges)[cell])
        return {"mean": bounds.low + (bounds.high - bounds.low) * drawn}, {}

    return chain
