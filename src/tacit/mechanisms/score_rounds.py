"""Scores in rounds, calibrated: what each round releases, its noise, the price of all, and where the next is taken."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from tacit.errors import BROKEN, BrokenMediumError, InputError
from tacit.mechanisms.mechanism import CalibratedMechanism, Read
from tacit.mechanisms.person import PERSON
from tacit.mechanisms.record_moves import UnitOfPrivacy
from tacit.models.score_noise import NoisyRound, ScoreNoise
from tacit.models.score_round import Round
from tacit.noise.calibration import base_scale, root_above
from tacit.noise.discrete_laplace import DiscreteLaplace
from tacit.noise.entropy import Entropy
from tacit.noise.noise import Noise
from tacit.noise.rounded_gaussian import RoundedGaussian
from tacit.privacy.basis import Basis
from tacit.privacy.events import Event, GaussianEvent, PureEvent
from tacit.privacy.sensitivity import Sensitivity
from tacit.statistics.accumulator import Sums
from tacit.statistics.clipped_scores import ClippedScores
from tacit.statistics.score_region import POINT_UNIT
from tacit.statistics.score_sensitivity import rounded_ratio
from tacit.statistics.score_sums import LARGEST, ScoreSums
from tacit.statistics.statistic import Statistic

NextPoint = Callable[[Sequence[Round], Sequence[Sequence[float]], float], Sequence[float]]


@dataclass(frozen=True)
class ScoreRounds(CalibratedMechanism):
    """Sums of scores, and of information where ``matrix`` says so, at one point after the other, plus noise.

    ``shares`` of the price belong to each round, and of a round the share ``matrix`` to its information; 0 is none.
    ``price`` is mu^2 for Gaussian noise, epsilon for Laplace noise. ``record`` is what two neighbours differ by; where
    n is not public under it, the first round has it, too, with noise.
    ``past`` is the distribution that a release says it had; without it the points are still to be found.
    """

    sums: ScoreSums | ClippedScores
    step: NextPoint
    shares: tuple[Fraction, ...]
    matrix: tuple[Fraction, ...]
    price: Fraction
    record: UnitOfPrivacy
    past: ScoreNoise | None = None

    @property
    def people(self) -> int:
        """The most rows of one unit of privacy that count."""
        unit = self.record.person
        return 1 if unit is None or unit.weight == PERSON else unit.max_rows

    @property
    def public_n(self) -> bool:
        """Whether a release says n."""
        return self.record.n_is_public

    @property
    def row_entries(self) -> tuple[int, ...]:
        """The last number of the first round."""
        return () if self.public_n else (len(self.statistic(0, (0,) * len(self.sums.coordinates)).entries) - 1,)

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the covariates and the response."""
        return self.sums.columns

    @property
    def entries(self) -> tuple[str, ...]:
        """Those of each round."""
        found: list[str] = []
        for place, share in enumerate(self.matrix):
            names = self._released(self.sums.at(self.sums.point, matrix=share > 0), place).entries
            found += [f"round {place + 1}: {name}" for name in names]
        return tuple(found)

    @property
    def unit(self) -> int:
        """That of scores and information."""
        return self.sums.unit

    @property
    def basis(self) -> Basis:
        """A proof: that of `event`."""
        return Basis.PROVED

    @property
    def fills(self) -> bool:
        """A row that a person does not have adds nothing."""
        return False

    def check_here(self) -> None:
        """The likelihood has to work here, on made-up rows."""
        if isinstance(self.sums, ClippedScores):
            self.sums.likelihood.check_here()

    @property
    def one_process(self) -> bool:
        """Where scores are computed by a compiled program: another machine's might round another way."""
        return self.counted

    @property
    def counted(self) -> bool:
        """Whether scores are cut, and each round counts how many rows that changed."""
        return isinstance(self.sums, ClippedScores)

    @property
    def passes(self) -> int:
        """One for each round."""
        return len(self.shares)

    @property
    def noise_parameters(self) -> ScoreNoise:
        """The rounds that a release has; else the first one, whose point is known beforehand."""
        if self.past is not None:
            return self.past
        return ScoreNoise(self._noise, (self.round_at(0, (0,) * len(self.sums.coordinates)),))

    @property
    def _noise(self) -> str:
        return DiscreteLaplace.kind if self.sums.laplace else RoundedGaussian.kind

    def _released(self, sums: ScoreSums | ClippedScores, place: int) -> Statistic:
        return sums if self.public_n or place > 0 else sums.of_unknown_n()

    def statistic(self, place: int, point: Sequence[int]) -> Statistic:
        """The sums of one round, counted from 0, at ``point``; with the number of rows in the first, if not public."""
        share, ratio = self.matrix[place], None
        if self.past is not None and share > 0:  # as its scales say, whatever share they came from
            score, diagonal, *_ = self.past.rounds[place].scales
            ratio = rounded_ratio(Fraction(diagonal, score))
        sums = replace(self.sums, share=share or Fraction(1, 2), ratio=ratio)
        if isinstance(sums, ScoreSums) and place < self.passes - 1:  # earlier points are not where the posterior is
            sums = replace(sums, observed=False)
        return self._released(sums.at(tuple(point), matrix=share > 0), place)

    def sensitivity(self, place: int, point: Sequence[int]) -> Sensitivity:
        """How far replacing one unit of privacy moves the sums of one round.

        Proof: for the neighbours of the budget, in L1 and L2: that of `UnitOfPrivacy.moves`. Where no weight is said,
        a person has at most ``people`` rows that count (`tacit.sources.people`); fill up with zero vectors, which is
        what missing rows add. Paired off, two persons differ in at most ``people`` vectors, each pair by no more than
        `ScoreSums` claims with ``empty``, for which a zero vector is one more row; the differences add up. []
        """
        return self.record.moves(self.statistic(place, point))

    def round_at(self, place: int, point: Sequence[int]) -> NoisyRound:
        """The noise of one round at ``point``: the least whole scales for its share of the price."""
        moves, part = self.sensitivity(place, point), self.shares[place] * self.price
        weights, rows = moves.relative_scales, place == 0 and not self.public_n
        p, matrix = len(self.sums.coordinates), self.matrix[place] > 0
        kept = [weights[0], weights[p], weights[p + 1] if p > 1 else weights[p]] if matrix else [weights[0]]
        kept += weights[len(weights) - rows - self.counted :]  # of the rows that were cut, and of all rows
        if self.sums.laplace:
            scales = [math.ceil(weight * moves.l1 / part) for weight in kept]
        else:
            scales = [root_above(weight**2 * moves.l2_squared / part) for weight in kept]
        scales = [max(1, scale) for scale in scales]
        last = scales.pop() if rows else None
        units = self.sums.at(tuple(point), matrix=matrix).units if isinstance(self.sums, ClippedScores) else None
        return NoisyRound(tuple(point), matrix, tuple(scales), last, units)

    def event(self) -> Event:
        """What all rounds cost together.

        Proof: for the neighbours of `sensitivity`. Fix what rounds 1 to k - 1 released. Then theta_k is fixed, and
        round k is the sums of `ScoreSums` at theta_k, which a unit moves by no more than `sensitivity`, plus noise of
        scales that follow from it: by the proof of `RoundedGaussian` it is mu_k-GDP with mu_k^2 = l2_squared / base^2,
        or by that of `DiscreteLaplace` epsilon_k-DP with epsilon_k = l1 / base, which `round_at` keeps at or below the
        share of the price that the round has, whatever theta_k is. So its bound is a number fixed before the first row,
        and adaptive composition adds them up: sqrt(sum mu_k^2)-GDP (Dong, Roth and Su 2022, Theorem 4 and Corollary 3),
        and sum epsilon_k (Dwork, Rothblum and Vadhan 2010, Theorem III.1). zCDP, Renyi and approximate guarantees
        follow from mu, as a mu-GDP output is a post-processing of N(mu, 1) against N(0, 1). Points are functions of
        what was released. For rounds that have been, what their scales cost at their points is added up instead. []
        """
        if self.past is None:
            total = self.price * sum(self.shares, Fraction(0))
        else:
            total = sum((self._spent(place) for place in range(self.passes)), Fraction(0))
        return PureEvent(total) if self.sums.laplace else GaussianEvent(total, Fraction(0))

    def _spent(self, place: int) -> Fraction:
        one = self.noise_parameters.rounds[place]
        moves = self.sensitivity(place, one.point)
        base = base_scale(one.every_scale(), moves)
        return moves.l1 / base if self.sums.laplace else moves.l2_squared / base**2

    def accumulator(self) -> Sums:
        """Sums of no rows, of the first round."""
        return Sums(self.statistic(0, (0,) * len(self.sums.coordinates)))

    def cross(self, collected: Any, n: int, entropy: Entropy) -> tuple[int, ...]:
        """The first round alone: the others need the rows again (`carry_out`)."""
        noise = ScoreNoise(self._noise, (self.noise_parameters.rounds[0],)).of_round(0).sample(1, entropy)[0]
        return tuple(total + int(error) for total, error in zip(collected.totals, noise, strict=True))

    def carry_out(self, read: Read, entropy: Entropy) -> tuple[int, tuple[int, ...], ScoreNoise]:
        """All rounds, each of which reads the rows once: n, the released integers and the distribution with its
        points.
        """
        return self.in_rounds(read, lambda noise: noise.sample(1, entropy)[0])

    def in_rounds(self, read: Read, draw: Callable[[Noise], Sequence[int]]) -> tuple[int, tuple[int, ...], ScoreNoise]:
        """The same with one draw of each round's noise by ``draw``, which a study may repeat."""
        rounds: list[NoisyRound] = []
        values: list[int] = []
        point = (0,) * len(self.sums.coordinates)
        rows: int | None = None
        for place in range(self.passes):
            here = self.round_at(place, point)
            n, collected = read(Sums(self.statistic(place, point)))
            if rows not in (None, n):
                raise BrokenMediumError(BROKEN)
            rows = n
            rounds.append(here)
            noise_parameters = ScoreNoise(self._noise, tuple(rounds))
            noise = draw(noise_parameters.of_round(place))
            assert isinstance(collected, Sums)
            values += [total + int(error) for total, error in zip(collected.totals, noise, strict=True)]
            point = self._after(
                noise_parameters, values, n if self.public_n else self._noisy_n(noise_parameters, values)
            )
        assert rows is not None
        return rows, tuple(values), ScoreNoise(self._noise, tuple(rounds))

    def _noisy_n(self, noise_parameters: ScoreNoise, values: Sequence[int]) -> float:
        """n as it was released, or what its noise is about where that is more."""
        place, scale = self.row_entries[0], noise_parameters.rounds[0].rows or 0
        return max(1, values[place], scale) / self.unit

    def _after(self, noise_parameters: ScoreNoise, values: Sequence[int], n: float) -> tuple[int, ...]:
        """The next point on the lattice, from released numbers alone; where none is found, the last one again."""
        last = noise_parameters.rounds[-1].point
        found: Sequence[float] = [t / POINT_UNIT for t in last]
        with suppress(Exception):  # what it is given is public, so is how it fails
            real = [[value / self.unit for value in some] for some in noise_parameters.split(list(values))]
            found = self.step(noise_parameters.facts(self.unit), real, n)
        if len(found) != len(last) or not all(map(math.isfinite, found)):
            return last
        return tuple(round(min(max(value, -LARGEST), LARGEST) * POINT_UNIT) for value in found)

    def check(self, values: tuple[int, ...], n: int | None) -> None:
        """A row moves an entry by at most ``largest``; noise beyond 65536 scales has probability below e^-65536."""
        for one, some in zip(self.noise_parameters.rounds, self.noise_parameters.split(values), strict=True):
            limit = (2**53 if n is None else n) * self.sums.largest + 2**16 * max(one.scales)
            if any(abs(value) > limit for value in some):
                raise InputError("Expected values to lie within what n rows can add plus 65536 noise scales of 0.")
