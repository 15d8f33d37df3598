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
from jax.scipy.special import log_ndtr

from tacit.models.score_steps import curve
from tacit.samplers.chain import Arrays, Chain, Settings
from tacit.samplers.explore import explore
from tacit.samplers.peak_chain import climb

_NODES = np.linspace(-7.0, 7.0, 57)
_WEIGHTS = np.exp(-(_NODES**2) / 2) / np.exp(-(_NODES**2) / 2).sum()
_LINE, _LINE_WEIGHTS = (np.polynomial.legendre.leggauss(6)[0] + 1) / 2, np.polynomial.legendre.leggauss(6)[1] / 2
_INFORMATION_POWER = 0.5  # of |J| in its prior


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
            "most": (1,),
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

    def __init__(self, layout: Layout, data: Arrays, kind: str, clamp: float) -> None:
        self.layout, self.data, self.kind, self.clamp = layout, data, kind, clamp
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

    def moments(self, tau: Any) -> tuple[Any, Any, Any]:
        """The smoothed M, w, w' and w'' (4, ...), and V tau, at points (..., p)."""
        q = tau @ self.data["covariance"]
        spread = jnp.sqrt(jnp.sum(q * tau, -1) + 1e-18)
        eta = (tau @ self.data["mean"])[..., None] + spread[..., None] * _NODES
        return jnp.stack([v @ _WEIGHTS for v in curve(self.kind, self.clamp, eta, jnp)]), q, spread

    def means(self, tau: Any) -> Any:
        """n E[x M(x'tau)]."""
        f, q, _ = self.moments(tau)
        return self.data["n"] * (f[0][..., None] * self.data["mean"] + f[1][..., None] * q)

    def informations(self, tau: Any) -> Any:
        """n E[w x x']."""
        f, q, _ = self.moments(tau)
        m = self.data["mean"]
        f = f[..., None, None]
        cross = m[:, None] * q[..., None, :]
        second = jnp.outer(m, m) + self.data["covariance"]
        return self.data["n"][0] * (
            f[1] * second + f[2] * (cross + jnp.swapaxes(cross, -1, -2)) + f[3] * q[..., :, None] * q[..., None, :]
        )

    def divergence(self, tau: Any, tau_hat: Any) -> Any:
        """A(theta) - A(hat) - g(hat)'(theta - hat), by its second derivatives along the line."""
        step = tau - tau_hat
        along = tau_hat + _LINE[:, None] * step
        f, q, _ = self.moments(along)
        a, v, c = self.data["mean"] @ step, step @ self.data["covariance"] @ step, q @ step
        second = (a * a + v) * f[1] + 2 * a * c * f[2] + c * c * f[3]
        return self.data["n"][0] * jnp.sum(_LINE_WEIGHTS * (1 - _LINE) * second)

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
        turned = jnp.einsum("mia,ij,jk,kl,mlb->mab" if False else "mij,jk->mik", jnp.swapaxes(data["bases"], 1, 2), C.T)
        matrices = jnp.einsum("mij,mjk,mlk->mil", turned, there[1:], turned)
        return scores, matrices[:, self.upper[0], self.upper[1]], C, volume

    def log_prior(self, b: Any) -> Any:
        """Of J, with respect to b."""
        p, factor = self.p, self.factor(b)
        logs = b[:p]
        diagonal = jnp.sum(factor**2, 1)
        volume = jnp.sum((p - np.arange(p)) * logs) + jnp.sum(logs)  # of d(B B') / dB, and of the logarithms
        ratios = jnp.concatenate([diagonal[1:] / diagonal[0], diagonal[:1] / self.data["most"]])
        inside = jnp.sum(jax.nn.log_sigmoid((1.05 - ratios) / 0.05))
        return volume + 2 * _INFORMATION_POWER * jnp.sum(logs) + inside


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


def score_chain(
    layouts: tuple[Layout, ...], kind: str, clamp: float, settings: Settings, *, depth: int = 8
) -> Chain:
    """The chain for packed numbers: mean and sd of the prior of theta, then the sites."""
    p = layouts[0].p
    q = p * (p + 1) // 2
    per_site = p + q
    size = p + len(layouts) * per_site

    def chain(key: Any, packed: Any) -> tuple[Arrays, Arrays]:
        prior_mean, prior_sd, sites = _sites(layouts, kind, clamp, packed)
        target, residuals, start = _target(sites, prior_mean, prior_sd)

        def information(t: Any) -> Any:
            slopes = jax.jacfwd(residuals)(t)
            return slopes.T @ slopes + jnp.diag(_ridge(p, q, len(sites)))

        peak = climb(target, information, start, 30)
        root = jnp.linalg.cholesky(information(peak))

        def unwhitened(position: Any) -> Any:
            return peak + solve_triangular(root, position, lower=True, trans=1)

        def log_density(position: Any) -> Any:
            value = target(unwhitened(position))
            return jnp.where(jnp.isfinite(value), value, -jnp.inf)

        for_start, for_chain = jax.random.split(key)
        first = 0.3 * jax.random.normal(for_start, (size,))
        positions, info = explore(for_chain, log_density, first, settings, target=0.85, depth=depth)
        return jax.vmap(lambda position: _draws(sites, unwhitened(position)))(positions), info

    return chain


def _sites(layouts: tuple[Layout, ...], kind: str, clamp: float, packed: Any) -> tuple[Any, Any, list[_Site]]:
    p = layouts[0].p
    cuts = np.cumsum([p, p, *(layout.size for layout in layouts)])[:-1]
    prior_mean, prior_sd, *parts = jnp.split(packed, cuts)
    return prior_mean, prior_sd, [_Site(o, o.unpack(v), kind, clamp) for o, v in zip(layouts, parts, strict=True)]


def _ridge(p: int, q: int, sites: int) -> Any:
    own = np.concatenate([np.zeros(p), np.ones(p), 0.25 * np.ones(q - p)])
    return np.concatenate([np.zeros(p), *[own] * sites])


def _split(t: Any, p: int) -> tuple[Any, list[tuple[Any, Any]]]:
    q = p * (p + 1) // 2
    rest = t[p:].reshape(-1, p + q)
    return t[:p], [(one[:p], one[p:]) for one in rest]


def _target(sites: list[_Site], prior_mean: Any, prior_sd: Any) -> tuple[Callable[[Any], Any], Callable[[Any], Any], Any]:
    """The log density, residuals whose sum of squares is about minus twice it, and where to begin."""
    p = sites[0].p

    def target(t: Any) -> Any:
        theta, own = _split(t, p)
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

    def residuals(t: Any) -> Any:
        theta, own = _split(t, p)
        found = [(theta - prior_mean) / prior_sd]
        for site, (hat, b) in zip(sites, own, strict=True):
            data = site.data
            scores, matrices, _, _ = site.predicted(hat, b)
            found.append(site.factor(jax.lax.stop_gradient(b)).T @ (theta - hat))
            factor = 2.0 if site.layout.laplace else 1.0
            for name, fit in (("score", scores), ("matrix", matrices)):
                spread = jnp.sqrt(factor * data[f"{name}_noise"] ** 2 + data[f"{name}_extra"] ** 2)
                found.append((fit / spread).reshape(-1))
        return jnp.concatenate(found)

    q = p * (p + 1) // 2
    first = sites[-1].data["anchor"]
    start = jnp.concatenate([first, *(x for site in sites for x in (site.data["anchor"], jnp.zeros(q)))])
    return target, residuals, start


def _draws(sites: list[_Site], t: Any) -> Arrays:
    theta, own = _split(t, sites[0].p)
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
