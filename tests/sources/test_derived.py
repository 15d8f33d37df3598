"""Derived columns and filters through every source: the same integers, and the sum over the rows that pass.

A filter is tried on batches and sums here, against the sums of the rows that pass under no filter.
"""

import pickle
from decimal import Decimal
from unittest import mock

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit
from tacit import boundary
from tacit.boundary import collect, needed
from tacit.device import parsed_record
from tacit.engines.engine import Job, gather, tally
from tacit.engines.threads import Threads
from tacit.expressions.derive import row_filter_of
from tacit.expressions.rows import Reading
from tacit.schema import Schema
from tacit.sources.derived import open_rows
from tacit.sources.open import open_source

SCHEMA = Schema(
    visits={"bounds": [0, 50], "missing": 0},
    weight=(30, 200),
    height={"bounds": [0, 2.5], "missing": 1.7},
    age=(0, 90),
    region=["north", "south", "west"],
)
DERIVE = {
    "visited": "visits > 0",
    "group": "cut(age, [18, 35, 50, 65])",
    "bmi": {"value": "weight / height^2", "bounds": [15, 55], "missing": 25},
    "logs": {"value": "log(visits + 1)"},
    "lost": "is_missing(bmi)",
    "far": "recode(region, {'north': 'far', 'west': 'far'})",
}
PLAN = tacit.Plan(
    tacit.LinearRegression("bmi ~ visited + group + logs + lost + far"),
    SCHEMA,
    tacit.ZCDP(1.0),
    tacit.AddNoise(),
    derive=DERIVE,
)
WHERE = "age >= 18 and region != 'west' and not is_missing(bmi) and logs < 3"


def cells(rows=301, seed=1):
    """Rows of all kinds, as Python has them; None where a cell is empty."""
    rng = np.random.default_rng(seed)

    def holes(values):
        return [None if rng.random() < 0.15 else value for value in values]

    return {
        "visits": holes([int(v) for v in rng.integers(0, 60, rows)]),
        "weight": holes([round(float(v), 2) for v in rng.uniform(20, 210, rows)]),
        "height": holes([float(v) for v in rng.choice([0.0, -0.0, 1e-300, 1.5, 1.77, 2.0, 3.0], rows)]),
        "age": holes([float(v) for v in rng.uniform(-5, 95, rows)]),
        "region": holes([str(v) for v in rng.choice(["north", "south", "west", "elsewhere"], rows)]),
    }


def write_csv(table, path):
    names = list(table)
    lines = [",".join("" if table[n][i] is None else str(table[n][i]) for n in names) for i in range(len(table["age"]))]
    path.write_text("\n".join([",".join(names), *lines]) + "\n")
    return path


def stored(tmp_path):
    """The same table in every kind of storage, by name."""
    table = cells()
    arrow = pa.table(table)
    yield "dict", table
    yield "csv", write_csv(table, tmp_path / "rows.csv")
    pq.write_table(arrow, tmp_path / "rows.parquet", row_group_size=50)
    yield "parquet", tmp_path / "rows.parquet"
    yield "dictionaries", arrow.set_column(4, "region", arrow["region"].dictionary_encode())
    yield "chunks", pa.concat_tables([arrow.slice(0, 7), arrow.slice(7, 1), arrow.slice(8)])
    decimals = pa.array([None if v is None else Decimal(str(v)) for v in table["weight"]], pa.decimal128(9, 2))
    yield "decimals", arrow.set_column(1, "weight", decimals)
    yield "float visits", arrow.set_column(0, "visits", arrow["visits"].cast(pa.float64()))
    yield "text", pa.table({n: [None if v is None else str(v) for v in column] for n, column in table.items()})
    yield "pandas", pd.DataFrame(table)
    yield "pandas objects", pd.DataFrame(table).astype(object)
    yield "pandas categories", pd.DataFrame(table).astype({"region": "category"})
    yield "polars", pl.DataFrame(table)
    connection = duckdb.connect(str(tmp_path / "rows.duckdb"))
    connection.execute("create table rows as select * from arrow")
    connection.close()
    yield "duckdb", f"{tmp_path / 'rows.duckdb'}::rows"


def test_every_source_and_thread_finds_the_same_integers(tmp_path):
    found = {}
    for name, data in stored(tmp_path):
        for engine in (Threads(1), Threads(3)):
            with mock.patch.object(boundary, "_BATCH_ROWS", 11):
                one = tacit.partial(data, PLAN, dataset="rows", engine=engine)
            found[name, engine.count] = (one.n, one.totals)
    assert len(set(found.values())) == 1, {key: hash(value) for key, value in found.items()}
    assert next(iter(found.values()))[0] == 301


def test_derived_by_hand():
    """The columns of a table that somebody derived beforehand, cell by cell, give the same sums."""
    table = cells()
    reading = Reading(PLAN.schema, PLAN.columns)
    rows = [{name: table[name][i] for name in table} for i in range(301)]
    by_hand = {name: [] for name in PLAN.columns}
    for row in rows:
        weight, height = row["weight"], row["height"]
        visits = min(max(row["visits"] if row["visits"] is not None else 0, 0), 50)
        age = min(max(row["age"] if row["age"] is not None else 45.0, 0.0), 90.0)
        lost = weight is None or height is None
        weight = min(max(weight if weight is not None else 115.0, 30.0), 200.0)
        height = min(max(height if height is not None else 1.7, 0.0), 2.5)
        square = height * height
        by_hand["lost"].append(lost or not square > 2.0**-1000)
        by_hand["bmi"].append(min(max(weight / square, 15.0), 55.0) if square > 2.0**-1000 else 25.0)
        by_hand["visited"].append(visits > 0)
        edges = [18, 35, 50, 65]
        by_hand["group"].append(PLAN.schema["group"].levels[sum(age >= edge for edge in edges)])
        by_hand["logs"].append(float(tacit_log(visits + 1)))
        by_hand["far"].append("south" if row["region"] == "south" else "far")
    assert set(reading.of_table) == set(table)
    source = open_source(by_hand, PLAN.columns, PLAN.schema)
    assert collect(source, PLAN)[1].totals == list(tacit.partial(table, PLAN, dataset="rows").totals)


def tacit_log(value):
    from tacit.expressions.logarithm import logarithm

    return logarithm(np.array([float(value)]))[0]


def test_a_device_derives_what_a_table_does():
    table = cells(40)
    columns, schema = needed(PLAN)
    (batch,) = open_rows(table, columns, schema).batches(schema, columns, 100)
    for i in range(40):
        one = parsed_record({name: table[name][i] for name in table}, columns, schema)
        assert {name: cell.tolist() for name, cell in one.items()} == {
            name: [values[i]] for name, values in batch.columns.items()
        }


@pytest.mark.parametrize("where", [WHERE, "visited", "age > 89.9999", "is_missing(age) or is_missing(lost)"])
def test_the_sums_under_a_filter_are_those_over_the_rows_that_pass(tmp_path, where):
    """On the statistic: through batches of every size, pieces and threads, and each source."""
    columns, schema = needed(PLAN)
    rows = row_filter_of(PLAN.schema, where)
    table = cells()
    (batch,) = open_rows(table, columns, schema, rows).batches(schema, columns, 1000)
    assert batch.rows == 301  # as many as were read
    passing = np.flatnonzero(batch.kept)
    kept = {name: [values[i] for i in passing] for name, values in table.items()}
    wanted = (
        collect(open_rows(kept, columns, schema), PLAN)[1].totals
        if len(passing)
        else [0] * len(PLAN.statistic().entries)
    )
    for name, data in stored(tmp_path):
        source = open_rows(data, columns, schema, rows)
        job = Job(source, schema, columns, PLAN.calibrated_mechanism().accumulator())
        with mock.patch("tacit.engines.engine._MOST_ROWS", 17), mock.patch("tacit.engines.threads._SMALL", 0):
            for engine in (Threads(1), Threads(2)):
                read, sums = engine.run(job, None)
                assert (read, sums.totals) == (301, wanted), name
    source = pickle.loads(pickle.dumps(open_rows(tmp_path / "rows.parquet", columns, schema, rows)))
    pieces = source.pieces(columns, 60)
    assert len(pieces) > 2
    job = Job(source, schema, columns, PLAN.calibrated_mechanism().accumulator())
    assert gather(job, len(pieces), [tally(i, one, job) for i, one in enumerate(pieces)])[1].totals == wanted


def test_rows_that_count_may_be_none():
    columns, schema = needed(PLAN)
    source = open_rows(cells(5), columns, schema, row_filter_of(PLAN.schema, "visits > 49 and visits < 1"))
    assert collect(source, PLAN)[1].totals == [0] * len(PLAN.statistic().entries)


def test_what_is_not_in_the_table_is_refused_before_anything_is_paid(tmp_path):
    table = cells(5)
    del table["height"]
    ledger = tacit.Ledger.create(tmp_path / "ledger.db")
    ledger.new_dataset("rows", tacit.ZCDP(10.0))
    with pytest.raises(tacit.InputError, match="height"):
        tacit.privatize(table, PLAN, ledger=ledger, dataset="rows")
    assert len(ledger.entries("rows")) == 1
    table["height"] = [[1.0]] * 5
    with pytest.raises(tacit.InputError):
        tacit.privatize({**table, "height": pa.array(table["height"])}, PLAN, ledger=ledger, dataset="rows")
    assert len(ledger.entries("rows")) == 1


@pytest.mark.parametrize("unit", [None, tacit.Person("who", 2)])
def test_whole_integers_past_every_float_and_type(unit):
    """int64's ends, 2^53 + 1, decimals of 38 digits: the nearest float64, with no overflow on the way."""
    schema = Schema(x={"bounds": [-1e40, 1e40], "missing": 0})
    plan = tacit.Plan(
        tacit.Bernoulli("big"), schema, tacit.PureDP(1.0), tacit.AddNoise(unit=unit), derive={"big": "x * x > 1e30"}
    )
    numbers = [2**63 - 1, -(2**63), 2**53 + 1, 10**37, 0, 3]
    who = {"who": [f"p{i}" for i in range(6)]}
    found = set()
    for column in (
        numbers,
        [float(v) for v in numbers],
        [str(v) for v in numbers],
        pa.array(numbers, pa.decimal128(38, 0)),
    ):
        found.add(tacit.partial({"x": column, **who}, plan, dataset="rows").totals)
    assert len(found) == 1
