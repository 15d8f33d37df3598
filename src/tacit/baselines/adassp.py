"""A point estimate to compare posteriors with: adaptive sufficient-statistics perturbation (Wang 2018)."""

from __future__ import annotations

import math
from typing import Any

from tacit.noise.noise import Noise
from tacit.statistics.gram import Gram


def adassp(statistic: Gram, noise: Noise, n: int, released: Any, *, failure: float = 0.05) -> Any:
    """Ridge regression on noisy sums: theta (..., p) in mapped units from ``released`` (..., entries), real numbers.

        theta = (G + ridge I)^-1 h,    ridge = max(0, sqrt(p log(2 p^2 / failure)) s - least eigenvalue of G)

    G and h are the released X'X and X'y of the p design columns, n in the place of the constant's square, and s is the
    largest standard deviation of the noise in G. The ridge is as large as the noise's own eigenvalues get, but with
    probability ``failure``, and shrinks where the data make G larger (Wang 2018, Algorithm 2, line 5).

    Wang splits the budget over three releases: the least eigenvalue, X'X and X'y, with Gaussian noise. Here all comes
    from the one release that the posterior is drawn from as well, whatever its noise, and the least eigenvalue is that
    of the noisy matrix: smaller than the exact one on average, so the ridge is rather too large.

    Proof: a function of the release and of public numbers alone, so it costs no privacy (post-processing). []
    """
    import numpy as np

    entries, products = statistic.layout
    number = {product: i for i, product in enumerate(entries)}
    values = np.asarray(released, np.float64)
    sds = np.asarray(noise.sd, np.float64) / statistic.unit
    p = len(statistic.design)
    gram, level = np.zeros((*values.shape[:-1], p, p)), 0.0
    for (j, k), product in products.items():
        if product is None or k >= p:
            continue
        if product.constant:
            gram[..., j, k] = gram[..., k, j] = n
        else:
            gram[..., j, k] = gram[..., k, j] = values[..., number[product]]
            level = max(level, float(sds[number[product]]))
    places = [products[j, p] for j in range(p)]
    cross = np.stack([values[..., number[place]] for place in places if place is not None], axis=-1)
    target = math.sqrt(p * math.log(2 * p**2 / failure)) * level
    ridge = np.maximum(0.0, target - np.linalg.eigvalsh(gram)[..., 0])
    return np.linalg.solve(gram + ridge[..., None, None] * np.eye(p), cross[..., None])[..., 0]
