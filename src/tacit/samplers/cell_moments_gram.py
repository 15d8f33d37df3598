"""Linear regression from a noisy Gram matrix when no normal distribution can describe the design: levels, interactions.

The Gram matrix G of such a design obeys identities (an indicator is its own square, two levels of a column never meet),
so a Wishart distribution gives it no mass. Here G is written as the sum over cells c, the combinations of levels,

    G = n sum_c s_c (w_c w_c' + B_c S_c B_c'),    w_c = a_c + B_c m_c

of the shares s_c of rows in the cell, and of the means m_c and the covariances S_c of the numbers there; a_c and B_c
say which entries of a row's design vector are 1 and which are numbers. Every s, m and S gives a possible G, so there
are no walls to sample against. Products of numbers count as numbers of their own.

Every possible G is given by some. Proof: any rows have shares, means and covariances of their cells, and these give
their G. Where no number stands within levels, one S for all cells will do: products of numbers are then summed over
all rows, to n sum_c s_c (m_c m_c' + S_c), and S = sum_c s_c S_c gives the same. []

They have a weak prior (`row_distributions`): s ~ Dirichlet(1), m ~ N(middle, (half/2)^2) for a number with such a
range, S = T C T with T ~ half-normal(half/2) and C ~ LKJ(2). The response is treated exactly. With the least-squares
estimate t = G^-1 X'y and the residual sum of squares RSS the target is, up to a constant and with respect to (t, log
RSS),

    p(s, m, S)  |G|^(1/2) |Lambda0|^(1/2) |G + Lambda0|^(-1/2) RSS^((n-p)/2) b_n^(-a_n)  noise(z - entries)

The middle is the distribution of (X'y, y'y) given X with theta and sigma^2 integrated out, with the Jacobian |G| RSS of
(X'y, y'y) = (G t, RSS + t'G t). Several sites have such unknowns each; the terms with Lambda0 and b_n are then those of
all sites together (`response`). Where the prior is not conjugate given X there are one or two unknowns more, e and h.

Where n is not public it is one more unknown of every site (`latent_rows`), flat beforehand from p + 1 on and
independent of s, m and S, and the target has `response.log_of_rows` beside it.

Before sampling, damped Gauss-Newton steps find about the peak, and the unknowns are whitened by the information there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import block_diag, cho_solve, solve_triangular

from tacit.likelihoods.response import Fit, ResponsePrior, draw_e, finished, given_sigma, log_of_rows, log_response
from tacit.likelihoods.row_coordinates import ScatterCoordinates
from tacit.likelihoods.row_distributions import RowDistributionCoordinates, RowDistributionPrior
from tacit.runtime.backend import argument
from tacit.runtime.chain import Arrays, Chain, SamplerSettings
from tacit.samplers.hmc_kernel import explore
from tacit.samplers.laplace_preconditioned_nuts import climb
from tacit.samplers.latent_rows import rows_around, rows_at
from tacit.samplers.release_noise import Noises, split_by_site

_STEPS = 40  # of the search for the peak


@dataclass(frozen=True, eq=False)
class CellGram:
    """What was released, and how the full matrices are put together from it.

    ``constants`` (K, p) and ``slopes`` (K, p, d) are the a_c and B_c; ``middles`` and ``halves`` (d,) the centre and
    half the length of each number's range. ``gram_index`` (p, p) holds for each place of X'X the number of its entry,
    -1 for n and -2 for 0; ``cross_index`` (p,) and ``square_index`` the entries of X'y and y'y. ``plain`` (d,) marks
    numbers that are columns of the data; practically no row is further than ``sds_inside`` standard deviations from a
    mean. ``n`` is None where it is the last number that was released, with noise.
    """

    constants: Any
    slopes: Any
    middles: Any
    halves: Any
    gram_index: Any
    cross_index: Any
    square_index: int
    plain: Any
    sds_inside: float
    n: float | None
    noises: Noises

    def coordinates(self) -> RowDistributionCoordinates | ScatterCoordinates:
        """Between a vector and s, m and S: where G does not say all of these, one in which what it says is straight."""
        cells = len(self.constants)
        prior = RowDistributionPrior(
            mean=np.tile(self.middles, (cells, 1)),
            mean_sd=np.tile(self.halves / 2, (cells, 1)),
            scale=self.halves / 2,
            shape=2.0,
            alpha=np.ones(cells),
        )
        own = bool(np.any(self.slopes != self.slopes[0]))
        if not own and len(self.halves) and np.linalg.matrix_rank(self.constants) < cells:
            return ScatterCoordinates(prior, self.constants)
        return RowDistributionCoordinates(prior, own=own)


def cell_moments_chain(sites: Sequence[CellGram], prior: ResponsePrior, settings: SamplerSettings) -> Chain:
    """NUTS on the latent sums of all sites, which have one layout; then theta and sigma exactly."""
    layout, latent = sites[0], sites[0].n is None
    p = len(layout.cross_index)
    known = argument([site.n or 0.0 for site in sites])
    sds = argument([site.noises.sds for site in sites])
    noises = [site.noises.as_arguments() for site in sites]
    coordinates = layout.coordinates()
    inner, first = np.unique(layout.gram_index, return_index=True)
    inner, place = inner[inner >= 0], first[inner >= 0]  # the entries of X'X, and where in it each is first
    constants, slopes = np.asarray(layout.constants), np.asarray(layout.slopes)
    size = coordinates.size + p + 1  # of the unknowns of a site, less n
    entries_of, least = sds.shape[1] - latent, p + 1.0

    def rows(u: Any, near: Any) -> tuple[Any, Any]:
        """n of one or all sites, and the log of the volume that it has where it is unknown; ``near``: `rows_at`."""
        return rows_at(u[..., size], near[0], near[1], least) if latent else (near[0], jnp.zeros(()))

    def fit(u: Any, n: Any) -> Fit:
        shares, means, root = coordinates.distribution(u[: coordinates.size])
        w = constants + jnp.einsum("kpd,kd->kp", slopes, means)
        half = slopes @ root
        gram = jnp.einsum("k,kp,kq->pq", shares, w, w) + jnp.einsum("k,kpe,kqe->pq", shares, half, half)
        return Fit(n * gram, u[coordinates.size : size - 1], jnp.exp(u[size - 1]))

    def entries(u: Any, n: Any) -> Any:
        gram, estimate, rss = fit(u, n)
        cross = gram @ estimate
        found = jnp.zeros(entries_of).at[inner].set(gram.reshape(-1)[place])
        found = found.at[layout.cross_index].set(cross).at[layout.square_index].set(rss + estimate @ cross)
        return jnp.append(found, n) if latent else found

    def log_site(u: Any, n: Any) -> Any:
        root = jnp.linalg.cholesky(fit(u, n).gram)
        log_det = 2 * jnp.sum(jnp.log(jnp.diagonal(root)))
        return coordinates.log_prior(u[: coordinates.size]) + log_det / 2 + (n - p) / 2 * u[size - 1]

    def log_model(u: Any, e: Any, near: Any) -> Any:
        n, volume = rows(u, near)
        together = log_response(jax.vmap(fit)(u, n), n.sum(), prior, e)
        found = jnp.sum(jax.vmap(log_site)(u, n)) + together
        return found + log_of_rows(n, p, prior) + jnp.sum(volume) if latent else found

    def extent(u: Any, n: Any) -> Any:
        """Of the data's columns the largest distance from the middle of the bounds at which hardly a row lies, over
        half their length: mean plus ``sds_inside`` standard deviations, by the sums.
        """
        shares, means, root = coordinates.distribution(u[: coordinates.size])
        centre = shares @ means
        own = jnp.sum(jnp.broadcast_to(root, (len(shares), *root.shape[-2:])) ** 2, axis=-1)
        squares = shares @ (own + (means - centre) ** 2)
        reached = (jnp.abs(centre - layout.middles) + layout.sds_inside * jnp.sqrt(squares)) / layout.halves
        gram, estimate, rss = fit(u, n)
        of_constant = np.flatnonzero(np.all(constants == 1, axis=0) & ~slopes.any(axis=(0, 2)))
        if not len(of_constant):
            return jnp.max(reached, where=layout.plain, initial=0.0)
        mean = gram[of_constant[0]] @ estimate / n
        variance = jnp.maximum((rss + estimate @ gram @ estimate) / n - mean**2, 0.0)
        response = jnp.abs(mean) + layout.sds_inside * jnp.sqrt(variance)
        return jnp.maximum(jnp.max(reached, where=layout.plain, initial=0.0), response)

    def information(u: Any, near: Any, sds: Any) -> Any:
        """J'J of the scaled entries, and about what prior and response say about the unknowns of one site."""
        n = rows(u, near)[0]
        gram, estimate, rss = fit(u, n)
        found = given_sigma(Fit(gram[None], estimate[None], rss[None]), n, prior, jnp.zeros(2))
        precision = prior.normal(gram, n, found.variance)[1]
        about = cho_solve((found.root, True), gram) / found.variance
        a = prior.a0 + n / 2
        left = rss / (2 * a * found.variance)
        scaled = jax.jacfwd(lambda u: entries(u, rows(u, near)[0]))(u) / sds[:, None]
        own, other, rest = slice(coordinates.size, size - 1), jnp.eye(size + latent), slice(coordinates.size)
        other = other.at[rest, rest].set(coordinates.information(u[rest]))
        other = other.at[own, own].set(precision @ about)
        other = other.at[size - 1, size - 1].set(jnp.maximum(a * left * (1 - left), 0.1)).at[size:, size:].set(0.1)
        return scaled.T @ scaled + (other + other.T) / 2

    def peak(best: Any, near: Any) -> tuple[Any, Any]:
        """About where the posterior is largest, normal noise standing in for any other, and the information there."""

        def objective(flat: Any) -> Any:
            u = flat.reshape(len(sites), -1)
            exact = jax.vmap(entries)(u, rows(u, near)[0])
            # where sigma and theta scale together, the density grows towards 0 as their volume shrinks
            scaled = 0.0 if prior.share is None else p / 2 * jnp.sum(u[:, size - 1])
            return log_model(u, jnp.zeros(2), near) + scaled - jnp.sum(((best - exact) / sds) ** 2) / 2

        def bend(flat: Any) -> Any:
            return block_diag(*jax.vmap(information)(flat.reshape(len(sites), -1), near, sds))

        rss = jnp.log(jnp.maximum(best[:, layout.square_index], 0.02 * near[0]))
        distribution = jnp.zeros((len(sites), coordinates.size))
        start = [distribution, jnp.zeros((len(sites), p)), rss[:, None], jnp.zeros((len(sites), int(latent)))]
        found, information_there = climb(objective, bend, jnp.concatenate(start, axis=1).reshape(-1), _STEPS)
        return found, jnp.linalg.cholesky(information_there)

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        parts = split_by_site(released, noises)
        best = jnp.stack([noise.best(part) for noise, part in zip(noises, parts, strict=True)])
        near = (rows_around(best[:, -1], sds[:, -1], least), sds[:, -1]) if latent else (known,)
        origin, root = peak(best, near)

        def unwhitened(t: Any) -> Any:
            flat = origin + solve_triangular(root, t[: origin.size], lower=True, trans=1)
            return flat.reshape(len(sites), -1)

        def target(t: Any) -> Any:
            u = unwhitened(t)
            exact = jax.vmap(entries)(u, rows(u, near)[0])
            noise = sum(one.log_density(part, own) for one, part, own in zip(noises, parts, exact, strict=True))
            value = log_model(u, t[origin.size :], near) + noise
            return jnp.where(jnp.isfinite(value), value, -jnp.inf)

        for_start, for_chain, for_parameters = jax.random.split(key, 3)
        start = 0.3 * jax.random.normal(for_start, (origin.size + prior.unknowns,))
        positions, info = explore(for_chain, target, start, settings, dense=True, target=0.85, depth=8)

        n = jax.vmap(lambda t: rows(unwhitened(t), near)[0])(positions)
        numbers = _numbers(for_parameters, settings.draws, p, prior.a0 + n.sum(axis=1) / 2)

        def finish(t: Any, n: Any, gamma: Any, noise: Any) -> Arrays:
            return finished(jax.vmap(fit)(unwhitened(t), n), n.sum(), prior, t[origin.size :], gamma, noise)

        info["extent"] = jax.vmap(lambda t, n: jnp.max(jax.vmap(extent)(unwhitened(t), n)))(positions, n)
        found = jax.vmap(finish)(positions, n, *numbers)
        return {**found, "n": n if len(sites) > 1 else n[:, 0]} if latent else found, info

    return chain


def naive_cell_moments_chain(sites: Sequence[CellGram], prior: ResponsePrior, settings: SamplerSettings) -> Chain:
    """The released entries taken for exact ones, each matrix of (X, y) moved to the nearest positive definite one."""
    n = sum(_known(site) for site in sites)

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        parts = split_by_site(released, [site.noises for site in sites])
        fits = [_projected(site, site.noises.best(part)) for site, part in zip(sites, parts, strict=True)]
        stacked = Fit(*(jnp.stack(part) for part in zip(*fits, strict=True)))
        for_e, for_numbers = jax.random.split(key)
        e = draw_e(for_e, stacked, n, prior, settings.draws)
        numbers = _numbers(for_numbers, settings.draws, stacked.estimate.shape[1], prior.a0 + n / 2)
        return jax.vmap(lambda e, *numbers: finished(stacked, n, prior, e, *numbers))(e, *numbers), {}

    return chain


def _numbers(key: Any, draws: int, p: int, a: Any) -> tuple[Any, Any]:
    """What `finished` makes theta and sigma of."""
    for_gamma, for_normal = jax.random.split(key)
    return jax.random.gamma(for_gamma, a, (draws,)), jax.random.normal(for_normal, (draws, p))


def _projected(site: CellGram, entries: Any) -> Fit:
    p = len(site.cross_index)
    padded = jnp.concatenate([entries, jnp.array([0.0, _known(site)])])  # index -1 is n, -2 is 0
    gram, cross = padded[site.gram_index], entries[site.cross_index]
    whole = jnp.zeros((p + 1, p + 1)).at[:p, :p].set(gram).at[:p, p].set(cross).at[p, :p].set(cross)
    values, vectors = jnp.linalg.eigh(whole.at[p, p].set(entries[site.square_index]))
    whole = (vectors * jnp.maximum(values, 1e-9 * jnp.maximum(values[-1], 1.0))) @ vectors.T
    estimate = jnp.linalg.solve(whole[:p, :p], whole[:p, p])
    return Fit(whole[:p, :p], estimate, jnp.maximum(whole[p, p] - estimate @ whole[:p, p], 1e-9))


def _known(site: CellGram) -> float:
    assert site.n is not None  # or the method would have been refused
    return site.n
