"""Two distributions side by side, cell by cell: what one independent part of an output says about which data set made
it.

Grouping outputs into cells is a function of the output, so nothing that is computed from the cells can exceed the truth
(data processing): an excess over a claim is a proof, up to rounding. Where every cell is one output it is the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.audit.goodness import Floats
from tacit.errors import expected

_SINGLE = 2**20  # up to so many integers, each is a cell of its own
_CELLS = 2**13
_NODES = 8


@dataclass(frozen=True, eq=False)
class CellProbabilities:
    """The log probabilities of the cells under P and under Q, and the largest log ratio of single outputs either way.

    ``most`` and ``least`` are the largest and the smallest log P(z) / Q(z) over single outputs z. What the cells leave
    out of either distribution has a probability of e^-45 or less.
    """

    log_p: Floats
    log_q: Floats
    most: float
    least: float

    @property
    def swapped(self) -> CellProbabilities:
        """P and Q exchanged."""
        return CellProbabilities(self.log_q, self.log_p, -self.least, -self.most)


def finite_cells(log_p: Any, log_q: Any) -> CellProbabilities:
    """Every output its own cell, from the log probabilities of all outputs under both distributions."""
    p, q = np.asarray(log_p, np.float64), np.asarray(log_q, np.float64)
    for name, total in (("log_p", np.exp(p).sum()), ("log_q", np.exp(q).sum())):
        if not abs(total - 1) < 1e-6:
            raise expected(name, float(total), "to be the logarithms of numbers that sum to 1")
    ratio = _log_ratio(p, q)
    return CellProbabilities(p, q, float(ratio.max()), float(ratio.min()))


def shifted_cells(log_pmf: Callable[[Floats], Floats], shift: int, reach: float) -> CellProbabilities:
    """Integer noise of distribution ``log_pmf`` against the same noise moved by ``shift``.

    ``reach`` is how far from 0 the noise is looked at. Up to about a million integers are cells of their own. A finer
    lattice is cut into 8192 cells, with edges at both peaks; their sums are integrals between half-integers, which is
    right to about one part in 1e8 there. Ratios of single outputs are taken at both ends of all cells; for
    unimodal noise that includes the largest and the smallest one.
    """
    low, high = min(0, shift) - math.ceil(reach), max(0, shift) + math.ceil(reach)
    if high - low + 1 <= _SINGLE:
        places = np.arange(low, high + 1, dtype=np.float64)
        p, q = log_pmf(places), log_pmf(places - shift)
        ratio = _log_ratio(p, q)
        return CellProbabilities(p, q, float(ratio.max()), float(ratio.min()))
    edges = np.unique(np.concatenate([np.floor(np.linspace(low, high, _CELLS)), [0.0, 1.0, shift, shift + 1.0]]))
    at_edges = _log_ratio(log_pmf(edges), log_pmf(edges - shift))
    cuts = edges - 0.5
    p, q = _integrals(log_pmf, cuts), _integrals(lambda v: log_pmf(v - shift), cuts)
    return CellProbabilities(p, q, float(at_edges.max()), float(at_edges.min()))


def density_cells(
    log_p: Callable[[Floats], Floats], log_q: Callable[[Floats], Floats], edges: Floats
) -> CellProbabilities:
    """Two densities on the line, integrated between neighbouring ``edges``; they must be smooth inside each cell."""
    cuts = np.asarray(edges, np.float64)
    ratio = _log_ratio(log_p(cuts), log_q(cuts))
    finite = ratio[np.isfinite(ratio)]
    return CellProbabilities(_integrals(log_p, cuts), _integrals(log_q, cuts), float(finite.max()), float(finite.min()))


def _integrals(log_density: Callable[[Floats], Floats], cuts: Floats) -> Floats:
    """The log of the integral between neighbouring cuts, by Gauss's rule, without underflow."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    middle, half = (cuts[1:] + cuts[:-1]) / 2, (cuts[1:] - cuts[:-1]) / 2
    values = log_density((middle + half * nodes[:, None]).ravel()).reshape(_NODES, -1)
    peak = values.max(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        inside = np.log(np.tensordot(weights, np.exp(values - peak), axes=1) * half) + peak
    return np.where(np.isfinite(peak), inside, -np.inf)


def _log_ratio(log_p: Floats, log_q: Floats) -> Floats:
    """log P / Q, and 0 where neither has mass."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(log_p) & np.isneginf(log_q), 0.0, log_p - log_q)
