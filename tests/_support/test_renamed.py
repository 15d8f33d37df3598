"""Old public names work, each with a warning, and mean what the new ones mean."""

from __future__ import annotations

import pytest

import tacit
from tacit._support.renamed import renamed_arguments
from tacit.infer import method_name
from tacit.models.method_names import OLD_NAMES, current_method

PLAN = tacit.Plan(tacit.Bernoulli("x"), tacit.Schema(x=["no", "yes"]), tacit.PureDP(1.0))


@pytest.mark.parametrize(("old", "new"), [("drawn", "released_draws"), ("Drawn", "ReleasedDraws")])
def test_old_public_names(old, new):
    with pytest.warns(DeprecationWarning, match=f"tacit.{new}"):
        assert getattr(tacit, old) is getattr(tacit, new)
    assert old not in dir(tacit)


def test_old_attributes_of_plans_and_releases():
    release = tacit.simulate(PLAN, n=10, seed=1).release
    with pytest.warns(DeprecationWarning, match="calibrated_mechanism"):
        assert PLAN.crossing() is PLAN.calibrated_mechanism()
    with pytest.warns(DeprecationWarning, match="noise_parameters"):
        assert release.law is release.noise_parameters


def test_old_keywords_and_the_key_of_a_plan_file():
    new = tacit.PrivateChain(chain="hmc", n=10, num_leapfrog_steps=4)
    with pytest.warns(DeprecationWarning, match="num_leapfrog_steps"):
        assert tacit.PrivateChain(chain="hmc", n=10, leaps=4) == new
    assert new.to_plain()["leaps"] == 4
    assert tacit.PrivateChain.from_plain({"chain": "hmc", "n": 10, "leaps": 4}) == new
    with pytest.warns(DeprecationWarning, match="misspecification"), pytest.raises(tacit.InputError, match="n="):
        tacit.simulate(PLAN, n=0, seed=1, disturb=None)


def test_both_names_at_once_are_refused():
    with pytest.raises(tacit.InputError, match="once"):
        renamed_arguments(old="new")(lambda new: new)(old=1, new=2)


def test_old_methods_are_taken_and_none_is_a_method_of_today():
    linear, schema = tacit.LinearRegression("y ~ x"), tacit.Schema(x=(0, 1), y=(0, 1))
    assert method_name(linear, schema, "collapsed") == "wishart"
    assert current_method("naive") == "naive"
    from tacit.models.registry import DRAWN, FAMILIES

    for family in (*FAMILIES.values(), *DRAWN.values()):
        model = family.examples()[0].model
        assert not {*model.methods, *model.draw_methods} & set(OLD_NAMES)
