"""Losses of one row at a time: what a regression's posterior draw is drawn from.

The density over theta, a vector of ``size`` numbers, is proportional to exp(-U(theta)),

    U(theta) = weight * sum_i l(theta, x_i, y_i) + V(theta),      V(theta) = precision / 2 * |theta|^2 unless said

with x_i, y_i the mapped and clamped rows (`Rows`). Replace-one changes U by weight * (l(theta, a) - l(theta, b)) for
two records a and b. A subclass proves one of two things about that difference:

`difference_range`           for every a and b its range over theta, sup - inf, is at most this number. Then a draw has
                             bounded range weight * that (Durfee and Rogers 2019), which needs no convexity and no
                             prior;
`difference_lipschitz_squared`   for every a and b it is Lipschitz in theta with at most the root of this number, and l
is
                             convex and V precision-strongly convex. Then a draw is GDP with
                             mu = weight * lipschitz / sqrt(precision) (Gopi, Lee, Liu 2022, Theorem 4).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from tacit.errors import expected
from tacit.mechanisms.posterior_sample.loss import SAMPLERS, DrawSettings, Loss, LossParameters, positive
from tacit.mechanisms.posterior_sample.rows import CollectedRows, RowMap
from tacit.noise.entropy import Entropy
from tacit.privacy.approximate_event import ApproximateEvent, AssumedEvent
from tacit.privacy.basis import Basis
from tacit.privacy.events import BoundedRangeEvent, Event, GaussianEvent, Price
from tacit.privacy.guarantees import Guarantee
from tacit.privacy.repeated_event import RepeatedEvent

IDEAL = "exact draw, ideal arithmetic"
_MOST_STEPS = 5 * 10**7
_MOST_CHANGE = 60.0  # of the logarithm of a weight or a precision: beyond it a draw says nothing


@dataclass(frozen=True)
class RowLoss(Loss):
    """A loss that is a sum over rows; ``rows`` says how cells become x and y."""

    rows: RowMap
    sampling: DrawSettings

    # What a subclass says of itself.

    @property
    @abstractmethod
    def parameters(self) -> tuple[str, ...]:
        """The name of each number of theta."""

    @abstractmethod
    def record_losses(self, theta: Any, x: Any, y: Any, numbers: LossParameters) -> Any:
        """l(theta, x_i, y_i) for every row: ``theta`` (size,), ``x`` (n, columns), ``y`` (n,) -> (n,). Pure JAX."""

    def difference_range(self, numbers: LossParameters) -> Price:
        """sup over pairs of records of the range over theta of l(theta, a) - l(theta, b), with a proof; inf if none."""
        return math.inf

    def difference_lipschitz_squared(self, numbers: LossParameters) -> Price:
        """The squared Lipschitz constant in theta of l(theta, a) - l(theta, b), with a proof; inf if there is none."""
        return math.inf

    @property
    def convex(self) -> bool:
        """Whether l is convex in theta for every record."""
        return False

    def curvature(self, numbers: LossParameters) -> float:
        """The largest eigenvalue of the Hessian of l over all records and theta; inf where nothing is known."""
        return math.inf

    @property
    def third_to_second(self) -> float | None:
        """A c with |l'''[u, v, v]| <= c |u| l''[v, v] for every record and theta; None where none is known.

        It makes rejection fast (`private_samplers.rejection`) and is otherwise not needed.
        """
        return None

    def minorant(self, theta: Any, x: Any, metric: Any, numbers: LossParameters) -> Callable[[float], Any] | None:
        """For rejection with many coefficients (`private_samplers.shell_envelope`): of R a matrix A such that U is at
        least its tangent at ``theta`` plus delta'A delta / 2 wherever delta'``metric`` delta <= R^2. None: not known.
        """
        return None

    @property
    def most_rejected(self) -> int:
        """Up to how many coefficients of a part rejection is the default: envelopes fit worse with each."""
        return 8

    @property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """The numbers of theta in parts, each with columns of its own (`columns_of`), that no row has a say in two of:
        given the rows they are independent, and `rejection` draws one after the other.

        Proof: where a row's loss depends on theta through the part of its columns that are other than 0, and V is a sum
        over parts, exp(-U) is a product of functions of one part each (`RowMap.parts`). []
        """
        return (tuple(range(len(self.parameters))),)

    def columns_of(self, part: tuple[int, ...]) -> list[int]:
        """The columns of x that a part stands for."""
        return list(part)

    def of_part(self, part: tuple[int, ...]) -> RowLoss:
        """The loss of one part, of the rows' columns of this part."""
        return self

    @property
    def start(self) -> Sequence[float] | None:
        """Where the search for the mode starts; left out, at 0."""
        return None

    def hessian(self, theta: Any, x: Any, y: Any, numbers: LossParameters) -> Any:
        """The Hessian of `potential`. Pure JAX; override it where a closed form is faster."""
        import jax

        return jax.hessian(lambda t: self.potential(t, x, y, numbers))(theta)

    def prior_precision(self) -> float:
        """The precision of the prior before any concentration, from ``settings.prior``: ``sd`` of each coefficient."""
        known = {"sd": 2.5}
        for name in self.settings.prior:
            if name not in known:
                raise expected("prior", name, "to be sd, that of every coefficient in mapped units")
        sd = positive("prior sd", self.settings.prior.get("sd", known["sd"]))
        if not 1e-6 <= sd <= 1e6:
            raise expected("prior sd", sd, "to be a number from 1e-06 to 1e+06")
        return sd**-2

    def prior_potential(self, theta: Any, numbers: LossParameters) -> Any:
        """V(theta). Pure JAX. If it is not precision-strongly convex, `difference_lipschitz_squared` must be inf."""
        return numbers["precision"] / 2 * (theta @ theta)

    def theta_of(self, released: Any) -> Any:
        """The points (count, size) at which the density is, of draws as they are released: the same unless said."""
        return released

    # What follows.

    @property
    def settings(self) -> DrawSettings:
        """Those it was built with."""
        return self.sampling

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of x and y."""
        return self.rows.columns

    @property
    def bounds(self) -> tuple[float, float]:
        """Coefficients may be anything."""
        return -math.inf, math.inf

    def calibrate(self, budget: Guarantee) -> dict[str, float]:
        """The largest ``weight`` up to 1 (diffused), or the least ``precision`` of the prior (concentrated).

        By bisection; the end that is returned was priced and met the budget, so nothing rests on monotony.
        """
        found = dict(_calibrated(self, budget))
        if self.sampler == "langevin":
            self._check_length(found)
        return found

    def potential(self, theta: Any, x: Any, y: Any, numbers: LossParameters) -> Any:
        """U(theta)."""
        import jax.numpy as jnp

        losses = self.record_losses(theta, x, y, numbers)
        return numbers["weight"] * jnp.sum(losses) + self.prior_potential(theta, numbers)

    def exact_event(self, numbers: LossParameters) -> Event:
        """What ``settings.draws`` exact draws cost: by range, or by Lipschitz constant and convexity.

        Proof: let e = weight * `difference_range`. The log ratio of the two densities is weight * (l(theta, b) -
        l(theta, a)) plus a constant, so for each pair it lies in an interval of length e: a `BoundedRangeEvent`. k
        independent draws are k such events with coins of their own (`RepeatedEvent`). For the Lipschitz constant: both
        potentials are precision-strongly convex and differ by a function with Lipschitz constant weight * lipschitz, so
        one draw's trade-off curve lies above that of N(0, 1) against N(mu, 1) with mu = weight * lipschitz /
        sqrt(precision) (Gopi, Lee, Liu 2022, Theorem 4). k independent draws are one draw in k times as many
        dimensions, with lipschitz sqrt(k) * lipschitz: mu^2 grows k-fold. []
        """
        draws, weight = self.settings.draws, Fraction(positive("weight", numbers.get("weight")))
        width = self.difference_range(numbers)
        if width < math.inf:
            one = BoundedRangeEvent(weight * Fraction(width))
            return one if draws == 1 else RepeatedEvent(one, draws)
        lipschitz_squared = self.difference_lipschitz_squared(numbers)
        if not (lipschitz_squared < math.inf and self.convex):
            raise expected("loss", self.settings.loss, "to have a difference that is bounded, or Lipschitz and convex")
        precision = Fraction(positive("precision", numbers.get("precision")))
        return GaussianEvent(draws * weight**2 * Fraction(lipschitz_squared) / precision, 0)

    def event(self, numbers: LossParameters) -> Event:
        """`exact_event`, or what is left of it when the sampler's distribution is only near the density.

        Proof: that of `exact_event`; rounding to the grid is post-processing, also where it moves a draw past the end
        of its support. With draws at most gamma off in total variation each, failures included, all of them together
        are at most draws * gamma off (a union bound over independent chains): `ApproximateEvent` where gamma is
        proved, `AssumedEvent` where it was declared for a chain that nobody bounds. []
        """
        return self.nearly(self.exact_event(numbers))

    def nearly(self, exact: Event) -> Event:
        """What draws cost that are gamma off those of ``exact``."""
        gamma = self.gamma()
        if gamma == 0:
            return exact
        kind = ApproximateEvent if self.basis is Basis.PROVED or self.settings.earlier else AssumedEvent
        return kind(exact, self.settings.draws * Fraction(gamma))

    def _check_length(self, numbers: LossParameters) -> None:
        """Refuse a Langevin chain that nobody would wait for; how long it is must be known before rows are read."""
        from tacit.private_samplers.langevin import schedule

        if self.settings.n is None:
            raise expected("n", None, "to be declared for sampler langevin: the length of its chain depends on it")
        strong = float(numbers["precision"])
        smooth = strong + float(numbers["weight"]) * self.settings.n * self.curvature(numbers)
        _, steps = schedule(len(self.parameters), strong, smooth, self.gamma())
        if steps > _MOST_STEPS:
            raise expected(
                "sampler",
                "langevin",
                f"to take at most {_MOST_STEPS:g} steps; gamma = {self.gamma():g} needs {steps:.2g}",
            )

    def gamma(self) -> float:
        """How far a draw's distribution may be from the density in total variation: proved, or declared."""
        if self.basis is Basis.ASSUMED:
            if not self.settings.gamma and not self.settings.earlier:
                raise expected(
                    "gamma",
                    self.settings.gamma,
                    f"to be above 0 for sampler {self.sampler}: how far its draws may be from the posterior in total "
                    "variation, which nobody bounds and delta has to hold",
                )
            return float(self.settings.gamma or 0)
        if self.sampler == "langevin":
            if not self.settings.gamma:
                raise expected(
                    "gamma", self.settings.gamma, "to be above 0 for sampler langevin, which reaches any but 0"
                )
            return float(self.settings.gamma)
        if self.settings.gamma:
            raise expected("gamma", self.settings.gamma, f"to be left out for sampler {self.sampler}, which is exact")
        return 0.0

    @property
    def sampler(self) -> str:
        """The sampler that is asked for; left out, ``rejection`` where it is fast, else ``mcmc``, which is refused
        unless the plan says ``assume``.
        """
        wanted = self.settings.sampler
        if wanted in ("rejection", "langevin") and not (self.convex and self.curvature_known):
            raise expected("sampler", wanted, f"to be mcmc for loss {self.settings.loss}: it is not convex and smooth")
        if wanted == "exact":
            raise expected("sampler", wanted, "to be rejection, langevin or mcmc for a regression")
        if wanted is not None:
            return wanted
        if self.settings.earlier:  # it was drawn by a chain, whatever would be drawn by rejection now
            return "mcmc"
        size = len(self.parameters)
        if self.settings.assume is None:  # a plan that says it means a chain
            size = max(map(len, self.parts))
        able = self.convex and self.curvature_known and size <= self.most_rejected
        return "rejection" if able else "mcmc"

    @property
    def curvature_known(self) -> bool:
        """Whether `curvature` says something, whatever the numbers."""
        return False

    @property
    def basis(self) -> Basis:
        """That of the sampler.

        Proof: rejection is exact and tries until a proposal is accepted, so that it never fails
        (`private_samplers.rejection`); Langevin steps of the length in `private_samplers.langevin` are within
        gamma, and a sum of finite gradients and normal numbers is finite. Of other chains nothing is proved. []
        """
        return SAMPLERS[self.sampler]

    def assumes(self, numbers: LossParameters) -> tuple[str, ...]:
        """Ideal arithmetic; for ``mcmc`` what nobody proved."""
        new_chain = self.basis is Basis.ASSUMED and not self.settings.earlier
        found, gamma = ["ideal arithmetic" if new_chain else IDEAL], self.gamma()
        if self.basis is Basis.ASSUMED and gamma == 0:  # an earlier release
            found.append("the Markov chain has reached the posterior: nothing proves how near its draws come")
        elif self.basis is Basis.ASSUMED:
            unproved = "" if self.settings.earlier else ", which nothing proves"
            found.append(
                f"the Markov chain's law is within gamma = {gamma:g} of the posterior in total variation, "
                f"failures included{unproved}"
            )
        elif self.sampler == "langevin":
            found.append(f"gamma = {gamma:g} is proved for the chain's length and is part of delta")
        if self.settings.private == "response":
            found.append("the covariates are public, and neighbours differ in the response of one row alone")
        found.append("nobody sees how long the draw took")
        return tuple(found)

    def accumulator(self) -> CollectedRows:
        """Rows of no batch."""
        return CollectedRows(self.rows)

    def draw(
        self, numbers: LossParameters, collected: Any, n: int, entropy: Entropy
    ) -> Sequence[Sequence[float] | None]:
        """By the sampler of the settings; by rejection part by part."""
        from tacit.private_samplers.row_draws import draw_from_rows

        x, y = collected.arrays()
        if self.sampler != "rejection" or len(self.parts) == 1:
            return draw_from_rows(self, numbers, x, y, entropy)
        found: list[list[float]] = [[0.0] * len(self.parameters) for _ in range(self.settings.draws)]
        for part in self.parts:
            for draw, own in zip(
                found, draw_from_rows(self.of_part(part), numbers, x[:, self.columns_of(part)], y, entropy), strict=True
            ):
                for place, value in zip(part, own or [math.nan] * len(part), strict=True):
                    draw[place] = value
        return [draw if all(map(math.isfinite, draw)) else None for draw in found]

    def about_draws(self, numbers: LossParameters) -> str:
        """How draws by rejection are made and what that costs, for whoever approves a plan; else nothing."""
        if self.sampler != "rejection":
            return ""
        parts = f"the {len(self.parts)} parts that no row shares are drawn apart, " if len(self.parts) > 1 else ""
        return (
            f"Draws are exact: {parts}by rejection under the tightest of three certified envelopes. That takes nothing "
            "of the budget, only time: how long depends on the rows."
        )


@lru_cache(maxsize=512)
def _calibrated(loss: RowLoss, budget: Guarantee) -> tuple[tuple[str, float], ...]:
    tempering, precision = loss.settings.tempering, loss.prior_precision()

    def numbers(log_change: float) -> dict[str, float]:
        """The weight falls, or the precision grows, by this logarithm."""
        if tempering == "concentrated":
            return {"weight": 1.0, "precision": precision * math.exp(log_change)}
        return {"weight": math.exp(-log_change), "precision": precision}

    def meets(log_change: float) -> bool:
        return loss.event(numbers(log_change)).satisfies(budget)

    if meets(0.0):
        return tuple(numbers(0.0).items())
    if tempering == "direct":
        raise expected("tempering", tempering, f"to meet {budget.symbols}: untempered draws cost more; diffused would")
    low, high = 0.0, _MOST_CHANGE
    if not meets(high):
        why = "" if loss.gamma() == 0 else f": delta has to hold (1 + e^epsilon) gamma, and gamma = {loss.gamma():g}"
        raise expected("budget", budget.symbols, f"to be met by draws with loss {loss.settings.loss}{why}")
    while high - low > 1e-12 * max(1.0, high):
        middle = (low + high) / 2
        low, high = (low, middle) if meets(middle) else (middle, high)
    return tuple(numbers(high).items())
