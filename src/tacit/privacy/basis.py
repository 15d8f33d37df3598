"""What a guarantee rests on: a proof for every data set, or an assumption that nobody has checked.

proved    the price holds for every pair of neighbours: noise, exact draws, chains whose distance is bounded
assumed   it holds if a Markov chain has come within the declared gamma of its posterior, which nothing bounds
"""

from __future__ import annotations

from enum import Enum


class Basis(Enum):
    """The two classes of guarantee; a plan, a release and a ledger entry each say which theirs is."""

    PROVED = "proved"
    ASSUMED = "assumed"
