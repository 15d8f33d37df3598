"""Rows gathered by person: as many of each as the plan allows, and as many from everyone.

When a person may have several rows, replacing one person may change many of them, and even their number. Both are put
right here by a rule that looks at one person at a time:

* a person is the form of an identifier (see `cell_forms`): two rows belong together if and only if their forms are
  equal. It is exact, and the same whether the identifier is stored as text, as an integer or as a decimal; the forms
  themselves are compared, not hashes of them, so no two people ever share a place by accident. Rows without an
  identifier have the empty form and are one person together;
* of a person's rows the ``max_rows`` with the smallest fingerprint are kept. A row's fingerprint is a hash of the
  identifier's form, of the row's cells, and of how many equal rows of that person come before it; among equal ones
  the smaller cells come first. So every row has a place of its own: by cells alone, equal rows would be kept or left
  together, and a person's rare rows would count as often as the usual ones;
* whoever has fewer gets empty rows, in which every cell is missing and takes its declared stand-in.

So everyone contributes exactly ``max_rows`` rows. The number of rows that count is the number of people times
``max_rows``: public whenever the number of people is. Replacing one person replaces at most ``max_rows`` rows. Where a
plan says a ``weight`` there are no empty rows: rows count as they are, or everybody with the mean of their rows
(`take_in`), and `mechanisms.record_moves` says how far one person then moves the sums.

Proof: Call two tables neighbours if they name the same number of people and differ in the rows of one person: all of
them may change, their number too, and the identifier itself, to one that nobody else has. The rows that are kept of a
person are a function of that person's identifier and rows as a set with repetitions. Neither the order of rows nor
another person has a part in it: the places that people get in the order of their appearance only keep them apart, the
fingerprint does not depend on them, and equal rows, which are the same row to the statistic, have among them the
numbers 0, 1, 2, ... whatever their order. So for everyone else the kept rows, and the number of empty ones, are the
same in both tables. The one person adds ``max_rows`` rows to the sum in either table. Paired off, these are at most
``max_rows`` steps of replace-one from one table of n rows to the other; by the triangle inequality no norm of the
difference of the sums (here L1 and L2) exceeds ``max_rows`` times the statistic's sensitivity to one row. A hash that
is not perfect changes which rows count, never this bound.

The empty rows are all alike, and their number is a secret. They are counted, not made, so that no loop runs over them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from tacit.expressions.rows import empty_row
from tacit.mechanisms.person import PERSON, ROW, Person
from tacit.schema import Number, Schema
from tacit.sources.base import Batch
from tacit.statistics.accumulator import Accumulator, Sums


@dataclass(frozen=True)
class People:
    """What counts of everyone: ``kept``, the rows that were there, and ``empty`` times the one row ``filler``.
    ``each`` says of every row that was kept how many rows its person has among them.

    How the ``rows`` that count divide into the two is a secret, for it tells how many rows people have.
    """

    rows: int
    kept: Batch
    empty: int
    filler: Batch
    each: np.ndarray


def by_person(
    batches: Iterable[Batch], schema: Schema, columns: tuple[str, ...], *, person: str, max_rows: int
) -> People:
    """Gather the rows of ``columns`` by the identifier ``person``. Holds the parsed columns in memory."""
    places: dict[bytes, int] = {}
    people: list[np.ndarray] = [np.empty(0, np.int64)]
    kinds = {name: np.float64 if isinstance(schema[name], Number) else np.int64 for name in columns}
    gathered = {name: [np.empty(0, kind)] for name, kind in kinds.items()}
    for batch in batches:
        counted = batch.counted()
        people.append(_places(counted[person], places))
        for name, parts in gathered.items():
            parts.append(counted[name])
    place = np.concatenate(people)
    cells = {name: np.concatenate(parts) + kinds[name](0) for name, parts in gathered.items()}  # -0.0 is 0.0
    digests = np.fromiter(map(_digest, places), np.uint64, len(places))
    mixed = _fingerprints(digests[place], [*cells.values(), _copies(place, list(cells.values()))])
    order = np.lexsort((*cells.values(), mixed, place))  # by person, then fingerprint; equal ones by their cells
    starts = np.flatnonzero(np.diff(place[order], prepend=-1))
    nth = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    kept = order[nth < max_rows]
    each = np.bincount(place[kept], minlength=len(places))[place[kept]]
    rows = len(places) * max_rows
    return People(
        rows=rows,
        kept=Batch(len(kept), {name: values[kept] for name, values in cells.items()}),
        empty=rows - len(kept),
        filler=Batch(1, empty_row(schema, columns)),
        each=each,
    )


def take_in(people: People, person: Person, collected: Accumulator, *, fills: bool) -> int:
    """Add up what counts of everyone, as the ``weight`` of ``person`` says; n, the number of rows or of people.

    People who count once: of those with k rows, for each k up to ``max_rows``, the exact sum of their rows is divided
    by k and rounded down. So the sums depend on nobody's order, and each k is visited whether anybody has so many rows
    or not.
    """
    if person.weight == PERSON:
        assert isinstance(collected, Sums)  # or the plan is refused
        for rows in range(1, person.max_rows + 1):
            some, own = people.each == rows, collected.fresh()
            of_them = Batch(int(some.sum()), {name: values[some] for name, values in people.kept.columns.items()})
            for batch in of_them.split(collected.batch_rows):
                own.add(batch.columns)
            collected.merge([total // rows for total in own.totals])
        return people.rows // person.max_rows
    for batch in people.kept.split(collected.batch_rows):
        collected.add(batch.columns)
    if person.weight == ROW:
        return people.kept.rows
    if fills:
        collected.add(people.filler.columns, times=people.empty)
    return people.rows


def _places(forms: np.ndarray, places: dict[bytes, int]) -> np.ndarray:
    """The place of each row's person; whoever is new gets the next one."""
    return np.fromiter((places.setdefault(form, len(places)) for form in forms), np.int64, len(forms))


def _digest(form: bytes) -> int:
    return int.from_bytes(blake2b(form, digest_size=8).digest(), "little")


def _copies(place: np.ndarray, columns: list[np.ndarray]) -> np.ndarray:
    """How many equal rows of the same person come before each row."""
    order = np.lexsort((*columns, place))
    new = np.ones(len(order), bool)
    new[1:] = place[order][1:] != place[order][:-1]
    for values in columns:
        new[1:] |= values[order][1:] != values[order][:-1]
    starts = np.flatnonzero(new)
    found = np.empty(len(order), np.int64)
    found[order] = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    return found


def _fingerprints(digests: np.ndarray, columns: list[np.ndarray]) -> np.ndarray:
    """A 64-bit number from each row's identifier and cells, well mixed (the finaliser of splitmix64)."""
    mixed = digests
    with np.errstate(over="ignore"):
        for values in columns:
            mixed = mixed ^ np.ascontiguousarray(values).view(np.uint64)
            mixed = (mixed + np.uint64(0x9E3779B97F4A7C15)) & np.uint64(0xFFFFFFFFFFFFFFFF)
            mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            mixed = mixed ^ (mixed >> np.uint64(31))
    return mixed
