"""Paid help with bounds: a suggestion for a numeric column of which nobody can say them from knowledge.

Bounds that are read off the rows would be a leak. This reads them with noise, at a price that the ledger is charged
before the first row is read. The order is the boundary's: refuse what can be refused, charge, read, and from there on
nothing that a row holds can raise or print.
"""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit._support.files import write_atomically
from tacit._support.interrupts import uninterrupted
from tacit._support.names import check_name
from tacit.errors import NO_ROWS, BrokenMediumError, InputError, expected, one_thing
from tacit.ledger import Ledger, digest
from tacit.ledger.note import note
from tacit.mechanisms.noisy_rank import NoisyRanks, public_grid
from tacit.noise.entropy import OSEntropy
from tacit.privacy.assumptions import assumed_of
from tacit.privacy.guarantees import PureDP
from tacit.schema import Number, Schema, check_column_name

if TYPE_CHECKING:
    from tacit.engines.accepted import Table

_BATCH_ROWS = 2**20
_LARGEST = 1e300


@dataclass(frozen=True)
class Bounds:
    """A suggestion for the bounds of a column, and everything public about how it came about.

    ``outside`` is the most rows that each end is meant to leave out; ``reliable`` says whether there were enough
    rows for that at this price. If not, ``low`` and ``high`` are the range that was given, and nothing was learnt.
    ``assumes`` is what the price takes on trust of the rows.
    """

    column: str
    low: float
    high: float
    within: tuple[float, float]
    spacing: str
    points: int
    epsilon: float
    n: int
    outside: int
    reliable: bool
    dataset: str
    id: str
    ledger: dict[str, Any] | None = None
    assumes: tuple[str, ...] = ()

    def to_plain(self) -> dict[str, Any]:
        """The JSON object; it is public, like a release."""
        return {**asdict(self), "within": list(self.within), "assumes": list(self.assumes)}

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the JSON object to a file, whole or not at all."""
        text = json.dumps(self.to_plain(), indent=2, ensure_ascii=True, allow_nan=False) + "\n"
        return write_atomically(path, text.encode(), name="bounds", overwrite=overwrite)


def bounds(
    data: Table,
    column: str,
    *,
    within: Sequence[float],
    epsilon: float,
    ledger: Ledger | str | Path | None,
    dataset: str | None = None,
    spacing: str = "linear",
    points: int = 1000,
    share: float = 0.005,
    progress: Callable[[int], None] | None = None,
) -> Bounds:
    """Spend pure ``epsilon`` on a suggestion for the bounds of one numeric ``column`` of ``data``.

    ``within`` is a very wide range that needs no data to be right, such as 0 to 1e6; ``spacing`` is ``linear`` with
    ``points`` steps, or ``log``, round numbers that grow by a factor, where the order of magnitude is what is unknown.
    ``share`` of the rows is meant to lie beyond each bound, or more where the noise needs it. ``ledger`` and
    ``dataset`` are as in `privatize`; each row is a unit of privacy.

    ```pycon
    >>> rows = {"income": list(range(1000, 5000))}
    >>> found = tacit.bounds(rows, "income", within=(0, 100_000), epsilon=1.0, ledger=None)
    >>> found.n
    4000

    ```
    """
    from tacit.engines.reading import announced, guarded
    from tacit.sources.open import open_source

    check_column_name("column", column)
    budget, wide = PureDP(epsilon), _range(within)
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share < 0.5:
        raise expected("share", share, "to be a number between 0 and 0.5")
    mechanism = NoisyRanks.calibrate(public_grid(wide, spacing, points), budget.epsilon)
    assert mechanism.event().satisfies(budget)
    if ledger is not None and dataset is None:
        raise InputError("Expected dataset to name the rows when a ledger pays for the bounds.")
    name = check_name("dataset", dataset if dataset is not None else "unnamed")
    if ledger is not None and not isinstance(ledger, Ledger | str | Path):
        raise expected("ledger", one_thing(ledger), "to be a Ledger, the path of one, or None")
    schema, missing = _reading(column, wide)
    source = open_source(data, (column,), schema)
    if source.has_no_rows((column,)):
        raise InputError(NO_ROWS)
    told = announced(source, (column,))
    book = ledger if isinstance(ledger, Ledger) or ledger is None else Ledger(ledger)
    asked = Bounds(
        column, wide.low, wide.high, (wide.low, wide.high), spacing, len(mechanism.grid), budget.epsilon, 0, 0, False,
        name, secrets.token_hex(16), assumes=assumed_of(source.typed_elsewhere),
    )  # fmt: skip
    with uninterrupted():
        receipt = None if book is None else book.spend(name, mechanism.event(), digest(asked.to_plain()))
    # From here on the budget counts as spent, whatever happens.
    n, counts = guarded(lambda: _counted(source, schema, column, mechanism, missing, progress))
    told.check(source, n)
    target = max(math.ceil(share * n), mechanism.least_target)
    low, high = mechanism.choose(counts, n, min(target, n), OSEntropy())
    found = replace(asked, n=n, outside=target, ledger=None if receipt is None else receipt.to_plain())
    if low == high:  # one value in most rows, which is a point of the grid: bounds need a width
        place, last = mechanism.grid.index(low), len(mechanism.grid) - 1
        low, high = mechanism.grid[max(place - 1, 0)], mechanism.grid[min(place + 1, last)]
    if 2 * target <= n and low < high:
        found = replace(found, low=low, high=high, reliable=True)
    if book is not None and receipt is not None:
        note(book, receipt, found.id, found.to_plain())
    return found


def _range(within: Any) -> Number:
    if not isinstance(within, Sequence) or isinstance(within, str) or len(within) != 2:
        raise expected("within", within, "to be two numbers, the smaller one first")
    try:
        wide = Number(within[0], within[1])
    except InputError:
        raise expected("within", list(within), "to be two finite numbers, the smaller one first") from None
    if max(abs(wide.low), abs(wide.high)) > _LARGEST:
        raise expected("within", list(within), f"to lie between -{_LARGEST:g} and {_LARGEST:g}")
    return wide


def _reading(column: str, wide: Number) -> tuple[Schema, float]:
    """A schema that tells missing cells apart: they take a value outside the range, clamped ones do not."""
    width = wide.high - wide.low
    missing = wide.low - width
    return Schema({column: Number(wide.low - 2 * width, wide.high + width, missing)}), missing


def _counted(
    source: Any,
    schema: Schema,
    column: str,
    mechanism: NoisyRanks,
    missing: float,
    progress: Callable[[int], None] | None,
) -> tuple[int, Any]:
    """The number of rows, and how many lie below and above each point."""
    import numpy as np

    from tacit.engines.reading import Steps

    steps = None if progress is None else Steps(progress)
    n, counts = 0, np.zeros((2, len(mechanism.grid)), np.int64)
    for batch in source.batches(schema, (column,), _BATCH_ROWS):
        n += batch.rows
        counts += mechanism.counts(batch.columns[column], missing)
        if steps is not None:
            steps(batch.rows)
    if steps is not None:
        steps.finish()
    if n == 0:
        raise BrokenMediumError(NO_ROWS)
    return n, counts
