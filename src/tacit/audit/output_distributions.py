"""The exact distributions of outputs, as independent parts: for every noise, and for every protocol of a device.

A protocol that is not named here is enumerated where it has few possible reports. Where even that is not possible its
distribution is not used, and only attacks by counting are left (`distribution_of` answers None).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch
from itertools import product

import numpy as np

from tacit.audit.cells import CellProbabilities, finite_cells, shifted_cells
from tacit.noise.noise import Noise
from tacit.protocols.label_and_vector import LabelAndVector
from tacit.protocols.noisy_number import NoisyNumber
from tacit.protocols.noisy_statistic import NoisyStatistic
from tacit.protocols.noisy_vector import NoisyVector
from tacit.protocols.protocol import Protocol
from tacit.protocols.unary_encoding import UnaryEncoding

_TAIL = 45.0  # beyond, the density of noise is below e^-45 of its peak
_MOST_REPORTS = 2**12


def noise_parts(noise: Noise, shift: Sequence[int]) -> list[CellProbabilities]:
    """Noise against noise moved by ``shift``: one part for each entry that moves, the first one if none does."""

    def part(entry: int) -> CellProbabilities:
        alone = replace(noise, scales=(noise.scales[entry],))
        (reach,) = alone.reach(_TAIL)
        return shifted_cells(lambda values: alone.log_pmf(values[:, None])[:, 0], int(shift[entry]), reach)

    moving = [i for i, by in enumerate(shift) if by != 0] or [0]
    return [part(i) for i in moving]


@singledispatch
def report_parts(protocol: Protocol, first: Sequence[int], second: Sequence[int]) -> list[CellProbabilities] | None:
    """The reports of two inputs as independent parts, or None where their distribution is not written down here."""
    size = math.prod(b - a + 1 for block in protocol.reports.blocks for a, b in zip(block.low, block.high, strict=True))
    if size > _MOST_REPORTS:
        return None
    ranges = [range(a, b + 1) for block in protocol.reports.blocks for a, b in zip(block.low, block.high, strict=True)]
    reports = np.array(list(product(*ranges)))
    return [finite_cells(*(protocol.log_pmf(reports, np.asarray(one)[None, :]) for one in (first, second)))]


@report_parts.register
def _(protocol: NoisyNumber, first: Sequence[int], second: Sequence[int]) -> list[CellProbabilities] | None:
    return noise_parts(protocol.noise, _shift(first, second))


@report_parts.register
def _(protocol: NoisyVector, first: Sequence[int], second: Sequence[int]) -> list[CellProbabilities] | None:
    return noise_parts(protocol.noise, _shift(first, second))


@report_parts.register
def _(protocol: NoisyStatistic, first: Sequence[int], second: Sequence[int]) -> list[CellProbabilities] | None:
    return noise_parts(protocol.noise, _shift(first, second))


@report_parts.register
def _(protocol: LabelAndVector, first: Sequence[int], second: Sequence[int]) -> list[CellProbabilities] | None:
    label = report_parts(protocol.label, first[:1], second[:1])
    vector = report_parts(protocol.vector, first[1:], second[1:])
    return None if label is None or vector is None else [*label, *vector]


@report_parts.register
def _(protocol: UnaryEncoding, first: Sequence[int], second: Sequence[int]) -> list[CellProbabilities] | None:
    """Bits are independent, and only those of the two categories have distributions that differ: the others are held
    at 0.
    """
    places = sorted({int(first[0]), int(second[0])})
    reports = np.zeros((2 ** len(places), protocol.levels), np.int64)
    reports[:, places] = list(product((0, 1), repeat=len(places)))
    found = [protocol.log_pmf(reports, np.asarray(one)[None, :]) for one in (first, second)]
    return [finite_cells(*(log - math.log(float(np.exp(log).sum())) for log in found))]


def _shift(first: Sequence[int], second: Sequence[int]) -> tuple[int, ...]:
    return tuple(int(b) - int(a) for a, b in zip(first, second, strict=True))
