"""Fill an array of noise by proposing again, element by element, until each is accepted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.noise.coins import Flips, Index, Whole, whole_numbers


@dataclass(frozen=True)
class Proposal:
    """The accepted ones of a batch of proposals: the value of each is +-(steps * scale + rest), 0 <= rest <= scale.

    ``kept`` holds their positions in the batch; the other fields run along ``kept``.
    """

    kept: Index
    steps: Whole
    rest: Whole
    negative: Flips


def fill(scales: tuple[int, ...], size: int, propose: Callable[[Whole], Proposal]) -> NDArray[Any]:
    """Return a ``(size, entries)`` array of accepted values; ``propose`` gets the scales of those still missing.

    A rejected element proposes afresh with its own scale, so each value has the distribution of one proposal given
    that it was accepted. The array is int64 if every value fits and holds Python integers otherwise.
    """
    scale = np.tile(whole_numbers(scales), size)
    steps = np.zeros(scale.size, dtype=np.uint64)
    rest = np.zeros_like(scale)
    negative = np.zeros(scale.size, dtype=np.bool_)
    missing = np.arange(scale.size)
    while missing.size:
        proposal = propose(scale[missing])
        accepted = missing[proposal.kept]
        steps[accepted] = proposal.steps
        rest[accepted] = proposal.rest
        negative[accepted] = proposal.negative
        missing = np.delete(missing, proposal.kept)
    fits = (int(steps.max(initial=0)) + 1) * max(scales) < 2**63
    kind = np.dtype(np.int64 if fits else object)
    values = steps.astype(kind) * scale.astype(kind) + rest.astype(kind)
    values[negative] *= -1
    return values.reshape(size, len(scales))
