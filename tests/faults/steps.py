"""Faults of noisy steps: what a row adds, which rows are taken, how much noise there is, what it is said to cost."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import tacit
from faults.broken import Fault
from tacit.noise.noisy_steps import WHOLE, NoisySteps
from tacit.noise.rounded_gaussian import RoundedGaussian
from tacit.privacy.subsampled_gaussian import SubsampledGaussian

SCHEMA = tacit.Schema(y=["no", "yes"], a=(-1, 1), b=(-1, 1))


def _plan(steps=2, delta=1e-5):
    return tacit.Plan(
        tacit.Network("y ~ a + b", hidden=2),
        SCHEMA,
        tacit.ApproxDP(1.0, delta),
        tacit.DPSGD(n=12, batch=6, steps=steps, clip=0.2),
    )


def _with_vectors(monkeypatch, make):
    """Programs are compiled anew, around another way to make whole vectors."""
    from tacit.private_samplers import row_sums

    monkeypatch.setattr(row_sums, "whole_vectors", make)
    monkeypatch.setattr(row_sums, "_program", lru_cache(row_sums._program.__wrapped__))
    return _plan()


def _unclipped(monkeypatch):
    """Gradients are rounded and not clipped."""
    import jax.numpy as jnp

    return _with_vectors(monkeypatch, lambda v, bound, radius: jnp.trunc(v * radius / bound).astype(jnp.int64))


def _nearest(monkeypatch):
    """Clipped, but then rounded to the nearest whole numbers, and not checked again."""
    import jax.numpy as jnp

    def make(v, bound, radius):
        length = jnp.sqrt(jnp.sum(v * v, axis=1, keepdims=True))
        return jnp.rint(v * jnp.minimum(radius / bound, radius / length)).astype(jnp.int64)

    return _with_vectors(monkeypatch, make)


def _centred(monkeypatch):
    """The mean of the batch is taken off every gradient, so that each depends on all."""
    import jax.numpy as jnp

    from tacit.private_samplers.row_sums import whole_vectors

    return _with_vectors(monkeypatch, lambda v, bound, radius: whole_vectors(v - jnp.mean(v, axis=0), bound, radius))


def _taken_more_often(monkeypatch):
    """Rows are taken with a larger probability than the price is for."""
    real = NoisySteps.taken

    def taken(self, n, entropy):
        return real(replace(self, chance=min(WHOLE, 3 * self.chance // 2)), n, entropy)

    monkeypatch.setattr(NoisySteps, "taken", taken)
    return _plan()


def _half_noise(monkeypatch):
    """Half of the noise that was priced."""

    def noise(self, count, entries, entropy):
        return RoundedGaussian((self.scale // 2,) * entries).sample(count, entropy)

    monkeypatch.setattr(NoisySteps, "noise", noise)
    return _plan()


def _one_sided(monkeypatch):
    """The price of leaving a row out, where a row is replaced: half of the distance."""

    def event(self):
        return SubsampledGaussian(2 * self.multiplier, self.rate, self.steps)

    monkeypatch.setattr(NoisySteps, "event", event)
    return _plan(steps=3, delta=1.001e-5)  # numbers of its own: calibrations are kept


FAULTS = (
    Fault("steps-no-clip", "gradients are not clipped", _unclipped, ("sensitivity", "exact curve"), runs=0),
    Fault("steps-nearest", "whole vectors are rounded to nearest", _nearest, ("sensitivity",), runs=0),
    Fault("steps-centred", "a gradient depends on the batch", _centred, ("sensitivity",), runs=0),
    Fault("steps-rate", "rows are taken more often than priced", _taken_more_often, ("outcomes",), runs=150),
    Fault("steps-half-noise", "half of the noise that is priced", _half_noise, ("outcomes", "attack"), runs=150),
    Fault("steps-add-one", "the price of adding a row", _one_sided, ("exact curve",), runs=0),
)
