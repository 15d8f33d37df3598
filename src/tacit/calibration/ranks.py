"""The rank of a truth among the draws of its trial, where only some of the draws count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def counted_draws(model: Any, schema: Any, arrays: Mapping[str, Any]) -> Any:
    """Of the first chain of every trial (trials, chains, draws, ...) the draws that count; None where all of them do.

    ``arrays`` have the parameters, and what else a sampler says of every draw. Truths of simulations are drawn where
    rows lie within the bounds (`Model.within_bounds`), so draws count there. Where none of a trial does, all of them
    do: a posterior that rules out every table that the bounds hold is to be caught, not to be left out.
    """
    found = model.within_bounds({name: array[:, 0] for name, array in arrays.items()}, schema)
    if found is None or found.all():
        return None
    return found | ~found.any(axis=1, keepdims=True)


def ranks_of(sample: Any, truth: Any, counted: Any, *, thin: int, rng: Any) -> Any:
    """The rank (trials,) of each truth among every ``thin``-th of its draws (trials, draws), equal ones at random.

    Among m draws that count, a truth's place spread over its cell is uniform on [0, 1] whatever m is. It is told as a
    rank among all draws that are looked at.
    """
    import numpy as np

    ranked, truth = sample[:, thin - 1 :: thin], truth[:, None]
    own = np.ones(ranked.shape, bool) if counted is None else counted[:, thin - 1 :: thin]
    below, alike = ((ranked < truth) & own).sum(axis=1), ((ranked == truth) & own).sum(axis=1)
    found = below + rng.integers(0, alike + 1)
    if counted is None:
        return found
    place = (found + rng.random(len(own))) / (own.sum(axis=1) + 1)
    return np.minimum((place * (ranked.shape[1] + 1)).astype(int), ranked.shape[1])


def without_others(numbers: Mapping[str, Any], counted: Any) -> dict[str, Any]:
    """The draws (trials, draws) of every number, those that do not count as NaN; all of a trial with fewer than two."""
    import numpy as np

    if counted is None:
        return dict(numbers)
    seen = counted | (counted.sum(axis=1, keepdims=True) < 2)  # of one draw there is no standard deviation
    return {name: np.where(seen, one, np.nan) for name, one in numbers.items()}
