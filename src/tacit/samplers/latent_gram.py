"""Linear regression from a noisy Gram matrix: sample the exact matrix, integrate everything else out.

Unknown: the Gram matrix of (1, w), w = (x, y), as the sums of w and the log-Cholesky coordinates of its centred
scatter, so that every point is a possible matrix. Target: its normal-Wishart density (`conjugate_gram`) times the
density of the noise. The parameters given the matrix are then drawn exactly. Several sites have a matrix each and share
theta and sigma. Where the prior is not conjugate given the design, there are one or two unknowns more (`response`).

Coordinates. The chain starts at the release, drawn towards the prior mean by the precision of each, with the centred
block made positive definite. Around that start u0 it samples t in u = u0 + J^-1 diag(s) t, J the derivative of the
entries at u0 and s the smaller of noise and prior spread: t then moves every entry by about one of its own standard
deviations, whatever n and epsilon, so the work does not grow with n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tacit.likelihoods.conjugate_gram import Centred, GramPriorParameters, fit, log_site, placed_covariates
from tacit.likelihoods.response import draw_e, finished, log_response
from tacit.runtime.backend import argument
from tacit.runtime.chain import Arrays, Chain, SamplerSettings, Shaped
from tacit.samplers.hmc_kernel import explore
from tacit.samplers.release_noise import Noises, split_by_site

# With 3 covariates and 1,000 rows a draw took 27 gradients at 0.8, the usual rate, and 16 at 0.7; effective draws a
# second rose from 970 to 1,370.
_ACCEPTED = 0.7


@dataclass(frozen=True, eq=False)
class NoisyGram:
    """What was released about the rows of one site: entries of the Gram matrix of (1, w), plus noise.

    ``order`` says where each released entry stands in the list (sums of w, upper triangle of the sums of products of w
    row by row); ``size`` is the length of w.
    """

    size: int
    order: Any
    n: float
    noises: Noises

    @property
    def scales(self) -> Any:
        """The scale of each entry's noise in the first release; for methods that take no second one."""
        return self.noises.scales[0]

    @property
    def sds(self) -> Any:
        """The standard deviation of each entry's noise, all releases taken together."""
        return self.noises.sds

    def log_noise(self, residual: Any) -> Any:
        """The log density of the first release's noise at scale 1."""
        return self.noises.log_densities[0](residual)

    def entries(self, centred: Centred, n: Any = None) -> Any:
        """The released entries of an exact matrix; ``n`` stands for another site's number of rows."""
        block = centred.block(self.n if n is None else n)
        return jnp.concatenate([centred.sums, block[np.triu_indices(self.size)]])[self.order]

    def matrix(self, entries: Any) -> tuple[Any, Any]:
        """The sums and the symmetric block that released entries spell out."""
        flat = jnp.zeros(self.size + self.size * (self.size + 1) // 2).at[self.order].set(entries)
        upper = jnp.zeros((self.size, self.size)).at[np.triu_indices(self.size)].set(flat[self.size :])
        return flat[: self.size], upper + jnp.triu(upper, 1).T


def prior_moments(layout: NoisyGram, prior: GramPriorParameters) -> tuple[Any, Any]:
    """Rough prior mean and spread of each entry: where the chain starts and how far it looks, not what it samples."""
    d = layout.size - 1
    variance_x = np.diagonal(prior.psi0) / max(float(prior.nu0) - d - 1, 1.0) * (1 + 1 / float(prior.kappa0))
    second_x = variance_x + np.asarray(prior.m0) ** 2
    sigma2 = float(prior.b0) / max(float(prior.a0) - 1, 1.0)
    precision = np.diagonal(prior.lambda0)
    slopes = np.asarray(prior.mu0)[1:] ** 2 + sigma2 / precision[1:]
    second_y = sigma2 * (1 + 1 / precision[0]) + float(np.asarray(prior.mu0)[0]) ** 2 + float(slopes @ second_x)
    if prior.share is not None:
        second_y = prior.share.total**2
    seconds = np.minimum(np.append(second_x, second_y), 1.0)  # mapped numbers lie in [-1, 1]
    rows, columns = np.triu_indices(layout.size)
    root = np.sqrt(seconds)
    mean = np.concatenate([np.zeros(layout.size), np.where(rows == columns, seconds[rows], 0.0)])
    spread = np.concatenate([root, root[rows] * root[columns]])
    return layout.n * mean[layout.order], layout.n * spread[layout.order]


def wishart_chain(sites: Sequence[NoisyGram], prior: GramPriorParameters, settings: SamplerSettings) -> Chain:
    """NUTS on the latent matrices of all sites, which have one layout."""
    layout = sites[0]
    size = layout.size
    n = np.array([site.n for site in sites])
    mean, spread = (np.stack(part) for part in zip(*(prior_moments(site, prior) for site in sites), strict=True))
    sds = np.stack([site.sds for site in sites])
    precision = 1 / sds**2 + 1 / spread**2
    steps = 1 / np.sqrt(precision)
    lower, diagonal = np.tril_indices(size, -1), np.diag_indices(size)
    floors = np.minimum(0.1 * mean.max(axis=1), steps[:, layout.order >= size].min(axis=1))
    given = tuple(map(argument, (n, mean, spread, sds, precision, steps, floors)))
    whole = replace(layout, n=float("nan"))  # what is written into a program must not depend on it

    def made(given: Any) -> Chain:
        (n, mean, spread, sds, precision, steps, floors), own = given
        noises = [replace(site.noises, scales=s, spreads=w) for site, (s, w) in zip(sites, own, strict=True)]

        def unpack(u: Any) -> Centred:
            factor = jnp.zeros((size, size)).at[diagonal].set(jnp.exp(u[size : 2 * size])).at[lower].set(u[2 * size :])
            return Centred(u[:size], factor)

        def log_jacobian(u: Any) -> Any:
            # From log-Cholesky coordinates to the entries of the scatter: prod_i L_ii^(size - i + 1), i from 0.
            return jnp.sum(u[..., size : 2 * size] * (size + 1.0 - np.arange(size)))

        def entries(u: Any, n: Any) -> Any:
            return whole.entries(unpack(u), n)

        def start(blended: Any, n: Any, floor: Any) -> Any:
            sums, block = whole.matrix(blended)
            values, vectors = jnp.linalg.eigh(block - jnp.outer(sums, sums) / n)
            factor = jnp.linalg.cholesky((vectors * jnp.maximum(values, floor)) @ vectors.T)
            return jnp.concatenate([sums, jnp.log(jnp.diagonal(factor)), factor[lower]])

        def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
            parts = split_by_site(released, noises)
            best = jnp.stack([noise.best(part) for noise, part in zip(noises, parts, strict=True)])
            origin = jax.vmap(start)((best / sds**2 + mean / spread**2) / precision, n, floors)
            jacobian = jax.vmap(jax.jacfwd(entries))(origin, n)
            scaling = jax.vmap(jnp.linalg.solve)(jacobian, jax.vmap(jnp.diag)(steps))

            def place(t: Any) -> Any:
                return origin + jnp.einsum("kij,kj->ki", scaling, t[: origin.size].reshape(origin.shape))

            def target(t: Any) -> Any:
                u = place(t)
                centred = jax.vmap(unpack)(u)
                exact = jax.vmap(entries)(u, n)
                noise = sum(one.log_density(part, own) for one, part, own in zip(noises, parts, exact, strict=True))
                alone = jnp.sum(jax.vmap(lambda c, rows: log_site(c, rows, prior))(centred, n))
                together = log_response(jax.vmap(fit)(centred, n), n.sum(), prior.response, t[origin.size :])
                return alone + together + log_jacobian(u) + noise

            for_start, for_chain, for_parameters = jax.random.split(key, 3)
            first = 0.1 * jax.random.normal(for_start, (origin.size + prior.response.unknowns,))
            # A full metric helps where noise dominates, but one of many entries cannot be learnt from so few draws.
            dense = 5 * origin.size <= settings.warmup
            positions, info = explore(for_chain, target, first, settings, target=_ACCEPTED, dense=dense)
            keys = jax.random.split(for_parameters, settings.draws)
            finish = jax.vmap(lambda k, t: draw_all(k, jax.vmap(unpack)(place(t)), n, prior, t[origin.size :]))
            return finish(keys, positions), info

        return chain

    kinds = tuple(site.noises.laplace for site in sites)
    purpose = ("wishart", size, layout.order.tobytes(), kinds, prior, settings)
    return Shaped(made, (given, [site.noises.numbers() for site in sites]), purpose)


def project_centred(sums: Any, block: Any, n: Any) -> Centred:
    """The nearest possible matrix to a noisy one that keeps n and the sums.

    The matrix [[n, sums'], [sums, block]] is positive definite exactly if block - sums sums' / n is, so the eigenvalues
    of this centred block are clipped, to a little above 0. Clipping those of the whole matrix, as bernstein2019
    (section 3.4.3) does, would change n itself.
    """
    values, vectors = jnp.linalg.eigh(block - jnp.outer(sums, sums) / n)
    floor = 1e-9 * jnp.maximum(jnp.max(values), 1.0)
    return Centred(sums, jnp.linalg.cholesky((vectors * jnp.maximum(values, floor)) @ vectors.T))


def naive_chain(sites: Sequence[NoisyGram], prior: GramPriorParameters, settings: SamplerSettings) -> Chain:
    """The released matrices taken for the exact ones, their centred blocks projected to be positive definite."""
    n = np.array([site.n for site in sites])

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        parts = split_by_site(released, [site.noises for site in sites])
        centred = [
            project_centred(*site.matrix(site.noises.best(part)), site.n)
            for site, part in zip(sites, parts, strict=True)
        ]
        stacked = Centred(*(jnp.stack(part) for part in zip(*centred, strict=True)))
        for_e, for_rest = jax.random.split(key)
        e = draw_e(for_e, jax.vmap(fit)(stacked, n), n.sum(), prior.response, settings.draws)
        keys = jax.random.split(for_rest, settings.draws)
        return jax.vmap(lambda k, e: draw_all(k, stacked, n, prior, e))(keys, e), {}

    return chain


def draw_all(key: Any, centred: Centred, n: Any, prior: GramPriorParameters, e: Any = ()) -> Arrays:
    """theta and sigma of all sites together, and every site's mu_x and Sigma_x; one site has no axis of its own.

    All gamma numbers come from one call and all normal ones from another, as every call takes a second to compile.
    """
    for_gamma, for_normal = jax.random.split(key)
    sites, d = len(n), centred.sums.shape[1] - 1
    degrees = prior.nu0 + n[:, None] - np.arange(d)
    gammas = jax.random.gamma(for_gamma, jnp.append(prior.a0 + n.sum() / 2, degrees / 2))
    normals = jax.random.normal(for_normal, (d + 1 + sites * (d + 1) * d,))
    own = gammas[1:].reshape(sites, d), normals[d + 1 :].reshape(sites, d + 1, d)
    distribution = jax.vmap(lambda c, rows, *numbers: placed_covariates(c, rows, prior, *numbers))(centred, n, *own)
    distribution = distribution if sites > 1 else {name: value[0] for name, value in distribution.items()}
    fits = jax.vmap(fit)(centred, n)
    return {**finished(fits, n.sum(), prior.response, e, gammas[0], normals[: d + 1]), **distribution}
