"""How many rows fall into each cell of a table: bins of a number, or levels, in each group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from tacit.privacy.sensitivity import Sensitivity
from tacit.statistics import lattice
from tacit.statistics.factors import Factors
from tacit.statistics.statistic import Statistic


def shortest(edge: float) -> str:
    """An edge in the fewest digits that tell it from all others; a whole one without a point."""
    return str(int(edge)) if edge.is_integer() and abs(edge) < 2**53 else repr(edge)


@dataclass(frozen=True)
class Bins:
    """The bins of a number between ``edges``: [e_0, e_1), [e_1, e_2), ..., the last one with both ends.

    With ``ends`` the rows at the first and at the last edge have a bin of their own: values pile up at bounds.
    """

    column: str
    edges: tuple[float, ...]
    ends: bool = False

    @property
    def places(self) -> tuple[float, ...]:
        """Where each bin begins, and the last one ends; a bin of one value has no width."""
        return (self.edges[0], *self.edges, self.edges[-1]) if self.ends else self.edges

    @property
    def labels(self) -> tuple[str, ...]:
        """Each bin by its ends."""
        named = [shortest(edge) for edge in self.edges]
        below = [f"{a} to below {b}" for a, b in pairwise(named)]
        if self.ends:
            first, last = f"above {below[0]}", below[-1]
            return (f"at {named[0]}", first, *below[1:-1], last, f"at {named[-1]}")
        return (*below[:-1], f"{named[-2]} to {named[-1]}")

    def codes(self, columns: Mapping[str, Any]) -> Any:
        """The bin of each row: the number of inner edges that are not above its cell, a total function."""
        import numpy as np

        cells = np.asarray(columns[self.column], np.float64)
        code = np.searchsorted(np.asarray(self.edges[1:-1], np.float64), cells, side="right")
        if not self.ends:
            return code
        return np.where(cells <= self.edges[0], 0, np.where(cells >= self.edges[-1], len(self.edges), code + 1))


@dataclass(frozen=True)
class Exits:
    """How and when a row leaves: with its event or without, in each interval of ``edges``, or followed to the last one.

    ``column`` is the time, ``event`` a column of two levels, the second for the event. A time of the last edge or more
    is one that was followed to the end, whatever the event says: such times are clamped. So a row is in one cell.
    """

    column: str
    event: str
    edges: tuple[float, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The time and the event."""
        return (self.column, self.event)

    @property
    def labels(self) -> tuple[str, ...]:
        """Events by interval, then those who left without, then those who were followed to the end."""
        named = [shortest(edge) for edge in self.edges]
        spans = [f"{a} to below {b}" for a, b in pairwise(named)]
        ways = [f"{way} in {span}" for way in ("event", "left") for span in spans]
        return (*ways, f"followed to {named[-1]}")

    @property
    def named(self) -> tuple[str, ...]:
        """The same with the name of the time."""
        return tuple(f"{self.column} {label}" for label in self.labels)

    def codes(self, columns: Mapping[str, Any]) -> Any:
        """The place of each row's cell among `labels`, a total function."""
        import numpy as np

        time, count = np.asarray(columns[self.column], np.float64), len(self.edges) - 1
        interval = np.searchsorted(np.asarray(self.edges[1:-1], np.float64), time, side="right")
        left = np.asarray(columns[self.event]) != 1
        return np.where(time >= self.edges[-1], 2 * count, interval + count * left)


@dataclass(frozen=True)
class CellTable(Statistic):
    """The number of rows in each cell, on a lattice where one row counts as ``steps``.

    Cells are the combinations of the groups of ``by`` (None: all rows are one group) and of the bins, levels or exits
    of ``inner``, which change fastest. Of two cells only the second is counted, as n is public;
    ``every`` counts both.
    """

    inner: Bins | Factors | Exits
    by: Factors | None = None
    steps: int = lattice.resolution(1)
    every: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The factors, then what is counted."""
        own = (self.inner.column,) if isinstance(self.inner, Bins) else self.inner.columns
        return (*(() if self.by is None else self.by.columns), *own)

    @property
    def shape(self) -> tuple[int, int]:
        """Groups, and cells in each."""
        return (1 if self.by is None else self.by.size), len(self.inner.labels)

    @property
    def cells(self) -> int:
        """All of them."""
        return self.shape[0] * self.shape[1]

    @property
    def counted(self) -> tuple[int, ...]:
        """The cells that are counted."""
        return tuple(range(self.cells))[0 if self.every or self.cells > 2 else 1 :]

    @property
    def entries(self) -> tuple[str, ...]:
        """One number a counted cell."""
        own = self.inner.labels if isinstance(self.inner, Bins) else self.inner.named
        named = [f"{self.inner.column} {label}" if isinstance(self.inner, Bins) else label for label in own]
        groups = [""] if self.by is None else [f", {group}" for group in self.by.named]
        names = [f"{name}{group}" for group in groups for name in named]
        return tuple(names[cell] for cell in self.counted)

    @property
    def row_entries(self) -> tuple[int, ...]:
        """All, where every one is counted."""
        return tuple(range(self.cells)) if self.every else ()

    @property
    def unit(self) -> int:
        """A row counts as ``steps``."""
        return self.steps

    @property
    def batch_rows(self) -> int:
        """Exact for any batch: counting is done in 64-bit integers."""
        return lattice.batch_rows(1)

    def codes(self, columns: Mapping[str, Any]) -> Any:
        """The cell of each row."""
        code = self.inner.codes(columns)
        return code if self.by is None else code + self.by.codes(columns) * self.shape[1]

    def batch_sum(self, columns: Mapping[str, Any]) -> list[int]:
        """Count the cells and put the counts on the lattice."""
        import numpy as np

        counts = np.bincount(self.codes(columns), minlength=self.cells)
        return [int(counts[cell]) * self.steps for cell in self.counted]

    def sensitivity(self) -> Sensitivity:
        """Replacing one record moves at most one row from one cell to another.

        Proof: a row is in one cell, since it has one bin or level and one combination of the factors' levels; it adds
        ``steps`` to the entry of that cell, if it is counted, and 0 elsewhere. Under replace-one the difference of two
        records' contributions is 0 if their cells agree. Otherwise, with all cells counted, it is +steps in one entry
        and -steps in another: L1 norm 2 steps, squared L2 norm 2 steps^2. With only the second of two cells counted it
        is +steps or -steps in the one entry. Both are attained. []
        """
        moved = 2 if len(self.counted) > 1 else 1
        return Sensitivity(
            l1=Fraction(moved * self.steps),
            l2_squared=Fraction(moved * self.steps**2),
            relative_scales=(Fraction(1),) * len(self.entries),
        )

    def addition(self) -> Sensitivity:
        """A record is in one cell.

        Proof: under add-remove the sums differ by ``steps`` in the entry of the record's cell, if it is counted, and by
        nothing elsewhere: L1 norm steps, squared L2 norm steps^2. Both are attained. []
        """
        return Sensitivity(Fraction(self.steps), Fraction(self.steps**2), (Fraction(1),) * len(self.entries))

    def of_unknown_n(self) -> CellTable:
        """All cells are counted: no count follows from the others, and together they say how many rows there are."""
        return replace(self, every=True)
