"""Linear regression from a noisy Gram matrix: sample the exact matrix, integrate everything else out.

Unknown: the Gram matrix of (1, w), w = (x, y), as the sums of w and the log-Cholesky coordinates of its centred
scatter, so that every point is a possible matrix. Target: its normal-Wishart density (`conjugate_gram`) times the
density of the noise. The parameters given the matrix are then drawn exactly.

Coordinates. The chain starts at the release, drawn towards the prior mean by the precision of each, with the centred
block made positive definite. Around that start u0 it samples t in u = u0 + J^-1 diag(s) t, J the derivative of the
entries at u0 and s the smaller of noise and prior spread: t then moves every entry by about one of its own standard
deviations, whatever n and epsilon, so the work does not grow with n.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tacit.samplers.chain import Arrays, Chain, Settings
from tacit.samplers.conjugate_gram import Centred, Numbers, draw_parameters, log_density
from tacit.samplers.nuts import nuts


@dataclass(frozen=True, eq=False)
class NoisyGram:
    """What was released: entries of the Gram matrix of (1, w), plus noise.

    ``order`` says where each released entry stands in the list (sums of w, upper triangle of the sums of products of w
    row by row); ``size`` is the length of w. ``scales`` and ``sds`` belong to the noise, whose log density at scale 1
    is
    ``log_noise``.
    """

    size: int
    order: Any
    n: float
    scales: Any
    sds: Any
    log_noise: Callable[[Any], Any]

    def entries(self, centred: Centred) -> Any:
        """The released entries of an exact matrix."""
        block = centred.block(self.n)
        return jnp.concatenate([centred.sums, block[np.triu_indices(self.size)]])[self.order]

    def matrix(self, entries: Any) -> tuple[Any, Any]:
        """The sums and the symmetric block that released entries spell out."""
        flat = jnp.zeros(self.size + self.size * (self.size + 1) // 2).at[self.order].set(entries)
        upper = jnp.zeros((self.size, self.size)).at[np.triu_indices(self.size)].set(flat[self.size :])
        return flat[: self.size], upper + jnp.triu(upper, 1).T


def prior_moments(layout: NoisyGram, prior: Numbers) -> tuple[Any, Any]:
    """Rough prior mean and spread of each entry: where the chain starts and how far it looks, not what it samples."""
    d = layout.size - 1
    variance_x = np.diagonal(prior.psi0) / max(float(prior.nu0) - d - 1, 1.0) * (1 + 1 / float(prior.kappa0))
    second_x = variance_x + np.asarray(prior.m0) ** 2
    sigma2 = float(prior.b0) / max(float(prior.a0) - 1, 1.0)
    precision = np.diagonal(prior.lambda0)
    slopes = np.asarray(prior.mu0)[1:] ** 2 + sigma2 / precision[1:]
    second_y = sigma2 * (1 + 1 / precision[0]) + float(np.asarray(prior.mu0)[0]) ** 2 + float(slopes @ second_x)
    seconds = np.append(second_x, second_y)
    rows, columns = np.triu_indices(layout.size)
    root = np.sqrt(seconds)
    mean = np.concatenate([np.zeros(layout.size), np.where(rows == columns, seconds[rows], 0.0)])
    spread = np.concatenate([root, root[rows] * root[columns]])
    return layout.n * mean[layout.order], layout.n * spread[layout.order]


def collapsed_chain(layout: NoisyGram, prior: Numbers, settings: Settings) -> Chain:
    """NUTS on the latent matrix."""
    size, n = layout.size, layout.n
    mean, spread = prior_moments(layout, prior)
    precision = 1 / layout.sds**2 + 1 / spread**2
    steps = 1 / np.sqrt(precision)
    lower, diagonal = np.tril_indices(size, -1), np.diag_indices(size)
    floor = min(0.1 * float(mean.max()), float(steps[layout.order >= size].min()))

    def unpack(u: Any) -> Centred:
        factor = jnp.zeros((size, size)).at[diagonal].set(jnp.exp(u[size : 2 * size])).at[lower].set(u[2 * size :])
        return Centred(u[:size], factor)

    def log_jacobian(u: Any) -> Any:
        # From log-Cholesky coordinates to the entries of the scatter: prod_i L_ii^(size - i + 1), i from 0.
        return jnp.sum(u[size : 2 * size] * (size + 1.0 - np.arange(size)))

    def start(released: Any) -> Any:
        blended = (released / layout.sds**2 + mean / spread**2) / precision
        sums, block = layout.matrix(blended)
        values, vectors = jnp.linalg.eigh(block - jnp.outer(sums, sums) / n)
        factor = jnp.linalg.cholesky((vectors * jnp.maximum(values, floor)) @ vectors.T)
        return jnp.concatenate([sums, jnp.log(jnp.diagonal(factor)), factor[lower]])

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        origin = start(released)
        jacobian = jax.jacfwd(lambda u: layout.entries(unpack(u)))(origin)
        scaling = jnp.linalg.solve(jacobian, jnp.diag(jnp.asarray(steps)))

        def target(t: Any) -> Any:
            u = origin + scaling @ t
            centred = unpack(u)
            residual = (released - layout.entries(centred)) / layout.scales
            noise = jnp.sum(layout.log_noise(residual))
            return log_density(centred, n, prior) + log_jacobian(u) + noise

        for_start, for_chain, for_parameters = jax.random.split(key, 3)
        first = 0.1 * jax.random.normal(for_start, origin.shape)
        positions, info = nuts(for_chain, target, first, warmup=settings.warmup, draws=settings.draws, dense=True)
        keys = jax.random.split(for_parameters, settings.draws)
        parameters = jax.vmap(lambda k, t: draw_parameters(k, unpack(origin + scaling @ t), n, prior))(keys, positions)
        return parameters, info

    return chain


def project_centred(sums: Any, block: Any, n: Any) -> Centred:
    """The nearest possible matrix to a noisy one that keeps n and the sums.

    The matrix [[n, sums'], [sums, block]] is positive definite exactly if block - sums sums' / n is, so the eigenvalues
    of this centred block are clipped, to a little above 0. Clipping those of the whole matrix, as bernstein2019
    (section 3.4.3) does, would change n itself.
    """
    values, vectors = jnp.linalg.eigh(block - jnp.outer(sums, sums) / n)
    floor = 1e-9 * jnp.maximum(jnp.max(values), 1.0)
    return Centred(sums, jnp.linalg.cholesky((vectors * jnp.maximum(values, floor)) @ vectors.T))


def naive_chain(layout: NoisyGram, prior: Numbers, settings: Settings) -> Chain:
    """The released matrix taken for the exact one, its centred block projected to be positive definite."""

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        centred = project_centred(*layout.matrix(released), layout.n)
        keys = jax.random.split(key, settings.draws)
        return jax.vmap(lambda k: draw_parameters(k, centred, layout.n, prior))(keys), {}

    return chain
