"""The levels of one or two factors together: which group a row is in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any


@dataclass(frozen=True)
class Factors:
    """``columns`` with the declared ``levels`` of each; a row is in exactly one group, its combination of levels."""

    columns: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The levels of each group, the last factor changing fastest."""
        return tuple(", ".join(levels) for levels in product(*self.levels))

    @property
    def named(self) -> tuple[str, ...]:
        """The levels of each group with the factors' names, as they stand in a release."""
        found = product(*self.levels)
        return tuple(", ".join(f"{c}={v}" for c, v in zip(self.columns, levels, strict=True)) for levels in found)

    @property
    def size(self) -> int:
        """How many groups there are."""
        return len(self.labels)

    def codes(self, columns: Mapping[str, Any]) -> Any:
        """The group of each row."""
        import numpy as np

        code: Any = 0
        for name, levels in zip(self.columns, self.levels, strict=True):
            code = code * len(levels) + np.asarray(columns[name], np.int64)
        return code
