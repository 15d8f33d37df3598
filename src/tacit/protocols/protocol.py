"""The interface of a protocol: what one person's device does with that person's record before anything leaves it.

The record arrives encoded as a vector of whole numbers. The device sends one report, also whole numbers. Whoever
collects the reports needs no trust: the guarantee holds for each report by itself, against everybody. One protocol is
one file beside this one and a line in `registry`.

Everything that a client needs is the plain table of `to_plain`, its own record and fair random bytes. The draws are
comparisons of whole numbers (`logistic_coin`, `tacit.noise`), so that any language can make them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from tacit.bibliography import Paper
from tacit.noise.entropy import Entropy
from tacit.privacy.events import Event
from tacit.protocols.domain import Domain

_AT_ONCE = 2**17  # numbers drawn together: enough to be fast, and few enough for a processor's cache


@dataclass(frozen=True)
class Protocol(ABC):
    """The public parameters of one person's report. The object that draws a report also prices and scores it."""

    kind: ClassVar[str]
    papers: ClassVar[tuple[Paper, ...]] = ()

    @property
    @abstractmethod
    def inputs(self) -> Domain:
        """The encoded records that it takes: k whole numbers each."""

    @property
    @abstractmethod
    def reports(self) -> Domain:
        """The reports that it sends, m whole numbers each.

        Noise has no end: a number is taken for possible up to 2^16 scales beyond the inputs. A report farther out has
        probability below 2 e^-65536 and is an error or an attack.
        """

    @abstractmethod
    def event(self) -> Event:
        """What one report costs its sender, where neighbours are any two inputs (replace-one on one record)."""

    @abstractmethod
    def log_pmf(self, reports: Any, inputs: Any) -> Any:
        """The exact log probability of each report (..., m) given its input (..., k), in float64.

        The leading axes are broadcast. The arguments are taken to be admissible.
        """

    @abstractmethod
    def to_plain(self) -> dict[str, Any]:
        """A table of whole numbers and strings from which `protocol_from_plain` makes the same protocol."""

    @classmethod
    @abstractmethod
    def from_plain(cls, table: Mapping[str, Any]) -> Self:
        """Read what `to_plain` wrote."""

    @abstractmethod
    def _randomize(self, inputs: Any, entropy: Entropy) -> Any:
        """`randomize` for a batch of at least one checked input, int64."""

    def answers(self, asked: Protocol) -> bool:
        """Whether reports of this protocol answer what ``asked`` asks; how noisy they are is not compared."""
        return self.kind == asked.kind and self.inputs == asked.inputs

    def check_inputs(self, array: Any) -> None:
        """Refuse anything but an integer array (N, k) of admissible inputs, without a word about their values."""
        self.inputs.check("inputs", array)

    def check_reports(self, array: Any) -> None:
        """Refuse anything but an integer array (N, m) of possible reports."""
        self.reports.check("reports", array)

    def randomize(self, inputs: Any, entropy: Entropy) -> Any:
        """N independent reports, an integer array (N, m), for ``inputs`` (N, k), exactly from the law of `log_pmf`."""
        import numpy as np

        self.check_inputs(inputs)
        records = np.asarray(inputs).astype(np.int64)
        if not len(records):
            return np.zeros((0, self.reports.size), dtype=np.int64)
        rows = -(-_AT_ONCE // self.reports.size)
        parts = [self._randomize(records[i : i + rows], entropy) for i in range(0, len(records), rows)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)
