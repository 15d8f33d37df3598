"""Means and spreads of many groups whose sizes are latent: weighted particles, group by group, and no Markov chain.

For each group three sums B of `GroupMoments` are latent: N = B_0 + B_1 + B_2 rows, their mean M and variance V on
[0, 1]. A particle is (N, M, R) for the rows, with V = R^2 M (1 - M), and (m, r) for the population. Its target is

    p(N) p(m) p(r)  normal((N M, N (V + M^2)); N mu(m, r), N C(m, r))  noise(z - B)

with mu and C the moments of one row (`bounded_number`). Half of the particles of rows come from the noise around the
release, which is the posterior itself where a group is large; half from the whole range, which bounds the weights where
it is small or empty. The population is proposed around the rows, or from its prior. Groups share nothing but the number
of all rows: given the others the size of a group is n less theirs, about normal with the moments of a first pass, and
that factor enters the weights of the second. Draws of different groups are independent but for it. Where n is not known
either, it is flat beforehand and the sum of the sizes, which have the density Gamma(n + 1) / Gamma(n + G): one over the
number of ways to divide n rows among G groups. Near a given n that is about exp(-s n), a product of factors of the
groups, which enter the weights of the second pass; draws of all groups together are then taken again in proportion to
what is left of it. A part of the normal distribution lies where no rows are, the larger the fewer rows there are; what
is left is divided by (`log_mass`), so that it says nothing of N.

All rows of a small group may be at a bound, as in a column of many zeros. A density has no such point, and an interval
would never reach the bound. So all are at the lower one with probability 0.45 (1 - m)^N, at the upper with 0.45 m^N.
Without the factor these are exact for a population of the two bounds alone; one that avoids the bounds has none of it.

Partial pooling. logit m ~ N(mu_0, tau^2) for the groups' means, tau half-normal with scale 1, mu_0 normal with sd 1.5.
Each group's likelihood is taken to be normal on the logit scale, as in a meta-analysis, so that (mu_0, tau) is drawn
from a table and the means given them in closed form; the rest of a draw is that of a particle with nearly this mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr, ndtri
from scipy.special import betaincinv

from tacit.likelihoods.bounded_number import two_moments
from tacit.numerics.gamma_ratio import log_gamma_ratio
from tacit.runtime.backend import argument
from tacit.runtime.chain import Arrays, Chain, SamplerSettings
from tacit.samplers.group_pooling import logit, pooled, resample

_FEWEST, _A_DRAW = 8192, 8  # particles of a group; pooling, which may move a small group far, has four times as many
_NEAR, _WITHIN = 0.5, 0.15  # of the populations are proposed near the rows; twice, within a few times their odds
_ODDS = 0.7  # the scale of that, of a logistic distribution of logits
_ROWS_NEAR, _ROWS_FAR, _ROWS_END = 0.65, 0.25, 0.1  # of the particles of rows: near the release, anywhere, at a bound
LOCAL, REACH, LEAST = 0.6, 4.0, 1e-6
"""Of the particles anywhere, the share whose mean lies within so many sds of its noise, which is at least so wide."""
_ALL_THERE = 0.45  # times the largest probability of it that any distribution with this mean has
_FREEDOM = 5.0
_ROUNDS = 8  # of the search for s


@dataclass(frozen=True, eq=False)
class GroupProblem:
    """What is known beside a release: ``n`` rows, or None, in ``groups``; the noise of each release (J, groups, 3)."""

    n: Any
    groups: int
    scales: Any
    laplace: tuple[bool, ...]
    prior: tuple[float, float, float, float]
    pooled: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", None if self.n is None else argument(self.n))
        object.__setattr__(self, "scales", argument(self.scales))

    def log_noise(self, j: int, residual: Any) -> Any:
        """The log density of release ``j``'s noise, normalised, at residuals over their scale."""
        return -jnp.abs(residual) - math.log(2) if self.laplace[j] else -(residual**2) / 2 - math.log(2 * math.pi) / 2


def group_means_chain(problem: GroupProblem, settings: SamplerSettings) -> Chain:
    """Draws (draws, groups) of ``mean``, ``sd``, ``rows_mean``, ``rows_sd``, all on [0, 1], and ``count``."""
    count = max(_FEWEST, _A_DRAW * settings.draws) * (4 if problem.pooled else 1)

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        z = released.reshape(len(problem.laplace), problem.groups, 3)
        for_particles, for_draws = jax.random.split(key)
        keys = jax.random.split(for_particles, problem.groups)
        each = keys, jnp.swapaxes(z, 0, 1), jnp.swapaxes(problem.scales, 0, 1)
        particles, logs = jax.lax.map(lambda one: _particles(one[0], one[1], one[2], problem, count), each)
        slope = 0.0
        if problem.n is None:
            logs = logs - log_mass(particles["count"], problem.prior)
            slope = _slope(particles["count"], logs)
            logs = logs - slope * particles["count"]
        else:
            weights = jax.nn.softmax(logs, axis=1)
            mean = jnp.sum(weights * particles["count"], axis=1)
            variance = jnp.sum(weights * (particles["count"] - mean[:, None]) ** 2, axis=1)
            rest_mean, rest_variance = jnp.sum(mean) - mean, jnp.sum(variance) - variance + 0.25
            left = problem.n[0] - particles["count"] - rest_mean[:, None]
            logs = logs - left**2 / (2 * rest_variance[:, None])
        means = None
        efficiency = 1 / (jnp.sum(jax.nn.softmax(logs, axis=1) ** 2, axis=1) * count)
        if problem.pooled:
            chosen, means = pooled(for_draws, particles["mean"], logs, settings.draws)
        else:
            chosen = jax.vmap(lambda key, logs: resample(key, logs, settings.draws))(
                jax.random.split(for_draws, problem.groups), logs
            )
        draws = {name: jnp.take_along_axis(values, chosen, axis=1).T for name, values in particles.items()}
        if means is not None:
            draws["mean"] = means.T
        if problem.n is None:
            n = draws["n"] = jnp.sum(draws["count"], axis=1)
            left = slope * n - log_gamma_ratio(n, float(problem.groups))
            again = resample(jax.random.fold_in(for_draws, 1), left, settings.draws)
            draws = {name: values[again] for name, values in draws.items()}
        return draws, {"efficiency": jnp.full(settings.draws, jnp.min(efficiency))}

    return chain


def log_mass(n: Any, prior: tuple[float, float, float, float]) -> Any:
    """The log of the mass that the target has at each of ``n``, noise apart: of possible sums, and of all at a bound.

    From a table over sizes. Populations are quantiles of the prior; given one, the mean is normal and the second moment
    given the mean is, of which [0, 1] and [mean^2, mean] are possible.
    """
    a, b, c, d = prior
    sizes, of_mean, of_ratio, inside = np.geomspace(1.0, 1000.0, 25), *map(_midpoints, (24, 12, 16))
    mean, ratio = (one.ravel() for one in np.meshgrid(betaincinv(a, b, of_mean), betaincinv(c, d, of_ratio)))
    m, s, va, cov, vs = _row_moments(mean, ratio)
    rest = jnp.sqrt(jnp.maximum(vs - cov * cov / va, 1e-12 * vs) / sizes[:, None])[..., None]
    sd = jnp.sqrt(va / sizes[:, None])
    low, high = ndtr(-m / sd), ndtr((1 - m) / sd)
    place = m[:, None] + sd[..., None] * ndtri(low[..., None] + (high - low)[..., None] * inside)
    centre = s[:, None] + (cov / va)[:, None] * (place - m[:, None])
    share = jnp.mean(ndtr((place - centre) / rest) - ndtr((place**2 - centre) / rest), axis=2)
    not_all = jnp.exp(log_not_all_there(sizes[:, None], mean))
    mass = jnp.mean(not_all * (high - low) * share + 1 - not_all, axis=1)
    return jnp.interp(jnp.log(jnp.maximum(n, 1.0)), np.log(sizes), jnp.log(mass))


def _midpoints(count: int) -> Any:
    return (np.arange(count) + 0.5) / count


def _slope(sizes: Any, logs: Any) -> Any:
    """s = (G - 1) / n with n the mean sum of the sizes under exp(``logs`` - s size), found by going to and fro."""

    def better(_: int, slope: Any) -> Any:
        weights = jax.nn.softmax(logs - slope * sizes, axis=1)
        return (len(sizes) - 1) / jnp.maximum(jnp.sum(weights * sizes), 1.0)

    return jax.lax.fori_loop(0, _ROUNDS, better, jnp.asarray(0.0))


def _particles(key: Any, z: Any, scales: Any, problem: GroupProblem, count: int) -> tuple[Arrays, Any]:
    """The particles of one group, and the logs of their weights; ``z`` and ``scales`` (J, 3)."""
    keys = jax.random.split(key, 9)
    n, near, ends = jnp.inf if problem.n is None else problem.n[0], int(_ROWS_NEAR * count), int(_ROWS_END * count)
    far_ones, everything = count - near - ends, count
    count -= ends
    noise_above, log_above = noise_from(-z[0] / scales[0], jax.random.uniform(keys[0], (near, 3)), problem.laplace[0])
    sums = z[0] + scales[0] * noise_above
    size = jnp.sum(sums, axis=1)
    safe = jnp.maximum(size, 1e-9)
    place = (sums[:, 1] / 2 + sums[:, 2]) / safe
    spread = (sums[:, 2] / safe - place**2) / jnp.where(place * (1 - place) > 0, place * (1 - place), 1.0)
    # Anywhere: the size from around the release, folded into what is possible; the mean where the noise leaves it, or
    # from all means.
    variances = _variances(scales[0], problem)
    centre, width = jnp.clip(jnp.sum(z[0]), 0, n), 3 * jnp.sqrt(jnp.sum(variances))
    wide = width + 1.0
    far = jnp.abs(centre + wide * jax.random.normal(keys[1], (everything - near,)))
    rows_n, ends_n = jnp.concatenate([size, far[:far_ones]]), far[far_ones:]
    anywhere = jax.random.uniform(keys[2], (3, far_ones))
    total, reach = z[0, 1] / 2 + z[0, 2], REACH * jnp.sqrt(variances[1] / 4 + variances[2])

    def left_open(size: Any) -> tuple[Any, Any]:
        size = jnp.maximum(size, 1e-9)
        low = jnp.clip((total - reach) / size, 0.0, 1 - LEAST)
        return low, jnp.clip((total + reach) / size, low + LEAST, 1.0) - low

    low, open_width = left_open(rows_n[near:])
    local = low + open_width * anywhere[0]
    rows_mean = jnp.concatenate([place, jnp.where(anywhere[2] < LOCAL, local, anywhere[0])])
    rows_ratio = jnp.concatenate([jnp.sqrt(jnp.maximum(spread, 0.0)), anywhere[1]])
    eps = 1e-9
    possible = (rows_n > eps) & (rows_n <= n) & (rows_mean > eps) & (rows_mean < 1 - eps)
    possible = possible & (rows_ratio > eps) & (rows_ratio < 1 - eps)
    rows_n, rows_mean, rows_ratio = (
        jnp.where(possible, value, other) for value, other in ((rows_n, 1.0), (rows_mean, 0.5), (rows_ratio, 0.5))
    )
    variance = rows_ratio**2 * rows_mean * (1 - rows_mean)
    square = variance + rows_mean**2
    exact = rows_n[:, None] * jnp.stack([1 - 2 * rows_mean + square, 2 * (rows_mean - square), square], axis=1)
    residuals = (z[:, None, :] - exact) / scales[:, None, :]
    noise = [jnp.sum(problem.log_noise(j, residuals[j]), axis=1) for j in range(len(problem.laplace))]
    volume = 2 * jnp.log(rows_n) + jnp.log(2 * rows_ratio * rows_mean * (1 - rows_mean))  # of (sum, sum of squares)
    at_release = noise[0] - jnp.sum(jnp.log(scales[0]) + log_above) + volume + math.log(2)
    folded = jnp.logaddexp(_log_normal(rows_n - centre, wide), _log_normal(rows_n + centre, wide))
    low, open_width = left_open(rows_n)
    is_local = (rows_mean >= low) & (rows_mean <= low + open_width)
    folded = folded + jnp.log(1 - LOCAL + LOCAL * is_local / open_width)
    proposal = jnp.logaddexp(math.log(_ROWS_NEAR) + at_release, math.log(_ROWS_FAR) + folded)

    population, log_population = population_near(keys[3:6], rows_n, rows_mean, rows_ratio, problem.prior, count)
    mean, ratio = population
    clt = log_clt(rows_n, rows_mean, square, mean, ratio) + volume
    alone = (problem.groups - 2) * jnp.log1p(-jnp.minimum(rows_n / n, 1 - 1e-12))  # shares ~ Dirichlet(1, ..., 1)
    logs = sum(noise) + clt + alone + log_prior(mean, ratio, problem.prior) - proposal - log_population
    logs = logs + log_not_all_there(rows_n, mean)
    inside = possible & (mean > 0) & (mean < 1) & (ratio > 0) & (ratio < 1)
    logs = jnp.where(inside & jnp.isfinite(logs), logs, -jnp.inf)
    upper = jnp.arange(ends) % 2 == 1
    (end_mean, end_ratio), end_logs = all_at_an_end(keys[6:9], ends_n, upper, problem.prior)
    at = jnp.where(upper[:, None], jnp.array([0.0, 0.0, 1.0]), jnp.array([1.0, 0.0, 0.0])) * ends_n[:, None]
    residuals = (z[:, None, :] - at) / scales[:, None, :]
    end_logs += sum(jnp.sum(problem.log_noise(j, residuals[j]), axis=1) for j in range(len(problem.laplace)))
    end_logs += (problem.groups - 2) * jnp.log1p(-jnp.minimum(ends_n / n, 1 - 1e-12)) - math.log(_ROWS_END / 2)
    end_logs -= jnp.logaddexp(_log_normal(ends_n - centre, wide), _log_normal(ends_n + centre, wide))
    logs = jnp.concatenate([logs, jnp.where(ends_n <= n, end_logs, -jnp.inf)])
    inside = jnp.concatenate([inside, ends_n <= n])
    mean, ratio = jnp.concatenate([mean, end_mean]), jnp.concatenate([ratio, end_ratio])
    rows_n, rows_mean = jnp.concatenate([rows_n, ends_n]), jnp.concatenate([rows_mean, 1.0 * upper])
    variance = jnp.concatenate([variance, jnp.zeros(ends)])
    # A release that no particle explains leaves what is possible, equally weighted, instead of no number at all.
    logs = jnp.where(jnp.any(jnp.isfinite(logs)), logs, jnp.where(inside, 0.0, -jnp.inf))
    particles = {
        "mean": mean,
        "sd": ratio * jnp.sqrt(mean * (1 - mean)),
        "rows_mean": rows_mean,
        "rows_sd": jnp.sqrt(variance),
        "count": rows_n,
    }
    return particles, logs


def _variances(scales: Any, problem: GroupProblem) -> Any:
    return scales**2 * (2.0 if problem.laplace[0] else 1.0)


def noise_from(least: Any, uniform: Any, laplace: bool) -> tuple[Any, Any]:
    """Standard noise given that it is at least ``least``, from ``uniform`` numbers, and the log probability of that:
    no sum is negative, whatever was released.
    """
    if not laplace:
        log_above = jax.scipy.stats.norm.logsf(least)
        return -jax.scipy.special.ndtri(jnp.exp(jnp.log(uniform) + log_above)), log_above
    log_above = jnp.where(least > 0, -least - math.log(2), jnp.log1p(-jnp.exp(-jnp.abs(least)) / 2))
    log_tail = jnp.log(uniform) + log_above
    upper = -log_tail - math.log(2)
    lower = math.log(2) + jnp.log1p(-jnp.minimum(jnp.exp(log_tail), 1 - 1e-16))
    return jnp.where(upper > 0, upper, lower), log_above


def _log_normal(residual: Any, sd: Any) -> Any:
    return -((residual / sd) ** 2) / 2 - jnp.log(sd * math.sqrt(2 * math.pi))


def log_not_all_there(n: Any, mean: Any) -> Any:
    """The log probability that not all of n rows are at one bound."""
    at_low, at_high = (jnp.exp(n * jnp.log1p(-jnp.clip(share, 0.0, 1 - 1e-12))) for share in (mean, 1 - mean))
    return jnp.log1p(-_ALL_THERE * (at_low + at_high))


def all_at_an_end(
    keys: Any, n: Any, upper: Any, prior: tuple[float, float, float, float]
) -> tuple[tuple[Any, Any], Any]:
    """Mean and ratio of populations where all ``n`` rows are at a bound, and the log of target over proposal.

    Means are proposed where such rows are likely, or from the prior; ratios from the prior.
    """
    a, b, c, d = prior
    count = n.shape[0]
    uniform, side = jax.random.uniform(keys[0], (2, count))
    away = -jnp.expm1(jnp.log(uniform) / (n + 1))
    near = jnp.where(upper, 1 - away, away)
    mean = jnp.clip(jnp.where(side < 0.5, near, _beta(keys[1], a, b, count)), 1e-12, 1 - 1e-12)
    all_there = n * jnp.where(upper, jnp.log(mean), jnp.log1p(-mean))
    own = log_prior(mean, 0.5, prior) - log_prior(0.5, 0.5, prior) + _log_beta(0.5, a, b)
    log_ratio = own - jnp.logaddexp(own, jnp.log(n + 1) + all_there) + math.log(2)
    return (mean, _beta(keys[2], c, d, count)), math.log(_ALL_THERE) + all_there + log_ratio


def _log_beta(x: float, a: float, b: float) -> float:
    """The log density of a beta distribution."""
    constant = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return constant + (a - 1) * math.log(x) + (b - 1) * math.log1p(-x)


def log_prior(mean: Any, ratio: Any, prior: tuple[float, float, float, float]) -> Any:
    """Beta densities of both, up to a constant."""
    a, b, c, d = prior
    return (
        (a - 1) * jnp.log(mean)
        + (b - 1) * jnp.log1p(-mean)
        + (c - 1) * jnp.log(ratio)
        + (d - 1) * jnp.log1p(-ratio)
        - math.lgamma(a) - math.lgamma(b) + math.lgamma(a + b)
        - math.lgamma(c) - math.lgamma(d) + math.lgamma(c + d)
    )  # fmt: skip


def _row_moments(mean: Any, ratio: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Of u = (1 + c) / 2: E u, E u^2, Var u, Cov(u, u^2), Var u^2."""
    (m, s), ((a, b), (_, d)) = two_moments(2 * mean - 1, ratio)
    cross = a / 4 + b / 8  # u^2 = (1 + 2c + c^2) / 4
    return (1 + m) / 2, (1 + 2 * m + s) / 4, a / 4, cross, (4 * a + 4 * b + d) / 16


def log_clt(n: Any, rows_mean: Any, rows_square: Any, mean: Any, ratio: Any) -> Any:
    """The log density of the sums of u and u^2 over n rows at n times (``rows_mean``, ``rows_square``)."""
    held = jnp.maximum(n, 1.0)
    m, s, a, b, d = _row_moments(mean, ratio)
    first, second = rows_mean - m, rows_square - s
    rest = jnp.maximum(d - b * b / a, 1e-12 * d + 1e-300)
    form = held * (first**2 / a + (second - b / a * first) ** 2 / rest)
    return -form / 2 - (jnp.log(a) + jnp.log(rest)) / 2 + jnp.log(held) - 2 * jnp.log(n) - math.log(2 * math.pi)


def population_near(
    keys: Any, n: Any, rows_mean: Any, rows_ratio: Any, prior: tuple[float, float, float, float], count: int
) -> tuple[tuple[Any, Any], Any]:
    """Mean and ratio of the population, and the log density of that: from around the rows; where there are too few of
    them for that, from within a few times their odds, both or the mean alone; or from the prior.
    """
    a, b, c, d = prior
    held = jnp.maximum(n, 1.0)
    m, s, va, cov, vs = _row_moments(rows_mean, rows_ratio)
    slope, rest = cov / va, jnp.maximum(vs - cov * cov / va, 1e-12 * vs + 1e-300)
    sds = jnp.sqrt(jnp.stack([va, rest]) / held) * 1.1
    width = jnp.sqrt(_FREEDOM / jnp.sum(jax.random.normal(keys[0], (int(_FREEDOM), count)) ** 2, axis=0))
    e = width * jax.random.normal(keys[1], (2, count))
    near_mean = m + sds[0] * e[0]
    near_square = s + slope * sds[0] * e[0] + sds[1] * e[1]
    near_variance = near_square - near_mean**2
    largest = near_mean * (1 - near_mean)
    near_ratio = jnp.sqrt(jnp.maximum(near_variance, 0.0) / jnp.where(largest > 0, largest, 1.0))
    for_side, for_mean, for_ratio, for_odds = jax.random.split(keys[2], 4)
    side = jax.random.uniform(for_side, (count,))
    centre = logit(jnp.stack([rows_mean, rows_ratio]))
    odds = jax.nn.sigmoid(centre + _ODDS * jax.random.logistic(for_odds, (2, count)))
    mean = jnp.where(side < _NEAR, near_mean, _beta(for_mean, a, b, count))
    ratio = jnp.where(side < _NEAR, near_ratio, _beta(for_ratio, c, d, count))
    mean = jnp.where(side > 1 - 2 * _WITHIN, odds[0], mean)
    ratio = jnp.where(side > 1 - _WITHIN, odds[1], ratio)
    inside = (mean > 0) & (mean < 1) & (ratio > 0) & (ratio < 1)
    mean, ratio = jnp.where(inside, mean, 0.5), jnp.where(inside, ratio, 0.5)
    largest = mean * (1 - mean)
    away = (logit(jnp.stack([mean, ratio])) - centre) / _ODDS
    at_odds = jax.nn.log_sigmoid(away) + jax.nn.log_sigmoid(-away) - math.log(_ODDS)
    at_odds = at_odds - jnp.log(jnp.stack([largest, ratio * (1 - ratio)]))
    alone = (c - 1) * jnp.log(ratio) + (d - 1) * jnp.log1p(-ratio)
    alone = alone + math.lgamma(c + d) - math.lgamma(c) - math.lgamma(d)
    first = (mean - m) / sds[0]
    second = (ratio**2 * largest + mean**2 - s - slope * (mean - m)) / sds[1]
    at_rows = -(_FREEDOM + 2) / 2 * jnp.log1p((first**2 + second**2) / _FREEDOM) - math.log(2 * math.pi)
    at_rows = at_rows - jnp.log(sds[0] * sds[1]) + jnp.log(2 * ratio * largest)
    parts = [
        math.log(_NEAR) + at_rows,
        math.log(_WITHIN) + at_odds[0] + at_odds[1],
        math.log(_WITHIN) + at_odds[0] + alone,
        math.log(1 - _NEAR - 2 * _WITHIN) + log_prior(mean, ratio, prior),
    ]
    log_density = jax.nn.logsumexp(jnp.stack(parts), axis=0)
    return (jnp.where(inside, mean, -1.0), ratio), log_density


def _beta(key: Any, a: float, b: float, count: int) -> Any:
    """Beta numbers; uniform ones without the rejection that others need."""
    return jax.random.uniform(key, (count,)) if a == b == 1 else jax.random.beta(key, a, b, (count,))
