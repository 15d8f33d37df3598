"""The record-level methods against methods that share no code with them: the collapsed sampler, and brute force."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
from arviz_stats.base import array_stats

import tacit
from tacit.infer import posterior_arrays, problem_for
from tacit.samplers.chain import Settings

SCHEMA = tacit.Schema(y=(-1, 1), a=(-1, 1), b=(-1, 1))


@lru_cache
def _problem(n, epsilon, formula="y ~ a"):
    plan = tacit.Plan(tacit.LinearRegression(formula), SCHEMA, tacit.PureDP(epsilon))
    return plan, problem_for(plan.model, plan.schema, None, n, plan.noise())


@lru_cache
def _draws(problem, plan, method, datasets, settings):
    """The numbers of interest, (datasets, chains, draws, numbers), four chains each, all in one compiled call."""
    values = [tacit.simulate(plan, n=problem.n, seed=seed).release.values for seed in range(datasets)]
    arrays, _ = posterior_arrays(problem, method, settings, values, chains=4, seed=1)
    return np.concatenate([arrays["theta"], np.log(arrays["sigma"])[..., None]], axis=-1)


def _apart(first, second):
    """How many Monte Carlo standard errors the posterior means are apart, dataset by dataset, number by number."""
    squares = [
        [
            [x[i, :, :, k].var() / array_stats.ess(x[i, :, :, k], method="mean") for k in range(x.shape[-1])]
            for i in range(len(x))
        ]
        for x in (first, second)
    ]
    return np.abs(first.mean(axis=(1, 2)) - second.mean(axis=(1, 2))) / np.sqrt(np.sum(squares, axis=0))


def _louder(problem):
    """The planted fault: noise taken to be 20% wider than it was."""
    noise = problem.noise
    return replace(problem, noise=type(noise)(tuple(round(1.2 * s) for s in noise.scales)))


def test_augmentation_agrees_with_the_collapsed_posterior():
    """Seeds 0 to 4 for data, 1 for chains; n = 30, epsilon 3; 15 means within 4 errors: false-alarm rate 1e-3.

    The planted fault, a noise scale off by 20%, must be seen in the batch.
    """
    plan, problem = _problem(30, 3.0)
    collapsed = _draws(problem, plan, "collapsed", 5, Settings(300, 500))
    augmented = _draws(problem, plan, "augment", 5, Settings(300, 20_000))
    faulty = _draws(_louder(problem), plan, "augment", 5, Settings(300, 20_000))
    print(_apart(collapsed, augmented))
    print(_apart(collapsed, faulty))
    print(_apart(augmented, faulty))
    assert _apart(collapsed, augmented).max() < 4
    assert _apart(collapsed, faulty).max() > 4
