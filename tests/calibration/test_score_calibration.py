"""Calibration of scores in rounds: what is drawn is what is inferred with, and covariates have many shapes."""

from __future__ import annotations

import subprocess
import sys
from unittest import mock

import numpy as np
import pytest

import tacit
from tacit.calibration import calibrate as module
from tacit.calibration.misspecification import Misspecification
from tacit.models.score_model import USUAL_SD
from tacit.models.score_rows import draw_score_rows

SCHEMA = tacit.Schema(y=["no", "yes"], x=(1, 5), age=(18, 90), sex=["f", "m"], visits=(0, 8))


def plan(model=None):
    return tacit.Plan(
        model or tacit.LogisticRegression("y ~ x + sex"), SCHEMA, tacit.ApproxDP(4.0, 1e-6), tacit.Newton(rounds=2)
    )


@pytest.mark.parametrize("prior", [None, {"theta_sd": 0.5}])
def test_the_prior_that_is_drawn_from_is_the_one_that_is_inferred_with(prior):
    """Seed 0, 30 trials of 10 rows, nothing is sampled. The sd of 90 truths is right to 0.45, 6 standard errors."""
    seen = []

    def nothing(problem, method, settings, values, *, chains, seed):
        seen.append((problem.prior, np.array(values)))
        return {"theta": np.zeros((len(values), 1, settings.draws, 3))}, {}

    with mock.patch.object(module, "posterior_arrays", nothing):
        found = tacit.calibrate(plan(), n=10, trials=30, prior=prior)
    ((said, numbers),) = seen
    sd = USUAL_SD if prior is None else 0.5
    assert said.theta_sd == sd
    assert (numbers[:, :3] == 0).all()  # the mean of the prior, then its sds, as the chain is given them
    assert (numbers[:, 3:6] == sd).all()
    assert np.std([*found.truths.values()]) == pytest.approx(sd, rel=0.45)


def test_rows_lie_inside_their_bounds_and_columns_have_many_shapes():
    """Seed 1, 40 tables: the mean of a column is spread over its range, and nothing is clamped or moved into a ball."""
    rng = np.random.default_rng(1)
    model = tacit.LogisticRegression("y ~ x + age", radius=0.8)
    means = []
    for _ in range(40):
        rows = draw_score_rows(model, SCHEMA, [0.5, 1.0, -1.0], 50, rng)
        x, age = (np.asarray(rows["x"]) - 3) / 2, (np.asarray(rows["age"]) - 54) / 36
        assert (x**2 + age**2 <= 0.64 + 1e-12).all()
        assert set(rows["y"]) <= {"no", "yes"}
        means.append(x.mean())
    assert np.std(means) > 0.1
    counts = draw_score_rows(tacit.PoissonRegression("visits ~ x*age*sex"), SCHEMA, np.zeros(8), 50, rng)
    assert set(counts) == {"x", "age", "sex", "visits"}


def test_what_depends_on_a_distribution_of_covariates_is_refused():
    with pytest.raises(tacit.InputError, match="covariates of all shapes are made up"):
        tacit.simulate(plan(), n=10, seed=1, misspecification=Misspecification("skewed"))
    with pytest.raises(tacit.InputError, match="theta_sd"):
        tacit.prior_predictive(plan(), {"x": [1], "sex": ["f"]})
    found = tacit.prior_predictive(plan(), {"x": [1], "sex": ["f"]}, prior={"theta_sd": 2.0}, draws=100)
    assert found.draws.shape == (100, 1)


@pytest.mark.slow
def test_a_plan_is_calibrated_on_the_command_line(tmp_path):
    """Seed 0, 100 trials of 2,000 rows: exit code 0. A right posterior is accused in 1 of 1,000 runs."""
    plan(tacit.LogisticRegression("y ~ x")).save(tmp_path / "plan.toml")
    command = [sys.executable, "-m", "tacit", "calibrate", "plan.toml", "--n", "2000", "--trials", "100"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
