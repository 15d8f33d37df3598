"""Many posteriors at once are those of `tacit.infer`, one for each release."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tacit
from tacit import studies

PLAN = tacit.Plan(tacit.Bernoulli("x"), tacit.Schema(x=["no", "yes"]), tacit.PureDP(epsilon=0.5))
LOCAL = tacit.Plan(tacit.Categorical("x"), tacit.Schema(x=["a", "b", "c"]), tacit.PureDP(epsilon=2.0), tacit.Local())


def test_each_release_has_a_posterior_of_its_own():
    """Seeds 0 to 2 with 10%, 50% and 90% of yes among 400. Means of 2,000 draws that are independent, within 5 standard
    errors of those of `tacit.infer`, another seed (false alarms below 1e-4).
    The next release, the planted fault, is off.
    """
    shares = (0.1, 0.5, 0.9)
    made = [tacit.simulate(PLAN, n=400, seed=i, parameters={"theta": p}).release for i, p in enumerate(shares)]
    arrays, _ = studies.posteriors(made, draws=2000, warmup=0, seed=1)
    assert arrays["theta"].shape == (3, 2000)
    alone = [np.ravel(tacit.infer(one, draws=500, seed=2).draws("theta")) for one in made]
    for i, own in enumerate(alone):
        error = np.hypot(own.std(), arrays["theta"][i].std()) / np.sqrt(2000)
        assert abs(own.mean() - arrays["theta"][i].mean()) < 5 * error
        assert abs(own.mean() - arrays["theta"][(i + 1) % 3].mean()) > 5 * error


def test_each_survey_has_a_posterior_of_its_own():
    """Seeds 0 and 1; two surveys of 500 with other shares, of which the largest is found in both."""
    shares = [np.array([0.8, 0.1, 0.1]), np.array([0.1, 0.1, 0.8])]
    made = [tacit.simulate(LOCAL, n=500, seed=i, parameters={"theta": p}).release for i, p in enumerate(shares)]
    arrays, _ = studies.posteriors(made, draws=60, warmup=60)
    assert arrays["theta"].mean(axis=1).argmax(axis=1).tolist() == [0, 2]


@pytest.mark.parametrize(
    ("sizes", "message"),
    [((), "to be a list of releases"), ((40, 50), "to share one plan and one number of rows")],
)
def test_what_does_not_fit_together_is_refused(sizes, message):
    made = [tacit.simulate(PLAN, n=n, seed=1).release for n in sizes]
    with pytest.raises(tacit.InputError, match=re.escape(message)):
        studies.posteriors(made)
