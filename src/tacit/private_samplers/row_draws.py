"""Draws from a density with one term a row, at the boundary: by rejection, by Langevin steps, or by HMC.

All random numbers come from the entropy source that the boundary hands in. What is computed on the way (modes, numbers
of proposals, acceptance) stays here.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tacit.private_samplers.entropy_arrays import normals, uniforms
from tacit.private_samplers.langevin import langevin, schedule
from tacit.private_samplers.mode import minimum
from tacit.private_samplers.rejection import Envelope, accepted, envelope
from tacit.private_samplers.shell_envelope import ShellEnvelope, shell_envelope
from tacit.private_samplers.tempered_hmc import last_points, random_numbers_needed
from tacit.runtime.backend import float64

_MOST_AT_ONCE = 2**24  # proposals times rows
_BLOCK = 4096


def draw_from_rows(loss: Any, numbers: Mapping[str, float], x: Any, y: Any, source: Any) -> list[list[float] | None]:
    """``loss.settings.draws`` draws from exp(-loss.potential(theta, x, y, numbers)); None for one that failed."""
    with float64(), np.errstate(all="ignore"):
        data = jnp.asarray(x, jnp.float64), jnp.asarray(y, jnp.float64)
        given = {name: jnp.asarray(value, jnp.float64) for name, value in numbers.items()}
        mode, gradient, hessian = _programs(loss)["mode"](given, *data)
        match loss.sampler:
            case "rejection":
                points = _by_rejection(loss, numbers, given, data, mode, gradient, hessian, source)
            case "langevin":
                points = _by_langevin(loss, numbers, given, data, mode, source)
            case _:
                points = _by_hmc(loss, given, data, mode, hessian, source)
    return [list(map(float, p)) if np.all(np.isfinite(p)) else None for p in points]


@lru_cache(maxsize=32)
def _programs(loss: Any) -> dict[str, Any]:
    """Compiled once for each loss; the calibrated numbers and the rows are arguments."""
    size = len(loss.parameters)

    def potential(given: Any, x: Any, y: Any, theta: Any) -> Any:
        return loss.potential(theta, x, y, given)

    def mode(given: Any, x: Any, y: Any) -> Any:
        return minimum(
            lambda theta: loss.potential(theta, x, y, given),
            lambda theta: loss.hessian(theta, x, y, given),
            jnp.asarray(loss.start, jnp.float64) if loss.start is not None else jnp.zeros(size),
            given["precision"],
        )

    def many(given: Any, x: Any, y: Any, thetas: Any) -> Any:
        return jax.vmap(lambda theta: loss.potential(theta, x, y, given))(thetas)

    def hmc(given: Any, x: Any, y: Any, mode: Any, hessian: Any, z: Any, u: Any) -> Any:
        return last_points(lambda theta: loss.potential(theta, x, y, given), mode, hessian, z, u)

    return {
        "mode": jax.jit(mode),
        "many": jax.jit(many),
        "hmc": jax.jit(hmc),
        "potential": potential,
    }


def _by_rejection(
    loss: Any, numbers: Any, given: Any, data: Any, mode: Any, gradient: Any, hessian: Any, source: Any
) -> list[Any]:
    many = _programs(loss)["many"]
    strong, size = float(numbers["precision"]), len(mode)
    rows = len(data[1])
    curvature = np.asarray(hessian) - strong * np.eye(size)
    centre, pull = np.asarray(mode), np.asarray(gradient)
    found: Envelope | ShellEnvelope = envelope(centre, pull, curvature, strong, loss.third_to_second)
    try:
        minorant = loss.minorant(centre, np.asarray(data[0]), np.asarray(hessian), numbers)
    except np.linalg.LinAlgError:  # a draw must not fail on account of rows: there is the other envelope
        minorant = None
    shells = None if minorant is None else shell_envelope(centre, pull, np.asarray(hessian), minorant)
    if shells is not None and shells.log_mass < found.log_mass:
        found = shells
    block = max(16, min(_BLOCK, _MOST_AT_ONCE // rows))
    at_mode = float(many(given, *data, mode[None])[0])

    def log_density(thetas: Any) -> Any:
        return at_mode - np.asarray(many(given, *data, thetas))

    return accepted(found, log_density, block, source, loss.settings.draws)


def _by_langevin(loss: Any, numbers: Any, given: Any, data: Any, mode: Any, source: Any) -> list[Any]:
    strong, size = float(numbers["precision"]), len(mode)
    smooth = strong + float(numbers["weight"]) * len(data[1]) * loss.curvature(numbers)
    step, steps = schedule(size, strong, smooth, loss.gamma())
    potential = _programs(loss)["potential"]
    gradient = jax.grad(lambda theta, given, x, y: potential(given, x, y, theta))
    ends = langevin(gradient, np.asarray(mode), smooth, step, steps, loss.settings.draws, source, (given, *data))
    return list(ends)


def _by_hmc(loss: Any, given: Any, data: Any, mode: Any, hessian: Any, source: Any) -> list[Any]:
    chains, size = loss.settings.draws, len(mode)
    z_count, u_count = random_numbers_needed(size)
    z, u = normals((chains, z_count), source), uniforms((chains, u_count), source)
    return list(np.asarray(_programs(loss)["hmc"](given, *data, mode, hessian, z, u)))
