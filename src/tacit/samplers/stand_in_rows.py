"""Made-up rows that stand in for real ones where more than their scores and information matters, for any likelihood.

Stand-in row i has responses y_g, g = 1..G, with probabilities p_ig(t) that the likelihood gives them at t, scaled to
add up to 1. A sum over n real rows is n / m times one over the m stand-in rows, averaged over responses. What has been
released of the real rows bends it (`tacit.samplers.likelihood_chain`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

CUT_DOUBT = 0.15
"""How far what cutting takes off the sum of scores may be from what it takes off those of stand-in rows, relative."""


class StandInRows:
    """``rows`` has arrays (m, G, ...); ``densities`` gives the logarithms (G,) of one row's responses, from that row's
    arrays (G, ...) and t; ``base`` (m, G) is what they weigh beside.
    """

    def __init__(
        self, densities: Callable[[Any, Any], Any], rows: Mapping[str, Any], base: Any, clip: float, n: Any
    ) -> None:
        self._rows, self._base, self._clip = rows, base, clip
        self._values = jax.vmap(densities, (0, None))
        self._gradients = jax.vmap(jax.jacfwd(densities, argnums=1), (0, None))
        self.weight = n / base.shape[0]

    def log_p(self, t: Any) -> Any:
        """The logarithms of p_ig(t), (m, G)."""
        values = jnp.nan_to_num(self._values(self._rows, t), nan=-1e6, posinf=1e6, neginf=-1e6)
        return jax.nn.log_softmax(values + self._base, axis=1)

    def scores(self, t: Any) -> Any:
        """The score of each row and response at t, (m, G, p)."""
        found = self._gradients(self._rows, t)
        return jnp.where(jnp.all(jnp.isfinite(found), -1, keepdims=True), found, 0.0)

    def cut(self, scores: Any) -> Any:
        """Scores cut to the length that a release cuts them to."""
        squares = jnp.sum(scores**2, -1, keepdims=True)
        return scores * jnp.minimum(1.0, self._clip / jnp.sqrt(jnp.maximum(squares, self._clip**2)))

    def mean(self, p: Any, values: Any) -> Any:
        """The sum over n rows of ``values`` (..., m, G, k), responses with probabilities ``p``."""
        return self.weight * jnp.einsum("ig,...igk->...k", p, values)

    def products(self, p: Any, first: Any, second: Any) -> Any:
        """The sum over n rows of first second'."""
        return self.weight * jnp.einsum("ig,...igj,...igk->...jk", p, first, second)

    def divergence(self, at: Any, other: Any) -> Any:
        """The sum over n rows of the Kullback-Leibler divergence from ``at`` to ``other``, logarithms of p."""
        return self.weight * jnp.sum(jnp.exp(at) * (at - other))


def around_anchor(stand_in: StandInRows, anchor: Any, bend: Any, points: Any) -> dict[str, Any]:
    """What does not change while a chain runs: scores at the rounds' points, and what they vary by at the anchor.

    ``scatter`` also has what is not known of rows that were cut, since their covariates are not those of stand-in rows.

    Round k is taken, for the stand-in rows, at tau_k = anchor + C0 (theta_k - anchor), C0 = ``bend``.
    """
    at = jnp.exp(stand_in.log_p(anchor))
    own = stand_in.scores(anchor)
    p = len(anchor)
    information = stand_in.products(at, own, own)
    information += 1e-9 * (stand_in.weight + jnp.trace(information) / p) * jnp.eye(p)
    steps = points - anchor
    taus = anchor + steps @ bend.T

    def cut_at(tau: Any) -> Any:
        return stand_in.cut(stand_in.scores(tau))

    scores = jax.lax.map(cut_at, taus)
    cut_off = jax.lax.map(lambda tau: stand_in.mean(at, stand_in.scores(tau)), taus) - stand_in.mean(at, scores)
    slopes = jax.lax.map(lambda tau: jax.jacfwd(lambda t: stand_in.mean(at, cut_at(t)))(tau), taus)
    within = scores - jnp.einsum("ig,kigj->kij", at, scores)[:, :, None]
    cross = stand_in.products(at, within, own[None])
    scatter = stand_in.products(at, within, within) - cross @ jnp.linalg.solve(information, jnp.swapaxes(cross, 1, 2))
    scatter += CUT_DOUBT**2 * cut_off[:, :, None] * cut_off[:, None, :]
    return {
        "information": information,
        "steps": steps,
        "scores": scores,
        "slopes": slopes,
        "means": stand_in.mean(at, scores),
        "scatter": jnp.einsum("ji,kjl,lm->kim", bend, (scatter + jnp.swapaxes(scatter, 1, 2)) / 2, bend),
        "products": stand_in.products(at, scores, scores),
    }


def discount(information: Any, steps: Any, scores: Any, reference: Any, bend: float) -> tuple[Any, Any]:
    """By how much a score, as a multiple of J, and an information, of J x J, may be off away from the anchor.

    As in `tacit.models.score_steps.discount`: by ``bend`` d, d^2 = step'J step / ``reference``, or, where that is more
    because the information changes on the way, with s'J^-1 s, s = ``scores`` the score that is expected there.
    """
    inverse = jnp.linalg.inv(information)
    sizes = jnp.maximum(
        jnp.einsum("kj,jl,kl->k", steps, information, steps), jnp.einsum("kj,jl,kl->k", scores, inverse, scores)
    )
    squares = bend**2 * 2 / (1 + steps.shape[1]) * sizes / reference
    return squares * sizes, squares
