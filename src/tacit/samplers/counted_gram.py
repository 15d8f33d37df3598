"""Linear regression from a noisy Gram matrix whose number of rows has noise as well: n is one more unknown.

As `latent_gram`, for one site: the unknowns are the Gram matrix, in the same coordinates, and n, as its release plus t
standard deviations of its noise. n is flat beforehand from d + 3 on, with d covariates. The target is the density of
`conjugate_gram` with what depends on n and was left out there as a constant,

    log Gamma_d((nu0 + n)/2) - log Gamma_d((n - 1)/2) - d/2 log(kappa0 + n) - (d + 1)/2 log n
    + log Gamma(a0 + n/2) - log Gamma((n - p)/2) - n/2 log 2,

times the density of the noise. The first line belongs to (sum x, S), the second to (X'y, y'y) given X; they come from
the volumes of all rows that have these sums, pi^((n-1)d/2) n^(-d/2) |S|^((n-d-2)/2) / Gamma_d((n-1)/2) and
pi^((n-p)/2) |G|^(-1/2) RSS^((n-p)/2-1) / Gamma((n-p)/2), and |G| = n |S|. Where sigma is an unknown of its own, e, the
first term of the second line is -1/2 log(n + 2 a0): sigma^2 is v exp(width e), width^2 = 2 / (n + 2 a0).
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln, multigammaln

from tacit.likelihoods.conjugate_gram import Centred, GramPriorParameters, fit, log_site
from tacit.likelihoods.response import log_response
from tacit.runtime.backend import argument
from tacit.runtime.chain import Arrays, Chain, SamplerSettings
from tacit.samplers.hmc_kernel import explore
from tacit.samplers.latent_gram import NoisyGram, draw_all, prior_moments

_ACCEPTED = 0.7


def log_of_rows(n: Any, d: int, prior: GramPriorParameters) -> Any:
    """What depends on n and on nothing else, above."""
    design = multigammaln((prior.nu0 + n) / 2, d) - multigammaln((n - 1) / 2, d)
    design = design - d / 2 * jnp.log(prior.kappa0 + n) - (d + 1) / 2 * jnp.log(n)
    scaled = prior.response.scaled
    response = gammaln(prior.a0 + n / 2) if scaled else -jnp.log(n + 2 * prior.a0) / 2
    return design + response - gammaln((n - d - 1) / 2) - n / 2 * np.log(2)


def counted_gram_chain(layout: NoisyGram, prior: GramPriorParameters, settings: SamplerSettings) -> Chain:
    """NUTS on the latent matrix and n; ``layout`` is for one row, and its noises have one for n at the end."""
    size = layout.size
    d, entries_of = size - 1, len(layout.order)
    lower, diagonal = np.tril_indices(size, -1), np.diag_indices(size)
    mean, spread = map(argument, prior_moments(layout, prior))
    sds, noises, is_second = argument(layout.sds), layout.noises.as_arguments(), np.asarray(layout.order) >= size

    def unpack(u: Any) -> Centred:
        factor = jnp.zeros((size, size)).at[diagonal].set(jnp.exp(u[size : 2 * size])).at[lower].set(u[2 * size :])
        return Centred(u[:size], factor)

    def entries(u: Any, n: Any) -> Any:
        return layout.entries(unpack(u), n)

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        part = released.reshape(noises.scales.shape)
        best = noises.best(part)
        least = d + 3.0
        around = jnp.maximum(best[-1], least + sds[-1])
        precision = 1 / sds[:-1] ** 2 + 1 / (around * spread) ** 2
        steps = 1 / jnp.sqrt(precision)
        floor = jnp.minimum(0.1 * around * jnp.max(mean), jnp.min(jnp.where(is_second, steps, jnp.inf)))
        blended = (best[:-1] / sds[:-1] ** 2 + mean / (around * spread**2)) / precision
        sums, block = layout.matrix(blended)
        values, vectors = jnp.linalg.eigh(block - jnp.outer(sums, sums) / around)
        factor = jnp.linalg.cholesky((vectors * jnp.maximum(values, floor)) @ vectors.T)
        origin = jnp.concatenate([sums, jnp.log(jnp.diagonal(factor)), factor[lower]])
        scaling = jnp.linalg.solve(jax.jacfwd(entries)(origin, around), jnp.diag(steps))

        def place(t: Any) -> tuple[Any, Any]:
            """The coordinates of the matrix, and n."""
            return origin + scaling @ t[:entries_of], around + sds[-1] * t[entries_of]

        def target(t: Any) -> Any:
            u, n = place(t)
            possible = n >= least
            n = jnp.where(possible, n, least)
            centred = unpack(u)
            noise = noises.log_density(part, jnp.append(entries(u, n), n))
            one = jax.tree.map(lambda a: a[None], fit(centred, n))
            value = log_site(centred, n, prior) + log_response(one, n, prior.response, t[-1])
            volume = jnp.sum(u[size : 2 * size] * (size + 1.0 - np.arange(size)))
            return jnp.where(possible, value + volume + noise + log_of_rows(n, d, prior), -jnp.inf)

        for_start, for_chain, for_parameters = jax.random.split(key, 3)
        first = 0.1 * jax.random.normal(for_start, (entries_of + 1 + (not prior.response.scaled),))
        dense = 5 * entries_of <= settings.warmup
        positions, info = explore(for_chain, target, first, settings, target=_ACCEPTED, dense=dense)

        def finish(key: Any, t: Any) -> Arrays:
            u, n = place(t)
            whole = jax.tree.map(lambda a: a[None], unpack(u))
            return {**draw_all(key, whole, n[None], prior, t[-1]), "n": n}

        return jax.vmap(finish)(jax.random.split(for_parameters, settings.draws), positions), info

    return chain
