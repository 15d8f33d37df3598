"""Regression from noisy scores and information: NUTS on coefficients, the rows' own estimate and their information.

Released in rounds k at public points theta_k: the rows' score S(theta_k), and in some rounds their information
J(theta_k), plus noise (`tacit.models.score_round`). A row has the design vector x, eta = x'theta and information
w(eta) = M'(eta). At a public anchor theta_a, an estimate from all rounds, the information of the rows is the latent J.
Away from the anchor a normal stand-in for x is used, with n E[w x x'] = H at the anchor, bent so that it has the rows'
J there: with C'H C = J and tau(theta) = theta_a + C (theta - theta_a),

    A(theta) = n E[b(x'tau)],  b' = M;    gradient  g(theta) = C'n E[x M(x'tau)];   Hessian  J(theta) = C'n E[w x x'] C.

A is convex, J(theta_a) = J, and whatever x really is enters at third order in theta - theta_a only. The rows' own
estimate, the root hat of their score, makes everything that is released:

    S(theta_k) = g(hat) - g(theta_k),     J(theta_k) = C'H(tau(theta_k)) C,

each with noise and with the discount of `tacit.models.score_steps` for its distance from the anchor. Given theta the
rows' sum of y x belongs to an exponential family with cumulant function A; its saddlepoint density in terms of hat is

    p(hat | theta) = |J(hat)|^(1/2) exp(-A(theta) + A(hat) + g(hat)'(theta - hat)).

So without noise the posterior of theta is prior times the likelihood of the rows, third order included, and with any
noise, normal or Laplace, scores never leave what rows can add up to.

Unknowns: theta, and for each site hat and B, J = R B B'R', with B lower triangular, its diagonal in logarithms, and
R R' the stand-in's information at the anchor. Prior of J, by way of G = C'H(0) C, the information that it means at 0,
where rows weigh the same: the correlations of covariates have the density of `log_correlation_prior`, their sds in
mapped units a lognormal one; G_jj <= G_00, J_jj <= J_00 <= n max w.
(One that is flat on the cone makes small eigenvalues too small and large columns likely.) What the place of hat alone
says of J is left out: a large J would be punished for every direction in which hat is near the anchor, as the anchor is
chosen to be, with the width of a prior of theta that no one means so literally. Given J, hat and then
theta have coordinates in which they are about standard normal; all of them are whitened at the peak, for NUTS.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jax.scipy.special import log_ndtr, ndtr

from tacit.runtime.chain import Arrays, Chain, SamplerSettings
from tacit.samplers.correlation_prior import log_correlation_prior
from tacit.samplers.hmc_kernel import explore
from tacit.samplers.laplace_preconditioned_nuts import climb
from tacit.samplers.score_curve import InformationCurve

_STEPS = 30  # of the search for the peak
_USUAL, _VARIETY = 0.35, 0.5  # median of the sd of a covariate in mapped units, and the sd of its logarithm


class PackedArrays(ABC):
    """Arrays of fixed shapes as one vector, which is what a chain is given."""

    @property
    @abstractmethod
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each array, in the order in which they are packed."""

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return sum(int(np.prod(shape)) for shape in self.shapes.values())

    def pack(self, arrays: dict[str, Any]) -> Any:
        """One vector."""
        return np.concatenate([np.reshape(np.asarray(arrays[k], float), -1) for k in self.shapes])

    def unpack(self, vector: Any) -> Arrays:
        """The arrays by name."""
        cuts = np.cumsum([int(np.prod(shape)) for shape in self.shapes.values()])[:-1]
        parts = jnp.split(vector, cuts)
        return {name: part.reshape(shape) for (name, shape), part in zip(self.shapes.items(), parts, strict=True)}


@dataclass(frozen=True)
class Layout(PackedArrays):
    """What the packed numbers of a site mean: which of its rounds have a matrix, and the distribution of its noise."""

    p: int
    matrix: tuple[bool, ...]
    laplace: bool

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The arrays of a site in the order in which they are packed."""
        p, q, k, m = self.p, self.p * (self.p + 1) // 2, len(self.matrix), sum(self.matrix)
        return {
            "n": (1,),
            "most": (1,),
            "anchor": (p,),
            "mean": (p,),
            "covariance": (p, p),
            "root": (p, p),
            "gram": (p, p),
            "points": (k, p),
            "turns": (k, p, p),
            "scores": (k, p),
            "score_noise": (k, p),
            "score_extra": (k, p),
            "bases": (m, p, p),
            "matrices": (m, q),
            "matrix_noise": (m, q),
            "matrix_extra": (m, q),
        }


class ScoreRows:
    """The rows of a site as a function of hat and B."""

    def __init__(self, layout: Layout, data: Arrays, curve: InformationCurve) -> None:
        self.p, self.laplace, self.curve, self.data = layout.p, layout.laplace, curve, data
        self.with_matrix = np.flatnonzero(layout.matrix)
        self.below, self.upper = np.tril_indices(self.p, -1), np.triu_indices(self.p)
        self.spreads = {
            name: jnp.sqrt((1 + self.laplace) * data[f"{name}_noise"] ** 2 + data[f"{name}_extra"] ** 2)
            for name in ("score", "matrix")
        }

    def factor(self, b: Any) -> Any:
        """L with L L' = J."""
        return self.data["root"] @ jnp.diag(jnp.exp(b[: self.p])).at[self.below].set(b[self.p :])

    def moments(self, tau: Any) -> tuple[Any, Any]:
        """The smoothed M, w, w', w'' and b (5, ...), and V tau, at points (..., p)."""
        q = tau @ self.data["covariance"]
        return jnp.stack(self.curve.smoothed(tau @ self.data["mean"], jnp.sum(q * tau, -1), jnp, ndtr)), q

    def means(self, f: Any, q: Any) -> Any:
        """n E[x M(x'tau)], from the moments."""
        return self.data["n"] * (f[0][..., None] * self.data["mean"] + f[1][..., None] * q)

    def informations(self, f: Any, q: Any) -> Any:
        """n E[w x x'], from the moments."""
        m, f = self.data["mean"], f[..., None, None]
        cross = m[:, None] * q[..., None, :]
        second = jnp.outer(m, m) + self.data["covariance"]
        squares = q[..., :, None] * q[..., None, :]
        return self.data["n"][0] * (f[1] * second + f[2] * (cross + jnp.swapaxes(cross, -1, -2)) + f[3] * squares)

    def log_noise(self, name: str, residual: Any) -> Any:
        """The log density of noise and discount together, up to a constant."""
        if self.laplace:
            return jnp.sum(normal_laplace(residual, self.data[f"{name}_noise"], self.data[f"{name}_extra"]))
        return -jnp.sum((residual / self.spreads[name]) ** 2) / 2

    def log_prior(self, b: Any, at_anchor: Any, bend: Any) -> Any:
        """Of G = C'H(0) C, with respect to b: as G = W (1, m'; m, mm' + V), V = D K D: K correlations, D sds."""
        factor = bend.T @ self.data["gram"]  # lower triangular, its diagonal that of B times constants
        logs, diagonal, k = b[: self.p], jnp.sum(factor**2, 1), self.p - 1
        volume = jnp.sum((self.p + 1 - np.arange(self.p)) * logs)  # of d(B B') / dB, and of the logarithms
        here = jnp.sum(at_anchor**2, 1)
        ratios = jnp.concatenate([diagonal[1:] / diagonal[0], here[1:] / here[0], here[:1] / self.data["most"]])
        log_w = 2 * jnp.log(factor[0, 0])
        log_sds = (jnp.log(jnp.sum(factor[1:, 1:] ** 2, 1)) - log_w) / 2
        log_determinant = 2 * jnp.sum(jnp.log(jnp.diagonal(factor)[1:])) - k * log_w - 2 * jnp.sum(log_sds)  # of K
        value = log_correlation_prior(log_determinant, k) - jnp.sum(((log_sds - np.log(_USUAL)) / _VARIETY) ** 2) / 2
        value -= (k + 1) * jnp.sum(log_sds) + k * (k + 3) / 2 * log_w  # of d(m, V) / dJ and dV / d(log D, K)
        return volume + value + jnp.sum(jax.nn.log_sigmoid((1.05 - ratios) / 0.05))


@dataclass(frozen=True)
class _Posterior:
    """The density of t, standing for (theta, [hat, B of each site]): about standard normal but for B.

    With a the anchor, s the score there that the rounds imply, on average with weights W, and P the precision of the
    prior, hat is drawn with about the precision J W J + (P^-1 + J^-1)^-1, and theta given hat with P + J(hat): the
    information where hat is, so that neither little noise nor a hat far from the anchor makes a narrow neck.
    """

    sites: list[ScoreRows]
    prior_mean: Any
    prior_sd: Any

    def evaluate(self, t: Any) -> tuple[Any, Any, Arrays]:
        """The log density; residuals whose sum of squares is about minus twice it; the draw by name."""
        p, count = self.sites[0].p, len(self.sites)
        bs = t[p * (1 + count) :].reshape(count, -1)
        prior = self.prior_sd**-2.0
        precision, pull = jnp.diag(prior), prior * self.prior_mean
        value, residuals, misfit, later = 0.0, [], [], []
        for i, (site, b) in enumerate(zip(self.sites, bs, strict=True)):
            data, anchor = site.data, site.data["anchor"]
            L = site.factor(b)
            J, C = L @ L.T, solve_triangular(data["root"], L.T, lower=True, trans=1)
            f, q = site.moments(jnp.concatenate([anchor[None], anchor + (data["points"] - anchor) @ C.T]))
            means, turns, weights = site.means(f, q), C @ data["turns"], site.spreads["score"] ** -2.0
            implied = data["scores"] + jnp.einsum("kp,kpq->kq", means[1:] - means[0], turns)
            JW = J @ jnp.einsum("kpr,kr,kqr->pq", data["turns"], weights, data["turns"])
            pulled = jnp.einsum("kpr,kr->p", data["turns"], weights * implied)
            both = jnp.linalg.cholesky(J + jnp.diag(prior))
            half = solve_triangular(both, jnp.diag(prior), lower=True)
            wide = jnp.diag(prior) - half.T @ half
            own = J @ pulled + wide @ (self.prior_mean - anchor)
            step, _ = normal_coordinates(JW @ J + wide, own, t[p * (1 + i) : p * (2 + i)])
            log_wide = jnp.sum(jnp.log(jnp.diagonal(L)) - jnp.log(jnp.diagonal(both)))  # half of it, less the prior's
            hat, tau_hat = anchor + step, anchor + C @ step
            f_hat, q_hat = site.moments(tau_hat)
            there = C.T @ site.informations(f_hat, q_hat) @ C
            root_hat = jnp.linalg.cholesky((there + there.T) / 2)
            turned = jnp.swapaxes(data["bases"], 1, 2) @ C.T
            matrices = turned @ site.informations(f[:, 1 + site.with_matrix], q[1 + site.with_matrix])
            matrices = (matrices @ jnp.swapaxes(turned, 1, 2))[:, site.upper[0], site.upper[1]]
            missed = {
                "score": data["scores"] - jnp.einsum("kp,kpq->kq", site.means(f_hat, q_hat) - means[1:], turns),
                "matrix": data["matrices"] - matrices,
            }
            value += site.log_prior(b, L, C) - log_wide + jnp.sum(jnp.log(jnp.diagonal(root_hat)))
            value += sum(site.log_noise(name, residual) for name, residual in missed.items())
            residuals += [(residual / site.spreads[name]).reshape(-1) for name, residual in missed.items()]
            misfit.append(jnp.stack([jnp.max(jnp.abs(one)) for one in residuals[-2:]]))
            precision, pull = precision + there, pull + there @ hat
            later.append((site, C, L, hat, tau_hat, f_hat, q_hat, root_hat))
        theta, volume = normal_coordinates(precision, pull, t[:p])
        value += volume - jnp.sum(((theta - self.prior_mean) / self.prior_sd) ** 2) / 2
        residuals.append((theta - self.prior_mean) / self.prior_sd)
        reach, spread = [], []
        for site, bend, factor, hat, tau_hat, f_hat, q_hat, root_hat in later:
            far = theta - site.data["anchor"]
            tau = site.data["anchor"] + bend @ far
            step = tau - tau_hat
            linear = f_hat[0] * (site.data["mean"] @ step) + f_hat[1] * (q_hat @ step)
            value -= site.data["n"][0] * (site.moments(tau)[0][4] - f_hat[4] - linear)  # A(theta) - A(hat) - g'(...)
            residuals.append(jax.lax.stop_gradient(root_hat).T @ (theta - hat))
            reach.append(jnp.sqrt(jnp.sum((factor.T @ far) ** 2) / jnp.sum(factor[0] ** 2)))
            spread.append(jnp.sqrt(theta @ site.data["covariance"] @ theta))
        draw = {
            "theta": theta,
            "hat": jnp.stack([one[3] for one in later]),
            "information": jnp.stack([one[2] @ one[2].T for one in later]),
            "reach": jnp.stack(reach),
            "misfit": jnp.stack(misfit),
            "spread": jnp.stack(spread),
        }
        return value, jnp.concatenate(residuals), draw


def score_chain(
    layouts: tuple[Layout, ...], curve: InformationCurve, settings: SamplerSettings, *, depth: int = 8
) -> Chain:
    """The chain for the packed numbers of `tacit.models.score_data`: the prior of theta, then the sites.

    Draws: theta; for each site hat, the information J at the anchor, ``reach``, the root of the mean square by which
    the linear predictors of rows move between anchor and theta, ``misfit``, the largest residual of its released
    scores and of its released matrices, in standard deviations of noise and discount, and ``spread``, about the
    standard deviation of the rows' linear predictors.
    """
    p, count = layouts[0].p, len(layouts)
    q = p * (p + 1) // 2
    flattest = np.concatenate([np.full(p * (1 + count), 1e-3), *[np.repeat([1.0, 0.25], [p, q - p])] * count])

    def chain(key: Any, packed: Any) -> tuple[Arrays, Arrays]:
        cuts = np.cumsum([p, p, *(layout.size for layout in layouts)])[:-1]
        prior_mean, prior_sd, *parts = jnp.split(packed, cuts)
        sites = [ScoreRows(own, own.unpack(part), curve) for own, part in zip(layouts, parts, strict=True)]
        posterior = _Posterior(sites, prior_mean, prior_sd)

        return whitened_draws(key, posterior.evaluate, flattest, settings, depth)

    return chain


def whitened_draws(
    key: Any,
    evaluate: Callable[[Any], tuple[Any, Any, Arrays]],
    flattest: Any,
    settings: SamplerSettings,
    depth: int,
    start: Any = None,
) -> tuple[Arrays, Arrays]:
    """One NUTS chain on unknowns that are whitened by the information at the peak of their density.

    ``evaluate`` gives the log density, residuals whose sum of squares is about minus twice it, and the draw by name;
    ``flattest`` is the least information that each unknown is taken to have; the peak is looked for from ``start``.
    """

    def value(t: Any) -> Any:
        return evaluate(t)[0]

    def information(t: Any) -> Any:
        gradients = jax.jacfwd(lambda t: evaluate(t)[1])(t)
        return gradients.T @ gradients + jnp.diag(flattest)

    peak, information_there = climb(value, information, jnp.zeros(len(flattest)) if start is None else start, _STEPS)
    root = jnp.linalg.cholesky(information_there)

    def unwhitened(position: Any) -> Any:
        return peak + solve_triangular(root, position, lower=True, trans=1)

    def log_density(position: Any) -> Any:
        found = value(unwhitened(position))
        return jnp.where(jnp.isfinite(found), found, -jnp.inf)

    for_start, for_chain = jax.random.split(key)
    first = 0.3 * jax.random.normal(for_start, peak.shape)
    positions, info = explore(for_chain, log_density, first, settings, target=0.85, depth=depth)
    return jax.vmap(lambda position: evaluate(unwhitened(position))[2])(positions), info


def normal_coordinates(precision: Any, pull: Any, position: Any) -> tuple[Any, Any]:
    """A normal vector of that precision, whose mean times the precision is ``pull``, and its log volume."""
    root = jnp.linalg.cholesky((precision + precision.T) / 2)
    moved = solve_triangular(root, pull, lower=True) + position
    return solve_triangular(root, moved, lower=True, trans=1), -jnp.sum(jnp.log(jnp.diagonal(root)))


def normal_laplace(residual: Any, scale: Any, sd: Any) -> Any:
    """The log density of Laplace noise of ``scale`` b plus normal noise of ``sd`` s: for s > 30 b a normal one."""
    ratio = sd / scale
    small = jnp.minimum(ratio, 30.0)
    z = residual / jnp.maximum(sd, 1e-300)
    r = residual / scale
    up = -r + log_ndtr(z - small)
    down = r + log_ndtr(-z - small)
    exact = small**2 / 2 + jnp.logaddexp(up, down) - jnp.log(2 * scale)
    variance = sd**2 + 2 * scale**2
    return jnp.where(ratio < 30.0, exact, -(residual**2) / (2 * variance) - jnp.log(2 * np.pi * variance) / 2)
