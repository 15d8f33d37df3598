"""Linear regression from a noisy Gram matrix when no normal law can describe the design: levels, interactions.

The Gram matrix G of such a design obeys identities (an indicator is its own square, two levels of a column never meet),
so a Wishart law gives it no mass. Here its distinct entries g are unknown numbers with a weak prior on the set where
they are possible, and the response is treated exactly. Unknown: g, the least-squares estimate t = G^-1 X'y and the
residual sum of squares RSS. Target, up to a constant,

    p(g)  |G|^(1/2) |G + Lambda0|^(-1/2) RSS^((n-p)/2) b_n^(-a_n)  noise(z - entries)

with respect to (g, t, log RSS). The middle is the law of (X'y, y'y) given X with theta and sigma^2 integrated out, with
the Jacobian |G| RSS of (X'y, y'y) = (G t, RSS + t'G t). Several sites have such unknowns each; the terms with Lambda0
and b_n are then those of all sites together (`response`).

p(g): every share of rows at some levels, s = (sum of an indicator)/n, has density proportional to s (1 - s); every mean
square q of a number within levels has density proportional to q (1 - q)^4 where q <= 1; and all together are weighted
by |G/n|, which vanishes where G stops being a Gram matrix. It is proper, because all entries are bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tacit.samplers.chain import Arrays, Chain, Settings
from tacit.samplers.noises import Noises, split_by_site
from tacit.samplers.nuts import nuts
from tacit.samplers.response import Fit, ResponsePrior, draw, log_evidence, update


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
    noises: Noises

    def gram(self, entries: Any, n: Any) -> Any:
        """X'X from entries, for a site of n rows."""
        padded = jnp.concatenate([entries, jnp.stack([jnp.zeros(()), n * 1.0])])  # index -1 is n, -2 is 0
        return padded[self.gram_index]


def free_chain(sites: Sequence[FreeGram], prior: ResponsePrior, settings: Settings) -> Chain:
    """NUTS on the latent entries of all sites, which have one layout; then theta and sigma exactly."""
    layout = sites[0]
    p = len(layout.cross_index)
    n = np.array([site.n for site in sites])
    sds = np.stack([site.noises.sds for site in sites])
    inner = np.unique(layout.gram_index[layout.gram_index >= 0])  # the entries of X'X
    order = np.concatenate([inner, layout.cross_index, [layout.square_index]])
    typical = np.asarray(layout.typical) * n[:, None]
    spread = 0.3 * n[:, None]
    precision = 1 / sds**2 + 1 / spread**2
    steps = 1 / np.sqrt(precision)

    def sums(u: Any) -> Any:
        return jnp.zeros(sds.shape[1]).at[inner].set(u[: len(inner)])

    def fit(u: Any, n: Any) -> Fit:
        return Fit(layout.gram(sums(u), n), u[len(inner) : len(inner) + p], jnp.exp(u[-1]))

    def entries(u: Any, n: Any) -> Any:
        gram, estimate, rss = fit(u, n)
        cross = gram @ estimate
        return sums(u).at[layout.cross_index].set(cross).at[layout.square_index].set(rss + estimate @ cross)

    def log_prior(u: Any, n: Any, log_det: Any) -> Any:
        share, square = sums(u)[layout.shares] / n, sums(u)[layout.squares] / n
        return (
            jnp.sum(_log_inside(share) + _log_inside(1 - share))
            + jnp.sum(_log_inside(square) + 4 * _log_inside(1 - square))
            + log_det
            - p * jnp.log(n)
        )

    def log_site(u: Any, n: Any) -> Any:
        root = jnp.linalg.cholesky(fit(u, n).gram)
        log_det = 2 * jnp.sum(jnp.log(jnp.diagonal(root)))
        return log_prior(u, n, log_det) + log_det / 2 + (n - p) / 2 * u[-1]

    def target(u: Any, parts: Sequence[Any]) -> Any:
        exact = jax.vmap(entries)(u, n)
        noise = sum(site.noises.log_density(part, own) for site, part, own in zip(sites, parts, exact, strict=True))
        together = log_evidence(update(jax.vmap(fit)(u, n), n.sum(), prior))
        value = jnp.sum(jax.vmap(log_site)(u, n)) + together + noise
        return jnp.where(jnp.isfinite(value), value, -jnp.inf)

    def start(blended: Any, typical: Any, steps: Any, n: Any) -> Any:
        # From the typical matrix towards the blend, as far as the shares and the matrix stay well inside.
        weights = jnp.array([1.0, 0.97, 0.9, 0.8, 0.65, 0.5, 0.3, 0.1, 0.0])
        paths = weights[:, None] * blended + (1 - weights[:, None]) * typical
        least = jax.vmap(lambda e: jnp.min(jnp.linalg.eigvalsh(layout.gram(e, n))))(paths)
        floor = jnp.minimum(0.2 * jnp.min(jnp.linalg.eigvalsh(layout.gram(typical, n))), jnp.max(steps))
        edge = jnp.minimum(0.01 * n, jnp.max(steps))
        bounded = paths[:, np.concatenate([layout.shares, layout.squares])]
        fits = (least >= floor) & jnp.all((bounded > edge) & (bounded < n - edge), axis=1)
        chosen = paths[jnp.argmax(fits)]
        gram = layout.gram(chosen, n)
        estimate = jnp.linalg.solve(gram + prior.lambda0, chosen[layout.cross_index] + prior.lambda0 @ prior.mu0)
        rss = chosen[layout.square_index] - estimate @ gram @ estimate
        rss = jnp.maximum(rss, jnp.minimum(0.1 * typical[layout.square_index], jnp.max(steps)))
        return jnp.concatenate([chosen[inner], estimate, jnp.log(rss)[None]])

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        parts = split_by_site(released, [site.noises for site in sites])
        best = jnp.stack([site.noises.best(part) for site, part in zip(sites, parts, strict=True)])
        origin = jax.vmap(start)((best / sds**2 + typical / spread**2) / precision, typical, steps, n)
        jacobian = jax.vmap(jax.jacfwd(entries))(origin, n)[:, order]
        scaling = jax.vmap(jnp.linalg.solve)(jacobian, jax.vmap(jnp.diag)(jnp.asarray(steps[:, order])))

        def place(t: Any) -> Any:
            return origin + jnp.einsum("kij,kj->ki", scaling, t.reshape(origin.shape))

        for_start, for_chain, for_parameters = jax.random.split(key, 3)
        first = 0.05 * jax.random.normal(for_start, (origin.size,))
        positions, info = nuts(
            for_chain,
            lambda t: target(place(t), parts),
            first,
            warmup=settings.warmup,
            draws=settings.draws,
            dense=True,
            target=0.85,
        )
        finish = jax.vmap(lambda k, t: draw(k, update(jax.vmap(fit)(place(t), n), n.sum(), prior)))
        return finish(jax.random.split(for_parameters, settings.draws), positions), info

    return chain


def naive_free_chain(sites: Sequence[FreeGram], prior: ResponsePrior, settings: Settings) -> Chain:
    """The released entries taken for exact ones, each matrix of (X, y) moved to the nearest positive definite one."""
    n = sum(site.n for site in sites)

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        parts = split_by_site(released, [site.noises for site in sites])
        fits = [_projected(site, site.noises.best(part)) for site, part in zip(sites, parts, strict=True)]
        found = update(Fit(*(jnp.stack(part) for part in zip(*fits, strict=True))), n, prior)
        return jax.vmap(lambda k: draw(k, found))(jax.random.split(key, settings.draws)), {}

    return chain


def _projected(site: FreeGram, entries: Any) -> Fit:
    p = len(site.cross_index)
    gram, cross = site.gram(entries, site.n), entries[site.cross_index]
    whole = jnp.zeros((p + 1, p + 1)).at[:p, :p].set(gram).at[:p, p].set(cross).at[p, :p].set(cross)
    values, vectors = jnp.linalg.eigh(whole.at[p, p].set(entries[site.square_index]))
    whole = (vectors * jnp.maximum(values, 1e-9 * jnp.maximum(values[-1], 1.0))) @ vectors.T
    estimate = jnp.linalg.solve(whole[:p, :p], whole[:p, p])
    return Fit(whole[:p, :p], estimate, jnp.maximum(whole[p, p] - estimate @ whole[:p, p], 1e-9))


def _log_inside(value: Any) -> Any:
    """log of a positive number, -inf from 0 down, with a finite gradient everywhere."""
    return jnp.where(value > 0, jnp.log(jnp.maximum(value, 1e-300)), -jnp.inf)
