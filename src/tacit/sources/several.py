"""One table in several files, each a source of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tacit.schema import Schema
from tacit.sources.base import FileState, Pull, Source


@dataclass(frozen=True)
class Several(Source):
    """The rows of ``sources``, one after the other."""

    sources: tuple[Source, ...]

    @property
    def typed_elsewhere(self) -> bool:
        """Whether any of them is."""
        return any(source.typed_elsewhere for source in self.sources)

    def check(self, schema: Schema, columns: Sequence[str]) -> None:
        """Refuse what any of them refuses."""
        for source in self.sources:
            source.check(schema, columns)

    def rows(self, columns: Sequence[str]) -> int | None:
        """The sum, where all of them know."""
        known = [source.rows(columns) for source in self.sources]
        counted = [rows for rows in known if rows is not None]
        return sum(counted) if len(counted) == len(known) else None

    def has_no_rows(self, columns: Sequence[str]) -> bool:
        """Whether that is known of each."""
        return all(source.has_no_rows(columns) for source in self.sources)

    def pieces(self, columns: Sequence[str], least_rows: int) -> tuple[Source, ...]:
        """Those of all of them."""
        return tuple(piece for source in self.sources for piece in source.pieces(columns, least_rows))

    @property
    def portable(self) -> bool:
        """Whether all of them are."""
        return all(source.portable for source in self.sources)

    def files(self) -> tuple[FileState, ...]:
        """Those of all of them."""
        return tuple(state for source in self.sources for state in source.files())

    @property
    def labels(self) -> tuple[str, ...]:
        """Those of all of them."""
        return (self.label, *(label for source in self.sources for label in source.labels))

    def pulls(self, schema: Schema, columns: Sequence[str], batch_rows: int) -> Iterator[Pull]:
        """One source after the other."""
        for source in self.sources:
            yield from source.pulls(schema, columns, batch_rows)
