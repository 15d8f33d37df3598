"""Counts whose sum is not known, drawn at once: against all pairs of counts, weighed one by one."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import kstest

from tacit.runtime.backend import float64
from tacit.samplers import direct_counts as module
from tacit.samplers.direct_counts import DROP, direct_counts, suits

DRAWS = 4000


def draws(released, concentration, scales, seed):
    released, scales = np.array(released, float), np.array(scales, float)
    with float64():
        found, info = direct_counts(
            jax.random.PRNGKey(seed),
            jnp.asarray(released),
            np.array(concentration),
            lambda counts: -jnp.abs(released[:, None] - counts) / scales[:, None],
            jnp.asarray(scales * DROP),
            DRAWS,
        )
        return np.asarray(found), np.asarray(info["acceptance_rate"])


def exact(released, concentration, scales):
    """The distribution of the first count and of n, from all pairs near the released ones."""
    near = [np.arange(max(0, round(z) - 25 * s), round(z) + 25 * s + 1) for z, s in zip(released, scales, strict=True)]
    logs = [
        gammaln(c + a) - gammaln(c + 1) - abs(z - c) / s
        for c, a, z, s in zip(near, concentration, released, scales, strict=True)
    ]
    n, total = near[0][:, None] + near[1][None], sum(concentration)
    joint = logs[0][:, None] + logs[1][None] + gammaln(n + 1) - gammaln(n + total)
    joint = np.exp(joint - joint.max())
    sizes = np.bincount(n.astype(int).ravel(), joint.ravel())
    return (near[0], joint.sum(axis=1) / joint.sum()), (np.arange(len(sizes)), sizes / joint.sum())


def p_values(found, counts, rng):
    """Of the tests that the first count and n follow the exact distributions, each spread over its cell."""
    for values, (support, mass) in zip((found[:, 0], found.sum(axis=1)), counts, strict=True):
        below = np.concatenate([[0], np.cumsum(mass)])
        place = np.searchsorted(support, values)
        yield kstest(below[place] + mass[place] * rng.random(len(values)), "uniform").pvalue


CASES = {
    "little noise": ((40.0, 160.0), (1.0, 1.0), (2, 2)),
    "near no rows": ((1.0, 90.0), (1.0, 1.0), (2, 3)),
    "strong prior": ((60.0, 160.0), (30.0, 10.0), (3, 2)),
    "a table of every third count": ((9000.0, 700.0), (2.0, 0.4), (40, 40)),
}


@pytest.mark.parametrize("name", CASES)
def test_draws_follow_the_exact_distribution(name):
    """Seed 5, 4,000 draws, two tests at 1e-4 each. Neighbouring draws agree by chance alone: nearly all are new."""
    released, concentration, scales = CASES[name]
    sds = np.sqrt(2) * np.array(scales)
    assert suits(sds, concentration, np.array([released])).all()
    found, accepted = draws(released, concentration, scales, seed=5)
    assert accepted.mean() > 0.8
    assert min(p_values(found, exact(released, concentration, scales), np.random.default_rng(5))) > 1e-4


def test_a_prior_that_was_left_out_is_found(monkeypatch):
    """Planted, seed 5: the table and the weight without the concentrations."""
    monkeypatch.setattr(module, "log_gamma_ratio", lambda counts, a: 0.0 * counts)
    released, concentration, scales = CASES["strong prior"]
    found, _ = draws(released, concentration, scales, seed=5)
    assert min(p_values(found, exact(released, concentration, scales), np.random.default_rng(5))) < 1e-4


def test_much_noise_is_left_to_sweeps():
    """Where the weight would differ much from one n to another, or n may be none."""
    few = partial(suits, np.array([100.0, 100.0]))
    assert not few((1.0, 1.0), np.array([[50.0, 300.0]]))[0]
    assert few((1.0, 1.0), np.array([[2000.0, 300.0]]))[0]
    assert not few((500.0, 1.0), np.array([[2000.0, 300.0]]))[0]
