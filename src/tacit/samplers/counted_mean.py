"""The mean and the spread of rows and of their population where the number of rows has noise as well.

As `mean_particles`, with an n of its own in every particle, flat beforehand: most are drawn, with the rows, from the
noise around the release, the others from further around it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from tacit.runtime.backend import argument
from tacit.runtime.chain import Arrays, Chain, SamplerSettings
from tacit.samplers.group_means import log_clt, log_prior, population_near
from tacit.samplers.group_pooling import resample

_FEWEST, _A_DRAW = 4096, 8
_NEAR = 0.7
_END = 1e-9


@dataclass(frozen=True, eq=False)
class CountedMean:
    """The noise of each release about the sums of rows and their number, (J, 3); ``prior`` as `BoundedPrior` has it."""

    scales: Any
    laplace: tuple[bool, ...]
    prior: tuple[float, float, float, float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "scales", argument(self.scales))


def counted_mean_chain(problem: CountedMean, settings: SamplerSettings) -> Chain:
    """Draws of ``mean``, ``sd``, ``rows_mean`` and ``rows_sd``, all on [0, 1]."""
    count = max(_FEWEST, _A_DRAW * settings.draws)
    near = int(_NEAR * count)

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        z = released.reshape(len(problem.laplace), -1)
        keys = jax.random.split(key, 7)
        draw = jax.random.laplace if problem.laplace[0] else jax.random.normal
        sums = z[0] + problem.scales[0] * draw(keys[0], (near, z.shape[1]))
        n, far = _sizes(keys[6], sums[:, 2], z[0, 2], problem, count)
        known = n > 0
        n = jnp.where(known, n, 1.0)
        first, second = sums[:, :2].T / n[:near]
        place = (1 + first) / 2
        variance = (second - first**2) / 4
        spread = variance / jnp.where(place * (1 - place) > 0, place * (1 - place), 1.0)
        anywhere = jax.random.uniform(keys[1], (2, count - near))
        mean = jnp.concatenate([place, anywhere[0]])
        ratio = jnp.concatenate([jnp.sqrt(jnp.maximum(spread, 0.0)), anywhere[1]])
        possible = known & (mean > _END) & (mean < 1 - _END) & (ratio > _END) & (ratio < 1 - _END)
        mean, ratio = jnp.where(possible, mean, 0.5), jnp.where(possible, ratio, 0.5)
        variance = ratio**2 * mean * (1 - mean)
        exact = n[:, None] * jnp.stack([2 * mean - 1, 4 * variance + (2 * mean - 1) ** 2, jnp.ones(count)], axis=1)
        residuals = (z[:, None, :] - exact) / problem.scales[:, None, :]
        noise = [
            jnp.sum(_log_noise(own, laplace), axis=1) for own, laplace in zip(residuals, problem.laplace, strict=True)
        ]
        volume = 2 * jnp.log(n) + jnp.log(2 * ratio * mean * (1 - mean))  # of the sums of u and u^2
        at_release = noise[0] - jnp.sum(jnp.log(problem.scales[0])) + volume + math.log(8)
        proposal = jnp.logaddexp(math.log(_NEAR) + at_release, math.log(1 - _NEAR) + far)
        (m, r), log_population = population_near(keys[2:5], n, mean, ratio, problem.prior, count)
        inside = possible & (m > 0) & (m < 1) & (r > 0) & (r < 1)
        m, r = jnp.where(inside, m, 0.5), jnp.where(inside, r, 0.5)
        logs = sum(noise) + log_clt(n, mean, variance + mean**2, m, r) + volume
        logs = logs + log_prior(m, r, problem.prior) - proposal - log_population
        logs = jnp.where(inside & jnp.isfinite(logs), logs, -jnp.inf)
        # A release that no particle explains leaves what is possible, equally weighted, instead of no number at all.
        logs = jnp.where(jnp.any(jnp.isfinite(logs)), logs, jnp.where(inside, 0.0, -jnp.inf))
        chosen = resample(keys[5], logs, settings.draws)
        rows = {"rows_mean": mean, "rows_sd": jnp.sqrt(variance), "n": n}
        found = {"mean": m, "sd": r * jnp.sqrt(m * (1 - m)), **rows}
        efficiency = 1 / (jnp.sum(jax.nn.softmax(logs) ** 2) * count)
        return {k: v[chosen] for k, v in found.items()}, {"efficiency": jnp.full(settings.draws, efficiency)}

    return chain


def _sizes(key: Any, near: Any, released: Any, problem: CountedMean, count: int) -> tuple[Any, Any]:
    """n of every particle: ``near`` the release, as they are, and for the others from further around it, folded into
    what is possible; and the log density of the latter.
    """
    wide = 3 * problem.scales[0, 2] * math.sqrt(1 + problem.laplace[0]) + 1.0
    centre = jnp.maximum(released, 0.0)
    far = jnp.abs(centre + wide * jax.random.normal(key, (count - near.shape[0],)))
    n = jnp.concatenate([near, far])
    sides = [-(((n - sign * centre) / wide) ** 2) / 2 for sign in (1, -1)]
    return n, jnp.logaddexp(*sides) - jnp.log(wide * math.sqrt(2 * math.pi))


def _log_noise(residual: Any, laplace: bool) -> Any:
    return -jnp.abs(residual) - math.log(2) if laplace else -(residual**2) / 2 - math.log(2 * math.pi) / 2
