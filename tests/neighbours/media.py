"""Every medium that a table may come in: who writes it, what its columns may be stored as, and what tacit is handed.

A medium that is not in `MEDIA` is not attacked. Writers are the ordinary ones (pandas, pyarrow, polars, DuckDB), so
that whatever they guess from a whole table is part of the attack.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import arrow_media, duckdb_media, frame_media, text_media
from .catalogue import KINDS, PEOPLE, READ_AS
from .tables import Table

Writer = Callable[[Table, Path], Any]

TEXT = ("text",)
GUESSED = ("guessed",)
ARROW = tuple(kind for kind in KINDS if kind not in READ_AS)
PARQUET = tuple(kind for kind in ARROW if kind not in ("runs", "int runs", "text view"))
FRAME = ("text", "large text", "dictionary", "int", "uint", "float", "float32", "bool", "date", "stamp")
DUCKDB = ("text", "int", "uint", "huge", "float", "float32", "decimal", "bool", "date", "stamp")
NUMPY = ("int", "uint", "float", "float32", "bool", "text")
IPC = ("text", "int", "float", "runs", "large text", "decimal")
WHOLE = ("int", "uint", "huge")
READ_TEXT = ("read as text",)
READ_POLARS = ("read as text", "read as int", "read as float", "read as date")
READ_PEOPLE = ("read as text", "read as int")
READ = (READ_AS, READ_PEOPLE)


@dataclass(frozen=True)
class Medium:
    """``write`` stores a table in an empty folder and says what tacit is handed.

    ``inferred``: somebody guesses types from the text of the whole table; cells that a guess changes for good are left
    out. ``declared``: somebody stores text as types that were chosen beforehand, as a release assumes; all cells are
    in. ``people``: how identifiers may be stored.
    ``portable``: the workers of a cluster can read it. ``refused``: tacit takes few such tables, or none.
    ``broken``: it changes while it is read. ``share``: how often it is drawn, as some take longer.
    """

    name: str
    write: Writer
    kinds: tuple[str, ...] = TEXT
    people: tuple[str, ...] = ()
    inferred: bool = False
    declared: bool = False
    portable: bool = False
    refused: bool = False
    broken: bool = False
    share: int = 12

    @property
    def text(self) -> bool:
        """Whether tacit reads the text itself, so that nothing is assumed of types."""
        return self.write.__module__ == text_media.__name__


def _identifiers(kinds: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(kind for kind in kinds if kind in PEOPLE)


_ALL = (
    Medium("dict of lists", frame_media.as_dict, ARROW, _identifiers(ARROW)),
    Medium("dict of arrays", frame_media.as_arrays, NUMPY, ("int", "uint", "text")),
    Medium("csv", text_media.csv, TEXT, TEXT, portable=True),
    Medium("csv, crlf, no last newline", text_media.csv_crlf, TEXT, TEXT, portable=True),
    Medium("csv, byte order mark", text_media.csv_marked, TEXT, TEXT),
    Medium("tsv", text_media.tsv, TEXT, TEXT, portable=True),
    Medium("csv, semicolons", text_media.csv_semicolons, TEXT, TEXT),
    Medium("csv of raw lines", text_media.csv_lines, TEXT, portable=True),
    Medium("csv by pandas", text_media.csv_by_pandas, TEXT, TEXT),
    Medium("csv folder", text_media.csv_folder, TEXT, TEXT, portable=True),
    Medium("csv pattern with links", text_media.csv_linked, TEXT),
    Medium("table", arrow_media.table, ARROW, _identifiers(ARROW)),
    Medium("chunks", arrow_media.chunks, ARROW, _identifiers(ARROW)),
    Medium("slices", arrow_media.slices, ARROW, _identifiers(ARROW)),
    Medium("stream", arrow_media.stream, ARROW, _identifiers(ARROW)),
    Medium("record batch", arrow_media.batch, ARROW, _identifiers(ARROW)),
    Medium("table from csv", arrow_media.read_csv, TEXT, GUESSED, inferred=True),
    Medium("parquet", arrow_media.parquet, PARQUET, _identifiers(PARQUET), portable=True),
    Medium("parquet folder", arrow_media.parquet_folder, PARQUET, _identifiers(PARQUET), portable=True),
    Medium("parquet folder of several types", arrow_media.parquet_mixed, WHOLE, WHOLE, portable=True),
    Medium("parquet folder with links", arrow_media.parquet_links, PARQUET, _identifiers(PARQUET), portable=True),
    Medium("parquet folder with a hard link", arrow_media.parquet_hard_link, PARQUET, share=6),
    Medium("parquet folder with a folder's link", arrow_media.parquet_folder_link, PARQUET, share=6),
    Medium("parquet folder with a loop", arrow_media.parquet_loop, PARQUET, share=6),
    Medium("parquet pattern with a folder's link", arrow_media.parquet_pattern, PARQUET, share=6),
    Medium("parquet pattern with a link", arrow_media.parquet_file_pattern, PARQUET, share=6),
    Medium("parquet list with a hard link", arrow_media.parquet_list, PARQUET, refused=True, share=6),
    Medium("feather", arrow_media.feather, PARQUET, _identifiers(PARQUET), portable=True),
    Medium("ipc", arrow_media.ipc, IPC, _identifiers(IPC), portable=True),
    Medium("hive folder", arrow_media.hive_folder, TEXT, TEXT, portable=True, share=6),
    Medium("hive dataset", arrow_media.hive_dataset, inferred=True, refused=True),
    Medium("hive dataset, types declared", arrow_media.hive_declared, TEXT, refused=True, share=6),
    Medium("parquet dataset", arrow_media.dataset, PARQUET, _identifiers(PARQUET), portable=True),
    Medium("pandas", frame_media.pandas_objects, ARROW, _identifiers(ARROW)),
    Medium("pandas from lists", frame_media.pandas_inferred, TEXT, GUESSED, inferred=True),
    Medium("pandas from csv", frame_media.pandas_csv, TEXT, GUESSED, inferred=True),
    Medium("pandas from csv, pyarrow", frame_media.pandas_csv_arrow, TEXT, GUESSED, inferred=True),
    Medium("pandas from parquet", frame_media.pandas_parquet, FRAME, ("text", "dictionary")),
    Medium("pandas categories from csv", frame_media.pandas_categories, TEXT, GUESSED, inferred=True),
    Medium("polars", frame_media.polars_frame, FRAME, ("text", "int", "uint", "date", "bool")),
    Medium("polars from csv", frame_media.polars_csv, TEXT, GUESSED, inferred=True),
    Medium("duckdb file", duckdb_media.file, DUCKDB, _identifiers(DUCKDB), portable=True, share=2),
    Medium("duckdb schemas and views", duckdb_media.schemas, DUCKDB, _identifiers(DUCKDB), refused=True, share=2),
    Medium("duckdb table of a view's name", duckdb_media.shadowed, DUCKDB, share=2),
    Medium("duckdb connection", duckdb_media.connection, DUCKDB, _identifiers(DUCKDB), share=2),
    Medium("duckdb from csv", duckdb_media.read_csv, TEXT, GUESSED, inferred=True, share=2),
    Medium("table from csv, types declared", arrow_media.read_csv_declared, READ_TEXT, READ_TEXT, declared=True),
    Medium("pandas from csv, types declared", frame_media.pandas_declared, READ_AS[:5], READ_PEOPLE, declared=True),
    Medium("polars from csv, types declared", frame_media.polars_declared, READ_POLARS, READ_PEOPLE, declared=True),
    Medium("duckdb from csv, types declared", duckdb_media.read_csv_declared, *READ, declared=True, share=2),
    Medium("parquet by duckdb, types declared", duckdb_media.parquet_declared, *READ, declared=True, share=4),
    Medium("feather, changed meanwhile", arrow_media.feather_changing, ("text", "int", "float"), broken=True, share=6),
    Medium("duckdb, changed meanwhile", duckdb_media.changing, ("text", "int", "float"), broken=True, share=2),
)  # fmt: skip

MEDIA: dict[str, Medium] = {medium.name: medium for medium in _ALL}
