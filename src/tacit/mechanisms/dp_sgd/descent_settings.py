"""What a plan says about a private gradient descent, and the numbers that it leaves open. Everything here is public."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tacit.errors import did_you_mean, expected
from tacit.mechanisms.posterior_sample.loss import Settings, positive
from tacit.privacy.beta_divergence import check_beta

KEYS = ("beta", "density", "sigma_min")
LOSSES = ("log-likelihood", "beta-divergence")
BETA, EPOCHS, RATE, CLIP = 1.5, 30, 16, 1.0
"""Where a plan does not say: the power, how often a row is used in the mean, n / batch, the longest gradient."""


@dataclass(frozen=True)
class DescentSettings:
    """A ``[mechanism]`` table of kind dp-sgd.

    ``n`` declares the number of rows. ``batch`` is how many rows a step takes in the mean, a sixteenth of them unless
    said: each row is taken with probability batch / n. ``epochs`` is how often each row is used in the mean, 30 unless
    said; ``steps`` says the number of steps itself, epochs * n / batch unless said. ``loss`` is the log-likelihood,
    whose gradients are clipped, or the beta-divergence, whose gradients have a proved bound where the model is a
    regression. ``clip`` is the length to which longer gradients are shortened: 1 for the log-likelihood, the proved
    bound for the beta-divergence. ``learning_rate`` is in mapped units, `default_rate` unless said. ``prior`` and
    ``grid`` are as in posterior-sample: the prior is what the descent is regularised by. ``options`` are beta, density
    and sigma_min, as for loss beta-divergence there.
    """

    n: int | None = None
    batch: int | None = None
    epochs: float | None = None
    steps: int | None = None
    loss: str = "log-likelihood"
    clip: float | None = None
    learning_rate: float | None = None
    prior: Mapping[str, Any] = field(default_factory=dict[str, Any])
    grid: int = 2**20
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        for name, most in (("n", 2**40), ("batch", 2**40), ("steps", 10**6)):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most):
                raise expected(name, value, f"to be a whole number from 1 to {most}")
        for name in ("epochs", "clip", "learning_rate"):
            value = getattr(self, name)
            if value is not None:
                positive(name, value)
        if self.loss not in LOSSES:
            raise expected("loss", self.loss, f"to be one of {', '.join(LOSSES)}{did_you_mean(self.loss, LOSSES)}")
        if self.steps is not None and self.epochs is not None:
            raise expected("epochs", self.epochs, "to be left out where steps is said")
        for name in self.options:
            if name not in KEYS:
                raise expected("mechanism key", name, f"to be one of {', '.join(KEYS)}{did_you_mean(name, KEYS)}")
        if "beta" in self.options:
            if self.loss != "beta-divergence":
                raise expected(
                    "beta", self.options["beta"], "to be left out for loss log-likelihood, which has no power"
                )
            check_beta(self.options["beta"])
        whole = Settings(prior=self.prior, grid=self.grid, options=self.options)
        object.__setattr__(self, "prior", whole.prior)
        object.__setattr__(self, "options", whole.options)

    @property
    def rows(self) -> int:
        """n, which must be declared."""
        if self.n is None:
            raise expected("n", None, "to be declared for dp-sgd: its rate and its number of steps need it")
        return self.n

    @property
    def expected_batch(self) -> int:
        """How many rows a step takes in the mean."""
        if self.batch is None:
            return max(1, self.rows // RATE)
        if self.batch > self.rows:
            raise expected("batch", self.batch, f"to be at most the number of rows, {self.rows}")
        return self.batch

    @property
    def rate(self) -> float:
        """batch / n."""
        return self.expected_batch / self.rows

    @property
    def count(self) -> int:
        """The number of steps."""
        if self.steps is not None:
            return self.steps
        epochs = EPOCHS if self.epochs is None else self.epochs
        found = math.ceil(epochs * self.rows / self.expected_batch)
        if found > 10**6:
            raise expected(
                "epochs", epochs, f"to take at most 1000000 steps; with batch = {self.expected_batch} it takes {found}"
            )
        return found

    @property
    def beta(self) -> float | None:
        """The power, where the loss has one."""
        return float(self.options.get("beta", BETA)) if self.loss == "beta-divergence" else None

    def loss_settings(self) -> Settings:
        """Those of the loss that is descended on."""
        return Settings(loss="beta-divergence", prior=self.prior, n=self.n, grid=self.grid, options=self.options)


def default_rate(clip: float, noise: float, size: int, steps: int) -> float:
    """A learning rate that looks at no data: min(1 / (4 clip), 2 / (noise sqrt(size steps))).

    A step moves by at most learning_rate * clip, never by more than 1/4 in mapped units. All steps together move by
    learning_rate * noise * sqrt(size steps) from noise alone, where ``noise`` is the standard deviation of an entry of
    the mean gradient: at most 2, about the length of a few coefficients of size 1. The two numbers, 30 epochs and a
    batch of n / 16 are a compromise between what did well on simulated rows (docs: private networks) for a network with
    10 units and for a logistic regression, n = 500 and 8,000, epsilon = 1; they are not the best for either.
    """
    return min(0.25 / clip, 2 / (noise * math.sqrt(size * steps)))
