"""Does a sampler follow its own distribution? A chi-square test of integer samples against an exact log pmf."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import expected

Floats = NDArray[np.float64]

_DROP = 40.0  # the distribution beyond exp(-40) of its peak is left to the outermost cells
_SUMMABLE = 2**20  # ranges up to this long are summed integer by integer


def goodness_of_fit(samples: Any, log_pmf: Callable[[Any], Any], cells: int = 64) -> float:
    """The p-value of Pearson's chi-square test that the integers ``samples`` are independent draws of ``log_pmf``.

    ``log_pmf`` maps an array of numbers to log probabilities and must fall on both sides of 0. The integers are
    grouped, from the distribution alone, into at most ``cells`` neighbouring intervals of probability at least 1 /
    ``cells`` each. With O_c samples in interval c of probability p_c, the statistic sum_c (O_c - n p_c)^2 / (n p_c) is
    compared with the chi-square distribution of (intervals - 1) degrees of freedom. Rejecting below a level a raises a
    false alarm with probability a, up to the chi-square approximation: keep n / ``cells`` at several hundred for
    levels down to 1e-6.

    Short ranges are summed integer by integer. Where the distribution spreads over more than a million integers, an
    interval's sum is the integral between half-integers, right to about one part in 1e9 there.
    """
    from scipy.stats import chi2

    values = np.asarray(samples, dtype=np.float64).ravel()
    if cells < 2 or values.size < 5 * cells:
        raise expected("samples", f"{values.size} values", f"to number at least five for each of {max(cells, 2)} cells")
    edges, probabilities = _intervals(log_pmf, cells)
    if probabilities.size < 2:
        raise expected("log_pmf", log_pmf, f"to put less than {1 - 1 / cells} on its likeliest integer")
    counts = np.bincount(np.searchsorted(edges, values, side="right"), minlength=probabilities.size)
    wanted = values.size * probabilities
    return float(chi2.sf(np.sum((counts - wanted) ** 2 / wanted), probabilities.size - 1))


def _intervals(log_pmf: Callable[[Any], Any], cells: int) -> tuple[Floats, Floats]:
    """Half-integers that part the integers into intervals, and the probability of each interval."""
    reach = _reach(log_pmf)
    if 2 * reach + 1 <= _SUMMABLE:
        fine = np.arange(-reach, reach + 2, dtype=np.float64) - 0.5
        masses = np.exp(log_pmf(fine[:-1] + 0.5))
    else:
        # An edge next to 0: no cell straddles the peak, where a distribution may have a kink.
        side = np.floor(np.linspace(0.0, 1.0, 4097) * float(reach))
        fine = np.concatenate([-side[:0:-1], side]) - 0.5
        nodes, weights = np.polynomial.legendre.leggauss(8)
        middle, half = (fine[1:] + fine[:-1]) / 2, (fine[1:] - fine[:-1]) / 2
        masses = np.exp(log_pmf((middle + half * nodes[:, None]).ravel())).reshape(8, -1)
        masses = half * np.tensordot(weights, masses, axes=1)
    if abs(float(masses.sum()) - 1.0) > 1e-6:
        raise expected("log_pmf", log_pmf, f"to sum to one, not to {float(masses.sum())}")
    edges: list[float] = []
    probabilities: list[float] = []
    held = 0.0
    for mass, upper in zip(masses.tolist(), fine[1:].tolist(), strict=True):
        held += mass
        if held >= 1.0 / cells:
            edges.append(upper)
            probabilities.append(held)
            held = 0.0
    # The last interval has no upper edge; it takes what was left over.
    probabilities[-1] += 1.0 - sum(probabilities)
    return np.array(edges[:-1]), np.array(probabilities)


def _reach(log_pmf: Callable[[Any], Any]) -> int:
    """The least power of two at which the distribution has fallen by `_DROP` on both sides."""
    peak = float(np.ravel(log_pmf(np.zeros(1)))[0])
    reach = 1
    while float(np.max(log_pmf(np.array([-float(reach), float(reach)])))) > peak - _DROP:
        reach *= 2
    return reach
