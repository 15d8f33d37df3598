"""Point estimates from local reports, to compare posteriors with: shares without bias, made possible, and means.

Proof: all are functions of the reports and of public numbers alone, so they cost no privacy (post-processing). []
"""

from __future__ import annotations

import math
from typing import Any

from tacit.studies import expected


def unbiased_shares(protocol: Any, reports: Any) -> Any:
    """Shares (k,) of the k levels among the people who sent ``reports`` (N, m): right on average, perhaps negative.

        f_j = (z_j - q) / (p - q)

    z_j is the share of reports that name level j (randomized response) or have a one in bit j (unary encoding), p the
    probability of that for whoever has level j and q for anybody else. E z_j = q + (p - q) f_j, so the mean is right
    (Wang, Blocki, Li and Jha 2017, equation 1). Those of randomized response add up to 1; bits do not. The estimator
    printed for unary encoding in Kulkarni et al. 2022, section 3.2.2, exchanges the two probabilities and has the mean
    f_j - 1 (docs/errata.md).
    """
    import numpy as np

    values = np.asarray(reports)
    if protocol.kind == "randomized-response":
        shares = np.bincount(values[:, 0], minlength=protocol.levels) / len(values)
        lie = math.exp(-protocol.epsilon)
        told, other = 1 / (1 + (protocol.levels - 1) * lie), lie / (1 + (protocol.levels - 1) * lie)
    elif protocol.kind == "unary-encoding":
        shares = values.mean(axis=0)
        told, other = 0.5, 1 / (1 + math.exp(protocol.epsilon))
    else:
        raise expected("protocol", protocol.kind, "to be one for levels")
    return (shares - other) / (told - other)


def nearest_shares(values: Any) -> Any:
    """The shares (..., k), not negative and with sum 1, that are nearest to ``values`` in the Euclidean norm.

    They are max(v_j - t, 0) with the one t that makes the sum 1. With v_(1) >= v_(2) >= ... the sorted values, r is the
    largest number with v_(r) > (v_(1) + ... + v_(r) - 1) / r, and t is that quotient.

    Proof: the conditions of Karush, Kuhn and Tucker, sufficient as the problem is convex, are that w_j = v_j - t where
    w_j > 0 and v_j <= t where w_j = 0, with a t for the constraint sum w = 1. So w has the form above; the sum of
    max(v_j - t, 0) falls in t from infinity to 0, strictly as long as it is positive, so there is one t. It keeps the
    r largest values, those above t, and summing over them gives the quotient. []
    """
    import numpy as np

    v = np.asarray(values, np.float64)
    falling = -np.sort(-v, axis=-1)
    quotients = (np.cumsum(falling, axis=-1) - 1) / np.arange(1, v.shape[-1] + 1)
    kept = np.count_nonzero(falling > quotients, axis=-1)
    t = np.take_along_axis(quotients, kept[..., None] - 1, axis=-1)
    return np.maximum(v - t, 0.0)


def unbiased_mean(client: Any, reports: Any) -> float:
    """The mean of a numeric column, clamped to its bounds and rounded to the device's lattice, in the column's units.

    The average report, mapped back: the noise that devices add has mean 0.
    """
    import numpy as np

    encoder = client.encoder
    if not {"first", "last", "low", "high"} <= set(dir(encoder)):
        raise expected("protocol", client.protocol.kind, "to be one for a single number")
    share = (float(np.mean(np.asarray(reports)[:, 0])) - encoder.first) / (encoder.last - encoder.first)
    return encoder.low + share * (encoder.high - encoder.low)
