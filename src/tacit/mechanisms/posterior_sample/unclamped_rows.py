"""Rows for losses that need no bounds: mapped by the declared bounds, but not clamped to them where the schema says so.

The bounds of a number with ``clamp = false`` are its units: the middle becomes 0 and the ends -1 and 1, so that a prior
in these units makes sense. Values beyond keep their size, up to 2^20 half-widths, where arithmetic is still easy;
privacy needs no such limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacit.mechanisms.posterior_sample.rows import ClampedResponse, RowMap
from tacit.statistics.design import Scaled

_FARTHEST = 2.0**20


@dataclass(frozen=True)
class UnclampedRowMap(RowMap):
    """A `RowMap` without a ball and without a lattice; the source has clamped what the schema says is clamped."""

    def arrays(self, columns: Mapping[str, Any]) -> tuple[Any, Any]:
        """x (rows, design) and y (rows,), as float64: finite, whatever the cells hold. Counts are whole."""
        import numpy as np

        x = np.stack([_mapped(column, columns) for column in self.design], axis=1)
        y = _mapped(self.response, columns)
        return x, np.rint(y) if isinstance(self.response, ClampedResponse) else y


def _mapped(column: Any, columns: Mapping[str, Any]) -> Any:
    import numpy as np

    if not isinstance(column, Scaled):
        return np.asarray(column.values(columns, 1), np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        mapped = np.clip((column.number.raw(columns) - column.offset) / column.scale, -_FARTHEST, _FARTHEST)
    holds = np.ones(len(mapped), bool)
    for name, code in column.levels:
        holds &= columns[name] == code
    return np.where(holds, np.nan_to_num(mapped), 0.0)
