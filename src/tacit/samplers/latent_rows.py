"""A number of rows that is known through noise alone, as an unknown of a sampler: flat above some least number.

A coordinate t moves x = around + sd t, and with s = sd / 2

    n = least + s log(1 + exp((x - least) / s)),    dn/dx = 1 / (1 + exp(-(x - least) / s)).

A few standard deviations above the least number n is x. There is no wall at the least number for a trajectory to
run into, and the density with respect to t has the derivative beside it, so that no choice of s changes what is drawn.

Laplace noise has a kink, at which a leapfrog step errs, so that all steps become shorter. There x = around + q(t), q(t)
the place that the noise is below with the probability with which a standard normal number is below t: given its release
alone t is standard normal, and its density has no kink.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import log_ndtr


def rows_at(t: Any, around: Any, sd: Any, least: float) -> tuple[Any, Any]:
    """n at t, and the log of what a unit of t has of n, up to a constant; element by element."""
    steps = (around + sd * t - least) / (sd / 2)
    return least + sd / 2 * jax.nn.softplus(steps), jax.nn.log_sigmoid(steps)


def laplace_rows_at(t: Any, around: Any, scale: Any, least: float) -> tuple[Any, Any]:
    """The same where the noise of n is Laplace noise of that ``scale``, which then has no kink."""
    # Each side's tail in its own half, with its whole derivative also at 0.
    below, above = (-math.log(2) - log_ndtr(half) for half in (jnp.where(t < 0, t, 0.0), jnp.where(t < 0, 0.0, -t)))
    half = scale / math.sqrt(2)
    steps = (around + scale * jnp.where(t < 0, -below, above) - least) / half
    return least + half * jax.nn.softplus(steps), jax.nn.log_sigmoid(steps) + below + above - t**2 / 2


def rows_around(released: Any, sd: Any, least: float) -> Any:
    """Where n is looked for first: its release, or what its noise is about where that is less."""
    return jnp.maximum(released, least + sd)
