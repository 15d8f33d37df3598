"""The interface of rows: batches of columns, already parsed against the declared schema."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from tacit.errors import BrokenMediumError, InputError, expected
from tacit.schema import Schema


@dataclass(frozen=True)
class Batch:
    """Some consecutive rows, one array of length ``rows`` a column.

    A `Number` column is float64, finite and inside its bounds: what was outside is clamped, what was missing is filled.
    A `Category` column is int64, the position of the cell's level in ``levels``. An `Identifier` column holds the
    exact forms of the cells (see `cell_forms`), bytes as objects, which are empty where a cell is missing.
    """

    rows: int
    columns: dict[str, np.ndarray]
    kept: np.ndarray | None = None
    """Which of the rows count, of those that a plan's filter has looked at; None: all of them."""

    def counted(self) -> dict[str, np.ndarray]:
        """The columns of the rows that count: leaving a row out of a sum is to add the vector 0 for it."""
        if self.kept is None:
            return self.columns
        return {name: values[self.kept] for name, values in self.columns.items()}

    def split(self, batch_rows: int) -> Iterator[Batch]:
        """The same rows in the same order, at most ``batch_rows`` at a time and never none."""
        for start in range(0, self.rows, batch_rows):
            stop = min(start + batch_rows, self.rows)
            kept = None if self.kept is None else self.kept[start:stop]
            yield Batch(stop - start, {name: values[start:stop] for name, values in self.columns.items()}, kept)


FileState = tuple[int, ...] | None
"""Which file it is (device and inode), how long it is and when it was changed; None where there is none."""

Pull = Callable[[], Batch]
"""Some consecutive rows that have been read and are still to be parsed, which any thread may do."""


@dataclass(frozen=True)
class Source(ABC):
    """One base table. ``label`` is how messages call it; ``names`` are its columns, never read from values.

    A statistic must be a total function of a row, so a source promises more than to deliver rows:

    * every refusal that depends on names, types or encodings happens in `check`, before any row is read;
    * after that nothing raises, warns, logs or changes the number of rows on account of a value;
    * what a row parses to depends on that row alone: not on its neighbours, its batch or the batch size.

    A source is a table and a list of columns. A query that filters, joins or groups would make the number of rows, or
    whose they are, depend on data: it is refused wherever it can be told from a table. Whoever passes in a stream, or a
    frame that was made so, vouches for it.
    """

    label: str
    names: tuple[str, ...]

    @property
    def typed_elsewhere(self) -> bool:
        """Whether somebody else chose how cells are stored, perhaps by looking at all of them; not so for plain text.

        A source that says nothing of it is typed elsewhere: a release then says what it assumes.
        """
        return True

    @abstractmethod
    def check(self, schema: Schema, columns: Sequence[str]) -> None:
        """Refuse columns that are absent, ambiguous or of a type that can not be parsed. Reads no row."""

    def rows(self, columns: Sequence[str]) -> int | None:
        """How many rows a footer or a length says there are; None where only reading tells. Their number is public."""
        return None

    def has_no_rows(self, columns: Sequence[str]) -> bool:
        """Whether a header, a footer or a length tells that there is no row at all."""
        return self.rows(columns) == 0

    def pieces(self, columns: Sequence[str], least_rows: int) -> tuple[Source, ...]:
        """The same rows as several sources that can be read apart, in order, or just this one. Reads no row.

        Pieces have ``least_rows`` rows or more where the medium tells.
        """
        return (self,)

    @property
    def portable(self) -> bool:
        """Whether another process can read it, which needs no more than to get at the same files."""
        return False

    @property
    def read_once(self) -> bool:
        """Whether its rows may be gone once they were read."""
        return False

    def reachable(self) -> bool:
        """Whether this process gets at the files."""
        return True

    def files(self) -> tuple[FileState, ...]:
        """How the files are now that the rows are in: it must not change until the last row is read."""
        return ()

    @property
    def labels(self) -> tuple[str, ...]:
        """All that a sentence about a broken medium may call it."""
        return (self.label,)

    @abstractmethod
    def pulls(self, schema: Schema, columns: Sequence[str], batch_rows: int) -> Iterator[Pull]:
        """Every row exactly once, in order; only ``columns`` are read. At most about ``batch_rows`` rows are held."""

    def batches(self, schema: Schema, columns: Sequence[str], batch_rows: int) -> Iterator[Batch]:
        """Every row exactly once, in order, at most ``batch_rows`` at a time; only ``columns`` are read.

        Raises `BrokenMediumError`, naming the source and nothing else, when the medium breaks: a read error, a corrupt
        page, a file that is not what it was when it was opened.
        """
        for pull in self.pulls(schema, columns, batch_rows):
            yield from pull().split(batch_rows)


def file_state(path: Path) -> FileState:
    """How the file at ``path`` is now."""
    with suppress(OSError):
        found = path.stat()
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
    return None


def label_of(path: Path) -> str:
    """The path as messages show it: the end of a long one, where the file's name is."""
    shown = str(path)
    return shown if len(shown) <= 78 else "..." + shown[-75:]


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


def is_a(data: object, module: str, name: str) -> bool:
    """Whether ``data`` is of class ``name`` in ``module``, which is not imported for it: who has one, imported it."""
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(data, getattr(loaded, name))


def unbroken(label: str, pulls: Iterator[Pull]) -> Iterator[Pull]:
    """``pulls``, where whatever breaks while rows are read or parsed becomes one sentence about the source.

    The cause may quote a row. ``from None`` would only hide it, in ``__context__``; so the sentence is raised after the
    handler, here and everywhere in this package, where there is no cause left to carry along.
    """
    try:
        for pull in pulls:
            yield partial(_unbroken_pull, label, pull)
    except Exception:
        pass
    else:
        return
    raise broken(label)


def broken(label: str) -> BrokenMediumError:
    """The sentence about a source whose medium breaks."""
    return BrokenMediumError(str(expected("data", label, "to be readable to its end, and not to change meanwhile")))


def _unbroken_pull(label: str, pull: Pull) -> Batch:
    with suppress(Exception):
        return pull()
    raise broken(label)


def _hint(column: str, names: Sequence[str]) -> str:
    # Only a name that is the same but for case and separators is shown: without a header line, the "names" would be
    # somebody's row, and a message must not tell more about it than the question already said.
    close = [name for name in names if _plain(name) == _plain(column)]
    return f" (did you mean {close[0]!r}?)" if close else ""


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())
