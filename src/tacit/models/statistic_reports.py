"""Reports of statistics: every device releases what its own row adds to the family's sums, plus noise.

The sum of N such reports is the exact sum over N rows plus the sum of their noise, whose variance is N times that of
one report. So a survey is a site of N rows with normal noise, sqrt(N) times as large as a report's, and every method
that pools sites takes it. Nothing else that the reports hold is used: each alone is its row under far more noise.
(kulkarni2022, section 3.1.)

Gaussian noise adds up to Gaussian noise. Laplace noise does so by the central limit theorem: a sum of N has the excess
kurtosis 3/N, and by the first term of Edgeworth's series its distribution function is off by less than 0.07/N anywhere.
That is below 0.001 for the 100 reports that are asked for at least.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from tacit.errors import expected
from tacit.models.model import Problem, Site, Survey
from tacit.noise.rounded_gaussian import RoundedGaussian
from tacit.privacy.guarantees import Guarantee
from tacit.protocols.client import Client, Encoder
from tacit.protocols.noisy_statistic import NoisyStatistic
from tacit.runtime.chain import Arrays, Chain, Settings
from tacit.schema import Schema
from tacit.statistics.gram import Gram
from tacit.statistics.statistic import Statistic

STATISTICS = "statistics"
LEAST_LAPLACE = 100

Build = Callable[[Problem, Settings], Chain]


@dataclass(frozen=True)
class RowStatistic(Encoder):
    """What each row alone adds to ``statistic``: the same whole numbers as in a central release."""

    statistic: Statistic

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the statistic."""
        return self.statistic.columns

    def encode(self, columns: Mapping[str, Any]) -> Any:
        """Row by row; the products of a Gram statistic all at once, exactly, as they are below 2^53."""
        import numpy as np

        if isinstance(self.statistic, Gram):
            rows = self.statistic.matrix(columns)
            places = self.statistic.layout[0].values()
            return (rows[:, [p.j for p in places]] * rows[:, [p.k for p in places]]).astype(np.int64)
        count = len(next(iter(columns.values())))
        one_row = ({name: values[i : i + 1] for name, values in columns.items()} for i in range(count))
        found = [self.statistic.batch_sum(row) for row in one_row]
        return np.array(found, np.int64).reshape(count, len(self.statistic.entries))


@lru_cache(maxsize=64)
def statistic_client(statistic: Statistic, schema: Schema, budget: Guarantee) -> Client:
    """A device that adds noise to what its row adds to ``statistic``."""
    return Client(
        schema, RowStatistic(statistic), NoisyStatistic.calibrate(statistic.unit, statistic.sensitivity(), budget)
    )


def statistic_summary(client: Client, reports: Any) -> Any:
    """The sum of all reports, in real units."""
    import numpy as np

    assert isinstance(client.protocol, NoisyStatistic)
    return np.asarray(reports, np.float64).sum(axis=0) / client.protocol.unit


def summed(survey: Survey) -> Site:
    """A survey as the site that the sum of its reports is a release about."""
    protocol = survey.client.protocol
    assert isinstance(protocol, NoisyStatistic)
    if protocol.noise.limit != "normal" and survey.n < LEAST_LAPLACE:
        raise expected("n", survey.n, f"to be at least {LEAST_LAPLACE} reports, for Laplace noise to add up to normal")
    spreads = (math.sqrt(survey.n) * sd for sd in protocol.noise.sd)
    return Site(survey.n, (RoundedGaussian(tuple(math.ceil(spread) for spread in spreads)),))


def with_reports(build: Build, inputs: Build | None = None) -> Build:
    """The method ``build``, which pools sites, for surveys as well; ``inputs`` is how it treats reports of inputs.

    Parameters that each site has for itself are given for releases; for a survey only where it is all there is.
    """

    def built(problem: Problem, settings: Settings) -> Chain:
        if not problem.surveys:
            return build(problem, settings)
        of_statistics = [isinstance(survey.client.protocol, NoisyStatistic) for survey in problem.surveys]
        if not any(of_statistics) and inputs is not None and not problem.sites:
            return _own_parameters(inputs(problem, settings), problem)
        if not all(of_statistics):
            raise expected(
                "protocol", "inputs", "of the reports to be 'statistics' for this method, or to be pooled with others"
            )
        surveys = tuple(summed(survey) for survey in problem.surveys)
        as_sites = replace(problem, sites=(*problem.sites, *surveys), surveys=())
        return _own_parameters(build(as_sites, settings), problem)

    return built


def _own_parameters(chain: Chain, problem: Problem) -> Chain:
    """A chain whose parameters of sites are those of the releases, without an axis where that is one site."""
    own, releases = problem.model.site_parameters, len(problem.sites)
    if releases + len(problem.surveys) == 1:
        return chain

    def trimmed(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        draws, info = chain(key, released)
        found = {name: value for name, value in draws.items() if name not in own}
        for name in own if releases else ():
            if name in draws:
                found[name] = draws[name][:, 0] if releases == 1 else draws[name][:, :releases]
        return found, info

    return trimmed
