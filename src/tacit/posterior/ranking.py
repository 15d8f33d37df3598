"""Which group is the largest: ranks with intervals, as uncertain as the numbers that are ranked."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.errors import expected
from tacit.posterior.parts import PosteriorParts
from tacit.posterior.rows import central_interval


@dataclass(frozen=True)
class Rank:
    """One group's place. ``rank`` 1 is the largest; ``best`` is the probability of being it.

    ``low`` and ``high`` bound the rank with the probability that was asked for, and ``value`` is the mean of the
    number.
    """

    name: str
    value: float
    rank: float
    low: int
    high: int
    best: float


def ranking_of(parts: PosteriorParts, name: str, probability: float) -> tuple[Rank, ...]:
    """The groups by a parameter with one number each, the one whose rank is the lowest on average first."""
    import numpy as np

    if name not in parts.draws or parts.dims.get(name) != ("group",):
        raise expected(
            "ranking", name, "to be a number of groups, such as group_mean of a varying intercept or mean by group"
        )
    draws = parts.draws[name]
    draws = draws.reshape(-1, draws.shape[2])
    ranks = np.empty_like(draws)
    np.put_along_axis(ranks, np.argsort(-draws, axis=1), np.arange(1, draws.shape[1] + 1, dtype=float), axis=1)
    low, high = central_interval(ranks, probability)
    found = [
        Rank(
            str(label),
            float(draws[:, i].mean()),
            float(ranks[:, i].mean()),
            int(np.floor(low[i])),
            int(np.ceil(high[i])),
            float((ranks[:, i] == 1).mean()),
        )
        for i, label in enumerate(parts.coords["group"])
    ]
    return tuple(sorted(found, key=lambda one: one.rank))
