"""Shares that vary by group: what is refused, what is released, and that small groups are moved towards the others."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from tacit.audit.sensitivity import search_sensitivity
from tacit.models.support import check_draws

LEVELS = [f"c{i}" for i in range(20)]
SCHEMA = tacit.Schema(smokes=["no", "yes"], age=(18, 90), three=["a", "b", "c"], clinic=LEVELS, two=["a", "b"])


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("smokes ~ age", "of the family 'logistic'"),
        ("smokes ~ age + (1 | clinic)", "alone: a logistic regression with other terms beside it"),
        ("smokes ~ age + (age | clinic)", "is not built"),
        ("age ~ (1 | clinic)", "a response of two levels"),
        ("three ~ (1 | clinic)", "a response of two levels"),
        ("smokes ~ (1 | two)", "3 to 1000 levels"),
    ],
)
def test_what_is_not_built_is_refused_in_one_sentence(formula, said):
    with pytest.raises(tacit.InputError) as refused:
        tacit.Plan(tacit.VaryingLogisticRegression(formula), SCHEMA, tacit.PureDP(1.0))
    assert said in str(refused.value)
    assert str(refused.value).startswith("Expected formula=")


def test_logistic_regression_names_the_family_that_takes_it():
    with pytest.raises(tacit.InputError, match="varying-logistic"):
        tacit.Plan(tacit.LogisticRegression("smokes ~ (1 | clinic)"), SCHEMA, tacit.PureDP(1.0))


def test_draws_from_the_prior_lie_where_a_file_may_have_them():
    """Seed 2. A share of each group is no share of a whole: a planted 1.2 is refused, the prior's own draws are not."""
    model = tacit.VaryingLogisticRegression("smokes ~ (1 | clinic)")
    drawn = model.draw_parameters(model.default_prior(SCHEMA), SCHEMA, np.random.default_rng(2))
    values = {name: np.asarray(value)[None] for name, value in drawn.items()}
    check_draws(values, model.supports)
    with pytest.raises(tacit.InputError, match="group_share"):
        check_draws({**values, "group_share": 1.2 + 0 * values["group_share"]}, model.supports)


def test_a_row_moves_two_counts_whatever_the_number_of_groups():
    """Seed 1; the search reaches the claim, so a smaller one is caught."""
    statistic = tacit.VaryingLogisticRegression("smokes ~ (1 | clinic)").statistic(SCHEMA)
    claimed, found = statistic.sensitivity(), search_sensitivity(statistic, SCHEMA, seed=1)
    assert (found.l1, found.l2_squared) == (claimed.l1, claimed.l2_squared)
    assert claimed.l1 == 2 * statistic.unit
    assert len(statistic.entries) == 40


@pytest.mark.slow
def test_shares_are_those_of_the_rows_with_hardly_any_noise_and_small_groups_are_moved(tmp_path):
    """Seed 6, 4,000 rows of which one level has none, epsilon 1e4 and 0.5. Means of shares are within a quarter of an
    sd of those of the rows' own posterior at the mean and the spread that were found; the rows' shares by themselves,
    the planted fault, are not. The level without rows is as unknown as the spread says.
    """
    rng = np.random.default_rng(6)
    cells = rng.choice(19, 4000, p=rng.dirichlet(np.ones(19)))
    share = 1 / (1 + np.exp(1.0 - 0.7 * rng.standard_normal(20)))
    rows = {"smokes": np.array(["no", "yes"])[(rng.random(4000) < share[cells]) * 1], "clinic": np.array(LEVELS)[cells]}
    model = tacit.VaryingLogisticRegression("smokes ~ (1 | clinic)")
    sds = []
    for epsilon in (1e4, 0.5):
        release = tacit.privatize(rows, tacit.Plan(model, SCHEMA, tacit.PureDP(epsilon)), ledger=None, dataset="rows")
        posterior = tacit.infer(release, seed=0, chains=2)
        draws = posterior.draws("group_share")
        sds.append(draws.std(axis=0))
        if epsilon > 1:
            n, yes = np.bincount(cells, minlength=20), np.bincount(cells, rows["smokes"] == "yes", minlength=20)
            eta, found = np.linspace(-9, 9, 4001), {row.name: row.mean for row in posterior.coefficients()}
            logs = yes[:, None] * eta - n[:, None] * np.logaddexp(0, eta)
            logs = logs - ((eta - found["Intercept"]) / found["spread"]) ** 2 / 2
            weights = np.exp(logs - logs.max(axis=1, keepdims=True))
            own = (weights / (1 + np.exp(-eta))).sum(axis=1) / weights.sum(axis=1)
            assert np.abs((draws.mean(axis=0) - own) / draws.std(axis=0)).max() < 0.25
            assert np.abs((yes / np.maximum(n, 1) - own) / draws.std(axis=0)).max() > 0.5
        assert draws.std(axis=0)[19] > 2 * np.median(draws.std(axis=0))
        assert len(posterior.ranking("group_share")) == 20
    assert np.median(sds[1]) > np.median(sds[0])
    again = tacit.Posterior.load(posterior.save(tmp_path / "p.nc"))
    assert again.ranking("group_share") == posterior.ranking("group_share")
    assert again.predict({"clinic": ["c1", "c2"]}).mean.shape == (2,)
