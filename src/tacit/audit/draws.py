"""Does the noise that was really drawn follow the distribution that is claimed for it? Four tests, each with an exact
null distribution.

    fit          every entry against its own probabilities, by chi-square
    low bits     the remainders modulo 16: noise made in floating point leaves gaps in the lattice
    dependence   between entries, and between one run and the next: rank correlation
    repeats      whole outcomes that come twice: noise with a seed, or drawn once and kept

A test answers with a p-value that is already multiplied by the number of its own comparisons (Bonferroni).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from tacit.audit.goodness import goodness_of_fit
from tacit.noise.noise import Noise

LEAST_RUNS = 1000  # below, a chi-square level of 1e-6 is not to be trusted
_RESIDUES = 16
_FINE = 2**10  # from this scale on the remainders modulo 16 are uniform, but for less than one part in a thousand


def noise_tests(residuals: Any, noise: Noise) -> dict[str, float]:
    """The p-value of each test, for ``residuals`` (runs, entries): whole outcomes less what they were before noise."""
    table = np.asarray(residuals, dtype=object)
    if len({tuple(row) for row in table.tolist()}) == 1:
        return {"repeats": 0.0}  # the others would divide by a spread of zero
    found = {
        "fit": _fit(table, noise),
        "low bits": _low_bits(table, noise.scales),
        "dependence": _dependence(table.astype(np.float64)),
        "repeats": _repeats(table, noise),
    }
    return {name: p for name, p in found.items() if p is not None}


def category_test(codes: Any, probabilities: Any) -> float:
    """The p-value of Pearson's chi-square test that ``codes`` are independent draws of ``probabilities``.

    Codes that are too rare for the chi-square distribution are put together; one that is impossible settles the matter.
    """
    from scipy.stats import chi2

    counts = np.bincount(np.asarray(codes, np.int64), minlength=len(probabilities)).astype(np.float64)
    wanted = np.asarray(probabilities, np.float64) * counts.sum()
    if counts[wanted == 0].sum() > 0:
        return 0.0
    rare = wanted < 20
    counts = np.append(counts[~rare], counts[rare].sum())
    wanted = np.append(wanted[~rare], wanted[rare].sum())
    keep = wanted >= 20 if wanted[-1] < 20 else np.full(len(wanted), True)
    counts, wanted = counts[keep], wanted[keep]
    if len(wanted) < 2:
        return 1.0
    return float(chi2.sf(np.sum((counts - wanted) ** 2 / wanted), len(wanted) - 1))


def _fit(table: Any, noise: Noise) -> float | None:
    runs, entries = table.shape
    if runs < LEAST_RUNS:
        return None
    cells = max(8, min(64, runs // 300))  # several hundred a cell: the chi-square distribution must hold far out
    p_values: list[float] = []
    for i in range(entries):
        alone = replace(noise, scales=(noise.scales[i],))
        peak = float(np.exp(alone.log_pmf(np.zeros((1, 1))))[0, 0])
        fewer = max(3, min(cells, int(1 / peak)))  # a distribution on few integers has few cells
        if peak < 1 - 1 / fewer:
            p_values.append(
                goodness_of_fit(
                    table[:, i], lambda v, distribution=alone: distribution.log_pmf(v[:, None])[:, 0], fewer
                )
            )
    return min(1.0, entries * min(p_values)) if p_values else None


def _low_bits(table: Any, scales: tuple[int, ...]) -> float | None:
    fine = [i for i, scale in enumerate(scales) if scale >= _FINE]
    if not fine or len(table) < LEAST_RUNS:
        return None
    even = np.full(_RESIDUES, 1 / _RESIDUES)
    p_values = [category_test((table[:, i] % _RESIDUES).astype(np.int64), even) for i in fine]
    return min(1.0, len(fine) * min(p_values))


def _dependence(table: Any) -> float | None:
    """Spearman's rank correlation r, normal with variance 1 / (runs - 1) for independent columns."""
    from scipy.special import erfc
    from scipy.stats import rankdata

    runs = len(table)
    if runs < LEAST_RUNS:
        return None
    ranks: Any = rankdata(table, axis=0)
    ranks = ranks - ranks.mean(axis=0)
    sizes = np.sqrt((ranks**2).sum(axis=0))
    if (sizes == 0).any():
        return 0.0
    ranks = ranks / sizes
    between = (ranks.T @ ranks)[np.triu_indices(ranks.shape[1], 1)]
    following = (ranks[1:] * ranks[:-1]).sum(axis=0)
    found = np.abs(np.concatenate([between, following]))
    return min(1.0, len(found) * float(erfc(found.max() * math.sqrt((runs - 1) / 2))))


def _repeats(table: Any, noise: Noise) -> float | None:
    """The number of pairs of equal outcomes, at most Poisson in its upper tail with the mean that the distribution
    says.
    """
    from scipy.stats import poisson

    runs = len(table)
    _, counts = np.unique([str(row) for row in table.tolist()], return_counts=True)
    pairs = int((counts * (counts - 1) // 2).sum())
    equal = math.prod(_collision(replace(noise, scales=(scale,))) for scale in noise.scales)
    mean = runs * (runs - 1) / 2 * equal
    if mean > 0.1:  # outcomes repeat by themselves: pairs are then too dependent for the Poisson distribution
        return None
    return float(poisson.sf(pairs - 1, mean)) if pairs else 1.0


def _collision(alone: Noise) -> float:
    """At least the probability that two draws of one entry are equal: that of the likeliest integer."""
    return float(np.exp(alone.log_pmf(np.zeros((1, 1))))[0, 0])
