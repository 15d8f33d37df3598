"""The screen: cells are classed by the code that parses them, the ledger pays first, and an inference warns by it."""

from __future__ import annotations

import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import tacit
from tacit.boundary import collect, needed
from tacit.cell_screen import Screen, ScreenPlan
from tacit.cli import app
from tacit.engines.threads import Threads
from tacit.noise.entropy import OSEntropy
from tacit.posterior.tree import check_screens
from tacit.privacy.guarantees import guarantee_from_plain
from tacit.sources.open import open_source
from tacit.statistics.cell_classes import CellClasses

SCHEMA = tacit.Schema(smoker=["No", "Yes"], age=(18, 80))
PLAN = tacit.Plan(tacit.Bernoulli("smoker"), SCHEMA, tacit.PureDP(1.0))


def exact(data, plan=PLAN, engine=None):
    """The exact counts by entry, straight from the secret side of the boundary."""
    asked = ScreenPlan.of(plan, tacit.PureDP(1.0))
    _, found = collect(open_source(data, *needed(asked)), asked, None, engine or Threads(1))
    entries, unit = asked.calibrated_mechanism().entries, asked.calibrated_mechanism().unit
    return {entry: total // unit for entry, total in zip(entries, found.totals, strict=True) if total}


# ---------------------------------------------------------------------------------------------------------------------
# The class of a cell


class Hostile:
    """Whatever is asked of it fails."""

    def __str__(self):
        raise RuntimeError("canary")

    __repr__ = __eq__ = __ne__ = __float__ = __str__
    __hash__ = None


NUMBERS = {
    "as declared": ["20", " 80 ", 18, 80.0, True, np.float32(30), Decimal("44.5"), "1.8e1"],
    "missing": ["", "  ", "\t", None, float("nan"), Decimal("NaN"), pd.NA, pd.NaT, np.datetime64("NaT", "ns"), b" "],
    "unreadable": ["n/a", "nan", "inf", "1,5", "0x10", float("inf"), "1e999", Hostile(), [1], b"\xff", "1_0"],
    "below": ["17.999", -1e308, False, "-5"],
    "above": ["80.0001", 10**400 // 10**300, 1e308, "1e10"],
}
LEVELS = {
    "as declared": ["No", " Yes ", b"No"],
    "missing": ["", " ", None, float("nan"), pd.NA],
    "unknown": ["no", "YES", "N o", "nan", 1, True, float("inf"), Hostile(), "Nö"],
}


@pytest.mark.parametrize(
    ("name", "other", "table"), [("age", "smoker", NUMBERS), ("smoker", "age", LEVELS)], ids=["number", "category"]
)
def test_every_cell_has_the_class_that_stands_in_the_table(name, other, table):
    """One cell alone and all cells together; True is 1 and so below 18."""
    fine = {"smoker": "No", "age": 30}[other]
    table = {kind: [cell for cell in cells if cell is not True or name == "smoker"] for kind, cells in table.items()}
    for kind, cells in table.items():
        for cell in cells:
            found = exact({name: [cell], other: [fine]})
            assert found == ({} if kind == "as declared" else {f"{name}: {kind}": 1}), (kind, type(cell), found)
    everything = [cell for cells in table.values() for cell in cells]
    wanted = {f"{name}: {kind}": len(cells) for kind, cells in table.items() if kind != "as declared"}
    assert exact({name: everything, other: [fine] * len(everything)}) == wanted


def test_a_filled_cell_is_counted_and_no_other_is():
    """What a release would replace by the missing value, found by the release's own path and a third stand-in."""
    cells = [cell for cells in NUMBERS.values() for cell in cells]
    for cell in cells:
        found = exact({"smoker": ["No"], "age": [cell]})
        schema = tacit.Schema(age=tacit.Number(18, 80, missing=77.125))
        (batch,) = open_source({"age": [cell]}, ("age",), schema).batches(schema, ("age",), 1)
        filled = batch.columns["age"][0] == 77.125
        assert filled == bool({"age: missing", "age: unreadable"} & set(found))


def test_an_empty_text_that_is_a_level_and_bounds_that_are_units_only():
    plan = tacit.Plan(tacit.Bernoulli("a"), tacit.Schema(a=["", "x"]), tacit.PureDP(1.0))
    assert exact({"a": ["", " ", "x", None, "y"]}, plan) == {"a: missing": 1, "a: unknown": 1}
    schema = tacit.Schema(b=tacit.Number(0, 1, clamp=False)).screened()
    assert CellClasses.of(schema).entries == ("b: missing", "b: unreadable")


TEXT = {
    "smoker": ["No", "no", "", "Yes", "yes", "Yes", "maybe", None],
    "age": ["20", "17", "", "x", "81", "50", " ", None],
}
FOUND = {
    "smoker: missing": 2,
    "smoker: unknown": 3,
    "age: missing": 3,
    "age: unreadable": 1,
    "age: below": 1,
    "age: above": 1,
}


def _duckdb(folder):
    duckdb = pytest.importorskip("duckdb")
    rows = list(zip(*TEXT.values(), strict=True))
    with duckdb.connect(str(folder / "rows.duckdb")) as connection:
        connection.execute("create table people (smoker text, age text)")
        connection.executemany("insert into people values (?, ?)", rows)
    return f"{folder / 'rows.duckdb'}::people"


def _csv(folder):
    lines = [f"{a or ''},{b or ''}" for a, b in zip(TEXT["smoker"], TEXT["age"], strict=True)]
    (folder / "rows.csv").write_text("smoker,age\n" + "\n".join(lines) + "\n")
    return folder / "rows.csv"


def _parquet(folder):
    pq.write_table(pa.table(TEXT), folder / "rows.parquet", row_group_size=3)
    return folder / "rows.parquet"


def _feather(folder):
    feather.write_feather(pa.table(TEXT), str(folder / "rows.feather"), chunksize=3)
    return folder / "rows.feather"


WAYS = {
    "csv": _csv,
    "parquet": _parquet,
    "feather": _feather,
    "duckdb": _duckdb,
    "dict": lambda _: TEXT,
    "arrow": lambda _: pa.table(TEXT),
    "large": lambda _: pa.table(TEXT).cast(pa.schema([("smoker", pa.large_string()), ("age", pa.large_string())])),
    "view": lambda _: pa.table(TEXT).cast(pa.schema([("smoker", pa.string_view()), ("age", pa.string_view())])),
    "dictionary": lambda _: pa.table({k: pa.array(v).dictionary_encode() for k, v in TEXT.items()}),
    "pandas": lambda _: pd.DataFrame(TEXT, dtype=object),
    "pandas strings": lambda _: pd.DataFrame(TEXT, dtype="string"),
    "pandas categories": lambda _: pd.DataFrame(TEXT, dtype="category"),
    "polars": lambda _: pytest.importorskip("polars").DataFrame(TEXT),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("threads", [1, 3])
def test_every_source_finds_the_same_counts(way, threads, tmp_path, monkeypatch):
    monkeypatch.setattr("tacit.engines.threads._SMALL", 1)
    assert exact(WAYS[way](tmp_path), engine=Threads(threads)) == FOUND


def test_typed_columns():
    numbers = [20.0, 17.0, None, float("nan"), 81.0, float("inf")]
    wanted = {"age: missing": 2, "age: unreadable": 1, "age: below": 1, "age: above": 1}
    smoker = ["No"] * 6
    for age in (
        pa.array(numbers, pa.float64()),
        pa.array(numbers, pa.float32()),
        pa.array(numbers, pa.float64()).dictionary_encode(),
        np.array([np.nan if v is None else v for v in numbers]),
        pd.Series(numbers, dtype="float64"),
    ):
        assert exact({"smoker": smoker, "age": age}) == wanted
    whole = [20, 17, None, 81, 30, 30]
    wanted = {"age: missing": 1, "age: below": 1, "age: above": 1}
    for age in (
        pa.array(whole, pa.int8()),
        pa.array([None if v is None else Decimal(v) for v in whole], pa.decimal128(5, 1)),
        pd.Series(whole, dtype="Int64"),
        np.ma.array([v or 0 for v in whole], mask=[v is None for v in whole]),
    ):
        assert exact({"smoker": smoker, "age": age}) == wanted
    dates = tacit.Plan(tacit.NormalMean("d", sd=1.0), tacit.Schema(d=(0, 10)), tacit.PureDP(1.0))
    days = np.array(["1969-12-31", "1970-01-05", "NaT", "2020-01-01"], "datetime64[D]")
    for column in (days, pa.array(days)):
        assert exact({"d": column}, dates) == {"d: missing": 1, "d: below": 1, "d: above": 1}
    assert exact({"smoker": pa.nulls(2), "age": pa.nulls(2)}) == {"smoker: missing": 2, "age: missing": 2}


def test_of_a_person_the_rows_that_count_are_counted_and_lacking_ones_are_missing():
    """Three people with 1, 2 and 4 rows, of whom 2 rows count each: one empty row fills up the first."""
    rows = {"id": ["a", "b", "b", "c", "c", "c", "c"], "smoker": ["no"] * 7, "age": [99] * 7}
    assert exact(rows, PERSON) == {"smoker: missing": 1, "smoker: unknown": 5, "age: missing": 1, "age: above": 5}
    assert tacit.screen(rows, PERSON, epsilon=1.0, ledger=None).n == 6


# ---------------------------------------------------------------------------------------------------------------------
# What comes out


def rows_of(n, yes="yes", no="no"):
    """Seed 5."""
    rng = np.random.default_rng(5)
    return {"smoker": rng.choice([no, yes], n, p=[0.7, 0.3]), "age": rng.integers(18, 81, n)}


def test_misspelled_levels_are_flagged_and_right_ones_are_not():
    """Fresh entropy. epsilon 0.5 and 4 columns' worth of noise: sd 11 cells; 60 of 6,000 is the line. No warning where
    all is right has probability 95% by the docstring, and here above 1 - 6 e^-7; a miss is below e^-700.
    """
    screen = tacit.screen(rows_of(6000), PLAN, epsilon=0.5, ledger=None)
    (warning,) = screen.warnings()
    assert warning.startswith("smoker: about ")
    assert "of 6,000 cells [" in warning
    assert "are none of the declared levels 'No', 'Yes', and count as 'No': the spelling may differ." in warning
    (count,) = screen.noticed()
    assert (count.column, count.cells) == ("smoker", "unknown")
    assert 5800 < count.low <= count.count <= count.high <= 6000
    assert tacit.screen(rows_of(6000, "Yes", "No"), PLAN, epsilon=0.5, ledger=None).warnings() == ()


@pytest.mark.parametrize("price", [{"epsilon": 0.2}, {"rho": 0.01}, {"mu": 0.1}])
def test_intervals_cover_the_exact_counts_as_often_as_they_say(price):
    """Fresh entropy. 300 screens of 6 counts: misses are 5% of 1,800, 90 with sd 9.2; alarm at 6 sd (below 1e-8).
    Planted fault: intervals of half the width, which miss 22% (Laplace) or 33% (normal) of 1,200 that are not near 0.
    """
    rows = {"smoker": ["no", "Yes", ""] * 1000, "age": ["x", "90", "5"] * 1000}
    truth, asked = exact(rows), ScreenPlan.of(PLAN, guarantee_from_plain(price))
    n, collected = collect(open_source(rows, *needed(asked)), asked)
    misses = narrow = 0
    for _ in range(300):
        values = asked.calibrated_mechanism().cross(collected, n, OSEntropy())
        for one in Screen(asked, n, values, "people", "x").summary():
            true = truth.get(f"{one.column}: {one.cells}", 0)
            misses += not one.low <= true <= one.high
            narrow += true > 0 and abs(one.count - true) > (one.high - one.low) / 4
    assert misses < 90 + 6 * 9.2
    assert narrow > 90 + 6 * 9.2


def test_intervals_are_cut_to_what_is_possible():
    for _ in range(20):
        for one in tacit.screen({"smoker": ["no"] * 3, "age": [5] * 3}, PLAN, epsilon=0.01, ledger=None).summary():
            assert 0 <= one.low <= one.count <= one.high <= 3


def test_json_round_trip_and_every_edited_field_is_refused(tmp_path):
    screen = tacit.screen(rows_of(50), PLAN, epsilon=0.5, ledger=None, dataset="people")
    path = screen.save(tmp_path / "screen.json")
    assert tacit.Screen.load(path) == screen
    assert tacit.Screen.load(path).to_json() == path.read_text()
    plain = screen.to_plain()
    for name in plain:
        for wrong in (None, "x", -1, [], {}, 2.5):
            if name in ("id", "dataset") and wrong == "x":
                continue
            if name == "ledger" and wrong is None:
                continue
            with pytest.raises(tacit.InputError, match=r"^Expected .*\.$"):
                tacit.Screen.from_plain({**plain, name: wrong})
        with pytest.raises(tacit.InputError, match="Expected"):
            tacit.Screen.from_plain({key: value for key, value in plain.items() if key != name})
    louder = {**plain, "noise": {**plain["noise"], "scales": [scale // 2 for scale in plain["noise"]["scales"]]}}
    for wrong in ({**plain, "more": 1}, louder, {**plain, "asked": {**plain["asked"], "more": 1}}):
        with pytest.raises(tacit.InputError, match="Expected"):
            tacit.Screen.from_plain(wrong)
    for text in ("{", '{"screen": 1, "screen": 1}', path.read_text().replace('"n": 50', '"n": NaN')):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(tacit.InputError, match=r"^Expected .*screen.*\.$"):
            tacit.Screen.load(tmp_path / "bad.json")
    with pytest.raises(tacit.InputError, match="not a screen"):
        tacit.Release.load(path)


# ---------------------------------------------------------------------------------------------------------------------
# The order of things


@pytest.fixture
def book(tmp_path):
    ledger = tacit.Ledger.create(tmp_path / "ledger.db")
    ledger.new_dataset("people", tacit.PureDP(1.0))
    return ledger


def test_a_screen_is_verified_like_a_release(tmp_path):
    """The planted faults: another n, another receipt."""
    ledger = tacit.Ledger.create(tmp_path / "ledger.db")
    ledger.new_dataset("people", tacit.PureDP(2.0))
    rows = {"smoker": ["no", "yes"] * 20, "age": [30] * 40}
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for path in paths:
        tacit.screen(rows, PLAN, epsilon=0.5, ledger=ledger, dataset="people").save(path)
    release = tacit.privatize(rows, PLAN, ledger=ledger, dataset="people").save(tmp_path / "release.json")

    def verified(*files):
        words = [word for path in files for word in ("--release", str(path))]
        done = CliRunner().invoke(app, ["ledger", "verify", str(ledger.path), *words])
        return done.exit_code, " ".join(done.output.split())

    code, said = verified(*paths, release)
    assert code == 0
    assert "No problem found" in said
    plain = json.loads(paths[0].read_text())
    paths[0].write_text(json.dumps({**plain, "n": 41}))
    assert verified(*paths)[0] == 1
    paths[0].write_text(json.dumps({**plain, "ledger": json.loads(paths[1].read_text())["ledger"]}))
    code, said = verified(*paths)
    assert code == 1
    assert "show the same receipt" in said
    unpaid = tacit.screen(rows, PLAN, epsilon=0.5, ledger=None).save(tmp_path / "c.json")
    with pytest.raises(tacit.InputError, match="to have been paid for by a ledger"):
        CliRunner().invoke(
            app, ["ledger", "verify", str(ledger.path), "--release", str(unpaid)], catch_exceptions=False
        )


def test_the_ledger_pays_before_a_row_is_read_and_notes_the_result(book, monkeypatch):
    paid_at = []
    batch_sum = CellClasses.batch_sum

    def watched(self, columns):
        paid_at.append(len(book.entries("people")))
        return batch_sum(self, columns)

    monkeypatch.setattr(CellClasses, "batch_sum", watched)
    found = tacit.screen(rows_of(100), PLAN, epsilon=0.75, ledger=book, dataset="people")
    assert paid_at == [2]
    assert found.ledger["entry"] == 3
    assert [entry.content["kind"] for entry in book.entries("people")] == ["dataset", "spend", "released"]
    assert book.verify(releases={"screen": found}) == []
    with pytest.raises(tacit.RefusedError, match="room"):
        tacit.screen(rows_of(100), PLAN, epsilon=0.75, ledger=book, dataset="people")
    assert len(paid_at) == 1, "refused before a row was read"


def test_a_fault_while_reading_is_paid_for_and_says_nothing(book, monkeypatch):
    def broken(self, columns):
        raise RuntimeError("somebody earns 4711")

    monkeypatch.setattr(CellClasses, "batch_sum", broken)
    with pytest.raises(tacit.InputError) as caught:
        tacit.screen(rows_of(100), PLAN, epsilon=0.5, ledger=book, dataset="people")
    assert "4711" not in str(caught.value)
    assert caught.value.__context__ is None
    assert len(book.entries("people")) == 2


PERSON = tacit.Plan(tacit.Bernoulli("smoker"), SCHEMA, tacit.PureDP(1.0), tacit.AddNoise(unit=tacit.Person("id", 2)))
LOCAL = tacit.Plan(tacit.Bernoulli("smoker"), SCHEMA, tacit.PureDP(1.0), tacit.Local("randomized-response"))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"epsilon": 0}, "epsilon=0"),
        ({"epsilon": None}, "one of epsilon, rho and mu"),
        ({"rho": 1.0}, "one of epsilon, rho and mu"),
        ({"dataset": None}, "dataset"),
        ({"dataset": "other"}, "other"),
        ({"ledger": 3}, "ledger=3"),
        ({"data": {"smoker": ["no"]}}, "column='age'"),
        ({"data": {"smoker": [], "age": []}}, "at least one row"),
        ({"data": {"smoker": ["no"], "age": np.zeros((1, 2))}}, "column='age'"),
        ({"engine": "abacus"}, "engine"),
        ({"plan": LOCAL}, "kind='local'"),
        ({"plan": PERSON, "data": {"smoker": ["no"], "age": [3], "id": [1]}}, "unit="),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_bad_input_is_refused_for_free(book, changes, said):
    words = {"data": rows_of(5), "plan": PLAN, "epsilon": 0.5, "ledger": book, "dataset": "people", **changes}
    data, plan = words.pop("data"), words.pop("plan")
    with pytest.raises(tacit.TacitError, match=r"^Expected .*\.$") as caught:
        tacit.screen(data, plan, **words)
    assert said in str(caught.value)
    assert len(book.entries("people")) == 1, "nothing was charged"


# ---------------------------------------------------------------------------------------------------------------------
# What an inference makes of it


@pytest.fixture(scope="module")
def made():
    rows = rows_of(6000)
    return (
        tacit.privatize(rows, PLAN, ledger=None, dataset="people"),
        tacit.screen(rows, PLAN, epsilon=1.0, ledger=None, dataset="people"),
    )


@pytest.fixture(scope="module")
def inferred(made):
    return tacit.infer(made[0], draws=50, anyway=True, chains=2)


def test_an_inference_warns_first_of_all_and_reports(made, inferred, tmp_path):
    (release, screen), plain = made, inferred
    assert plain.screens == ()
    assert not any("spelling" in warning for warning in plain.warnings())
    posterior = tacit.infer(release, screen=screen, draws=50, anyway=True, chains=2)
    assert "the spelling may differ" in posterior.warnings()[0]
    assert len(posterior.warnings()) > 1, "so that being the first says something"
    np.testing.assert_array_equal(posterior.draws("theta"), plain.draws("theta"))
    path = posterior.save(tmp_path / "posterior.nc")
    assert tacit.Posterior.load(path).screens == (screen,)
    page = tacit.report(posterior, quick=True)
    assert "What was counted in the cells" in page
    assert "--screen screen.json" in page
    assert "What was counted in the cells" not in tacit.report(plain, quick=True)


def test_only_columns_that_the_release_reads_are_warned_of(made, inferred):
    rows = {**rows_of(6000), "age": np.full(6000, 99)}
    screen = tacit.screen(rows, PLAN, epsilon=1.0, ledger=None, dataset="people")
    assert any("above the bound 80" in one for one in screen.warnings())
    tree = inferred.tree.copy()
    tree.attrs["screens"] = json.dumps([screen.to_plain()])
    said = tacit.Posterior(tree).warnings()
    assert "spelling" in said[0]
    assert not any("bound" in one for one in said)


def test_a_screen_of_something_else_is_refused(made, tmp_path):
    release, screen = made
    rows = rows_of(6000)

    def other(schema=SCHEMA, unit=None, data=rows, dataset="people"):
        plan = tacit.Plan(tacit.Bernoulli("smoker"), schema, tacit.PureDP(1.0), tacit.AddNoise(unit=unit))
        return tacit.screen(data, plan, epsilon=1.0, ledger=None, dataset=dataset)

    wrong = {
        "dataset": other(dataset="strangers"),
        "n": other(data=rows_of(10)),
        "declare column 'smoker'": other(tacit.Schema(smoker=["Yes", "No"])),
        "unit": other(unit=tacit.Person("id", 1), data={**rows, "id": np.arange(6000)}),
    }
    for said, one in wrong.items():
        with pytest.raises(tacit.InputError, match=rf"^Expected screen=.*{said}.*\.$"):
            tacit.infer(release, screen=one, draws=50, anyway=True)
    with pytest.raises(tacit.InputError, match="once for each dataset"):
        tacit.infer(release, screen=[screen, screen], draws=50, anyway=True)
    more = other(tacit.Schema(smoker=["No", "Yes"], age=(0, 1)))
    check_screens([more], [release])  # columns that it does not read may differ


def test_the_command(tmp_path, monkeypatch):
    lines = "\n".join(f"{a},{b}" for a, b in zip(*rows_of(4000).values(), strict=True))
    (tmp_path / "people.csv").write_text(f"smoker,age\n{lines}\n")
    PLAN.save(tmp_path / "plan.toml")

    def run(*words, refused=None):
        done = CliRunner().invoke(app, words)
        assert type(done.exception) is (refused or type(None)), done.output
        return str(done.exception) if refused else done.stdout

    monkeypatch.chdir(tmp_path)
    assert "tacit screen plan.toml DATA" in run("check", "plan.toml")
    run("ledger", "new", "l.db", "--dataset", "people", "--epsilon", "2")
    paid = ("--ledger", "l.db", "--dataset", "people")
    said = run("screen", "plan.toml", "people.csv", "--epsilon", "0.5", *paid, "-o", "screen.json")
    flat = " ".join(said.split())
    assert "Note: smoker: about " in flat
    assert "are none of the declared levels 'No', 'Yes'" in flat
    assert "Spent: epsilon = 0.5, paid by l.db" in flat
    screen = tacit.Screen.load(tmp_path / "screen.json")
    assert (screen.n, screen.dataset) == (4000, "people")
    run("privatize", "plan.toml", "people.csv", *paid, "-o", "release.json")
    infer = ("infer", "release.json", "--draws", "50", "--anyway", "--screen", "screen.json")
    assert "the spelling may differ" in json.loads(run(*infer, "-o", "p.nc", "--json"))["warnings"][0]
    assert "output" in run(*infer, "-o", "screen.json", refused=tacit.InputError)
    run("screen", "plan.toml", "people.csv", "--epsilon", "3", *paid, refused=tacit.RefusedError)
    assert "--no-ledger" in run("screen", "plan.toml", "people.csv", "--epsilon", "3", refused=tacit.InputError)
    free = run("screen", "plan.toml", "people.csv", "--rho", "0.1", "--no-ledger", "--json")
    assert json.loads(free)["ledger"] is None
    table = run("screen", "plan.toml", "people.csv", "--mu", "0.5", "--no-ledger", "--tsv")
    assert table.splitlines()[0].split("\t") == ["column", "cells", "count", "low", "high", "of"]
    assert len(table.splitlines()) == 7


def test_a_screen_that_cannot_be_saved_is_printed_whole(tmp_path, monkeypatch, capsys):
    """It is paid for: what is printed can be read again."""
    from tacit.cli.shared import save_or_print
    from tacit.errors import RefusedError, expected

    found = tacit.screen(rows_of(50), PLAN, epsilon=1.0, ledger=None)

    def full(self, path, *, overwrite=False):
        raise expected("screen", str(path), "to be writable: no space left")

    monkeypatch.setattr(type(found), "save", full)
    with pytest.raises(RefusedError, match="printed instead"):
        save_or_print(found, tmp_path / "s.json", overwrite=False, what="screen")
    assert type(found).from_plain(json.loads(capsys.readouterr().out)).values == found.values


@pytest.mark.parametrize("weight", ["row", "person"])
def test_people_count_once_and_nobody_has_cells_that_they_lack(weight):
    """Epsilon = 1e9. Of p's two rows one is unknown, of q's one none, of r's three all: 1/2 + 1 of 3 people."""
    data = {"id": list("ppqrrr"), "smoker": ["No", "?", "Yes", "?", "?", "?"], "age": [30] * 6}
    unit = tacit.Person("id", 3, weight)
    plan = tacit.Plan(tacit.Bernoulli("smoker"), SCHEMA, tacit.PureDP(1.0), tacit.AddNoise(unit=unit))
    found = tacit.screen(data, plan, epsilon=1e9, ledger=None)
    assert found.n == 3
    counted = {(one.column, one.cells): one.count for one in found.summary()}
    assert counted["smoker", "unknown"] == pytest.approx(1.5, abs=1e-3)
    assert max(counted["smoker", "missing"], counted["age", "missing"]) < 1e-3
    found.check_about(tacit.privatize(data, plan, ledger=None))
    assert Screen.from_plain(found.to_plain()) == found
