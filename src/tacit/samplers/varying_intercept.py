"""A varying intercept from noisy sums by group: NUTS, with everything that is normal moved out of its way.

Row i of group g has y = alpha + u_g + e, u_g ~ N(0, tau^2), e ~ N(0, sigma^2). Latent are the sizes n_g, the sums s_g
of y in each group and the sum of squares r around the groups' own means. Given the parameters they are independent:

    s_g ~ N(n_g alpha, n_g^2 tau^2 + n_g sigma^2)        r ~ sigma^2 chi^2 with about sum (n_g - 1) degrees of freedom

with u_g integrated out. An empty group has no mean to take off, so the degrees are sum n_g^2 / (n_g + 1). Released are
(n_g - s_g) / 2, (n_g + s_g) / 2 and r + sum s_g^2 / n_g, each with noise, whose exact density is used: Laplace noise is
normal with an exponential variance, which is one more unknown. So a group whose size is no more than noise is what it
is.

Prior: sizes are shares of n rows, uniform on the simplex, each with its own density (1 - n_g / n)^(G - 2); that they
add up to n is left out. Where n is not public it is flat, so that sizes have the density Gamma(n + 1) / Gamma(n + G)
at their sum n, one over the number of ways to divide n rows.

No funnels. s_g is normal given the rest, so its unknown is a standard normal coordinate around the mean that it has
given
the parameters and what was released, in units of the sd that it has then: where tau is 0 it holds still, and where rows
are many it does not follow tau. sigma begins with what the sum of squares leaves, so that it does not hold on to all
groups at once; r is standard normal around where sigma and the release have it. tau is the size of a real number, which
passes through 0, and u_g is drawn afterwards, exactly. Sizes are positive by softplus, in units of their noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln, log_ndtr

from tacit.numerics.gamma_ratio import log_gamma_ratio
from tacit.runtime.backend import argument
from tacit.runtime.chain import Arrays, Chain, SamplerSettings
from tacit.samplers.hmc_kernel import explore
from tacit.samplers.release_noise import Noises


@dataclass(frozen=True, eq=False)
class GroupSums:
    """What is known beside a release: ``n`` rows, or None, in ``groups``; the noise of each release."""

    n: float | None
    groups: int
    noises: Noises


@dataclass(frozen=True)
class VaryingScales:
    """The prior: the sd of the intercept, the scales of the half-normal spread and sigma."""

    level: float
    spread: float
    sigma: float


def varying_chain(problem: GroupSums, prior: VaryingScales, settings: SamplerSettings) -> Chain:
    """Draws of ``alpha``, ``sigma``, ``spread``, and by group of ``effect`` and ``count``."""
    noises, n = problem.noises.as_arguments(), argument([problem.n or 0.0])

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        z = released.reshape(noises.scales.shape)
        posterior = _Posterior(problem.groups, prior, noises, z, n[0] if problem.n is not None else None)
        for_start, for_chain, for_effects = jax.random.split(key, 3)
        keys = jax.random.split(for_start, len(posterior.shapes))
        start = {
            name: 0.3 * jax.random.normal(one, shape)
            for one, (name, shape) in zip(keys, posterior.shapes.items(), strict=True)
        }

        def log_density(t: Any) -> Any:
            found = posterior.evaluate(t)[0]
            return jnp.where(jnp.isfinite(found), found, -jnp.inf)

        positions, info = explore(for_chain, log_density, start, settings, target=0.85)
        normal = jax.random.normal(for_effects, (settings.draws, problem.groups))
        return jax.vmap(posterior.draw)(positions, normal), info

    return chain


class _Posterior:
    """The density of the coordinates, given one release or several of the same rows."""

    def __init__(self, groups: int, prior: VaryingScales, noises: Noises, z: Any, n: Any) -> None:
        self.groups, self.prior, self.scales, self.z, self.n = groups, prior, noises.scales, z, n
        self.laplace = np.array(noises.laplace)[:, None]
        self.variances = (1 + jnp.asarray(self.laplace)) * noises.scales**2
        self._guess()

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The coordinates by name."""
        found: dict[str, tuple[int, ...]] = {"size": (self.groups,), "sum": (self.groups,)}
        found |= dict.fromkeys(("alpha", "spread", "sigma", "squares"), ())
        return {**found, "noise": self.z.shape} if self.laplace.any() else found

    def _seen(self, variances: Any) -> tuple[Any, Any, Any, Any]:
        """The released parts of each group (groups, 2), the sum of squares, and the variances of the noise of both."""
        precision = jnp.sum(1 / variances, axis=0)
        best, wide = jnp.sum(self.z / variances, axis=0) / precision, 1 / precision
        return best[:-1].reshape(-1, 2), wide[:-1].reshape(-1, 2), best[-1], wide[-1]

    def _guess(self) -> None:
        """About where everything is, and on which scale: what coordinates begin with and nothing else depends on."""
        parts, parts_v, squares, squares_v = self._seen(self.variances)
        size = jnp.sum(parts, axis=1)
        rows = jnp.maximum(jnp.sum(size) if self.n is None else self.n, 2.0 + self.groups)
        self.size_sd = jnp.minimum(jnp.sqrt(jnp.sum(parts_v, axis=1)), rows / self.groups)
        n = jnp.clip(size, self.size_sd, 0.9 * rows)
        self.size_0 = n / self.size_sd + jnp.log(-jnp.expm1(-n / self.size_sd))  # softplus of it is n
        sums, sums_v = _sums(parts, parts_v, n)
        mean, noise = jnp.clip(sums / n, -1.0, 1.0), sums_v / n**2
        weight = 1 / (noise + 0.01)
        self.level_0 = jnp.sum(weight * mean) / jnp.sum(weight)
        extra = jnp.sum(weight * ((mean - self.level_0) ** 2 - noise)) / jnp.sum(weight)
        self.spread_0 = jnp.clip(jnp.sqrt(jnp.maximum(extra, 0.1 * jnp.median(noise))), 0.01, 0.6)
        left = jnp.clip(squares - jnp.sum(sums**2 / n), 0.003 * rows, rows)
        self.sigma_0 = jnp.sqrt(left / rows)
        self.squares_sd = jnp.sqrt(jnp.minimum(jnp.sqrt(squares_v), 0.1 * rows) ** 2 + 2 * left**2 / rows)
        wide = jnp.sqrt((self.spread_0**2 + jnp.mean(noise)) / self.groups + self.sigma_0**2 / rows)
        self.level_sd = jnp.minimum(wide, 0.5 * self.prior.level)

    def evaluate(self, t: Arrays) -> tuple[Any, Arrays]:
        """The log density, and everything that it is made of."""
        prior, variances, value = self.prior, self.variances, 0.0
        if self.laplace.any():
            variances = jnp.where(self.laplace, -2 * log_ndtr(-t["noise"]) * self.scales**2, variances)
            value = -jnp.sum(t["noise"] ** 2) / 2
        parts, parts_v, squares, squares_v = self._seen(variances)
        alpha = self.level_0 + self.level_sd * t["alpha"]
        spread = self.spread_0 * (1 + 0.3 * t["spread"])
        value -= (spread / prior.spread) ** 2 / 2 + (alpha / prior.level) ** 2 / 2
        n = self.size_sd * jax.nn.softplus(self.size_0 + t["size"])
        value += jnp.sum(jax.nn.log_sigmoid(self.size_0 + t["size"]))
        if self.n is not None:
            value += (self.groups - 2) * jnp.sum(jnp.log1p(-jnp.minimum(n / self.n, 1 - 1e-9)))
            value -= 1e6 * jnp.sum(jnp.maximum(n / self.n - 1, 0.0))
        else:
            value -= log_gamma_ratio(jnp.sum(n), float(self.groups))
        freedom = jnp.maximum(jnp.sum(n * n / (n + 1)), 0.5)
        seen, noise = _sums(parts, parts_v, n)

        def sums_given(sigma: Any) -> tuple[Any, Any]:
            """The groups' sums and their own variance before the release."""
            own = n**2 * spread**2 + n * sigma**2
            gain = own / (own + noise)
            return n * alpha + gain * (seen - n * alpha) + jnp.sqrt(noise * gain) * t["sum"], own

        left = squares - jnp.sum(sums_given(self.sigma_0)[0] ** 2 / n)
        shifted = t["sigma"] + left / self.squares_sd
        sigma = jnp.sqrt(self.squares_sd * jax.nn.softplus(shifted) / freedom)
        value += jax.nn.log_sigmoid(shifted) - jnp.log(sigma * freedom) - (sigma / prior.sigma) ** 2 / 2
        sums, own = sums_given(sigma)
        value += jnp.sum(jnp.log(noise / (own + noise)) - (sums - n * alpha) ** 2 / own) / 2
        between, usual = jnp.sum(sums**2 / n), sigma**2 * freedom
        precision = freedom / 2 + usual**2 / squares_v
        log_ratio = usual * (squares - between - usual) / squares_v / precision + t["squares"] / jnp.sqrt(precision)
        value += freedom / 2 * (jnp.log(freedom / 2) + log_ratio - jnp.exp(log_ratio)) - gammaln(freedom / 2)
        value -= jnp.log(precision) / 2
        exact = jnp.stack([n - sums, n + sums], axis=-1).reshape(-1) / 2
        exact = jnp.append(exact, usual * jnp.exp(log_ratio) + between)
        value -= jnp.sum((self.z - exact) ** 2 / variances + jnp.log(variances)) / 2
        return value, {"alpha": alpha, "sigma": sigma, "spread": jnp.abs(spread), "n": n, "left": sums - n * alpha}

    def draw(self, t: Arrays, normal: Any) -> Arrays:
        """A draw by name; effects are drawn given the exact sums, from standard ``normal`` numbers."""
        found = self.evaluate(t)[1]
        spread, variance, n = found["spread"], found["sigma"] ** 2, found["n"]
        sharper = 1 + n * spread**2 / variance
        effect = spread * (spread * found["left"] / variance / sharper + normal / jnp.sqrt(sharper))
        names = ("alpha", "sigma", "spread")
        return {**{name: found[name] for name in names}, "effect": effect, "count": n}


def _sums(parts: Any, variances: Any, n: Any) -> tuple[Any, Any]:
    """What both parts of a group say of its sum, given its size: n - 2 low and 2 high - n, by their precisions."""
    low, high = variances[:, 0], variances[:, 1]
    together = 1 / low + 1 / high
    return ((n - 2 * parts[:, 0]) / low + (2 * parts[:, 1] - n) / high) / together, 4 / together
