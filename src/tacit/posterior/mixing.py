"""How well chains mixed: rank-normalised split R-hat and effective sample sizes (Vehtari et al. 2021).

ArviZ has the same numbers (`tests/posterior/test_mixing.py` compares them). It takes most of a second to import, which
is as long as everything else that a person waits for after sampling.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_TAIL = 0.05


def r_hat(values: Any) -> float:
    """The larger of the R-hat of ranks and that of ranks of distances from the median (equation 14 and section 4.2).

    ``values`` has the axes (chains, draws); not a number for fewer than 2 chains or 4 draws, or draws that are none.
    """
    if len(values) < 2 or not _usable(values):
        return math.nan
    halves = _halves(values)
    return max(_plain_r_hat(_normal_scores(halves)), _plain_r_hat(_normal_scores(abs(halves - np.median(halves)))))


def effective_draws(values: Any) -> float:
    """The effective sample size of the bulk: that of the normal scores of ranks (section 4.1)."""
    return _effective(_normal_scores(_halves(values))) if _usable(values) else math.nan


def effective_draws_in_tails(values: Any) -> float:
    """The smaller one of the effective sample sizes of the 5% and the 95% quantile (section 4.3)."""
    if not _usable(values):
        return math.nan
    return min(
        _effective(_halves(values <= quantile).astype(float)) for quantile in np.quantile(values, [_TAIL, 1 - _TAIL])
    )


def _usable(values: Any) -> bool:
    return values.shape[1] >= 4 and not bool(np.isnan(values).any())


def _halves(values: Any) -> Any:
    """Each chain as two, without the middle draw of an odd number."""
    half = values.shape[1] // 2
    return np.concatenate([values[:, :half], values[:, -half:]])


def _normal_scores(values: Any) -> Any:
    """Phi^-1((r - 3/8) / (S + 1/4)) of the ranks r among all S draws, those of equal draws averaged (equation 13)."""
    from scipy.special import ndtri

    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks = (last - (counts - 1) / 2)[places.reshape(-1)]
    return ndtri((ranks - 3 / 8) / (values.size + 1 / 4)).reshape(values.shape)


def _plain_r_hat(values: Any) -> float:
    """sqrt((N - 1 + B / W) / N), N draws per chain, B / N the variance of means, W the mean of variances."""
    count = values.shape[1]
    between, within = count * np.var(values.mean(axis=1), ddof=1), np.mean(np.var(values, axis=1, ddof=1))
    return float(np.sqrt((count - 1 + between / within) / count))


def _effective(values: Any) -> float:
    """M N / tau of M chains of N draws (equations 10 and 11), tau by Geyer's initial monotone sequence.

    The autocorrelation at lag t is 1 - (W - mean of the chains' autocovariances) / var+. Sums over pairs of lags are
    taken for as long as they are positive, each no larger than the one before, and the next even lag if it or its pair
    is.
    """
    chains, count = values.shape
    if np.ptp(values) < np.finfo(float).resolution:
        return float(values.size)
    apart = values - values.mean(axis=1, keepdims=True)
    padded = np.fft.rfft(apart, 1 << (2 * count - 1).bit_length(), axis=1)
    covariances = np.fft.irfft(abs(padded) ** 2, axis=1)[:, :count].mean(axis=0) / count
    within = covariances[0] * count / (count - 1)
    plus = covariances[0] + (np.var(values.mean(axis=1), ddof=1) if chains > 1 else 0.0)
    lags = 1 - (within - covariances) / plus
    lags[0] = 1.0
    pairs = lags[: count // 2 * 2].reshape(-1, 2).sum(axis=1)
    most = max(-(-(count - 2) // 2) - 1, 0)
    used = int(np.argmax(np.append(pairs[:most] <= 0, True)))
    next_lag = lags[2 * used] if pairs[used] >= 0 else max(lags[2 * used], 0.0)
    tau = -1 + 2 * np.minimum.accumulate(pairs[:used]).sum() + next_lag
    return float(values.size / max(tau, 1 / math.log10(values.size)))
