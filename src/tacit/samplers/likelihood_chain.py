"""Any likelihood from noisy scores and information in rounds: NUTS on parameters, the rows' own estimate and J.

As `tacit.samplers.score_chain`, whose notation is used, with stand-in rows (`tacit.samplers.stand_in_rows`) in place of
normal covariates and a link. Their information at the anchor is H; bent to the rows' J by C with C'H C = J and
tau(theta) = anchor + C (theta - anchor). With E_t the sum over stand-in rows whose responses are drawn at t, and s_k
their cut scores at tau_k, what is released has the means

    S_k: C' (E_tau(hat)[s_k] + what moving tau_k with C changes, to first order)      J_k: C' E_tau(hat)[s_k s_k'] C

so that cutting is part of the model. S_k scatters about it by what hat does not say of the scores there. The density of
the rows' estimate is Barndorff-Nielsen's, with the expected log-likelihood:

    p(hat | theta) = |J(hat)|^(1/2) exp(-sum over rows of KL(p(tau(hat)) || p(tau(theta)))),   J(hat) = C'E[s s']C.

J(hat) is the expected information, never indefinite, whether or not the log-likelihood is concave.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular

from tacit.runtime.chain import Arrays, Chain, SamplerSettings
from tacit.samplers.score_chain import PackedArrays, normal_coordinates, normal_laplace, whitened_draws
from tacit.samplers.stand_in_rows import StandInRows, around_anchor, discount

BEND = 0.4
_SPREAD, _MIX = 0.7, 0.4  # prior sds of B: of the logarithms on its diagonal, and of entries below it


@dataclass(frozen=True)
class LikelihoodLayout(PackedArrays):
    """What the packed numbers mean: p coordinates, ``x`` of them covariates, which rounds have a matrix."""

    p: int
    x: int
    matrix: tuple[bool, ...]
    laplace: bool

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The arrays in the order in which they are packed."""
        p, x, k, m = self.p, self.x, len(self.matrix), sum(self.matrix)
        return {
            "n": (1,),
            "prior_mean": (p,),
            "prior_sd": (p,),
            "anchor": (p,),
            "bend": (p, p),
            "mean": (x,),
            "root": (x, x),
            "points": (k, p),
            "units": (k, p),
            "counts": (k, 2),
            "scores": (k, p),
            "score_noise": (k, p),
            "matrices": (m, p * (p + 1) // 2),
            "matrix_noise": (m,),
        }


class _Rows:
    """What is known of the rows, as a function of hat and B."""

    def __init__(self, layout: LikelihoodLayout, data: Arrays, stand_in: StandInRows) -> None:
        self.p, self.laplace, self.data, self.stand_in = layout.p, layout.laplace, data, stand_in
        self.with_matrix = np.flatnonzero(layout.matrix)
        self.below, self.upper = np.tril_indices(self.p, -1), np.triu_indices(self.p)
        near = around_anchor(stand_in, data["anchor"], data["bend"], data["points"], data["units"], data["counts"])
        self.scores = data["scores"] - near["shift"]
        self.near, self.root = near, jnp.linalg.cholesky(near["information"])
        bend = data["bend"]
        own = bend.T @ near["information"] @ bend
        scores, matrices = discount(
            own, near["steps"], near["means"] @ bend, reference(own, layout.x, data["n"][0]), BEND
        )
        extra = near["scatter"] + scores[:, None, None] * own
        scale = data["score_noise"]
        self.score_scale, self.score_extra = scale, jnp.sqrt(jnp.einsum("kjj->kj", extra) + (0.1 * scale) ** 2)
        identity = jnp.eye(self.p)
        noise = scale[:, :, None] ** 2 * (1 + self.laplace)  # of each entry
        self.weights = jnp.linalg.inv(noise * identity + extra)
        self.whiten = jnp.linalg.cholesky(self.weights)
        self._matrix_noise(matrices, bend)

    def _matrix_noise(self, matrices: Any, bend: Any) -> None:
        near, m, off = self.near, self.with_matrix, np.where(self.upper[0] == self.upper[1], 1.0, 0.5)
        units = self.data["units"][m]
        there = bend.T @ near["products"][m] @ bend / (units[:, :, None] * units[:, None, :])
        lengths, self.bases = jnp.linalg.eigh((there + jnp.swapaxes(there, 1, 2)) / 2)
        if self.laplace:
            lengths, self.bases = jnp.einsum("kjj->kj", there), jnp.broadcast_to(jnp.eye(self.p), there.shape)
            off = np.ones(len(off))
        self.turns = self.bases / units[:, :, None]  # of an information in the units of the coordinates
        turned = jnp.einsum("kigj,jl,klq->kigq", near["scores"][m], bend, self.turns)
        pairs = turned[..., self.upper[0]] * turned[..., self.upper[1]]
        at = jnp.exp(self.stand_in.log_p(self.data["anchor"]))
        scatter = self.stand_in.mean(at, (pairs - jnp.einsum("ig,kigq->kiq", at, pairs)[:, :, None]) ** 2)
        spread = matrices[m, None] * off * lengths[:, self.upper[0]] * lengths[:, self.upper[1]] + scatter
        scale = self.data["matrix_noise"][:, None] * np.sqrt(off)
        self.matrix_scale, self.matrix_extra = scale, jnp.sqrt(jnp.maximum(spread, 0) + (0.1 * scale) ** 2)
        self.matrix_sd = jnp.sqrt((1 + self.laplace) * scale**2 + self.matrix_extra**2)

    def factor(self, b: Any) -> Any:
        """L with L L' = J."""
        return self.root @ jnp.diag(jnp.exp(b[: self.p])).at[self.below].set(b[self.p :])

    def start(self) -> Any:
        """B where stand-in rows have been bent as they were found to be: J = C0'H C0."""
        bend = self.data["bend"]
        own = jnp.linalg.cholesky(bend.T @ self.near["information"] @ bend)
        b = solve_triangular(self.root, own, lower=True)
        return jnp.concatenate([jnp.log(jnp.diagonal(b)), b[self.below]])

    def log_prior(self, b: Any) -> Any:
        """Weak and proper, around the information of the stand-in rows."""
        return -jnp.sum((b[: self.p] / _SPREAD) ** 2) / 2 - jnp.sum((b[self.p :] / _MIX) ** 2) / 2

    def log_noise(self, scores: Any, matrices: Any) -> Any:
        """The log density of noise and scatter together, up to a constant."""
        if self.laplace:
            found = jnp.sum(normal_laplace(scores, self.score_scale, self.score_extra))
            return found + jnp.sum(normal_laplace(matrices, self.matrix_scale, self.matrix_extra))
        whitened = jnp.einsum("kji,kj->ki", self.whiten, scores)
        return -jnp.sum(whitened**2) / 2 - jnp.sum((matrices / self.matrix_sd) ** 2) / 2


def reference(information: Any, covariates: int, n: Any) -> Any:
    """What a distance is measured in: the information of a constant, or of a response with two levels for n rows.

    At most n: where a density is narrow, a linear predictor moves far for it long before it moves by 1.
    """
    return jnp.clip(information[0, 0], 1e-3 * n, n) if covariates else 0.25 * n


@dataclass(frozen=True)
class _Posterior:
    """The density of t, standing for (theta, hat, B): about standard normal but for B."""

    rows: _Rows
    named: Callable[[Any], Arrays]

    def evaluate(self, t: Any) -> tuple[Any, Any, Arrays]:
        """The log density; residuals whose sum of squares is about minus twice it; the draw by name."""
        rows, data, stand_in, near = self.rows, self.rows.data, self.rows.stand_in, self.rows.near
        p, anchor, b = rows.p, data["anchor"], t[2 * rows.p :]
        prior, prior_mean = data["prior_sd"] ** -2.0, data["prior_mean"]
        L = rows.factor(b)
        J, C = L @ L.T, solve_triangular(rows.root, L.T, lower=True, trans=1)
        moved = jnp.einsum("kij,kj->ki", near["slopes"], near["steps"] @ (C - data["bend"]).T)
        implied = rows.scores - (near["means"] + moved) @ C
        both = jnp.linalg.cholesky(J + jnp.diag(prior))
        half = solve_triangular(both, jnp.diag(prior), lower=True)
        wide = jnp.diag(prior) - half.T @ half
        pulled = J @ jnp.einsum("kij,kj->i", rows.weights, implied) + wide @ (prior_mean - anchor)
        step, _ = normal_coordinates(J @ rows.weights.sum(0) @ J + wide, pulled, t[p : 2 * p])
        log_wide = jnp.sum(jnp.log(jnp.diagonal(L)) - jnp.log(jnp.diagonal(both)))
        hat, tau_hat = anchor + step, anchor + C @ step
        at_hat, own = stand_in.log_p(tau_hat), stand_in.scores(tau_hat)
        chances = jnp.exp(at_hat)
        there = C.T @ (stand_in.products(chances, own, own) + 1e-9 * stand_in.weight * jnp.eye(p)) @ C
        root_hat = jnp.linalg.cholesky((there + there.T) / 2)
        scores = rows.scores - (stand_in.mean(chances, near["scores"]) + moved) @ C
        own_scores = near["scores"][rows.with_matrix]
        turned = C @ rows.turns
        expected = jnp.swapaxes(turned, 1, 2) @ stand_in.products(chances, own_scores, own_scores) @ turned
        matrices = self._turned() - expected[:, rows.upper[0], rows.upper[1]]
        precision = jnp.diag(prior) + there
        theta, volume = normal_coordinates(precision, prior * prior_mean + there @ hat, t[:p])
        tau = anchor + C @ (theta - anchor)
        value = rows.log_prior(b) - log_wide + jnp.sum(jnp.log(jnp.diagonal(root_hat)))
        value += rows.log_noise(scores, matrices) + volume
        value -= jnp.sum(prior * (theta - prior_mean) ** 2) / 2 + stand_in.divergence(at_hat, stand_in.log_p(tau))
        whitened = jnp.einsum("kji,kj->ki", rows.whiten, scores)
        matrices = matrices / rows.matrix_sd
        residuals = [whitened, matrices, (theta - prior_mean) * jnp.sqrt(prior)]
        residuals.append(jax.lax.stop_gradient(root_hat).T @ (theta - hat))
        far = L.T @ (theta - anchor)
        draw = {
            **self.named(theta),
            "reach": jnp.sqrt(jnp.sum(far**2) / reference(J, data["mean"].shape[0], data["n"][0])),
            "misfit": jnp.maximum(jnp.max(jnp.abs(whitened)), jnp.max(jnp.abs(matrices), initial=0.0)),
        }
        return value, jnp.concatenate([jnp.ravel(one) for one in residuals]), draw

    def _turned(self) -> Any:
        """The released matrices in the bases in which their noise is told."""
        rows, p = self.rows, self.rows.p
        whole = jnp.zeros((len(rows.with_matrix), p, p)).at[:, rows.upper[0], rows.upper[1]].set(rows.data["matrices"])
        whole = whole + jnp.swapaxes(jnp.triu(whole, 1), 1, 2)
        turned = jnp.swapaxes(rows.bases, 1, 2) @ whole @ rows.bases
        return turned[:, rows.upper[0], rows.upper[1]]


def likelihood_chain(
    layout: LikelihoodLayout,
    stand_in: Callable[[Any, Any, Any], StandInRows],
    named: Callable[[Any], Arrays],
    settings: SamplerSettings,
) -> Chain:
    """The chain for the packed numbers of ``layout``.

    ``stand_in`` makes rows from the mean and the root of the covariance of covariates, and n; ``named`` turns
    coordinates into parameters. Beside those: ``reach``, as in `score_chain`, and ``misfit``, the largest residual of
    a released number in standard deviations.
    """
    p = layout.p
    q = p * (p + 1) // 2
    flattest = np.concatenate([np.full(2 * p, 1e-3), np.full(p, 1 / _SPREAD**2), np.full(q - p, 1 / _MIX**2)])

    def chain(key: Any, packed: Any) -> tuple[Arrays, Arrays]:
        data = layout.unpack(packed)
        rows = _Rows(layout, data, stand_in(data["mean"], data["root"], data["n"][0]))
        posterior = _Posterior(rows, named)
        draws, info = whitened_draws(
            key, posterior.evaluate, flattest, settings, 8, jnp.concatenate([jnp.zeros(2 * p), rows.start()])
        )
        return draws, {**info, "reach": draws.pop("reach"), "misfit": draws.pop("misfit")}

    return chain
