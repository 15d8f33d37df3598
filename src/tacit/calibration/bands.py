"""Where ranks lie if a posterior is calibrated: bands for histograms and for differences of distribution functions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tacit.errors import expected

INSIDE = 0.95  # the probability of every band
_REPLICATES = 2000
_PLACES = 100


@dataclass(frozen=True, eq=False)
class Difference:
    """F(place) - place at some places of [0, 1], with the band that holds all of them with probability `INSIDE`."""

    places: Any
    values: Any
    low: Any
    high: Any

    @property
    def inside(self) -> bool:
        """Whether the whole curve stays in the band."""
        return bool(np.all((self.values >= self.low) & (self.values <= self.high)))


def difference(positions: Any) -> Difference:
    """The empirical distribution function of ranks, as places in [0, 1], less the uniform one, in a band.

    The band is simultaneous (Saeilynoja, Buerkner and Vehtari 2022): at each place an interval of the binomial
    distribution, all with one and the same tail, chosen so that `INSIDE` of uniform samples of this size stay inside
    at every place. The tail is found by simulation (seeded), to within about 0.5 percent of `INSIDE`.
    """
    found = np.sort(np.asarray(positions, np.float64))
    if found.size < 10 or found[0] < 0 or found[-1] > 1:
        raise expected("positions", f"{found.size} numbers", "to be at least ten numbers from 0 to 1")
    places = np.arange(1, _PLACES) / _PLACES
    low, high = _band(found.size)
    values = np.searchsorted(found, places, side="right") / found.size - places
    return Difference(places, values, low, high)


@lru_cache(maxsize=16)
def _band(size: int) -> tuple[Any, Any]:
    from scipy.stats import binom

    places = np.arange(1, _PLACES) / _PLACES
    rng = np.random.default_rng(0)
    cells = rng.multinomial(size, np.full(_PLACES, 1 / _PLACES), _REPLICATES)
    counts = np.cumsum(cells, axis=1)[:, :-1]
    # The smaller of the two tails at each place: a curve is as extreme as its most extreme place.
    tails = np.minimum(binom.cdf(counts, size, places), binom.sf(counts - 1, size, places)).min(axis=1)
    tail = float(np.quantile(tails, 1 - INSIDE))
    low, high = binom.ppf(tail, size, places), binom.isf(tail, size, places)
    return low / size - places, high / size - places


@dataclass(frozen=True, eq=False)
class RankHistogram:
    """Counts of ranks in cells of equal width, and where one count lies with probability `INSIDE`."""

    counts: Any
    low: float
    high: float


def histogram(positions: Any, cells: int = 20) -> RankHistogram:
    """Ranks, as places in [0, 1], counted; the band is for one cell, so one in twenty lies outside by chance."""
    from scipy.stats import binom

    counts, _ = np.histogram(np.asarray(positions, np.float64), bins=cells, range=(0, 1))
    total, tail = int(counts.sum()), (1 - INSIDE) / 2
    return RankHistogram(counts, float(binom.ppf(tail, total, 1 / cells)), float(binom.isf(tail, total, 1 / cells)))
