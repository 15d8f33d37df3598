"""The prior of linear regression: what its numbers mean, and which prior a change is made to."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from tacit.infer import prior_for

MODEL = tacit.LinearRegression("y ~ age + dose")
SCHEMA = tacit.Schema(y=(0, 10), age=(18, 90), dose=(0, 5))


def test_how_much_is_explained_is_learned_whatever_sigma_is():
    """4,000 draws, seed 1: tau is half-normal and R is Beta(1/2, 1/2), within 6 standard errors of mean and square."""
    prior, rng = prior_for(MODEL, SCHEMA, {"explained": (0.5, 0.5)}), np.random.default_rng(1)
    design = MODEL.design(SCHEMA)
    drawn = [prior.draw_law(design, rng) for _ in range(4000)]
    ratio = np.array([made_of[1] for _, made_of in drawn])
    tau = np.array([law["sigma"] for law, _ in drawn]) * np.sqrt(1 + ratio)
    share = ratio / (1 + ratio)
    for found, expected in ((tau**2, 0.25), (share, 0.5), (share**2, 0.375)):
        assert abs(found.mean() - expected) < 6 * found.std() / np.sqrt(4000)
    effects = np.array([
        prior.place(design, law["sigma"], np.r_[1.0, law["mu_x"]], np.r_[0.0, np.diag(law["Sigma_x"])], made_of)[1]
        * np.sqrt(law["Sigma_x"][0, 0] + 1e-3) / (law["sigma"] * np.sqrt(made_of[1]))
        for law, made_of in drawn
    ])  # fmt: skip
    assert effects.std() == pytest.approx(2.5 / np.sqrt(2), rel=6 / np.sqrt(8000))
    assert type(prior)(**prior.to_plain()) == prior


def test_a_change_is_made_to_the_prior_that_its_number_belongs_to():
    usual, explained = prior_for(MODEL, SCHEMA, None), prior_for(MODEL, SCHEMA, {"explained": (1.0, 2.0)})
    assert prior_for(MODEL, SCHEMA, {"lambda0": 0.5}).explained is None
    assert prior_for(MODEL, SCHEMA, {"a0": 2.0}).psi0 == usual.psi0
    assert (explained.explained, explained.tied) == ((1.0, 2.0), True)
    assert prior_for(MODEL, SCHEMA, {"total": 0.3}).explained == (0.5, 0.5)
    with pytest.raises(tacit.InputError, match="to be left out beside explained and total"):
        prior_for(MODEL, SCHEMA, {"explained": (0.5, 0.5), "b0": 1.0})
    for wrong in (0.5, (0.5,), (0.5, -1), "half"):
        with pytest.raises(tacit.InputError, match="prior explained"):
            prior_for(MODEL, SCHEMA, {"explained": wrong})
