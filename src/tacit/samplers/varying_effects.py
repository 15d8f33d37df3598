"""Linear regression with effects that vary by group, from noisy sums: NUTS over what is not normal, the rest exactly.

A row of group g has z = 1, or (1, slope), the rest r of its design, and

    y = z'(alpha + u_g) + r'beta + e,    u_g ~ N(0, diag(spread^2)),    e ~ N(0, sigma^2).

Latent are for each group Z = sum zz' (its size n_g; with a slope its mean and scatter, too) and the sums of z r and z
y; over all rows the scatter Omega of r around every group's own line, c = Omega beta + N(0, sigma^2 Omega), its
products with y, and the residual sum of squares rss ~ sigma^2 chi^2. A column j of r is, in group g, z'(middle_j + N(0,
diag(away_j^2))) on average, with the scatter Omega / n around it.

Given the parameters, all Z and rss, the sums of z r and z y are normal, and so, by `group_products`, are the sums over
all rows: they are integrated out, noise and all. So no coordinate has a scale that a spread sets, and where a spread is
0 nothing has to hold still. Laplace noise is normal with an exponential variance, one more unknown for every number.
Then sums, and effects given sums, are drawn from their normal distributions (Matheron's rule: a draw given what the
groups say, moved by what the sums over all rows say more).

Prior: sizes are shares of n rows, uniform on the simplex. Where n is not public it is flat, so that sizes have the
density Gamma(n + 1) / Gamma(n + G) at their sum n. Omega / n is inverse Wishart. An empty group has no line to take
off, so the residual degrees are the sum of n_g^2 / (n_g + q), with those that c would have: it is given about its mean.

Sizes are positive by softplus, in units of their noise. Where n is public they are numbers m_g of that kind over their
sum, times n, and the sum, which then says nothing, is normal: with m = (sum) p its volume is (sum)^(G - 1). A spread is
the size of a real number, which passes through 0; rss, and the means and scatters of a slope, are standard normal
around where the rest and the release have them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jax.scipy.special import gammaln, log_ndtr

from tacit.likelihoods.group_products import given_seen, product_moments
from tacit.numerics.gamma_ratio import log_gamma_ratio
from tacit.runtime.backend import argument
from tacit.runtime.chain import Arrays, Chain, SamplerSettings
from tacit.samplers.group_sums import GroupSums, Seen, log_among
from tacit.samplers.hmc_kernel import explore
from tacit.samplers.release_noise import Noises
from tacit.samplers.varying_start import Start

_PSI, _MORE = 0.1, 2.0  # of the inverse Wishart prior of Omega / n: its scale, and degrees beyond the columns
_MIDDLE, _AWAY = 0.7, 0.3  # sds of a column's mean in mapped units, and the scale of its means by group
_UNEVEN = 0.5  # sd of the logarithm of a slope's variance by group


@dataclass(frozen=True)
class VaryingScales:
    """The prior: sds of the intercept and of other coefficients, scales of the half-normal spread and sigma."""

    level: float
    slope: float
    spread: float
    sigma: float


def varying_chain(problem: GroupSums, prior: VaryingScales, settings: SamplerSettings) -> Chain:
    """Draws of ``theta`` (varying columns, then the rest), ``sigma``, ``spread`` (q), ``effect`` (groups, q) and
    ``count``.
    """
    noises, n = problem.noises.as_arguments(), argument([problem.n or 0.0])

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        z = released.reshape(noises.scales.shape)
        posterior = _Posterior(problem, prior, noises, z, n[0] if problem.n is not None else None)
        for_start, for_chain, for_draws = jax.random.split(key, 3)
        keys = jax.random.split(for_start, len(posterior.shapes))
        start = {
            name: 0.3 * jax.random.normal(one, shape)
            for one, (name, shape) in zip(keys, posterior.shapes.items(), strict=True)
        }

        def log_density(t: Any) -> Any:
            found = posterior.evaluate(t)[0]
            return jnp.where(jnp.isfinite(found), found, -jnp.inf)

        positions, info = explore(for_chain, log_density, start, settings, target=0.85)
        draws = jax.lax.map(
            lambda one: posterior.draw(*one), (positions, jax.random.split(for_draws, settings.draws)), batch_size=16
        )
        return draws, info

    return chain


class _Posterior:
    """The density of the coordinates, given one release or several of the same rows."""

    def __init__(self, problem: GroupSums, prior: VaryingScales, noises: Noises, z: Any, n: Any) -> None:
        self.problem, self.prior, self.scales, self.z, self.n = problem, prior, noises.scales, z, n
        self.laplace = np.array(noises.laplace)[:, None]
        self.variances = (1 + jnp.asarray(self.laplace)) * noises.scales**2
        # The sum of squares of y comes last: what all others say of it is then in the last row of a Cholesky factor.
        last = len(problem.select) - problem.fixed - 1
        self.order = np.append(np.delete(np.arange(len(problem.select)), last), last)
        self.select = problem.select[self.order]
        self.start = Start.of(problem, prior.level, prior.slope, Seen.of(problem, z, self.variances, self.variances), n)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The coordinates by name."""
        q, k, groups = self.problem.q, self.problem.rest, self.problem.groups
        found: dict[str, tuple[int, ...]] = {"size": (groups,), "alpha": (q,), "spread": (q,), "sigma": (), "rss": ()}
        if self.laplace.any():
            found["noise"] = (len(self.z), len(self.problem.others))
        if k:
            found |= {"beta": (k,), "middle": (k, q), "away": (k, q), "root": (k * (k + 1) // 2,)}
        if self.problem.slope:
            found |= {"place": (groups,), "square": (groups,), "slope": (3,)}
        return found

    def evaluate(self, t: Arrays) -> tuple[Any, Arrays]:
        """The log density, and everything that it is made of."""
        problem, prior, start, q, k = self.problem, self.prior, self.start, self.problem.q, self.problem.rest
        variances, value, others = self.variances, 0.0, problem.others
        if self.laplace.any():  # a Laplace number is normal with an exponential variance
            mixed = -2 * log_ndtr(-t["noise"]) * self.scales[:, others] ** 2
            variances = variances.at[:, others].set(jnp.where(self.laplace, mixed, variances[:, others]))
            value = -jnp.sum(t["noise"] ** 2) / 2
        seen = Seen.of(problem, self.z, variances, self.variances)
        value += log_among(self.z[:, others], variances[:, others])
        alpha = start.alpha + start.alpha_sd * t["alpha"]
        beta = start.beta + start.beta_root @ t["beta"] if k else jnp.zeros(0)
        spread = start.spread * (1 + 0.3 * t["spread"])
        value -= jnp.sum((spread / prior.spread) ** 2) / 2 + (alpha[0] / prior.level) ** 2 / 2
        value -= jnp.sum((alpha[1:] / prior.slope) ** 2) / 2 + jnp.sum((beta / prior.slope) ** 2) / 2
        more, n = self._sizes(t, seen)
        value += more
        omega, middle, away = jnp.zeros((0, 0)), jnp.zeros((0, q)), jnp.zeros((0, q))
        if k:
            more, omega = self._omega(t)
            middle, away = _MIDDLE * t["middle"], _AWAY * t["away"]
            value += more - jnp.sum(t["middle"] ** 2) / 2 - jnp.sum(t["away"] ** 2) / 2
        blocks, root = n[:, None, None], jnp.sqrt(n)[:, None, None]
        if problem.slope:
            more, blocks, root = self._slope(t, n)
            value += more
        # What sigma and the sums over all rows say of each other; without it they would hold each other fast.
        freedom = jnp.maximum(jnp.sum(n * n / (n + q)), 0.5)
        left = start.unexplained - beta @ omega @ beta
        shifted = t["sigma"] + left / start.rss_sd
        sigma = jnp.sqrt(start.rss_sd * jax.nn.softplus(shifted) / freedom)
        value += jax.nn.log_sigmoid(shifted) - jnp.log(sigma * freedom) - (sigma / prior.sigma) ** 2 / 2

        means, covariance = _by_group(blocks, middle, away, omega / start.rows, alpha, beta, spread, sigma)
        seen_v, noise_v = seen.vectors(n)
        mean, covariance, more = given_seen(means, covariance, seen_v, noise_v)
        value += more
        h_mean, h_covariance = _whitened(root, mean, covariance, k + 1, q)
        expected, spread_of = product_moments(h_mean, h_covariance)
        inner = jnp.zeros((k + 2, k + 2)).at[1:-1, 1:-1].set(omega).at[1:-1, -1].set(omega @ beta)
        inner = inner.at[-1, 1:-1].set(omega @ beta).at[-1, -1].set(beta @ omega @ beta)
        pooled, wide = self.select @ (expected + inner).reshape(-1), spread_of.reshape((k + 2) ** 2, -1)
        turn = jnp.concatenate([jnp.zeros((1, k)), jnp.eye(k), 2 * beta[None, :]])  # what c adds to (1, r, y) with y
        if k:
            own = jnp.zeros((k + 2,) * 4).at[:, -1, :, -1].set(sigma**2 * turn @ omega @ turn.T)
            wide = wide + own.reshape((k + 2) ** 2, -1)
        over_all, over_all_v = seen.over_all[self.order], seen.over_all_v[self.order]
        factor = jnp.linalg.cholesky(self.select @ wide @ self.select.T + jnp.diag(over_all_v))
        away_from = solve_triangular(factor, over_all - pooled, lower=True)
        value -= jnp.sum(jnp.log(jnp.diagonal(factor)))
        more, rss = _residual_squares(t["rss"], away_from[-1] * factor[-1, -1], factor[-1, -1], sigma, freedom)
        value += more - jnp.sum(away_from[:-1] ** 2) / 2
        inner = inner.at[-1, -1].add(rss)
        made = {"alpha": alpha, "beta": beta, "spread": jnp.abs(spread), "sigma": sigma, "n": n, "blocks": blocks}
        made |= {"mean": mean, "covariance": covariance, "h_mean": h_mean, "h_covariance": h_covariance, "root": root}
        made |= {"inner": inner, "omega": omega, "turn": turn, "factor": factor}
        return value, {**made, "over_all": over_all, "over_all_v": over_all_v}

    def _sizes(self, t: Arrays, seen: Seen) -> tuple[Any, Any]:
        """The sizes of the groups."""
        start, groups = self.start, self.problem.groups
        m = start.size_sd * jax.nn.softplus(start.size + t["size"])
        value, total = jnp.sum(jax.nn.log_sigmoid(start.size + t["size"])), jnp.sum(m)
        if self.n is None:
            return value + seen.log_sizes(m) - log_gamma_ratio(total, float(groups)), m
        n = m * (self.n / total)
        free = ((total - self.n) ** 2 / jnp.sum(start.size_sd**2)) / 2 + (groups - 1) * jnp.log(total)
        return value + seen.log_sizes(n) - free, n

    def _slope(self, t: Arrays, n: Any) -> tuple[Any, Any, Any]:
        """Mean and scatter of the slope's column in each group: the log density, sum zz', and its root."""
        start = self.start
        middle, away, log_variance = _MIDDLE * t["slope"][0], _AWAY * t["slope"][1], -2.5 + t["slope"][2]
        value = -jnp.sum(t["slope"] ** 2) / 2
        wide = away**2 + jnp.exp(log_variance) / n
        precision = 1 / wide + n**2 / start.sums_v
        mean = (middle / wide + n * start.sums / start.sums_v) / precision + t["place"] / jnp.sqrt(precision)
        value += jnp.sum(-((mean - middle) ** 2) / (2 * wide) - jnp.log(wide) / 2 - jnp.log(precision) / 2)
        uneven = _UNEVEN**2 + 2 / (n + 1)
        precision = 1 / uneven + start.square_weight
        logs = log_variance / uneven + (start.log_square - jnp.log(n)) * start.square_weight
        logs = logs / precision + t["square"] / jnp.sqrt(precision)
        value -= jnp.sum((logs - log_variance) ** 2 / uneven + jnp.log(uneven) + jnp.log(precision)) / 2
        scatter = n * jnp.exp(logs)
        sums, squares = n * mean, scatter + n * mean**2
        # A latent sum and the variance of its own noise would hold each other fast, so here the noise is what it is.
        for place, exact in zip(self.problem.of_slope, (sums, squares), strict=True):
            residual = (self.z[:, place] - exact) / self.scales[:, place]
            value += jnp.sum(jnp.where(self.laplace, -jnp.abs(residual), -(residual**2) / 2))
        blocks = jnp.stack([jnp.stack([n, sums], -1), jnp.stack([sums, squares], -1)], -2)
        first, zero = jnp.sqrt(n), jnp.zeros_like(n)
        root = jnp.stack([jnp.stack([first, zero], -1), jnp.stack([sums / first, jnp.sqrt(scatter)], -1)], -2)
        return value, blocks, root

    def _omega(self, t: Arrays) -> tuple[Any, Any]:
        """The scatter of the rest within groups, and its log density."""
        k, start = self.problem.rest, self.start
        moved = start.root_sd * t["root"]
        turn = jnp.diag(jnp.exp(moved[:k])).at[np.tril_indices(k, -1)].set(moved[k:])
        root = start.root @ turn
        logs = jnp.log(jnp.diagonal(root))
        half = solve_triangular(root, jnp.eye(k), lower=True)
        value = jnp.sum((k - np.arange(k)) * logs) + jnp.sum(moved[:k])
        value -= (2 * k + 1 + _MORE) * jnp.sum(logs) + _PSI * start.rows / 2 * jnp.sum(half**2)
        return value, root @ root.T

    def draw(self, t: Arrays, key: Any) -> Arrays:
        """A draw by name: the sums, given everything, then the effects."""
        found, q, k = self.evaluate(t)[1], self.problem.q, self.problem.rest
        for_h, for_c, for_noise, for_u = jax.random.split(key, 4)
        blocks, root, size = found["blocks"], found["root"], (k + 1) * q
        # Singular where a group is empty: the root of C + eps is good enough, as what is in it is next to nothing.
        scale = jnp.sqrt(jnp.diagonal(found["covariance"], axis1=1, axis2=2) + 1e-300)
        correlation = found["covariance"] / scale[:, :, None] / scale[:, None, :]
        factor = jnp.linalg.cholesky(correlation + 1e-9 * jnp.eye(size)) * scale[:, :, None]
        normal = jax.random.normal(for_h, (self.problem.groups, size))
        v = found["mean"] + jnp.einsum("gij,gj->gi", factor, normal)
        h = _whitened(root, v, found["covariance"], k + 1, q)[0]
        products = jnp.einsum("gia,gja->ij", h, h) + found["inner"]
        if k:
            c = found["sigma"] * jnp.linalg.cholesky(found["omega"]) @ jax.random.normal(for_c, (k,))
            added = found["turn"] @ c
            products = products.at[:, -1].add(added).at[-1, :-1].add(added[:-1])
        noise = jnp.sqrt(found["over_all_v"]) * jax.random.normal(for_noise, found["over_all_v"].shape)
        left = found["over_all"] - self.select @ products.reshape(-1) - noise
        left = solve_triangular(found["factor"], left, lower=True)
        pull = self.select.T @ solve_triangular(found["factor"], left, lower=True, trans=1)
        pull = pull.reshape(k + 2, k + 2)
        h = h + jnp.einsum("giakb,glb,kl->gia", found["h_covariance"], found["h_mean"], pull + pull.T)
        sums = jnp.einsum("gab,gib->gia", root, h[:, 1:])
        beta, spread, variance = found["beta"], found["spread"], found["sigma"] ** 2
        away = sums[:, -1] - blocks @ found["alpha"] - jnp.einsum("gka,k->ga", sums[:, :-1], beta)
        half = jnp.linalg.cholesky(jnp.eye(q) + spread[:, None] * blocks * spread / variance)
        own = solve_triangular(half, (spread * away / variance)[..., None], lower=True)
        own = own + jax.random.normal(for_u, own.shape)
        effect = spread * solve_triangular(half, own, lower=True, trans=1)[..., 0]
        theta = jnp.concatenate([found["alpha"], beta])
        return {"theta": theta, "sigma": found["sigma"], "spread": spread, "effect": effect, "count": found["n"]}


def _residual_squares(t: Any, left: Any, noise: Any, sigma: Any, freedom: Any) -> tuple[Any, Any]:
    """The residual sum of squares, sigma^2 chi^2 of ``freedom`` degrees, of which the sums over all rows say that it is
    ``left`` with a normal error of sd ``noise``; and the log density, both included.

    Its logarithm is about normal: with precision freedom / 2 around that of the usual one, and with (left / noise)^2
    around log(left), where that is above 0.
    """
    usual, positive = sigma**2 * freedom, noise * jax.nn.softplus(jnp.maximum(left / noise, -30.0))
    weight = (positive / noise) ** 2
    precision = freedom / 2 + weight
    log_ratio = weight * jnp.log(positive / usual) / precision + t / jnp.sqrt(precision)
    rss = usual * jnp.exp(log_ratio)
    value = freedom / 2 * (jnp.log(freedom / 2) + log_ratio - jnp.exp(log_ratio)) - gammaln(freedom / 2)
    return value - jnp.log(precision) / 2 - ((left - rss) / noise) ** 2 / 2, rss


def _by_group(
    blocks: Any, middle: Any, away: Any, scatter: Any, alpha: Any, beta: Any, spread: Any, sigma: Any
) -> tuple[Any, Any]:
    """Mean (groups, (k + 1) q) and covariance of the sums of z r and z y in each group, effects integrated out."""
    k, q = middle.shape
    turn = jnp.eye(k + 1).at[-1, :k].set(beta)  # (r, y) from (r, y - r'beta)
    lines = turn @ jnp.concatenate([middle, alpha[None]])
    inner = jnp.zeros((k + 1, k + 1)).at[:k, :k].set(scatter).at[k, k].set(sigma**2)
    inner = turn @ inner @ turn.T
    apart = jnp.concatenate([away, spread[None]]) ** 2
    apart = jnp.einsum("ik,kc,jk->cij", turn, apart, turn)
    mean = jnp.einsum("gac,ic->gia", blocks, lines)
    wide = inner[None, :, None, :, None] * blocks[:, None, :, None, :]
    for c in range(q):
        between = blocks[:, :, c, None] * blocks[:, None, :, c]
        wide = wide + apart[c][None, :, None, :, None] * between[:, None, :, None, :]
    groups, size = len(blocks), (k + 1) * q
    return mean.reshape(groups, size), wide.reshape(groups, size, size)


def _whitened(root: Any, mean: Any, covariance: Any, d: int, q: int) -> tuple[Any, Any]:
    """Mean (groups, 1 + d, q) and covariance of L^-1 times each q-vector, after those of the constant, which are L'."""
    groups = len(root)
    mean, covariance = mean.reshape(groups, d, q), covariance.reshape(groups, d, q, d, q)
    one = jnp.zeros((groups, 1, q)).at[:, 0, 0].set(root[:, 0, 0])
    if q == 1:
        mean, covariance = mean / root, covariance / (root**2)[:, :, :, None, None]
    else:
        a, b, c = root[:, 0, 0], root[:, 1, 0], root[:, 1, 1]
        zero = jnp.zeros_like(a)
        inverse = jnp.stack([jnp.stack([1 / a, zero], -1), jnp.stack([-b / (a * c), 1 / c], -1)], -2)
        mean = jnp.einsum("gab,gib->gia", inverse, mean)
        covariance = jnp.einsum("gab,gibjc,gdc->giajd", inverse, covariance, inverse)
    return jnp.concatenate([one, mean], axis=1), jnp.pad(covariance, ((0, 0), (1, 0), (0, 0), (1, 0), (0, 0)))
