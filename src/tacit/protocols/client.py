"""What runs on one person's device: the record becomes whole numbers, and the protocol makes of them one report.

A client needs the standard library and numpy. Everything that it must know is public.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacit.noise.entropy import Entropy
from tacit.privacy.events import Event
from tacit.protocols.protocol import Protocol
from tacit.schema import Schema


@dataclass(frozen=True)
class Encoder(ABC):
    """How a record, parsed by the schema, becomes the whole numbers that a protocol takes: a total function."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads."""

    @abstractmethod
    def encode(self, columns: Mapping[str, Any]) -> Any:
        """An integer array (N, k) from parsed cells: numbers inside bounds, codes of levels."""


@dataclass(frozen=True)
class Client:
    """One person's side of a survey."""

    schema: Schema
    encoder: Encoder
    protocol: Protocol

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are asked for."""
        return self.encoder.columns

    def event(self) -> Event:
        """What one person's report costs that person.

        Proof: a report is made by the protocol from that person's record alone. The proof of the protocol's own event
        holds for any two records, and the encoding before it is a function of the record. []
        """
        return self.protocol.event()

    def reports(self, columns: Mapping[str, Any], entropy: Entropy) -> Any:
        """One report (m whole numbers) for each of N people, from their parsed cells."""
        return self.protocol.randomize(self.encoder.encode(columns), entropy)


@dataclass(frozen=True)
class LevelCode(Encoder):
    """The code of one column's level."""

    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The one column."""
        return (self.column,)

    def encode(self, columns: Mapping[str, Any]) -> Any:
        """One code each."""
        import numpy as np

        return np.asarray(columns[self.column], np.int64)[:, None]


@dataclass(frozen=True)
class LatticeNumber(Encoder):
    """A number, mapped from [low, high] to the whole numbers from ``first`` to ``last`` and rounded."""

    column: str
    low: float
    high: float
    first: int
    last: int

    @property
    def columns(self) -> tuple[str, ...]:
        """The one column."""
        return (self.column,)

    def encode(self, columns: Mapping[str, Any]) -> Any:
        """One whole number each; the last two operations round and clamp, so it is total."""
        import numpy as np

        share = (np.asarray(columns[self.column], np.float64) - self.low) / (self.high - self.low)
        mapped = np.rint(self.first + share * (self.last - self.first))
        return np.clip(mapped, self.first, self.last).astype(np.int64)[:, None]
