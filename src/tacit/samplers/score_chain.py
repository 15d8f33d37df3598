"""Regression from noisy scores and information: NUTS on coefficients, the rows' own estimate and their information.

Released in rounds k at public points theta_k: the rows' score S(theta_k), and in some rounds their information
J(theta_k), plus noise (`tacit.models.score_round`). A row has the design vector x, eta = x'theta and information
w(eta) = M'(eta). At a public anchor theta_a, an estimate from all rounds, the information of the rows is the latent J.
Away from the anchor a normal stand-in for x is used, with n E[w x x'] = H at the anchor, bent so that it has the rows'
J there: with C'H C = J and tau(theta) = theta_a + C (theta - theta_a),

    A(theta) = n E[b(x'tau)],  b' = M;     gradient  g(theta) = C'n E[x M(x'tau)];     Hessian  J(theta) = C'n E[w x x'] C.

A is convex, J(theta_a) = J, and whatever x really is enters at third order in theta - theta_a only. The rows' own
estimate, the root hat of their score, makes everything that is released:

    S(theta_k) = g(hat) - g(theta_k),     J(theta_k) = C'H(tau(theta_k)) C,

each with noise and with the discount of `tacit.models.score_steps` for its distance from the anchor. Given theta the
rows' sum of y x belongs to an exponential family with cumulant function A; its saddlepoint density in terms of hat is

    p(hat | theta) = |J(hat)|^(1/2) exp(-A(theta) + A(hat) + g(hat)'(theta - hat)).

So without noise the posterior of theta is prior times the likelihood of the rows, third order included, and with any
noise, normal or Laplace, scores never leave what rows can add up to.

Unknowns: theta, and for each site hat and B, J = R B B'R', with B lower triangular, its diagonal in logarithms, and
R R' the stand-in's information at the anchor. Prior of J: |J|^(1/2) on the cone of matrices that rows in a box can
have, J_jj <= J_00 <= n max w. NUTS moves in coordinates that are whitened at the peak, by Gauss-Newton steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jax.scipy.special import log_ndtr, ndtr

from tacit.models.score_curve import Curve
from tacit.runtime.chain import Arrays, Chain, Settings
from tacit.samplers.explore import explore
from tacit.samplers.laplace_preconditioned_nuts import at_least, climb

_STEPS, _FLATTEST = 30, 0.05


@dataclass(frozen=True)
class Layout:
    """What the packed numbers of a site mean: which of its rounds have a matrix, and the law of its noise."""

    p: int
    matrix: tuple[bool, ...]
    laplace: bool

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The arrays of a site in the order in which they are packed."""
        p, q, k, m = self.p, self.p * (self.p + 1) // 2, len(self.matrix), sum(self.matrix)
        return {
            "n": (1,),
            "most": (2,),
            "anchor": (p,),
            "mean": (p,),
            "covariance": (p, p),
            "root": (p, p),
            "points": (k, p),
            "basis": (p, p),
            "scores": (k, p),
            "score_noise": (k, p),
            "score_extra": (k, p),
            "bases": (m, p, p),
            "matrices": (m, q),
            "matrix_noise": (m, q),
            "matrix_extra": (m, q),
        }

    @property
    def size(self) -> int:
        """How many numbers a site has."""
        return sum(int(np.prod(shape)) for shape in self.shapes.values())

    def pack(self, arrays: dict[str, Any]) -> Any:
        """One vector."""
        return np.concatenate([np.reshape(np.asarray(arrays[k], float), -1) for k in self.shapes])

    def unpack(self, vector: Any) -> Arrays:
        """The arrays by name."""
        cuts = np.cumsum([int(np.prod(shape)) for shape in self.shapes.values()])[:-1]
        parts = jnp.split(vector, cuts)
        return {name: part.reshape(shape) for (name, shape), part in zip(self.shapes.items(), parts, strict=True)}


class _Site:
    """The rows of a site as a function of hat and B."""

    def __init__(self, layout: Layout, data: Arrays, curve: Curve) -> None:
        self.layout, self.data, self.curve = layout, data, curve
        self.p = layout.p
        self.below = np.tril_indices(self.p, -1)
        self.upper = np.triu_indices(self.p)
        self.anchor_root = data["root"]

    def factor(self, b: Any) -> Any:
        """L with L L' = J."""
        own = jnp.diag(jnp.exp(b[: self.p])).at[self.below].set(b[self.p :])
        return self.anchor_root @ own

    def bend(self, factor: Any) -> Any:
        """C."""
        return solve_triangular(self.anchor_root, factor.T, lower=True, trans=1)

    def moments(self, tau: Any) -> tuple[Any, Any]:
        """The smoothed M, w, w', w'' and b (5, ...), and V tau, at points (..., p)."""
        q = tau @ self.data["covariance"]
        return jnp.stack(self.curve.smoothed(tau @ self.data["mean"], jnp.sum(q * tau, -1), jnp, ndtr)), q

    def means(self, tau: Any) -> Any:
        """n E[x M(x'tau)]."""
        f, q = self.moments(tau)
        return self.data["n"] * (f[0][..., None] * self.data["mean"] + f[1][..., None] * q)

    def informations(self, tau: Any) -> Any:
        """n E[w x x']."""
        f, q = self.moments(tau)
        m = self.data["mean"]
        f = f[..., None, None]
        cross = m[:, None] * q[..., None, :]
        second = jnp.outer(m, m) + self.data["covariance"]
        return self.data["n"][0] * (
            f[1] * second + f[2] * (cross + jnp.swapaxes(cross, -1, -2)) + f[3] * q[..., :, None] * q[..., None, :]
        )

    def divergence(self, tau: Any, tau_hat: Any) -> Any:
        """A(theta) - A(hat) - g(hat)'(theta - hat)."""
        step = tau - tau_hat
        f, q = self.moments(jnp.stack([tau, tau_hat]))
        return self.data["n"][0] * (f[4, 0] - f[4, 1] - f[0, 1] * (self.data["mean"] @ step) - f[1, 1] * (q[1] @ step))

    def predicted(self, hat: Any, b: Any) -> tuple[Any, Any, Any, Any]:
        """Scores (k, p) and matrices (m, q), rotated as the data are; C, and log |J(hat)|."""
        data, anchor = self.data, self.data["anchor"]
        factor = self.factor(b)
        C = self.bend(factor)
        taus = anchor + (data["points"] - anchor) @ C.T
        tau_hat = anchor + C @ (hat - anchor)
        every = self.means(jnp.concatenate([tau_hat[None], taus]))
        scores = (every[0] - every[1:]) @ C @ data["basis"]
        places = np.flatnonzero(self.layout.matrix)
        there = self.informations(jnp.concatenate([tau_hat[None], taus[places]]))
        own = jnp.linalg.cholesky(there[0])
        volume = 2 * (jnp.sum(jnp.log(jnp.diagonal(own))) + jnp.sum(jnp.log(jnp.diagonal(factor) / jnp.diagonal(self.anchor_root))))
        turned = jnp.swapaxes(data["bases"], 1, 2) @ C.T
        matrices = jnp.einsum("mij,mjk,mlk->mil", turned, there[1:], turned)
        return scores, matrices[:, self.upper[0], self.upper[1]], C, volume

    def spread(self, name: str) -> Any:
        """The sd of noise and discount together."""
        return jnp.sqrt((1 + self.layout.laplace) * self.data[f"{name}_noise"] ** 2 + self.data[f"{name}_extra"] ** 2)

    def implied(self, b: Any) -> tuple[Any, Any]:
        """Weights in the basis of the scores, and the score at the anchor that the rounds imply on average."""
        data, anchor = self.data, self.data["anchor"]
        C = self.bend(self.factor(b))
        every = self.means(jnp.concatenate([anchor[None], anchor + (data["points"] - anchor) @ C.T]))
        scores = data["scores"] + (every[1:] - every[0]) @ C @ data["basis"]
        weights = self.spread("score") ** -2.0
        total = jnp.sum(weights, 0)
        return total, data["basis"] @ (jnp.sum(weights * scores, 0) / total)

    def log_prior(self, b: Any) -> Any:
        """Of J, with respect to b."""
        p, factor = self.p, self.factor(b)
        logs = b[:p]
        diagonal = jnp.sum(factor**2, 1)
        volume = jnp.sum((p - np.arange(p)) * logs) + jnp.sum(logs)  # of d(B B') / dB, and of the logarithms
        ratios = jnp.concatenate([diagonal[1:] / diagonal[0], diagonal[:1] / self.data["most"][0]])
        inside = jnp.sum(jax.nn.log_sigmoid((1.05 - ratios) / 0.05))
        return volume + 2 * self.data["most"][1] * jnp.sum(logs) + inside


def normal_laplace(residual: Any, scale: Any, sd: Any) -> Any:
    """log density of Laplace noise of ``scale`` b plus normal noise of ``sd`` s, up to a constant; for s > 30 b a normal one."""
    ratio = sd / scale
    small = jnp.minimum(ratio, 30.0)
    z = residual / jnp.maximum(sd, 1e-300)
    r = residual / scale
    up = -r + log_ndtr(z - small)
    down = r + log_ndtr(-z - small)
    exact = small**2 / 2 + jnp.logaddexp(up, down) - jnp.log(2 * scale)
    variance = sd**2 + 2 * scale**2
    return jnp.where(ratio < 30.0, exact, -(residual**2) / (2 * variance) - jnp.log(2 * np.pi * variance) / 2)


def score_chain(layouts: tuple[Layout, ...], curve: Curve, settings: Settings, *, depth: int = 8) -> Chain:
    """The chain for packed numbers: mean and sd of the prior of theta, then the sites."""
    p = layouts[0].p
    q = p * (p + 1) // 2
    normals = p + len(layouts) * p

    def chain(key: Any, packed: Any) -> tuple[Arrays, Arrays]:
        prior_mean, prior_sd, sites = _sites(layouts, curve, packed)
        linear = _Linear(sites, prior_mean, prior_sd)
        target, residuals = _target(sites, prior_mean, prior_sd)

        def value(t: Any) -> Any:
            parameters, volume = linear.parameters(t)
            return target(parameters) + volume

        def information(t: Any) -> Any:
            slopes = jax.jacfwd(lambda t: residuals(linear.parameters(t)[0]))(t)
            return slopes.T @ slopes + jnp.diag(_ridge(normals, p, q, len(sites)))

        peak = climb(value, information, jnp.zeros(normals + len(sites) * q), _STEPS)
        root = jnp.linalg.cholesky(at_least(-jax.hessian(value)(peak), _FLATTEST))

        def unwhitened(position: Any) -> Any:
            return peak + solve_triangular(root, position, lower=True, trans=1)

        def log_density(position: Any) -> Any:
            found = value(unwhitened(position))
            return jnp.where(jnp.isfinite(found), found, -jnp.inf)

        for_start, for_chain = jax.random.split(key)
        first = 0.3 * jax.random.normal(for_start, peak.shape)
        positions, info = explore(for_chain, log_density, first, settings, target=0.85, depth=depth)
        return jax.vmap(lambda position: _draws(sites, linear.parameters(unwhitened(position))[0]))(positions), info

    return chain


class _Linear:
    """Coordinates in which hat, and then theta given hat, are about standard normal given J.

    With a the anchor, s the score there that the rounds imply, on average with weights W, and P the precision of the prior,
    hat has about the precision J W J + (P^-1 + J^-1)^-1, and theta given hat P + J(hat): the information where hat is,
    so that neither little noise nor a hat far from the anchor makes a narrow neck.
    """

    def __init__(self, sites: list[_Site], prior_mean: Any, prior_sd: Any) -> None:
        self.sites, self.prior_mean, self.p = sites, prior_mean, sites[0].p
        self.prior = prior_sd**-2.0

    def parameters(self, t: Any) -> tuple[tuple[Any, list[tuple[Any, Any]]], Any]:
        """(theta, [(hat, b)]), and the log of the volume that a unit of t has there."""
        p, count, prior = self.p, len(self.sites), self.prior
        q = p * (p + 1) // 2
        bs = t[p * (1 + count) :].reshape(count, q)
        precision, pull, volume, found = jnp.diag(prior), prior * self.prior_mean, 0.0, []
        for i, (site, b) in enumerate(zip(self.sites, bs, strict=True)):
            L, (weights, score) = site.factor(b), site.implied(b)
            J, anchor, basis = L @ L.T, site.data["anchor"], site.data["basis"]
            JW = J @ (basis * weights) @ basis.T
            wide = jnp.diag(prior) - prior[:, None] * jnp.linalg.solve(jnp.diag(prior) + J, jnp.diag(prior))
            step, more = _normal(
                JW @ J + wide, JW @ score + wide @ (self.prior_mean - anchor), t[p * (1 + i) : p * (2 + i)]
            )
            hat, C = anchor + step, site.bend(L)
            there = C.T @ site.informations((anchor + C @ step)[None])[0] @ C
            precision, pull, volume = precision + there, pull + there @ hat, volume + more
            found.append((hat, b))
        theta, more = _normal(precision, pull, t[:p])
        return (theta, found), volume + more


def _normal(precision: Any, pull: Any, position: Any) -> tuple[Any, Any]:
    """A normal vector of that precision, whose mean times the precision is ``pull``, and its log volume."""
    root = jnp.linalg.cholesky((precision + precision.T) / 2)
    moved = solve_triangular(root, pull, lower=True) + position
    return solve_triangular(root, moved, lower=True, trans=1), -jnp.sum(jnp.log(jnp.diagonal(root)))


def _sites(layouts: tuple[Layout, ...], curve: Curve, packed: Any) -> tuple[Any, Any, list[_Site]]:
    p = layouts[0].p
    cuts = np.cumsum([p, p, *(layout.size for layout in layouts)])[:-1]
    prior_mean, prior_sd, *parts = jnp.split(packed, cuts)
    return prior_mean, prior_sd, [_Site(o, o.unpack(v), curve) for o, v in zip(layouts, parts, strict=True)]


def _ridge(normals: int, p: int, q: int, sites: int) -> Any:
    own = np.concatenate([np.ones(p), 0.25 * np.ones(q - p)])
    return np.concatenate([np.full(normals, 1e-3), *[own] * sites])


Parameters = tuple[Any, list[tuple[Any, Any]]]


def _target(
    sites: list[_Site], prior_mean: Any, prior_sd: Any
) -> tuple[Callable[[Parameters], Any], Callable[[Parameters], Any]]:
    """The log density of (theta, [(hat, b)]), and residuals whose sum of squares is about minus twice it."""

    def target(parameters: Parameters) -> Any:
        theta, own = parameters
        value = -jnp.sum(((theta - prior_mean) / prior_sd) ** 2) / 2
        for site, (hat, b) in zip(sites, own, strict=True):
            data, anchor = site.data, site.data["anchor"]
            scores, matrices, C, volume = site.predicted(hat, b)
            value += site.log_prior(b) + volume / 2
            value -= site.divergence(anchor + C @ (theta - anchor), anchor + C @ (hat - anchor))
            for name, fit in (("score", scores), ("matrix", matrices)):
                residual = data["scores" if name == "score" else "matrices"] - fit
                scale, extra = data[f"{name}_noise"], data[f"{name}_extra"]
                if site.layout.laplace:
                    value += jnp.sum(normal_laplace(residual, scale, extra))
                else:
                    value -= jnp.sum(residual**2 / (scale**2 + extra**2)) / 2
        return value

    def residuals(parameters: Parameters) -> Any:
        theta, own = parameters
        found = [(theta - prior_mean) / prior_sd]
        for site, (hat, b) in zip(sites, own, strict=True):
            scores, matrices, _, _ = site.predicted(hat, b)
            found.append(site.factor(jax.lax.stop_gradient(b)).T @ (theta - hat))
            for name, fit in (("score", scores), ("matrix", matrices)):
                found.append((fit / site.spread(name)).reshape(-1))
        return jnp.concatenate(found)

    return target, residuals


def _draws(sites: list[_Site], parameters: Parameters) -> Arrays:
    theta, own = parameters
    factors = [site.factor(b) for site, (_, b) in zip(sites, own, strict=True)]
    reach = []
    for site, factor in zip(sites, factors, strict=True):
        far = factor.T @ (theta - site.data["anchor"])
        reach.append(jnp.sqrt(far @ far / jnp.sum(factor[0] ** 2)))
    return {
        "theta": theta,
        "hat": jnp.stack([hat for hat, _ in own]),
        "information": jnp.stack([factor @ factor.T for factor in factors]),
        "reach": jnp.stack(reach),
    }
