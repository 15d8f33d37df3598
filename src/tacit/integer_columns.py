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


@dataclass(frozen=True, eq=False)
class IntegerColumns:
    """What the footer of an open file says, and `read`, which takes the numbers of one column."""

    path: Path
    metadata: dict[bytes, bytes]
    names: tuple[str, ...]
    rows: int
    file: Any

    def read(self, name: str) -> Any:
        """All numbers of one column, an int64 array."""
        import numpy as np

        try:
            column = self.file.read(columns=[name], use_threads=False).column(0)
            found = np.concatenate([np.zeros(0, np.int64), *(chunk.to_numpy() for chunk in column.chunks)])
        except Exception:  # pyarrow raises many kinds on damage
            raise _broken(self.path) from None
        if found.dtype != np.int64 or len(found) != self.rows:  # a missing number makes the others floats
            raise _broken(self.path)
        return found


@contextmanager
def open_columns(path: Path) -> Generator[IntegerColumns]:
    """Open a file whose columns are all flat int64 in the file itself; refuse another one, or a larger one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with path.open("rb") as stream:
        try:
            file = pq.ParquetFile(
                stream, thrift_string_size_limit=_LONGEST_TEXT, thrift_container_size_limit=_MOST_PARTS
            )
            footer, schema = file.metadata, file.schema_arrow
            names = tuple(schema.names)
            parts = [footer.row_group(i) for i in range(footer.num_row_groups)]
            plain = (
                len(set(names)) == len(names) == footer.num_columns
                and all(field.type == pa.int64() for field in schema)
                and all(footer.schema.column(j).path == name for j, name in enumerate(names))
                and all(not part.column(j).file_path for part in parts for j in range(len(names)))
                and footer.num_rows == sum(part.num_rows for part in parts) >= 0
                and all(part.column(j).num_values == part.num_rows for part in parts for j in range(len(names)))
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
