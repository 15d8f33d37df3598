"""How much of the posterior's uncertainty is there because of privacy, and how much would be there anyway.

Write s for the exact sums and z for the release. theta depends on z through s alone, so the law of total variance,
conditional on z, says

    Var(theta | z) = E[Var(theta | s) | z]  +  Var(E[theta | s] | z)
                     (sampling)                (privacy)

The first part is what would be left on average if the exact sums were known; the second is there because they are not.
The left side is the posterior's variance. The first part is estimated by replicas: exact sums s' of as many made-up
rows, drawn with the posterior's own parameters, and for each the posterior variance that they give without noise (the
family's ``naive`` method). The approximation is that s' is drawn from p(s | theta) and not from p(s | theta, z). Both
have the right parameters, and Var(theta | s) changes little from one set of sums to another with the same parameters.
What is left is Monte Carlo error, a few percent of the sampling part.
Where n is not public it is one of the exact sums. Each replica then has an n of its own; its sums are scaled to the
released number, as Var(theta | s) hardly depends on an n that is known to a few percent.

Proof of the identity: given theta and s, z is s plus noise that is independent of theta, so p(theta | s, z) =
p(theta | s); put this into Var(theta | z) = E[Var(theta | s, z) | z] + Var(E[theta | s, z] | z). The same holds with
local reports for z and the records for s. []
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tacit.infer import check_settings, posterior_arrays
from tacit.mechanisms.add_noise import AddNoise
from tacit.mechanisms.request import Request
from tacit.models.model import Problem, Site
from tacit.posterior import Posterior
from tacit.privacy.guarantees import PureDP
from tacit.report.replicas import Replicas

_REPLICAS, _DRAWS, _WARMUP = 25, 250, 250


@dataclass(frozen=True)
class Split:
    """The variance of one number in two parts."""

    name: str
    total: float
    sampling: float

    @property
    def privacy_share(self) -> float:
        """The share of the variance that is there because of privacy, from 0 to 1."""
        return min(1.0, max(0.0, 1 - self.sampling / self.total))

    @property
    def widening(self) -> float:
        """How many times wider the interval is than it would be without noise: sqrt(total / sampling), at least 1."""
        return math.inf if self.sampling == 0 else math.sqrt(max(1.0, self.total / self.sampling))


def split_uncertainty(posterior: Posterior, replicas: Replicas, *, seed: int = 0) -> list[Split]:
    """The two parts for every number that the family's ``naive`` method draws as well; empty where it cannot."""
    import numpy as np

    model, schema = posterior.plan.model, posterior.plan.schema
    own = any(name in posterior.arrays() for name in model.site_parameters)
    several = own and len(replicas.places) > 1
    if "naive" not in model.methods or (several and not model.methods["naive"].sites):
        return []
    noise = AddNoise().calibrated_mechanism(Request(model, schema, PureDP(1.0))).noise  # which the naive method ignores
    every = slice(None, None, max(1, len(replicas.draws) // _REPLICAS))
    sums = [
        _of_known_n(part[every], place.n, posterior) for part, place in zip(replicas.sums, replicas.places, strict=True)
    ]
    if several:
        sites = tuple(Site(place.n, (noise,)) for place in replicas.places)
        values = np.concatenate(sums, axis=1)
    else:  # nothing belongs to one place alone: all rows together say the same
        sites = (Site(sum(place.n for place in replicas.places), (noise,)),)
        values = np.sum(sums, axis=0)
    problem = Problem(model, schema, posterior.whole_prior(), sites)
    settings = check_settings(warmup=_WARMUP, draws=_DRAWS, chains=1, seed=seed)
    unit = problem.statistic.unit
    rows = [[float(v) * unit for v in row] for row in values]
    arrays, _ = posterior_arrays(problem, "naive", settings, rows, chains=1, seed=seed)
    found: list[Split] = []
    names = iter(row.name for row in posterior.summary())
    for variable in posterior.arrays():
        total = _variances(posterior.parameter(variable), 0)
        labels = [next(names) for _ in total]
        if variable not in arrays:
            continue
        without = _variances(arrays[variable][:, 0], 1).mean(axis=0)
        if without.shape != total.shape:
            continue
        found += [
            Split(name, float(v), float(w))
            for name, v, w in zip(labels, total, without, strict=True)
            if math.isfinite(v) and math.isfinite(w) and v > 0
        ]
    return found


def _variances(draws: Any, axis: int) -> Any:
    """The variance over ``axis``, the axes behind it joined."""
    return draws.reshape(*draws.shape[: axis + 1], -1).var(axis=axis, ddof=1)


def _of_known_n(sums: Any, n: int, posterior: Posterior) -> Any:
    """The family's sums over ``n`` rows: where n is not public, those of each replica as if it had as many."""
    if all(one.n is not None for one in posterior.releases):
        return sums
    release = posterior.releases[0]
    rows = sums[:, list(release.calibrated_mechanism.row_entries)].sum(axis=1, keepdims=True)
    known = release.plan.model.statistic(release.plan.schema).entries
    return (sums * n / rows)[:, [release.entries.index(name) for name in known]]
