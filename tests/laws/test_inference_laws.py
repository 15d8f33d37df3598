"""Distributions of every method: shapes, repeatability, and what must hold of any posterior."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from laws.cases import BY_ROWS, MAIN_METHODS, METHODS, TINY_NOISE, by_pace, tiny_noise


@pytest.mark.parametrize("name", by_pace(METHODS))
def test_draws_have_the_declared_shape_and_repeat_with_the_seed(name):
    (model, schema, prior, *_), method = METHODS[name]
    plan = tacit.Plan(model, schema, tacit.PureDP(1.0), tacit.AddNoise())
    release = tacit.simulate(plan, n=100, seed=5, prior=prior).release
    first = tacit.infer(release, method=method, draws=50, anyway=True, warmup=20, chains=2, seed=1)
    again = tacit.infer(release, method=method, draws=50, anyway=True, warmup=20, chains=2, seed=1)
    other = tacit.infer(release, method=method, draws=50, anyway=True, warmup=20, chains=2, seed=2)
    coords = model.coords(schema)
    found = first.tree["posterior"].data_vars
    for variable, axes in ((v, a) for v, a in model.dims(schema).items() if v in found):
        array = found[variable]
        assert array.dims == ("chain", "draw", *axes)
        assert array.shape == (2, 50, *(len(coords[a]) for a in axes))
        assert np.isfinite(array.values).all()
        np.testing.assert_array_equal(array.values, again.tree["posterior"][variable].values)
    differs = [not np.array_equal(first.tree["posterior"][v].values, other.tree["posterior"][v].values) for v in found]
    assert any(differs)


@pytest.mark.parametrize("name", by_pace(MAIN_METHODS))
def test_without_noise_every_method_agrees_with_the_conjugate_posterior(name):
    """At epsilon 1000 the noise is far below one count: all methods must give the non-private posterior.

    Seed 6; 4,000 draws against 4,000 draws; alarm when a mean is off by 6 standard errors (below 1e-8 a number).
    """
    (model, schema, prior, *_), method = MAIN_METHODS[name]
    plan = tacit.Plan(model, schema, tacit.PureDP(1000.0), tacit.AddNoise())
    simulation = tacit.simulate(plan, n=300, seed=6, prior=prior)
    posterior = tacit.infer(simulation.release, method=method, seed=1, prior=prior)
    reference = simulation.non_private(seed=2, draws=4000, prior=prior)
    for variable in simulation.parameters:
        ours, theirs = posterior.parameter(variable), reference[variable]
        error = np.sqrt(ours.var(axis=0) / 1000 + theirs.var(axis=0) / 4000)  # at least 1,000 effective of 4,000
        assert np.all(np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) < 6 * error)


@pytest.mark.parametrize(("name", "epsilon"), tiny_noise())
def test_tiny_noise_changes_nothing(name, epsilon):
    """From epsilon 1e6 to 1e12 every method gives the posterior of the exact sums: mean and spread.

    That is the naive method's, and the rows' own where the sums say all about them. Seed 6; 4,000 draws against 4,000;
    alarm when a mean is off by 6 standard errors or an sd by a fifth (10 of its standard errors).
    A density whose parts cancel once gave an sd of nearly 0 here, and a start at infinity draws that all diverged.
    """
    (model, schema, prior, *_), method = TINY_NOISE[name]
    plan = tacit.Plan(model, schema, tacit.PureDP(epsilon), tacit.AddNoise())
    simulation = tacit.simulate(plan, n=300, seed=6, prior=prior)
    try:
        posterior = tacit.infer(simulation.release, method=method, seed=1, prior=prior)
    except tacit.RefusedError:
        assert method in BY_ROWS
        return
    assert not any("hardly says anything" in text for text in posterior.warnings())
    if method == "gaussian-covariates":
        naive = tacit.infer(simulation.release, method="naive", seed=2, prior=prior)
        reference = {variable: naive.parameter(variable) for variable in simulation.parameters}
    else:
        reference = simulation.non_private(seed=2, draws=4000, prior=prior)
    effective = min(1000, *(row.ess_bulk for row in posterior.summary() if row.ess_bulk == row.ess_bulk))
    for variable in simulation.parameters.keys() & posterior.arrays().keys():
        ours, theirs = posterior.parameter(variable), reference[variable]
        error = np.sqrt(ours.var(axis=0) / effective + theirs.var(axis=0) / 4000)
        assert np.all(np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) < 6 * error)
        assert np.all(np.abs(np.log(ours.std(axis=0) / theirs.std(axis=0))) < 0.2 * np.sqrt(1000 / effective))


@pytest.mark.parametrize("name", by_pace(MAIN_METHODS))
def test_with_hopeless_noise_the_posterior_is_the_prior(name):
    """At epsilon 1e-4 and n = 20 nothing can be learnt. Seed 7; the naive method is the planted fault: it is fooled."""
    (model, schema, prior, *_), method = MAIN_METHODS[name]
    plan = tacit.Plan(model, schema, tacit.PureDP(1e-4), tacit.AddNoise())
    release = tacit.simulate(plan, n=20, seed=7, prior=prior).release
    posterior = tacit.infer(release, method=method, seed=1, prior=prior, anyway=method == "naive")
    rng = np.random.default_rng(8)
    whole = model.default_prior(schema).replaced(prior or {})
    reference = [model.draw_parameters(whole, schema, rng) for _ in range(4000)]
    off = 0.0
    for variable in reference[0]:
        theirs = np.array([r[variable] for r in reference]).reshape(4000, -1)
        ours = posterior.parameter(variable).reshape(4000, -1)
        error = np.sqrt(ours.var(axis=0) / 1000 + theirs.var(axis=0) / 4000)
        off = max(off, float(np.max(np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) / np.maximum(error, 1e-12))))
    assert (off > 6) if method == "naive" else (off < 6)
