"""Counts of cells whose sum is not public: every cell has noise of its own, and n is the sum of the latent counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tacit.models.model import Problem
from tacit.runtime.chain import Arrays, Chain, SamplerSettings

SWEEPS = 2
"""For each draw."""


def free_counts_chain(
    problem: Problem, concentrations: Any, described: Callable[[Any, Any, Any], Arrays], settings: SamplerSettings
) -> Chain:
    """Gibbs sweeps over the latent counts, of one site; ``n`` and what ``described(key, shares, counts)`` makes of
    them.

    ``concentrations`` are the rows of Dirichlet concentrations that are equally likely, one number a cell. n is flat on
    0, 1, 2, ... beforehand.
    """
    import jax
    import jax.numpy as jnp
    import numpy as np

    from tacit.models.categorical import concentration_given
    from tacit.runtime.backend import argument
    from tacit.samplers.free_counts import free_sweep
    from tacit.samplers.latent_counts import strides

    (site,), unit = problem.sites, problem.statistic.unit
    concentrations, releases = np.array(concentrations), len(site.noises)
    scales = argument(np.array([noise.scales for noise in site.noises], np.float64) / unit)
    step_sizes = strides(8 * min(max(noise.sd) for noise in site.noises) / unit)

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        z = released.reshape(releases, -1)

        def log_noise(cells: Any, counts: Any) -> Any:
            return sum(
                noise.standard_log_density((z[j][cells][:, None] - counts) / scales[j][cells][:, None], jnp)
                for j, noise in enumerate(site.noises)
            )

        def step(counts: Any, key: Any) -> tuple[Any, Any]:
            for_alpha, *for_counts = jax.random.split(key, 1 + SWEEPS)
            alpha = concentration_given(for_alpha, counts, concentrations)
            for one in for_counts:
                counts = free_sweep(one, counts, alpha, log_noise, step_sizes, around)
            return counts, counts

        for_warmup, for_draws, for_shares, for_alpha, for_rest = jax.random.split(key, 5)
        counts = jnp.maximum(jnp.round(jnp.mean(z, axis=0)), 0.0)
        around = jnp.maximum(jnp.sum(counts), counts.shape[0])
        counts, _ = jax.lax.scan(step, counts, jax.random.split(for_warmup, settings.warmup))
        _, counts = jax.lax.scan(step, counts, jax.random.split(for_draws, settings.draws))
        keys = jax.random.split(for_alpha, settings.draws)
        alpha = jax.vmap(lambda key, counts: concentration_given(key, counts, concentrations))(keys, counts)
        shares = jax.random.dirichlet(for_shares, alpha + counts)
        return {**described(for_rest, shares, counts), "n": jnp.sum(counts, axis=1)}, {}

    return chain
