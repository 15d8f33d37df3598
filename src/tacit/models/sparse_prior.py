"""The prior of many cells of which most may be empty: a Dirichlet distribution whose concentration is learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tacit.models.categorical import DirichletPrior

_LEARNED = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


@dataclass(frozen=True)
class SparseDirichletPrior(DirichletPrior):
    """shares ~ Dirichlet(concentration): one number for all cells, or one each.

    None, the default from 5 cells on, learns it. For levels it is one number for all, as likely to be each of 0.003,
    0.01, 0.03, ..., 3. For bins it is larger where a beta distribution has more of them, and which one is learned
    (`tacit.models.binned_prior`).
    """

    def rows(self, levels: int) -> Any:
        """The concentrations of all cells that are equally likely, one row each."""
        import numpy as np

        if self.concentration is None:
            return np.tile(np.array(_LEARNED)[:, None], (1, levels))
        return self.vector(levels)[None]
