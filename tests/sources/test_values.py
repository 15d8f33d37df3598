"""The same cells through every container give the same rows, and every Arrow type parses. Fuzzing: fresh entropy."""

import math
import subprocess
import sys
from datetime import date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InputError
from tacit.schema import Category, Identifier, Number, Schema
from tacit.sources.columns import check_type, parse_arrow, parse_numpy, parse_objects
from tacit.sources.open import open_source


def read(data, schema, batch_rows=1000):
    columns = list(schema)
    batches = list(open_source(data, columns, schema).batches(schema, columns, batch_rows))
    assert all(1 <= batch.rows <= batch_rows for batch in batches)
    assert all(len(values) == batch.rows for batch in batches for values in batch.columns.values())
    return {name: [value for batch in batches for value in batch.columns[name].tolist()] for name in columns}


TEXT = Schema(
    x={"bounds": [0, 10], "missing": 7},
    s={"levels": ["no", "yes", "1"], "missing": "yes"},
    n={"levels": [0, 1, 2.5], "missing": 2.5},
    b={"levels": [False, True]},
)
TABLE = [  # text of the cell (None: null), then what each column of TEXT makes of it
    ("3", 3.0, 1, 2, 0),
    (" 3.5 ", 3.5, 1, 2, 0),
    ("-3", 0.0, 1, 2, 0),
    ("1e2", 10.0, 1, 2, 0),
    ("1", 1.0, 2, 1, 1),
    ("1.0", 1.0, 2, 1, 1),
    ("0", 0.0, 1, 0, 0),
    ("-0.0", 0.0, 1, 0, 0),
    ("2.5", 2.5, 1, 2, 0),
    ("no", 7.0, 0, 2, 0),
    (" no ", 7.0, 0, 2, 0),
    ("NO", 7.0, 1, 2, 0),
    ("TRUE", 1.0, 2, 1, 1),
    ("", 7.0, 1, 2, 0),
    ("NA", 7.0, 1, 2, 0),
    ("nan", 7.0, 1, 2, 0),
    ("inf", 7.0, 1, 2, 0),
    ("1e999", 7.0, 1, 2, 0),
    ("1_0", 7.0, 1, 2, 0),
    ("0x1", 7.0, 1, 2, 0),
    ("١", 7.0, 1, 2, 0),
    ("naïve", 7.0, 1, 2, 0),
]
CELLS = [row[0] for row in TABLE]
PARSED = {name: [row[i + 1] for row in TABLE] for i, name in enumerate(TEXT)}


def as_csv(path):
    lines = ["x,s,n,b", *(",".join([cell] * 4) for cell in CELLS)]
    (path / "d.csv").write_text("\n".join(lines), encoding="utf-8")
    return path / "d.csv"


def as_quoted_csv(path):
    lines = [",".join(['"x"', '"s"', '"n"', '"b"']), *(",".join([f'"{cell}"'] * 4) for cell in CELLS)]
    (path / "d.csv").write_text("\r\n".join(lines) + "\r\n", encoding="utf-8", newline="")
    return path / "d.csv"


def table(kind=None):
    return pa.table({name: pa.array(CELLS, kind or pa.string()) for name in "xsnb"})


def as_parquet(path):
    pq.write_table(table(), path / "d.parquet", row_group_size=5)
    return path / "d.parquet"


def as_parquet_folder(path):
    folder = path / "folder"
    folder.mkdir()
    pq.write_table(table().slice(8), folder / "part-1.parquet")
    pq.write_table(table(pa.dictionary(pa.int8(), pa.string())).slice(0, 8), folder / "part-0.parquet")
    (folder / "_SUCCESS").touch()
    (folder / "_hidden.parquet").touch()
    (folder / ".hidden.parquet").touch()
    return folder


def as_feather(path):
    feather.write_feather(table(), str(path / "d.feather"), chunksize=4)
    return path / "d.feather"


def as_arrow(path):
    with pa.ipc.new_file(path / "d.arrow", table().schema) as writer:
        writer.write_table(table())
    return path / "d.arrow"


def as_pandas_objects(_):
    return pd.DataFrame({name: np.array(CELLS, object) for name in "xsnb"}, dtype=object)


def as_pandas_categories(_):
    return pd.DataFrame({name: pd.Categorical(CELLS) for name in "xsnb"})


class Stream:
    def __init__(self, source):
        self.source = source

    def __arrow_c_stream__(self, requested_schema=None):
        return self.source.__arrow_c_stream__(requested_schema)


CONTAINERS = {
    "csv": as_csv,
    "quoted csv": as_quoted_csv,
    "parquet": as_parquet,
    "parquet folder": as_parquet_folder,
    "feather": as_feather,
    "arrow": as_arrow,
    "pandas objects": as_pandas_objects,
    "pandas strings": lambda _: pd.DataFrame({name: pd.array(CELLS, "string") for name in "xsnb"}),
    "pandas python strings": lambda _: pd.DataFrame({n: pd.array(CELLS, pd.StringDtype("python")) for n in "xsnb"}),
    "pandas default": lambda _: pd.DataFrame(dict.fromkeys("xsnb", CELLS)),
    "pandas categories": as_pandas_categories,
    "pandas arrow": lambda _: pd.DataFrame({n: pd.array(CELLS, pd.ArrowDtype(pa.string())) for n in "xsnb"}),
    "dict of lists": lambda _: dict.fromkeys("xsnb", CELLS),
    "dict of tuples": lambda _: {name: tuple(CELLS) for name in "xsnb"},
    "dict of arrays": lambda _: {name: np.array(CELLS) for name in "xsnb"},
    "dict of bytes": lambda _: {name: np.array([cell.encode() for cell in CELLS]) for name in "xsnb"},
    "dict of series": lambda _: {name: pd.Series(CELLS, index=range(5, 5 + len(CELLS))) for name in "xsnb"},
    "dict of arrow": lambda _: {name: pa.chunked_array([CELLS[:3], CELLS[3:]]) for name in "xsnb"},
    "table": lambda _: table(),
    "large": lambda _: table(pa.large_string()),
    "view": lambda _: table(pa.string_view()),
    "dictionary": lambda _: table(pa.dictionary(pa.int32(), pa.large_string())),
    "reader": lambda _: table().to_reader(max_chunksize=5),
    "batch": lambda _: table().to_batches()[0],
    "stream": lambda _: Stream(table()),
    "memory dataset": lambda _: ds.dataset(table()),
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("batch_rows", [1000, 1, 7])
def test_text_through_every_container(tmp_path, container, batch_rows):
    assert read(CONTAINERS[container](tmp_path), TEXT, batch_rows) == PARSED


def test_a_dataset_of_parquet_files(tmp_path):
    pq.write_table(table().slice(0, 8), tmp_path / "0.parquet")
    pq.write_table(table().slice(8), tmp_path / "1.parquet")
    data = ds.dataset(tmp_path)
    assert read(data, TEXT) == read(ds.dataset([data]), TEXT) == PARSED
    pq.write_to_dataset(table().append_column("k", pa.array(["a"] * len(TABLE))), tmp_path / "hive", ["k"])
    assert read(ds.dataset(tmp_path / "hive", partitioning="hive"), TEXT) == PARSED
    assert read(tmp_path / "hive", Schema(TEXT, k=["b", "a"])) == {**PARSED, "k": [1] * len(TABLE)}


DAY = 86_400
TYPED = [  # Arrow array, the number, the code among levels ["0", "1", "?", "2.5", "1970-01-03"]; None: missing
    (pa.array([None, None]), [None, None], [None, None]),
    (pa.array([True, False, None]), [1, 0, None], [1, 0, None]),
    *((pa.array([0, 1, None], kind), [0, 1, None], [0, 1, None]) for kind in (pa.int8(), pa.uint8(), pa.int64())),
    (pa.array([2**64 - 1, 0], pa.uint64()), [2.0**64, 0], [None, 0]),
    (pa.array([2**53 + 1, -(2**63)], pa.int64()), [2.0**53, -(2.0**63)], [None, None]),
    (pa.array(np.array([1, 2.5, np.nan, np.inf], np.float16)), [1, 2.5, None, None], [1, 3, None, None]),
    (pa.array(np.array([1, 2], np.float16), mask=np.array([True, False])), [None, 2], [None, None]),
    (pa.array([1, 2.5, None, -math.inf], pa.float32()), [1, 2.5, None, None], [1, 3, None, None]),
    (pa.array([-0.0, 2.5, None, math.nan]), [0, 2.5, None, None], [0, 3, None, None]),
    (pa.array([Decimal("1.00"), Decimal("2.50"), None]), [1, 2.5, None], [1, 3, None]),
    (pa.array([Decimal("0.1"), Decimal(10) ** 60], pa.decimal256(76, 1)), [0.1, 1e60], [None, None]),
    (pa.array(["1", " 2.5", "1.0", None]), [1, 2.5, 1, None], [1, 3, 1, None]),
    (pa.array(["1", None], pa.string_view()), [1, None], [1, None]),
    (pa.array(["1", "x", None, "1"]).dictionary_encode(), [1, None, None, 1], [1, None, None, 1]),
    (pa.array([1, None, 1]).dictionary_encode(), [1, None, 1], [1, None, 1]),
    (pa.DictionaryArray.from_arrays([1, 0, None], ["1", None]), [None, 1, None], [None, 1, None]),
    (
        pa.DictionaryArray.from_arrays(pa.array([0, None], pa.uint32()), pa.array(["1"], pa.string_view())),
        [1, None],
        [1, None],
    ),
    (pa.RunEndEncodedArray.from_arrays([2, 3], [1, None]), [1, 1, None], [1, 1, None]),
    (pa.array([date(1970, 1, 3), None]), [2, None], [4, None]),
    (pa.array([2**31 - 1], pa.int32()).view(pa.date32()), [2.0**31 - 1], [None]),
    (pa.array([date(1970, 1, 3), None], pa.date64()), [2, None], [4, None]),
    (pa.array([datetime(1970, 1, 1, 12), None], pa.timestamp("ns")), [0.5, None], None),
    (pa.array([datetime(1969, 12, 31)], pa.timestamp("s", "Europe/Paris")), [-1], None),
    (pa.array([2**63 - 1]).view(pa.timestamp("s", "No/Where")), [float(2**63) / DAY], None),
    (pa.array([time(6)], pa.time32("s")), [0.25], None),
    (pa.array([time(6)], pa.time64("us")), [0.25], None),
    (pa.array([timedelta(days=3)], pa.duration("ms")), [3], None),
    (pa.array([1, 0], pa.int8()).cast(pa.bool8()) if hasattr(pa, "bool8") else pa.array([1, 0]), [1, 0], [1, 0]),
]
WIDE = Number(-1e300, 1e300, -123)
LEVELS = Category(("0", "1", "?", "2.5", "1970-01-03", "missing"), "missing")


@pytest.mark.parametrize(("array", "numbers", "codes"), TYPED, ids=lambda value: str(getattr(value, "type", "")))
def test_every_arrow_type(array, numbers, codes):
    for part, start in ((array, 0), (array.slice(1), 1)):
        assert parse_arrow(part, WIDE).tolist() == [-123 if v is None else v for v in numbers[start:]]
        assert parse_arrow(part, WIDE).dtype == np.float64
        if codes is not None:
            assert parse_arrow(part, LEVELS).tolist() == [5 if v is None else v for v in codes[start:]]
            assert parse_arrow(part, LEVELS).dtype == np.int64
    schema = Schema(v=WIDE)
    assert read(pa.table({"v": array}), schema)["v"] == parse_arrow(array, WIDE).tolist()


@pytest.mark.parametrize("array", [array for array, _, _ in TYPED], ids=lambda array: str(array.type))
def test_empty_arrays(array):
    assert parse_arrow(array.slice(0, 0), WIDE).dtype == np.float64
    assert read(pa.table({"v": array.slice(0, 0)}), Schema(v=WIDE)) == {"v": []}


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_a_long_dictionary_under_few_rows(kind):
    values = pa.array(["x", "1", *map(str, range(100))], kind)
    array = pa.DictionaryArray.from_arrays(pa.array([1, None, 0], pa.uint8()), values)
    assert parse_arrow(array, WIDE).tolist() == [1, -123, -123]
    assert parse_arrow(array, LEVELS).tolist() == [1, 5, 5]


def test_text_that_is_not_utf8_in_arrow():
    bad = pa.array([b"\xff", b"a\xff", b"1"], pa.binary()).view(pa.string())
    assert parse_arrow(bad, WIDE).tolist() == [-123, -123, 1]
    assert parse_arrow(bad, Category(("a\ufffd", "1"), "1")).tolist() == [1, 1, 1]


def test_dates_past_the_calendar_tell_people_apart():
    """DuckDB and Arrow have dates that Python has not: as identifiers they are not missing, and not each other."""
    days = pa.array([0, 2**31 - 1, -(2**31), 3_000_000, None], pa.int32()).view(pa.date32())
    assert len(set(parse_arrow(days, Identifier()).tolist())) == 5
    assert parse_arrow(days, Category(("a", "1970-01-01"))).tolist() == [1, 0, 0, 0, 0]


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary_view(), None])
def test_bytes_are_text(tmp_path, kind):
    """One cell that is no UTF-8 makes Arrow's reader of CSV store everybody's text as bytes."""
    cells = [b"1.50", None, b"\xff", b"a"]
    array = pa.array(cells, kind) if kind is not None else pa.array(cells).dictionary_encode()
    text = pa.array(cells, pa.binary()).view(pa.string())
    schema = Schema(x=(0, 10), s=["b", "a", "1.5"])
    for name in ("x", "s"):
        check_type("the table", name, array.type, schema[name])
        assert parse_arrow(array, schema[name]).tolist() == parse_arrow(text, schema[name]).tolist()
    with pytest.raises(InputError, match="two people could have one identifier"):
        check_type("the table", "who", array.type, Identifier())
    (tmp_path / "rows.csv").write_bytes(b"s,x\na,1\n\xff,2\n")
    guessed = pyarrow.csv.read_csv(tmp_path / "rows.csv")
    assert guessed.schema.field("s").type == pa.binary()
    assert read(guessed, schema) == {"x": [1.0, 2.0], "s": [1, 0]}


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        (np.array([True, False]), [1, 0]),
        (np.array([1, 2], ">i4"), [1, 2]),
        (np.array([1, 2, 3, 4], np.uint64)[::2], [1, 3]),
        (np.array([1.5, np.nan], np.float16), [1.5, -123]),
        (np.array([1.5, np.inf], ">f8"), [1.5, -123]),
        (np.array(["1e4000", "2"], np.longdouble), [-123, 2]),
        (np.array(["1", "x"]), [1, -123]),
        (np.array([b"1", b"\xff"]), [1, -123]),
        (np.array(["1", "x"], np.dtypes.StringDType()), [1, -123]),
        (np.array(["1970-01-03", "NaT"], "M8[D]"), [2, -123]),
        (np.array(["1970-01-01T12"], "M8[h]"), [0.5]),
        (np.array([1], "M8[36h]"), [1.5]),
        (np.array([1, "NaT"], "m8[D]"), [1, -123]),
        (np.array([1, "2", None, 3.5, True, b"4", object()], object), [1, 2, -123, 3.5, 1, 4, -123]),
        (np.ma.MaskedArray([1.0, 2.0], [False, True]), [1, -123]),
        (range(2), [0, 1]),
        (pd.array([1, None], "Int64"), [1, -123]),
    ],
)
def test_arrays_in_a_dict(values, numbers):
    assert read({"v": values}, Schema(v=WIDE)) == {"v": numbers}


def test_dates_from_numpy_as_levels():
    days = np.array(["1970-01-03", "NaT", "1970-01-04"], "M8[D]")
    assert parse_numpy(days, LEVELS).tolist() == [4, 5, 5]
    extreme = np.array([2**62, -(2**62)]).view("M8[D]")
    assert parse_numpy(extreme, LEVELS).tolist() == [5, 5]


class Hostile:
    def __str__(self):
        raise RuntimeError("canary")


def test_pandas_dtypes():
    frame = pd.DataFrame(
        {
            "i": [0, 1, 2],
            "I": pd.array([0, 1, None], "Int64"),
            "f": [0, 1, math.nan],
            "B": pd.array([True, False, None], "boolean"),
            "t": pd.to_datetime(["1970-01-02", "1970-01-03", None]),
            "z": pd.to_datetime(["1970-01-02", "1970-01-03", None], utc=True),
            "mixed": pd.Series([1, "1", Hostile()], dtype=object),
            "lists": pd.Series([[1], {"a": 1}, "1"], dtype=object),
            "cut": pd.cut(pd.Series([0.5, 1.5, 9]), [0, 1, 2]),
            "codes": pd.Categorical([1, 0, None]),
            "sparse": pd.arrays.SparseArray([0.0, 1.0, math.nan]),
            "period": pd.period_range("2020-01", periods=3, freq="M"),
            "surrogate": pd.array(["1", "\ud800", None], pd.StringDtype("python")),
            7: [1, 2, 3],
        }
    )
    frame.index = [5, 5, 6]
    names = ["i", "I", "f", "t", "z", "mixed", "lists", "codes", "sparse", "surrogate", "7", "B"]
    numbers = read(frame, Schema(dict.fromkeys(names, WIDE)))
    assert list(numbers.items()) == [
        *[("i", [0, 1, 2]), ("I", [0, 1, -123]), ("f", [0, 1, -123]), ("t", [1, 2, -123]), ("z", [1, 2, -123])],
        *[("mixed", [1, 1, -123]), ("lists", [-123, -123, 1]), ("codes", [1, 0, -123]), ("sparse", [0, 1, -123])],
        *[("surrogate", [1, -123, -123]), ("7", [1, 2, 3]), ("B", [1, 0, -123])],
    ]
    levels = Category(("?", "0", "1", "(0, 1]", "2020-02"))
    names = ["i", "I", "f", "B", "mixed", "lists", "cut", "codes", "period", "surrogate"]
    assert list(read(frame, Schema(dict.fromkeys(names, levels)), 2).items()) == [
        *[("i", [1, 2, 0]), ("I", [1, 2, 0]), ("f", [1, 2, 0]), ("B", [2, 1, 0]), ("mixed", [2, 2, 0])],
        *[("lists", [0, 0, 2]), ("cut", [3, 0, 0]), ("codes", [2, 1, 0]), ("period", [0, 4, 0])],
        ("surrogate", [2, 0, 0]),
    ]


def test_a_missing_row_does_not_change_how_pandas_categories_are_written():
    """Written out as objects, the integers of a categorical turn into floats as soon as one row is missing."""
    large = 2**53 + 1
    levels = Category(("?", str(large), "(0, 1]"))
    for categories in ([large, 1], pd.IntervalIndex.from_breaks([0, 1, 2])):
        for cells in ([categories[0], categories[1]], [categories[0], None]):
            frame = pd.DataFrame({"c": pd.Categorical(cells, categories=categories)})
            assert read(frame, Schema(c=levels))["c"] == [1 if categories[0] == large else 2, 0]


def test_only_the_needed_columns_count(tmp_path):
    data = pa.table({"x": [1.0], "nested": [[1, 2]], "s": ["a"]})
    schema = Schema(x=(0, 10))
    pq.write_table(data, tmp_path / "d.parquet")
    feather.write_feather(data, str(tmp_path / "d.arrow"))
    twins = pa.table([pa.array([1.0]), pa.array([2]), pa.array([3])], ["x", "s", "s"])
    ragged = {"x": [1.0], "y": [], "z": 5, 3: None}
    for source in (data, tmp_path / "d.parquet", tmp_path / "d.arrow", twins, twins.to_reader(), ragged):
        assert read(source, schema) == {"x": [1.0]}
    dotted = pa.table({"a": [{"b": 1}], "a.b": [2.0], "a.c": [3.0]})
    pq.write_table(dotted, tmp_path / "dotted.parquet")
    assert read(tmp_path / "dotted.parquet", Schema({"a.b": (0, 10), "a.c": (0, 10)})) == {"a.b": [2.0], "a.c": [3.0]}


def test_columns_that_are_not_needed_are_not_read(tmp_path):
    """The pages of the other column are corrupt, which only a reader of them would notice."""
    path = tmp_path / "d.parquet"
    pq.write_table(pa.table({"other": np.arange(1000.0), "x": np.ones(1000)}), path)
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(0)
    content = bytearray(path.read_bytes())
    for i in range(chunk.dictionary_page_offset, chunk.dictionary_page_offset + chunk.total_compressed_size):
        content[i] = 0xFF
    path.write_bytes(content)
    assert read(path, Schema(x=(0, 10))) == {"x": [1.0] * 1000}
    with pytest.raises(InputError, match="to be readable to its end"):
        read(path, Schema(other=(0, 10)))


def test_a_repeated_request_for_a_column():
    [batch] = open_source({"x": [1, 2]}, ["x", "x"], TEXT).batches(TEXT, ["x", "x"], 5)
    assert batch.rows == 2
    assert list(batch.columns) == ["x"]


def test_pandas_is_not_imported_for_those_who_have_none():
    script = "import sys, tacit.sources.open as o; assert 'pandas' not in sys.modules, 'pandas'"
    subprocess.run([sys.executable, "-c", script], check=True)


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=6),
    st.binary(max_size=6),
    st.decimals(),
    st.dates(),
    st.datetimes(),
    st.times(),
    st.timedeltas(),
    st.complex_numbers(),
    st.lists(st.integers(), max_size=2),
)
DECLARED = [Number(-2, 3), Category(("a", "1", "")), Category((0, 1.5)), Category((True, False))]


def inside(values, column, rows):
    assert len(values) == rows
    if isinstance(column, Number):
        assert values.dtype == np.float64
        assert ((values >= column.low) & (values <= column.high)).all()
    else:
        assert values.dtype == np.int64
        assert ((values >= 0) & (values < len(column.levels))).all()


@settings(deadline=None, max_examples=200)
@given(st.lists(scalars, max_size=6))
def test_any_objects_parse_inside_the_declaration(cells):
    for column in DECLARED:
        parsed = parse_objects(cells, column)
        inside(parsed, column, len(cells))
        assert parsed.tolist() == [parse_objects([cell], column)[0] for cell in cells]


arrow_cells = st.one_of(
    st.tuples(st.just(pa.string()), st.lists(st.one_of(st.none(), st.text(st.characters(codec="utf-8"), max_size=6)))),
    st.tuples(st.just(pa.float64()), st.lists(st.one_of(st.none(), st.floats()))),
    st.tuples(st.just(pa.float32()), st.lists(st.one_of(st.none(), st.floats(width=32)))),
    st.tuples(st.just(pa.int64()), st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)))),
    st.tuples(st.just(pa.uint64()), st.lists(st.one_of(st.none(), st.integers(0, 2**64 - 1)))),
    st.tuples(st.just(pa.bool_()), st.lists(st.one_of(st.none(), st.booleans()))),
    st.tuples(st.just(pa.date32()), st.lists(st.one_of(st.none(), st.dates()))),
)


@settings(deadline=None, max_examples=300)
@given(arrow_cells)
def test_any_arrow_cells_parse_like_their_objects(kind_and_cells):
    kind, cells = kind_and_cells
    array = pa.array(cells, kind)
    for column in DECLARED:
        parsed = parse_arrow(array, column)
        inside(parsed, column, len(cells))
        np.testing.assert_array_equal(parsed, parse_objects(cells, column))
        np.testing.assert_array_equal(parsed, parse_arrow(array.dictionary_encode(), column))


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_at_both_ends_of_int64(unit):
    array = pa.array([2**63 - 1, -(2**63), None]).view(pa.timestamp(unit, "UTC"))
    assert parse_arrow(array, Number(-2, 3)).tolist() == [3, -2, 0.5]
