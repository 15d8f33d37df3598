"""DP-SGD: the mechanism that releases the last point of a private gradient descent, rounded to a public grid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from tacit.errors import did_you_mean, expected
from tacit.losses.descent_loss import DescentLoss, descent_loss
from tacit.losses.descent_settings import KEYS, DescentSettings
from tacit.mechanisms.mechanism import Central, Law
from tacit.mechanisms.person import Person
from tacit.mechanisms.posterior_sample import PosteriorDraws
from tacit.models.draw_law import DrawLaw
from tacit.models.model import Model
from tacit.privacy.guarantees import Guarantee
from tacit.schema import Schema


@dataclass(frozen=True)
class DescentPoint(PosteriorDraws):
    """The last point of a descent, rounded to the grid."""

    @property
    def chain(self) -> DescentLoss:
        """The descent."""
        assert isinstance(self.loss, DescentLoss)
        return self.loss


@dataclass(frozen=True)
class DPSGD(DescentSettings, Central):
    """The mechanism that releases the last point of a private descent; its fields are those of `DescentSettings`."""

    kind: ClassVar[str] = "dp-sgd"
    law_field: ClassVar[str] = "sample"

    @property
    def person(self) -> Person | None:
        """Every row is one."""
        return None

    @property
    def draws(self) -> int:
        """One point."""
        return 1

    def crossing(self, model: Model, schema: Schema, budget: Guarantee, law: Law | None = None) -> DescentPoint:
        """The descent with noise calibrated to the budget, or with the numbers that a release has."""
        loss = descent_loss(model, schema, self)
        if law is not None and not isinstance(law, DrawLaw):
            raise expected("sample", law.kind, "to be that of a descent")
        numbers = loss.calibrate(budget) if law is None else dict(law.numbers)
        drawn = DrawLaw(
            loss=self.loss,
            sampler=loss.sampler,
            numbers=tuple((name, float(numbers[name])) for name in sorted(numbers)),
            draws=1,
            grid=self.grid,
            parameters=len(loss.parameters),
        )
        return DescentPoint(loss, drawn)

    def law_from_plain(self, plain: object) -> DrawLaw:
        """Read a release's sample."""
        return DrawLaw.from_plain(plain)

    def to_plain(self) -> dict[str, Any]:
        """The ``[mechanism]`` table of a plan file."""
        plain: dict[str, Any] = {"kind": self.kind}
        for name in _NAMES:
            value = getattr(self, name)
            if value != _DEFAULTS[name]:
                plain[name] = dict(value) if isinstance(value, Mapping) else value
        return {**plain, **self.options}

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
