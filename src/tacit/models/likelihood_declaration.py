"""What a likelihood of one's own declares beside its function: parameters, columns, response, length of the cut."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacit.errors import expected

_SUPPORTS = ("real", "positive", "share")
_NAME = re.compile(r"[^\W\d]\w{0,63}")
_MOST_PARAMETERS = 30


@dataclass(frozen=True)
class Parameter:
    """One unknown number: its ``support``, and the normal prior of its value, its logarithm or its logit.

    ``support`` is "real", "positive" (the prior is that of the logarithm) or "share" (of the logit).
    """

    mean: float
    sd: float
    support: str = "real"

    def __post_init__(self) -> None:
        for name, value in (("mean", self.mean), ("sd", self.sd)):
            if isinstance(value, bool) or not isinstance(value, int | float) or not -1e6 < value < 1e6:
                raise expected(name, value, "of a parameter to be a number")
        if not self.sd > 0:
            raise expected("sd", self.sd, "of a parameter to be above 0")
        if self.support not in _SUPPORTS:
            raise expected("support", self.support, f"to be one of {', '.join(_SUPPORTS)}")

    def value(self, real: Any, np: Any) -> Any:
        """The parameter from its place on the real line."""
        if self.support == "positive":
            return np.exp(real)
        return 1 / (1 + np.exp(-real)) if self.support == "share" else real


def checked_declaration(
    parameters: object, columns: object, response: object, clip: object, whole: object, name: object
) -> tuple[tuple[tuple[str, Parameter], ...], tuple[str, ...], tuple[str, ...], float]:
    """What a likelihood declares, as the fields hold it; refuses what it cannot be."""
    if not isinstance(parameters, Mapping) or not 1 <= len(parameters) <= _MOST_PARAMETERS:
        raise expected("parameters", parameters, f"to map 1 to {_MOST_PARAMETERS} names to a tacit.Parameter each")
    for key, one in parameters.items():
        if not isinstance(key, str) or not _NAME.fullmatch(key):
            raise expected("parameter", key, "to be named by a word of letters, digits and _")
        if not isinstance(one, Parameter):
            raise expected(f"parameter {key}", one, "to be a tacit.Parameter")
    found: list[tuple[str, ...]] = []
    for label, value in (("columns", columns), ("response", response)):
        several = (value,) if isinstance(value, str) else value
        if not isinstance(several, list | tuple) or not several or not all(isinstance(one, str) for one in several):
            raise expected(label, value, "to name one or more columns")
        if len(set(several)) < len(several):
            raise expected(label, list(several), "to name each column once")
        found.append(tuple(several))
    if not set(found[1]) <= set(found[0]):
        raise expected("response", list(found[1]), f"to be among the columns, {', '.join(found[0])}")
    if isinstance(clip, bool) or not isinstance(clip, int | float) or not 0.1 <= clip <= 1000:
        raise expected("clip", clip, "to be a number from 0.1 to 1000: the longest that a row's score may be")
    if not isinstance(whole, bool):
        raise expected("whole", whole, "to be True or False")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise expected("name", name, "to be a word of letters, digits and _")
    return tuple(parameters.items()), found[0], found[1], float(clip)
