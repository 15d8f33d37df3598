"""What rounds of scores may cost together, and which rounds a release of a plan can have had."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tacit.errors import expected
from tacit.models.score_noise import ScoreNoise
from tacit.noise.calibration import mu_squared_of
from tacit.noise.discrete_laplace import DiscreteLaplace
from tacit.noise.rounded_gaussian import RoundedGaussian
from tacit.privacy.events import GaussianEvent
from tacit.privacy.guarantees import Guarantee, PureDP

_STEP = Fraction(1, 10**12)


def check_rounds(
    noise_parameters: ScoreNoise,
    coefficients: int,
    matrix: Sequence[bool],
    *,
    laplace: bool,
    counted: bool,
    cut: bool = False,
) -> None:
    """Refuse rounds that no release of a plan can have had.

    ``counted``: the first has the number of rows; ``cut``: all have the number of rows whose score was cut.
    """
    rounds = noise_parameters.rounds
    if noise_parameters.noise != (DiscreteLaplace.kind if laplace else RoundedGaussian.kind):
        raise expected("law", noise_parameters.noise, "of the rounds to be the one that the plan's budget gets")
    if [one.matrix for one in rounds] != list(matrix):
        raise expected("rounds", len(rounds), "to have scores and matrices where the plan has them")
    if any(one.counted != cut for one in rounds):
        raise expected("scales", list(rounds[0].scales), "to be as many as the plan's rounds have")
    if [one.rows is not None for one in rounds] != [counted and place == 0 for place in range(len(rounds))]:
        raise expected("rounds", len(rounds), "to have the number of rows where the plan has it")
    if any(len(one.point) != coefficients for one in rounds):
        raise expected("point", len(rounds[0].point), f"of every round to have {coefficients} coefficients")
    if any(rounds[0].point):
        raise expected("point", list(rounds[0].point), "of the first round to be 0")


def whole_price(budget: Guarantee, kind: str) -> Fraction:
    """All that rounds may cost together: epsilon, or the largest mu^2 (to 1e-12) whose event meets the budget.

    Proof: the event of the number that is returned is asked whether it satisfies ``budget``. []
    """
    if isinstance(budget, PureDP):
        return Fraction(budget.epsilon)
    ideal, shrink = mu_squared_of(budget, kind), Fraction(0)
    while not GaussianEvent(ideal * (1 - shrink), Fraction(0)).satisfies(budget):
        shrink = 2 * shrink or _STEP
        if shrink >= 1:
            raise expected("budget", budget, "to be one that this noise can meet")
    return ideal * (1 - shrink)
