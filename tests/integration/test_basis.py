"""Two classes of guarantee, proved and assumed: that each is said, and that one cannot be taken for the other."""

from __future__ import annotations

import inspect
import json
import math
import shutil
from pathlib import Path

import pytest

import tacit
from laws.cases import certified
from tacit.errors import InputError
from tacit.ledger import Ledger
from tacit.ledger.ledger_text import words
from tacit.mechanisms.mechanism import CalibratedMechanism
from tacit.mechanisms.posterior_sample.loss import SAMPLERS, Loss
from tacit.privacy.approximate_event import ApproximateEvent, AssumedEvent
from tacit.privacy.basis import Basis
from tacit.privacy.events import BoundedRangeEvent, GaussianEvent, LaplaceEvent
from tacit.report.approval import statement
from tacit.report.plan_text import explain
from tacit.report.promise import prices

EARLIER = Path(__file__).parents[1] / "earlier"
FREE = {"bounds": [-1, 1], "clamp": False}
SCHEMA = tacit.Schema(y=["no", "yes"], a=FREE)
MODEL = tacit.LogisticRegression("y ~ a")
CHAIN = {"loss": "beta-divergence", "gamma": 1e-8, "assume": "converged"}
BUDGET = tacit.ApproxDP(1.0, 1e-5)


def chain_plan(budget=BUDGET, **said):
    return tacit.Plan(MODEL, SCHEMA, budget, tacit.PosteriorSample(**{**CHAIN, **said}))


def concrete(kind):
    found = [] if inspect.isabstract(kind) else [kind]
    return found + [one for below in kind.__subclasses__() for one in concrete(below)]


def test_nothing_is_made_without_saying_its_class():
    """Planted: a loss and a crossing that leave ``basis`` out cannot be made, whatever else they have."""
    for kind in (Loss, CalibratedMechanism):
        assert "basis" in kind.__abstractmethods__
        everything = {name: None for name in kind.__abstractmethods__ if name != "basis"}
        forgetful = type("Forgetful", (kind,), everything)
        with pytest.raises(TypeError, match="basis"):
            forgetful()
        assert all("basis" not in one.__abstractmethods__ for one in concrete(kind))
    assert SAMPLERS["mcmc"] is Basis.ASSUMED
    assert {name for name, basis in SAMPLERS.items() if basis is Basis.PROVED} == {"exact", "rejection", "langevin"}


def test_every_registered_plan_prices_its_class():
    """For every family and mechanism: an assumed crossing has an assumed event, which claims delta and nothing else."""
    found = {Basis.PROVED: 0, Basis.ASSUMED: 0}
    for case in certified().values():
        plan = case.plan
        basis = plan.promise.basis
        found[basis] += 1
        event = plan.event()
        assert event.basis is basis, case.key
        assert ("assumed" in plan.promise.symbols) == (basis is Basis.ASSUMED)
        if basis is Basis.ASSUMED:
            assert isinstance(plan.budget, tacit.ApproxDP)
            assert plan.mechanism.assume == "converged"
            assert event.epsilon() == event.rho() == event.mu() == event.renyi(2.0) == math.inf
        elif isinstance(plan.mechanism, tacit.PosteriorSample):
            assert plan.calibrated_mechanism().loss.sampler in ("exact", "rejection", "langevin")
    assert found[Basis.ASSUMED] >= 5  # the beta-divergence of five families
    assert found[Basis.PROVED] > 50


@pytest.mark.parametrize(
    ("budget", "said", "sentence"),
    [
        (BUDGET, {"assume": None}, 'assume=None to be "converged" in .mechanism.*gamma above 0.*epsilon and delta'),
        (BUDGET, {"gamma": 0.0}, "gamma=0.0 to be above 0"),
        (BUDGET, {"gamma": None}, "gamma=None to be above 0"),
        (tacit.PureDP(1.0), {}, "budget='epsilon = 1' to be epsilon with delta"),
        (tacit.PureDP(1.0), {"assume": None, "gamma": 0.0}, "assume=None"),
        (tacit.ZCDP(0.1), {}, "budget='rho = 0.1' to be epsilon with delta"),
        (tacit.GDP(0.5), {}, "budget='mu = 0.5' to be epsilon with delta"),
        (tacit.RenyiDP(2.0, 1.0), {}, "budget='order = 2, epsilon = 1' to be epsilon with delta"),
        (BUDGET, {"gamma": 1e-4}, "gamma = 0.0001 is part of delta"),
        (BUDGET, {"loss": "log-likelihood", "gamma": None}, "assume='converged' to be left out: .* by rejection"),
        (BUDGET, {"assume": "yes"}, "assume='yes' to be one of converged"),
    ],
)
def test_an_assumption_is_said_needed_and_paid_for_or_refused(budget, said, sentence):
    """Before, every one of these but the last was a plan, and under PureDP it promised a pure epsilon."""
    schema = tacit.Schema(y=["no", "yes"], a=(-1, 1))
    with pytest.raises(InputError, match=sentence) as refusal:
        tacit.Plan(MODEL, schema, budget, tacit.PosteriorSample(**{**CHAIN, **said}))
    assert str(refusal.value).startswith("Expected ")
    assert str(refusal.value).count(". ") == 0


def test_a_long_regression_is_no_longer_drawn_by_a_chain_unasked():
    names = [f"x{j}" for j in range(12)]
    schema = tacit.Schema(y=["no", "yes"], **dict.fromkeys(names, (-1, 1)))
    model = tacit.LogisticRegression("y ~ " + " + ".join(names))
    with pytest.raises(InputError, match="assume=None"):
        tacit.Plan(model, schema, tacit.GDP(1.0), tacit.PosteriorSample(gamma=0.0))
    said = tacit.PosteriorSample(assume="converged", gamma=1e-8)
    assert tacit.Plan(model, schema, BUDGET, said).promise.basis is Basis.ASSUMED


def first_line(lines, word="epsilon"):
    return next(line for line in lines if word in line)


def test_it_is_said_in_the_first_line_that_mentions_epsilon(tmp_path):
    plan = chain_plan()
    assert "assumed, not proved: epsilon" in first_line(explain(plan))
    officer = statement(plan)
    assert officer.startswith("ASSUMED, not proved")
    assert "pure" not in officer
    release = tacit.Release(plan=plan, n=3, values=(1, 2), dataset="d", id="i")
    guarantee = release.to_plain()["guarantee"]
    assert next(iter(guarantee)) == "basis"
    assert guarantee["basis"] == "assumed"
    assert release.guarantee.sentence().startswith("This is assumed and not proved")
    assert tacit.Release.from_json(release.to_json()) == release
    for card in (plan._repr_html_(), release._repr_html_()):
        assert "assumed, not proved: epsilon" in card
    assert all(price.definition.startswith("assumed") for price in prices(plan.event(), release.guarantee))
    assert next(p.value for p in prices(plan.event(), release.guarantee) if "pure" in p.definition) == "–"
    assert next(p.value for p in prices(plan.event(), release.guarantee) if "approx" in p.definition) == "1"


def test_the_commands_say_it(tmp_path):
    from typer.testing import CliRunner

    from tacit.cli.main import app

    path = tmp_path / "plan.toml"
    chain_plan().save(path)
    assert 'assume = "converged"' in path.read_text()
    checked = CliRunner().invoke(app, ["check", str(path)])
    assert checked.exit_code == 0
    assert "assumed, not proved" in first_line(checked.stdout.replace("\n  ", " ").splitlines())
    assert "officer: ASSUMED" in checked.stdout.replace("\n", " ")
    assert json.loads(CliRunner().invoke(app, ["check", str(path), "--json"]).stdout)["basis"] == "assumed"


def test_a_release_cannot_be_relabelled():
    """Planted: the basis taken out or turned, and the plan's assumption taken out."""
    release = tacit.Release(plan=chain_plan(), n=3, values=(1, 2), dataset="d", id="i")
    for change in (lambda p: p["guarantee"].pop("basis"), lambda p: p["guarantee"].update(basis="proved")):
        plain = release.to_plain()
        change(plain)
        with pytest.raises(InputError, match="guarantee"):
            tacit.Release.from_plain(plain)
    plain = json.loads(release.to_json())
    del plain["plan"]["mechanism"]["assume"]
    with pytest.raises(InputError):
        tacit.Release.from_plain(plain)
    plain["sample"]["sampler"] = "rejection"
    with pytest.raises(InputError):
        tacit.Release.from_plain(plain)


# What was made before.


@pytest.mark.parametrize(
    ("name", "assumed"),
    [("beta-divergence", 1), ("bounded", 1), ("tempered", 1), ("with-gamma", 1), ("rejection", 0), ("noise", 0)],
)
def test_earlier_releases_load_unchanged_and_are_labelled(name, assumed):
    """Files of the version before: byte for byte the same when written again, so that ledgers still know them."""
    text = (EARLIER / f"{name}.json").read_text()
    release = tacit.Release.from_json(text)
    assert release.to_json() == text
    assert ("assumed, not proved" in release.guarantee.symbols) == bool(assumed)
    if not assumed:
        return
    assert release.guarantee.basis is Basis.ASSUMED
    with pytest.raises(InputError, match="still made"):
        tacit.privatize({"ill": ["no"], "age": [1.0], "dose": [1.0]}, release.plan, ledger=None)
    if name == "bounded":  # the same plan is drawn exactly now
        assert tacit.Plan.from_toml(release.plan.to_toml()).promise.basis is Basis.PROVED
        return
    with pytest.raises(InputError, match="assume"):
        tacit.Plan.from_toml(release.plan.to_toml())


def test_a_chain_of_an_earlier_version_that_rejection_would_draw_now_stays_a_chain():
    """Its plan does not say its sampler: ten coefficients were a chain's and are rejection's now."""
    plain = json.loads((EARLIER / "tempered.json").read_text())
    levels = [f"l{i}" for i in range(10)]
    plain["plan"]["schema"] = {"ill": ["no", "yes"], "g": levels}
    plain["plan"]["mechanism"] = {"kind": "posterior-sample", "gamma": 0.0}
    plain["sample"].update(numbers={"precision": 0.16, "weight": 0.0707}, draws=1, parameters=10)
    plain["values"] = list(range(10))
    for formula, names in (("0 + g", levels), ("g", ["", *levels[1:]])):
        plain["plan"]["model"]["formula"] = f"ill ~ {formula}"
        plain["entries"] = [f"g[{name}]" if name else "Intercept" for name in names]
        release = tacit.Release.from_plain(plain)
        assert release.guarantee.basis is Basis.ASSUMED
        with pytest.raises(InputError, match="still made"):
            tacit.privatize({"ill": ["no"], "g": ["l1"]}, release.plan, ledger=None)
        assert tacit.Plan.from_toml(release.plan.to_toml()).promise.basis is Basis.PROVED


def test_an_earlier_ledger_is_read_verified_and_spent_from(tmp_path):
    path = tmp_path / "ledger.db"
    shutil.copy(EARLIER / "ledger.db", path)
    book = Ledger(path)
    releases = {one.name: tacit.Release.load(one) for one in EARLIER.glob("*.json")}
    assert book.verify(releases=releases) == []
    balance = book.left("clinic")
    assert (balance.proved.spends, balance.assumed.spends, balance.untold.spends) == (1, 0, 5)
    assert any("Not recorded which: 5 releases" in line for line in words(book))
    book.spend("clinic", LaplaceEvent(0.01, 1000), "0" * 64)
    assert book.left("clinic").proved.spends == 2
    assert Ledger(path).verify() == []


# The ledger.


def test_the_ledger_books_assumed_spending_in_a_column_of_its_own(tmp_path):
    book = Ledger.create(tmp_path / "ledger.db")
    book.new_dataset("rows", tacit.ApproxDP(3.0, 1e-3))
    plan = chain_plan(tacit.ApproxDP(0.5, 1e-6), gamma=1e-12)
    book.spend("rows", GaussianEvent(0.01, 0), "0" * 64)
    book.spend("rows", plan.event(), "1" * 64)
    entries = [entry.content for entry in book.entries() if entry.kind == "spend"]
    assert [entry["basis"] for entry in entries] == ["proved", "assumed"]
    balance = book.left("rows")
    assert (balance.proved.spends, balance.assumed.spends, balance.untold.spends) == (1, 1, 0)
    assert balance.assumed.epsilon is None  # never a pure one
    assert balance.proved.approximate < balance.approximate
    assert balance.assumed.approximate < balance.approximate
    plain = book.to_plain()["datasets"][0]
    assert plain["assumed"]["spends"] == plain["proved"]["spends"] == 1
    said = words(book)
    assert any(line.startswith("  Proved: 1 release") for line in said)
    assert any(line.startswith("  Assumed, not proved: 1 release") for line in said)
    assert not any("Not recorded" in line for line in said)


def test_a_ledger_whose_basis_is_not_that_of_its_event_makes_no_sense():
    from tacit.ledger.basis import read_basis

    event = AssumedEvent(BoundedRangeEvent(1), 1e-6)
    assert read_basis(event, "assumed") is Basis.ASSUMED
    with pytest.raises(InputError, match="basis"):
        read_basis(event, "proved")
    with pytest.raises(InputError, match="basis"):
        read_basis(ApproximateEvent(BoundedRangeEvent(1), 1e-6), "assumed")
    assert read_basis(event, None) is Basis.ASSUMED
    assert read_basis(BoundedRangeEvent(1), None) is None
    assert read_basis(GaussianEvent(1, 0), None) is None
    assert read_basis(GaussianEvent(1, 1e-9), None) is Basis.PROVED
    assert read_basis(LaplaceEvent(1, 10), None) is Basis.PROVED


def test_an_assumed_event_is_priced_like_a_proved_distance_and_is_another_event():
    from tacit.privacy.events import event_from_plain
    from tacit.privacy.filter import Filter

    assumed, proved = (kind(BoundedRangeEvent(1), 1e-9) for kind in (AssumedEvent, ApproximateEvent))
    assert assumed != proved
    assert assumed.delta(1.0) == proved.delta(1.0) == pytest.approx((1 + math.e) * 1e-9, rel=1e-9)
    assert event_from_plain(assumed.to_plain()) == assumed
    total = Filter(tacit.ApproxDP(8.0, 1e-3))
    assert total.within([assumed] * 3) == total.within([proved] * 3)


@pytest.mark.parametrize("kind", ["private-chain", "dp-sgd"])
def test_noisy_chains_and_descents_are_proved_whatever_their_distance(kind):
    schema = tacit.Schema(y=["no", "yes"], a=(-1, 1))
    said = tacit.PrivateChain("sgld", n=50, steps=5) if kind == "private-chain" else tacit.DPSGD(n=50, steps=5)
    plan = tacit.Plan(MODEL, schema, BUDGET, said)
    assert plan.promise.basis is Basis.PROVED
    assert "assumed" not in plan.promise.symbols
