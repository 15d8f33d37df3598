"""Private gradient descent on a loss of rows, as something that one draw is made from: DP-SGD (Abadi et al. 2016).

theta starts at the prior's centre (networks: at small random weights) and takes ``steps`` steps

    theta <- theta - learning_rate / n * (1 / rate * noisy sum of clipped gradients + gradient of the prior's potential)

Its last point is released. It sees the rows by noisy sums alone, so that its privacy is that of the sums, wherever it
ends. A point is a point: it says nothing of its own uncertainty.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tacit.errors import expected
from tacit.mechanisms.dp_sgd.descent_settings import CLIP, DescentSettings, default_rate
from tacit.mechanisms.iterative.noisy_loss import START, NoisyLoss
from tacit.mechanisms.iterative.private_sums import Answer, PriorTerms, PrivateSums
from tacit.mechanisms.iterative.row_bounds import RowBounds, row_bounds
from tacit.mechanisms.posterior_sample.beta_divergence import BetaLoss, beta_divergence
from tacit.mechanisms.posterior_sample.loss import Numbers, positive
from tacit.models.model import Model
from tacit.noise.entropy import Entropy
from tacit.noise.noisy_steps import NoisySteps, calibrated_steps, chance_below
from tacit.privacy.events import Event
from tacit.privacy.guarantees import Guarantee
from tacit.schema import Schema


@dataclass(frozen=True)
class LogScore(BetaLoss):
    """l = -ln f(y | x, theta), the log-likelihood's loss, for the densities that the beta-divergence is made for."""

    def record_losses(self, theta: Any, x: Any, y: Any, numbers: Numbers) -> Any:
        """-ln f of every row."""
        return -self.density.log_density(theta, x, y)


@dataclass(frozen=True)
class DescentLoss(NoisyLoss):
    """``descent`` is how the loss is gone down."""

    descent: DescentSettings

    @property
    def sampler(self) -> str:
        """Steps down."""
        return "dp-sgd"

    def clip(self) -> float:
        """The longest gradient of a row that is let through: as said, or 1 (log-likelihood), or the proved bound."""
        beta = self.descent.beta
        if beta is None:
            return CLIP if self.descent.clip is None else float(self.descent.clip)
        return row_bounds(self.inner, beta, self.descent.clip).slope

    def calibrate(self, budget: Guarantee) -> dict[str, float]:
        """The least noise for the budget, and the learning rate that goes with it unless it was said.

        ``scale`` is the noise in whole units, of which a row's longest vector has `NoisySteps.radius`.
        """
        descent, clip = self.descent, self.clip()
        steps = calibrated_steps(budget, chance_below(descent.rate), descent.count)
        noise = float(steps.multiplier) * clip / descent.expected_batch
        rate = descent.learning_rate
        numbers = {
            "clip": clip,
            "learning_rate": default_rate(clip, noise, len(self.parameters), descent.count) if rate is None else rate,
            "rate": descent.rate,
            "scale": float(steps.scale),
            "steps": float(descent.count),
        }
        return numbers if descent.beta is None else {**numbers, "beta": descent.beta}

    def steps(self, numbers: Numbers) -> NoisySteps:
        """The law of the noisy sums; refuses numbers that make no sense."""
        said = {"rate": self.descent.rate, "steps": float(self.descent.count), "clip": self.clip()}
        if self.descent.beta is not None:
            said["beta"] = self.descent.beta
        for name, value in said.items():
            if numbers.get(name) != value:
                raise expected(name, numbers.get(name), f"to be the plan's, {value:g}")
        scale, rate = numbers.get("scale", 0.0), numbers.get("learning_rate", 0.0)
        if not (math.isfinite(scale) and 1 <= scale < 2**60 and scale == int(scale)):
            raise expected("scale", scale, "to be a whole number, at least 1")
        positive("learning_rate", rate)
        return NoisySteps(int(scale), chance_below(self.descent.rate), self.descent.count)

    def event(self, numbers: Numbers) -> Event:
        """That of all noisy sums.

        Proof: `PrivateSums` gives one answer a step, a step of `NoisySteps` whose point follows from earlier answers
        and public coins: a row's gradient is clipped to ``clip``, which stands for the radius of its whole vector. The
        points are functions of the answers and such coins, so all of them together cost what the answers cost, by
        adaptive composition (`SubsampledGaussian`), and the last is one of them. n is public under replace-one. []
        """
        return self.steps(numbers).event()

    def assumes(self, numbers: Numbers) -> tuple[str, ...]:
        """Nothing about where it ends; time is not protected."""
        return ("nobody sees how long the descent took",)

    def draw(self, numbers: Numbers, collected: Any, n: int, entropy: Entropy) -> Sequence[Sequence[float] | None]:
        """The last point."""
        return [self.inner.released(self.states(numbers, collected, n, entropy)[-1])]

    def states(
        self, numbers: Numbers, collected: Any, n: int, entropy: Entropy, record: list[Answer] | None = None
    ) -> list[Any]:
        """All points; ``record`` is filled with the noisy sums that they were made from."""
        evidence = self.evidence(numbers, collected, entropy, record)
        prior = PriorTerms(evidence.loss)
        theta, length = self._start(entropy), float(numbers["learning_rate"]) / n
        points: list[Any] = []
        for _ in range(self.descent.count):
            theta = theta - length * (evidence.gradient(theta) + prior.gradient(theta))
            points.append(theta)
        return points

    def evidence(
        self, numbers: Numbers, collected: Any, entropy: Entropy, record: list[Answer] | None = None
    ) -> PrivateSums:
        """The rows behind their noise."""
        x, y = collected.arrays()
        beta = numbers.get("beta")
        loss = self.inner if beta is None else replace(self.inner, power=float(beta))
        bounds = RowBounds(math.inf, float(numbers["clip"]), proved=False)
        return PrivateSums(loss, 1.0, bounds, self.steps(numbers), x, y, entropy, record)

    def _start(self, entropy: Entropy) -> Any:
        """The prior's centre; a network's units start apart, or they would stay the same for ever."""
        import numpy as np

        density = self.inner.density
        theta = np.array(density.wide[0], np.float64)
        if density.rugged:
            from tacit.private_samplers.entropy_arrays import normals

            size = len(density.coefficients)
            theta[:size] += START * density.sd * normals((size,), entropy)
        return theta


def descent_loss(model: Model, schema: Schema, descent: DescentSettings) -> DescentLoss:
    """The descent of a plan, refused where it does not fit."""
    _ = descent.rate, descent.count
    inner = beta_divergence(model, schema, descent.loss_settings())
    if descent.beta is None:
        inner = LogScore(inner.rows, inner.sampling, inner.density)
    else:
        inner.density.checked_beta(descent.beta)
    found = DescentLoss(inner, descent)
    _ = found.clip()
    return found
