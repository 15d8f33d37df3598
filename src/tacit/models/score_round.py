"""One round of noisy scores: what a release says about it besides its values."""

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True)
class Round:
    """The public facts of one round, in the real units of scores and information.

    The values of a round are the p entries of the score sum_i u_i x_i at `point` and, with `matrix`, the
    p (p + 1) / 2 entries of the upper triangle of the information sum_i w_i x_i x_i', row by row (j <= k).
    """

    #: theta_k in mapped units, exactly as on the public lattice
    point: tuple[float, ...]
    #: whether the information was released beside the score
    matrix: bool
    #: the scale of the noise of each entry of the score: the sd of Gaussian noise, b of Laplace noise
    score_scale: float
    #: the same for the diagonal of the information, 0.0 without a matrix; off the diagonal it is
    #: `matrix_scale` / sqrt 2 for Gaussian noise and the same for Laplace noise
    matrix_scale: float
    #: whether the noise is Laplace noise
    laplace: bool
    #: what each entry of the scores was divided by; None: by 1
    units: tuple[float, ...] | None = None
    #: the standard deviation of the noise of the number of rows that were cut, where that is released
    cut_noise: float = 0.0


@final
@dataclass(frozen=True)
class ScoreLayout:
    """What a plan fixes: how many coefficients there are, which rounds have a matrix, and the distribution of the
    noise.
    """

    coefficients: int
    matrix: tuple[bool, ...]
    laplace: bool
