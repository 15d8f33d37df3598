"""Made-up rows that stand in for real ones where more than their scores and information matters, for any likelihood.

Stand-in row i has responses y_g, g = 1..G, with probabilities p_ig(t) that the likelihood gives them at t, scaled to
add up to 1. A sum over n real rows is one over the m stand-in rows, each of which stands for about n / m of them.
What has been released of the real rows bends it (`tacit.samplers.likelihood_chain`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

CUT_DOUBT = 0.15
"""How far what cutting takes off the sum of scores may be from what it takes off as many stand-in rows, relative."""
_FARTHEST = 1e10  # of a distance, squared, in units of the information: such a round says nothing
_CUT_SPREAD, _MOST_CUT = 0.5, 4.0  # of how many rows are cut, relative to those that are predicted: sd, and the most


class StandInRows:
    """``rows`` has arrays (m, G, ...); ``densities`` gives the logarithms (G,) of one row's responses, from that row's
    arrays (G, ...) and t; ``base`` (m, G) is what they weigh beside, ``each`` (m, 1) how many real rows one stands for.
    """

    def __init__(
        self, densities: Callable[[Any, Any], Any], rows: Mapping[str, Any], base: Any, clip: float, each: Any
    ) -> None:
        self._rows, self._base, self._clip, self._each = rows, base, clip, each
        self._values = jax.vmap(densities, (0, None))
        self._gradients = jax.vmap(jax.jacfwd(densities, argnums=1), (0, None))
        self.weight = jnp.mean(each)

    def log_p(self, t: Any) -> Any:
        """The logarithms of p_ig(t), (m, G)."""
        values = jnp.nan_to_num(self._values(self._rows, t), nan=-1e6, posinf=1e6, neginf=-1e6)
        return jax.nn.log_softmax(values + self._base, axis=1)

    def scores(self, t: Any) -> Any:
        """The score of each row and response at t, (m, G, p): the derivatives of log p, which are 0 on average.

        Those of the density alone would not be, where a grid of responses is too coarse for it.
        """
        found = self._gradients(self._rows, t)
        found = jnp.where(jnp.all(jnp.isfinite(found), -1, keepdims=True), found, 0.0)
        return found - jnp.einsum("ig,igk->ik", jnp.exp(self.log_p(t)), found)[:, None]

    def cut(self, scores: Any, units: Any) -> Any:
        """Scores cut to the length that a release cuts them to, in ``units``."""
        squares = jnp.sum((scores / units) ** 2, -1, keepdims=True)
        return scores * jnp.minimum(1.0, self._clip / jnp.sqrt(jnp.maximum(squares, self._clip**2)))

    def long(self, scores: Any, units: Any) -> Any:
        """1 where a score is cut, else 0, (m, G, 1)."""
        return jnp.where(jnp.sum((scores / units) ** 2, -1, keepdims=True) > self._clip**2, 1.0, 0.0)

    def mean(self, p: Any, values: Any) -> Any:
        """The sum over n rows of ``values`` (..., m, G, k), responses with probabilities ``p``."""
        return jnp.einsum("ig,...igk->...k", self._each * p, values)

    def products(self, p: Any, first: Any, second: Any) -> Any:
        """The sum over n rows of first second'."""
        return jnp.einsum("ig,...igj,...igk->...jk", self._each * p, first, second)

    def divergence(self, at: Any, other: Any) -> Any:
        """The sum over n rows of the Kullback-Leibler divergence from ``at`` to ``other``, logarithms of p."""
        return jnp.sum(self._each * jnp.exp(at) * (at - other))


def around_anchor(
    stand_in: StandInRows, anchor: Any, bend: Any, points: Any, units: Any, counts: Any
) -> dict[str, Any]:
    """What does not change while a chain runs: scores at the rounds' points, and what they vary by at the anchor.

    ``scatter`` also has what is not known of rows that were cut, since their covariates are not those of stand-in rows.

    Round k is taken, for the stand-in rows, at tau_k = anchor + C0 (theta_k - anchor), C0 = ``bend``; ``units`` are
    what its scores are cut in, ``counts`` (k, 2) how many rows were cut and the sd of the noise of that. Where they
    are not as many as of stand-in rows, cutting takes off as much more or less: ``shift`` is the difference.
    """
    at = jnp.exp(stand_in.log_p(anchor))
    own = stand_in.scores(anchor)
    p = len(anchor)
    information = stand_in.products(at, own, own)
    information += 1e-9 * (stand_in.weight + jnp.trace(information) / p) * jnp.eye(p)
    steps = points - anchor
    taus = anchor + steps @ bend.T

    def cut_at(tau: Any, own: Any) -> Any:
        return stand_in.cut(stand_in.scores(tau), own)

    def slope(tau: Any, own: Any) -> Any:
        return jax.jacfwd(lambda t: stand_in.mean(at, cut_at(t, own)))(tau)

    scores = jax.lax.map(lambda one: cut_at(*one), (taus, units))
    cut_off = jax.lax.map(lambda tau: stand_in.mean(at, stand_in.scores(tau)), taus) - stand_in.mean(at, scores)
    cut = jax.lax.map(lambda one: stand_in.mean(at, stand_in.long(stand_in.scores(one[0]), one[1]))[0], (taus, units))
    cut = cut + 1e-6
    seen = 1 / (1 + (counts[:, 1] ** 2 + cut) / (_CUT_SPREAD * cut) ** 2)
    more = jnp.clip(seen * (counts[:, 0] / cut - 1), -1.0, _MOST_CUT - 1)
    doubt = (CUT_DOUBT * (1 + more)) ** 2 + _CUT_SPREAD**2 * (1 - seen)
    slopes = jax.lax.map(lambda one: slope(*one), (taus, units))
    within = scores - jnp.einsum("ig,kigj->kij", at, scores)[:, :, None]
    cross = stand_in.products(at, within, own[None])
    scatter = stand_in.products(at, within, within) - cross @ jnp.linalg.solve(information, jnp.swapaxes(cross, 1, 2))
    scatter += doubt[:, None, None] * cut_off[:, :, None] * cut_off[:, None, :]
    return {
        "information": information,
        "steps": steps,
        "scores": scores,
        "slopes": slopes,
        "means": stand_in.mean(at, scores),
        "shift": -more[:, None] * cut_off @ bend,
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
    sizes = jnp.where(jnp.isfinite(sizes), jnp.minimum(sizes, _FARTHEST), _FARTHEST)
    squares = bend**2 * 2 / (1 + steps.shape[1]) * sizes / reference
    return squares * sizes, squares
