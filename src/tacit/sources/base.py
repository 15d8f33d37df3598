"""The interface of rows: batches of columns, already parsed against the declared schema."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from tacit.errors import InputError, expected
from tacit.schema import Schema


@dataclass(frozen=True)
class Batch:
    """Some consecutive rows, one array of length ``rows`` a column.

    A `Number` column is float64, finite and inside its bounds: what was outside is clamped, what was missing is filled.
    A `Category` column is int64, the position of the cell's level in ``levels``.
    """

    rows: int
    columns: dict[str, np.ndarray]

    def split(self, batch_rows: int) -> Iterator[Batch]:
        """The same rows in the same order, at most ``batch_rows`` at a time and never none."""
        for start in range(0, self.rows, batch_rows):
            stop = min(start + batch_rows, self.rows)
            yield Batch(stop - start, {name: values[start:stop] for name, values in self.columns.items()})


@dataclass(frozen=True)
class Source(ABC):
    """One base table. ``label`` is how messages call it; ``names`` are its columns, never read from values.

    A statistic must be a total function of a row, so a source promises more than to deliver rows:

    * every refusal that depends on names, types or encodings happens in `check`, before any row is read;
    * after that nothing raises, warns, logs or changes the number of rows on account of a value;
    * what a row parses to depends on that row alone: not on its neighbours, its batch or the batch size.

    A source is a table and a list of columns. A query that filters, joins or groups would make the number of rows
    depend on data; whoever passes one in vouches for it.
    """

    label: str
    names: tuple[str, ...]

    @abstractmethod
    def check(self, schema: Schema, columns: Sequence[str]) -> None:
        """Refuse columns that are absent, ambiguous or of a type that can not be parsed. Reads no row."""

    @abstractmethod
    def batches(self, schema: Schema, columns: Sequence[str], batch_rows: int) -> Iterator[Batch]:
        """Every row exactly once, in order, at most ``batch_rows`` at a time; only ``columns`` are read.

        Raises `InputError`, naming the source and nothing else, when the medium breaks: a read error, a corrupt page.
        """


def locate(label: str, names: Sequence[str], columns: Sequence[str]) -> dict[str, int]:
    """Where each of ``columns`` stands in ``names``; refuse what is absent or there twice."""
    if not columns:
        raise InputError("Expected columns to name at least one column.")
    found: dict[str, int] = {}
    for column in columns:
        count = list(names).count(column)
        if count == 0:
            raise expected("column", column, f"to be a column of {label}{_hint(column, names)}")
        if count > 1:
            raise expected("column", column, f"to appear once in {label}, not {count} times")
        found[column] = list(names).index(column)
    return found


def check_batch_rows(batch_rows: object) -> None:
    """Refuse a batch size that is not a positive whole number."""
    if isinstance(batch_rows, bool) or not isinstance(batch_rows, int) or batch_rows < 1:
        raise expected("batch_rows", batch_rows, "to be a whole number, 1 or more")


@contextmanager
def unbroken(label: str) -> Generator[None]:
    """Turn whatever breaks while rows are read into one sentence about the source; the cause may quote a row."""
    try:
        yield
    except Exception:
        raise expected("data", label, "to be readable to its end") from None


def _hint(column: str, names: Sequence[str]) -> str:
    # Only the one name that is close is shown: without a header line, the "names" would be somebody's row.
    lowered = {name.lower(): name for name in names}
    close = get_close_matches(column.lower(), list(lowered), n=1)
    return f" (did you mean {lowered[close[0]]!r}?)" if close else ""
