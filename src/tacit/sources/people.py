"""Rows gathered by person: as many of each as the plan allows, and as many from everyone.

When a person may have several rows, replacing one person may change many of them, and even their number. Both are put
right here by a rule that looks at one person at a time:

* of a person's rows the ``max_rows`` with the smallest fingerprint are kept (a pseudo-random choice that depends on
  that person's rows alone, not on their order, on anyone else or on a seed);
* whoever has fewer gets empty rows, in which every cell is missing and takes its declared stand-in.

So everyone contributes exactly ``max_rows`` rows. The number of rows that count is the number of people times
``max_rows``: public whenever the number of people is. Replacing one person replaces at most ``max_rows`` rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from tacit.schema import Number, Schema
from tacit.sources.base import Batch


def by_person(
    batches: Iterable[Batch], schema: Schema, columns: tuple[str, ...], *, person: str, max_rows: int, batch_rows: int
) -> Iterator[Batch]:
    """The rows that count, in batches of at most ``batch_rows``. Holds the parsed columns in memory."""
    gathered: dict[str, list[np.ndarray]] = {name: [] for name in (person, *columns)}
    for batch in batches:
        for name, parts in gathered.items():
            parts.append(batch.columns[name])
    if not gathered[person]:
        return
    cells = {name: np.concatenate(parts) for name, parts in gathered.items()}
    people = cells.pop(person)
    mixed = _fingerprints(people, list(cells.values()))
    order = np.lexsort((*cells.values(), mixed, people))  # by person, then fingerprint; equal ones by their cells
    starts = np.flatnonzero(np.diff(people[order], prepend=people[order[0]] - 1))
    place = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    kept = order[place < max_rows]
    empty = len(starts) * max_rows - len(kept)
    yield from Batch(len(kept), {name: values[kept] for name, values in cells.items()}).split(batch_rows)
    size = min(empty, batch_rows)  # the empty rows may be far more than memory holds
    filler = {name: np.full(size, _stand_in(schema, name), values.dtype) for name, values in cells.items()}
    for start in range(0, empty, batch_rows):
        yield from Batch(min(size, empty - start), filler).split(batch_rows)


def _stand_in(schema: Schema, name: str) -> float | int:
    column = schema[name]
    return column.missing if isinstance(column, Number) else column.missing_code


def _fingerprints(people: np.ndarray, columns: list[np.ndarray]) -> np.ndarray:
    """A 64-bit number from each row's identifier and cells, well mixed (the finaliser of splitmix64)."""
    mixed = people.astype(np.uint64)
    with np.errstate(over="ignore"):
        for values in columns:
            mixed = mixed ^ np.ascontiguousarray(values).view(np.uint64)
            mixed = (mixed + np.uint64(0x9E3779B97F4A7C15)) & np.uint64(0xFFFFFFFFFFFFFFFF)
            mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            mixed = mixed ^ (mixed >> np.uint64(31))
    return mixed
