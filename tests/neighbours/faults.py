"""Mistakes that were once made on the way from a table to its sums, put back into the mended code one at a time.

Each names the media that show it. The harness has to find every one of them, or it proves nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np

import tacit
from tacit import schema
from tacit.engines import reading
from tacit.expressions import numbers
from tacit.privacy.sensitivity import Sensitivity
from tacit.sources import arrow_tables, cells, columns, duckdb_tables, folders

from . import duckdb_media
from .pairs import plan_of

Patch = tuple[Any, str, Any]


@dataclass(frozen=True)
class Fault:
    """What is patched while it is planted, and the ``media`` that it shows in."""

    patches: tuple[Patch, ...]
    media: tuple[str, ...]

    @contextmanager
    def planted(self) -> Iterator[None]:
        with ExitStack() as stack:
            for place, name, value in self.patches:
                stack.enter_context(mock.patch.object(place, name, value))
            plan_of.cache_clear()  # what a schema refuses may be part of the fault
            stack.callback(plan_of.cache_clear)
            yield


def _as_stored(literal: bytes) -> bytes:
    """A level by the text of whatever type the column has."""
    return literal.strip()


def _through_float(literal: bytes, *, typed: bool = False) -> bytes:
    try:
        return repr(float(literal)).encode()
    except ValueError:
        return literal.strip()


def _replaced(literal: bytes, *, typed: bool = False) -> bytes:
    return literal.strip().decode("utf-8", "replace").encode()


def _by_type(name_of: Callable[[object], bytes]) -> Callable[[object], bytes]:
    return lambda cell: type(cell).__name__.encode() + name_of(cell)


def _unquoted(relation: Any, names: Any, batch_rows: int) -> Iterator[Any]:
    yield from relation.select(*names).to_arrow_reader(batch_rows)


def _too_small(claim: Callable[[tacit.Plan], Sensitivity]) -> Callable[[tacit.Plan], Sensitivity]:
    def understated(plan: tacit.Plan) -> Sensitivity:
        true = claim(plan)
        return replace(true, l1=true.l1 * Fraction(9, 10), l2_squared=true.l2_squared * Fraction(81, 100))

    return understated


_settled = numbers.settled


def _beside_the_batch(values: Any) -> Any:
    """Numbers less their mean over the rows that came together."""
    found = _settled(values)
    return found - np.nan_to_num(found).mean()


def _failing(values: Any) -> Any:
    """As NumPy is where nobody tells it otherwise."""
    if np.isinf(values).any():
        raise FloatingPointError
    return _settled(values)


class _RawSteps:
    """Progress as the blocks come."""

    def __init__(self, progress: Any) -> None:
        self._progress = progress

    def __call__(self, rows: int) -> None:
        self._progress(rows)

    def finish(self) -> None:
        pass


FAULTS: dict[str, Fault] = {
    "bounds without a width": Fault(((schema, "LEAST_WIDTH", 0.0),), ("dict of lists", "csv")),
    "levels by the type of their column": Fault(
        ((cells, "level_form", _as_stored),),
        ("pandas from csv", "pandas from csv, pyarrow", "polars from csv", "table from csv"),
    ),
    "types guessed by whoever loads a table": Fault(
        ((duckdb_media, "declared", duckdb_media.guessed),),
        ("duckdb from csv, types declared", "parquet by duckdb, types declared"),
    ),
    "types guessed from the names of folders": Fault(
        ((cells, "level_form", _as_stored), (arrow_tables, "_check_dataset", lambda *_: None)), ("hive dataset",)
    ),
    "a view opened for a table": Fault(
        ((duckdb_tables.Named, "quoted", property(lambda self: f'"{self.table}"')),), ("duckdb table of a view's name",)
    ),
    "names of columns run as SQL": Fault(((duckdb_tables, "_streamed", _unquoted),), ("duckdb connection",)),
    "files counted by their names": Fault(
        ((folders, "identity_of", os.fspath),),
        ("csv pattern with links", "parquet folder with a hard link", "parquet pattern with a link"),
    ),
    "identifiers through float64": Fault(((cells, "identifier_form", _through_float),), ("table", "csv", "parquet")),
    "identifiers with their broken letters replaced": Fault(
        ((cells, "identifier_form", _replaced),), ("table", "csv", "tsv")
    ),
    "identifiers by the type of their column": Fault(
        ((columns, "name_of", _by_type(cells.name_of)),), ("parquet folder of several types",)
    ),
    "rows announced and not compared": Fault(
        ((reading.Announced, "check", lambda *_: None),), ("feather, changed meanwhile", "duckdb, changed meanwhile")
    ),
    "a claim that is a tenth too small": Fault(
        ((tacit.Plan, "sensitivity", _too_small(tacit.Plan.sensitivity)),), ("dict of lists", "table", "csv")
    ),
    "a person claimed as one row": Fault(
        ((Sensitivity, "times", lambda self, records: self),), ("dict of lists", "csv")
    ),
    "a derived column that looks at its batch": Fault(
        ((numbers, "settled", _beside_the_batch),), ("dict of lists", "table", "csv", "parquet")
    ),
    "a derived column that fails on a value": Fault(((numbers, "settled", _failing),), ("dict of lists", "csv")),
    "progress by the block": Fault(((reading, "Steps", _RawSteps),), ("csv",)),
}
