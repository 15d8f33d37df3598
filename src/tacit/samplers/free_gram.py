"""Linear regression from a noisy Gram matrix when no normal law can describe the design: levels, interactions.

The Gram matrix G of such a design obeys identities (an indicator is its own square, two levels of a column never meet),
so a Wishart law gives it no mass. Here its distinct entries g are unknown numbers with a weak prior on the set where
they are possible, and the response is treated exactly. Unknown: g, the least-squares estimate t = G^-1 X'y and the
residual sum of squares RSS. Target, up to a constant,

    p(g)  |G|^(1/2) |G + Lambda0|^(-1/2) RSS^((n-p)/2) b_n^(-a_n)  noise(z - entries)

with respect to (g, t, log RSS). The middle is the law of (X'y, y'y) given X with theta and sigma^2 integrated out, with
the Jacobian |G| RSS of (X'y, y'y) = (G t, RSS + t'G t).

p(g): every share of rows at some levels, s = (sum of an indicator)/n, has density proportional to s (1 - s); every mean
square q of a number within levels has density proportional to q (1 - q)^4 where q <= 1; and all together are weighted
by |G/n|, which vanishes where G stops being a Gram matrix. It is proper, because all entries are bounded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_solve, solve_triangular

from tacit.samplers.chain import Arrays, Chain, Settings
from tacit.samplers.nuts import nuts


@dataclass(frozen=True, eq=False)
class FreeGram:
    """What was released, and how the full matrices are put together from it.

    ``gram_index`` (p, p) holds for each place of X'X the number of its entry, -1 for n and -2 for 0; ``cross_index``
    (p,) and ``square_index`` the entries of X'y and y'y. ``shares`` and ``squares`` list the entries of X'X that are
    sums of indicators and of squared numbers. ``typical`` is a possible value of every entry divided by n.
    """

    gram_index: Any
    cross_index: Any
    square_index: int
    shares: Any
    squares: Any
    typical: Any
    n: float
    scales: Any
    sds: Any
    log_noise: Callable[[Any], Any]

    def gram(self, entries: Any) -> Any:
        """X'X from entries."""
        padded = jnp.concatenate([entries, jnp.array([0.0, self.n])])  # index -1 is n, -2 is 0
        return padded[self.gram_index]


@dataclass(frozen=True)
class ResponsePrior:
    """theta | sigma^2 ~ N(mu0, sigma^2 lambda0^-1), sigma^2 ~ IG(a0, b0)."""

    mu0: Any
    lambda0: Any
    a0: float
    b0: float


def response_update(gram: Any, estimate: Any, rss: Any, n: float, prior: ResponsePrior) -> tuple[Any, Any, Any, Any]:
    """The Cholesky factor of Lambda_n, mu_n, a_n and b_n, from the least-squares estimate: sums of positive terms."""
    root = jnp.linalg.cholesky(gram + prior.lambda0)
    away = prior.lambda0 @ (estimate - prior.mu0)
    correction = cho_solve((root, True), away)
    spread = (estimate - prior.mu0) @ away - away @ correction
    return root, estimate - correction, prior.a0 + n / 2, prior.b0 + (rss + spread) / 2


def draw_response(key: Any, gram: Any, estimate: Any, rss: Any, n: float, prior: ResponsePrior) -> Arrays:
    """theta and sigma given the exact matrices."""
    for_sigma, for_theta = jax.random.split(key)
    root, mean, a, b = response_update(gram, estimate, rss, n, prior)
    variance = b / jax.random.gamma(for_sigma, a)
    noise = jax.random.normal(for_theta, mean.shape)
    return {
        "theta": mean + jnp.sqrt(variance) * solve_triangular(root, noise, lower=True, trans=1),
        "sigma": jnp.sqrt(variance),
    }


def free_chain(problem: FreeGram, prior: ResponsePrior, settings: Settings) -> Chain:
    """NUTS on the latent entries; then theta and sigma exactly."""
    n, p = problem.n, len(problem.cross_index)
    inner = np.unique(problem.gram_index[problem.gram_index >= 0])  # the entries of X'X
    typical = np.asarray(problem.typical) * n
    spread = 0.3 * n
    precision = 1 / problem.sds**2 + 1 / spread**2
    steps = 1 / np.sqrt(precision)

    def matrices(u: Any) -> tuple[Any, Any, Any]:
        entries = jnp.zeros(len(problem.sds)).at[inner].set(u[: len(inner)])
        return problem.gram(entries), u[len(inner) : len(inner) + p], jnp.exp(u[-1])

    def all_entries(u: Any) -> Any:
        gram, estimate, rss = matrices(u)
        entries = jnp.zeros(len(problem.sds)).at[inner].set(u[: len(inner)])
        return (
            entries.at[problem.cross_index]
            .set(gram @ estimate)
            .at[problem.square_index]
            .set(rss + estimate @ gram @ estimate)
        )

    def log_prior(entries: Any, root: Any) -> Any:
        share, square = entries[problem.shares] / n, entries[problem.squares] / n
        return (
            jnp.sum(_log_inside(share) + _log_inside(1 - share))
            + jnp.sum(_log_inside(square) + 4 * _log_inside(1 - square))
            + 2 * jnp.sum(jnp.log(jnp.diagonal(root)))
            - p * jnp.log(n)
        )

    def target(u: Any, released: Any) -> Any:
        gram, estimate, rss = matrices(u)
        entries = all_entries(u)
        root = jnp.linalg.cholesky(gram)
        root_n, _, a, b = response_update(gram, estimate, rss, n, prior)
        value = (
            log_prior(entries, root)
            + jnp.sum(jnp.log(jnp.diagonal(root)))
            - jnp.sum(jnp.log(jnp.diagonal(root_n)))
            + (n - p) / 2 * u[-1]
            - a * jnp.log(b)
            + jnp.sum(problem.log_noise((released - entries) / problem.scales))
        )
        return jnp.where(jnp.isfinite(value), value, -jnp.inf)

    def start(released: Any) -> Any:
        blended = (released / problem.sds**2 + typical / spread**2) / precision
        # From the typical matrix towards the blend, as far as the shares and the matrix stay well inside.
        weights = jnp.array([1.0, 0.97, 0.9, 0.8, 0.65, 0.5, 0.3, 0.1, 0.0])
        paths = weights[:, None] * blended + (1 - weights[:, None]) * typical
        least = jax.vmap(lambda e: jnp.min(jnp.linalg.eigvalsh(problem.gram(e))))(paths)
        floor = jnp.minimum(0.2 * jnp.min(jnp.linalg.eigvalsh(problem.gram(jnp.asarray(typical)))), jnp.max(steps))
        edge = jnp.minimum(0.01 * n, jnp.max(steps))
        bounded = paths[:, np.concatenate([problem.shares, problem.squares])]
        fits = (least >= floor) & jnp.all((bounded > edge) & (bounded < n - edge), axis=1)
        chosen = paths[jnp.argmax(fits)]
        gram = problem.gram(chosen)
        estimate = jnp.linalg.solve(gram + prior.lambda0, chosen[problem.cross_index] + prior.lambda0 @ prior.mu0)
        rss = chosen[problem.square_index] - estimate @ gram @ estimate
        rss = jnp.maximum(rss, jnp.minimum(0.1 * typical[problem.square_index], jnp.max(steps)))
        return jnp.concatenate([chosen[inner], estimate, jnp.array([jnp.log(rss)])])

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        origin = start(released)
        order = jnp.concatenate(
            [jnp.asarray(inner), jnp.asarray(problem.cross_index), jnp.array([problem.square_index])]
        )
        jacobian = jax.jacfwd(all_entries)(origin)[order]
        scaling = jnp.linalg.solve(jacobian, jnp.diag(jnp.asarray(steps)[order]))
        for_start, for_chain, for_parameters = jax.random.split(key, 3)
        first = 0.05 * jax.random.normal(for_start, origin.shape)
        positions, info = nuts(
            for_chain,
            lambda t: target(origin + scaling @ t, released),
            first,
            warmup=settings.warmup,
            draws=settings.draws,
            dense=True,
            target=0.85,
        )

        def finish(k: Any, t: Any) -> Arrays:
            gram, estimate, rss = matrices(origin + scaling @ t)
            return draw_response(k, gram, estimate, rss, n, prior)

        return jax.vmap(finish)(jax.random.split(for_parameters, settings.draws), positions), info

    return chain


def naive_free_chain(problem: FreeGram, prior: ResponsePrior, settings: Settings) -> Chain:
    """The released entries taken for exact ones, the matrix of (X, y) moved to the nearest positive definite one."""
    p = len(problem.cross_index)

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        gram, cross = problem.gram(released), released[problem.cross_index]
        whole = jnp.zeros((p + 1, p + 1)).at[:p, :p].set(gram).at[:p, p].set(cross).at[p, :p].set(cross)
        values, vectors = jnp.linalg.eigh(whole.at[p, p].set(released[problem.square_index]))
        whole = (vectors * jnp.maximum(values, 1e-9 * jnp.maximum(values[-1], 1.0))) @ vectors.T
        estimate = jnp.linalg.solve(whole[:p, :p], whole[:p, p])
        rss = jnp.maximum(whole[p, p] - estimate @ whole[:p, p], 1e-9)
        keys = jax.random.split(key, settings.draws)
        return jax.vmap(lambda k: draw_response(k, whole[:p, :p], estimate, rss, problem.n, prior))(keys), {}

    return chain


def _log_inside(value: Any) -> Any:
    """log of a positive number, -inf from 0 down, with a finite gradient everywhere."""
    return jnp.where(value > 0, jnp.log(jnp.maximum(value, 1e-300)), -jnp.inf)
