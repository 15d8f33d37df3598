"""What is refused, when, and that no sentence of it quotes a cell."""

import traceback
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from tacit.errors import InputError
from tacit.schema import Schema
from tacit.sources.open import open_source

CANARY = "canary-7731"
SCHEMA = Schema(age=(0, 100), smoker=["no", "yes"])
NUMBERS = [7731.7731, 77317731.0]


def refusal(data, columns=("age", "smoker"), schema=SCHEMA):
    """The sentence, once it is sure that nothing printed with it holds a cell's value."""
    with pytest.raises(InputError) as caught:
        open_source(data, columns, schema)
    return sentence(caught.value)


def sentence(error):
    message = str(error)
    assert message.startswith("Expected ")
    assert message.endswith(".")
    assert "\n" not in message
    shown = "".join(traceback.format_exception(error))
    assert "canary" not in message
    assert "7731" not in shown.replace("CANARY", "").replace("NUMBERS", "")
    assert "During handling" not in shown
    assert error.__cause__ is None
    assert error.__context__ is None  # `from None` only hides the cause, which may quote a cell, from the traceback
    return message


def write(path, content):
    path.write_bytes(content)
    return path


def test_paths(tmp_path):
    assert "to exist" in refusal(tmp_path / "absent.csv")
    assert "to exist" in refusal(str(tmp_path / "absent"))
    assert "with .parquet files" in refusal(tmp_path)
    write(tmp_path / "_hidden.parquet", b"")
    assert "with .parquet files" in refusal(tmp_path)
    assert "to end in .csv, .tsv, .parquet, .arrow or .feather" in refusal(write(tmp_path / "d.xlsx", CANARY.encode()))
    assert "to end in" in refusal(write(tmp_path / "plain", CANARY.encode()))
    assert "that can be read" in refusal("null\x00byte.csv")
    assert "that can be read" in refusal(write(tmp_path / "file", b"") / "below.csv")


def test_permission(tmp_path, monkeypatch):
    path = write(tmp_path / "d.csv", b"age,smoker\n")

    def closed(*_, **__):
        raise PermissionError(13, CANARY)

    monkeypatch.setattr(Path, "open", closed)
    assert refusal(path).endswith("to be readable with your permissions.")


@pytest.mark.parametrize("header", [b"", b"\n", b"\r\n", b"  \n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
def test_no_header(tmp_path, header):
    path = write(tmp_path / "d.csv", header + (CANARY.encode() if header.endswith(b"\n") else b""))
    assert "to begin with a header line" in refusal(path)


def test_headers_that_can_not_be_read(tmp_path):
    rows = f"\n1,{CANARY}\n".encode()
    assert "UTF-8" in refusal(write(tmp_path / "d.csv", b"age,smoker,\xff" + rows))
    assert "UTF-8" in refusal(write(tmp_path / "d.csv", f"age,smoker\n1,{CANARY}\n".encode("utf-16")))
    assert "less than 1 MiB" in refusal(write(tmp_path / "d.csv", b"age,smoker" * 2**17))
    old_mac = f"age,smoker\r1,{CANARY}\r2,{CANARY}".encode()
    assert "to end its lines with a newline" in refusal(write(tmp_path / "d.csv", old_mac))


def test_not_a_typed_file(tmp_path):
    for suffix, kind in ((".parquet", "Parquet"), (".arrow", "Arrow IPC"), (".feather", "Arrow IPC")):
        for content in (b"", CANARY.encode(), b"PAR1" + CANARY.encode() + b"PAR1", b"ARROW1" + CANARY.encode()):
            assert f"to be a{'n' * (kind[0] == 'A')} {kind} file" in refusal(write(tmp_path / f"d{suffix}", content))


def containers(tmp_path, data):
    """The same columns, in every container that keeps their types."""
    pq.write_table(data, tmp_path / "d.parquet")
    feather.write_feather(data, str(tmp_path / "d.feather"))
    folder = tmp_path / "folder"
    folder.mkdir(exist_ok=True)
    pq.write_table(data, folder / "d.parquet")
    yield from (tmp_path / "d.parquet", tmp_path / "d.feather", folder, ds.dataset(folder))
    yield from (data, data.to_reader(), dict(zip(data.column_names, data.columns, strict=True)))


def test_a_missing_column(tmp_path):
    data = pa.table({"Age": NUMBERS, "smoker": [CANARY] * 2, "other": [CANARY] * 2})
    data.to_pandas().to_csv(tmp_path / "d.csv", index=False)
    for source in (*containers(tmp_path, data), data.to_pandas(), tmp_path / "d.csv"):
        assert "(did you mean 'Age'?)" in refusal(source)
    for source in (*containers(tmp_path, data), data.to_pandas(), tmp_path / "d.csv"):
        assert "did you mean" not in refusal(source, ["weight"], Schema(weight=(0, 1)))
    assert "Expected column='weight' to be declared in the schema." in refusal(data, ["weight"])
    assert "at least one column" in refusal(data, [])


def test_a_column_twice(tmp_path):
    data = pa.table([pa.array(NUMBERS), pa.array([1, 2]), pa.array([CANARY] * 2)], ["age", "age", "smoker"])
    frame = pd.DataFrame([[1, 2, CANARY]], columns=["age", "age", "smoker"])
    path = write(tmp_path / "d.csv", f"age,age,smoker\n1,2,{CANARY}\n".encode())
    parquet = tmp_path / "d.parquet"
    pq.write_table(data, parquet)
    for source in (data, data.to_reader(), frame, path, parquet):
        assert "column='age' to appear once" in refusal(source)
        open_source(source if source is not data else data, ["smoker"], SCHEMA)


UNREADABLE = [
    pa.array([[CANARY]] * 2),
    pa.array([[CANARY]] * 2, pa.large_list(pa.string())),
    pa.array([[CANARY]] * 2, pa.list_(pa.string(), 1)),
    pa.array([{CANARY: 1}] * 2),
    pa.array([[("k", CANARY)]] * 2, pa.map_(pa.string(), pa.string())),
    pa.array([CANARY.encode()] * 2, pa.binary(len(CANARY))),
    pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [pa.array([CANARY] * 2)]),
    pa.array([(1, 2, 3)] * 2, pa.month_day_nano_interval()),
]


@pytest.mark.parametrize("array", UNREADABLE, ids=lambda array: str(array.type)[:20])
def test_types_that_hold_no_scalar(tmp_path, array):
    data = pa.table({"age": array, "smoker": array})
    sources = [data, data.to_reader(), {"age": array, "smoker": array}]
    with suppress(pa.ArrowException):  # some of these types can not be written
        sources = [*containers(tmp_path, data)]
    for source in sources:
        assert "column='age' to hold numbers, text, booleans, dates or times" in refusal(source)
        assert "column='smoker' to hold text, numbers, booleans or dates" in refusal(source, ["smoker"])


def test_types_of_numpy_and_pandas_that_hold_no_scalar():
    record = np.array([(1, 2)], [("a", int), ("b", int)])
    for values in (np.array([1j]), record, np.array([1], "M8[Y]"), np.zeros(1, "V4")):
        assert "to hold numbers" in refusal({"age": values}, ["age"])
    times = np.array([7731], "M8[s]")
    assert "to hold text" in refusal({"smoker": times}, ["smoker"])
    assert "to hold text" in refusal(pa.table({"smoker": pa.array(times)}), ["smoker"])
    for zone in (None, "UTC"):
        frame = pd.DataFrame({"smoker": pd.Series(pd.to_datetime([7731])).dt.tz_localize(zone)})
        assert "to hold text" in refusal(frame, ["smoker"])
    lists = pd.DataFrame({"age": pd.array([[CANARY]], pd.ArrowDtype(pa.list_(pa.string())))})
    assert "to hold numbers" in refusal(lists, ["age"])
    assert "to hold numbers" in refusal(pd.DataFrame({"age": [1j]}), ["age"])


def test_dict_columns():
    unequal = refusal({"age": NUMBERS, "smoker": [CANARY]})
    assert "column='smoker' to be as long as column 'age'" in unequal
    for values in (
        CANARY,
        CANARY.encode(),
        7731,
        None,
        {CANARY},
        {CANARY: 1},
        iter(NUMBERS),
        np.ones((2, 2)),
        np.ones(()),
    ):
        assert "to be a one-dimensional sequence or array" in refusal({"age": values}, ["age"])
    refusal({"age": pd.DataFrame({"age": NUMBERS})}, ["age"])


def test_other_objects():
    class Broken:
        def __arrow_c_stream__(self, requested_schema=None):
            raise ValueError(CANARY)

    class BrokenArray:
        def __arrow_c_array__(self, requested_schema=None):
            raise ValueError(CANARY)

    for data in ([CANARY], CANARY.encode(), 7731, None, np.array([CANARY]), pa.schema([("age", pa.int8())])):
        assert f"data={type(data).__name__!r} to be a path" in refusal(data)
    assert "to stream Arrow record batches" in refusal(Broken())
    assert "to stream Arrow record batches" in refusal(pa.chunked_array([[CANARY]]))
    assert "to be a table" in refusal(BrokenArray())
    assert "to be a table" in refusal(pa.array([CANARY]))


def test_datasets_whose_types_depend_on_values(tmp_path):
    write(tmp_path / "d.csv", f"age,smoker\n1,{CANARY}\n".encode())
    assert "to hold Parquet or Arrow files" in refusal(ds.dataset(tmp_path / "d.csv", format="csv"))
    (tmp_path / "mixed").mkdir()
    pq.write_table(pa.table({"age": NUMBERS, "smoker": [CANARY] * 2}), tmp_path / "mixed" / "0.parquet")
    pq.write_table(pa.table({"age": ["7731"], "smoker": [CANARY]}), tmp_path / "mixed" / "1.parquet")
    mixed = ds.dataset(tmp_path / "mixed")
    for data in (mixed, ds.dataset([mixed])):
        assert "column='age' to have the same type in every file" in refusal(data)
    open_source(tmp_path / "mixed", ["age"], SCHEMA)  # file by file, each has its own types


def test_a_dataset_with_a_filter():
    data = ds.dataset(pa.table({"age": NUMBERS}))
    for whole in (data, ds.dataset([data])):
        filtered = whole.filter(ds.field("age") > NUMBERS[0])
        assert "without a filter" in refusal(filtered, ["age"])


def test_a_folder_names_the_file_that_lacks_a_column(tmp_path):
    pq.write_table(pa.table({"age": NUMBERS}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"weight": NUMBERS}), tmp_path / "1.parquet")
    assert "1.parquet" in refusal(tmp_path, ["age"])
    write(tmp_path / "2.parquet", CANARY.encode())
    assert "2.parquet" in refusal(tmp_path, ["age"])


def test_long_paths_are_shown_by_their_end(tmp_path):
    folder = tmp_path / ("long" * 40)
    folder.mkdir()
    for name in ("d.csv", "d.parquet", "d.arrow", "d.xlsx"):
        assert name in refusal(write(folder / name, b""))
        assert name in refusal(folder / f"absent-{name}")


def test_what_has_no_row_is_known_before_anything_is_paid(tmp_path):
    """Batches without rows are still batches; the planted fault is to count batches."""
    none = pa.table({"age": pa.array([], pa.float64()), "smoker": pa.array([], pa.string())})
    some = pa.table({"age": NUMBERS, "smoker": [CANARY] * 2})
    for data, empty in ((none, True), (some, False)):
        for source in containers(tmp_path, data):
            if not isinstance(source, pa.RecordBatchReader):  # a stream tells only when it is read
                assert open_source(source, ["age"], SCHEMA).has_no_rows(["age"]) is empty
        memory = open_source(ds.dataset(data), ["age"], SCHEMA)
        assert memory.has_no_rows(["age"]) is empty
        path = tmp_path / "batches.arrow"
        with pa.ipc.new_file(str(path), data.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
            for _ in range(3):
                writer.write_batch(pa.RecordBatch.from_pydict({"age": [], "smoker": []}, schema=none.schema))
            writer.write_table(data)
        source = open_source(path, ["age"], SCHEMA)
        assert source.has_no_rows(["age"]) is empty
        assert sum(batch.rows for batch in source.batches(SCHEMA, ["age"], 10)) == data.num_rows
        with pa.ipc.open_file(str(path)) as reader:
            assert reader.num_record_batches >= 3


def test_a_medium_that_breaks_is_not_empty(tmp_path):
    path = tmp_path / "d.arrow"
    feather.write_feather(pa.table({"age": NUMBERS}), str(path))
    opened = open_source(path, ["age"], SCHEMA)
    path.unlink()
    assert opened.has_no_rows(["age"]) is False


@pytest.mark.parametrize("ending", [b"", b"\r", b" "])
def test_one_column_ends_with_a_newline(tmp_path, ending):
    """Else an empty last cell would leave no trace, and n would depend on it."""
    path = write(tmp_path / "d.csv", b"age\n1\n" + CANARY.encode() + ending)
    assert "to end its last line with a newline, as it has only one column" in refusal(path, ["age"])
    for last in (b"", b"7731", b'""'):
        opened = open_source(write(path, b"age\n1\n" + last + ending + b"\n"), ["age"], SCHEMA)
        assert sum(batch.rows for batch in opened.batches(SCHEMA, ["age"], 10)) == 2
    assert open_source(write(path, b"age"), ["age"], SCHEMA).has_no_rows(["age"])
    two = open_source(write(path, b"age,smoker\n1,no\n,"), ["age"], SCHEMA)
    assert sum(batch.rows for batch in two.batches(SCHEMA, ["age"], 10)) == 2


@pytest.mark.parametrize("batch_rows", [0, -1, 1.5, True, None])
def test_batch_rows(tmp_path, batch_rows):
    data = pa.table({"age": NUMBERS})
    path = write(tmp_path / "d.csv", b"age\n1\n")
    for source in (data, path, {"age": NUMBERS}):
        with pytest.raises(InputError, match="batch_rows"):
            list(open_source(source, ["age"], SCHEMA).batches(SCHEMA, ["age"], batch_rows))


def broken(source, columns=("age", "smoker")):
    opened = open_source(source, columns, SCHEMA)
    with pytest.raises(InputError) as caught:
        list(opened.batches(SCHEMA, columns, 1000))
    return sentence(caught.value)


def test_files_that_break_in_the_middle(tmp_path):
    data = pa.table({"age": np.arange(5000.0) + 7731, "smoker": [f"{CANARY}-{i}" for i in range(5000)]})
    pq.write_table(data, tmp_path / "d.parquet", compression="none", use_dictionary=False)
    feather.write_feather(data, str(tmp_path / "d.feather"), compression="lz4")
    for name in ("d.parquet", "d.feather"):
        content = bytearray((tmp_path / name).read_bytes())
        content[40 : len(content) // 2] = b"\xff" * (len(content) // 2 - 40)
        message = broken(write(tmp_path / name, bytes(content)))
        assert name in message
        assert "to be readable to its end" in message


def test_offsets_that_point_outside(tmp_path):
    """Arrow trusts the offsets of an IPC file; unchecked they would be read from anywhere in memory."""
    offsets = pa.py_buffer(np.array([0, 2**30, 11], np.int32))
    corrupt = pa.StringArray.from_buffers(2, offsets, pa.py_buffer(CANARY.encode()))
    assert "to be readable to its end" in broken(pa.table({"age": corrupt, "smoker": corrupt}))
    for indices in ([0, 2**20], [0, -5], [0, 0, 0, -1], [2**20], [-5]):
        for values in ([CANARY], [CANARY] * 3, NUMBERS):
            corrupt = pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), pa.array(values), safe=False)
            assert "to be readable to its end" in broken(pa.table({"age": corrupt, "smoker": corrupt}))


def test_files_that_vanish(tmp_path):
    for name in ("d.csv", "d.parquet", "d.feather"):
        path = tmp_path / name
        write(path, b"age\n1\n")
        if name == "d.parquet":
            pq.write_table(pa.table({"age": NUMBERS}), path)
        if name == "d.feather":
            feather.write_feather(pa.table({"age": NUMBERS}), str(path))
        opened = open_source(path, ["age"], SCHEMA)
        path.unlink()
        with pytest.raises(InputError) as caught:
            list(opened.batches(SCHEMA, ["age"], 10))
        assert name in sentence(caught.value)


def test_streams_that_break_or_are_spent():
    schema = pa.schema([("age", pa.float64())])

    def rows():
        yield pa.record_batch([pa.array([1.0])], schema=schema)
        raise ValueError(CANARY)

    assert "to be readable to its end" in broken(pa.RecordBatchReader.from_batches(schema, rows()), ["age"])
    opened = open_source(pa.table({"age": NUMBERS}).to_reader(), ["age"], SCHEMA)
    assert sum(batch.rows for batch in opened.batches(SCHEMA, ["age"], 1)) == 2
    with suppress(InputError):  # a spent stream gives nothing, or says so
        assert list(opened.batches(SCHEMA, ["age"], 1)) == []


def test_opening_reads_no_row():
    """A stream that fails at its first row opens all the same."""
    schema = pa.schema([("age", pa.float64())])

    def rows():
        raise ValueError(CANARY)
        yield

    open_source(pa.RecordBatchReader.from_batches(schema, rows()), ["age"], SCHEMA)

    class Unread(list):
        def __iter__(self):
            raise AssertionError

        __getitem__ = __iter__

    open_source({"age": Unread(NUMBERS)}, ["age"], SCHEMA)
