"""Many pairs through one medium, each of them reproducible by its medium, seed and number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from random import Random
from typing import Any
from unittest import mock

from tacit import boundary
from tacit.engines import engine as engines
from tacit.engines import reading, threads
from tacit.engines.threads import Threads
from tacit.sources import csv_file

from .check import Reader, UnwritableError, ViolationError, by_partial, check, show, shrink
from .media import Medium
from .pairs import CHANGES, Pair, draw_pair


@contextmanager
def small_pieces(piece_rows: int = 4, piece_bytes: int = 100) -> Iterator[None]:
    """Batches, blocks, pieces and steps of a few rows, so that small tables have many of each."""
    with ExitStack() as stack:
        for module, name, value in (
            (engines, "_MOST_ROWS", 5),
            (engines, "_PIECE_ROWS", piece_rows),
            (threads, "_SMALL", 0),
            (reading, "STEP", 4),
            (boundary, "_BATCH_ROWS", 5),
            (csv_file, "_BLOCK_BYTES", 64),
            (csv_file, "_PIECE_BYTES", piece_bytes),
        ):
            stack.enter_context(mock.patch.object(module, name, value))
        yield


def pair_of(medium: Medium, seed: int, index: int) -> Pair:
    """The pair with this number."""
    random = Random(f"{medium.name}/{seed}/{index}")
    return draw_pair(random, medium.kinds, medium.people, inferred=medium.inferred, declared=medium.declared)


def reader_of(index: int, engine: Any = None) -> Reader:
    """One thread, and now and then two."""
    return by_partial(engine or Threads(2 if index % 8 == 7 else 1))


def attack(
    medium: Medium, seed: int, index: int, engine: Any = None, *, small: bool = True, change: str = "replaced"
) -> str:
    """Try one pair after a ``change``: "read", "refused" or "unwritable". A violation is raised with a ``small`` pair
    that shows it.
    """
    pair, read = CHANGES[change](pair_of(medium, seed, index)), reader_of(index, engine)
    try:
        found = check(pair, medium.write, read, broken=medium.broken)
    except UnwritableError:
        return "unwritable"
    except ViolationError as violation:
        pair = shrink(pair, lambda smaller: _broken(smaller, medium, read)) if small else pair
        place = f"python -m tests.neighbours --medium {medium.name!r} --seed {seed} --only {index} --change {change!r}"
        raise ViolationError(f"{medium.name}: {violation}\n{show(pair)}\n{place}") from None
    return "read" if found.error is None else "refused"


def _broken(pair: Pair, medium: Medium, read: Reader) -> bool:
    try:
        check(pair, medium.write, read, broken=medium.broken)
    except ViolationError:
        return True
    except UnwritableError:
        return False
    return False


def attack_all(medium: Medium, seed: int, pairs: int, engine: Any = None) -> Counter[str]:
    """Try ``pairs`` pairs; how many were read, refused or unwritable."""
    with small_pieces():
        return Counter(attack(medium, seed, index, engine) for index in range(pairs))
