"""Counts of cells whose sum is not public: every cell has noise of its own, and n is the sum of the latent counts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tacit.models.model import Problem
from tacit.runtime.chain import Arrays, Chain, Either, SamplerSettings

_SWEEPS, _EXCHANGES = 2, 6  # for each draw; the latter cost next to nothing

Described = Callable[[Any, Any, Any], Arrays]


def free_counts_chain(problem: Problem, concentrations: Any, described: Described, settings: SamplerSettings) -> Chain:
    """The latent counts of all sites; ``n`` and what ``described(key, logs, counts)`` makes of them, ``counts``
    (draws, sites, cells), and of logarithms of numbers in proportion to the shares.

    ``concentrations`` are the rows of Dirichlet concentrations that are equally likely, one number a cell. Every n is
    flat on 0, 1, 2, ... beforehand. Counts are drawn at once where one site's noise is small and the concentrations
    are known, else by Gibbs sweeps. Given the counts of the other sites, those of one have the concentrations and these
    counts together for their concentrations.
    """
    import numpy as np

    from tacit.samplers.direct_counts import suits

    rows, sure = np.array(concentrations, np.float64), _by_sweeps(problem, concentrations, described, settings)
    if len(rows) > 1 or [len(site.noises) for site in problem.sites] != [1]:
        return sure
    sds = np.array(problem.noise.sd, np.float64) / problem.statistic.unit
    quick = _at_once(problem, rows[0], described, settings)
    return Either(lambda released: suits(sds, rows[0], released), quick, sure)


def _at_once(problem: Problem, concentration: Any, described: Described, settings: SamplerSettings) -> Chain:
    import jax
    import jax.numpy as jnp
    import numpy as np

    from tacit.runtime.backend import argument
    from tacit.samplers.direct_counts import DROP, direct_counts

    noise, unit = problem.noise, problem.statistic.unit
    scales = argument(np.array(noise.scales, np.float64) / unit)
    reaches = argument(np.array(noise.reach(DROP), np.float64) / unit)

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        def log_noise(counts: Any) -> Any:
            return noise.standard_log_density((released[:, None] - counts) / scales[:, None], jnp)

        for_counts, for_shares, for_rest = jax.random.split(key, 3)
        counts, info = direct_counts(for_counts, released, concentration, log_noise, reaches, settings.draws)
        logs = jax.random.loggamma(for_shares, concentration + counts)
        return {**described(for_rest, logs, counts[:, None]), "n": jnp.sum(counts, axis=1)}, info

    return chain


def _by_sweeps(problem: Problem, concentrations: Any, described: Described, settings: SamplerSettings) -> Chain:
    import jax
    import jax.numpy as jnp
    import numpy as np

    from tacit.models.categorical import concentration_given
    from tacit.runtime.backend import argument
    from tacit.samplers.free_counts import free_sweep
    from tacit.samplers.latent_counts import strides
    from tacit.samplers.paired_counts import exchange, plausible_counts

    sites, unit = problem.sites, problem.statistic.unit
    concentrations = np.array(concentrations)
    scales = [argument(np.array([noise.scales for noise in site.noises], np.float64) / unit) for site in sites]
    sds = [np.array([noise.sd for noise in site.noises], np.float64) / unit for site in sites]
    variances = argument(np.array([np.mean(own**2, axis=0) / len(own) for own in sds]))
    step_sizes = [strides(8 * own.max(axis=1).min()) for own in sds]
    cuts = np.cumsum([scale.size for scale in scales])[:-1]
    exchanges = _EXCHANGES if len(concentrations) > 1 else 0

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        z = [part.reshape(scale.shape) for part, scale in zip(jnp.split(released, cuts), scales, strict=True)]

        def log_noise(cells: Any, counts: Any, s: int) -> Any:
            return sum(
                noise.standard_log_density((z[s][j][cells][:, None] - counts) / scales[s][j][cells][:, None], jnp)
                for j, noise in enumerate(sites[s].noises)
            )

        def log_noises(cells: Any, counts: Any) -> Any:
            return sum(log_noise(cells, counts[:, s], s) for s in range(len(sites)))

        def step(counts: Any, key: Any) -> tuple[Any, Any]:
            for_alpha, *for_counts = jax.random.split(key, 1 + _SWEEPS + exchanges)
            alpha = concentration_given(for_alpha, jnp.sum(counts, axis=0), concentrations)
            for one in for_counts[:_SWEEPS]:
                for s in range(len(sites)):
                    of_others = alpha + jnp.sum(counts, axis=0) - counts[s]
                    own = jax.random.fold_in(one, s) if s else one
                    moved = free_sweep(own, counts[s], of_others, partial(log_noise, s=s), step_sizes[s], around[s])
                    counts = counts.at[s].set(moved)
            for one in for_counts[_SWEEPS:]:
                counts = exchange(one, counts, alpha, log_noises)
            return counts, counts

        for_warmup, for_draws, for_shares, for_alpha, for_rest, for_first = jax.random.split(key, 6)
        first = jnp.stack([jnp.mean(one, axis=0) for one in z])
        rounded = jnp.maximum(jnp.round(first), 0.0)
        around = jnp.maximum(jnp.sum(rounded, axis=1), rounded.shape[1])
        counts = plausible_counts(for_first, first, variances, around, concentrations) if exchanges else rounded
        counts, _ = jax.lax.scan(step, counts, jax.random.split(for_warmup, settings.warmup))
        _, counts = jax.lax.scan(step, counts, jax.random.split(for_draws, settings.draws))
        keys, together = jax.random.split(for_alpha, settings.draws), jnp.sum(counts, axis=1)
        alpha = jax.vmap(lambda key, counts: concentration_given(key, counts, concentrations))(keys, together)
        logs, n = jax.random.loggamma(for_shares, alpha + together), jnp.sum(counts, axis=2)
        return {**described(for_rest, logs, counts), "n": n if len(sites) > 1 else n[:, 0]}, {}

    return chain
