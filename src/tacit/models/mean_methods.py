"""The ways to draw the posterior of `Mean`: particles, moments where sites or reports are pooled, and naive ones."""

from __future__ import annotations

from typing import Any

from tacit.models.bounded_prior import BoundedPrior
from tacit.models.model import Problem
from tacit.protocols.noisy_number import NoisyNumber
from tacit.protocols.noisy_vector import NoisyVector
from tacit.runtime.chain import Arrays, Chain, SamplerSettings

DEVICE_STEPS = 2**20
"""Of a device's lattice, from the middle of the bounds to either end."""


def _mean(problem: Problem) -> Any:
    """The model, which only `Mean` gives to these functions."""
    return problem.model


def _bounds(problem: Problem) -> Any:
    """Low and width of the bounds, as an argument of compiled programs."""
    from tacit.runtime.backend import argument

    found = _mean(problem).bounds(problem.schema)
    return argument([found.low, found.high - found.low])


def _in_units(draws: Arrays, bounds: Any) -> Arrays:
    """Means and sds of c in [-1, 1] in the units of the column, held to what rows inside the bounds can have."""
    import jax.numpy as jnp

    half, middle = bounds[1] / 2, bounds[0] + bounds[1] / 2
    means = {k: middle + half * draws[k] for k in ("mean", "rows_mean") if k in draws}
    inside = {k: jnp.clip(v, bounds[0], bounds[0] + bounds[1]) for k, v in means.items()}
    return {**inside, **{k: half * draws[k] for k in ("sd", "rows_sd") if k in draws}}


def particles(problem: Problem, settings: SamplerSettings) -> Chain:
    """Weighted particles of the rows' own mean and spread, and of the population's."""
    import numpy as np

    from tacit.samplers.counted_mean import CountedMean, counted_mean_chain
    from tacit.samplers.mean_particles import MeanProblem, mean_particles_chain

    prior, (site,) = problem.prior, problem.sites
    assert isinstance(prior, BoundedPrior)
    laplace = tuple(noise.limit == "laplace" for noise in site.noises)
    scales = np.array([n.scales if n.limit == "laplace" else n.sd for n in site.noises], np.float64)
    scales, bounds = scales / problem.statistic.unit, _bounds(problem)
    if site.n is None:
        chain = counted_mean_chain(CountedMean(scales, laplace, prior.numbers), settings)
    else:
        chain = mean_particles_chain(MeanProblem(site.n, scales, laplace, prior.numbers), settings)

    def in_units(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        draws, info = chain(key, released)
        return _on_bounds(draws, bounds), info

    return in_units


def moments(problem: Problem, settings: SamplerSettings) -> Chain:
    """The population from all pieces of evidence, then the rows of each site given it."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    from tacit.likelihoods.bounded_number import ReportSums, two_moments
    from tacit.likelihoods.counted_sums import CountedPowerSums
    from tacit.likelihoods.evidence import NoisyPowerSums
    from tacit.likelihoods.noisy_sums import closed
    from tacit.models.one_number import counted_sums
    from tacit.samplers.importance_chain import importance_chain
    from tacit.samplers.latent_power_sums import draw_power_sums
    from tacit.samplers.pooled_posterior import pooled_posterior_chain

    model = _mean(problem)
    bounds, unit, distribution = _bounds(problem), problem.statistic.unit, model.distribution(problem.prior)
    pieces: list[Any] = []
    kinds: list[tuple[bool, ...]] = []
    for site in problem.sites:
        if site.n is None:
            pieces.append(counted_sums(site, (1, 2), unit))
            kinds.append((pieces[-1].of_laplace,))
            continue
        kinds.append(tuple(noise.limit == "laplace" for noise in site.noises))
        scales = [s / unit for noise in site.noises for s in (noise.scales if noise.limit == "laplace" else noise.sd)]
        laplace = tuple(kind for kind in kinds[-1] for _ in range(2))
        pieces.append(NoisyPowerSums(site.n, (1, 2), tuple(scales), laplace))
    for survey in problem.surveys:
        protocol = survey.local_randomizer.protocol
        if isinstance(protocol, NoisyVector):
            variance = (protocol.noise.sd[0] / DEVICE_STEPS) ** 2
            noise = (variance, 3 * variance**2)
        else:
            assert isinstance(protocol, NoisyNumber)
            scale = protocol.scale / DEVICE_STEPS
            noise = (2 * scale**2, 24 * scale**4)
        pieces.append(ReportSums(survey.n, noise))
    build = importance_chain if all(map(closed, pieces)) else pooled_posterior_chain
    population = build(distribution, pieces, settings)
    several = len(problem.sites) > 1
    cuts = np.cumsum([piece.size for piece in pieces])[:-1]

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        for_population, for_rows = jax.random.split(key)
        draws, info = population(for_population, released)
        parts = jnp.split(released, cuts)
        found: list[tuple[Any, Any]] = []
        for i, laplace in enumerate(kinds):
            piece, latent = pieces[i], isinstance(pieces[i], CountedPowerSums)
            own = (parts[i][:2], piece.drawn[:2]) if latent else (parts[i], piece.scales)
            own = *(one.reshape(-1, 2) for one in own), laplace

            def one(key: Any, mean: Any, ratio: Any, n: Any, own: Any = own) -> Any:
                m, c = two_moments(mean, ratio)
                return draw_power_sums(key, n * m, n * c, n, *own) / n

            keys = jax.random.split(jax.random.fold_in(for_rows, i), settings.draws)
            n = draws["n"].reshape(settings.draws, -1)[:, i] if latent else jnp.full(settings.draws, piece.n[0])
            rows = jax.vmap(one)(keys, draws["mean"], draws["ratio"], n)
            found.append((rows[:, 0], jnp.sqrt(jnp.maximum(rows[:, 1] - rows[:, 0] ** 2, 0.0))))
        everything = {"mean": draws["mean"], "sd": draws["sd"]}
        if found:
            rows_mean, rows_sd = (jnp.stack([one[k] for one in found], axis=1) for k in (0, 1))
            everything |= {
                "rows_mean": rows_mean if several else rows_mean[:, 0],
                "rows_sd": rows_sd if several else rows_sd[:, 0],
            }
        return {**_in_units(everything, bounds), **({"n": draws["n"]} if "n" in draws else {})}, info

    return chain


def _feasible(first: Any, second: Any, n: Any) -> tuple[Any, Any]:
    """Sums that n numbers in [-1, 1] can have."""
    import jax.numpy as jnp

    first = jnp.clip(first, -n, n)
    return first, jnp.clip(second, first**2 / n, n)


def naive(problem: Problem, settings: SamplerSettings) -> Chain:
    """The same with the released sums, moved to where sums can be, taken for the exact ones."""
    import jax.numpy as jnp

    from tacit.likelihoods.evidence import NoisyPowerSums
    from tacit.samplers.importance_chain import importance_chain

    model, n = _mean(problem), problem.n
    bounds, distribution = _bounds(problem), model.distribution(problem.prior)
    chain = importance_chain(distribution, [NoisyPowerSums(n, (1, 2), (1e-6 * n,) * 2, False)], settings)

    def taken(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        first, second = _feasible(released[0], released[1], n)
        draws, info = chain(key, jnp.stack([first, second]))
        rows = {"rows_mean": first / n, "rows_sd": jnp.sqrt(jnp.maximum(second / n - (first / n) ** 2, 0.0))}
        rows = {name: jnp.broadcast_to(value, (settings.draws,)) for name, value in rows.items()}
        return _in_units({**draws, **rows}, bounds), info

    return taken


def _on_bounds(draws: Arrays, bounds: Any) -> Arrays:
    """Means and sds of [0, 1] in the units of the column, from its low and its width; counts as they are."""
    low, width = bounds
    means = {name: low + width * draws[name] for name in ("mean", "rows_mean")}
    return {**draws, **means, **{name: width * draws[name] for name in ("sd", "rows_sd")}}


def by_group(problem: Problem, settings: SamplerSettings) -> Chain:
    """Weighted particles of every group."""
    import numpy as np

    from tacit.samplers.group_means import GroupProblem, group_means_chain

    model, prior, (site,) = _mean(problem), problem.prior, problem.sites
    assert isinstance(prior, BoundedPrior)
    groups, unit = model.groups(problem.schema), problem.statistic.unit
    laplace = tuple(noise.limit == "laplace" for noise in site.noises)
    scales = np.array([n.scales if n.limit == "laplace" else n.sd for n in site.noises], np.float64) / unit
    given = GroupProblem(site.n, groups, scales.reshape(-1, groups, 3), laplace, prior.numbers, model.pooled)
    chain, bounds = group_means_chain(given, settings), _bounds(problem)

    def in_units(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        draws, info = chain(key, released)
        return _on_bounds(draws, bounds), info

    return in_units


def naive_groups(problem: Problem, settings: SamplerSettings) -> Chain:
    """The same with noise far below one row, around the released sums moved to where sums can be."""
    import jax.numpy as jnp
    import numpy as np

    from tacit.samplers.group_means import GroupProblem, group_means_chain

    model, prior = _mean(problem), problem.prior
    assert isinstance(prior, BoundedPrior)
    groups = model.groups(problem.schema)
    given = GroupProblem(problem.n, groups, np.full((1, groups, 3), 1e-3), (False,), prior.numbers, model.pooled)
    chain, bounds = group_means_chain(given, settings), _bounds(problem)

    def taken(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        sums = jnp.maximum(released.reshape(groups, 3), 1e-2)
        sums = sums.at[:, 1].set(jnp.minimum(sums[:, 1], 1.99 * jnp.sqrt(sums[:, 0] * sums[:, 2])))
        draws, info = chain(key, (sums * problem.n / jnp.sum(sums)).reshape(-1))
        return _on_bounds(draws, bounds), info

    return taken
