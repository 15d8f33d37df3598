"""The mean and the spread of rows and of their population from noisy sums of c and c^2: weighted particles.

A particle is (M, R) for the rows, their mean on [0, 1] and the ratio of their standard deviation to sqrt(M (1 - M)),
and (m, r) for the population. Its target is p(m) p(r) normal(sums; n mu(m, r), n C(m, r)) noise(z - sums), as in
`group_means`, with n known. Most particles of rows come from the noise around the release, the others from everywhere;
populations come from around the rows, or from the prior. So weights are nearly equal where there is much evidence, and
bounded where there is little. Sums that no rows could have have no particle.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from tacit.runtime.backend import argument
from tacit.runtime.chain import Arrays, Chain, SamplerSettings
from tacit.samplers.group_means import (
    LEAST,
    LOCAL,
    REACH,
    all_at_an_end,
    log_clt,
    log_not_all_there,
    log_prior,
    noise_from,
    population_near,
)
from tacit.samplers.group_pooling import resample

_FEWEST, _A_DRAW = 4096, 16
_NEAR, _FAR, _ENDS = 0.65, 0.25, 0.1
_END = 1e-9


@dataclass(frozen=True, eq=False)
class MeanProblem:
    """``n`` rows, and the noise of each release about their sums, (J, 2); ``prior`` as `BoundedPrior` has it."""

    n: Any
    scales: Any
    laplace: tuple[bool, ...]
    prior: tuple[float, float, float, float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", argument(self.n))
        object.__setattr__(self, "scales", argument(self.scales))


def mean_particles_chain(problem: MeanProblem, settings: SamplerSettings) -> Chain:
    """Draws of ``mean``, ``sd``, ``rows_mean`` and ``rows_sd``, all on [0, 1]."""
    everything = max(_FEWEST, _A_DRAW * settings.draws)
    near, ends = int(_NEAR * everything), int(_ENDS * everything)
    count = everything - ends

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        z, n = released.reshape(len(problem.laplace), 2), problem.n[0]
        keys = jax.random.split(key, 9)
        scales = problem.scales[0]
        side = jnp.where(
            z[0, 0] > 0, 1.0, -1.0
        )  # the bound that is nearer: sums lie on its inner side, squares below n
        least = jnp.stack([side * z[0, 0] - n, z[0, 1] - n]) / scales
        inward, log_inward = noise_from(least, jax.random.uniform(keys[0], (near, 2)), problem.laplace[0])
        sums = z[0] - scales * jnp.stack([side, 1.0]) * inward
        first, second = sums.T / n
        place = (1 + first) / 2
        variance = (second - first**2) / 4
        spread = variance / jnp.where(place * (1 - place) > 0, place * (1 - place), 1.0)
        anywhere = jax.random.uniform(keys[1], (3, count - near))
        middle, reach = (
            (1 + z[0, 0] / n) / 2,
            REACH * scales[0] * (1 if not problem.laplace[0] else math.sqrt(2)) / n / 2,
        )
        low = jnp.clip(middle - reach, 0.0, 1 - LEAST)
        open_width = jnp.clip(middle + reach, low + LEAST, 1.0) - low
        local = jnp.where(anywhere[2] < LOCAL, low + open_width * anywhere[0], anywhere[0])
        mean = jnp.concatenate([place, local])
        ratio = jnp.concatenate([jnp.sqrt(jnp.maximum(spread, 0.0)), anywhere[1]])
        possible = (mean > _END) & (mean < 1 - _END) & (ratio > _END) & (ratio < 1 - _END)
        mean, ratio = jnp.where(possible, mean, 0.5), jnp.where(possible, ratio, 0.5)
        variance = ratio**2 * mean * (1 - mean)
        exact = n * jnp.stack([2 * mean - 1, 4 * variance + (2 * mean - 1) ** 2], axis=1)
        residuals = (z[:, None, :] - exact) / problem.scales[:, None, :]
        noise = [
            jnp.sum(_log_noise(own, laplace), axis=1) for own, laplace in zip(residuals, problem.laplace, strict=True)
        ]
        volume = 2 * jnp.log(n) + jnp.log(2 * ratio * mean * (1 - mean))  # of the sums of u and u^2
        at_release = noise[0] - jnp.sum(jnp.log(scales) + log_inward) + volume + math.log(8)
        is_local = (mean >= low) & (mean <= low + open_width)
        far = jnp.log(1 - LOCAL + LOCAL * is_local / open_width)
        proposal = jnp.logaddexp(math.log(_NEAR) + at_release, math.log(_FAR) + far)
        sizes = jnp.full((count,), n)
        (m, r), log_population = population_near(keys[2:5], sizes, mean, ratio, problem.prior, count)
        inside = possible & (m > 0) & (m < 1) & (r > 0) & (r < 1)
        m, r = jnp.where(inside, m, 0.5), jnp.where(inside, r, 0.5)
        logs = sum(noise) + log_clt(sizes, mean, variance + mean**2, m, r) + volume
        logs = logs + log_prior(m, r, problem.prior) - proposal - log_population + log_not_all_there(sizes, m)
        logs = jnp.where(inside & jnp.isfinite(logs), logs, -jnp.inf)
        upper = jnp.arange(ends) % 2 == 1
        (end_m, end_r), end_logs = all_at_an_end(keys[6:9], jnp.full((ends,), n), upper, problem.prior)
        at = n * jnp.stack([jnp.where(upper, 1.0, -1.0), jnp.ones(ends)], axis=1)
        residuals = (z[:, None, :] - at) / problem.scales[:, None, :]
        scored = zip(residuals, problem.laplace, strict=True)
        end_logs += sum(jnp.sum(_log_noise(own, laplace), axis=1) for own, laplace in scored) - math.log(_ENDS / 2)
        logs, inside = jnp.concatenate([logs, end_logs]), jnp.concatenate([inside, jnp.ones(ends, bool)])
        m, r = jnp.concatenate([m, end_m]), jnp.concatenate([r, end_r])
        mean, variance = jnp.concatenate([mean, 1.0 * upper]), jnp.concatenate([variance, jnp.zeros(ends)])
        # A release that no particle explains leaves what is possible, equally weighted, instead of no number at all.
        logs = jnp.where(jnp.any(jnp.isfinite(logs)), logs, jnp.where(inside, 0.0, -jnp.inf))
        chosen = resample(keys[5], logs, settings.draws)
        found = {"mean": m, "sd": r * jnp.sqrt(m * (1 - m)), "rows_mean": mean, "rows_sd": jnp.sqrt(variance)}
        efficiency = 1 / (jnp.sum(jax.nn.softmax(logs) ** 2) * everything)
        return {k: v[chosen] for k, v in found.items()}, {"efficiency": jnp.full(settings.draws, efficiency)}

    return chain


def _log_noise(residual: Any, laplace: bool) -> Any:
    return -jnp.abs(residual) - math.log(2) if laplace else -(residual**2) / 2 - math.log(2 * math.pi) / 2
