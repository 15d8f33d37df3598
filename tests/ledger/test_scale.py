"""A ledger of any length: an entry is written without reading the log, and what is kept in its place cannot lie."""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import sqlite3
import stat
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tacit
from tacit.cli.ledger import app
from tacit.errors import InputError, RefusedError
from tacit.ledger import Head, Ledger, book, digest, formats, store
from tacit.ledger.state import State, root
from tacit.privacy import sums
from tacit.privacy.approximate_filter import limits
from tacit.privacy.events import (
    BoundedRangeEvent,
    Event,
    GaussianEvent,
    LaplaceEvent,
    PureEvent,
    RenyiEvent,
    rounded_up,
)
from tacit.privacy.filter import Filter
from tacit.privacy.guarantees import GDP, ZCDP, ApproxDP, PureDP, RenyiDP
from tacit.privacy.spent import Spent

PLAN = digest({"plan": "test"})
HALF, QUARTER = LaplaceEvent(Fraction(1, 2), 100), LaplaceEvent(Fraction(1, 4), 100)
OLD = Path(__file__).parents[1] / "formats"
TOTALS = [PureDP(1.0), ZCDP(0.5), GDP(2.0), RenyiDP(8.0, 1.0), ApproxDP(1.0, 1e-6)]
VOUCH = "what it keeps of its accounts is not what its last spend vouches for"
ADD_UP = "what it keeps of its accounts is not what its entries add up to"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


@pytest.fixture
def ledger(path):
    made = Ledger.create(path)
    made.new_dataset("a", PureDP(1.0))
    return made


def sql(path, *statements):
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        return [connection.execute(*((s,) if isinstance(s, str) else s)).fetchall() for s in statements][-1]


def random_event(rng: random.Random) -> Event:
    """Rationals whose common denominator would grow without end, floats, slacks, infinite prices."""
    small = Fraction(rng.randrange(1, 10**6), rng.randrange(10**9, 10**12))
    return rng.choice(
        [
            lambda: LaplaceEvent(small, rng.randrange(1, 10**6)),
            lambda: PureEvent(rng.random() * 1e-6),
            lambda: GaussianEvent(small**2, Fraction(rng.randrange(3), 10**30)),
            lambda: BoundedRangeEvent(small),
            lambda: RenyiEvent(Fraction(rng.randrange(20, 90), 10), small),
        ]
    )()


# Sums that are kept, and sums made again from all events.


@pytest.mark.parametrize("total", TOTALS, ids=lambda t: type(t).__name__)
def test_kept_sums_are_those_of_the_whole_history(total):
    """Seed 1: 10,000 events of 150 kinds, written down and read back in between, against sums taken in another way."""
    rng, filter_ = random.Random(1), Filter(total)
    kinds = [random_event(rng) for _ in range(150)]
    kept, events = Spent(), []
    for i in range(10_000):
        event = rng.choice(kinds)
        if i in (0, 1, 2, 40, 9_999):
            assert filter_.admits(kept, event) == filter_.admits(events, event)
        events.append(event)
        kept = filter_.add(kept, event)
        if i % 97 == 0:
            text = State(total, "row", kept).text()
            assert State.read(text) == State(total, "row", kept)
            kept = State.read(text).spent
    assert (kept.count, kept.first) == (10_000, events[0])
    if isinstance(total, ApproxDP):
        found = limits(total, events[0])
        prices = list(zip(*map(found.prices, events), strict=True))
        assert [float(tau) for tau in kept.sums[3:]] == [math.fsum(map(float, price)) for price in prices[3:]]
        prices = prices[:3]
    else:
        prices = [[filter_.price(event) for event in events]]
    for total_price, price in zip(kept.sums, prices, strict=False):
        if math.inf in price:
            assert total_price == math.inf
        else:
            exact = pairwise([Fraction(rounded_up(one)) for one in price])
            assert exact <= total_price <= exact + Fraction(10_000, 2**1024)
    assert filter_.left(kept) == filter_.left(events)
    assert filter_.why_not(kept, HALF) == filter_.why_not(events, HALF)


def pairwise(prices):
    """The exact sum; one after the other it would take minutes, with a denominator of tens of thousands of digits."""
    while len(prices) > 1:
        prices = [sum(prices[i : i + 2]) for i in range(0, len(prices), 2)]
    return prices[0]


def test_ten_thousand_events_add_up_to_the_same_and_never_to_less():
    """Seed 3. The exact sum, with a denominator of tens of thousands of digits, is taken in one step for comparison."""
    rng = random.Random(3)
    prices = [Fraction(rng.randrange(1, 10**6), rng.randrange(10**9, 10**12)) for _ in range(10_000)]
    kept = Fraction(0)
    for price in prices:
        kept = sums.plus(kept, price)
    assert kept == sums.sum_of(prices)
    assert kept.denominator <= 2**1024
    exact = pairwise(prices)
    assert exact.denominator > 2**10_000
    assert exact <= kept <= exact + Fraction(10_000, 2**1024)


def test_short_fractions_stay_exact():
    assert sums.sum_of([Fraction(1, 3)] * 3) == 1
    assert sums.sum_of([Fraction(1, q) for q in range(1, 200)]) == sum(Fraction(1, q) for q in range(1, 200))
    assert sums.plus(Fraction(1, 2), float("inf")) == float("inf")


# What an entry costs.


def test_an_entry_reads_a_handful_of_rows(ledger, path, monkeypatch):
    """Neither the whole log nor SQLite's check of the file; counted in rows, so that no clock decides."""
    for i in range(60):
        ledger.record_release(ledger.spend("a", LaplaceEvent(Fraction(1, 1000), 100), PLAN), f"r{i}", PLAN)
    read = []
    backwards = store.Transaction.rows_from_the_end

    def counted(self):
        for row in backwards(self):
            read.append(row)
            yield row

    def forbidden(self):
        raise AssertionError("the whole log was read")

    monkeypatch.setattr(store.Transaction, "rows_from_the_end", counted)
    for name in ("rows", "damage", "released"):
        monkeypatch.setattr(store.Transaction, name, forbidden)
    again = Ledger(path)
    receipt = again.spend("a", LaplaceEvent(Fraction(1, 1000), 100), PLAN)
    again.record_release(receipt, "last", PLAN)
    assert (again.receipt().entries, again.spends("a")) == (124, 61)
    assert again.datasets() == {"a": PureDP(1.0)}
    assert len(read) <= 12
    monkeypatch.undo()
    assert again.verify([receipt]) == []


@pytest.mark.parametrize("total", TOTALS, ids=lambda t: type(t).__name__)
def test_what_is_kept_does_not_grow(path, total):
    """Seed 5: 400 different events, and the account's row stays within the same few kilobytes."""
    rng, made = random.Random(5), Ledger.create(path)
    made.new_dataset("a", total)
    sizes = []
    with store.writing(path) as log:
        open_book = book.Book(log)
        for _ in range(400):
            open_book.charge("a", open_book.account("a"), random_event(rng), PLAN)
            sizes.append(len(log.state("a")))
    assert max(sizes[200:]) <= 1.5 * max(sizes[100:200])
    assert max(sizes) < 25_000


# What is kept cannot be edited to gain budget.


def spent_ledger(path):
    """All but a quarter is spent on ``a``, and the last release is published."""
    made = Ledger.create(path)
    made.new_dataset("a", PureDP(1.0))
    made.new_dataset("b", PureDP(1.0))
    receipts = [made.spend("a", HALF, PLAN), made.spend("a", QUARTER, PLAN)]
    made.record_release(receipts[0], "r1", PLAN)
    made.record_release(receipts[1], "r2", PLAN)
    return made, receipts


def kept(path, dataset="a"):
    ((text,),) = sql(path, f"SELECT state FROM accounts WHERE dataset = '{dataset}'")
    return text


def test_edited_sums_are_refused(path):
    made, _ = spent_ledger(path)
    for change in (
        lambda text: text.replace('"sums":["3/4"]', '"sums":["1/4"]'),
        lambda text: text.replace('"epsilon":1.0', '"epsilon":9.0'),
        lambda text: text.replace('"unit":"row"', '"unit":"person:id"'),
    ):
        copy = path.with_name("copy.db")
        shutil.copy(path, copy)
        text = change(kept(copy))
        assert text != kept(copy)
        sql(copy, ("UPDATE accounts SET state = ? WHERE dataset = 'a'", (text,)))
        for _ in range(2):  # first the row alone, then its digest too
            edited = Ledger(copy)
            with pytest.raises(RefusedError, match=f"to be intact: {VOUCH}"):
                edited.spend("a", PureEvent(Fraction(1, 100)), PLAN)
            assert ADD_UP in edited.verify()
            sql(copy, ("UPDATE accounts SET digest = ? WHERE dataset = 'a'", (digest(text),)))
    for statement in (
        "DELETE FROM accounts WHERE dataset = 'a'",
        "UPDATE accounts SET dataset = 'c' WHERE dataset = 'b'",
        "DELETE FROM accounts",
    ):
        shutil.copy(path, copy)
        sql(copy, statement)
        with pytest.raises(RefusedError, match=f"to be intact: {VOUCH}"):
            Ledger(copy).spend("a", PureEvent(Fraction(1, 100)), PLAN)
        assert Ledger(copy).verify() == [VOUCH, ADD_UP]
    assert made.verify() == []


def relink(path, first, change):
    """Change entries from ``first`` on and make the chain whole again from there."""
    triggers = sql(path, "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
    rows = sql(path, "SELECT number, content, hash FROM log ORDER BY number")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        previous = rows[first - 2][2]
        for number, content, _ in rows[first - 1 :]:
            text = json.dumps(change(number, json.loads(content)), sort_keys=True, separators=(",", ":"))
            previous = tacit.ledger.chain.link(previous, text.encode())
            connection.execute("UPDATE log SET content = ?, hash = ? WHERE number = ?", (text, previous, number))
        connection.execute("UPDATE head SET hash = ?", (previous,))
        for _, statement in triggers:
            connection.execute(statement)


def test_sums_edited_together_with_the_spend_that_vouches_contradict_its_release(path):
    """The whole forgery: sums, their digest, what the last spend says of them, and every hash from there on."""
    made, receipts = spent_ledger(path)
    text = kept(path).replace('"sums":["3/4"]', '"sums":["1/4"]')
    sql(path, ("UPDATE accounts SET state = ?, digest = ? WHERE dataset = 'a'", (text, digest(text))))
    vouch = root({"a": digest(text), "b": digest(kept(path, "b"))})
    relink(path, 5, lambda number, content: {**content, "state": vouch} if number == 5 else content)
    made.spend("a", HALF, PLAN)  # goes through, and leaves itself in the log
    problems = made.verify(receipts)
    assert problems == [
        ADD_UP,
        "the data set 'a' has spent more than its total, epsilon = 1",
        "entry 5 or one before it is not what it was when the receipt was given",
    ]


def test_entries_after_the_last_spend_cannot_change_what_it_vouches_for(path):
    """A second, fresh total for the same data set, written past the ledger after everything that was published."""
    made, receipts = spent_ledger(path)
    fresh = State(PureDP(5.0), "row")
    head, number = made.head, made.receipt().entries
    content = {"kind": "dataset", "dataset": "a", "total": PureDP(5.0).to_plain(), "unit": "row"}
    with store.writing(path) as log:
        log.append(number + 1, head, content)
        log.keep_state("a", fresh.text(), digest(fresh.text()))
    with pytest.raises(RefusedError, match=VOUCH):
        made.spend("a", HALF, PLAN)
    assert made.verify(receipts) == [f"entry {number + 1} makes no sense: the data set 'a' has a total already"]


def test_an_edited_old_entry_gains_nothing_and_is_found(path):
    made, receipts = spent_ledger(path)
    triggers = sql(path, "SELECT sql FROM sqlite_master WHERE name = 'log_never_changes'")
    ((content,),) = sql(path, "SELECT content FROM log WHERE number = 4")
    sql(
        path,
        "DROP TRIGGER log_never_changes",
        ("UPDATE log SET content = ? WHERE number = 4", (content.replace("1/2", "1/9"),)),
        triggers[0][0],
    )
    with pytest.raises(RefusedError, match=r"epsilon = 0\.25 is left"):
        made.spend("a", HALF, PLAN)
    assert made.verify()[0] == "entry 4 does not match its hash"
    with pytest.raises(RefusedError, match="to be intact: entry 4 does not match its hash"):
        made.record_release(receipts[0], "other", PLAN)


def test_edited_notes_are_found(path):
    made, receipts = spent_ledger(path)
    sql(path, "DELETE FROM released WHERE spend = 4")
    assert made.verify() == ["what it keeps of its releases is not what its entries say"]
    made.record_release(receipts[0], "other", PLAN)
    assert made.verify()[0].startswith("entry 8 makes no sense: entry 4 is not a spend of this data set that awaits")


def test_sums_of_another_version_are_made_again(path, monkeypatch):
    """An account whose sums another version computed: kept ones are not believed, whatever they say."""
    made, receipts = spent_ledger(path)
    text = kept(path).replace('"sums":["3/4"]', '"sums":["1/8"]')
    sql(path, ("UPDATE accounts SET state = ?, digest = ? WHERE dataset = 'a'", (text, digest(text))))
    monkeypatch.setattr(book, "__version__", "99.0")
    assert made.spends("a") == 2
    with pytest.raises(RefusedError, match=r"epsilon = 0\.25 is left"):
        made.spend("a", HALF, PLAN)
    receipts.append(made.spend("a", QUARTER, PLAN))
    assert made.verify(receipts) == []
    assert made.entries()[-1].content["tacit"] == "99.0"
    monkeypatch.undo()
    with pytest.raises(RefusedError, match="nothing is left"):
        made.spend("a", QUARTER, PLAN)
    assert made.verify(receipts) == []


# Files of format 1.


@pytest.fixture
def old(path):
    shutil.copy(OLD / "ledger-1.db", path)
    return Ledger(path)


def test_a_ledger_of_format_1_is_read_as_it_is(old, path):
    content = path.read_bytes()
    release = tacit.Release.load(OLD / "ledger-1-release.json")
    assert old.verify(releases={"r": release}) == []
    assert old.left("pure").epsilon == pytest.approx(7 / 12, abs=1e-15)
    assert {name: old.spends(name) for name in old.datasets()} == {
        "pure": 2,
        "approximate": 3,
        "zcdp": 3,
        "gaussian": 1,
        "renyi": 2,
        "empty": 0,
    }
    assert (old.receipt().entries, old.units()["gaussian"]) == (22, "person:id")
    assert path.read_bytes() == content


def test_the_first_entry_brings_a_ledger_of_format_1_up_to_date(old, path):
    release = tacit.Release.load(OLD / "ledger-1-release.json")
    line = old.receipt().line
    with pytest.raises(RefusedError, match="room for this release"):
        old.spend("pure", HALF, PLAN)
    assert sql(path, "PRAGMA user_version") == [(1,)]  # a refusal writes nothing
    receipt = old.spend("pure", QUARTER, PLAN)
    assert sql(path, "PRAGMA user_version") == [(formats.FORMAT,)]
    old.record_release(receipt, "new", PLAN)
    with pytest.raises(RefusedError, match="room for this release"):
        old.spend("pure", QUARTER, PLAN)
    old.spend("gaussian", GaussianEvent(Fraction(1, 9), 0), PLAN, person="id")
    with pytest.raises(InputError, match="Expected release_id='r11' to be new"):
        old.record_release(old.spend("zcdp", PureEvent(Fraction(1, 100)), PLAN), "r11", PLAN)
    assert old.verify([receipt], {"r": release}, line) == []
    assert Ledger(path).entries()[21].content["time"].startswith("20")  # what was written stays as it was


def test_a_ledger_of_format_1_may_open_an_account_first(old, path):
    old.new_dataset("new", PureDP(1.0))
    old.new_dataset("newer", PureDP(1.0))
    old.spend("new", HALF, PLAN)
    old.spend("approximate", PureEvent(0.01), PLAN)
    assert old.verify() == []


def test_a_damaged_ledger_of_format_1_is_refused(old, path):
    content = bytearray(path.read_bytes())
    at = content.index(b'"epsilon":"1/3"') + len('"epsilon":"1/')
    content[at] = ord("9")
    path.write_bytes(content)
    with pytest.raises(RefusedError, match="to be intact: entry 22 does not match its hash"):
        Ledger(path).spend("pure", QUARTER, PLAN)
    assert sql(path, "PRAGMA user_version") == [(1,)]


# A ledger that was set back.


def test_a_backup_that_was_restored_is_noticed(ledger, path, tmp_path):
    shutil.copy(path, tmp_path / "backup.db")
    ledger.spend("a", HALF, PLAN)
    heads = tmp_path / "heads.txt"
    run = CliRunner().invoke(app, ["head", str(path)])
    assert run.exit_code == 0
    heads.write_text(run.stdout)
    ledger.spend("a", QUARTER, PLAN)
    with heads.open("a") as file:
        file.write(CliRunner().invoke(app, ["head", str(path)]).stdout)
    run = CliRunner().invoke(app, ["verify", str(path), "--head", str(heads)])
    assert (run.exit_code, "No problem found" in run.stdout) == (0, True)
    shutil.copy(tmp_path / "backup.db", path)
    assert ledger.verify() == []  # the ledger alone cannot tell
    for given in ([str(heads)], heads.read_text().splitlines()):
        run = CliRunner().invoke(app, ["verify", str(path), *(word for one in given for word in ("--head", one))])
        assert run.exit_code == 1
        assert len(run.stdout.splitlines()) == 2
        assert "the ledger had 3 entries on 20" in run.stdout
        assert "has 2 now: an older copy has taken its place, and what was spent in between is missing." in run.stdout
    ledger.spend("a", QUARTER, PLAN)  # as many entries again, but others
    ledger.spend("a", QUARTER, PLAN)
    first, last = ledger.verify(head=heads)
    assert first.startswith("entry 3 or one before it is not what it was on 20")
    assert last.startswith("entry 4 or one before it")


def test_a_head_is_one_line(ledger, tmp_path):
    head = ledger.receipt()
    assert Head.read(head.line) == head
    assert head.line == f"tacit-ledger-head {ledger.id} 2 {ledger.head} {head.date}"
    assert "\n" not in head.line
    other = Ledger.create(tmp_path / "other.db")
    assert other.verify(head=head.line) == [f"the head of {head.date} is of another ledger"]
    for wrong in ("tacit-ledger-head x", head.line + " more", head.line.replace(" 2 ", " 0 ")):
        with pytest.raises(InputError, match="to be a line that `tacit ledger head` printed"):
            ledger.verify(head=wrong)
    with pytest.raises(InputError, match="to be a file that exists"):
        ledger.verify(head="nowhere.txt")
    (tmp_path / "empty.txt").write_text("\n")
    with pytest.raises(InputError, match="Expected head=''"):
        ledger.verify(head=tmp_path / "empty.txt")


# What an entry tells about how long the rows took.


def test_no_entry_holds_a_time_of_day(ledger):
    tacit.privatize(
        {"x": ["a", "b"] * 10},
        tacit.Plan(tacit.Bernoulli("x"), tacit.Schema({"x": ["a", "b"]}), PureDP(0.25)),
        ledger=ledger,
        dataset="a",
    )
    kinds = [entry.kind for entry in ledger.entries()]
    assert kinds == ["ledger", "dataset", "spend", "released"]
    for entry in ledger.entries():
        assert "time" not in entry.content
        assert ("date" in entry.content) == (entry.kind != "released")
        assert len(entry.content.get("date", "2026-01-01")) == 10


# Who may read it.


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_a_ledger_is_private_whatever_the_umask(tmp_path, umask):
    before = os.umask(umask)
    try:
        made = Ledger.create(tmp_path / "ledger.db")
        made.new_dataset("a", PureDP(1.0))
        modes = {}
        for journal in ("delete", "wal"):
            with closing(sqlite3.connect(made.path, isolation_level=None)) as connection:
                connection.execute(f"PRAGMA journal_mode = {journal}")
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("DELETE FROM released")
                connection.execute("UPDATE accounts SET digest = digest")
                modes |= {p.name: stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()}
                connection.execute("ROLLBACK")
    finally:
        os.umask(before)
    assert {"ledger.db", "ledger.db-journal", "ledger.db-wal"} <= set(modes)
    assert set(modes.values()) == {0o600}
