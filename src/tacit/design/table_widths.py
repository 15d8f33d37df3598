"""Widths of 95% intervals of one cell of a study, table by table: what an expectation is the median of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

WIDTH = 3.919927969080108  # of a standard normal distribution's central 95% interval


@dataclass(frozen=True, eq=False)
class TableWidths:
    """Of one number, arrays (tables,): the posterior's width, the one that exact rows give, and the prior's.

    ``sign`` is the probability that the posterior mean has the sign of the truth; None for numbers of one sign.
    ``known`` is the width that the same budget would buy if the number of rows were public under the same neighbours;
    None where it is public, or where that is not worked out.
    """

    width: Any
    exact: Any
    before: Any
    sign: Any | None
    known: Any | None = None

    @classmethod
    def of_normal(cls, width: Any, exact: Any, before: Any, truth: Any) -> TableWidths:
        """With the sign by a normal approximation.

        With posterior and prior variances V and V0, the release alone measures with the variance 1 / (1/V - 1/V0).
        """
        known = np.maximum(np.square(WIDTH / width) - np.square(WIDTH / before), 0.0)
        return cls(width, exact, before, ndtr(np.abs(truth) * np.sqrt(known)))
