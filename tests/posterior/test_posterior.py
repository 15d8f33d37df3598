"""Posteriors: ArviZ's layout, a file that explains itself, honest warnings."""

from __future__ import annotations

import numpy as np
import pytest

import tacit

PLAN = tacit.Plan(tacit.Categorical("x"), tacit.Schema(x=["a", "b", "c"]), tacit.PureDP(1.0))


@pytest.fixture(scope="module")
def posterior():
    return tacit.infer(tacit.simulate(PLAN, n=200, seed=0).release, seed=3)


def test_saved_and_loaded_it_is_the_same(posterior, tmp_path):
    path = posterior.save(tmp_path / "posterior.nc")
    again = tacit.Posterior.load(path)
    for name in ("theta", "count"):
        np.testing.assert_array_equal(again.draws(name), posterior.draws(name))
    assert again.release == posterior.release
    assert again.summary() == posterior.summary()
    assert (again.method, again.prior) == (posterior.method, posterior.prior)


@pytest.mark.filterwarnings("ignore")  # ArviZ 1.x announces its own changes when imported
def test_arviz_works_on_it(posterior):
    arviz = pytest.importorskip("arviz")
    table = arviz.summary(posterior.to_arviz())
    assert len(table) == 6
    ours = {row.name: row for row in posterior.summary()}
    for name, mean in zip(table.index, table["mean"], strict=True):
        assert float(mean) == pytest.approx(ours[name].mean, abs=0.01 * abs(ours[name].mean) + 0.001)


def test_intervals_are_equal_tailed(posterior):
    low, high = posterior.interval("theta", 0.8)
    inside = (posterior.draws("theta") > low) & (posterior.draws("theta") < high)
    np.testing.assert_allclose(inside.mean(axis=0), 0.8, atol=0.002)
    with pytest.raises(tacit.InputError, match="probability"):
        posterior.interval("theta", 1.5)
    with pytest.raises(tacit.InputError, match="theta"):
        posterior.interval("thet")


def test_the_counts_add_up(posterior):
    assert (posterior.draws("count").sum(axis=1) == 200).all()
    np.testing.assert_allclose(posterior.draws("theta").sum(axis=1), 1)


def test_warnings(posterior):
    assert posterior.warnings() == ("The release was simulated: it is about made-up rows.",)
    short = tacit.infer(posterior.release, draws=80, anyway=True, chains=2)
    assert any("Few effective draws" in w for w in short.warnings())
    naive = tacit.infer(posterior.release, method="naive")
    assert any("naive" in w for w in naive.warnings())


def test_chains_that_stand_still(posterior):
    """At different places: R-hat is infinite, which is said in `warnings` and by nobody else."""
    tree = posterior.tree.copy(deep=True)
    theta = tree["posterior"]["theta"].values
    theta[:] = theta[:, :1].copy()
    still = tacit.Posterior(tree)
    assert {row.r_hat for row in still.summary() if row.name.startswith("theta")} == {np.inf}
    assert any("R-hat" in w for w in still.warnings())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"method": "gibs"}, "did you mean 'gibbs'"),
        ({"chains": 0}, "chains"),
        ({"draws": 1}, "draws"),
        ({"warmup": -1}, "warmup"),
        ({"seed": -1}, "seed"),
        ({"seed": 1.5}, "seed"),
        ({"prior": {"concentation": 1}}, "did you mean 'concentration'"),
        ({"prior": {"concentration": -1}}, "concentration"),
        ({"prior": {"concentration": [1, 2]}}, "concentration"),
        ({"prior": tacit.BetaPrior()}, "DirichletPrior"),
    ],
)
def test_bad_settings_are_refused(posterior, settings, said):
    with pytest.raises(tacit.InputError, match=said):
        tacit.infer(posterior.release, **settings)


def test_a_prior_changes_the_posterior(posterior):
    strong = tacit.infer(posterior.release, prior={"concentration": (1000.0, 1.0, 1.0)})
    assert strong.draws("theta").mean(axis=0)[0] > 0.8
    assert strong.prior == {"concentration": [1000.0, 1.0, 1.0]}


def test_what_is_no_posterior_is_refused(tmp_path):
    with pytest.raises(tacit.InputError, match="exists"):
        tacit.Posterior.load(tmp_path / "no.nc")
    (tmp_path / "junk.nc").write_bytes(b"junk")
    with pytest.raises(tacit.InputError, match="tacit saved"):
        tacit.Posterior.load(tmp_path / "junk.nc")
