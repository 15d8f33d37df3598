"""One question that an audit asks, and its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Check:
    """What was looked at, in words, and whether it contradicts what is promised.

    ``share`` is how much of the promise was seen to be used, where that was measured: 1 is all of it. ``proof`` says
    whether the answer is certain (a computation) or carries the audit's false-alarm rate (a count of random outcomes).
    ``witness`` is the pair of records, or of data sets, that shows it. ``figures`` holds numbers for machines.
    """

    name: str
    violated: bool
    words: str
    proof: bool
    share: float | None = None
    witness: tuple[Any, Any] | None = None
    figures: Mapping[str, Any] = field(default_factory=dict)

    def to_plain(self) -> dict[str, Any]:
        """The same as plain values, for JSON."""
        return {
            "check": self.name,
            "violated": self.violated,
            "words": self.words,
            "proof": self.proof,
            "share": plain(self.share),
            "witness": None if self.witness is None else [plain(one) for one in self.witness],
            "figures": plain(self.figures),
        }


def plain(value: Any) -> Any:
    """Anything as JSON can hold it: a number that is not finite becomes its name."""
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if value is None or isinstance(value, bool | str | int):
        return value
    number = float(value)
    return number if number - number == 0 else str(number)
