"""The same two parts of a variance (see `tacit.report.uncertainty`) for a linear regression from which no rows can be
made up, since its method leaves out how the covariates are distributed.

With G the sums of products of the covariates, sigma^2 (Lambda + G)^-1 is the covariance of the coefficients given exact
sums, Lambda the precision of the prior in units of 1 / sigma^2. G is taken from the release, moved to a positive
definite matrix where noise has made it impossible, and sigma^2 is the posterior's mean.
"""

from __future__ import annotations

from typing import Any

from tacit.models.linear import LinearRegression
from tacit.models.linear_prior import LinearPrior
from tacit.posterior import Posterior
from tacit.release import Release
from tacit.report.uncertainty import Split
from tacit.statistics.counted_rows import CountedRows
from tacit.statistics.gram import Gram


def split_of_sums(posterior: Posterior) -> list[Split]:
    """The two parts for every coefficient; empty where the release holds something else."""
    import numpy as np

    from tacit.models.score_steps import positive

    model, prior, arrays = posterior.plan.model, posterior.whole_prior(), posterior.arrays()
    if posterior.surveys or not isinstance(model, LinearRegression) or not isinstance(prior, LinearPrior):
        return []
    if prior.coefficients or not {"theta", "sigma"} <= set(arrays) or arrays["theta"].ndim != 3:
        return []
    sites: dict[str, list[tuple[Any, Any]]] = {}
    for one in posterior.releases:
        found = _gram(one)
        if found is None:
            return []
        sites.setdefault(one.dataset, []).append(found)
    precision, doubt = 0.0, 0.0
    for releases in sites.values():  # of the same rows: their mean
        precision = precision + sum(gram for gram, _ in releases) / len(releases)
        doubt += max(sd for _, sd in releases) / len(releases) ** 0.5
    theta, sigma = posterior.parameter("theta"), posterior.parameter("sigma")
    if not prior.tied:
        precision = precision + prior.numbers(model.design(posterior.plan.schema)).lambda0
    exact = float((sigma**2).mean()) * np.linalg.inv(positive(precision, doubt)).diagonal()
    total = theta.var(axis=0, ddof=1)
    names = [row.name for row in posterior.summary()][: len(total)]
    return [Split(name, float(v), float(w)) for name, v, w in zip(names, total, exact, strict=True) if v > 0 and w > 0]


def _gram(release: Release) -> tuple[Any, float] | None:
    """The sums of products of covariates as they were released, and the largest noise of one."""
    import numpy as np

    statistic = release.plan.statistic()
    statistic = statistic.counted if isinstance(statistic, CountedRows) else statistic
    if not isinstance(statistic, Gram):
        return None
    entries, products = statistic.layout
    number = {product: i for i, product in enumerate(entries)}
    values = [value / release.unit for value in release.values]
    n = release.noisy_n[0] if release.n is None else release.n
    p = len(statistic.design)
    gram = np.zeros((p, p))
    for j in range(p):
        for k in range(j, p):
            product = products[j, k]
            if product is not None:
                gram[j, k] = gram[k, j] = n if product.constant else values[number[product]]
    return gram, max(release.noise.sd) / release.unit
