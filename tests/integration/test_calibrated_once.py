"""A plan is calibrated once, when it is made: whoever needs its noise, its price or its client gets the same one."""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import pytest

import tacit
from laws.cases import certified
from tacit.boundary import randomize_rows
from tacit.mechanisms import add_noise
from tacit.mechanisms.local import Local
from tacit.mechanisms.posterior_sample.loss import Loss
from tacit.mechanisms.posterior_sample.posterior_sample import PosteriorSample
from tacit.models.local import LocalModel
from tacit.noise.registry import noise_for
from tacit.statistics.statistic import Statistic

RNG = np.random.default_rng(1)
ROWS = {
    "charges": RNG.uniform(0, 10, 100),
    "age": RNG.uniform(18, 65, 100),
    "ill": RNG.choice(["no", "yes"], 100),
}
SCHEMA = tacit.Schema(charges=(0, 10), age=(18, 65), ill=["no", "yes"])


def below(kind):
    for one in kind.__subclasses__():
        yield one
        yield from below(one)


@pytest.fixture
def calls(monkeypatch):
    """How often a sensitivity was computed, and noise, a sampler or a device was calibrated."""
    found = Counter()

    def count(owner, name, what):
        original = getattr(owner, name)

        def counted(*said, **more):
            found[what] += 1
            return original(*said, **more)

        monkeypatch.setattr(owner, name, counted)

    for base, name, what in (
        (Statistic, "sensitivity", "sensitivity"),
        (Loss, "calibrate", "calibration"),
        (LocalModel, "local_randomizer", "calibration"),
    ):
        for kind in {one for one in below(base) if name in vars(one)}:
            count(kind, name, what)
    count(add_noise, "noise_for", "calibration")
    return found


@pytest.mark.parametrize("budget", [tacit.PureDP(1.0), tacit.ZCDP(0.5)], ids=lambda budget: budget.symbols)
@pytest.mark.parametrize("model", [tacit.LinearRegression("charges ~ age"), tacit.LogisticRegression("ill ~ age")])
def test_noisy_sums_are_calibrated_once(model, budget, calls):
    plan = tacit.Plan(model, SCHEMA, budget, tacit.AddNoise())
    release = tacit.privatize(ROWS, plan, ledger=None)
    assert calls == {"sensitivity": 1, "calibration": 1}
    assert release.noise == plan.noise()
    calls.clear()
    tacit.Release.from_json(release.to_json())
    assert calls == {"sensitivity": 1, "calibration": 1}, "a file has a plan of its own"


def test_draws_are_calibrated_once(calls):
    plan = tacit.Plan(tacit.Bernoulli("ill"), SCHEMA, tacit.ApproxDP(1.0, 1e-6), PosteriorSample())
    tacit.privatize(ROWS, plan, ledger=None)
    assert calls == {"calibration": 1}


def test_a_device_is_calibrated_once(calls):
    plan = tacit.Plan(tacit.Bernoulli("ill"), SCHEMA, tacit.PureDP(1.0), Local())
    for _ in range(5):
        tacit.randomize({"ill": "yes"}, plan)
    assert randomize_rows(ROWS, plan, dataset="clinic").n == 100
    assert calls == {"calibration": 1}


def test_a_ledger_and_its_check_calibrate_no_more(calls, tmp_path):
    ledger = tacit.Ledger.create(tmp_path / "ledger.db")
    ledger.new_dataset("clinic", tacit.PureDP(2.0))
    plan = tacit.Plan(tacit.LinearRegression("charges ~ age"), SCHEMA, tacit.PureDP(1.0))
    tacit.privatize(ROWS, plan, ledger=ledger, dataset="clinic")
    assert calls == {"sensitivity": 1, "calibration": 1}


def test_the_noise_of_a_release_that_is_not_the_plans_own_is_priced_by_itself():
    """More noise than the plan would choose is taken as it is; less is refused. Nothing of the plan's own is used."""
    plan = tacit.Plan(tacit.Bernoulli("ill"), SCHEMA, tacit.PureDP(1.0))
    more = noise_for(tacit.PureDP(0.5), plan.sensitivity(), None)
    assert plan.calibrated_mechanism(more).noise_parameters == more != plan.noise()
    assert (
        plan.calibrated_mechanism(noise_for(tacit.PureDP(1.0), plan.sensitivity(), None)) is plan.calibrated_mechanism()
    )
    with pytest.raises(tacit.InputError, match="large enough"):
        plan.calibrated_mechanism(noise_for(tacit.PureDP(2.0), plan.sensitivity(), None))


def test_plans_go_to_other_processes_with_what_was_calibrated(calls):
    """Every family under every mechanism that it has, as the certificates list them."""
    plans = [case.plan for case in certified().values()]
    calls.clear()
    for plan in plans:
        other = pickle.loads(pickle.dumps(plan))
        assert other == plan
        assert other.event() == plan.event()
    assert len(plans) > 50
    assert not calls
