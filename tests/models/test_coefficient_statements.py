"""Priors of single coefficients in the units of the data, and chains that failed."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import tacit
from tacit.infer import prior_for

SCHEMA = tacit.Schema(y=(0, 10), age=(18, 90), sex=["f", "m"], ill=["no", "yes"], visits=(0, 12))
MODELS = [
    tacit.LinearRegression("y ~ age + sex"),
    tacit.LogisticRegression("ill ~ age + sex"),
    tacit.PoissonRegression("visits ~ age", link="log"),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.family)
def test_a_coefficient_has_the_prior_that_was_said_in_data_units(model):
    """4,000 draws, seed 1: means within 6 standard errors, standard deviations within a tenth."""
    said = {"age": (0.02, 0.1), "Intercept": (3.0, 2.0)}
    prior, rng = prior_for(model, SCHEMA, said), np.random.default_rng(1)
    theta = np.array([model.draw_parameters(prior, SCHEMA, rng)["theta"] for _ in range(4000)])
    found = model.coefficients({"theta": theta, "sigma": np.ones(4000)}, SCHEMA)
    for name, (mean, sd) in said.items():
        assert abs(found[name].mean() - mean) < 6 * sd / np.sqrt(4000)
        assert found[name].std() == pytest.approx(sd, rel=0.1)
    assert type(prior)(**prior.to_plain()) == prior


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.family)
def test_a_name_that_is_no_coefficient_is_refused_in_one_sentence(model):
    with pytest.raises(tacit.InputError, match=r"^Expected prior='agee' to be a coefficient .*did you mean 'age'"):
        prior_for(model, SCHEMA, {"agee": (0, 1)})
    with pytest.raises(tacit.InputError, match="to be a mean and a positive standard deviation"):
        prior_for(model, SCHEMA, {"age": (0, -1)})


def test_a_posterior_whose_chains_failed_is_refused_unless_asked_for(monkeypatch):
    release = tacit.simulate(tacit.Plan(tacit.Bernoulli("sex"), SCHEMA, tacit.PureDP(1.0)), n=100, seed=1).release

    def apart(*_arguments, **_options):
        theta = np.random.default_rng(0).normal(0.5, 0.01, (1, 4, 100)) + np.array([0, 0.1, 0.2, 0.3])[None, :, None]
        return {"theta": theta, "count": theta}, {}

    monkeypatch.setattr(sys.modules["tacit.infer"], "posterior_arrays", apart)
    with pytest.raises(tacit.RefusedError, match=r"chains of method 'exact' to agree \(largest R-hat"):
        tacit.infer(release)
    assert "The chains failed" in " ".join(tacit.infer(release, anyway=True).warnings()[:2])
