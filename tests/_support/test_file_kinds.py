"""A file of another kind is met with what it is and what to run first; any other name is opened as it is."""

from __future__ import annotations

import pytest

import tacit


@pytest.mark.parametrize(
    ("load", "file", "said"),
    [
        (tacit.infer, "rows.csv", "to be a release, not rows: `tacit privatize PLAN rows.csv -o release.json`"),
        (tacit.infer, "plan.toml", "not a plan: `tacit privatize plan.toml DATA"),
        (tacit.infer, "posterior.nc", "was inferred already; `tacit report posterior.nc"),
        (tacit.report, "release.json", "to be a posterior, not a release: `tacit infer release.json -o posterior.nc`"),
        (tacit.report, "rows.csv", "then `tacit privatize PLAN rows.csv` and `tacit infer`"),
        (tacit.Plan.load, "rows.CSV", "`tacit init rows.CSV` starts one"),
        (tacit.Plan.load, "release.json", "not a release"),
        (tacit.Plan.load, "ledger.db", "not a ledger"),
    ],
)
def test_a_wrong_file_is_named_and_what_to_run_first(load, file, said, tmp_path):
    with pytest.raises(tacit.InputError) as refused:
        load(tmp_path / file)
    assert said in str(refused.value)
    assert str(refused.value).count("\n") == 0


def test_other_suffixes_are_not_judged(tmp_path):
    plan = tacit.Plan(tacit.Bernoulli("s"), tacit.Schema(s=["n", "y"]), tacit.PureDP(1.0))
    plan.save(tmp_path / "plan.txt")
    assert tacit.Plan.load(tmp_path / "plan.txt") == plan
    with pytest.raises(tacit.InputError, match="to be a file that exists"):
        tacit.Plan.load(tmp_path / "missing")


def test_arguments_of_another_kind_are_met_with_what_to_write(tmp_path):
    schema, model = tacit.Schema(y=(0, 1), x=(0, 1)), tacit.LinearRegression("y ~ x")
    with pytest.raises(tacit.InputError, match=r"budget=1.0 to be a guarantee such as tacit.PureDP\(epsilon=1.0\)"):
        tacit.Plan(model, schema, 1.0)
    with pytest.raises(tacit.InputError, match=r"a model such as tacit.LinearRegression"):
        tacit.Plan("y ~ x", schema, tacit.PureDP(1.0))
    with pytest.raises(tacit.InputError, match="one name: a plan is about one column, so make a plan for each"):
        tacit.Plan(tacit.Bernoulli(["a", "b"]), schema, tacit.PureDP(1.0))
    share = tacit.Plan(tacit.Bernoulli("s"), tacit.Schema(s=["n", "y"]), tacit.PureDP(1.0))
    with pytest.raises(
        tacit.InputError, match=r"a mapping of its numbers such as \{'a': 1.0, 'b': 1.0\}, or a BetaPrior"
    ):
        tacit.infer(tacit.simulate(share, n=20, seed=1).release, prior="normal(0,1)")
    with pytest.raises(tacit.InputError, match=r"(?s)ledger.db.*ledger=None releases without one"):
        tacit.privatize({"s": ["n", "y"]}, share)
