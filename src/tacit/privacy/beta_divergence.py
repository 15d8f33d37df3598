"""The beta-divergence loss: how far one record can move it, and which beta or weight a budget allows (jewson2023).

For a model f, with b = beta - 1 > 0, the loss of a record (x, y) is (Basu et al. 1998; jewson2023, equation 4)

    l(theta; x, y) = -f(y | x, theta)^b / b + I(x, theta) / beta,        I = the sum or integral over y of f^beta

and the release is a draw from the density proportional to prior(theta) exp(-weight * sum of l over the records).

Price. Let R(x, y) = sup over theta of l - inf over theta of l, and R >= R(x, y) for all records. Then the log ratio of
the distributions of a draw on two data sets that differ in one record (replace-one) lies in an interval of length

    epsilon = 2 weight R

Proof: the prior and the terms of the other records cancel. What is left is weight (l(theta; x', y') - l(theta; x, y))
and a constant in theta, the log ratio of the normalising integrals. The first is a difference of two functions of theta
whose ranges are at most weight R each, so its range is at most 2 weight R; the constant moves the interval and does not
lengthen it. So the draw has bounded range epsilon, and with it epsilon-DP (`bounded_range`). Nothing was asked of x. []

A `LossRange` is R as a function of beta for one kind of model, with its proof.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from tacit.errors import InputError, expected

_ROUNDING = (
    1e-12  # relative; more than the few float operations behind a range can be wrong by, or what `LossRange` says
)
_UNIT = 2.0**-51  # four roundings
_LEAST, _MOST = 1e-300, 1e300  # of a range as a float: a smaller one is raised, a larger one infinite
_LARGEST = 1e6  # of beta - 1: far beyond, a loss says nothing


@dataclass(frozen=True)
class LossRange(ABC):
    """R(beta), an upper bound on sup - inf over theta of the loss of any one record."""

    @abstractmethod
    def _at(self, beta: float) -> float:
        """R(beta), up to rounding."""

    def _roundings(self, b: float) -> float:
        """How many roundings of a float, times four, `_at` may be off by; b = beta - 1."""
        return 8.0

    @property
    def turning(self) -> float:
        """The beta - 1 up to which R falls."""
        return math.inf

    def at(self, beta: float) -> float:
        """R(beta), rounded up; inf where it is too large for a float.

        Proof: with u = 2^-53, beta - 1 as a float is off by u of itself at most, so M^(beta - 1) by u b |ln M|; a peak
        M that is off by m u makes it off by m b u; each further operation adds u, a power one more. That is
        `_roundings`, four times over, and at least 1e-12 is added. []
        """
        b = check_beta(beta) - 1
        try:
            value = self._at(beta)
        except OverflowError:
            return math.inf
        if not value < _MOST:
            return math.inf
        return max(value, _LEAST) * (1 + max(_ROUNDING, _UNIT * self._roundings(b)))

    def ends(self, beta: float) -> tuple[float, float] | None:
        """Numbers between which the loss of every record lies, whatever theta is; None where none are known."""
        return None

    def cure(self, epsilon: float, weight: float) -> str:
        """What would have to be declared for ``epsilon`` to be within reach at this weight."""
        return ""


@dataclass(frozen=True)
class Probabilities(LossRange):
    """R = 1/b for probabilities of any kind: Bernoulli, softmax with any number of classes, counts.

    Proof: let f be the probability of the observed value. I >= f^beta, so l >= -f^b / b + f^beta / beta, whose
    derivative in f is f^(b-1) (f - 1) <= 0; so l >= -1/b + 1/beta at f = 1. And f >= 0 and I <= sum f = 1, so
    l <= 1/beta. The difference of the two is 1/b. Bernoulli and softmax reach both in the limit of large |theta|. []
    """

    def _at(self, beta: float) -> float:
        return 1 / (beta - 1)

    def ends(self, beta: float) -> tuple[float, float]:
        """-1/b + 1/beta and 1/beta, by the proof above."""
        return -1 / (beta - 1) + 1 / beta, 1 / beta


@dataclass(frozen=True)
class SmoothedProbabilities(LossRange):
    """R = (most^b - least^b) / b for probabilities of K classes kept at ``least`` or more; most = 1 - (K - 1) least.

    Proof: hold p = f(y). Given p, I is convex in the other probabilities: least where they are equal, largest where one
    of them holds all that the others, at ``least``, leave. In either case the derivative of l in p is at most
    -p^(b-1) + p^b - c^b < 0 for some c >= 0. So l is least at p = most and largest at p = least. There one class has
    ``most`` and the others ``least`` in both cases, so I is the same, and the powers of f are left. []
    """

    least: float
    classes: int

    def __post_init__(self) -> None:
        if self.classes < 2 or not 0 < self.least < 1 / self.classes:
            raise expected("least", self.least, "to lie between 0 and one over the number of classes, two at least")

    def _at(self, beta: float) -> float:
        b, most = beta - 1, 1 - (self.classes - 1) * self.least
        # most^b (1 - (least / most)^b), without the cancellation of two powers near 1
        return most**b * -math.expm1(b * math.log(self.least / most)) / b

    def _roundings(self, b: float) -> float:
        """Those of ``most``, and of a logarithm near 0 where all classes are nearly equal."""
        most = 1 - (self.classes - 1) * self.least
        return 8 + 4 * b * (self.classes + 1) + 8 * self.classes / abs(math.log(self.least / most))


@dataclass(frozen=True)
class LocationScale(LossRange):
    """R = M^b / b for densities g((y - m) / s) / s of one fixed shape: ``peak`` M = sup g / (smallest s).

    The location m may be any function of x and theta, and so may the scale s >= its bound (heteroscedastic models).

    Proof: f^b = (s_min / s)^b M^b h and I = (s_min / s)^b M^b J, where h in [0, 1] is (g / sup g)^b at the residual and
    J = the integral of (g / sup g)^b g, the same for all m and s. So l = a M^b (J / beta - h / b) with a in (0, 1].
    J <= 1 < beta / b, so at h = 1 the bracket is negative and at h = 0 positive: l lies between
    M^b (J / beta - 1/b) and M^b J / beta, whose difference is M^b / b. Both are approached as m varies at s = s_min. []
    """

    peak: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.peak) and self.peak > 0):
            raise expected("peak", self.peak, "to be a finite number above 0")

    def _at(self, beta: float) -> float:
        return self.peak ** (beta - 1) / (beta - 1)

    def _roundings(self, b: float) -> float:
        return 8 + b * abs(math.log(self.peak))

    def ends(self, beta: float) -> tuple[float, float]:
        """-M^b / b and M^b / beta: the proof above with J between 0 and 1."""
        most = self.peak ** (beta - 1)
        return -most / (beta - 1), most / beta

    @property
    def turning(self) -> float:
        """1 / ln M, where the derivative of b ln M - ln b is 0; never for M <= 1."""
        return 1 / math.log(self.peak) if self.peak > 1 else math.inf


@dataclass(frozen=True)
class Gaussian(LocationScale):
    """Normal densities of ``dimensions`` with det(Sigma) >= scale^(2 dimensions): M = (sqrt(2 pi) scale)^-dimensions.

    ``unit`` is what a scale of 1 is in the words of whoever declared it.

    Proof: that of `LocationScale`, with the volume factor det(Sigma)^(1/2) in place of s. []
    """

    dimensions: int = 1
    unit: float = 1.0

    def _roundings(self, b: float) -> float:
        """M has three operations to a dimension."""
        return 8 + b * (abs(math.log(self.peak)) + 4 * (self.dimensions + 1))

    def ends(self, beta: float) -> tuple[float, float]:
        """M^b (J / beta - 1/b) and M^b J / beta with J = beta^(-dimensions / 2), the integral of (g / sup g)^b g."""
        most, kept = self.peak ** (beta - 1), beta ** (-self.dimensions / 2) / beta
        return most * (kept - 1 / (beta - 1)), most * kept

    def cure(self, epsilon: float, weight: float) -> str:
        """The smallest scale: 2 weight e ln M <= epsilon."""
        least = math.exp(-epsilon / (2 * weight * math.e * self.dimensions)) / math.sqrt(2 * math.pi)
        return f"a smallest standard deviation (sigma_min) of at least {_up(least * self.unit)}, or "


def gaussian(scale: float, dimensions: int = 1, unit: float = 1.0) -> Gaussian:
    """The range of normal models whose standard deviation is at least ``scale``."""
    if not (math.isfinite(scale) and scale > 0):
        raise expected("scale", scale, "to be a finite number above 0")
    return Gaussian((math.sqrt(2 * math.pi) * scale) ** -dimensions, dimensions, unit)


@dataclass(frozen=True)
class AnyDensity(LossRange):
    """R = (1/b + 1/beta) M^b for any density at most ``peak`` = M, whatever its shape and however it depends on x.

    Proof: 0 <= f^b <= M^b, and 0 <= I <= M^b because I is the mean of f^b under f. So -M^b / b <= l <= M^b / beta. []
    Lemma 1 of jewson2023 says M^b / b here; its proof takes I for a constant. A shape that varies with x breaks it
    (Errata J5).
    """

    peak: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.peak) and self.peak > 0):
            raise expected("peak", self.peak, "to be a finite number above 0")

    def _at(self, beta: float) -> float:
        return self.peak ** (beta - 1) * (1 / (beta - 1) + 1 / beta)

    def ends(self, beta: float) -> tuple[float, float]:
        """-M^b / b and M^b / beta, by the proof above."""
        most = self.peak ** (beta - 1)
        return -most / (beta - 1), most / beta

    def _roundings(self, b: float) -> float:
        return 8 + b * abs(math.log(self.peak))

    @property
    def turning(self) -> float:
        """Where the derivative of b ln M + ln(1/b + 1/(1+b)) is 0: (2b^2 + 2b + 1) / (b (1+b) (1+2b)) = ln M."""
        if self.peak <= 1:
            return math.inf
        level = math.log(self.peak)
        low, high = 1e-12, 1.0
        while (2 * high**2 + 2 * high + 1) / (high * (1 + high) * (1 + 2 * high)) > level:
            high *= 2
        for _ in range(200):
            middle = (low + high) / 2
            falls = (2 * middle**2 + 2 * middle + 1) / (middle * (1 + middle) * (1 + 2 * middle)) > level
            low, high = (middle, high) if falls else (low, middle)
        return low


def check_beta(beta: object) -> float:
    """``beta``, above 1."""
    if isinstance(beta, bool) or not isinstance(beta, int | float) or not 1 < beta <= 1 + _LARGEST:
        raise expected("beta", beta, f"to be a number above 1 and at most {1 + _LARGEST:.0f}")
    return float(beta)


def epsilon_of(loss_range: LossRange, beta: float, weight: float) -> float:
    """epsilon = 2 weight R(beta), rounded up."""
    _check_positive("weight", weight)
    return 2 * weight * loss_range.at(beta) * (1 + _ROUNDING)


def weight_for(loss_range: LossRange, beta: float, epsilon: float) -> float:
    """The largest weight with `epsilon_of` at most ``epsilon``, rounded down: epsilon / (2 R(beta))."""
    _check_positive("epsilon", epsilon)
    if (largest := loss_range.at(beta)) == math.inf:
        raise expected("beta", beta, "to be smaller: the loss of a record can move by more than any weight makes good")
    weight = epsilon / (2 * largest) * (1 - 2 * _ROUNDING)
    while epsilon_of(loss_range, beta, weight) > epsilon:
        weight = math.nextafter(weight, 0)
    return weight


def floor_of(loss_range: LossRange, weight: float) -> float:
    """The smallest epsilon that any beta reaches at this weight: 2 weight e ln M for a peak M > 1, else 0 (Errata J2).

    It is a limit as well as a value: beta = 1 + `LossRange.turning` reaches it.
    """
    turning = min(loss_range.turning, _LARGEST)
    return 0.0 if math.isinf(loss_range.turning) else epsilon_of(loss_range, 1 + turning, weight)


def beta_for(loss_range: LossRange, epsilon: float, weight: float = 1.0) -> float:
    """The smallest beta with `epsilon_of` at most ``epsilon`` at this weight, rounded up; refused below the floor.

    For R = M^b / b it is 1 - W0(-2 weight ln M / epsilon) / ln M, with W0 the principal branch of Lambert's function,
    and 1 + 2 weight / epsilon for M = 1. Here it is found by bisection between 1 and the turning point, between which R
    falls, so that every kind of range has it and the end that keeps the promise is the one returned.
    """
    _check_positive("epsilon", epsilon)
    _check_positive("weight", weight)
    most = min(loss_range.turning, _LARGEST)
    low, high = 0.0, min(most, 1.0)
    while epsilon_of(loss_range, 1 + high, weight) > epsilon:
        if high == most:
            raise InputError(_out_of_reach(loss_range, epsilon, weight, 1 + most))
        low, high = high, min(2 * high, most)
    while low < (middle := (low + high) / 2) < high and 1 + middle < 1 + high:
        kept = 1 + middle > 1 and epsilon_of(loss_range, 1 + middle, weight) <= epsilon
        low, high = (low, middle) if kept else (middle, high)
    return 1 + high


def default_beta(epsilon: float) -> float:
    """beta = 1 + 2/epsilon, but from 1.5 to 3: a choice that looks at no data.

    1 + 2/epsilon is the paper's, at weight 1. At a small epsilon it makes a loss so flat that a draw is one from the
    prior; at a large one it leaves efficiency unused that the weight can buy.
    """
    _check_positive("epsilon", epsilon)
    return min(max(1 + 2 / epsilon, 1.5), 3.0)


def _out_of_reach(loss_range: LossRange, epsilon: float, weight: float, best: float) -> str:
    least = epsilon_of(loss_range, best, weight)
    allowed = weight_for(loss_range, best, epsilon)
    return (
        f"Expected epsilon={epsilon:.6g} to be at least {_up(least)}, the least that any beta reaches at "
        f"weight={weight:.6g} here; {epsilon:.6g} needs {loss_range.cure(epsilon, weight)}a weight of at most "
        f"{_down(allowed)}."
    )


def _check_positive(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not (math.isfinite(value) and value > 0):
        raise expected(name, value, "to be a finite number above 0")


def _up(value: float) -> str:
    """Four digits, rounded up."""
    step = 10.0 ** (math.floor(math.log10(value)) - 3)
    return f"{math.ceil(value / step) * step:.4g}"


def _down(value: float) -> str:
    """Four digits, rounded down."""
    step = 10.0 ** (math.floor(math.log10(value)) - 3)
    return f"{math.floor(value / step) * step:.4g}"
