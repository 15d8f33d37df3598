"""DP-SGD: the mechanism that releases the last point of a private gradient descent, rounded to a public grid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from tacit.bibliography import ABADI_2016, ZHU_2022, Paper
from tacit.errors import did_you_mean, expected
from tacit.mechanisms.dp_sgd.descent import DescentLoss, descent_loss
from tacit.mechanisms.dp_sgd.descent_settings import KEYS, DescentSettings
from tacit.mechanisms.mechanism import NoiseParameters
from tacit.mechanisms.posterior_sample.posterior_sample import Drawing, PosteriorDraws, plain_value
from tacit.mechanisms.request import Request


@dataclass(frozen=True)
class DescentPoint(PosteriorDraws):
    """The last point of a descent, rounded to the grid."""

    @property
    def chain(self) -> DescentLoss:
        """The descent."""
        assert isinstance(self.loss, DescentLoss)
        return self.loss


@dataclass(frozen=True)
class DPSGD(DescentSettings, Drawing):
    """The mechanism that releases the last point of a private descent; its fields are those of `DescentSettings`."""

    kind: ClassVar[str] = "dp-sgd"

    @property
    def papers(self) -> tuple[Paper, ...]:
        """The descent, and how its steps are composed."""
        return (ABADI_2016, ZHU_2022)

    @property
    def draws(self) -> int:
        """One point."""
        return 1

    def calibrated_mechanism(self, request: Request, noise_parameters: NoiseParameters | None = None) -> DescentPoint:
        """The descent with noise calibrated to the budget, or with the numbers that a release has."""
        loss = descent_loss(request.model, request.schema, self)
        drawn = self.drawn(loss, request.budget, noise_parameters, named=self.loss, draws=1, grid=self.grid)
        return DescentPoint(loss, drawn)

    def to_plain(self) -> dict[str, Any]:
        """The ``[mechanism]`` table of a plan file."""
        plain: dict[str, Any] = {"kind": self.kind}
        for name in _NAMES:
            value = getattr(self, name)
            if value != _DEFAULTS[name]:
                plain[name] = plain_value(value)
        return {**plain, **{name: plain_value(value) for name, value in self.options.items()}}

    @classmethod
    def from_plain(cls, table: Mapping[str, Any]) -> Self:
        """Read the ``[mechanism]`` table of a plan file, less its ``kind``."""
        known = ("kind", *_NAMES, *KEYS)
        for name in table:
            if name not in known:
                raise expected("mechanism key", name, f"to be one of {', '.join(known)}{did_you_mean(name, known)}")
        said = {name: value for name, value in table.items() if name not in KEYS}
        return cls(**said, options={name: value for name, value in table.items() if name in KEYS})


_NAMES = ("n", "batch", "epochs", "steps", "loss", "clip", "learning_rate", "prior", "grid")
_DEFAULTS = {name: getattr(DescentSettings(), name) for name in _NAMES}
