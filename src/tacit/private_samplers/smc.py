"""Many particles cooled together from a wide law into a density with many modes: sequential Monte Carlo with HMC moves.

Particles start as independent draws of a wide normal law with potential W. On the rungs of a ladder, 0 < cold <= 1,
they follow the density exp(-cold U - (1 - cold) W): their weights change by the ratio of two rungs, particles are drawn
anew from their weights when too few of these count, and each takes one Hamiltonian trajectory (Del Moral, Doucet and
Jasra 2006). Bad modes are left while it is still warm, and what is left of them dies out by its weight. The ladder is
climbed as fast as the weights allow, at least as fast as `Cooling.rungs` asks, and what remains of the rungs, and
`Cooling.settling` more, are spent at cold = 1. While cooling, the length of a leap follows the acceptance rate and the
metric follows the mean square of the slope, which does not mind that units of a network can be swapped; while settling,
both are held, so that the moves leave exp(-U) unchanged.

The slope may be computed in float32. A leap moves momenta by a function of the position and positions by a function of
the momenta, which keeps volume and can be run backwards whatever the functions are; so a Metropolis step with the
energies in float64 leaves the density unchanged, and a coarse slope costs only acceptance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

_ACCEPTANCE, _GAIN = 0.8, 0.4
_MEMORY = 0.85  # of the metric, from rung to rung
_KEPT = 0.97  # the share of particles that a rung's change of weights leaves in effect
_FLOOR = 4  # the power of the slowest ladder


class Cooling(NamedTuple):
    """How long a run is: all are public constants."""

    particles: int
    rungs: int
    settling: int
    leaps: int

    @property
    def keys(self) -> int:
        """How many random keys a run takes."""
        return 2 + self.rungs + self.settling


class Cooled(NamedTuple):
    """``points`` (particles, size) and their log weights; ``chosen`` is one of them, drawn by weight.

    The rest is for whoever studies the sampler: acceptance by step, the rung by step, U by step and particle.
    """

    chosen: Any
    points: Any
    log_weights: Any
    acceptance: Any
    cold: Any
    values: Any


def cooled(
    potential: Callable[[Any], Any],
    slope: Callable[[Any], Any],
    wide: Any,
    keys: Any,
    cooling: Cooling,
    *,
    at_once: int | None = None,
) -> Cooled:
    """One run. ``potential`` is U (size,) -> a number, ``slope`` its gradient, ``wide`` (2, size) centre and sd of W.

    ``at_once`` is how many particles are evaluated together; all, unless said.
    """
    centre, sd = wide
    count, size = cooling.particles, len(centre)
    width = min(at_once or count, count)

    def every(function: Callable[[Any], Any], points: Any) -> Any:
        return jax.vmap(function)(points) if width == count else jax.lax.map(function, points, batch_size=width)

    def energies(points: Any) -> Any:
        found = every(potential, points)
        return jnp.where(jnp.isfinite(found), found, jnp.inf)

    def around(points: Any) -> Any:
        return jnp.square((points - centre) / sd).sum(axis=1) / 2

    def move(key: Any, points: Any, values: Any, cold: Any, leap: Any, metric: Any) -> tuple[Any, Any, Any, Any]:
        for_momentum, for_length, for_choice = jax.random.split(key, 3)
        start = jnp.sqrt(metric) * jax.random.normal(for_momentum, (count, size), points.dtype)
        length = leap * jax.random.uniform(for_length, (count, 1), points.dtype, 0.5, 1.0)

        def forward(_: int, state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
            q, p, squares = state
            q = q + length / 2 * p / metric
            pull = cold * every(slope, q) + (1 - cold) * (q - centre) / sd**2
            p = p - length * pull
            return q + length / 2 * p / metric, p, squares + jnp.square(pull)

        there, speed, squares = jax.lax.fori_loop(0, cooling.leaps, forward, (points, start, jnp.zeros_like(points)))
        then = energies(there)
        before = cold * values + (1 - cold) * around(points) + (jnp.square(start) / metric).sum(axis=1) / 2
        after = cold * then + (1 - cold) * around(there) + (jnp.square(speed) / metric).sum(axis=1) / 2
        chance = jnp.exp(jnp.minimum(before - after, 0.0))
        chance = jnp.where(jnp.isfinite(after), chance, 0.0)
        taken = jax.random.uniform(for_choice, (count,), points.dtype) < chance
        seen = jnp.where(taken[:, None], squares / cooling.leaps, 0.0).sum(axis=0) / jnp.maximum(taken.sum(), 1)
        seen = jnp.where(taken.any() & jnp.isfinite(seen), seen, metric)
        return jnp.where(taken[:, None], there, points), jnp.where(taken, then, values), chance.mean(), seen

    def step(state: Any, given: tuple[Any, Any, Any]) -> tuple[Any, Any]:
        points, values, weights, cold, leap, metric = state
        key, floor, cools = given
        for_draws, for_move = jax.random.split(key)
        gap = values - around(points)
        colder = jnp.maximum(_next_rung(cold, gap, weights), floor)
        weights = jax.nn.log_softmax(weights - (colder - cold) * gap)
        chosen, few = _drawn_anew(for_draws, weights)
        points, values = jnp.where(few, points[chosen], points), jnp.where(few, values[chosen], values)
        weights = jnp.where(few, -jnp.log(1.0 * count), weights)
        points, values, acceptance, seen = move(for_move, points, values, colder, leap, metric)
        adapted = jnp.clip(leap * jnp.exp(_GAIN * (acceptance - _ACCEPTANCE)), 1e-4, 1.0)
        remembered = jnp.maximum(_MEMORY * metric + (1 - _MEMORY) * seen, 1e-3 / sd**2)
        leap, metric = jnp.where(cools, adapted, leap), jnp.where(cools, remembered, metric)
        return (points, values, weights, colder, leap, metric), (acceptance, colder, values)

    points = centre + sd * jax.random.normal(keys[0], (count, size), centre.dtype)
    even = jnp.full(count, -jnp.log(1.0 * count))
    rungs = jnp.arange(1, cooling.rungs + cooling.settling + 1)
    floors = jnp.minimum(rungs / cooling.rungs, 1.0) ** _FLOOR
    first = points, energies(points), even, jnp.zeros(()), jnp.asarray(0.2), 1 / sd**2
    last, (acceptance, cold, values) = jax.lax.scan(step, first, (keys[1:-1], floors, rungs <= cooling.rungs))
    chosen = jax.random.categorical(keys[-1], last[2])
    return Cooled(last[0][chosen], last[0], last[2], acceptance, cold, values)


def _next_rung(cold: Any, gap: Any, weights: Any) -> Any:
    """The coldest rung whose change of weights keeps `_KEPT` of the particles in effect."""

    def effective(change: Any) -> Any:
        logs = -change * gap
        total = jax.scipy.special.logsumexp(weights + logs)
        return jnp.exp(2 * total - jax.scipy.special.logsumexp(weights + 2 * logs))

    def halve(_: int, ends: tuple[Any, Any]) -> tuple[Any, Any]:
        low, high = ends
        middle = (low + high) / 2
        keeps = effective(middle) >= _KEPT
        return jnp.where(keeps, middle, low), jnp.where(keeps, high, middle)

    low, _ = jax.lax.fori_loop(0, 40, halve, (jnp.zeros(()), 1 - cold))
    return jnp.where(effective(1 - cold) >= _KEPT, 1.0, cold + low)


def _drawn_anew(key: Any, weights: Any) -> tuple[Any, Any]:
    """Which particles a systematic draw by weight takes, and whether so few count that it should be made."""
    count = len(weights)
    shares = jnp.cumsum(jnp.exp(weights))
    places = (jnp.arange(count) + jax.random.uniform(key, (), weights.dtype)) / count * shares[-1]
    few = jnp.exp(-jax.scipy.special.logsumexp(2 * weights)) < count / 2
    return jnp.clip(jnp.searchsorted(shares, places), 0, count - 1), few
