"""Noisy scores in rounds: the rows' own score and information at points that earlier rounds lead to.

Round k releases S_k = sum_i u_i x_i and, in some rounds, J_k = sum_i w_i x_i x_i' at a public point theta_k, with
integer noise (`ScoreSums`). theta_1 is 0; theta_{k+1} is computed from what rounds 1 to k have released, on a public
lattice. No distribution of the covariates is assumed anywhere: the root of the score is the rows' own estimate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

from tacit.bibliography import AVELLA_2023, Paper
from tacit.errors import BROKEN, BrokenMediumError, InputError, did_you_mean, expected
from tacit.mechanisms.mechanism import CalibratedMechanism, Central, NoiseParameters, Read
from tacit.mechanisms.person import KEYS, PERSON, Person, person_from_plain
from tacit.mechanisms.record_moves import n_is_public, record_moves
from tacit.mechanisms.round_prices import check_rounds, whole_price
from tacit.models.model import Model
from tacit.models.score_model import ScoreLink, ScoreModel, ScorePrior
from tacit.models.score_noise import MOST_ROUNDS, NoisyRound, ScoreNoise
from tacit.models.score_round import Round
from tacit.noise.calibration import base_scale, mu_squared_of, root_above
from tacit.noise.discrete_laplace import DiscreteLaplace
from tacit.noise.entropy import Entropy
from tacit.noise.rounded_gaussian import RoundedGaussian
from tacit.privacy.basis import Basis
from tacit.privacy.events import Event, GaussianEvent, PureEvent
from tacit.privacy.guarantees import Guarantee, PureDP
from tacit.privacy.sensitivity import Sensitivity
from tacit.schema import Schema
from tacit.statistics.accumulator import Sums
from tacit.statistics.score_region import POINT_UNIT
from tacit.statistics.score_sensitivity import rounded_ratio
from tacit.statistics.score_sums import LARGEST, ScoreSums
from tacit.statistics.statistic import Statistic

_PURE = ((0.4, 0.25, 0.35), (0.5, 0.0, 0.0))  # few rounds and one matrix: Laplace noise on every entry of it is dear


@dataclass(frozen=True)
class ScoreRounds(CalibratedMechanism):
    """Sums of scores, and of information where ``matrix`` says so, at one point after the other, plus noise.

    ``shares`` of the price belong to each round, and of a round the share ``matrix`` to its information; 0 is none.
    ``price`` is mu^2 for Gaussian noise, epsilon for Laplace noise. ``unit_of_privacy`` is a person, or None for a row.
    Where n is not public under these ``neighbours`` and this unit, the first round has it, too, with noise.
    ``past`` is the distribution that a release says it had; without it the points are still to be found.
    """

    sums: ScoreSums
    link: ScoreLink
    shares: tuple[Fraction, ...]
    matrix: tuple[Fraction, ...]
    price: Fraction
    neighbours: str
    unit_of_privacy: Person | None
    past: ScoreNoise | None = None

    @property
    def people(self) -> int:
        """The most rows of one unit of privacy that count."""
        unit = self.unit_of_privacy
        return 1 if unit is None or unit.weight == PERSON else unit.max_rows

    @property
    def public_n(self) -> bool:
        """Whether a release says n."""
        return n_is_public(self.neighbours, self.unit_of_privacy)

    @property
    def row_entries(self) -> tuple[int, ...]:
        """The last number of the first round."""
        return () if self.public_n else (len(self.statistic(0, (0,) * len(self.sums.design)).entries) - 1,)

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

    @property
    def passes(self) -> int:
        """One for each round."""
        return len(self.shares)

    @property
    def noise_parameters(self) -> ScoreNoise:
        """The rounds that a release has; else the first one, whose point is known beforehand."""
        if self.past is not None:
            return self.past
        return ScoreNoise(self._noise, (self.round_at(0, (0,) * len(self.sums.design)),))

    @property
    def _noise(self) -> str:
        return DiscreteLaplace.kind if self.sums.laplace else RoundedGaussian.kind

    def _released(self, sums: ScoreSums, place: int) -> Statistic:
        return sums if self.public_n or place > 0 else sums.of_unknown_n()

    def statistic(self, place: int, point: Sequence[int]) -> Statistic:
        """The sums of one round, counted from 0, at ``point``; with the number of rows in the first, if not public."""
        share, ratio = self.matrix[place], None
        if self.past is not None and share > 0:  # as its scales say, whatever share they came from
            score, diagonal, _ = self.past.rounds[place].scales
            ratio = rounded_ratio(Fraction(diagonal, score))
        sums = replace(self.sums, share=share or Fraction(1, 2), ratio=ratio)
        return self._released(sums.at(tuple(point), matrix=share > 0), place)

    def sensitivity(self, place: int, point: Sequence[int]) -> Sensitivity:
        """How far replacing one unit of privacy moves the sums of one round.

        Proof: for the neighbours of the budget, in L1 and L2: that of `record_moves`. Where no weight is said, a person
        has at most ``people`` rows that count (`tacit.sources.people`); fill up with zero vectors, which is what
        missing rows add. Paired off, two persons differ in at most ``people`` vectors, each pair by no more than
        `ScoreSums` claims with ``empty``, for which a zero vector is one more row; the differences add up. []
        """
        return record_moves(self.statistic(place, point), self.neighbours, self.unit_of_privacy)

    def round_at(self, place: int, point: Sequence[int]) -> NoisyRound:
        """The noise of one round at ``point``: the least whole scales for its share of the price."""
        moves, part = self.sensitivity(place, point), self.shares[place] * self.price
        weights, rows = moves.relative_scales, place == 0 and not self.public_n
        p, matrix = len(self.sums.design), self.matrix[place] > 0
        kept = [weights[0], weights[p], weights[p + 1] if p > 1 else weights[p]] if matrix else [weights[0]]
        kept += [weights[-1]] if rows else []
        if self.sums.laplace:
            scales = [math.ceil(weight * moves.l1 / part) for weight in kept]
        else:
            scales = [root_above(weight**2 * moves.l2_squared / part) for weight in kept]
        scales = [max(1, scale) for scale in scales]
        last = scales.pop() if rows else None
        return NoisyRound(tuple(point), matrix, tuple(scales), last)

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
        return Sums(self.statistic(0, (0,) * len(self.sums.design)))

    def cross(self, collected: Any, n: int, entropy: Entropy) -> tuple[int, ...]:
        """The first round alone: the others need the rows again (`carry_out`)."""
        noise = ScoreNoise(self._noise, (self.noise_parameters.rounds[0],)).of_round(0).sample(1, entropy)[0]
        return tuple(total + int(error) for total, error in zip(collected.totals, noise, strict=True))

    def carry_out(self, read: Read, entropy: Entropy) -> tuple[int, tuple[int, ...], ScoreNoise]:
        """All rounds, each of which reads the rows once: n, the released integers and the distribution with its
        points.
        """
        rounds: list[NoisyRound] = []
        values: list[int] = []
        point = (0,) * len(self.sums.design)
        rows: int | None = None
        for place in range(self.passes):
            here = self.round_at(place, point)
            n, collected = read(Sums(self.statistic(place, point)))
            if rows not in (None, n):
                raise BrokenMediumError(BROKEN)
            rows = n
            rounds.append(here)
            noise_parameters = ScoreNoise(self._noise, tuple(rounds))
            noise = noise_parameters.of_round(place).sample(1, entropy)[0]
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
            found = next_point(noise_parameters.facts(self.unit), real, n, self.link)
        if len(found) != len(last) or not all(map(math.isfinite, found)):
            return last
        return tuple(round(min(max(value, -LARGEST), LARGEST) * POINT_UNIT) for value in found)

    def check(self, values: tuple[int, ...], n: int | None) -> None:
        """A row moves an entry by at most ``largest``; noise beyond 65536 scales has probability below e^-65536."""
        for one, some in zip(self.noise_parameters.rounds, self.noise_parameters.split(values), strict=True):
            limit = (2**53 if n is None else n) * self.sums.largest + 2**16 * max(one.scales)
            if any(abs(value) > limit for value in some):
                raise InputError("Expected values to lie within what n rows can add plus 65536 noise scales of 0.")


@dataclass(frozen=True)
class Newton(Central):
    """The mechanism that releases scores and information in rounds.

    ``rounds`` is how many there are, ``shares`` how the budget is divided among them (epsilon for a pure one, mu^2
    otherwise), ``matrix`` which part of a round goes to the information, 0 where a round has scores alone. Left out,
    all follow from the plan. ``unit`` says whose privacy is protected: left out, every row is a person of its own.
    """

    kind: ClassVar[str] = "newton"
    noise_parameters_field: ClassVar[str] = "rounds"

    rounds: int | None = None
    shares: tuple[float, ...] | None = None
    matrix: tuple[float, ...] | None = None
    unit: Person | None = None

    def __post_init__(self) -> None:
        if self.rounds is not None and (type(self.rounds) is not int or not 1 <= self.rounds <= MOST_ROUNDS):
            raise expected("rounds", self.rounds, f"to be a whole number from 1 to {MOST_ROUNDS}")
        for name, least in (("shares", "above 0"), ("matrix", "at least 0 and below 1")):
            given = getattr(self, name)
            if given is None:
                continue
            if not isinstance(given, list | tuple) or not 1 <= len(given) <= MOST_ROUNDS:
                raise expected(name, given, f"to be a list of 1 to {MOST_ROUNDS} numbers, one a round")
            for number in given:
                if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
                    raise expected(name, number, f"to be a list of numbers {least}")
                if not (0 <= number < 1 if name == "matrix" else 0 < number < 1e9):
                    raise expected(name, number, f"to be a list of numbers {least}")
            object.__setattr__(self, name, tuple(given))
        sizes = {len(given) for given in (self.shares, self.matrix) if given is not None}
        sizes |= set() if self.rounds is None else {self.rounds}
        if len(sizes) > 1:
            raise expected("rounds", sorted(sizes), "to be one number, the length of shares and of matrix")
        if self.matrix is not None and not any(self.matrix):
            raise expected("matrix", list(self.matrix), "to be above 0 in some round: without it there is no interval")
        if self.unit is not None and not isinstance(self.unit, Person):
            raise expected("unit", self.unit, "to be a Person, or nothing when every row is one")

    @property
    def person(self) -> Person | None:
        """The unit of privacy, where it is not a row."""
        return self.unit

    @property
    def takes_add_remove(self) -> bool:
        """A row's score and information have a length of their own (`ScoreSums.addition`)."""
        return True

    @property
    def takes_offsets(self) -> bool:
        """The linear predictor of a row is part of its score, whatever it is made of."""
        return True

    @property
    def papers(self) -> tuple[Paper, ...]:
        """Noisy Newton steps."""
        return (AVELLA_2023,)

    def default_prior(self, model: Model, schema: Schema) -> ScorePrior:
        """As wide as the covariates are found to be narrow: of coefficients alone."""
        return ScorePrior()

    def schedule(self, columns: int, budget: Guarantee) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
        """The shares of rounds, which sum to 1, and of their matrices."""
        usual = _PURE
        if not isinstance(budget, PureDP):
            from tacit.models.score_steps import default_schedule

            found = default_schedule(columns, 0, math.sqrt(mu_squared_of(budget, self.kind)))
            usual = found.shares, found.matrix
        given = (self.shares, self.matrix)
        count = self.rounds or next((len(some) for some in given if some is not None), len(usual[0]))
        if len(usual[0]) != count:
            usual = (1.0,) * count, (0.5, *(0.0,) * (count - 1))
        shares, matrix = (tuple(map(Fraction, some or other)) for some, other in zip(given, usual, strict=True))
        return tuple(share / sum(shares) for share in shares), matrix

    def calibrated_mechanism(
        self, model: Model, schema: Schema, budget: Guarantee, noise_parameters: NoiseParameters | None = None
    ) -> ScoreRounds:
        """The model's scores in rounds for the budget, or the rounds that a release has."""
        if not isinstance(model, ScoreModel):
            raise expected(
                "kind", self.kind, f"of [mechanism] to be one that family {model.family} has: scores need a regression"
            )
        if noise_parameters is not None and not isinstance(noise_parameters, ScoreNoise):
            raise expected("rounds", noise_parameters.kind, f"to be {ScoreNoise.kind}")
        laplace = isinstance(budget, PureDP)
        if not model.score_sums(schema).region.constant:
            raise expected(
                "kind", self.kind, "of [mechanism] to meet a formula with an intercept: leave out - 1 or + 0"
            )
        sums = replace(model.score_sums(schema), laplace=laplace, empty=self.unit is not None)
        shares, matrix = self.schedule(len(sums.design), budget)
        if noise_parameters is not None and (self.rounds, self.shares, self.matrix) == (None, None, None):
            # The default of the tacit that made it may have been another one; its price is worked out from its scales.
            count = len(noise_parameters.rounds)
            shares = (Fraction(1, count),) * count
            matrix = tuple(Fraction(1, 2) if one.matrix else Fraction(0) for one in noise_parameters.rounds)
        found = ScoreRounds(
            sums,
            model.score_link(schema),
            shares,
            matrix,
            whole_price(budget, self.kind),
            budget.neighbours,
            self.unit,
            noise_parameters,
        )
        if noise_parameters is not None:
            check_rounds(
                noise_parameters,
                len(sums.design),
                [share > 0 for share in matrix],
                laplace=laplace,
                counted=not found.public_n,
            )
        return found

    def noise_parameters_from_plain(self, plain: object) -> ScoreNoise:
        """Read a release's rounds."""
        return ScoreNoise.from_plain(plain)

    def to_plain(self) -> dict[str, Any]:
        """The ``[mechanism]`` table of a plan file."""
        plain: dict[str, Any] = {"kind": self.kind}
        if self.rounds is not None:
            plain["rounds"] = self.rounds
        for name in ("shares", "matrix"):
            if getattr(self, name) is not None:
                plain[name] = list(getattr(self, name))
        return plain if self.unit is None else {**plain, **self.unit.to_plain()}

    @classmethod
    def from_plain(cls, table: Mapping[str, Any]) -> Self:
        """Read the ``[mechanism]`` table of a plan file, less its ``kind``."""
        known = ("kind", "rounds", "shares", "matrix", *KEYS)
        for name in table:
            if name not in known:
                raise expected("mechanism key", name, f"to be one of {', '.join(known)}{did_you_mean(name, known)}")
        return cls(table.get("rounds"), table.get("shares"), table.get("matrix"), person_from_plain(table))


def next_point(
    rounds: Sequence[Round], values: Sequence[Sequence[float]], n: float, link: ScoreLink
) -> Sequence[float]:
    """Where the next round is taken, from what earlier ones released."""
    from tacit.models import score_steps

    return score_steps.next_point(rounds, values, n, link)
