"""Rows that come as Arrow record batches, whatever they come out of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Self

import pyarrow as pa

from tacit.schema import Schema
from tacit.sources.base import Batch, FileState, Pull, Source, check_batch_rows, file_state, locate, unbroken
from tacit.sources.classes import check_type, parse_arrow


@dataclass(frozen=True)
class Part(ABC):
    """One stretch of the rows, such as one file of several, with a schema of its own."""

    label: str
    schema: pa.Schema

    @property
    def portable(self) -> bool:
        """Whether it can be pickled and read by another process."""
        return False

    @property
    def read_once(self) -> bool:
        """Whether its rows may be gone once they were read."""
        return False

    def reachable(self) -> bool:
        """Whether this process gets at the file."""
        return True

    def files(self) -> tuple[FileState, ...]:
        """How its file is now, where there is one to look at."""
        return ()

    @abstractmethod
    def read(self, columns: Sequence[str], batch_rows: int) -> Iterable[pa.RecordBatch]:
        """Record batches that hold at least ``columns``; larger ones than wanted are cut."""

    def rows(self) -> int | None:
        """The number of rows, from a length or from metadata, or None where only reading would tell."""
        return None

    def pieces(self, least_rows: int) -> Sequence[Part]:
        """The same rows as several parts."""
        return (self,)

    def slim(self, columns: Sequence[str]) -> Self:
        """The same part, where only the types of ``columns`` are remembered."""
        kept = [field for field in self.schema if field.name in columns]
        return replace(self, schema=pa.schema(kept))


@dataclass(frozen=True)
class FilePart(Part):
    """A part that another process can read for itself, by its path."""

    path: Path

    @property
    def portable(self) -> bool:
        return True

    def reachable(self) -> bool:
        """Whether this process sees the file."""
        return self.path.is_file()

    def files(self) -> tuple[FileState, ...]:
        return (file_state(self.path),)


@dataclass(frozen=True)
class ArrowRows(Source):
    """The rows of ``parts``, one after the other. Each part is parsed by its own types: none is cast to another's."""

    parts: tuple[Part, ...]

    def check(self, schema: Schema, columns: Sequence[str]) -> None:
        """Refuse columns that some part does not have, has twice, or has with a type that can not be parsed."""
        for part in self.parts:
            for name, position in locate(part.label, part.schema.names, columns).items():
                check_type(part.label, name, part.schema.field(position).type, schema[name])

    def rows(self, columns: Sequence[str]) -> int | None:
        """The sum over the parts, where all of them know."""
        total = 0
        for part in self.parts:
            rows = None
            with suppress(Exception):  # a medium that breaks here breaks again when it is read, and that is told then
                rows = part.rows()
            if rows is None:
                return None
            total += rows
        return total

    def pieces(self, columns: Sequence[str], least_rows: int) -> tuple[Source, ...]:
        """The pieces of all parts."""
        slim = [part.slim(columns) for part in self.parts]
        found = [piece for part in slim for piece in part.pieces(least_rows)]
        return tuple(ArrowRows(self.label, tuple(piece.schema.names), (piece,)) for piece in found)

    @property
    def portable(self) -> bool:
        """Whether all parts are."""
        return all(part.portable for part in self.parts)

    @property
    def read_once(self) -> bool:
        """Whether some part is."""
        return any(part.read_once for part in self.parts)

    def reachable(self) -> bool:
        """Whether all parts are."""
        return all(part.reachable() for part in self.parts)

    def files(self) -> tuple[FileState, ...]:
        """Those of all parts."""
        return tuple(state for part in self.parts for state in part.files())

    @property
    def labels(self) -> tuple[str, ...]:
        """Its own, and those of all parts."""
        return (self.label, *(part.label for part in self.parts))

    def pulls(self, schema: Schema, columns: Sequence[str], batch_rows: int) -> Iterator[Pull]:
        check_batch_rows(batch_rows)
        self.check(schema, columns)
        for part in self.parts:
            yield from unbroken(part.label, _pull_part(part, schema, columns, batch_rows))


def one_part(part: Part) -> ArrowRows:
    """Rows that are all in one part."""
    return ArrowRows(part.label, tuple(part.schema.names), (part,))


def _pull_part(part: Part, schema: Schema, columns: Sequence[str], batch_rows: int) -> Iterator[Pull]:
    for batch in part.read(columns, batch_rows):
        for start in range(0, batch.num_rows, batch_rows):
            yield partial(_parse, batch.slice(start, batch_rows), schema, columns)


def _parse(batch: pa.RecordBatch, schema: Schema, columns: Sequence[str]) -> Batch:
    names = batch.schema.names
    return Batch(batch.num_rows, {name: parse_arrow(batch.column(names.index(name)), schema[name]) for name in columns})
