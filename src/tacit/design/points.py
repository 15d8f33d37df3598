"""Where a study looks: parameters from the prior, and what rows and reports tell about each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.design.coordinates import Coordinates, coordinates_of
from tacit.design.information import RowMoments, row_moments
from tacit.design.numbers import numbers_of
from tacit.design.posterior import centres_and_draws
from tacit.design.reports import ReportMoments, report_moments
from tacit.design.table_widths import TableWidths
from tacit.errors import expected
from tacit.mechanisms.add_noise import AddNoise, NoisySums
from tacit.mechanisms.local import Local
from tacit.mechanisms.record_moves import UnitOfPrivacy
from tacit.models.score_reports import of_scores
from tacit.noise.registry import noise_for
from tacit.plan import Plan
from tacit.protocols.noisy_statistic import NoisyStatistic
from tacit.statistics.counted_rows import CountedRows


@dataclass(frozen=True, eq=False)
class SumNoise:
    """The standard deviation of the noise on each entry of the sums over n rows: ``once`` + sqrt(n) ``each``."""

    once: Any
    each: Any

    def sds(self, n: int) -> Any:
        """The standard deviations for n rows."""
        return self.once + n**0.5 * self.each


def noise_of(plan: Plan) -> SumNoise | None:
    """The noise on the family's sums: once for all rows, or once for each report of what a row adds to them.

    None where people report something else than sums of theirs; refuses what is neither.
    """
    if isinstance(plan.mechanism, Local):
        protocol = plan.local_randomizer().protocol
        if of_scores(plan.local_randomizer()):
            raise expected("protocol", "scores", "to be another for a design: `tacit check` says how much noise it has")
        if not isinstance(protocol, NoisyStatistic):
            return None
        sd = np.array(protocol.noise.sd) / protocol.unit
        return SumNoise(np.zeros(len(sd)), sd)
    calibrated = plan.calibrated_mechanism()
    if not isinstance(calibrated, NoisySums):
        raise expected("kind", plan.mechanism.kind, 'of [mechanism] to be "noise", "newton" or "local" for a design')
    sd = np.array(calibrated.noise.sd) / calibrated.unit
    return SumNoise(sd, np.zeros(len(sd)))


def noise_of_known_n(plan: Plan) -> SumNoise | None:
    """What the same budget would buy if n were public under the same neighbours: nothing goes to a count, and n has no
    noise. None where n is public.
    """
    calibrated = None if isinstance(plan.mechanism, Local) else plan.calibrated_mechanism()
    if not isinstance(calibrated, NoisySums) or calibrated.public_n:
        return None
    statistic, sd = calibrated.statistic, [*calibrated.noise.sd]
    if isinstance(statistic, CountedRows):
        assert isinstance(plan.mechanism, AddNoise)
        record = UnitOfPrivacy(plan.budget.neighbours, plan.mechanism.unit, plan.row_filter is not None)
        sd = [*noise_for(plan.budget, record.moves(statistic.counted), plan.mechanism.law).sd, 0.0]
    return SumNoise(np.array(sd) / calibrated.unit, np.zeros(len(sd)))


@dataclass(frozen=True, eq=False)
class ReleasedInformation:
    """What crosses the boundary under one plan, seen from every point: noisy sums, or reports."""

    plan: Plan
    rows: tuple[RowMoments, ...]
    noise: SumNoise | None
    reports: tuple[ReportMoments, ...]

    @property
    def known_n(self) -> ReleasedInformation | None:
        """The same if n were public; None where it is."""
        noise = noise_of_known_n(self.plan)
        return None if noise is None else replace(self, rows=tuple(one.of_known_n() for one in self.rows), noise=noise)

    def information(self, n: int) -> list[Any]:
        """At each point, of n rows or reports."""
        if self.noise is None:
            return [one.information(n) for one in self.reports]
        sds = self.noise.sds(n)
        return [one.information(n, sds) for one in self.rows]


@dataclass(frozen=True, eq=False)
class Points:
    """The parameters that a study takes the median over, in standard coordinates: ``at`` (points, size)."""

    plan: Plan
    coordinates: Coordinates
    at: Any
    rows: tuple[RowMoments, ...]
    prior: Mapping[str, Any]
    """Draws of each number under the prior."""
    seed: int

    @classmethod
    def of(cls, plan: Plan, draws: Mapping[str, Any], truths: Mapping[str, Any], seed: int) -> Points:
        """With coordinates by ``draws`` of the prior, at the parameters ``truths``; both have a leading axis."""
        coordinates = coordinates_of(dict(draws))
        at = coordinates.standard(dict(truths))
        central = None if isinstance(plan.mechanism, Local) else plan.calibrated_mechanism()
        summed = isinstance(central, NoisySums)
        statistic = central.statistic if summed and not central.public_n else plan.model.statistic(plan.schema)
        rows = tuple(row_moments(plan, statistic, coordinates, one, seed + i) for i, one in enumerate(at))
        return cls(plan, coordinates, at, rows, numbers_of(plan, dict(draws)), seed)

    def evidence(self, plan: Plan, noise: SumNoise | None) -> ReleasedInformation:
        """Under the same plan with perhaps another budget."""
        reports = (
            ()
            if noise is not None
            else tuple(report_moments(plan, self.coordinates, one, self.seed + i) for i, one in enumerate(self.at))
        )
        return ReleasedInformation(plan, self.rows, noise, reports)

    def exact(self, n: int) -> list[Any]:
        """The information of the exact sums over n rows, at each point."""
        return [one.information(n, np.zeros(len(one.covariance))) for one in self.rows]

    def compared(self, evidence: ReleasedInformation, n: int) -> dict[str, TableWidths]:
        """By number what n rows tell, beside what exact sums do and the prior."""
        private, signs = self.widths(evidence.information(n))
        exact, _ = self.widths(self.exact(n))
        known = None if evidence.known_n is None else self.widths(evidence.known_n.information(n))[0]
        found: dict[str, TableWidths] = {}
        for name, draws in self.prior.items():
            before = np.full(len(self.at), float(np.diff(np.quantile(draws, [0.025, 0.975]))[0]))
            either = bool((draws > 0).any() and (draws < 0).any())
            found[name] = TableWidths(
                private[name],
                exact[name],
                before,
                signs[name] if either else None,
                None if known is None else known[name],
            )
        return found

    def widths(self, information: list[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """By number, (points,): the width of the 95% interval, and how often the mean has the sign of the truth."""
        rng = np.random.default_rng([self.seed, 3])  # the same for every cell, so that cells differ by what they buy
        widths: dict[str, list[float]] = {name: [] for name in self.prior}
        signs: dict[str, list[float]] = {name: [] for name in self.prior}
        for at, known in zip(self.at, information, strict=True):
            centres, draws = centres_and_draws(at, known, rng)
            guesses = numbers_of(self.plan, self.coordinates.parameters(centres))
            sample = numbers_of(self.plan, self.coordinates.parameters(draws))
            truth = numbers_of(self.plan, self.coordinates.parameters(at[None]))
            for name in self.prior:
                low, high = np.quantile(sample[name], [0.025, 0.975])
                widths[name].append(float(high - low))
                signs[name].append(float(np.mean(np.sign(guesses[name]) == np.sign(truth[name][0]))))
        return {k: np.array(v) for k, v in widths.items()}, {k: np.array(v) for k, v in signs.items()}
