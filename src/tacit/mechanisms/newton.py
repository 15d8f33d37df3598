"""Noisy scores in rounds: the rows' own score and information at points that earlier rounds lead to.

Round k releases S_k = sum_i u_i x_i and, in some rounds, J_k = sum_i w_i x_i x_i' at a public point theta_k, with
integer noise (`ScoreSums`). theta_1 is 0; theta_{k+1} is computed from what rounds 1 to k have released, on a public
lattice. No distribution of the covariates is assumed anywhere: the root of the score is the rows' own estimate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Self

from tacit.bibliography import AVELLA_2023, Paper
from tacit.errors import did_you_mean, expected
from tacit.mechanisms.mechanism import Central, NoiseParameters
from tacit.mechanisms.person import KEYS, Person, person_from_plain
from tacit.mechanisms.record_moves import UnitOfPrivacy
from tacit.mechanisms.request import Request
from tacit.mechanisms.round_prices import check_rounds, whole_price
from tacit.mechanisms.score_rounds import NextPoint, ScoreRounds
from tacit.models.likelihood_model import LikelihoodModel
from tacit.models.model import Model
from tacit.models.score_model import ScoreLink, ScoreModel, ScorePrior
from tacit.models.score_noise import MOST_ROUNDS, ScoreNoise
from tacit.models.score_round import Round
from tacit.noise.calibration import mu_squared_of
from tacit.privacy.guarantees import Guarantee, PureDP
from tacit.schema import Schema
from tacit.statistics.clipped_scores import ClippedScores
from tacit.statistics.score_sums import ScoreSums

_PURE = ((0.4, 0.25, 0.35), (0.5, 0.0, 0.0))  # few rounds and one matrix: Laplace noise on every entry of it is dear
_LITTLE_NOISE = 400  # mu^2 from which the last round has the observed information, where that is another one


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

    def calibrated_mechanism(self, request: Request, noise_parameters: NoiseParameters | None = None) -> ScoreRounds:
        """The model's scores in rounds for the budget, or the rounds that a release has."""
        if noise_parameters is not None and not isinstance(noise_parameters, ScoreNoise):
            raise expected("rounds", noise_parameters.kind, f"to be {ScoreNoise.kind}")
        model, schema, budget = request.model, request.schema, request.budget
        laplace = isinstance(budget, PureDP)
        own, step = self._of_family(model, schema)
        price = whole_price(budget, self.kind)
        sums = replace(own, laplace=laplace, empty=self.unit is not None)
        if isinstance(sums, ScoreSums) and sums.link == "softplus" and not laplace:
            sums = replace(sums, observed=price >= _LITTLE_NOISE)
        shares, matrix = self.schedule(len(sums.coordinates), budget)
        if noise_parameters is not None and (self.rounds, self.shares, self.matrix) == (None, None, None):
            # The default of the tacit that made it may have been another one; its price is worked out from its scales.
            count = len(noise_parameters.rounds)
            shares = (Fraction(1, count),) * count
            matrix = tuple(Fraction(1, 2) if one.matrix else Fraction(0) for one in noise_parameters.rounds)
        record = UnitOfPrivacy(budget.neighbours, self.unit, request.filtered)
        found = ScoreRounds(
            sums,
            step,
            shares,
            matrix,
            price,
            record,
            noise_parameters,
        )
        if noise_parameters is not None:
            check_rounds(
                noise_parameters,
                len(sums.coordinates),
                [share > 0 for share in matrix],
                laplace=laplace,
                counted=not found.public_n,
                cut=found.counted,
            )
        return found

    def _of_family(self, model: Model, schema: Schema) -> tuple[ScoreSums | ClippedScores, NextPoint]:
        """The sums at 0 with their sensitivity, and where the next round is taken."""
        if isinstance(model, LikelihoodModel):
            return model.clipped_scores(schema), partial(model.next_point, schema)
        if not isinstance(model, ScoreModel):
            raise expected(
                "kind", self.kind, f"of [mechanism] to be one that family {model.family} has: scores need a regression"
            )
        if not model.score_sums(schema).region.constant:
            raise expected(
                "kind", self.kind, "of [mechanism] to meet a formula with an intercept: leave out - 1 or + 0"
            )
        return model.score_sums(schema), partial(next_point, link=model.score_link(schema))

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
