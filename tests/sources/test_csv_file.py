"""Lines, cells and totality of delimited text. Fuzzing uses fresh entropy."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.schema import Schema
from tacit.sources import csv_file
from tacit.sources.lines import split_block, split_line
from tacit.sources.open import header_of, open_source

SCHEMA = Schema(x={"bounds": [0, 10], "missing": 7}, c=["a", "b", "c"], y=(-1, 1))


def read(path, schema=SCHEMA, columns=("x", "c"), batch_rows=1000):
    batches = list(open_source(path, columns, schema).batches(schema, columns, batch_rows))
    assert all(1 <= batch.rows <= batch_rows for batch in batches)
    assert all(len(values) == batch.rows for batch in batches for values in batch.columns.values())
    return [tuple(row) for batch in batches for row in zip(*(batch.columns[n].tolist() for n in columns), strict=True)]


@pytest.mark.parametrize(
    ("line", "cells"),
    [
        (b"", [b""]),
        (b"1,2", [b"1", b"2"]),
        (b",", [b"", b""]),
        (b'"1","2"', [b"1", b"2"]),
        (b'"1,2",3', [b"1,2", b"3"]),
        (b'"a""b",3', [b'a"b', b"3"]),
        (b'"""",""""""', [b'"', b'""']),
        (b'"",""', [b"", b""]),
        (b'"open,2', [b"open,2"]),
        (b'1,"open,2', [b"1", b"open,2"]),
        (b'"', [b""]),
        (b'"""', [b'"']),
        (b"5'10\",x", [b"5'10\"", b"x"]),
        (b'a""b,x', [b'a""b', b"x"]),
        (b'"a"b,x', [b"ab", b"x"]),
        (b'"a"b"c,x', [b'ab"c', b"x"]),
        (b'"a" "b",x', [b'a "b"', b"x"]),
        (b' "a,b",x', [b' "a', b'b"', b"x"]),
        (b'x,"a"', [b"x", b"a"]),
        (b"\xff,\x00", [b"\xff", b"\x00"]),
    ],
)
def test_the_cells_of_a_line(line, cells):
    assert split_line(line, b",") == cells
    rows, found = split_block(line + b"\n", b",", [0, 1, 2])
    assert rows == 1
    assert [column.to_pylist() for column in found] == [[cell] for cell in [*cells, b"", b""][:3]]
    if not any(text in line for text in (b"\xff", b"\x00")) and line:  # where both apply, the csv module agrees
        assert [cell.encode() for cell in next(csv.reader(io.StringIO(line.decode())))] == cells


quoting = st.text(alphabet='ab1," \r', max_size=12).map(str.encode)
any_line = st.one_of(quoting, st.binary(max_size=12)).map(lambda line: line.replace(b"\n", b""))


@settings(max_examples=500, deadline=None)
@given(st.lists(any_line, min_size=1, max_size=8), st.sampled_from([b",", b"\t"]))
def test_a_block_splits_like_its_lines(lines, delimiter):
    block = b"".join(line + b"\n" for line in lines)
    rows, found = split_block(block, delimiter, [2, 0, 5, 1])
    assert rows == len(lines)
    for field, column in zip([2, 0, 5, 1], found, strict=True):
        expected = [split_line(line.removesuffix(b"\r"), delimiter) for line in lines]
        assert column.to_pylist() == [cells[field] if field < len(cells) else b"" for cells in expected]


@pytest.mark.parametrize(
    ("body", "rows"),
    [
        ("", []),
        ("1,a", [(1, 0)]),
        ("1,a\n", [(1, 0)]),
        ("1,a\r\n2,b\r\n", [(1, 0), (2, 1)]),
        ("1,a\n\n", [(1, 0), (7, 0)]),
        ("\n\n\n", [(7, 0)] * 3),
        ("\r", [(7, 0)]),
        ("1\n", [(1, 0)]),
        ("1,b,extra,more\n", [(1, 1)]),
        (",b\n", [(7, 1)]),
        (" 1 , b \n", [(1, 1)]),
        ('"1","b"\n', [(1, 1)]),
        ('"1,b\n2,c\n', [(7, 0), (2, 2)]),
        ('1,"b\n2,c\n', [(1, 1), (2, 2)]),
        ("11,b\n-1,c\n", [(10, 1), (0, 2)]),
        ("1e999,d\nnan,NA\n", [(7, 0), (7, 0)]),
        ("1\r2,b\n", [(7, 1)]),
        ("1,b\x00\n", [(1, 0)]),
    ],
)
def test_the_rows_of_a_file(tmp_path, body, rows):
    path = tmp_path / "d.csv"
    path.write_bytes(b"x,c\n" + body.encode())
    assert read(path) == rows
    assert read(str(path), batch_rows=1) == rows


def test_headers(tmp_path):
    path = tmp_path / "d.CSV"
    for header in (b"x,c", b"\xef\xbb\xbfx,c\r", b' x ,"c"', b'other,"x",c'):
        lead = b"0," if b"other" in header else b""
        path.write_bytes(header + b"\n" + lead + b"3,b\n")
        source = open_source(path, ["x", "c"], SCHEMA)
        assert {"x", "c"} <= set(source.names)
        assert read(path) == [(3, 1)]
    path.write_bytes(b"x,c")
    assert read(path) == []


def test_tabs(tmp_path):
    path = tmp_path / "d.tsv"
    path.write_bytes(b'x\tc\n1\tb\n2,5\t"a\tb"\n')
    assert read(path) == [(1, 1), (7, 0)]


@pytest.mark.parametrize(
    ("body", "rows"),
    [
        ("1;b\n1,5;b\n1.5;b\n", [(1, 1), (1.5, 1), (1.5, 1)]),
        ('"2,5";"b"\n;\n', [(2.5, 1), (7, 0)]),
        ("0.001,5;c\n1,2,3;c\n,5;c\n1,;c\n", [(1.5, 2), (7, 2), (0.5, 2), (1, 2)]),
        ("-0.000.001,;c\n 0.002,0 ;c\n1.23,4;c\n.001,5;c\n", [(0, 2), (2, 2), (7, 2), (7, 2)]),
        ("1.002;c\n1.000.000;c\n", [(1.002, 2), (7, 2)]),
        ("1,5e0;a,b\n-1,0;b\n", [(1.5, 0), (0, 1)]),
    ],
)
def test_semicolons_and_decimal_commas(tmp_path, body, rows):
    path = tmp_path / "d.csv"
    path.write_bytes(b"x;c\n" + body.encode())
    assert read(path) == rows


def test_the_header_alone_says_what_stands_between_cells(tmp_path):
    path = tmp_path / "d.csv"
    for header, names in {
        "x;c": ("x", "c"),
        'x;"a, b";c': ("x", "a, b", "c"),
        "income, net;x;c": ("income, net", "x", "c"),
        "x,c": ("x", "c"),
        '"x;y;z",c': ("x;y;z", "c"),
        "x;c,y": ("x;c", "y"),
        "x": ("x",),
    }.items():
        for rows in ("1;2;3\n1,5;2\n", "1,2,3\n;,;,\n", "\n\n"):
            path.write_text(header + "\n" + rows)
            assert tuple(header_of(path)) == names


def test_levels_of_a_file_with_semicolons_keep_their_commas(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("c;d\na,b;1\n")
    assert read(path, Schema(c=["no", "a,b", "a.b"]), ["c"]) == [(1,)]


def test_cells_that_are_not_utf8_are_no_level(tmp_path):
    path = tmp_path / "d.csv"
    path.write_bytes("c\ncafé\n".encode() + "café\n".encode("latin-1"))
    schema = Schema(c=["no", "café", "caf\ufffd"])
    assert read(path, schema, ["c"]) == [(1,), (0,)]


def test_a_source_can_be_read_twice(tmp_path):
    path = tmp_path / "d.csv"
    path.write_bytes(b"x,c\n1,b\n")
    source = open_source(path, ["x"], SCHEMA)
    for _ in range(2):
        assert [b.columns["x"].tolist() for b in source.batches(SCHEMA, ["x"], 5)] == [[1.0]]


def test_blocks_and_batches_do_not_matter(tmp_path, monkeypatch):
    """Rows of very different lengths, cut at every block size from one byte up."""
    path = tmp_path / "d.csv"
    lines = [b"1,a", b"", b'"2,5",b', b"3," + b"z" * 50, b"4\r", b'"5', b"6,c,,,,", b'"7","c"']
    path.write_bytes(b"x,c\n" + b"\n".join(lines))
    whole = read(path)
    assert len(whole) == len(lines)
    for size in [*range(1, 20), 64, 1000]:
        monkeypatch.setattr(csv_file, "_BLOCK_BYTES", size)
        assert read(path, batch_rows=1 + size % 3) == whole


def test_a_cell_of_a_million_quotes_is_a_cell(tmp_path):
    path = tmp_path / "d.csv"
    path.write_bytes(b'x,c\n"' + b'""' * 10**6 + b",\n2,b\n")
    assert read(path) == [(7, 0), (2, 1)]


def test_number_of_rows_and_types_of_arrays(tmp_path):
    path = tmp_path / "d.csv"
    path.write_bytes(b"x,c\n" + b"1,b\n" * 10)
    sizes = [batch.rows for batch in open_source(path, ["x"], SCHEMA).batches(SCHEMA, ["x"], 4)]
    assert sizes == [4, 4, 2]
    [batch] = open_source(path, ["x", "c"], SCHEMA).batches(SCHEMA, ["x", "c"], 10)
    assert batch.columns["x"].dtype == np.float64
    assert batch.columns["c"].dtype == np.int64


@settings(max_examples=300, deadline=None)
@given(body=st.one_of(st.binary(max_size=60), quoting.map(lambda text: text.replace(b" ", b"\n"))))
def test_any_bytes_are_rows(tmp_path_factory, body):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(b"x,c\n" + body)
    rows = read(path)
    assert len(rows) == body.count(b"\n") + (not body.endswith(b"\n") and body != b"")
    assert all(0 <= x <= 10 and c in (0, 1, 2) for x, c in rows)


@settings(max_examples=300, deadline=None)
@given(lines=st.lists(any_line, min_size=2, max_size=6), other=any_line, data=st.data())
def test_one_line_changes_one_row(tmp_path_factory, lines, other, data):
    """The heart of replace-one: whatever stands in one line, every other row parses as before.

    The fault that this must catch is a quote that runs on over the line's end: see the next test.
    """
    changed = data.draw(st.integers(0, len(lines) - 1))
    path = tmp_path_factory.getbasetemp() / "one.csv"
    parsed = []
    for version in (lines, [*lines[:changed], other, *lines[changed + 1 :]]):
        path.write_bytes(b"x,c\n" + b"".join(line + b"\n" for line in version))
        parsed.append(read(path))
    before, after = parsed
    assert len(before) == len(after) == len(lines)
    assert all(before[i] == after[i] for i in range(len(lines)) if i != changed)


def test_a_reader_whose_quotes_span_lines_is_caught():
    """The planted fault: the csv module's own reading, where one open quote swallows all rows behind it."""
    lines = ["1,a", "2,b", "3,c"]
    assert len(list(csv.reader(io.StringIO("\n".join(lines))))) == 3
    assert len(list(csv.reader(io.StringIO("\n".join(['"', *lines[1:]]))))) == 1
