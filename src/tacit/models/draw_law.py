"""The law of a release that consists of posterior draws: the public numbers with which they were drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from tacit.bibliography import Paper
from tacit.errors import InputError, expected

FAILED = -(2**62)
"""What stands in a release for every number of a draw that failed; no draw reaches so far."""


@dataclass(frozen=True)
class DrawLaw:
    """``draws`` independent draws of ``parameters`` numbers each, rounded to multiples of 1 / ``grid``.

    ``loss`` and ``numbers`` (by name, in order of names) say from which density. ``coordinates`` are those of the
    conjugate prior as it was used, with public data and tempering; a density with no such prior has none.
    """

    kind: ClassVar[str] = "posterior"
    papers: ClassVar[tuple[Paper, ...]] = ()

    loss: str
    sampler: str
    numbers: tuple[tuple[str, float], ...]
    draws: int
    grid: int
    parameters: int
    coordinates: tuple[float, ...] = ()

    def number(self, name: str) -> float:
        """The number of that name."""
        return dict(self.numbers)[name]

    @property
    def size(self) -> int:
        """How many numbers are released."""
        return self.draws * self.parameters

    def to_plain(self) -> dict[str, Any]:
        """As it stands in a release."""
        return {
            "loss": self.loss,
            "sampler": self.sampler,
            "numbers": dict(self.numbers),
            "draws": self.draws,
            "grid": self.grid,
            "parameters": self.parameters,
            "coordinates": list(self.coordinates),
        }

    @classmethod
    def from_plain(cls, plain: object) -> Self:
        """Read it; what is derived is checked against the plan by whoever reads the release."""
        names = ("loss", "sampler", "numbers", "draws", "grid", "parameters", "coordinates")
        if not isinstance(plain, Mapping) or set(plain) != set(names):
            raise InputError(f"Expected the release's sample to say {', '.join(names)}.")
        numbers, coordinates = plain["numbers"], plain["coordinates"]
        if not isinstance(numbers, Mapping) or not all(_is_number(v) for v in numbers.values()):
            raise InputError("Expected the numbers of the release's sample to be numbers by name.")
        if not isinstance(coordinates, list) or not all(_is_number(v) for v in coordinates):
            raise InputError("Expected the coordinates of the release's sample to be numbers.")
        for name in ("draws", "grid", "parameters"):
            if isinstance(plain[name], bool) or not isinstance(plain[name], int) or plain[name] < 1:
                raise expected(name, plain[name], "of the release's sample to be a whole number, at least 1")
        for name in ("loss", "sampler"):
            if not isinstance(plain[name], str):
                raise expected(name, plain[name], "of the release's sample to be a name")
        return cls(
            plain["loss"],
            plain["sampler"],
            tuple((str(name), float(numbers[name])) for name in sorted(numbers)),
            plain["draws"],
            plain["grid"],
            plain["parameters"],
            tuple(float(v) for v in coordinates),
        )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
