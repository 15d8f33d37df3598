"""The exact law of a draw from a conjugate posterior, and of two draws' ratio, as densities on the line.

Whatever the family, the ratio of the densities on two data sets depends on one number of the draw: a share, the share
of one level among two, a rate, a mean. Shares are looked at as log odds and rates as logarithms, where their densities
are smooth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.audit.cells import Cells, Floats, density_cells
from tacit.mechanisms.posterior_sample.conjugate import ConjugateLoss

_TAIL = 45.0
_CELLS = 2**12


@dataclass(frozen=True)
class LineLaw:
    """One number of a draw: ``numbers`` are the parameters of a "beta", "gamma" or "normal" law of it."""

    kind: str
    numbers: tuple[float, float]

    def log_density(self, places: Floats) -> Floats:
        """The log density of the log odds of a beta, the logarithm of a gamma, a normal itself."""
        from scipy.special import betaln, gammaln

        a, b = self.numbers
        if self.kind == "beta":
            return -a * np.logaddexp(0.0, -places) - b * np.logaddexp(0.0, places) - betaln(a, b)
        if self.kind == "gamma":
            with np.errstate(over="ignore"):
                return a * (places + np.log(b)) - b * np.exp(places) - gammaln(a)
        return -0.5 * ((places - a) / b) ** 2 - np.log(b * np.sqrt(2 * np.pi))

    def place(self, values: Any) -> Floats:
        """Where values of the number lie on the line; those on the edge of the grid are moved inside by half a step."""
        found = np.asarray(values, np.float64)
        if self.kind == "beta":
            inside = np.clip(found, 2.0**-60, 1 - 2.0**-50)
            return np.log(inside) - np.log1p(-inside)
        return np.log(np.maximum(found, 2.0**-60)) if self.kind == "gamma" else found

    def uniform(self, values: Any) -> Floats:
        """The distribution function at values of the number: uniform if they follow the law."""
        from scipy.stats import beta, gamma, norm

        a, b = self.numbers
        if self.kind == "beta":
            return beta.cdf(values, a, b)
        return gamma.cdf(values, a, scale=1 / b) if self.kind == "gamma" else norm.cdf(values, a, b)

    def reach(self) -> tuple[float, float]:
        """Where the density has fallen to e^-45 of its peak, on either side."""
        a, b = self.numbers
        peak = np.log(a / b) if self.kind in ("beta", "gamma") else a
        top = float(self.log_density(np.array([peak]))[0])
        ends: list[float] = []
        for sign in (-1.0, 1.0):
            step = 1e-3
            while float(self.log_density(np.array([peak + sign * step]))[0]) > top - _TAIL:
                step *= 2
            ends.append(float(peak + sign * step))
        return ends[0], ends[1]


def pair_cells(first: LineLaw, second: LineLaw) -> Cells:
    """The laws of the telling number on two data sets, side by side."""
    reaches = [law.reach() for law in (first, second)]
    edges = np.linspace(min(low for low, _ in reaches), max(high for _, high in reaches), _CELLS)
    return density_cells(first.log_density, second.log_density, edges)


@dataclass(frozen=True)
class ConjugatePair:
    """Draws on two data sets of ``n`` rows with sums ``first`` and ``second``, in mapped units."""

    loss: ConjugateLoss
    numbers: dict[str, float]
    n: int
    first: tuple[float, ...]
    second: tuple[float, ...]

    def laws(self) -> tuple[LineLaw, LineLaw]:
        """The law of the telling number on both data sets."""
        pick = self._coordinates()
        return pick(self.first), pick(self.second)

    def telling(self, draws: Any) -> Floats:
        """The telling number of draws (runs, parameters)."""
        table = np.asarray(draws, np.float64)
        if self.loss.conjugacy.kind != "dirichlet":
            return table[:, 0]
        i, j = self._moved()
        return table[:, i] / np.maximum(table[:, i] + table[:, j], 2.0**-60)

    def _moved(self) -> tuple[int, int]:
        """The two levels whose counts differ; any two where none does."""
        change = [b - a for a, b in zip(self.first, self.second, strict=True)]
        moved = [i for i, by in enumerate(change) if by] or [0, 1]
        return (moved[0], moved[-1]) if len(moved) > 1 else (moved[0], (moved[0] + 1) % len(change))

    def _coordinates(self) -> Callable[[Sequence[float]], LineLaw]:
        prior, r = self.loss.coordinates(self.numbers), float(self.numbers["weight"])
        step, n, kind = float(self.loss.conjugacy.step), self.n, self.loss.conjugacy.kind

        def pick(sums: Sequence[float]) -> LineLaw:
            match kind:
                case "dirichlet":
                    i, j = self._moved()
                    return LineLaw("beta", (prior[i] + r * sums[i], prior[j] + r * sums[j]))
                case "gamma-shape":
                    return LineLaw("gamma", (prior[0] + r * step * sums[0], prior[1] + r * n))
                case "gamma-rate":
                    return LineLaw("gamma", (prior[0] + r * n, prior[1] + r * step * sums[0]))
                case "normal":
                    precision = prior[1] + r * n / step**2
                    mean = (prior[0] * prior[1] + r * sums[0] / step**2) / precision
                    return LineLaw("normal", (mean, precision**-0.5))
                case _:
                    return LineLaw("beta", (prior[1] + r * sums[0], prior[0] + r * (n - sums[0])))

        return pick
