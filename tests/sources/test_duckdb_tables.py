"""What a name means in DuckDB: one base table and its stored columns, or a refusal before anything is paid."""

from __future__ import annotations

import pytest

import tacit
from tacit.boundary import collect, needed
from tacit.engines.reading import announced, guarded
from tacit.errors import BROKEN, BrokenMediumError, InputError
from tacit.schema import Schema
from tacit.sources.open import open_source

duckdb = pytest.importorskip("duckdb")

SCHEMA = Schema(x=(0, 100))
PLAN = tacit.Plan(tacit.Normal("x"), SCHEMA, tacit.PureDP(1.0))


def made(path, *statements):
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


@pytest.fixture
def clinic(tmp_path):
    """A base table in one schema, and under the same name a view of it that multiplies rows."""
    return made(
        tmp_path / "clinic.duckdb",
        "create schema raw",
        "create table raw.patients as select range as x from range(10)",
        "create view main.patients as select p.x from raw.patients p, range(5)",
    )


def numbers(data, column="x", schema=SCHEMA):
    source = open_source(data, [column], schema)
    assert source.rows([column]) is not None
    return [float(v) for batch in source.batches(schema, [column], 1000) for v in batch.columns[column]]


def refusal(data, column="x", schema=SCHEMA):
    with pytest.raises(InputError) as caught:
        open_source(data, [column], schema)
    assert caught.value.__context__ is None
    return str(caught.value)


def test_a_view_of_the_same_name_is_not_taken_for_the_table(clinic):
    """Before, the view was opened: replacing one of 10 patients moved 5 rows."""
    ten = [float(i) for i in range(10)]
    assert numbers(clinic) == ten, "the only base table"
    for name in ("raw.patients", '"raw"."patients"', 'raw."patients"'):
        assert numbers(f"{clinic}::{name}") == ten
    assert "to mean one table" in refusal(f"{clinic}::patients")
    assert "not a view" in refusal(f"{clinic}::main.patients")
    with duckdb.connect(str(clinic), read_only=True) as connection:
        assert numbers(connection.table("raw.patients")) == ten
        assert "base table" in refusal(connection.table("patients"))
        connection.execute("set search_path = 'raw'")
        assert "DATABASE.SCHEMA.TABLE" in refusal(connection.table("patients"))
        assert numbers(connection.table("clinic.raw.patients")) == ten
    release = tacit.privatize(f"{clinic}::raw.patients", PLAN, ledger=None)
    assert release.n == 10


def test_names_that_could_mean_several_tables_are_refused(tmp_path):
    path = made(
        tmp_path / "d.duckdb",
        "create schema a",
        "create schema b",
        "create table a.t as select 1 as x",
        "create table b.t as select 2 as x",
        'create table main."a.t" as select 3 as x',
        'create table main."s t""u" as select 4 as x',
    )
    assert "SCHEMA.TABLE" in refusal(path)
    assert "to mean one table" in refusal(f"{path}::t")
    assert "to mean one table" in refusal(f"{path}::a.t"), "the table t of schema a, or a table called a.t"
    assert numbers(f"{path}::b.t") == [2]
    assert numbers(f'{path}::a."t"') == [1]
    assert numbers(f'{path}::"a.t"') == [3]
    assert numbers(f'{path}::main."s t""u"') == numbers(f'{path}::s t"u') == [4]
    for absent in ("", "c.t", "a.t.x", "*", "a.*", "t; drop table a.t", "read_csv('x')"):
        assert "to be a base table" in refusal(f"{path}::{absent}")


def test_what_a_connection_puts_before_a_table_is_noticed(clinic):
    """A temporary table or view, an attached database, a frame of Python: none is read under the table's name."""
    pandas = pytest.importorskip("pandas")
    with duckdb.connect(str(clinic)) as connection:
        relation = connection.table("raw.patients")
        source = open_source(relation, ["x"], SCHEMA)
        connection.execute("create temp table other as select 5 as x")
        assert numbers(connection.table("other")) == [5], "a temporary table is a table"
        connection.execute("attach ':memory:' as raw; create table raw.main.patients as select 7 as x")
        for name in ("raw.patients", "patients"):
            with pytest.raises((InputError, duckdb.Error)):
                open_source(connection.table(name), ["x"], SCHEMA)
        with pytest.raises(BrokenMediumError, match="to be readable"):
            list(source.batches(SCHEMA, ["x"], 10))
        connection.execute("detach raw")
        assert numbers(relation) == [float(i) for i in range(10)]
        connection.execute("create table plain as select 3 as x")
        plain = open_source(connection.table("plain"), ["x"], SCHEMA)
        connection.execute("create temp view plain as select range as x from range(50)")
        with pytest.raises(BrokenMediumError, match="to be readable"):
            list(plain.batches(SCHEMA, ["x"], 10))
        frame = pandas.DataFrame({"x": [1.0]})
        connection.register("registered", frame)
        for name in ("frame", "registered"):
            assert "base table" in refusal(connection.table(name))


@pytest.mark.parametrize("column", ["unnest(l)", "max(x)", "count(*)", "a-b", "*", 'q"q', "a.b", "COLUMNS(*)", "x y"])
def test_the_name_of_a_column_is_never_run(tmp_path, column):
    """Before, unnest(l) gave five rows for two, max(x) one, and a-b failed after it was paid."""
    quoted = '"' + column.replace('"', '""') + '"'
    path = made(
        tmp_path / "d.duckdb",
        f"create table t (l int[], x int, a int, b int, {quoted} int)",
        "insert into t values ([1, 2, 3], 1, 2, 3, 7), ([1, 2], 2, 2, 3, 8)",
    )
    schema = Schema({column: (0, 100)})
    plan = tacit.Plan(tacit.Normal(column), schema, tacit.PureDP(1.0))
    assert numbers(path, column, schema) == [7, 8]
    with duckdb.connect(str(path), read_only=True) as connection:
        assert numbers(connection.table("t"), column, schema) == [7, 8]
        assert tacit.privatize(connection.table("t"), plan, ledger=None).n == 2
    assert tacit.privatize(path, plan, ledger=None).n == 2


def test_macros_of_a_database_count_nothing(tmp_path):
    """They may go by the name of any function, and a database carries them along."""
    path = made(
        tmp_path / "d.duckdb",
        "create table t as select range as x from range(3)",
        "create view v as select 1 as x",
        "create macro count(x) as 99",
        "create macro count_star() as 99",
        "create macro list(x) as 'fooled'",
        "create macro list_value(x, y, z) as 'fooled'",
        "create macro duckdb_views() as table select 'd' as database_name where false",
        "create macro duckdb_tables() as table select 'd' as database_name, 'main' as schema_name, 'v' as table_name, "
        "'' as sql, false as internal",
    )
    assert numbers(path) == numbers(f"{path}::t") == [0, 1, 2]
    assert "not a view" in refusal(f"{path}::v")
    with duckdb.connect(str(path), read_only=True) as connection:
        assert numbers(connection.table("t")) == [0, 1, 2]
        assert "base table" in refusal(connection.table("v"))
    assert collect(open_source(path, *needed(PLAN)), PLAN)[0] == 3


def test_generated_columns_are_refused_where_they_are_needed(tmp_path):
    """An expression may call anything: a clock, a sequence, another program."""
    path = made(
        tmp_path / "d.duckdb",
        "create table t (x int, g double generated always as (random() + x) virtual)",
        "insert into t values (1), (2)",
    )
    schema = Schema(x=(0, 100), g=(0, 100))
    assert numbers(path, "x", schema) == [1, 2]
    assert "to be stored in the table" in refusal(path, "g", schema)
    with duckdb.connect(str(path), read_only=True) as connection:
        assert numbers(connection.table("t"), "x", schema) == [1, 2]
        assert "to be stored in the table" in refusal(connection.table("t"), "g", schema)


def test_a_table_that_changes_before_it_is_read_is_a_broken_medium(clinic):
    with duckdb.connect(str(clinic)) as connection:
        relation = connection.table("raw.patients")
        source = open_source(relation, *needed(PLAN))
        for change in ("insert into raw.patients values (1)", "alter table raw.patients rename x to z"):
            told = announced(source, ["x"])
            connection.execute(change)
            with pytest.raises(BrokenMediumError) as caught:
                guarded(lambda told=told: collect(source, PLAN, None, None, told))
            message = str(caught.value)
            assert "readable to its end" in message or message == BROKEN
            assert "11" not in message
            assert "10" not in message
