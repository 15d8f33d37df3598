"""A posterior whose chains failed is refused, by every way in; the draws are there for who asks."""

from __future__ import annotations

import importlib
import json

import numpy as np
import pytest

import tacit
from tacit.cli.main import main
from tacit.posterior.convergence import failure_of, r_hat

infer_module = importlib.import_module("tacit.infer")
SCHEMA = tacit.Schema(smoker=["no", "yes"])
PLAN = tacit.Plan(tacit.Bernoulli("smoker"), SCHEMA, tacit.PureDP(1.0))
RELEASE = tacit.simulate(PLAN, n=500, seed=1).release


def spoil(monkeypatch, change):
    """Plant a sampler whose draws (releases, chains, draws) and diagnostics are changed in place."""
    true = infer_module.posterior_arrays

    def planted(*args, **options):
        arrays, diagnostics = true(*args, **options)
        arrays = {name: np.array(value) for name, value in arrays.items()}
        diagnostics = dict(diagnostics)
        change(arrays, diagnostics)
        return arrays, diagnostics

    monkeypatch.setattr(infer_module, "posterior_arrays", planted)


def one_chain_elsewhere(arrays, diagnostics):
    arrays["theta"][:, 0] *= 0.9


def most_diverge(arrays, diagnostics):
    shape = arrays["theta"].shape[:3]
    diagnostics["diverging"] = np.broadcast_to(np.arange(shape[2]) % 10 < 6, shape)


def some_diverge(arrays, diagnostics):
    shape = arrays["theta"].shape[:3]
    diagnostics["diverging"] = np.broadcast_to(np.arange(shape[2]) % 10 < 4, shape)


def one_is_infinite(arrays, diagnostics):
    arrays["theta"][:, 0, 0] = np.inf


@pytest.mark.parametrize(
    ("fault", "said"),
    [(one_chain_elsewhere, "to agree .largest R-hat"), (most_diverge, "60% did"), (one_is_infinite, "finite numbers")],
)
def test_chains_that_failed_are_refused(monkeypatch, fault, said):
    spoil(monkeypatch, fault)
    with pytest.raises(tacit.RefusedError, match=said) as caught:
        tacit.infer(RELEASE)
    assert "anyway=True" in str(caught.value)
    posterior = tacit.infer(RELEASE, anyway=True)
    assert failure_of(posterior) == str(caught.value)
    assert posterior.warnings()[0].startswith(("The chains failed", "The release does not fit"))


def test_chains_that_are_poor_are_not_refused(monkeypatch):
    """40% of divergent draws are a warning."""
    assert tacit.infer(RELEASE).failure() is None
    spoil(monkeypatch, some_diverge)
    assert any("40.0% of the draws diverged" in text for text in tacit.infer(RELEASE).warnings())


def test_the_command_line_refuses_and_shows_on_request(monkeypatch, tmp_path, capsys):
    spoil(monkeypatch, one_chain_elsewhere)
    source, target = tmp_path / "r.json", tmp_path / "p.nc"
    RELEASE.save(source)

    def run(*more):
        monkeypatch.setattr("sys.argv", ["tacit", "infer", str(source), "-o", str(target), "--draws", "200", *more])
        with pytest.raises(SystemExit) as left:
            main()
        return left.value.code, *capsys.readouterr()

    code, _, said = run()
    assert code == 1
    assert said.startswith("Error: Expected the chains of method 'exact' to agree (largest R-hat")
    assert not target.exists()
    code, shown, _ = run("--anyway", "--json")
    assert code == 0
    assert "The chains failed" in " ".join(json.loads(shown)["warnings"][:2])
    assert tacit.Posterior.load(target).failure() is not None


def test_anyway_is_yes_or_no():
    with pytest.raises(tacit.InputError, match="Expected anyway=1 to be True or False"):
        tacit.infer(RELEASE, anyway=1)


def test_r_hat_of_chains_that_stand_still():
    assert np.isnan(r_hat(np.ones((4, 10))))
    assert np.isnan(r_hat(np.random.default_rng(0).normal(size=(1, 10))))
    assert r_hat(np.repeat(np.arange(4.0)[:, None], 10, axis=1)) > 1.1


def test_few_independent_draws_are_not_refused(monkeypatch):
    """Of 200 runs of 2 x 20 independent draws some have an R-hat above 1.1 by chance, none is refused.

    Seed 0; 200 numbers of two R-hats each (ranks, folded ranks), so the false-alarm rate is 4e-4.
    The planted fault, two chains that stand apart by three of their standard deviations, is still refused.
    """
    posterior = tacit.infer(RELEASE, chains=2, draws=20)
    rng = np.random.default_rng(0)

    def failure(draws):
        monkeypatch.setattr(type(posterior), "arrays", lambda _self: {"theta": draws})
        return failure_of(posterior)

    drawn = rng.normal(size=(200, 2, 20))
    assert max(r_hat(draws) for draws in drawn) > 1.1
    assert all(failure(draws) is None for draws in drawn)
    assert "to agree" in failure(drawn[0] + 3 * np.array([[0.0], [1.0]]))
