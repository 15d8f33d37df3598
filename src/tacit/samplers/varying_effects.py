"""Linear regression with effects that vary by group, from noisy sums by group: NUTS, with everything normal moved away.

A row of group g has z = (1, slopes), the rest r of its design, and

    y = z'(alpha + u_g) + r'beta + e,    u_g ~ N(0, diag(tau^2)),    e ~ N(0, sigma^2).

The exact sums are latent: Z_g = sum zz' (its size n_g; with a slope its mean and scatter, too), m_g = sum z r' and
s_g = sum z y in each group; and what is left over all rows once every group's own line is taken out, the scatter Omega
of r, its products c with y, and the residual sum of squares. They are independent given the parameters (a one-way
layout, with u_g integrated out):

    s_g ~ N(Z_g alpha + m_g beta, Z_g diag(tau^2) Z_g + sigma^2 Z_g)
    c ~ N(Omega beta, sigma^2 Omega),    rss ~ sigma^2 chi^2 with (rows - about q a group - columns of r) degrees.

Released are lattice sums of these, each with noise whose exact density is used. So groups whose size is no more than noise
are what they are: hardly known.

Prior of the latent design: n_g as shares of n rows, uniform on the simplex, of which each has its own density
(1 - n_g / n)^(G - 2); the sum of all sizes is left out. Columns of r (and a slope) have means by group that are drawn
from a normal distribution, learned like that of y. Omega / n is inverse Wishart.

No funnels: s_g, m_g and c are normal given the rest but for the shape of the noise. So their unknowns are standard normal
coordinates around the mean that they have given the parameters and what was released, by the covariance that they
have then: where tau is 0 they hold still, and where rows are many they do not follow tau. tau is the size of a real number,
which passes through 0, and u_g is drawn afterwards, exactly. Sizes and scatters are positive by softplus in units of
their noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jax.scipy.special import gammaln, log_ndtr

from tacit.numerics.small_matrices import backward, cholesky, forward, log_volume, times
from tacit.runtime.backend import argument
from tacit.runtime.chain import Arrays, Chain, SamplerSettings
from tacit.samplers.hmc_kernel import explore
from tacit.samplers.release_noise import Noises

_PSI, _MORE = 0.1, 2.0  # of the inverse Wishart prior of Omega / n: its scale, and degrees beyond the columns
_MIDDLE, _AWAY = 0.7, 0.3  # sds of a column's mean in mapped units, and the scale of its means by group
_UNEVEN = 0.5  # sd of the logarithm of a slope's variance by group


@dataclass(frozen=True, eq=False)
class GroupSums:
    """What is known beside a release: ``n`` rows, or None, in ``groups``; where entries stand; the noise of each release.

    ``rest`` columns are no slopes; ``slope`` says whether there is one. ``pooled`` has the places (j, k) of the sums over
    all rows among (rest, y). ``fixed`` are the other pairs of the rest, whose products are known otherwise: that of
    (j, k) is the sum of a column, 0, or the product of another pair.
    """

    n: float | None
    groups: int
    rest: int
    slope: bool
    pooled: tuple[tuple[int, int], ...]
    fixed: tuple[tuple[int, int, int | tuple[int, int] | None], ...]
    noises: Noises

    @cached_property
    def places(self) -> Any:
        """Of each pair among (rest, y), where its sum over all rows stands; the last place where it is not released."""
        found = np.full((self.rest + 1,) * 2, len(self.pooled))
        for place, (j, k) in enumerate(self.pooled):
            found[j, k] = found[k, j] = place
        return found

    @cached_property
    def known(self) -> tuple[Any, Any, Any]:
        """The pairs whose products are known otherwise, and what they are: places in (sums of columns, 0, all pairs)."""
        target = [
            self.rest
            if one is None
            else one
            if isinstance(one, int)
            else self.rest + 1 + one[0] * (self.rest + 1) + one[1]
            for *_, one in self.fixed
        ]
        first, second = np.array([pair[:2] for pair in self.fixed], int).reshape(-1, 2).T
        return first, second, np.array(target, int)

    @property
    def q(self) -> int:
        """How many effects vary."""
        return 1 + self.slope


@dataclass(frozen=True)
class VaryingScales:
    """The prior: sds of the intercept and of other coefficients, scales of the half-normal spread and sigma."""

    level: float
    slope: float
    spread: float
    sigma: float


def varying_chain(problem: GroupSums, prior: VaryingScales, settings: SamplerSettings) -> Chain:
    """Draws of ``theta`` (varying columns, then the rest), ``sigma``, ``spread`` (q), ``effect`` (groups, q), ``count``."""
    noises, n = problem.noises.as_arguments(), argument([problem.n or 0.0])

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        z = released.reshape(noises.scales.shape)
        posterior = _Posterior(problem, prior, noises, z, n[0] if problem.n is not None else None)
        for_start, for_chain, for_effects = jax.random.split(key, 3)
        flat = {name: jnp.zeros(shape) for name, shape in posterior.shapes.items()}
        keys = jax.random.split(for_start, len(flat))
        start = {k: 0.3 * jax.random.normal(one, flat[k].shape) for k, one in zip(flat, keys, strict=True)}

        def log_density(t: Any) -> Any:
            found = posterior.evaluate(t)[0]
            return jnp.where(jnp.isfinite(found), found, -jnp.inf)

        positions, info = explore(for_chain, log_density, start, settings, target=0.85)
        normal = jax.random.normal(for_effects, (settings.draws, problem.groups, problem.q))
        return jax.vmap(posterior.draw)(positions, normal), info

    return chain


@dataclass(frozen=True, eq=False)
class _Seen:
    """Noisy sums in their places, and the variances of their noise: parts (groups, 2), m (groups, rest, q)."""

    parts: Any
    parts_v: Any
    m: Any
    m_v: Any
    over_all: Any
    over_all_v: Any
    place: Any = None
    place_v: Any = None
    square: Any = None
    square_v: Any = None
    turned: Any = None
    turned_v: Any = None

    def y(self, n: Any) -> tuple[Any, Any]:
        """The sums of z y (groups, q) and the variances of their noise, given the sizes of the groups."""
        low, high = self.parts_v[:, 0], self.parts_v[:, 1]
        first = ((n - 2 * self.parts[:, 0]) / low + (2 * self.parts[:, 1] - n) / high) / (1 / low + 1 / high)
        first_v = 4 / (1 / low + 1 / high)
        if self.turned is None:
            return first[:, None], first_v[:, None]
        return jnp.stack([first, self.turned], -1), jnp.stack([first_v, self.turned_v], -1)


class _Posterior:
    """The density of the coordinates, given one release (or several of the same rows)."""

    def __init__(self, problem: GroupSums, prior: VaryingScales, noises: Noises, z: Any, n: Any) -> None:
        self.problem, self.prior, self.noises, self.z, self.n = problem, prior, noises, z, n
        self.laplace = np.array(noises.laplace)[:, None]
        self.wide = (1 + jnp.asarray(self.laplace)) * noises.scales**2  # the variance of each number's noise
        self._guess(self._seen(self.wide))

    def _seen(self, variances: Any) -> _Seen:
        """What the releases say of each latent sum, given the ``variances`` (releases, entries) of their noise."""
        problem, q, k, groups = self.problem, self.problem.q, self.problem.rest, self.problem.groups
        precision = jnp.sum(1 / variances, axis=0)
        best, wide = jnp.sum(self.z / variances, axis=0) / precision, 1 / precision
        width = 2 + (q - 1) * 3 + k * q
        by_group, spread = (one[: width * groups].reshape(groups, width) for one in (best, wide))
        rest = 2 + (q - 1)  # by group: (1 - y) / 2, (1 + y) / 2, (slope), rest, (slope^2, slope * rest, slope * y)
        m, m_v = [by_group[:, rest : rest + k]], [spread[:, rest : rest + k]]
        found: dict[str, Any] = {"parts": by_group[:, :2], "parts_v": spread[:, :2]}
        if problem.slope:
            found |= {"place": by_group[:, 2], "place_v": spread[:, 2], "square": by_group[:, rest + k]}
            m, m_v = [*m, by_group[:, rest + k + 1 : -1]], [*m_v, spread[:, rest + k + 1 : -1]]
            found |= {"turned": by_group[:, -1], "turned_v": spread[:, -1], "square_v": spread[:, rest + k]}
        over_all, over_all_v = best[width * groups :], wide[width * groups :]
        return _Seen(**found, m=jnp.stack(m, -1), m_v=jnp.stack(m_v, -1), over_all=over_all, over_all_v=over_all_v)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The coordinates by name."""
        q, k, groups = self.problem.q, self.problem.rest, self.problem.groups
        found: dict[str, tuple[int, ...]] = {"size": (groups,), "y": (groups, q), "alpha": (q,), "spread": (q,)}
        found |= {"sigma": (), "rss": ()}
        if self.laplace.any():
            found["noise"] = self.z.shape
        if k:
            found |= {"m": (groups, k, q), "beta": (k,), "middle": (k, q), "away": (k, q), "cross": (k,)}
            found |= {"root": (k * (k + 1) // 2,)}
        if self.problem.slope:
            found |= {"place": (groups,), "square": (groups,), "slope": (3,)}
        return found

    def _guess(self, seen: _Seen) -> None:
        """About where everything is, and on which scale: what coordinates begin with and nothing else depends on."""
        k, groups = self.problem.rest, self.problem.groups
        size, both = jnp.sum(seen.parts, axis=1), jnp.sum(seen.parts_v, axis=1)
        rows = self.rows = jnp.maximum(jnp.sum(size) if self.n is None else self.n, 2.0 + groups)
        self.size_sd = jnp.minimum(jnp.sqrt(both), rows / groups)
        n = jnp.clip(size, self.size_sd, 0.9 * rows)
        self.size_0 = _softplus_inverse(n / self.size_sd)
        y, noise = seen.y(n)
        mean, noise = jnp.clip(y[:, 0] / n, -1.0, 1.0), noise[:, 0] / n**2
        if self.problem.slope:
            self.square_sd = jnp.minimum(jnp.sqrt(seen.square_v), 0.1 * rows / groups)
            scatter = jnp.maximum(seen.square - seen.place**2 / n, self.square_sd)
            self.square_0 = _softplus_inverse(scatter / self.square_sd)
        weight = 1 / (noise + 0.01)
        level = jnp.sum(weight * mean) / jnp.sum(weight)
        extra = jnp.sum(weight * ((mean - level) ** 2 - noise)) / jnp.sum(weight)
        self.spread_0 = jnp.clip(jnp.sqrt(jnp.maximum(extra, 0.1 * jnp.median(noise))), 0.01, 0.6)
        self.level_0 = level
        pooled, sd = self._matrix(seen.over_all), self._matrix(jnp.sqrt(seen.over_all_v))
        first, second, target = self.problem.known
        if len(first):
            totals = jnp.append(jnp.sum(seen.m[:, :, 0], axis=0), 0.0)
            value = jnp.concatenate([totals, pooled.reshape(-1)])[target]
            wide = jnp.concatenate([jnp.sqrt(jnp.sum(seen.m_v[:, :, 0], axis=0)), jnp.ones(1), sd.reshape(-1)])[target]
            wide = jnp.maximum(wide, jnp.sqrt(jnp.sum(seen.m_v[:, first, 0], axis=0)))
            pooled = pooled.at[first, second].set(value).at[second, first].set(value)
            sd = sd.at[first, second].set(wide).at[second, first].set(wide)
        self.pooled_sd = sd
        sums = jnp.concatenate([seen.m[:, :, 0], y[:, :1]], axis=1)
        within = pooled - jnp.einsum("gj,gk->jk", sums, sums / n[:, None])
        floor = 0.02 * rows + jnp.median(sd)
        values, vectors = jnp.linalg.eigh((within[:k, :k] + within[:k, :k].T) / 2)
        self.root_0 = (
            jnp.linalg.cholesky((vectors * jnp.clip(values, floor, floor + rows)) @ vectors.T)
            if k
            else jnp.zeros((0, 0))
        )
        gram = self.root_0 @ self.root_0.T
        beta = jnp.linalg.solve(gram + floor * jnp.eye(k), within[:k, k]) if k else jnp.zeros(0)
        self.beta_0 = jnp.clip(beta, -self.prior.slope, self.prior.slope)
        rss = within[k, k] - self.beta_0 @ within[:k, k]
        rss = jnp.clip(rss, 0.003 * rows, rows)
        self.rss_sd = jnp.sqrt(jnp.minimum(sd[k, k], 0.1 * rows) ** 2 + 2 * rss**2 / rows)
        self.sigma_0 = jnp.sqrt(rss / rows)
        wide = jnp.sqrt(self.sigma_0**2 + jnp.diagonal(sd)[:k] ** 2 / jnp.maximum(jnp.diagonal(gram), 1e-9))
        wide = jnp.minimum(wide, self.prior.slope * jnp.sqrt(jnp.diagonal(gram)))
        self.beta_scale = solve_triangular(self.root_0, jnp.diag(wide), lower=True, trans=1) if k else jnp.zeros((0, 0))
        self.root_scale = (
            jnp.clip(1 / jnp.sqrt(rows) + jnp.median(sd) / jnp.max(jnp.diagonal(gram)), 0, 0.3) if k else 0.0
        )
        wide = jnp.sqrt((self.spread_0**2 + jnp.mean(noise)) / groups + self.sigma_0**2 / rows)
        self.alpha_scale = jnp.minimum(wide, 0.5 * self.prior.level)

    def _matrix(self, values: Any) -> Any:
        """The sums over all rows in their places among (rest, y)."""
        return jnp.append(values, 0.0)[self.problem.places]

    def evaluate(self, t: Arrays) -> tuple[Any, Arrays]:
        """The log density, and everything that it is made of."""
        problem, prior, q, k = self.problem, self.prior, self.problem.q, self.problem.rest
        variances = self.wide
        noise = 0.0
        if self.laplace.any():  # a Laplace number is normal with an exponential variance
            variances = jnp.where(self.laplace, -2 * log_ndtr(-t["noise"]) * self.noises.scales**2, variances)
            noise = -jnp.sum(t["noise"] ** 2) / 2
        seen = self._seen(variances)
        alpha = jnp.zeros(q).at[0].set(self.level_0) + self.alpha_scale * t["alpha"] * jnp.array([1.0, 3.0])[:q]
        beta = self.beta_0 + self.beta_scale @ t["beta"] if k else jnp.zeros(0)
        spread = self.spread_0 * (1 + 0.3 * t["spread"])
        value = noise - jnp.sum((spread / prior.spread) ** 2) / 2 - (alpha[0] / prior.level) ** 2 / 2
        value -= jnp.sum((alpha[1:] / prior.slope) ** 2) / 2 + jnp.sum((beta / prior.slope) ** 2) / 2
        n = self.size_sd * jax.nn.softplus(self.size_0 + t["size"])
        value += jnp.sum(jax.nn.log_sigmoid(self.size_0 + t["size"]))
        if self.n is not None:
            share = jnp.minimum(n / self.n, 1 - 1e-9)
            value += (problem.groups - 2) * jnp.sum(jnp.log1p(-share)) - 1e6 * jnp.sum(jnp.maximum(n / self.n - 1, 0.0))
        blocks = n[:, None, None]
        if problem.slope:
            more, blocks = self._slope(t, n, seen)
            value += more
        rest, omega, root = jnp.zeros((problem.groups, 0, q)), jnp.zeros((0, 0)), jnp.zeros((0, 0))
        if k:
            more, omega, root = self._omega(t)
            middle, away = _MIDDLE * t["middle"], _AWAY * t["away"]
            value += more - jnp.sum(t["middle"] ** 2) / 2 - jnp.sum(t["away"] ** 2) / 2
            within = jnp.diagonal(omega) / self.rows
            wide = _spreads(blocks[:, None], away**2, within[None, :])
            more, rest = _normal(times(blocks[:, None], middle[None]), wide, seen.m, seen.m_v, t["m"])
            value += more
        freedom = jnp.maximum(jnp.sum(n * n / (n + q)) - k, 0.5)
        expected, roots = times(blocks, alpha) + jnp.einsum("gkq,k->gq", rest, beta), cholesky(blocks)

        seen_y, over_all, sd = seen.y(n), self._matrix(seen.over_all), self.pooled_sd
        noise_yy = self._matrix(seen.over_all_v)[k, k]

        def sums_of_y(sigma: Any) -> tuple[Any, Any]:
            return _normal(expected, _spreads(blocks, spread**2, sigma**2), *seen_y, t["y"])

        # What the sum of y^2 leaves for sigma, about: without it all groups together would hold on to sigma.
        left = over_all[k, k] - beta @ omega @ beta
        left -= jnp.sum(forward(roots, sums_of_y(self.sigma_0)[1]) ** 2)
        shifted = t["sigma"] + left / self.rss_sd
        sigma = jnp.sqrt(self.rss_sd * jax.nn.softplus(shifted) / freedom)
        value += jax.nn.log_sigmoid(shifted) - jnp.log(sigma * freedom) - (sigma / prior.sigma) ** 2 / 2
        more, y = sums_of_y(sigma)
        value += more
        half = forward(roots[:, None], jnp.concatenate([rest, y[:, None]], axis=1))  # (groups, rest + 1, q)
        between = jnp.einsum("giq,gjq->ij", half, half)
        cross = jnp.zeros(0)
        if k:
            about, about_v = over_all[:k, k] - between[:k, k], self._matrix(seen.over_all_v)[:k, k]
            more, cross = _normal(omega @ beta, sigma**2 * omega, about, about_v, t["cross"], large=True)
            value += more
        explained = solve_triangular(root, cross, lower=True) if k else jnp.zeros(0)
        usual = sigma**2 * freedom  # what sigma expects of the residual sum of squares
        left = over_all[k, k] - between[k, k] - explained @ explained - usual
        precision = freedom / 2 + usual**2 / noise_yy
        scaled = usual * left / noise_yy / precision + t["rss"] / jnp.sqrt(precision)
        rss = usual * jnp.exp(scaled)
        value += freedom / 2 * (jnp.log(freedom / 2) + scaled - jnp.exp(scaled)) - gammaln(freedom / 2)
        value -= jnp.log(precision) / 2
        last = jnp.append(cross, rss + explained @ explained)
        own = jnp.concatenate([jnp.concatenate([omega, cross[:, None]], axis=1), last[None]]) + between
        columns = [(n - y[:, 0]) / 2, (n + y[:, 0]) / 2]
        columns += [blocks[:, 0, 1]] if problem.slope else []
        found = [jnp.stack(columns, -1), rest[:, :, 0]]
        if problem.slope:
            found += [blocks[:, 1, 1:], rest[:, :, 1], y[:, 1:]]
        exact = jnp.concatenate([jnp.concatenate(found, axis=1).reshape(-1), own[tuple(np.array(problem.pooled).T)]])
        value -= jnp.sum((self.z - exact) ** 2 / variances + jnp.log(variances)) / 2
        first, second, target = problem.known
        if len(first):
            aims = jnp.concatenate([jnp.append(jnp.sum(rest[:, :, 0], axis=0), 0.0), own.reshape(-1)])[target]
            value -= jnp.sum(((own[first, second] - aims) / sd[first, second]) ** 2) / 2
        made = {"alpha": alpha, "beta": beta, "spread": spread, "sigma": sigma, "n": n, "blocks": blocks}
        return value, {**made, "left": y - expected}

    def _slope(self, t: Arrays, n: Any, seen: _Seen) -> tuple[Any, Any]:
        """Mean and scatter of the slope's column in each group: the log density, and sum zz'."""
        middle, away, log_variance = _MIDDLE * t["slope"][0], _AWAY * t["slope"][1], -2.5 + t["slope"][2]
        variance = jnp.exp(log_variance)
        value = -jnp.sum(t["slope"] ** 2) / 2
        wide = away**2 + variance / n
        precision = 1 / wide + n**2 / seen.place_v
        mean = (middle / wide + n * seen.place / seen.place_v) / precision + t["place"] / jnp.sqrt(precision)
        value += jnp.sum(-((mean - middle) ** 2) / (2 * wide) - jnp.log(wide) / 2 - jnp.log(precision) / 2)
        scatter = self.square_sd * jax.nn.softplus(self.square_0 + t["square"])
        value += jnp.sum(jax.nn.log_sigmoid(self.square_0 + t["square"]) - jnp.log(scatter))
        uneven = _UNEVEN**2 + 2 / (n + 1)
        value -= jnp.sum((jnp.log(scatter / n) - log_variance) ** 2 / (2 * uneven) + jnp.log(uneven) / 2)
        one = jnp.stack([n, n * mean], -1)
        return value, jnp.stack([one, jnp.stack([n * mean, scatter + n * mean**2], -1)], -2)

    def _omega(self, t: Arrays) -> tuple[Any, Any, Any]:
        """The scatter of the rest within groups: its log density, itself and its root."""
        k = self.problem.rest
        moved = self.root_scale * t["root"]
        turn = jnp.diag(jnp.exp(moved[:k])).at[np.tril_indices(k, -1)].set(moved[k:])
        root = self.root_0 @ turn
        logs = jnp.log(jnp.diagonal(root))
        half = solve_triangular(root, jnp.eye(k), lower=True)
        value = jnp.sum((k - np.arange(k)) * logs) + jnp.sum(moved[:k])
        value -= (2 * k + 1 + _MORE) * jnp.sum(logs) + _PSI * self.rows / 2 * jnp.sum(half**2)
        return value, root @ root.T, root

    def draw(self, t: Arrays, normal: Any) -> Arrays:
        """A draw by name; effects are drawn given the exact sums, from standard ``normal`` numbers."""
        found = self.evaluate(t)[1]
        spread, variance = jnp.abs(found["spread"]), found["sigma"] ** 2
        scaled = spread[:, None] * found["blocks"] * spread / variance
        root = cholesky(jnp.eye(self.problem.q) + scaled)
        pull = forward(root, spread * found["left"] / variance)
        return {
            "theta": jnp.concatenate([found["alpha"], found["beta"]]),
            "sigma": found["sigma"],
            "spread": spread,
            "effect": spread * backward(root, pull + normal),
            "count": found["n"],
        }


def _spreads(blocks: Any, squares: Any, variance: Any) -> Any:
    """Z diag(squares) Z + variance Z."""
    return (
        jnp.sum(blocks[..., :, None, :] * blocks[..., None, :, :] * squares[..., None, None, :], -1)
        + blocks * (variance[..., None, None])
    )


def _normal(mean: Any, wide: Any, seen: Any, noise: Any, position: Any, *, large: bool = False) -> tuple[Any, Any]:
    """A normal vector with this mean and covariance, seen with noise of these variances: its value at a standard normal
    ``position`` of what is then known, and the log of its density before that, times the volume of the coordinates.
    """
    eye = jnp.eye(mean.shape[-1])
    together = wide + noise[..., None] * eye
    if large:
        root = jnp.linalg.cholesky(together)
        gain = solve_triangular(root, solve_triangular(root, wide, lower=True), lower=True, trans=1)  # (A + S)^-1 A
        half = jnp.linalg.cholesky(_symmetric(noise[:, None] * gain))
        value = mean + gain.T @ (seen - mean) + half @ position
        before = jnp.linalg.cholesky(wide)
        away = solve_triangular(before, value - mean, lower=True)
        return log_volume(half) - log_volume(before) - jnp.sum(away**2) / 2, value
    root = cholesky(together)
    columns = [backward(root, forward(root, wide[..., :, i])) for i in range(mean.shape[-1])]
    gain = jnp.stack(columns, -1)
    half = cholesky(_symmetric(noise[..., :, None] * gain))
    value = mean + times(jnp.swapaxes(gain, -1, -2), seen - mean) + times(half, position)
    before = cholesky(wide)
    away = forward(before, value - mean)
    return jnp.sum(log_volume(half) - log_volume(before)) - jnp.sum(away**2) / 2, value


def _symmetric(a: Any) -> Any:
    return (a + jnp.swapaxes(a, -1, -2)) / 2


def _softplus_inverse(x: Any) -> Any:
    return x + jnp.log(-jnp.expm1(-x))
