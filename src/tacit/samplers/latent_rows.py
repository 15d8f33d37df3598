"""A number of rows that is known through noise alone, as an unknown of a sampler: flat above some least number.

A coordinate t moves x = around + sd t, and with s = sd / 2

    n = least + s log(1 + exp((x - least) / s)),    dn/dx = 1 / (1 + exp(-(x - least) / s)).

A few standard deviations above the least number n is x. There is no wall at the least number for a trajectory to
run into, and the density with respect to t has the derivative beside it, so that no choice of s changes what is drawn.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp


def rows_at(t: Any, around: Any, sd: Any, least: float) -> tuple[Any, Any]:
    """n at t, and the log of what a unit of t has of n, up to a constant; element by element."""
    steps = (around + sd * t - least) / (sd / 2)
    return least + sd / 2 * jax.nn.softplus(steps), jax.nn.log_sigmoid(steps)


def rows_around(released: Any, sd: Any, least: float) -> Any:
    """Where n is looked for first: its release, or what its noise is about where that is less."""
    return jnp.maximum(released, least + sd)
