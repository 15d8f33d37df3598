"""Faults of private chains: noise that is too small or used again, and a price that forgets half of the distance."""

from __future__ import annotations

import tacit
from faults.broken import Fault
from tacit.noise.noisy_steps import NoisySteps
from tacit.noise.rounded_gaussian import RoundedGaussian
from tacit.privacy.subsampled_gaussian import SubsampledGaussian

SCHEMA = tacit.Schema(y=["no", "yes"], x=(-1, 1))


def _plan(chain, epsilon=0.1, delta=0.5, steps=2, **said):
    """A large delta: what few runs see best is the total variation."""
    mechanism = tacit.PrivateChain(chain, n=3, steps=steps, **said)
    return tacit.Plan(tacit.LogisticRegression("y ~ x"), SCHEMA, tacit.ApproxDP(epsilon, delta), mechanism)


def _half_noise(monkeypatch):
    """The chain draws half of the noise that it says, and prices."""

    def noise(self, count, entries, entropy):
        return RoundedGaussian((self.scale // 2,) * entries).sample(count, entropy)

    monkeypatch.setattr(NoisySteps, "noise", noise)
    return _plan("penalty")


def _one_sided(monkeypatch):
    """The sensitivity of a sum without the 2: as if a row were added, and not replaced."""

    def event(self):
        return SubsampledGaussian(2 * self.multiplier, self.rate, self.steps)

    monkeypatch.setattr(NoisySteps, "event", event)
    return _plan("sgld", 0.1001)  # a number of its own: calibrations are kept


def _one_sided_runs(monkeypatch):
    """The same, where 2,000 runs see it: a total variation of 0.8 is claimed, and it is above 0.9."""
    _one_sided(monkeypatch)
    return _plan("sgld", 0.1001, delta=0.8, steps=1)


def _one_sided_sample(monkeypatch):
    """The same for a sampled ratio."""

    def event(self):
        return SubsampledGaussian(2 * self.multiplier, self.rate, self.steps)

    monkeypatch.setattr(NoisySteps, "event", event)
    return _plan("fast-mh", 0.1001, batch=2)


def _kept_noise(monkeypatch):
    """One draw of noise for all steps and all runs, so that differences of sums are exact."""
    kept = {}

    def noise(self, count, entries, entropy):
        if entries not in kept:
            kept[entries] = RoundedGaussian((self.scale,) * entries).sample(count, entropy)
        return kept[entries]

    monkeypatch.setattr(NoisySteps, "noise", noise)
    return _plan("barker")


FAULTS = (
    Fault("chain-half-noise", "half of the noise that is priced", _half_noise, ("outcomes", "attack"), runs=600),
    Fault("chain-one-sided", "the sensitivity without the 2", _one_sided, ("exact curve",), runs=0),
    Fault("chain-one-sided, seen", "the same, by its runs alone", _one_sided_runs, ("attack",), runs=2000),
    Fault("chain-one-sided-sample", "the same on samples of rows", _one_sided_sample, ("exact curve",), runs=0),
    Fault("chain-kept-noise", "the noise of all sums is one draw", _kept_noise, ("outcomes",), runs=600),
)
