"""The ledger: what it admits, what it writes down, and what it does with files that are not as they should be."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tacit
from tacit.cli.ledger import app
from tacit.errors import InputError, RefusedError
from tacit.ledger import Ledger, Receipt, digest, store, words
from tacit.ledger import head as head_module
from tacit.ledger.accounts import replay
from tacit.ledger.chain import read_chain
from tacit.ledger.state import root
from tacit.mechanisms.add_noise import AddNoise
from tacit.mechanisms.person import Person
from tacit.plan import Plan
from tacit.privacy import gaussian
from tacit.privacy.composition import split
from tacit.privacy.events import BoundedRangeEvent, GaussianEvent, LaplaceEvent, PureEvent, RenyiEvent
from tacit.privacy.filter import Filter
from tacit.privacy.guarantees import GDP, ZCDP, ApproxDP, PureDP, RenyiDP

WORKER = Path(__file__).parents[1] / "ledger_worker.py"
PLAN = digest({"plan": "test"})
HALF = LaplaceEvent(Fraction(1, 2), 100)
QUARTER = LaplaceEvent(Fraction(1, 4), 100)
PLANNED = Plan(tacit.Bernoulli("x"), tacit.Schema({"x": ["a", "b"]}), PureDP(0.25))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


@pytest.fixture
def ledger(path):
    made = Ledger.create(path)
    made.new_dataset("a", PureDP(1.0))
    return made


def raw(path):
    return closing(sqlite3.connect(path, isolation_level=None))


def sql(path, *statements):
    """Run statements past the ledger; the rows of the last one."""
    with raw(path) as connection:
        return [connection.execute(statement).fetchall() for statement in statements][-1]


# Spending.


def test_spending_until_nothing_is_left(ledger):
    receipts = [ledger.spend("a", HALF, PLAN), ledger.spend("a", QUARTER, PLAN)]
    assert [receipt.entry for receipt in receipts] == [3, 4]
    assert receipts[-1].head == ledger.head
    with pytest.raises(RefusedError) as refusal:
        ledger.spend("a", HALF, PLAN)
    assert str(refusal.value) == (
        "Expected dataset='a' to have room for this release: it costs epsilon = 0.5, and epsilon = 0.25 is left of "
        "epsilon = 1; a plan with epsilon = 0.25 or less would fit."
    )
    ledger.spend("a", QUARTER, PLAN)
    with pytest.raises(RefusedError, match="nothing is left of epsilon = 1; no release would fit"):
        ledger.spend("a", PureEvent(Fraction(1, 10**9)), PLAN)
    assert ledger.verify(receipts) == []
    assert ledger.left("a").left is None


def test_a_refusal_writes_nothing(ledger, path):
    before, content = ledger.head, path.read_bytes()
    with pytest.raises(RefusedError, match="nothing is proved about its epsilon"):
        ledger.spend("a", GaussianEvent(Fraction(1, 4), 0), PLAN)
    assert ledger.head == before
    assert path.read_bytes() == content
    assert [p.name for p in path.parent.iterdir()] == ["ledger.db"]


def test_a_spend_without_a_release_stays_spent(ledger):
    receipt = ledger.spend("a", HALF, PLAN)
    assert (ledger.left("a").spends, ledger.left("a").unfinished) == (1, 1)
    ledger.record_release(receipt, "release-1", digest("content"))
    assert (ledger.left("a").spends, ledger.left("a").unfinished) == (1, 0)
    assert ledger.left("a").left == PureDP(0.5)
    assert ledger.verify([receipt]) == []


def test_a_receipt_pays_for_one_release(ledger):
    first, second = ledger.spend("a", QUARTER, PLAN), ledger.spend("a", QUARTER, PLAN)
    ledger.record_release(first, "release-1", digest("content"))
    with pytest.raises(InputError, match="Expected receipt=3 to be of a spend that awaits its release"):
        ledger.record_release(first, "release-2", digest("content"))
    with pytest.raises(InputError, match="Expected release_id='release-1' to be new in this ledger"):
        ledger.record_release(second, "release-1", digest("content"))
    with pytest.raises(InputError, match="to be of this ledger; entry 4 or one before it is not what it was"):
        ledger.record_release(Receipt(ledger.id, 4, first.head), "release-2", digest("content"))
    with pytest.raises(InputError, match="to be of this ledger; entry 99 of the receipt is not there"):
        ledger.record_release(Receipt(ledger.id, 99, first.head), "release-2", digest("content"))
    with pytest.raises(InputError, match="the receipt is of another ledger"):
        ledger.record_release(Receipt("other", 4, second.head), "release-2", digest("content"))
    with pytest.raises(InputError, match="Expected receipt=2 to be of a spend"):
        ledger.record_release(Receipt(ledger.id, 2, ledger.entries()[1].hash), "release-2", digest("content"))
    assert ledger.verify() == []


def test_data_sets_have_their_own_totals(ledger):
    ledger.new_dataset("b", ApproxDP(1.0, 1e-6))
    ledger.spend("a", HALF, PLAN)
    ledger.spend("b", GaussianEvent(Fraction(1, 100), Fraction(1, 10**12)), PLAN)
    assert ledger.datasets() == {"a": PureDP(1.0), "b": ApproxDP(1.0, 1e-6)}
    assert [entry.kind for entry in ledger.entries("a")] == ["dataset", "spend"]
    assert [entry.kind for entry in ledger.entries()] == ["ledger", "dataset", "dataset", "spend", "spend"]
    assert ledger.left("b").epsilon is None
    assert ledger.left("a").approximate is None
    assert ledger.left("b").rho == pytest.approx(1 / 200)
    assert ledger.left("b").approximate == pytest.approx(gaussian.epsilon_for(0.1, 1e-6), rel=1e-4)


@pytest.mark.parametrize("total", [PureDP(1.0), ZCDP(0.1), GDP(0.5), RenyiDP(8.0, 1.0), ApproxDP(1.0, 1e-6)])
def test_a_plan_split_over_five_releases_is_admitted_to_the_end(ledger, total):
    ledger.new_dataset("planned", total)
    make = {
        PureDP: lambda part: PureEvent(part.epsilon),
        ZCDP: lambda part: GaussianEvent(2 * Fraction(part.rho), 0),
        RenyiDP: lambda part: RenyiEvent(part.order, part.epsilon),
        GDP: lambda part: GaussianEvent(Fraction(part.mu) ** 2, 0),
    }
    for part in split(total, [1] * 5):
        ledger.spend("planned", make[type(part)](part), PLAN)
    with pytest.raises(RefusedError):
        ledger.spend("planned", PureEvent(Fraction(1, 100)), PLAN)
    assert ledger.verify() == []


def test_the_clock_decides_nothing(ledger, monkeypatch):
    receipts = [ledger.spend("a", QUARTER, PLAN)]
    for now in (0.0, -1e9, 4e9):
        monkeypatch.setattr(head_module.time, "time", lambda now=now: now)
        receipts.append(ledger.spend("a", QUARTER, PLAN))
    assert [entry.content["date"][:4] for entry in ledger.entries("a")[2:]] == ["1970", "1938", "2096"]
    with pytest.raises(RefusedError):
        ledger.spend("a", QUARTER, PLAN)
    assert [receipt.entry for receipt in receipts] == [3, 4, 5, 6]
    assert ledger.verify(receipts) == []


# The unit of privacy.


@pytest.mark.parametrize(
    ("account", "release", "units"),
    [
        (None, "id", ("person:id", "row")),
        ("id", None, ("row", "person:id")),
        ("id", "row", ("person:row", "person:id")),
    ],
)
def test_a_release_with_another_unit_is_refused_and_nothing_is_written(ledger, path, account, release, units):
    ledger.new_dataset("b", PureDP(1.0), account)
    ledger.spend("b", QUARTER, PLAN, person=account)
    before, content = ledger.head, path.read_bytes()
    with pytest.raises(InputError) as refusal:
        ledger.spend("b", QUARTER, PLAN, person=release)
    how = "without --person" if release is None else f"with --person {release}"
    assert str(refusal.value) == (
        f"Expected unit={units[0]!r} of this release to be {units[1]!r}, the unit of privacy of dataset 'b'; "
        f"`tacit ledger new` {how} and another name opens an account for it."
    )
    assert (ledger.head, path.read_bytes()) == (before, content)
    ledger.spend("b", QUARTER, PLAN, person=account)
    assert ledger.verify() == []
    assert ledger.units() == {"a": "row", "b": units[1]}
    assert [entry.content["unit"] for entry in ledger.entries("b")] == [units[1]] * 3


def test_the_boundary_states_the_unit_of_its_plan(ledger):
    """A person's ten rows, an account of rows: the release that would have mixed the two is refused unpaid."""
    ledger.new_dataset("people", PureDP(1.0), person="id")
    rows = {"x": ["a", "b"] * 10, "id": [str(i // 10) for i in range(20)]}
    by_person = replace(PLANNED, mechanism=AddNoise(unit=Person("id", 10, "person")))
    head = ledger.head
    for dataset, plan in (("a", by_person), ("people", PLANNED)):
        with pytest.raises(InputError, match=r"Expected unit=.* the unit of privacy of dataset"):
            tacit.privatize(rows, plan, ledger=ledger, dataset=dataset)
    assert ledger.head == head
    releases = {
        "rows": tacit.privatize(rows, PLANNED, ledger=ledger, dataset="a"),
        "people": tacit.privatize(rows, by_person, ledger=ledger, dataset="people"),
    }
    assert ledger.verify(releases=releases) == []


def test_an_account_has_one_neighbour_relation(ledger, path):
    """Refused unpaid both ways; and a spend that says another relation than its account is found."""
    ledger.new_dataset("grows", PureDP(1.0, neighbours="add-remove"))
    grows = replace(PLANNED, budget=replace(PLANNED.budget, neighbours="add-remove"))
    rows, head = {"x": ["a", "b"] * 10}, ledger.head
    for dataset, plan in (("a", grows), ("grows", PLANNED)):
        with pytest.raises(InputError, match=r"Expected neighbours=.* the neighbour relation of dataset .*one\.$"):
            tacit.privatize(rows, plan, ledger=ledger, dataset=dataset)
    assert ledger.head == head
    release = tacit.privatize(rows, grows, ledger=ledger, dataset="grows")
    assert ledger.verify(releases={"release": release}) == []
    assert ledger.entries("grows")[-2].content["neighbours"] == "add-remove"
    assert any("added or removed" in line for line in words(ledger))


@pytest.mark.parametrize("person", ["", " id", 3, "a\0b"])
def test_a_person_is_named_by_a_column(ledger, person):
    with pytest.raises(InputError, match="Expected person="):
        ledger.new_dataset("b", PureDP(1.0), person)
    with pytest.raises(InputError, match="Expected person="):
        ledger.spend("a", HALF, PLAN, person)


def test_an_entry_whose_unit_was_changed_is_reported(ledger, path):
    ledger.spend("a", HALF, PLAN)
    rewrite(path, 3, lambda content: content.replace('"unit":"row"', '"unit":"person:id"'))
    problem = "entry 3 makes no sense: its unit is 'person:id', and that of the data set is 'row'"
    assert Ledger(path).verify() == [problem]
    rewrite(path, 3, lambda content: content.replace('"unit":"person:id"', '"unit":"house"'))
    assert Ledger(path).verify()[0].startswith("entry 3 makes no sense: Expected unit='house'")


# Releases that were published.


@pytest.fixture
def released(ledger):
    """A ledger that paid for two releases, and the two."""
    rows = {"x": ["a", "b"] * 50}
    return ledger, *(tacit.privatize(rows, PLANNED, ledger=ledger, dataset="a") for _ in range(2))


def test_honest_releases_agree(released, tmp_path):
    ledger, first, second = released
    loaded = tacit.Release.load(first.save(tmp_path / "first.json"))
    assert ledger.verify(releases={"first": loaded, "second": second, "copy": first}) == []


def test_edited_releases_are_caught(released):
    ledger, first, second = released
    values = (first.values[0] + 1, *first.values[1:])
    longer = replace(PLANNED, schema=tacit.Schema({"x": ["a", "c"]}))
    for edited, problems in (
        (replace(first, values=values), ["its content is not what entry 4 noted"]),
        (replace(first, n=first.n + 1), ["its content is not what entry 4 noted"]),
        (
            replace(first, dataset="b"),
            ["entry 3 paid for another data set", "its content is not what entry 4 noted"],
        ),
        (replace(first, plan=longer), ["entry 3 paid for another plan", "its content is not what entry 4 noted"]),
        (
            replace(first, plan=replace(PLANNED, budget=PureDP(0.5))),
            [
                "entry 3 paid for another plan",
                "entry 3 paid for another price",
                "its content is not what entry 4 noted",
            ],
        ),
        (replace(first, id="other"), [f"entry 3 paid for the release with the id {first.id!r}"]),
        (replace(first, ledger=second.ledger), [f"entry 5 paid for the release with the id {second.id!r}"]),
        (
            replace(first, ledger={**first.ledger, "entry": 4, "head": ledger.entries()[3].hash}),
            ["entry 4, which its receipt points to, is not a spend"],
        ),
        (replace(first, ledger={**first.ledger, "entry": 9}), ["entry 9 of the receipt is not there"]),
        (replace(first, ledger={**first.ledger, "ledger": "0" * 32}), ["the receipt is of another ledger"]),
    ):
        assert ledger.verify(releases={"f": edited}) == [f"release 'f': {problem}" for problem in problems]
    swapped = {"f": replace(first, ledger=second.ledger), "s": replace(second, ledger=first.ledger)}
    assert len(ledger.verify(releases=swapped)) == 2
    (problem,) = ledger.verify(releases={"f": replace(first, ledger=None)})
    assert problem == "release 'f' has no receipt"


def test_two_releases_cannot_show_one_receipt(released):
    ledger, first, second = released
    stolen = replace(second, ledger=first.ledger)
    assert ledger.verify(releases={"f": first, "s": stolen}) == [
        "releases 'f' and 's' differ and show the same receipt, of entry 3",
        f"release 's': entry 3 paid for the release with the id {first.id!r}",
    ]


def test_a_release_that_was_not_noted_is_told_apart(ledger):
    receipt = ledger.spend("a", PLANNED.event(), digest(PLANNED.to_plain()))
    unnoted = replace(tacit.privatize({"x": ["a", "b"]}, PLANNED, ledger=None), dataset="a", ledger=receipt.to_plain())
    problem = "not noted: the ledger charged for entry 3 but knows no release that came of it"
    assert ledger.verify(releases={"f": unnoted}) == [f"release 'f': {problem}"]
    other = replace(unnoted, id="other")
    assert ledger.verify(releases={"f": unnoted, "o": other})[1].startswith("releases 'f' and 'o' differ")


def test_the_command_line_compares_releases_and_names_units(released, tmp_path):
    ledger, first, second = released
    ledger.new_dataset("b", ZCDP(0.3), person="id")
    honest, edited = tmp_path / "honest.json", tmp_path / "edited.json"
    first.save(honest)
    replace(second, n=second.n + 1).save(edited)
    run = CliRunner().invoke(app, ["verify", str(ledger.path), "--release", str(honest)])
    assert run.exit_code == 0
    assert "b: the total and all that was spent are for each person, by the column 'id'." in run.stdout
    run = CliRunner().invoke(app, ["verify", str(ledger.path), "--release", str(honest), "--release", str(edited)])
    assert run.exit_code == 1
    assert run.stdout == f"Problem: release {str(edited)!r}: its content is not what entry 6 noted.\n"
    assert "at delta" not in CliRunner().invoke(app, ["show", str(ledger.path)]).stdout
    assert "at delta = 1e-06" in CliRunner().invoke(app, ["show", str(ledger.path), "--delta", "1e-6"]).stdout
    new = ["new", str(ledger.path), "--dataset", "c", "--rho", "1", "--person", "id"]
    assert CliRunner().invoke(app, new).stdout.startswith("'c' has a total of rho = 1, for each person, by the column")
    assert ledger.units() == {"a": "row", "b": "person:id", "c": "person:id"}


# What fits next.


@pytest.mark.parametrize(
    "total", [PureDP(0.3), ZCDP(0.1), GDP(0.5), RenyiDP(8.0, 1.0), ApproxDP(1.0, 1e-6)], ids=lambda t: type(t).__name__
)
@pytest.mark.parametrize("spends", [0, 1, 3])
def test_the_largest_next_release_is_admitted_and_a_larger_one_is_not(ledger, total, spends):
    ledger.new_dataset("b", total)
    for _ in range(spends):
        ledger.spend("b", PureEvent(Fraction(1, 20)), PLAN)
    largest, spent = ledger.left("b", 1e-5).largest, [PureEvent(Fraction(1, 20))] * spends
    pairs = [
        (largest.epsilon, PureEvent),
        (largest.rho, lambda rho: GaussianEvent(2 * Fraction(rho), 0)),
        (largest.mu, lambda mu: GaussianEvent(Fraction(mu) ** 2, 0)),
        (largest.approximate, lambda epsilon: GaussianEvent(Fraction(gaussian.mu_for(epsilon, 1e-5)) ** 2, 0)),
    ]
    for value, make in pairs:
        if value is None:
            assert isinstance(total, PureDP)  # and Gaussian noise has no pure epsilon
            assert not Filter(total).admits(spent, make(1e-6))
        else:
            assert Filter(total).admits(spent, make(value))
            assert not Filter(total).admits(spent, make(value * (1 + 1e-6)))
    assert largest.epsilon is not None
    assert ledger.left("b").largest.approximate is None or isinstance(total, ApproxDP)


def test_the_largest_next_release_reads_as_it_was_declared(ledger):
    assert ledger.left("a").largest.epsilon == 1.0
    ledger.new_dataset("b", ZCDP(0.3))
    assert ledger.left("b").largest.rho == 0.3
    ledger.spend("a", PureEvent(1), PLAN)
    assert ledger.left("a").to_plain()["largest"] == {"epsilon": None, "rho": None, "mu": None, "approximate": None}


@pytest.mark.parametrize("delta", [0, 1, -1e-6, math.nan, "1e-6", True])
def test_a_delta_lies_between_0_and_1(ledger, delta):
    with pytest.raises(InputError, match="Expected delta="):
        ledger.left("a", delta)


# What is written down.


def test_the_chain_can_be_checked_by_anybody(ledger, path):
    """The hashes again, with nothing but SQLite and SHA-256."""
    ledger.record_release(ledger.spend("a", HALF, PLAN), "release-1", digest("content"))
    previous = "0" * 64
    for number, content, stored in sql(path, "SELECT number, content, hash FROM log ORDER BY number"):
        previous = hashlib.sha256((previous + content).encode()).hexdigest()
        assert stored == previous
        assert json.loads(content)["entry"] == number
        assert content == json.dumps(json.loads(content), sort_keys=True, separators=(",", ":"))
    assert ledger.head == previous


def test_the_digest_does_not_depend_on_the_order_of_keys():
    assert digest({"a": 1, "b": [1.5, "é"]}) == digest({"b": [1.5, "é"], "a": 1})
    assert digest({"a": 1}) != digest({"a": 2})


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE log SET content = '{}' WHERE number = 3",
        "DELETE FROM log WHERE number = 3",
        "INSERT OR REPLACE INTO log VALUES (3, '{}', '')",
        "INSERT INTO log VALUES (9, '{}', '')",
        "INSERT INTO log VALUES (-1, '{}', '')",
    ],
)
def test_the_log_only_grows(ledger, path, statement):
    ledger.spend("a", HALF, PLAN)
    with pytest.raises(sqlite3.IntegrityError, match="the ledger only grows"):
        sql(path, statement)
    assert ledger.verify() == []


def rewrite(path, number, change):
    """Change an entry and make the chain whole again, as somebody who wants to hide something would."""
    with raw(path) as connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        previous = "0" * 64
        for i, content in connection.execute("SELECT number, content FROM log ORDER BY number").fetchall():
            text = change(content) if i == number else content
            previous = hashlib.sha256((previous + text).encode()).hexdigest()
            connection.execute("UPDATE log SET content = ?, hash = ? WHERE number = ?", (text, previous, i))
        connection.execute("UPDATE head SET hash = ?", (previous,))
        for _, statement in triggers:
            connection.execute(statement)


def forge(path, number, change):
    """`rewrite`, and make everything again that follows from the log: what spends vouch for, and the tables."""
    rewrite(path, number, change)
    with raw(path) as connection:
        count = connection.execute("SELECT max(number) FROM log").fetchone()[0]
        for i in range(1, count + 1):
            rows = connection.execute("SELECT number, content, hash FROM log ORDER BY number").fetchall()
            entries, _ = read_chain([(n, c.encode(), h.encode()) for n, c, h in rows], [])
            accounts, problems = replay(entries[:i])
            assert problems == []
            texts = {name: account.state.text() for name, account in accounts.items()}
            vouch = root({name: digest(text) for name, text in texts.items()})
            if "state" in entries[i - 1].content:
                rewrite(path, i, lambda content, v=vouch: json.dumps({**json.loads(content), "state": v}, **COMPACT))
        connection.execute("DELETE FROM accounts")
        connection.execute("DELETE FROM released")
        for name, text in texts.items():
            connection.execute(
                "INSERT INTO accounts (dataset, state, digest) VALUES (?, ?, ?)", (name, text, digest(text))
            )
        for account in accounts.values():
            connection.executemany("INSERT INTO released VALUES (?, ?)", list(account.released.items()))


COMPACT = {"sort_keys": True, "separators": (",", ":")}


def test_an_edited_ledger_contradicts_a_published_receipt(ledger, path):
    published = [ledger.spend("a", HALF, PLAN), ledger.spend("a", QUARTER, PLAN)]
    rewrite(path, 3, lambda content: content.replace("1/2", "1/4"))
    assert Ledger(path).verify() == ["what it keeps of its accounts is not what its entries add up to"]
    forge(path, 3, lambda content: content)
    assert Ledger(path).verify() == []  # who makes everything again cannot be told by the ledger alone
    assert Ledger(path).left("a").left == PureDP(0.5)
    assert Ledger(path).verify(published) == [
        "entry 3 or one before it is not what it was when the receipt was given",
        "entry 4 or one before it is not what it was when the receipt was given",
    ]
    carried = Receipt.from_plain(json.loads(json.dumps(published[0].to_plain())))
    assert Ledger(path).verify([carried])


def test_an_older_copy_contradicts_a_published_receipt(ledger, path, tmp_path):
    shutil.copy(path, tmp_path / "copy.db")
    published = ledger.spend("a", HALF, PLAN)
    shutil.copy(tmp_path / "copy.db", path)
    assert ledger.verify() == []
    assert ledger.verify([published]) == ["entry 3 of the receipt is not there"]


def test_an_overspent_or_senseless_log_is_reported(ledger, path):
    ledger.spend("a", HALF, PLAN)
    ledger.spend("a", QUARTER, PLAN)
    forge(path, 4, lambda content: content.replace("1/4", "3/4"))
    assert Ledger(path).verify() == ["the data set 'a' has spent more than its total, epsilon = 1"]
    forge(path, 4, lambda content: content.replace("3/4", "1/4"))
    vouch = "what it keeps of its accounts is not what its last spend vouches for"
    for change, problem, refusal in (
        (lambda content: content.replace('"dataset":"a"', '"dataset":"b"'), "entry 4 makes no sense", None),
        (lambda content: content.replace('"kind":"spend"', '"kind":"gift"'), "entry 4 makes no sense: the kind", vouch),
        (lambda content: content.replace('"state":"', '"state":"0'), vouch, vouch),
        (lambda content: content.replace('"entry":4', '"entry":5'), "entry 4 does not say which entry it is", ""),
        (lambda content: content[:-1], "entry 4 does not say which entry it is", ""),
    ):
        copy = path.with_name("copy.db")
        shutil.copy(path, copy)
        rewrite(copy, 4, change)
        assert any(found.startswith(problem) for found in Ledger(copy).verify())
        with pytest.raises(
            RefusedError, match=f"to be intact: {refusal or problem}" if refusal is not None else "room"
        ):
            Ledger(copy).spend("a", PureEvent(Fraction(26, 100)), PLAN)


@pytest.mark.parametrize("total", [PureDP(1.0), ZCDP(1.0), GDP(1.0), RenyiDP(8.0, 1.0), ApproxDP(1.0, 1e-6)])
def test_an_event_beyond_all_numbers_is_a_problem_and_no_crash(path, total):
    made = Ledger.create(path)
    made.new_dataset("b", total)
    made.spend("b", LaplaceEvent(Fraction(1, 50), 100), PLAN)
    rewrite(path, 3, lambda content: content.replace('"1/50"', f'"{10**400}/1"'))
    (*_, problem) = made.verify()
    assert problem.startswith(("entry 3 makes no sense", "the data set 'b' has spent more than its total"))
    with pytest.raises(InputError, match="to be intact"):
        words(made)


@pytest.mark.parametrize("total", [PureDP(1.0), ZCDP(1.0), GDP(1.0), RenyiDP(8.0, 1.0), ApproxDP(1.0, 1e-6)])
@pytest.mark.parametrize("power", [155, 300])
def test_prices_that_overflow_give_a_sentence_or_nothing_proved(path, total, power):
    """Each number is a float, and its square or the sum of two is not."""
    made = Ledger.create(path)
    made.new_dataset("b", total)
    for _ in range(2):
        made.spend("b", LaplaceEvent(Fraction(1, 50), 100), PLAN)
    rewrite(path, 3, lambda content: content.replace('"1/50"', f'"{9 * 10**power}/1"'))
    rewrite(path, 4, lambda content: content.replace('"1/50"', f'"{9 * 10**power}/1"'))
    assert made.verify()
    said = []
    with contextlib.suppress(InputError):
        said = words(made, 1e-9)
    assert all("= inf" not in line and "= nan" not in line for line in said)
    if not said:
        with pytest.raises(InputError, match="to be intact: what was spent of 'b' is beyond all prices"):
            words(made, 1e-9)


def test_another_ledger_in_the_same_place_is_noticed(ledger, path):
    path.unlink()
    Ledger.create(path).new_dataset("a", PureDP(1.0))
    with pytest.raises(RefusedError, match="another ledger has taken its place"):
        ledger.spend("a", HALF, PLAN)


# Names, totals, digests.


@pytest.mark.parametrize("name", ["", " a", "a\n", "a/b", "x" * 201, "-a", None, 3])
def test_names_are_plain(ledger, name):
    with pytest.raises(InputError, match="Expected dataset="):
        ledger.new_dataset(name, PureDP(1.0))
    with pytest.raises(InputError, match="Expected release_id="):
        ledger.record_release(Receipt(ledger.id, 2, ledger.head), name, PLAN)


def test_totals_are_set_once(ledger):
    with pytest.raises(
        InputError, match="Expected dataset='a' to be new; its total is epsilon = 1 and cannot be changed"
    ):
        ledger.new_dataset("a", PureDP(2.0))
    with pytest.raises(InputError, match=r"Expected total=1\.0"):
        ledger.new_dataset("b", 1.0)
    with pytest.raises(InputError, match="Expected assumes="):
        ledger.new_dataset("b", PureDP(1.0, assumes=("an exact draw",)))
    with pytest.raises(
        InputError, match=r"Expected dataset='A' to have a total in the ledger.*`tacit ledger new` sets one"
    ):
        ledger.spend("A", HALF, PLAN)
    ledger.new_dataset("insurance", PureDP(1.0))
    with pytest.raises(InputError, match="did you mean 'insurance'"):
        ledger.left("insurence")
    assert ledger.datasets() == {"a": PureDP(1.0), "insurance": PureDP(1.0)}


@pytest.mark.parametrize("wrong", ["", "abc", PLAN.upper(), PLAN + "0", None, 1])
def test_digests_are_digests(ledger, wrong):
    with pytest.raises(InputError, match="Expected plan_digest="):
        ledger.spend("a", HALF, wrong)
    with pytest.raises(InputError, match="Expected event="):
        ledger.spend("a", PureDP(1.0), PLAN)


@pytest.mark.parametrize(
    "plain",
    [
        None,
        {},
        {"ledger": "0" * 32, "entry": 1},
        {"ledger": "0" * 32, "entry": True, "head": PLAN},
        {"ledger": "0" * 32, "entry": 0, "head": PLAN},
        {"ledger": "0" * 32, "entry": 1, "head": "y"},
        {"ledger": "x", "entry": 1, "head": PLAN},
    ],
)
def test_receipts_are_receipts(plain):
    with pytest.raises(InputError):
        Receipt.from_plain(plain)


@pytest.mark.parametrize(
    "event",
    [
        LaplaceEvent(Fraction(10, 333), 12345),
        GaussianEvent(Fraction(1, 10**30), Fraction(1, 10**12)),
        PureEvent(0.1),
        BoundedRangeEvent(Fraction(1, 3)),
        RenyiEvent(Fraction(21, 10), Fraction(1, 7)),
    ],
)
def test_events_come_back_exactly(path, event):
    made = Ledger.create(path)
    made.new_dataset("a", ApproxDP(10.0, 1e-3))
    made.spend("a", event, PLAN)
    assert made._read().accounts["a"].spent == [event]


# Plain words.


def test_words(ledger):
    ledger.new_dataset("b", ApproxDP(1.0, 1e-6))
    ledger.new_dataset("c", RenyiDP(8.0, 1.0), person="id")
    ledger.record_release(ledger.spend("a", HALF, PLAN), "release-1", digest("content"))
    ledger.spend("a", HALF, PLAN)
    ledger.spend("b", GaussianEvent(Fraction(1, 100), 0), PLAN)
    said = words(ledger)
    assert said[0] == f"Ledger {ledger.id}: 3 data sets, 8 entries."
    assert said[2:6] == [
        "a: the total is epsilon = 1, for each row.",
        "  Paid for: 2 releases, of which 1 not recorded as made (what may have been spent counts as spent).",
        "  Spent, as if all of it had been planned from the start: epsilon = 1, or rho = 0.244919, or mu = 0.882318.",
        "  Nothing is left.",
    ]
    assert said[10].startswith("  Left: epsilon = 0.8")
    assert re.fullmatch(
        r"  The largest next release, one of: pure epsilon = 0\.\d+, or Gaussian noise of rho = 0\.0\d+, "
        r"or mu = 0\.\d+, or epsilon = 0\.8\d+ at delta = 1e-06\.",
        said[11],
    )
    assert said[13:17] == [
        "c: the total is order = 8, epsilon = 1, for each person, by the column 'id'.",
        "  Nothing has been spent.",
        "  All of it is left; a plan with epsilon = 1 at order = 8 or less would fit.",
        "  The largest next release, one of: pure epsilon = 1.04312, or Gaussian noise of rho = 0.125, or mu = 0.5.",
    ]
    assert said[-1] == f"The hash of the last entry is {ledger.head}."
    said = words(ledger, 1e-6)
    assert said[4].endswith("or mu = 0.882318, or epsilon = 0.999997 at delta = 1e-06.")
    assert said[16].endswith("or mu = 0.5, or epsilon = 2.25408 at delta = 1e-06.")
    plain = json.loads(json.dumps(ledger.to_plain(), allow_nan=False))
    assert plain["head"] == ledger.head
    assert [d["dataset"] for d in plain["datasets"]] == ["a", "b", "c"]
    assert [d["unit"] for d in plain["datasets"]] == ["row", "row", "person:id"]
    assert plain["datasets"][0]["spent"] == {
        "epsilon": 1.0,
        "rho": ledger.left("a").rho,
        "mu": ledger.left("a").mu,
        "approximate": None,
    }
    assert plain["datasets"][1]["largest"]["approximate"]["delta"] == 1e-6
    assert plain["datasets"][1]["spent"]["epsilon"] is None
    assert all(json.loads(json.dumps(entry.to_plain()))["hash"] == entry.hash for entry in ledger.entries())


def test_the_ledger_is_light():
    code = "import sys, tacit.ledger; print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"jax", "numpy", "scipy", "pyarrow", "pandas", "dp_accounting"} & set(loaded)


# Files that are not as they should be.


def test_files_that_are_no_ledgers(tmp_path, path):
    with pytest.raises(InputError, match="to be a file that exists; `tacit ledger new` makes one"):
        Ledger(path)
    with pytest.raises(InputError, match="to be a file, not a folder"):
        Ledger(tmp_path)
    with pytest.raises(InputError, match="to lie in a folder that exists"):
        Ledger.create(tmp_path / "missing" / "ledger.db")
    with pytest.raises(InputError, match="to be a file that exists"):
        Ledger(tmp_path / "missing" / "ledger.db")
    for content, problem in (
        (b"not a database, but long enough to look at" * 50, "it is not a SQLite file"),
        (b"", "it is another kind of database"),
        (b"SQLite format 3\x00" + b"\xff" * 5000, "Expected ledger="),
    ):
        path.write_bytes(content)
        with pytest.raises(InputError, match=problem):
            Ledger(path)
        assert path.read_bytes() == content
    with pytest.raises(InputError, match="not to exist yet"):
        Ledger.create(path)
    path.unlink()
    sql(path, "CREATE TABLE other (a)")
    with pytest.raises(InputError, match="it is another kind of database"):
        Ledger(path)


def test_other_formats_are_refused(ledger, path):
    sql(path, f"PRAGMA user_version = {store.FORMAT + 1}")
    with pytest.raises(InputError, match=r"to have a format from 1 to \d+, not \d+; it was written by a newer tacit"):
        ledger.spend("a", HALF, PLAN)
    sql(path, "PRAGMA user_version = 0")
    with pytest.raises(InputError, match=r"to have a format from 1 to \d+, not 0\."):
        Ledger(path)
    sql(path, "PRAGMA user_version = 1")  # the tables of the newest format do not belong there
    with pytest.raises(InputError, match="its tables or triggers have been changed"):
        Ledger(path)


def test_a_ledger_without_its_triggers_is_refused(ledger, path):
    sql(path, "DROP TRIGGER log_never_changes")
    with pytest.raises(InputError, match="its tables or triggers have been changed"):
        ledger.spend("a", HALF, PLAN)
    (problem,) = ledger.verify()
    assert problem.endswith("to be intact; its tables or triggers have been changed.")


def test_a_log_that_lost_its_end_is_noticed(ledger, path):
    ledger.spend("a", HALF, PLAN)
    ((trigger,),) = sql(path, "SELECT sql FROM sqlite_master WHERE name = 'log_never_shrinks'")
    sql(path, "DROP TRIGGER log_never_shrinks", "DELETE FROM log WHERE number = 3", trigger)
    assert ledger.verify() == ["the last entry is not the one that the ledger names as its last"]
    with pytest.raises(RefusedError, match="to be intact: the last entry is not the one"):
        ledger.spend("a", HALF, PLAN)


def test_a_lock_that_is_held_too_long_is_refused(ledger, path, monkeypatch):
    monkeypatch.setattr(store, "_BUSY_SECONDS", 0.1)
    with raw(path) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(RefusedError, match="to record the entry: another process has held it for 60 seconds"):
            ledger.spend("a", HALF, PLAN)
        with pytest.raises(InputError, match="to be readable: another process has held it"):
            ledger.left("a")
    assert ledger.spend("a", HALF, PLAN).entry == 3


def test_a_ledger_in_write_ahead_mode_goes_back_to_one_file(ledger, path):
    sql(path, "PRAGMA journal_mode = WAL")
    ledger.spend("a", HALF, PLAN)
    assert sql(path, "PRAGMA journal_mode") == [("delete",)]
    assert [p.name for p in path.parent.iterdir()] == ["ledger.db"]
    assert ledger.verify() == []


def test_odd_paths(tmp_path):
    for name in ("a b?mode=memory#x%20.db", "ä'\".db"):
        made = Ledger.create(tmp_path / name)
        made.new_dataset("a", PureDP(1.0))
        made.spend("a", HALF, PLAN)
        assert Ledger(str(tmp_path / name)).verify() == []
    assert len(list(tmp_path.iterdir())) == 2


def as_nobody(path, action):
    """What a process without the rights of root gets to hear."""
    run = subprocess.run(
        [sys.executable, str(WORKER), "as-nobody", str(path), action], capture_output=True, text=True, check=True
    )
    return run.stdout.strip()


@pytest.mark.parametrize(
    ("file_mode", "folder_mode", "action", "said"),
    [
        (
            0o444,
            0o755,
            "spend",
            "RefusedError: .* to record the entry: it or its folder is read-only, so nothing may be",
        ),
        (0o666, 0o555, "spend", "RefusedError: .* to record the entry: it or its folder "),
        (0o444, 0o755, "verify", "done"),
        (0o666, 0o555, "verify", "done"),
        (0o000, 0o755, "open", "InputError: .* to be readable: it or its folder cannot be opened"),
        (0o666, 0o000, "open", "InputError: .* to be readable: "),
    ],
)
def test_files_without_permission(file_mode, folder_mode, action, said):
    with tempfile.TemporaryDirectory() as outer:
        os.chmod(outer, 0o755)
        folder = Path(outer) / "ledgers"
        folder.mkdir()
        made = Ledger.create(folder / "ledger.db")
        made.new_dataset("a", PureDP(1.0))
        head = made.head
        os.chmod(folder / "ledger.db", file_mode)
        os.chmod(folder, folder_mode)
        try:
            assert re.match(said, as_nobody(made.path, action))
        finally:
            os.chmod(folder, 0o755)
            os.chmod(folder / "ledger.db", 0o666)
        assert made.head == head
        assert made.spend("a", HALF, PLAN).entry == 3


def test_commits_reach_the_disk(ledger, path):
    """EXTRA (3): the folder is synced after the journal is deleted, so a power cut cannot bring the journal back."""
    with store._connection(path) as connection:
        assert connection.execute("PRAGMA synchronous").fetchall() == [(3,)]
        assert connection.execute("PRAGMA journal_mode").fetchall() == [(b"delete",)]


# Damage: every flipped bit is noticed, or changes nothing.


@pytest.fixture(scope="module")
def memory():
    """A folder in memory where there is one: hundreds of damaged copies need not reach a disk."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def spent(memory):
    """A ledger of several pages in which 9/10 of the budget are spent."""
    made = Ledger.create(memory / "ledger.db")
    made.new_dataset("a", PureDP(1.0))
    for i in range(36):
        made.record_release(made.spend("a", LaplaceEvent(Fraction(1, 40), 100), PLAN), f"r{i}", PLAN)
    return made


def harm(spent, damage):
    """Damage a copy, then try to spend too much and to spend a little. True if the damage was noticed."""
    copy = spent.path.with_name("copy.db")
    content = bytearray(spent.path.read_bytes())
    damage(content)
    copy.write_bytes(content)
    try:
        ledger = Ledger(copy)
        problems = ledger.verify()
        with pytest.raises((RefusedError, InputError)):
            ledger.spend("a", LaplaceEvent(Fraction(1, 5), 100), PLAN)
        ledger.spend("a", LaplaceEvent(Fraction(1, 40), 100), PLAN)
    except (InputError, RefusedError):
        return True
    # The spend went through. If `verify` saw nothing before it, then nothing may have changed.
    if not problems:
        assert [e.hash for e in ledger.entries()[:-1]] == [e.hash for e in spent.entries()]
        assert ledger.verify() == []
    return bool(problems)


@pytest.mark.parametrize("flips", [250, pytest.param(10_000, marks=pytest.mark.slow)])
def test_a_flipped_bit_is_noticed_or_harmless(spent, flips):
    """Seed 11. At least half of the bits of this file count, so far fewer noticed ones would mean that nobody looks."""
    rng = random.Random(11)
    size = spent.path.stat().st_size
    noticed = 0
    for _ in range(flips):
        offset = rng.choice(
            [rng.randrange(size), rng.randrange(100), 4096 * rng.randrange(size // 4096) + rng.randrange(12)]
        )
        bit = 1 << rng.randrange(8)
        noticed += harm(spent, lambda c, o=offset, b=bit: c.__setitem__(o, c[o] ^ b))
    assert noticed > flips / 2


def test_a_flipped_bit_in_the_amount_is_noticed(spent):
    """The fault that matters most: one spend of 1/40 turned into 1/60 by one bit, in the middle of the file."""
    text = b'"epsilon":"1/40"'
    at = spent.path.read_bytes().index(text) + text.index(b"4")
    assert harm(spent, lambda content: content.__setitem__(at, ord("6")))


@pytest.mark.parametrize("pages", range(1, 5))
def test_a_file_that_was_cut_short_is_noticed(spent, pages):
    for cut in (4096 * pages, 4096 * pages - 1000):
        assert harm(spent, lambda content, cut=cut: content.__delitem__(slice(cut, None)))


def test_a_page_of_zeros_is_noticed(spent):
    size = spent.path.stat().st_size
    noticed = [
        harm(spent, lambda c, p=page: c.__setitem__(slice(p, p + 4096), bytes(4096))) for page in range(0, size, 4096)
    ]
    assert all(noticed)
    assert len(noticed) >= 5
    assert math.ceil(size / 4096) == len(noticed)
