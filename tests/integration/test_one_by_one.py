"""The few chains of a release run one by one, and chains of many releases as a batch: both draw from one posterior."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy.special import ndtri

import tacit
from tacit.calibration.random_plans import random_plan
from tacit.posterior.mixing import effective_draws
from tacit.runtime import backend

SEED, PLANS = 20261119, 50
FALSE_ALARM = 1e-4  # of all numbers of all plans together
FAULT = 0.5  # of a posterior's sd, in one number of one plan


def test_a_chain_alone_has_the_draws_that_it_has_in_a_batch(monkeypatch):
    """The same random numbers, to the last bit, where no rounding differs; and each chain has its own."""

    def chain(key, released):
        return {"x": released[0] + jax.random.normal(key, (3,))}, {"rate": released}

    released = np.arange(2.0)[None]
    draws, diagnostics = backend.run(chain, released, chains=3, seed=4)
    monkeypatch.setattr(backend, "_ALONE", 0)
    as_batch, others = backend.run(chain, released, chains=3, seed=4)
    assert draws["x"].shape == (1, 3, 3)
    np.testing.assert_array_equal(draws["x"], as_batch["x"])
    np.testing.assert_array_equal(diagnostics["rate"], others["rate"])
    assert len({tuple(one) for one in draws["x"][0]}) == 3


def mean_and_error(draws):
    """Of each number of a posterior, from arrays (chains, draws, ...): mean, sd, and the sd of the mean."""
    found = []
    for array in draws.values():
        flat = array.reshape(*array.shape[:2], -1)
        for i in range(flat.shape[2]):
            one = flat[:, :, i]
            if np.ptp(one) > 0:
                sd = one.std()
                found.append((one.mean(), sd, sd / effective_draws(one) ** 0.5))
    return np.array(found)


@pytest.mark.slow
def test_chains_one_by_one_and_as_a_batch_agree_on_random_plans(monkeypatch):
    """Means of every number, by other seeds, differ by no more than their Monte Carlo error."""
    apart, fault = [], 0.0
    for number in range(PLANS):
        chosen = random_plan(SEED, number)
        release = tacit.simulate(chosen.plan, n=chosen.n, seed=number, prior=chosen.prior).release
        sizes = {"prior": chosen.prior, "warmup": 400, "draws": 500, "anyway": True}
        one, other = (mean_and_error(tacit.infer(release, seed=1, **sizes).arrays()), None)
        with monkeypatch.context() as before:
            before.setattr(backend, "_ALONE", 0)
            other = mean_and_error(tacit.infer(release, seed=2, **sizes).arrays())
        error = np.hypot(one[:, 2], other[:, 2])
        apart += list(np.abs(one[:, 0] - other[:, 0]) / error)
        fault = max(fault, FAULT * one[0, 1] / error[0])
    limit = -ndtri(FALSE_ALARM / 2 / len(apart))
    assert max(apart) < limit < fault
