"""What one person's report tells about the parameters, for any protocol: from its own probabilities.

A report r of a record with encoded input x has the probability p(r | x), which every protocol knows exactly. Under the
parameters v, in standard coordinates, it has the probability p(r; v) = E p(r | x), x the inputs of rows that the family
draws. The information of one report is the mean of s s' over reports, s = d log p(r; v) / dv, and that of n reports is
n times as much. E is a mean over simulated inputs, the derivative a central difference with common random numbers, and
s is estimated twice from independent inputs, for the reason that `information` gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.calibration.simulate import simulate
from tacit.design.coordinates import Coordinates
from tacit.design.information import at_least_zero, one_of, parsed_rows, slopes_by_halves
from tacit.plan import Plan
from tacit.protocols.client import Client

_INPUTS = 1_200  # for each of the two estimates
_REPORTS, _DIFFERENT = 4_000, 300  # drawn; and the most different ones that are looked at


@dataclass(frozen=True, eq=False)
class ReportMoments:
    """The information of one report at one value of the parameters."""

    each: Any

    def information(self, n: int) -> Any:
        """That of n reports."""
        return n * self.each


def report_moments(plan: Plan, coordinates: Coordinates, at: Any, seed: int) -> ReportMoments:
    """The information of one report at the standard coordinates ``at``."""
    client = plan.client()
    found = simulate(plan, n=_REPORTS, seed=seed, parameters=one_of(coordinates.parameters(at[None]))).release
    drawn = np.concatenate([group.values for group in found.groups])  # pyright: ignore[reportAttributeAccessIssue]
    reports, counts = np.unique(drawn, axis=0, return_counts=True)
    if len(reports) > _DIFFERENT:
        reports, counts = drawn[:_DIFFERENT], np.ones(_DIFFERENT)

    def score(moved: Any, half: int) -> Any:
        return _log_mixture(plan, client, coordinates, moved, reports, [seed, half])

    first, second = slopes_by_halves(score, at)
    product = (first * (counts / counts.sum())[:, None]).T @ second
    return ReportMoments(at_least_zero(product))


def _log_mixture(plan: Plan, client: Client, coordinates: Coordinates, at: Any, reports: Any, seed: list[int]) -> Any:
    """log p(r; v) of each report, up to a constant of the report."""
    parameters = one_of(coordinates.parameters(at[None]))
    inputs = client.encoder.encode(parsed_rows(plan, client.columns, parameters, _INPUTS, seed))
    different, counts = np.unique(inputs, axis=0, return_counts=True)
    logs = client.protocol.log_pmf(reports[:, None, :], different[None, :, :]) + np.log(counts)
    top = logs.max(axis=1, keepdims=True)
    return np.log(np.exp(logs - top).sum(axis=1)) + top[:, 0]
