"""What the chain of cohorts needs of a survey, computed from the sums of its reports.

People of one survey are of one kind, whichever cohort they are in: so there is one information J of N rows like
theirs, N the people of all cohorts, and a cohort of n people measures n / N of it. Sums of a cohort are multiplied by
N / n here, and their noise with them. Unlike rounds over the same rows, cohorts have people of their own, so the
sampling variation of their scores is new each time: its variance is N / n times J.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.errors import InputError, expected
from tacit.models.score_reports import RowScore
from tacit.models.score_round import Round, ScoreLayout
from tacit.models.score_steps import default_prior, discount, estimate, next_point, positive, stand_in, symmetric
from tacit.models.statistic_reports import LEAST_LAPLACE
from tacit.protocols.local_randomizer import LocalRandomizer
from tacit.protocols.noisy_statistic import NoisyStatistic
from tacit.samplers.cohort_chain import CohortLayout
from tacit.samplers.score_curve import curve_of
from tacit.statistics.score_region import POINT_UNIT

_KURTOSIS = 3.0  # of a covariate: how much the information of different people varies


@dataclass(frozen=True, eq=False)
class CohortSums:
    """What ``n`` people of one cohort reported at ``point``, summed up: ``values`` in real units, noise of ``sds``."""

    n: int
    point: tuple[float, ...]
    matrix: bool
    sds: Any
    values: Any

    @classmethod
    def of(cls, randomizer: LocalRandomizer, n: int, values: Any) -> CohortSums:
        """From what devices did, their number, and the sum of their reports in real units."""
        encoder, protocol = randomizer.encoder, randomizer.protocol
        assert isinstance(encoder, RowScore)
        assert isinstance(protocol, NoisyStatistic)
        if protocol.noise.limit != "normal" and n < LEAST_LAPLACE:
            raise expected("n", n, f"to be at least {LEAST_LAPLACE} reports, for Laplace noise to add up to normal")
        point = tuple(t / POINT_UNIT for t in encoder.sums.point)
        sds = np.sqrt(n) * np.array(protocol.noise.sd) / protocol.unit
        return cls(n, point, encoder.sums.matrix, sds, np.asarray(values, float))


@dataclass(frozen=True, eq=False)
class SurveySums:
    """The cohorts of one survey."""

    cohorts: tuple[CohortSums, ...]

    def __post_init__(self) -> None:
        if not any(one.matrix for one in self.cohorts):
            raise InputError(
                "Expected some cohort of every survey to report information as well as scores: without it there is no "
                "interval. Merge the reports of its cohorts under one dataset name."
            )

    @property
    def n(self) -> int:
        """How many people there are."""
        return sum(one.n for one in self.cohorts)

    @property
    def layout(self) -> ScoreLayout:
        """What surveys of one shape have in common."""
        return ScoreLayout(len(self.cohorts[0].point), tuple(one.matrix for one in self.cohorts), laplace=False)

    def rounds(self, weight: float) -> tuple[list[Round], list[Any]]:
        """The cohorts as rounds over N rows; ``weight`` is the information of a row at 0, which scores vary by."""
        rounds, p = [], len(self.cohorts[0].point)
        for one in self.cohorts:
            part = self.n / one.n
            spread = part * float(np.sqrt(one.sds[0] ** 2 + one.n * weight))
            rounds.append(Round(one.point, one.matrix, spread, part * one.sds[p] if one.matrix else 0.0, laplace=False))
        return rounds, [self.n / one.n * one.values for one in self.cohorts]


def survey_rounds(survey: SurveySums, link: Any) -> tuple[list[Round], list[Any], int]:
    """A survey as a site of rounds, for steps and priors."""
    weight = float(curve_of(link.kind, link.clamp).information(0.0))
    return (*survey.rounds(weight), survey.n)


def point_after(survey: SurveySums, link: Any) -> tuple[float, ...]:
    """Where the next cohort's scores are best taken, from what earlier cohorts reported. It never raises."""
    rounds, values, n = survey_rounds(survey, link)
    return next_point(rounds, values, n, link)


def survey_arrays(survey: SurveySums, link: Any, prior: tuple[Any, Any] | None) -> tuple[Any, tuple[Any, Any]]:
    """The packed numbers of `CohortLayout`, and mean and sd of the prior of theta: the default one unless given."""
    rounds, values, n = survey_rounds(survey, link)
    p = len(rounds[0].point)
    model = stand_in(rounds, values, n, link)
    prior = prior or default_prior(model)
    anchor = estimate(rounds, values, model, *prior, np.array(rounds[-1].point))
    upper = np.triu_indices(p)
    off = np.where(upper[0] == upper[1], 1.0, 0.5)  # of a squared entry in the norm of Frobenius, as a variance
    layout = CohortLayout(p, tuple(one.matrix for one in survey.cohorts))
    arrays: dict[str, Any] = {name: [] for name in layout.shapes}
    for own, value in zip(survey.cohorts, values, strict=True):
        part, step = n / own.n, np.array(own.point) - anchor
        between = positive(model.information_between(anchor, np.array(own.point)), 1e-9 * n)
        score, matrix = discount(between, step)
        # the second part: people's own distances from the anchor differ, and with them the mean of their scores
        arrays["spread"].append((score + float(step @ between @ step) / own.n) * between)
        arrays["parts"].append(part)
        arrays["points"].append(own.point)
        arrays["turns"].append(np.eye(p))
        arrays["scores"].append(value[:p])
        arrays["score_noise"].append(part * own.sds[:p])
        arrays["score_extra"].append(np.zeros(p))
        if own.matrix:
            there = positive(model.information(np.array(own.point)), 1e-9 * n)
            noise = part * own.sds[p:]
            turns = _isotropic(noise, off)
            lengths, vectors = np.linalg.eigh(there) if turns else (np.diag(there), np.eye(p))
            arrays["bases"].append(vectors)
            arrays["matrices"].append((vectors.T @ symmetric(value[p:], p) @ vectors)[upper])
            arrays["matrix_noise"].append(noise[0] * np.sqrt(off) if turns else noise)
            varies = lengths[upper[0]] * lengths[upper[1]] * (matrix * off + _KURTOSIS / own.n)
            arrays["matrix_extra"].append(np.sqrt(varies))
    arrays |= {
        "n": [n],
        "most": [n * float(np.max(model.curve.information(np.linspace(-15, 60, 3001))))],
        "anchor": anchor,
        "mean": model.mean,
        "covariance": model.covariance,
        "root": np.linalg.cholesky(positive(model.information(anchor), 1e-9 * n)),
        "gram": np.linalg.cholesky(positive(model.information(np.zeros(p)), 1e-9 * n)),
    }
    return layout.pack(arrays), prior


def _isotropic(noise: Any, off: Any) -> bool:
    """Whether a matrix of such noise, turned, has the same noise: off the diagonal 1 / sqrt 2 of that on it."""
    return bool(np.allclose(noise, noise[0] * np.sqrt(off), rtol=1e-3))


def pack_surveys(surveys: Sequence[SurveySums], link: Any, prior: tuple[Any, Any] | None = None) -> Any:
    """The numbers of one dataset for `tacit.samplers.cohort_chain`; the default prior is that of the first survey."""
    found = []
    for one in surveys:
        packed, prior = survey_arrays(one, link, prior)
        found.append(packed)
    assert prior is not None
    return np.concatenate([*prior, *found])
