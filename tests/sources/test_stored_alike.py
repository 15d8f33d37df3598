"""How a column is stored decides nothing: the same cells in every type are the same levels, people and numbers.

The planted faults are the rules that were here before: the text of a typed cell against the text of a level,
identifiers by way of float64, invalid UTF-8 replaced. Fuzzing uses fresh entropy.
"""

import io
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit
from laws.cases import exact_sums
from tacit.boundary import needed
from tacit.errors import InputError
from tacit.schema import Category, Identifier, Number, Schema
from tacit.sources.columns import parse_arrow, parse_numpy, parse_objects
from tacit.sources.open import open_source

# ---------------------------------------------------------------------------------------------------------------------
# The same cells in every type

INTEGERS = [0, 1, 7, None, 100, 1]
ARROW_INTEGERS = [
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
    *(pa.decimal128(9, 2), pa.decimal256(60, 3), pa.decimal128(38, 0)),
    *([pa.decimal32(9, 2), pa.decimal64(12, 2)] if hasattr(pa, "decimal32") else []),
]
ARROW_FLOATS = [pa.float16(), pa.float32(), pa.float64()]


def as_text(cells):
    return [None if cell is None else str(cell) for cell in cells]


def arrow(cells, kind):
    """An Arrow array of these numbers as ``kind``."""
    if pa.types.is_decimal(kind):
        cells = [None if cell is None else Decimal(cell) for cell in cells]
    if kind == pa.float16():
        cells = [None if cell is None else np.float16(cell) for cell in cells]
    return pa.array(cells, kind)


def columns_of(cells):
    """The cells, integers or None, in every storage, by name; the floats among them by the second item."""
    text = as_text(cells)
    filled = np.array([-1 if cell is None else cell for cell in cells])
    mask = np.array([cell is None for cell in cells])
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        yield f"{kind}", pa.array(text, kind), False
    for spelling in ("{}.0", "0{}", " +{}e0\t", "{}."):
        spelled = [None if cell is None else spelling.format(cell) for cell in cells]
        yield spelling, pa.array(spelled), False
        yield f"{spelling} objects", np.array(spelled, object), False
        yield f"{spelling} pandas", pd.Series(spelled, dtype="string"), False
    for kind in (*ARROW_INTEGERS, *ARROW_FLOATS):
        array = arrow(cells, kind)
        floating = pa.types.is_floating(kind)
        yield f"{kind}", array, floating
        if kind not in ARROW_INTEGERS[-2:] or not hasattr(pa, "decimal32"):
            yield f"dictionary {kind}", array.dictionary_encode(), floating
        yield f"pandas arrow {kind}", pd.Series(pd.array(array, pd.ArrowDtype(kind))), floating
        ends = pa.array(range(1, len(cells) + 1), pa.int32())
        yield f"runs of {kind}", pa.RunEndEncodedArray.from_arrays(ends, array), floating
    twice = pa.array([str(cell) for cell in cells if cell is not None] * 2)
    place = iter(range(len(twice) - 1, -1, -1))
    indices = pa.array([None if cell is None else next(place) for cell in reversed(cells)][::-1])
    yield "a dictionary with duplicates", pa.DictionaryArray.from_arrays(indices, twice), False
    for kind in ("i1", ">i4", "i8", "u1", "<u8"):
        yield f"masked {kind}", np.ma.MaskedArray(np.where(mask, 0, filled).astype(kind), mask), False
    for kind in ("f2", "f4", ">f4", "f8", "g"):
        floats = np.where(mask, np.nan, filled).astype(kind)
        yield f"numpy {kind}", floats, True
        yield f"masked {kind}", np.ma.MaskedArray(floats, mask), True
        if kind in ("f4", "f8"):
            yield f"sparse {kind}", pd.Series(pd.arrays.SparseArray(floats)), True
            yield f"category {kind}", pd.Series(pd.Categorical(floats)), True
    for dtype in ("Int8", "Int64", "UInt16", "Float32", "Float64"):
        yield f"pandas {dtype}", pd.Series(pd.array(cells, dtype)), dtype.startswith("F")
        yield f"pandas category {dtype}", pd.Series(pd.Categorical(pd.array(cells, dtype))), dtype.startswith("F")
    yield (
        "pandas category of text",
        pd.Series(pd.Categorical(text, categories=sorted({*filter(None, text), "x"}))),
        False,
    )
    makers = {"bytes": lambda cell: str(cell).encode()}
    makers |= {make.__name__: make for make in (int, float, str, Decimal, np.int16, np.float32, np.str_)}
    for name, make in makers.items():
        yield f"objects {name}", np.array([None if cell is None else make(cell) for cell in cells], object), False
    makes = [int, float, str, Decimal, np.uint8, np.float16]
    mixed = [None if cell is None else makes[i % len(makes)](cell) for i, cell in enumerate(cells)]
    yield "mixed objects", np.array(mixed, object), False
    yield "mixed list", mixed, False
    yield "numpy text", np.array(["" if cell is None else cell for cell in text]), False
    yield "numpy bytes", np.array([b"" if cell is None else cell.encode() for cell in text]), False
    for dtype in (pl.Int8, pl.Int64, pl.UInt64, pl.String, pl.Categorical, pl.Decimal(20, 2), pl.Float32, pl.Float64):
        held = pl.Series(text if dtype in (pl.String, pl.Categorical) else cells, dtype=dtype, strict=False)
        yield f"polars {dtype}", held, dtype in (pl.Float32, pl.Float64)


def read(values, column, batch_rows=4):
    schema = Schema(v=(0, 1)).with_identifier("w") if isinstance(column, Identifier) else Schema(v=column)
    name = "w" if isinstance(column, Identifier) else "v"
    source = open_source({name: values}, [name], schema)
    return [cell for batch in source.batches(schema, [name], batch_rows) for cell in batch.columns[name].tolist()]


STORED = list(columns_of(INTEGERS))


@pytest.mark.parametrize(("values", "floating"), [item[1:] for item in STORED], ids=[item[0] for item in STORED])
def test_integers_in_every_storage(values, floating):
    """The same level, number and person; floats are refused as identifiers, and only typed ones can be."""
    strings = Category(("?", "1", "07", "1e2", "false"))
    assert read(values, strings) == [4, 1, 2, 0, 3, 1]
    assert read(values, Category((7, 100, 0, 1), 0)) == [2, 3, 0, 2, 1, 3]
    assert read(values, Number(-10, 200, -5)) == [0, 1, 7, -5, 100, 1]
    if floating:
        with pytest.raises(InputError, match="to be stored as text, whole numbers or decimals"):
            read(values, Identifier())
    elif not any(spelled in "e" for spelled in _texts(values)):
        assert read(values, Identifier()) == [b"0", b"1", b"7", b"", b"100", b"1"]


def _texts(values):
    """The letters of the text in ``values`` if they are spelled with a power of ten, which names nobody else."""
    return ["e"] if isinstance(values, pa.Array | np.ndarray | pd.Series) and "e0" in str(values[0]) else []


@pytest.mark.parametrize("cells", [[0.1, 2.5, None, 0.3], [1e-7, 0.25, 1e-3, 7.5]])
def test_fractions_in_every_storage(cells):
    levels = Category(("?", *(str(cell) for cell in cells if cell is not None)))
    codes = [0 if cell is None else levels.levels.index(str(cell)) for cell in cells]
    decimals = [None if cell is None else Decimal(str(cell)) for cell in cells]
    for kind in ("f4", "f8", "g"):
        assert read(np.array(cells, float).astype(kind), levels) == codes
    for kind in (pa.float32(), pa.float64()):
        assert read(pa.array(cells, kind), levels) == codes
        assert read(pa.array(cells, kind).dictionary_encode(), levels) == codes
    assert read(pa.array(np.array(cells, float).astype(np.float32), from_pandas=True), levels) == codes
    for kind in (pa.decimal128(30, 10), pa.decimal256(60, 20)):
        assert read(pa.array(decimals, kind), levels) == codes
    for objects in (cells, decimals, as_text(cells), [None if c is None else np.float32(c) for c in cells]):
        assert read(objects, levels) == codes
    assert read(pd.Series(pd.Categorical(np.array(cells, np.float32))), levels) == codes
    assert read(pd.Series(pd.array(cells, "Float32")), levels) == codes


def test_a_text_that_no_float_can_keep_is_the_level_that_a_reader_makes_of_it():
    levels = Category(("?", "0.1", "1"))
    for text in ("0.10000000000000000555", "0.99999999999999999999"):
        stored = [pa.array([text]), np.array([float(text)]), [Decimal(text)], [text]]
        assert len({read(values, levels)[0] for values in stored}) == 1
        assert read([text], levels) != [0]


BOOLEANS = [True, False, None]


@pytest.mark.parametrize("levels", [("?", "True", "False"), ("?", "true", "FALSE"), ("?", "1", "0"), (7, 1, 0)])
def test_booleans_in_every_storage(levels):
    column, number = Category(levels), Number(-1, 2, -1)
    for values in (
        pa.array(BOOLEANS),
        pa.array(BOOLEANS).dictionary_encode(),
        pa.array([1, 0, None], pa.int8()).cast(pa.bool8()) if hasattr(pa, "bool8") else pa.array(BOOLEANS),
        np.ma.MaskedArray([True, False, True], [False, False, True]),
        np.array(BOOLEANS, object),
        BOOLEANS,
        ["True", "False", None],
        ["TRUE", " false ", ""],
        pa.array(["true", "false", "x"]),
        pd.Series(pd.array(BOOLEANS, "boolean")),
        pd.Series(BOOLEANS, dtype="category"),
        pl.Series(BOOLEANS),
        [np.True_, np.False_, pd.NA],
        [1, 0.0, None],
    ):
        assert read(values, column) == [1, 2, 0]
        assert read(values, number) == [1, 0, -1]


def test_words_for_missing_numbers_are_missing_as_text_too():
    """A reader stores ``inf`` as a float among numbers, and as text beside somebody's ``x``."""
    number = Number(-1, 2, -1)
    levels = Category(("?", "1"))
    for cell in ("nan", "NaN", "inf", "-Infinity", "+INF", float("inf"), float("nan"), Decimal("Infinity")):
        assert read([cell], number) == [-1]
        assert read([cell], levels) == [0]
    for word in ("inf", "NaN", "-Infinity"):
        with pytest.raises(InputError, match="to be another word"):
            Category((word, "1"))


cells_of = st.lists(st.one_of(st.none(), st.integers(-(2**70), 2**70), st.integers(-3, 3)), min_size=1, max_size=6)


@settings(deadline=None, max_examples=150)
@given(cells_of, st.data())
def test_any_integers_are_exact_in_every_type_that_holds_them(cells, data):
    levels = Category(tuple({0, 1, -2, *(cell for cell in cells if cell is not None)}), 0)
    strings = Category(tuple(map(str, levels.levels)), "0")
    people = parse_objects(cells, Identifier()).tolist()
    assert people == [b"" if cell is None else str(cell).encode() for cell in cells]
    codes = [levels.missing_code if cell is None else levels.levels.index(cell) for cell in cells]
    decimals = [None if cell is None else Decimal(cell) for cell in cells]
    stored = [
        pa.array(as_text(cells)),
        pa.array(decimals, pa.decimal128(38, 5)),
        pa.array(decimals, pa.decimal256(70, 9)),
    ]
    if all(cell is None or -(2**63) <= cell < 2**63 for cell in cells):
        stored.append(pa.array(cells, pa.int64()))
    if all(cell is None or 0 <= cell < 2**64 for cell in cells):
        stored.append(pa.array(cells, pa.uint64()))
    for array in stored:
        for column, wanted in ((Identifier(), people), (levels, codes), (strings, codes)):
            assert parse_arrow(array, column).tolist() == wanted
            assert parse_arrow(array.dictionary_encode(), column).tolist() == wanted
            assert parse_objects(array.to_pylist(), column).tolist() == wanted


floats_of = st.one_of(
    st.tuples(st.just(np.float64), st.floats()),
    st.tuples(st.just(np.float32), st.floats(width=32)),
    st.tuples(st.just(np.float16), st.floats(width=16)),
)


@settings(deadline=None, max_examples=300)
@given(floats_of)
def test_a_float_is_its_shortest_decimal(kind_and_value):
    """As text, as a decimal and as the float itself it is one level, where that level may be stored as this float."""
    width, value = kind_and_value
    stored = np.array([value], width)
    text = str(stored[0])
    if not np.isfinite(stored[0]):
        assert read(stored, Category(("?", "1"))) == [0]
        return
    level = Category(("?", text))
    assert read([text], level) == read([Decimal(text)], level) == read([stored[0]], level) == [1]
    if abs(value) < 2 ** (np.finfo(width).nmant + 1):
        assert read(stored, level) == [1]
        assert parse_arrow(pa.array(stored), level).tolist() == parse_numpy(stored, level).tolist() == [1]
    else:
        with pytest.raises(InputError, match="which cannot hold the level"):
            read(stored, level)


@pytest.mark.parametrize(
    ("kind", "level", "held"),
    [
        (np.float64, 2**53 - 1, True),
        (np.float64, -(2**53), False),
        (np.float64, "9007199254740992", False),
        (np.float64, "1e300", False),
        (np.float64, "9" * 400 + ".5", False),
        (np.float64, 0.1, True),
        (np.float64, "any text", True),
        (np.float32, 2**24 - 1, True),
        (np.float32, 2**24, False),
        (np.float32, 0.1, True),
        (np.float32, 0.123456789, False),
        (np.float16, 2047, True),
        (np.float16, 2048, False),
        (np.float16, 0.1, True),
        (np.float16, 0.12345, False),
    ],
)
def test_levels_that_a_float_cannot_hold_are_refused_by_type_alone(kind, level, held):
    """A missing cell elsewhere stores integers as floats, which merges those past the float's precision."""
    schema = Schema(v={"levels": [level, "?" if isinstance(level, str) else 1]})
    empty = np.array([], kind)
    containers = [
        {"v": empty},
        pa.table({"v": pa.array(empty)}),
        pa.table({"v": pa.array(empty).dictionary_encode()}),
        pd.DataFrame({"v": pd.Series(pd.Categorical([], categories=np.array([1], kind)))})
        if kind != np.float16
        else {"v": empty},
    ]
    if kind != np.float16:
        containers.append(pd.DataFrame({"v": pd.array(empty, f"Float{8 * kind().itemsize}")}))
        containers.append(pd.DataFrame({"v": pd.arrays.SparseArray(empty)}))
    for data in containers:
        if held:
            open_source(data, ["v"], schema)
        else:
            with pytest.raises(InputError, match=r"Expected column='v' to be stored as text, .* cannot hold the level"):
                open_source(data, ["v"], schema)


def test_the_float_that_integers_become_is_refused_and_not_merged():
    """The old rule read 2^53 + 1 as 2^53 as soon as somebody's cell was missing."""
    schema = Schema(v={"levels": [0, 2**53, 2**53 + 1]})
    assert read(pd.Series([2**53 + 1, 2**53]), schema["v"]) == [2, 1]
    assert read(pd.array([2**53 + 1, None], "Int64"), schema["v"]) == [2, 0]
    with pytest.raises(InputError, match="cannot hold the level"):
        read(pd.Series([2**53 + 1, None]), schema["v"])


# ---------------------------------------------------------------------------------------------------------------------
# Levels that are declared


@pytest.mark.parametrize(
    "levels", [["1", "1.0"], ["01", "1"], ["1e2", "100"], ["True", "1"], ["true", "TRUE"], ["-0", "0"], ["0.1", "1e-1"]]
)
def test_levels_that_no_cell_tells_apart_are_refused(levels):
    with pytest.raises(InputError, match=r"In the schema, column 'x': Expected level=.* to differ from .*\.$"):
        Schema(x=levels)


def test_levels_that_differ_are_kept():
    for levels in (["1", "１"], ["a", "A"], ["1", "1a"], ["0x1", "1"], ["é", "e\u0301"], [2**53, 2**53 + 1], ["", "0"]):
        assert Category(tuple(levels)).levels == tuple(levels)
    assert Category((np.float64(0.5), np.float64(1.0))).levels == (0.5, 1.0)


# ---------------------------------------------------------------------------------------------------------------------
# Neighbours: 99 people keep their level when the hundredth changes

PLAN = tacit.Plan(tacit.Categorical("zip"), tacit.Schema(zip=["?", "01234", "00005", "AB12"]), tacit.PureDP(1.0))


def sums(data, plan=PLAN):
    return exact_sums(open_source(data, *needed(plan)), plan)


def distance(one, other, plan=PLAN):
    """How far two neighbours' sums are apart, after n was found to be the same, in units of the claimed sensitivity."""
    (n, first), (m, second) = sums(one, plan), sums(other, plan)
    assert n == m
    return sum(abs(a - b) for a, b in zip(first, second, strict=True)) / plan.sensitivity().l1


def hive(folder, last):
    """99 people in zip 01234, and one in a folder of their own."""
    for name, count in (("01234", 99), (last, 1)):
        below = folder / f"zip={name}"
        below.mkdir(parents=True)
        pq.write_table(pa.table({"other": list(range(count))}), below / "0.parquet")
    return folder


def test_one_person_s_folder_does_not_move_the_others(tmp_path):
    """With partitions whose type Arrow guesses, the last folder moved 99 people: 99 times the claim."""
    a, b = hive(tmp_path / "a", "00005"), hive(tmp_path / "b", "AB12")
    assert sums(a)[0] == 100
    assert 0 < distance(a, b) <= 1
    assert str(ds.dataset(a, partitioning="hive").schema.field("zip").type) == "int32"
    for folder in (a, b):
        text = pa.schema([("zip", pa.string())])
        for data in (
            ds.dataset(folder, partitioning="hive"),
            ds.dataset(folder, partitioning=ds.partitioning(text, flavor="hive")),
            ds.dataset([ds.dataset(folder, partitioning="hive")]),
            ds.dataset(folder / "zip=01234", partitioning="hive", partition_base_dir=str(folder)),
            by_hand(ds.dataset(folder, partitioning="hive")),
        ):
            with pytest.raises(
                InputError, match=r"Expected column='zip' to be stored in the files of the dataset, not"
            ):
                open_source(data, *needed(PLAN))
            other = Schema(other=(0, 100))
            assert sum(batch.rows for batch in open_source(data, ["other"], other).batches(other, ["other"], 9)) >= 99
    (tmp_path / "c" / "01234").mkdir(parents=True)
    pq.write_table(pa.table({"other": [1]}), tmp_path / "c" / "01234" / "0.parquet")
    plain = ds.dataset(tmp_path / "c", partitioning=["zip"])
    with pytest.raises(InputError, match="not in the names of its folders"):
        open_source(plain, *needed(PLAN))


def by_hand(dataset):
    """The same fragments without the partitioning that made them."""
    return ds.FileSystemDataset(list(dataset.get_fragments()), dataset.schema, dataset.format, dataset.filesystem)


def test_a_dataset_whose_file_lacks_a_column_is_refused(tmp_path):
    """Arrow would fill it with nulls; tacit's own reading of the folder names the file."""
    pq.write_table(pa.table({"zip": ["01234"]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"other": [1]}), tmp_path / "1.parquet")
    dataset = ds.dataset([tmp_path / "0.parquet", tmp_path / "1.parquet"], schema=pa.schema([("zip", pa.string())]))
    with pytest.raises(InputError, match="to be stored in every file"):
        open_source(dataset, *needed(PLAN))


READERS = {
    "pandas": lambda text: pd.read_csv(io.StringIO(text)),
    "pandas, not numpy": lambda text: pd.read_csv(io.StringIO(text), dtype_backend="numpy_nullable"),
    "pandas, arrow": lambda text: pd.read_csv(io.StringIO(text), dtype_backend="pyarrow"),
    "polars": lambda text: pl.read_csv(text.encode()),
    "polars, categories": lambda text: pl.read_csv(text.encode()).with_columns(
        pl.col("v").cast(pl.String).cast(pl.Categorical)
    ),
    "category": lambda text: pd.read_csv(io.StringIO(text), dtype="category"),
    "astype category": lambda text: pd.read_csv(io.StringIO(text)).astype("category"),
    "objects": lambda text: pd.read_csv(io.StringIO(text)).astype(object),
    "parquet": lambda text: through_parquet(pd.read_csv(io.StringIO(text))),
}


def through_parquet(frame):
    sink = io.BytesIO()
    frame.to_parquet(sink)
    return pq.read_table(io.BytesIO(sink.getvalue()))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("levels", "cell", "ends"),
    [
        (["?", "01234", "AB12"], "01234", ["00005", "AB12", "", "1.5", "1e400", "12345678901234567890"]),
        (["?", "True", "False"], "True", ["False", "AB12", "", "0", "1.5"]),
        (["?", "1.0", "2.0"], "1.0", ["2.0", "AB12", "", "3", "inf"]),
        (["?", "0.1", "5"], "0.1", ["5", "AB12", "", "True"]),
    ],
)
def test_one_person_s_cell_does_not_move_the_others_through_a_reader_that_guesses(reader, levels, cell, ends):
    """The old rule moved 99 people by the hundredth's cell, through every one of these readers."""
    plan = tacit.Plan(tacit.Categorical("v"), tacit.Schema(v=levels), tacit.PureDP(1.0))
    tables = []
    for last in ends:
        text = "v,w\n" + f"{cell},a\n" * 99 + f"{last},a\n"
        tables.append(READERS[reader](text))
    for table in tables:
        assert distance(tables[0], table, plan) <= 1
        _, found = sums(table, plan)
        assert found[1] // plan.statistic().unit >= 99


@pytest.mark.parametrize("reader", ["pandas", "pandas, not numpy", "pandas, arrow", "objects"])
def test_a_number_of_true_and_false_is_not_moved_either(reader):
    plan = tacit.Plan(tacit.Normal("v", shape_check=False), tacit.Schema(v=(0, 1)), tacit.PureDP(1.0))
    tables = [READERS[reader]("v,w\n" + "True,a\nFalse,a\nTrue,a\n" * 33 + f"{last},a\n") for last in ("True", "x", "")]
    for table in tables:
        assert distance(tables[0], table, plan) <= 1


# ---------------------------------------------------------------------------------------------------------------------
# People neither merge nor split


def person_plan(max_rows=1):
    unit = tacit.AddNoise(unit=tacit.Person("who", max_rows))
    return tacit.Plan(tacit.Categorical("x"), tacit.Schema(x=["a", "b", "c"]), tacit.PureDP(1.0), unit)


def people(*tables, folder):
    """How many people are in ``tables``, each of them one file."""
    folder.mkdir()
    for i, table in enumerate(tables):
        pq.write_table(table, folder / f"{i}.parquet")
    return sums(folder, person_plan())[0]


def who(values, kind=None):
    array = pa.array(values, kind)
    return pa.table({"who": array, "x": ["b"] * len(array)})


BIG = [10**17, 10**17 + 1, 2**53 + 1, 7]


def test_a_person_is_one_whatever_a_file_stores(tmp_path):
    """10^17 as an integer in one file and as a decimal in another were two people, and 10^17 + 1 none at all."""
    decimals = [Decimal(value) for value in BIG]
    tables = [
        who(BIG),
        who(BIG, pa.uint64()),
        who(decimals, pa.decimal128(38, 0)),
        who(decimals, pa.decimal128(30, 10)),
        who(decimals, pa.decimal256(60, 2)),
        who([str(value) for value in BIG]),
        who([f" {value}.0" for value in BIG]),
        who([f"000{value}" for value in BIG], pa.large_string()),
        who(BIG).set_column(0, "who", pa.array(BIG).dictionary_encode()),
    ]
    assert people(*tables, folder=tmp_path / "all") == len(BIG)
    for i, table in enumerate(tables):
        assert people(table, folder=tmp_path / f"{i}") == len(BIG)


def test_people_whose_identifiers_only_look_alike_stay_apart(tmp_path):
    texts = ["0e1", "0e2", "0", "1e5", "100000", "1.5", "1.50", "a", "A", "é", "e\u0301", "true", "1", "True", "１"]
    assert people(who(texts), folder=tmp_path / "text") == len(texts)
    bad = pa.array([b"\xff", b"\xfe", b"a\xff", b"a\xfe", "\ufffd".encode()]).view(pa.string())
    assert people(pa.table({"who": bad, "x": ["b"] * 5}), folder=tmp_path / "bad") == 5
    csv = tmp_path / "bad.csv"
    csv.write_bytes(b"who,x\n\xff,b\n\xfe,b\n\xef\xbf\xbd,b\n")
    assert sums(csv, person_plan())[0] == 3


def test_people_of_a_duckdb_table(tmp_path):
    """HUGEINT comes as decimals. By way of float64 these four were two people."""
    path = tmp_path / "d.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table t (who hugeint, x varchar)")
        for value in (2**127 - 1, 2**127 - 2, 10**38 + 1, 10**38 + 2, 10**38 + 2):
            connection.execute("insert into t values (?::varchar::hugeint, 'b')", [str(value)])
    assert sums(f"{path}::t", person_plan())[0] == 4


def test_people_of_a_duckdb_table_of_unsigned_integers(tmp_path):
    """UHUGEINT would come as decimals, in which 2^127 is negative: -(2^127), the same as a HUGEINT in another file."""
    path = tmp_path / "d.duckdb"
    values = (2**127, 2**127 + 1, 2**128 - 1, 2**128 - 1, 7)
    with duckdb.connect(str(path)) as connection:
        connection.execute('create table t (who uhugeint, "a-b" uhugeint, x varchar)')
        for value in values:
            connection.execute(
                "insert into t values (?::varchar::uhugeint, ?::varchar::uhugeint, 'b')", [str(value)] * 2
            )
        _check_unsigned(connection.table("t"), values)
    _check_unsigned(f"{path}::t", values)


def _check_unsigned(data, values):
    assert sums(data, person_plan())[0] == 4
    schema = Schema({"a-b": (0, 2.0**127)}).with_identifier("who")
    (batch,) = open_source(data, ["a-b", "who"], schema).batches(schema, ["a-b", "who"], 10)
    assert batch.columns["who"].tolist() == [str(value).encode() for value in values]
    assert batch.columns["a-b"].tolist() == [2.0**127] * 4 + [7.0]


def test_bytes_of_python_name_people_exactly():
    """Codes of four bytes, of which white space and zeros are a part. As text, some of them were one person."""
    codes = [b" abc", b"abc ", b"\nabc", b"0123", b"+123", b"123 ", b"\x00\x20\x20\x20", b"\x20\x20\x20\x20", b"    "]
    for kind in (bytes, bytearray):
        held = [kind(code) for code in codes]
        assert sums({"who": held, "x": ["b"] * len(codes)}, person_plan())[0] == len(codes) - 1
        assert sums(pd.DataFrame({"who": pd.Series(held, dtype=object), "x": "b"}), person_plan())[0] == len(codes) - 1
    assert sums({"who": [b"", None, b"7", 7, "7"], "x": ["b"] * 5}, person_plan())[0] == 2


def test_people_of_a_polars_frame_of_128_bits():
    whos = [2**100, 2**100 + 1, 2**100 + 1, None, 7]
    frame = pl.DataFrame({"who": pl.Series(whos, dtype=pl.Int128), "x": ["b"] * 5})
    assert sums(frame, person_plan())[0] == 4


def test_floats_and_booleans_name_nobody(tmp_path):
    """Neither by their type alone; as objects they are exact."""
    for kind in (*ARROW_FLOATS, pa.bool_(), pa.dictionary(pa.int8(), pa.float64())):
        with pytest.raises(InputError, match=r"Expected column='who' to be stored as text, whole numbers or decimals"):
            open_source(who([], kind), *needed(person_plan()))
    with pytest.raises(InputError, match="two people could have one identifier"):
        open_source(pd.DataFrame({"who": pd.array([1, None], "Float64"), "x": ["a", "b"]}), *needed(person_plan()))
    assert (
        sums({"who": [1.0, 1, "1", 2.5, Decimal("2.50"), None, float("nan"), ""], "x": ["a"] * 8}, person_plan())[0]
        == 3
    )


def test_one_person_s_identifier_does_not_split_the_others(tmp_path):
    """What counts of everybody else is the same rows, however the last identifier makes the frame store theirs."""
    plan = person_plan()
    rows = "who,x\n" + "".join(f"0{i % 40},{'abc'[i % 3]}\n" for i in range(120))
    tables = [
        pd.read_csv(io.StringIO(rows + f"{last},a\n")) for last in ("77", "AB12", "123456789012345678901234567890")
    ]
    (n, first), *others = [sums(table, plan) for table in tables]
    for m, second in others:
        assert n == m == 41
        assert sum(abs(a - b) for a, b in zip(first, second, strict=True)) <= plan.sensitivity().l1
