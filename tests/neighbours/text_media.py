"""Delimited text. A row is a line, so that no cell holds a line end here: tacit says so of the files that it takes."""

from __future__ import annotations

import csv as module
import io
import os
from pathlib import Path

from .tables import Table, raw, texts


def _bytes(table: Table, delimiter: str = ",", end: str = "\n", *, last: bool = True, bom: bool = False) -> bytes:
    """As Python's own writer has it, whatever the bytes are."""
    stream = io.StringIO(newline="")
    writer = module.writer(stream, delimiter=delimiter, lineterminator=end)
    module.writer(stream, lineterminator=end, delimiter=delimiter, quoting=module.QUOTE_ALL).writerow(table.names)
    for row in table.rows:
        # It doubles the quotes of text, so text is what it gets: each byte a letter, and back to bytes below.
        cells = [_one_line(raw(cell).decode("latin-1")) for cell in row]
        writer.writerow(cells)
    header, *rest = stream.getvalue().split(end, 1)
    content = header.encode() + end.encode() + rest[0].encode("latin-1")
    content = content if last or len(table.names) == 1 else content.removesuffix(end.encode())
    return b"\xef\xbb\xbf" * bom + content


def _one_line(cell: str) -> str:
    return cell.replace("\n", " ").replace("\r", " ")


def _put(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def csv(table: Table, folder: Path) -> Path:
    return _put(folder / "rows.csv", _bytes(table))


def csv_crlf(table: Table, folder: Path) -> Path:
    return _put(folder / "rows.csv", _bytes(table, end="\r\n", last=False))


def csv_marked(table: Table, folder: Path) -> Path:
    return _put(folder / "rows.csv", _bytes(table, bom=True))


def tsv(table: Table, folder: Path) -> Path:
    return _put(folder / "rows.tsv", _bytes(table, "\t"))


def csv_semicolons(table: Table, folder: Path) -> Path:
    """As spreadsheets of many countries write it."""
    return _put(folder / "rows.csv", _bytes(table, ";"))


def csv_lines(table: Table, folder: Path) -> Path:
    """Cells as they are, with a delimiter between them and nothing quoted: whatever a broken writer may leave."""
    lines = [",".join('"' + name.replace('"', '""') + '"' for name in table.names).encode()]
    lines += [b",".join(cell.replace(b"\n", b"\r") for cell in map(raw, row)) for row in table.rows]
    return _put(folder / "rows.csv", b"".join(line + b"\n" for line in lines))


def csv_by_pandas(table: Table, folder: Path) -> Path:
    import pandas as pd

    columns = {name: [cell and _one_line(cell) for cell in texts(table.cells(name))] for name in table.names}
    pd.DataFrame(columns, dtype=object).to_csv(folder / "rows.csv", index=False, errors="surrogateescape")
    return folder / "rows.csv"


def csv_folder(table: Table, folder: Path) -> Path:
    place = folder / "rows"
    place.mkdir()
    for i in range(3):
        _put(place / f"{i}.csv", _bytes(table.part(i, 3)))
    return place


def csv_linked(table: Table, folder: Path) -> str:
    place = csv_folder(table, folder)
    os.symlink("0.csv", place / "latest.csv")
    os.link(place / "1.csv", place / "backup.csv")
    return str(place / "*.csv")
