"""The audit of whole plans: right mechanisms are not accused, and what is said about them can be read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import ClassVar

import pytest
from typer.testing import CliRunner

import tacit
from tacit.audit.audit_registry import checks_of
from tacit.cli import app
from tacit.mechanisms.add_noise import AddNoise, NoisySums
from tacit.mechanisms.mechanism import CalibratedMechanism
from tacit.mechanisms.posterior_sample.posterior_sample import PosteriorSample

YES_NO = (tacit.Bernoulli("x"), tacit.Schema(x=["no", "yes"]))
LINE = (tacit.LinearRegression("y ~ x"), tacit.Schema(y=(-1, 1), x=(-1, 1)))
RIGHT = {
    "counts": tacit.Plan(*YES_NO, tacit.PureDP(1.0)),
    "counts, gaussian": tacit.Plan(*YES_NO, tacit.ApproxDP(1.0, 1e-6), tacit.AddNoise("discrete-gaussian")),
    "products": tacit.Plan(*LINE, tacit.GDP(1.0)),
    "people": tacit.Plan(*YES_NO, tacit.PureDP(0.5), tacit.AddNoise(unit=tacit.Person("who", 3, "row"))),
    "added": tacit.Plan(*LINE, tacit.PureDP(1.0, neighbours="add-remove")),
    "added people": tacit.Plan(
        *YES_NO,
        tacit.PureDP(0.5, neighbours="add-remove"),
        tacit.AddNoise(unit=tacit.Person("who", 3, "person")),
    ),
    "response": tacit.Plan(*YES_NO, tacit.PureDP(1.0), tacit.Local("randomized-response")),
    "bits": tacit.Plan(*YES_NO, tacit.ApproxDP(1.0, 1e-6), tacit.Local("unary-encoding")),
    "device's products": tacit.Plan(*LINE, tacit.PureDP(1.0), tacit.Local("statistics")),
    "device's inputs": tacit.Plan(*LINE, tacit.ZCDP(0.1), tacit.Local("inputs")),
    "a draw": tacit.Plan(*YES_NO, tacit.RenyiDP(2.0, 0.5), PosteriorSample()),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_mechanism_is_found_tight(name):
    """Fresh entropy; each audit accuses with a probability of at most 1e-6. `test_faults` plants what it must catch."""
    found = tacit.audit(RIGHT[name], runs=1000)
    assert not found.violated, found.sentence()
    assert found.verdict.startswith("tight to within"), found.sentence()
    assert found.share == pytest.approx(1.0, abs=0.01)
    assert len(found.witness) == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", RIGHT)
def test_no_right_mechanism_is_accused_in_a_hundred_runs(name):
    """Fresh entropy; 100 audits at level 1e-6 each. Over all nine plans the family-wise rate is below 1e-3."""
    for run in range(100):
        found = tacit.audit(RIGHT[name], runs=1000, seed=run)
        assert not found.violated, found.sentence()


def test_an_audit_reads_like_this():
    found = tacit.audit(RIGHT["counts"], runs=1000)
    plain = json.loads(found.to_json())
    assert plain["verdict"] == found.verdict == "tight to within 0.01%"
    assert plain["sentence"].startswith("No attack contradicts the promise (epsilon = 1).")
    assert {check["check"] for check in plain["checks"]} == {
        "price",
        "sensitivity",
        "exact curve",
        "public part",
        "ledger",
        "outcomes",
        "attack",
    }
    assert plain["plan"] == RIGHT["counts"].to_plain()
    page = found.page()
    assert "Does this plan keep its promise?" in page
    assert "https:" not in page
    assert "http:" not in page
    assert "Audit(bernoulli" in repr(found)


def test_without_runs_only_what_is_computed_is_left():
    found = tacit.audit(RIGHT["counts"], runs=0)
    assert all(check.proof for check in found.checks)
    assert found.verdict == "tight to within 0.01%"


@pytest.mark.parametrize(
    "arguments", [{"runs": -1}, {"n": 0}, {"level": 0.0}, {"level": 1.0}, {"seed": -1}, {"runs": 1.5}, {"n": True}]
)
def test_what_makes_no_sense_is_refused(arguments):
    with pytest.raises(tacit.InputError, match="Expected"):
        tacit.audit(RIGHT["counts"], **arguments)


def test_the_command_writes_a_page_and_json(tmp_path):
    plan, page = tmp_path / "plan.toml", tmp_path / "page.html"
    plan.write_text(RIGHT["counts"].to_toml())
    run = CliRunner().invoke(app, ["audit", str(plan), "--runs", "0", "-o", str(page)])
    assert run.exit_code == 0, run.output
    assert "Verdict: passed, tight to within 0.01%." in run.output
    assert page.read_text().startswith("<!doctype html>")
    again = CliRunner().invoke(app, ["audit", str(plan), "--runs", "0", "-o", str(page)])
    assert again.exit_code != 0, "a file that is there is not replaced"
    run = CliRunner().invoke(app, ["audit", str(plan), "--runs", "0", "-o", str(tmp_path / "a.json"), "--json"])
    assert json.loads(run.output)["violated"] is False
    assert json.loads((tmp_path / "a.json").read_text())["violated"] is False


def test_the_command_fails_for_a_broken_promise(tmp_path, monkeypatch):
    """The planted fault: half the noise, at the price of all of it."""
    from dataclasses import replace

    right = AddNoise.calibrated_mechanism

    def half(self, request, noise_parameters=None):
        found = right(self, request)
        said = found.event()
        monkeypatch.setattr(NoisySums, "event", lambda self: said)
        return replace(found, noise=replace(found.noise, scales=tuple(s // 2 for s in found.noise.scales)))

    monkeypatch.setattr(AddNoise, "calibrated_mechanism", half)
    plan = tmp_path / "plan.toml"
    plan.write_text(RIGHT["counts"].to_toml())
    run = CliRunner().invoke(app, ["audit", str(plan), "--runs", "0"])
    assert run.exit_code == 1
    assert "Verdict: violated." in run.output
    assert "VIOLATED  exact curve" in run.output


# ---------------------------------------------------------------------------------------------------------------------
# A mechanism that the auditor has never heard of


@dataclass(frozen=True)
class Unheard(AddNoise):
    """The same as noisy sums, but of another type: only its outcomes can be looked at."""

    kind: ClassVar[str] = "unheard"
    half: bool = False

    def calibrated_mechanism(self, request, noise_parameters=None):
        found = AddNoise.calibrated_mechanism(self, request)
        return Opaque(found, self.half)


@dataclass(frozen=True)
class Opaque(CalibratedMechanism):
    inner: NoisySums
    half: bool

    columns = property(lambda self: self.inner.columns)
    entries = property(lambda self: self.inner.entries)
    unit = property(lambda self: self.inner.unit)
    noise_parameters = property(lambda self: self.inner.noise_parameters)
    basis = property(lambda self: self.inner.basis)

    def event(self):
        return self.inner.event()

    def accumulator(self):
        return self.inner.accumulator()

    def cross(self, collected, n, entropy):
        values = self.inner.cross(collected, n, entropy)
        if not self.half:
            return values
        return tuple(t + (v - t) // 3 for v, t in zip(values, collected.totals, strict=True))

    def check(self, values, n):
        self.inner.check(values, n)


def test_an_unknown_mechanism_is_attacked_as_a_black_box():
    """Fresh entropy, level 1e-6. The planted fault has a third of the noise: epsilon 3 where 1 is promised."""
    assert checks_of.dispatch(Opaque) is checks_of.dispatch(CalibratedMechanism)
    right = tacit.audit(tacit.Plan(*YES_NO, tacit.PureDP(1.0), Unheard()), runs=1200)
    assert right.verdict == "consistent", right.sentence()
    assert "was not measured" in right.sentence()
    wrong = tacit.audit(tacit.Plan(*YES_NO, tacit.PureDP(1.0), Unheard(half=True)), runs=1200)
    assert wrong.violated
    assert [check.name for check in wrong.checks if check.violated] == ["attack"]
