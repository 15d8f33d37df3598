"""Counts of cells whose sum is not public: every cell has noise of its own, and n is the sum of the latent counts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tacit.models.model import Problem
from tacit.runtime.chain import Arrays, Chain, SamplerSettings

SWEEPS = 2
"""For each draw."""


def free_counts_chain(
    problem: Problem, concentrations: Any, described: Callable[[Any, Any, Any], Arrays], settings: SamplerSettings
) -> Chain:
    """Gibbs sweeps over the latent counts of all sites; ``n`` and what ``described(key, shares, counts)`` makes of
    them, ``counts`` (draws, sites, cells).

    ``concentrations`` are the rows of Dirichlet concentrations that are equally likely, one number a cell. Every n is
    flat on 0, 1, 2, ... beforehand. Given the counts of the other sites, those of one have the concentrations and these
    counts together for their concentrations.
    """
    import jax
    import jax.numpy as jnp
    import numpy as np

    from tacit.models.categorical import concentration_given
    from tacit.runtime.backend import argument
    from tacit.samplers.free_counts import free_sweep
    from tacit.samplers.latent_counts import strides

    sites, unit = problem.sites, problem.statistic.unit
    concentrations = np.array(concentrations)
    scales = [argument(np.array([noise.scales for noise in site.noises], np.float64) / unit) for site in sites]
    step_sizes = [strides(8 * min(max(noise.sd) for noise in site.noises) / unit) for site in sites]
    cuts = np.cumsum([scale.size for scale in scales])[:-1]

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        z = [part.reshape(scale.shape) for part, scale in zip(jnp.split(released, cuts), scales, strict=True)]

        def log_noise(cells: Any, counts: Any, s: int) -> Any:
            return sum(
                noise.standard_log_density((z[s][j][cells][:, None] - counts) / scales[s][j][cells][:, None], jnp)
                for j, noise in enumerate(sites[s].noises)
            )

        def step(counts: Any, key: Any) -> tuple[Any, Any]:
            for_alpha, *for_counts = jax.random.split(key, 1 + SWEEPS)
            alpha = concentration_given(for_alpha, jnp.sum(counts, axis=0), concentrations)
            for one in for_counts:
                for s in range(len(sites)):
                    of_others = alpha + jnp.sum(counts, axis=0) - counts[s]
                    own = jax.random.fold_in(one, s) if s else one
                    moved = free_sweep(own, counts[s], of_others, partial(log_noise, s=s), step_sizes[s], around[s])
                    counts = counts.at[s].set(moved)
            return counts, counts

        for_warmup, for_draws, for_shares, for_alpha, for_rest = jax.random.split(key, 5)
        counts = jnp.stack([jnp.maximum(jnp.round(jnp.mean(one, axis=0)), 0.0) for one in z])
        around = jnp.maximum(jnp.sum(counts, axis=1), counts.shape[1])
        counts, _ = jax.lax.scan(step, counts, jax.random.split(for_warmup, settings.warmup))
        _, counts = jax.lax.scan(step, counts, jax.random.split(for_draws, settings.draws))
        keys, together = jax.random.split(for_alpha, settings.draws), jnp.sum(counts, axis=1)
        alpha = jax.vmap(lambda key, counts: concentration_given(key, counts, concentrations))(keys, together)
        shares, n = jax.random.dirichlet(for_shares, alpha + together), jnp.sum(counts, axis=2)
        return {**described(for_rest, shares, counts), "n": n if len(sites) > 1 else n[:, 0]}, {}

    return chain
