"""Linear regression from noisy Gram matrices whose numbers of rows have noise as well: every n is one more unknown.

As `latent_gram`: the unknowns of a site are its Gram matrix, in the same coordinates, and n (`latent_rows`), which is
flat beforehand from d + 2 on, with d covariates. The target is the density of `conjugate_gram` with what depends on n
and was left out there as a constant: for the response that of `response.log_of_rows`, and for (sum x, S) of every site

    log Gamma_d((nu0 + n)/2) - log Gamma_d((n - 1)/2) - d/2 log(kappa0 + n) - (d + 1)/2 log n,

times the density of the noise. The latter comes from the volume pi^((n-1)d/2) n^(-d/2) |S|^((n-d-2)/2) /
Gamma_d((n-1)/2) of all rows that have these sums, and from |G| = n |S|.

Where the noise is small, fresh noise is subtracted from a release instead, from its n, too, and corrected for as in
`independence_mh_gram`: given a release, sums and n have the density of the sums given n times that of the noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import multigammaln

from tacit.likelihoods.conjugate_gram import Centred, GramPriorParameters, fit, log_site
from tacit.likelihoods.response import log_of_rows, log_response
from tacit.runtime.backend import argument, float64
from tacit.runtime.chain import Arrays, Chain, Either, SamplerSettings
from tacit.samplers.hmc_kernel import explore
from tacit.samplers.independence import independence
from tacit.samplers.independence_mh_gram import log_density, one_may_do, proposed_unknowns, variance_of_log
from tacit.samplers.independence_mh_gram import log_prior as log_sums
from tacit.samplers.latent_gram import NoisyGram, draw_all, prior_moments
from tacit.samplers.latent_rows import rows_around, rows_at
from tacit.samplers.release_noise import split_by_site

_ACCEPTED = 0.7
_MOST = 2.5
"""As for a known n, where the same rows and budget give about 1: 4,000 draws are worth 3,100 there."""


def log_of_covariate_rows(n: Any, d: int, prior: GramPriorParameters) -> Any:
    """What depends on the number of rows of a site and on nothing else, above."""
    volumes = multigammaln((prior.nu0 + n) / 2, d) - multigammaln((n - 1) / 2, d)
    return volumes - d / 2 * jnp.log(prior.kappa0 + n) - (d + 1) / 2 * jnp.log(n)


def counted_gram_chain(sites: Sequence[NoisyGram], prior: GramPriorParameters, settings: SamplerSettings) -> Chain:
    """The posterior given noisy Gram matrices whose n have noise, too, by the quicker way that suits.

    Layouts are for one row; the last noise is that of n.
    """
    sure, layout = counted_nuts_chain(sites, prior, settings), sites[0]
    if not one_may_do(sites, prior):
        return sure
    return Either(lambda released: suits(layout, prior, released), fresh_noise_chain(layout, prior, settings), sure)


def log_all(centred: Centred, n: Any, prior: GramPriorParameters, e: Any = ()) -> Any:
    """The log density of the sums of one site, and of the unknowns of `response`, given n, up to a constant that does
    not depend on n.
    """
    d = centred.sums.shape[0] - 1
    found = log_density(centred, n, prior, e) + log_of_covariate_rows(n, d, prior)
    return found + log_of_rows(jnp.reshape(n, 1), d + 1, prior.response)


def fresh_noise_chain(layout: NoisyGram, prior: GramPriorParameters, settings: SamplerSettings) -> Chain:
    """Metropolis with fresh noise; a proposal that is no Gram matrix of n rows has weight 0."""
    noises = layout.noises.as_arguments()

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        def centred_of(entries: Any) -> tuple[Centred, Any, Any]:
            possible = entries[-1] > layout.size + 1
            n = jnp.where(possible, entries[-1], layout.size + 1.0)
            sums, block = layout.matrix(entries[:-1])
            return Centred(sums, jnp.linalg.cholesky(block - jnp.outer(sums, sums) / n)), n, possible

        about, rows, _ = centred_of(released)
        unknowns = proposed_unknowns(about, rows, prior.response)

        def propose(key: Any) -> tuple[tuple[Centred, Any, Any], Any]:
            for_noise, for_unknowns = jax.random.split(key)
            centred, n, possible = centred_of(released - noises.fresh(for_noise))
            e, log_proposal = unknowns(for_unknowns)
            value = log_all(centred, n, prior, e) - log_proposal
            return (centred, n, e), jnp.where(possible, value, -jnp.inf)

        for_chain, for_parameters = jax.random.split(key)
        (points, n, e), info = independence(for_chain, propose, settings.draws)
        keys = jax.random.split(for_parameters, settings.draws)

        def finish(key: Any, centred: Centred, n: Any, e: Any) -> Arrays:
            return draw_all(key, jax.tree.map(lambda a: a[None], centred), n[None], prior, e)

        return {**jax.vmap(finish)(keys, points, n, e), "n": n}, info

    return chain


def suits(layout: NoisyGram, prior: GramPriorParameters, released: Any) -> Any:
    """For each of the datasets (datasets, entries) whether log p varies little under the noise, that of n included."""
    return np.array([_variance(layout, prior, entries) <= _MOST for entries in released])


def _variance(layout: NoisyGram, prior: GramPriorParameters, entries: Any) -> float:
    n, sd, d = float(entries[-1]), float(layout.sds[-1]), layout.size - 1
    if n - sd <= d + 2:
        return np.inf

    def at(rows: float) -> float:
        own = replace(layout, n=rows)
        with float64():
            terms = log_of_covariate_rows(rows, d, prior) + log_of_rows(jnp.array([rows]), d + 1, prior.response)
            return float(terms) + float(log_sums(own, prior, entries[None, :-1])[0])

    try:
        here, up, down = (at(rows) for rows in (n, n + sd, n - sd))
    except np.linalg.LinAlgError:
        return np.inf
    moved = max(abs(up - here), abs(down - here)) ** 2
    found = moved + variance_of_log(replace(layout, n=n), prior, entries[:-1], layout.sds[:-1])
    return found if np.isfinite(found) else np.inf


def counted_nuts_chain(sites: Sequence[NoisyGram], prior: GramPriorParameters, settings: SamplerSettings) -> Chain:
    """NUTS on the latent matrices and n of all sites, whose layouts are for one row; the last noise is that of n."""
    layout = sites[0]
    size = layout.size
    d, entries_of = size - 1, len(layout.order)
    least = d + 2.0
    lower, diagonal = np.tril_indices(size, -1), np.diag_indices(size)
    mean, spread = map(argument, prior_moments(layout, prior))
    sds, is_second = argument(np.stack([site.sds for site in sites])), np.asarray(layout.order) >= size
    noises = [site.noises.as_arguments() for site in sites]

    def unpack(u: Any) -> Centred:
        factor = jnp.zeros((size, size)).at[diagonal].set(jnp.exp(u[size : 2 * size])).at[lower].set(u[2 * size :])
        return Centred(u[:size], factor)

    def entries(u: Any, n: Any) -> Any:
        return layout.entries(unpack(u), n)

    def start(best: Any, around: Any, sds: Any) -> tuple[Any, Any]:
        """A possible matrix near the release of a site, and the steps of its coordinates there."""
        precision = 1 / sds[:-1] ** 2 + 1 / (around * spread) ** 2
        steps = 1 / jnp.sqrt(precision)
        floor = jnp.minimum(0.1 * around * jnp.max(mean), jnp.min(jnp.where(is_second, steps, jnp.inf)))
        sums, block = layout.matrix((best[:-1] / sds[:-1] ** 2 + mean / (around * spread**2)) / precision)
        values, vectors = jnp.linalg.eigh(block - jnp.outer(sums, sums) / around)
        factor = jnp.linalg.cholesky((vectors * jnp.maximum(values, floor)) @ vectors.T)
        origin = jnp.concatenate([sums, jnp.log(jnp.diagonal(factor)), factor[lower]])
        return origin, jnp.linalg.solve(jax.jacfwd(entries)(origin, around), jnp.diag(steps))

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        parts = split_by_site(released, noises)
        best = jnp.stack([noise.best(part) for noise, part in zip(noises, parts, strict=True)])
        around = rows_around(best[:, -1], sds[:, -1], least)
        origin, scaling = jax.vmap(start)(best, around, sds)
        unknowns = len(sites) * (entries_of + 1)

        def place(t: Any) -> tuple[Any, Any, Any]:
            """The coordinates of the matrices, every n, and the log of the volume that n has there."""
            own = t[:unknowns].reshape(len(sites), -1)
            n, volume = rows_at(own[:, -1], around, sds[:, -1], least)
            return origin + jnp.einsum("kij,kj->ki", scaling, own[:, :-1]), n, jnp.sum(volume)

        def target(t: Any) -> Any:
            u, n, volume = place(t)
            centred = jax.vmap(unpack)(u)
            exact = jnp.concatenate([jax.vmap(entries)(u, n), n[:, None]], axis=1)
            noise = sum(one.log_density(part, own) for one, part, own in zip(noises, parts, exact, strict=True))
            alone = jax.vmap(lambda c, rows: log_site(c, rows, prior) + log_of_covariate_rows(rows, d, prior))
            value = jnp.sum(alone(centred, n)) + log_of_rows(n, d + 1, prior.response)
            value = value + log_response(jax.vmap(fit)(centred, n), n.sum(), prior.response, t[unknowns:])
            jacobian = jnp.sum(u[:, size : 2 * size] * (size + 1.0 - np.arange(size)))
            value = value + jacobian + volume + noise
            return jnp.where(jnp.isfinite(value), value, -jnp.inf)

        for_start, for_chain, for_parameters = jax.random.split(key, 3)
        first = 0.1 * jax.random.normal(for_start, (unknowns + prior.response.unknowns,))
        dense = 5 * unknowns <= settings.warmup
        positions, info = explore(for_chain, target, first, settings, target=_ACCEPTED, dense=dense)

        def finish(key: Any, t: Any) -> Arrays:
            u, n, _ = place(t)
            found = draw_all(key, jax.vmap(unpack)(u), n, prior, t[unknowns:])
            return {**found, "n": n if len(sites) > 1 else n[0]}

        return jax.vmap(finish)(jax.random.split(for_parameters, settings.draws), positions), info

    return chain
