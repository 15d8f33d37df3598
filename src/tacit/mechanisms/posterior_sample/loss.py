"""What a posterior draw is drawn from. A loss is one file beside this one and one line in `registry`.

A plan with ``[mechanism] kind = "posterior-sample"`` releases draws from a density proportional to

    exp(-weight * sum over rows of loss(theta, row)) * prior(theta)

A `Loss` is that density for one model, schema and `Settings`, with everything that is public about it. The mechanism
(`tacit.mechanisms.posterior_sample`) only walks through it: it prices, charges, lets the rows in, and rounds what
`Loss.draw` gives to a public grid.

How to add a loss:

1. For a model with one row at a time in the density, write a subclass of `RowLoss` (`row_loss`): the loss of each
   record as a JAX function, and what it proves about two records (`difference_range`, or `difference_slope_squared` for
   a convex loss). The event, the collector of mapped and clamped rows, and the samplers come with it.
   For a density with its own exact sampler, write a subclass of `Loss` itself, as `conjugate` does.
2. Write a builder ``(model, schema, settings) -> Loss`` that refuses what does not fit, with the one error form.
3. Add a `LossKind` to `registry.LOSSES`: its name, its builder, and the keys of ``[mechanism]`` that are its own
   (they come as ``settings.options``).

Numbers that depend on the budget (a weight, a precision, a beta) are found by `Loss.calibrate`. They go into the
release under these names, and whoever reads a release prices it again with `Loss.event(numbers)`: nothing is trusted.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tacit.bibliography import Paper
from tacit.errors import expected
from tacit.models.model import Model
from tacit.noise.entropy import Entropy
from tacit.privacy.basis import Basis
from tacit.privacy.events import Event
from tacit.privacy.guarantees import Guarantee
from tacit.schema import Schema
from tacit.statistics.collector import Collector

Numbers = Mapping[str, float]

TEMPERINGS = ("direct", "diffused", "concentrated")
SAMPLERS: dict[str, Basis] = {
    "exact": Basis.PROVED,  # numbers from the distribution itself
    "rejection": Basis.PROVED,  # the same, under an envelope that is proved
    "langevin": Basis.PROVED,  # within gamma by theory
    "mcmc": Basis.ASSUMED,  # any other chain, of one point or of many
}
"""Each sampler, with what the guarantee of its draws rests on. A new one cannot be used before it stands here."""

CONVERGED = "converged"


@dataclass(frozen=True)
class Settings:
    """What a ``[mechanism]`` table says about a posterior draw. Everything here is public.

    ``draws`` is k, the number of independent draws that are released. ``loss`` names the loss. ``tempering`` says what
    is bent to the budget: nothing (direct), the weight of the data (diffused), or the strength of the prior
    (concentrated). ``prior`` changes numbers of the prior that is part of the density: the mechanism's, not the one by
    which an analyst reads the release. ``public`` are counts or sums of rows that are public already, folded into that
    prior. ``n`` declares the number of rows, where the price depends on it. ``private`` is "record", or "response"
    where the covariates of a regression are public and only the response is a secret. ``grid`` is how many steps of
    the public grid make a 1: draws are rounded to it. ``sampler`` is how the density is drawn from, ``gamma`` how far
    at most the distribution of its draws is from the density in total variation, where it is not exact. ``assume`` is
    "converged" where the plan takes that for granted of a Markov chain. ``options`` are the loss's own keys.
    ``earlier`` marks the settings of a release that was made before a plan had to say ``assume``: it can be read, and
    nothing can be released with it.
    """

    draws: int = 1
    loss: str = "log-likelihood"
    tempering: str = "diffused"
    prior: Mapping[str, Any] = field(default_factory=dict[str, Any])
    public: Mapping[str, Any] = field(default_factory=dict[str, Any])
    n: int | None = None
    private: str = "record"
    grid: int = 2**20
    sampler: str | None = None
    gamma: float | None = None
    assume: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    earlier: bool = field(default=False, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        for name, most in (("draws", 10_000), ("grid", 2**40)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
                raise expected(name, value, f"to be a whole number from 1 to {most}")
        if self.n is not None and (isinstance(self.n, bool) or not isinstance(self.n, int) or not 1 <= self.n < 2**53):
            raise expected("n", self.n, "to be a whole number of rows, or nothing")
        for name, known in (
            ("tempering", TEMPERINGS),
            ("private", ("record", "response")),
            ("sampler", (None, *SAMPLERS)),
            ("assume", (None, CONVERGED)),
        ):
            if getattr(self, name) not in known:
                raise expected(name, getattr(self, name), f"to be one of {', '.join(str(k) for k in known if k)}")
        for name in ("prior", "public", "options"):
            value = getattr(self, name)
            if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
                raise expected(name, value, "to be a table")
            object.__setattr__(self, name, _Table({key: _frozen(v) for key, v in value.items()}))
        gamma = self.gamma
        if gamma is not None and (isinstance(gamma, bool) or not isinstance(gamma, int | float) or not 0 <= gamma < 1):
            raise expected("gamma", gamma, "to be a number of at least 0 and below 1")


class _Table(dict[str, Any]):
    """A table that is a value: equal tables have one hash, and nobody changes one."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(sorted(self.items(), key=lambda item: item[0])))


def _frozen(value: Any) -> Any:
    return tuple(_frozen(v) for v in value) if isinstance(value, list | tuple) else value


class Loss(ABC):
    """A density to draw from, for one plan. Subclasses are frozen dataclasses, and so are values."""

    @property
    @abstractmethod
    def settings(self) -> Settings:
        """The settings it was built with."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""

    @property
    @abstractmethod
    def parameters(self) -> tuple[str, ...]:
        """The name of each number of one draw."""

    @property
    @abstractmethod
    def bounds(self) -> tuple[float, float]:
        """Between which numbers every number of a draw lies, rounded draws included; may be infinite."""

    @abstractmethod
    def calibrate(self, budget: Guarantee) -> dict[str, float]:
        """The numbers with which ``settings.draws`` draws meet the budget; refuses a budget that none meet.

        The names are those that stand in the release: ``weight``, the data's, and more as the loss needs.
        """

    @abstractmethod
    def event(self, numbers: Numbers) -> Event:
        """What ``settings.draws`` draws cost with these numbers, with its proof; refuses numbers that make no sense."""

    @property
    @abstractmethod
    def basis(self) -> Basis:
        """Whether `event` has a proof for every data set with the sampler that draws, or rests on an assumption."""

    @abstractmethod
    def assumes(self, numbers: Numbers) -> tuple[str, ...]:
        """What the price takes for granted, as sentences without a full stop."""

    @property
    def sampler(self) -> str:
        """How it is drawn from, as the release says it."""
        return "exact"

    def coordinates(self, numbers: Numbers) -> tuple[float, ...]:
        """The coordinates of a conjugate prior as used, for whoever reads the release; none where there is no such."""
        return ()

    @abstractmethod
    def collector(self) -> Collector:
        """A new, empty collector: sums, or mapped and clamped rows."""

    @abstractmethod
    def draw(self, numbers: Numbers, collected: Any, n: int, entropy: Entropy) -> Sequence[Sequence[float] | None]:
        """``settings.draws`` independent draws, each a list as long as ``parameters``; None for one that failed.

        Nothing else leaves: no diagnostics, no number of tries. It must not raise on account of a row. Where `basis`
        is a proof, every draw lies where that proof needs it, and None must not come back on account of a row: a
        failure that follows from the draw alone (a number too large for the grid) is post-processing and is made of
        it by the mechanism. Where `basis` is an assumption, failures are part of the declared gamma.
        """


Builder = Callable[[Model, Schema, Settings], Loss]


@dataclass(frozen=True)
class LossKind:
    """A kind of loss: ``build`` makes it for a plan, ``keys`` are the keys of ``[mechanism]`` that are its own.

    ``unclamped`` says that its proof asks nothing of the size of numbers, so that a schema need not clamp them.
    `cite` names its ``papers``.
    """

    build: Builder
    keys: tuple[str, ...] = ()
    unclamped: bool = False
    papers: tuple[Paper, ...] = ()


def positive(name: str, value: object) -> float:
    """A setting that must be a finite number above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not (math.isfinite(value) and value > 0):
        raise expected(name, value, "to be a finite number above 0")
    return float(value)
