"""Columns of whole numbers in a Parquet file that a stranger may have made: what the footer says is checked first.

A Parquet file of some megabytes can hold billions of equal numbers, and its footer may point to other files. So nothing
is read before the number of rows, the columns, their types and where they lie are what they should be.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.errors import expected

MOST_NUMBERS = 2**27  # in one file, a GiB of memory
_LONGEST_TEXT = 2**26  # in the footer: our header, and a copy of it by Arrow
_MOST_PARTS = 2**17  # in any list of the footer
_PIECE = 2**16  # rows


@dataclass(frozen=True, eq=False)
class IntegerColumns:
    """What the footer of an open file says, and `read`, which takes the numbers of one column."""

    path: Path
    metadata: dict[bytes, bytes]
    names: tuple[str, ...]
    rows: int
    file: Any

    def read(self, name: str) -> Any:
        """All numbers of one column, as int64; in pieces, as its pages may hold more than the footer says."""
        import numpy as np

        found, place = np.empty(self.rows, np.int64), 0
        try:
            for batch in self.file.iter_batches(batch_size=_PIECE, columns=[name], use_threads=False):
                values = batch.column(0).to_numpy(zero_copy_only=False)
                if values.dtype != np.int64:  # a missing number makes the others floats
                    raise ValueError
                found[place : place + len(values)] = values  # raises where there are more than there is room for
                place += len(values)
        except Exception:  # pyarrow raises many kinds on damage
            raise _broken(self.path) from None
        if place != self.rows:
            raise _broken(self.path)
        return found


@contextmanager
def open_columns(path: Path) -> Generator[IntegerColumns]:
    """Open a file whose columns are all flat int64 in the file itself; refuse another one, or a larger one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with path.open("rb") as stream:
        try:
            # Without `pre_buffer` no other thread reads: one that calls Python while the process ends makes it abort.
            file = pq.ParquetFile(
                stream,
                thrift_string_size_limit=_LONGEST_TEXT,
                thrift_container_size_limit=_MOST_PARTS,
                pre_buffer=False,
            )
            footer, schema = file.metadata, file.schema_arrow
            names = tuple(schema.names)
            # What the footer says of a column's part of a row group is not asked for: Arrow ends the process where it
            # contradicts itself there. `read` notices what matters of it, and never opens the files it may name.
            plain = (
                len(set(names)) == len(names) == footer.num_columns
                and all(field.type == pa.int64() for field in schema)
                and all(footer.schema.column(j).path == name for j, name in enumerate(names))
                and footer.num_rows >= 0
            )
            found = IntegerColumns(path, dict(schema.metadata or {}), names, footer.num_rows, file)
        except Exception:  # pyarrow raises many kinds on a file that is not Parquet
            raise _broken(path) from None
        if not plain:
            raise _broken(path)
        if found.rows * len(names) > MOST_NUMBERS:
            raise expected("reports", str(path), f"to hold at most {MOST_NUMBERS} numbers")
        yield found


def _broken(path: Path) -> Exception:
    return expected("reports", str(path), "to be a file of reports, whole and unchanged")
