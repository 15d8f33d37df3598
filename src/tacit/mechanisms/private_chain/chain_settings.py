"""What a plan says about a private chain, and the numbers that it leaves open. Everything here is public."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tacit.errors import did_you_mean, expected
from tacit.mechanisms.posterior_sample.beta_divergence import KEYS
from tacit.mechanisms.posterior_sample.loss import Settings, positive
from tacit.privacy.beta_divergence import check_beta

CHAINS = ("sgld", "penalty", "hmc", "fast-mh", "barker")
BETA, WEIGHT, LEAPS = 1.5, 1.0, 3
"""Where a plan does not say. The price does not depend on beta and weight, so that neither is bent to the budget."""


@dataclass(frozen=True)
class ChainSettings:
    """A ``[mechanism]`` table of kind private-chain.

    ``chain`` is one of `CHAINS`. ``steps`` is how many steps it takes. ``n`` declares the number of rows. ``batch`` is
    how many rows a sum takes in the mean, all of them unless said: each row is taken with probability batch / n.
    ``step_size`` is in mapped units: the h of Langevin steps, the standard deviation of a random walk's proposals, or
    the length of a leap. ``leaps`` is how many leaps a trajectory of ``hmc`` has. ``clip`` cuts longer gradients, for
    models without a proved bound. ``draws`` is how many of the chain's states are released: the last, and back from it
    every ``thin``-th. The price is that of all states, so that more of them cost nothing. ``prior`` and ``grid`` are as
    in posterior-sample, and so are the ``options`` beta, weight, density and sigma_min.
    """

    chain: str = "sgld"
    steps: int = 1000
    n: int | None = None
    batch: int | None = None
    step_size: float | None = None
    leaps: int | None = None
    clip: float | None = None
    draws: int = 1
    thin: int = 1
    prior: Mapping[str, Any] = field(default_factory=dict[str, Any])
    grid: int = 2**20
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        if self.chain not in CHAINS:
            raise expected("chain", self.chain, f"to be one of {', '.join(CHAINS)}{did_you_mean(self.chain, CHAINS)}")
        for name, most in (("steps", 10**6), ("n", 2**40), ("batch", 2**40), ("leaps", 1000), ("thin", 10**6)):
            value = getattr(self, name)
            if value is None and name in ("n", "batch", "leaps"):
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
                raise expected(name, value, f"to be a whole number from 1 to {most}")
        for name in ("step_size", "clip"):
            value = getattr(self, name)
            if value is not None:
                positive(name, value)
        if self.leaps is not None and self.chain != "hmc":
            raise expected("leaps", self.leaps, f"to be left out for chain {self.chain}: hmc alone leaps")
        if self.chain == "penalty" and self.batch is not None:
            raise expected("batch", self.batch, "to be left out for chain penalty: on a sample of rows it is fast-mh")
        if self.chain == "fast-mh" and self.batch is None:
            raise expected("batch", None, "to be said for chain fast-mh: how many rows a step takes in the mean")
        for name in self.options:
            if name not in KEYS:
                raise expected("mechanism key", name, f"to be one of {', '.join(KEYS)}")
        if "beta" in self.options:
            check_beta(self.options["beta"])
        if "weight" in self.options:
            positive("weight", self.options["weight"])
        whole = Settings(draws=self.draws, prior=self.prior, grid=self.grid, options=self.options)
        if (self.draws - 1) * self.thin >= self.steps:
            raise expected("draws", self.draws, f"to be among the {self.steps} steps, with thin = {self.thin}")
        object.__setattr__(self, "prior", whole.prior)
        object.__setattr__(self, "options", whole.options)

    @property
    def beta(self) -> float:
        """The power of the loss."""
        return float(self.options.get("beta", BETA))

    @property
    def weight(self) -> float:
        """The weight of the loss."""
        return float(self.options.get("weight", WEIGHT))

    @property
    def rate(self) -> float:
        """batch / n."""
        if self.n is None:
            raise expected(
                "n", None, "to be declared for a private chain: its rate and the length of its steps need it"
            )
        if self.batch is None:
            return 1.0
        if self.batch > self.n or (self.batch == self.n and self.chain == "fast-mh"):
            raise expected("batch", self.batch, f"to be less than the number of rows, {self.n}")
        return self.batch / self.n

    @property
    def jumps(self) -> int:
        """The leaps of a trajectory."""
        return LEAPS if self.leaps is None else self.leaps

    @property
    def sums(self) -> int:
        """How many noisy sums the chain may ask for: one a step; for hmc one a leap, and one for the test."""
        return self.steps * (self.jumps + 1 if self.chain == "hmc" else 1)

    def loss_settings(self) -> Settings:
        """Those of the loss that the chain runs on."""
        return Settings(
            draws=self.draws,
            loss="beta-divergence",
            prior=self.prior,
            n=self.n,
            grid=self.grid,
            options=self.options,
        )


def default_step_size(chain: ChainSettings, slope: float, multiplier: float, sd: float, size: int) -> float:
    """A length of steps that looks at no data, for ``size`` parameters with a prior of standard deviation ``sd``.

    c = weight n slope^2 + 1 / sd^2 stands for the largest curvature of the potential: the square of a gradient's bound
    is that of a Fisher information. Steps are short beside c, and so short that their noise does not swamp them:

    sgld      min(1 / (4 c), 4 / s^2), s the noise of the gradient: there it is all that Langevin steps need
    walks     min(2.4 / sqrt(p c), r / (multiplier weight slope sqrt(p))), r = 1.5 for the penalty, 0.8 for Barker
    hmc       min(1 / (2 sqrt(c)), 1 / (multiplier weight slope leaps sqrt(p)))

    with the noise of a sample counted as 1 / rate times that of all rows, and walks on a sample kept within its reach.
    """
    assert chain.n is not None  # or there is no rate
    push, rate = chain.weight * slope, chain.rate
    noise = multiplier * push / rate
    bend = chain.n * push * slope + sd**-2
    root = math.sqrt(size)
    if chain.chain == "sgld":
        return min(0.25 / bend, 4 / noise**2)
    if chain.chain == "hmc":
        near = math.inf if rate == 1 else -math.log1p(-rate) / (4 * push * chain.jumps * root)
        return min(0.5 / math.sqrt(bend), 1 / (noise * chain.jumps * root), near)
    near = math.inf if rate == 1 else -math.log1p(-rate) / (4 * push * root)
    return min(2.4 / math.sqrt(size * bend), (0.8 if chain.chain == "barker" else 1.5) / (noise * root), near)
