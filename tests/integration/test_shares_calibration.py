"""Shares are calibrated through the whole path: central releases and every local protocol.

Seed 17: 500 trials of 100 people; level 1e-3 a case, Bonferroni over numbers. Planted: to ignore the noise of a central
release. Faults of local reports are planted in test_evidence_chain.
"""

from __future__ import annotations

import pytest

import tacit

SCHEMA = tacit.Schema(x=["a", "b", "c", "d"], g=["no", "yes"])
MODELS = {"categorical": tacit.Categorical("x"), "bernoulli": tacit.Bernoulli("g")}
KINDS = {(name, kind) for name, model in MODELS.items() for kind in ("central", *model.protocols(SCHEMA))}


def calibrated(name, kind, epsilon, method=None):
    mechanism = () if kind == "central" else (tacit.Local(kind),)
    plan = tacit.Plan(MODELS[name], SCHEMA, tacit.PureDP(epsilon), *mechanism)
    return tacit.calibrate(plan, n=100, trials=500, seed=17, method=method).calibrated(1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize(("name", "kind"), sorted(KINDS))
def test_every_kind_of_evidence_is_calibrated(name, kind, epsilon):
    assert calibrated(name, kind, epsilon)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_noise_that_is_ignored_is_seen(name):
    assert not calibrated(name, "central", 0.5, "naive")
