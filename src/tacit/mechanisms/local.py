"""Local privacy: every person randomises their own record, and nobody holds the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from tacit.bibliography import KULKARNI_2022, Paper
from tacit.errors import did_you_mean, expected
from tacit.mechanisms.mechanism import Mechanism
from tacit.mechanisms.person import Person
from tacit.models.local import LocalModel
from tacit.models.model import Model
from tacit.privacy.guarantees import Guarantee
from tacit.protocols.client import Client
from tacit.protocols.protocol import Protocol
from tacit.schema import Schema


@dataclass(frozen=True)
class Local(Mechanism):
    """The budget holds for each person's report by itself, against everybody, the collector included.

    ``protocol`` names what a device does; left out, the family's first one is taken.
    """

    kind: ClassVar[str] = "local"
    protocol: str | None = None

    @property
    def papers(self) -> tuple[Paper, ...]:
        """Inference from reports."""
        return (KULKARNI_2022,)

    @property
    def person(self) -> Person | None:
        """One report is one person's."""
        return None

    def calibrated(self, model: Model, schema: Schema, budget: Guarantee) -> Client:
        """What a device does under this plan."""
        if not isinstance(model, LocalModel):
            raise expected("family", model.family, "to be one that local reports can be about")
        known = model.protocols(schema)
        name = self.protocol if self.protocol is not None else next(iter(known))
        if not isinstance(name, str) or name not in known:
            raise expected("protocol", name, f"to be one of {', '.join(known)}{did_you_mean(name, known)}")
        return _checked(model.client(schema, budget, name), budget)

    @staticmethod
    def answered(own: Client, budget: Guarantee, protocol: Protocol | None) -> Client:
        """The plan's ``own`` client with the protocol that reports say they had, which need not be today's choice."""
        if protocol in (None, own.protocol):
            return own
        if not protocol.answers(own.protocol):
            raise expected("protocol", protocol.kind, "of the reports to be the plan's")
        return _checked(replace(own, protocol=protocol), budget)

    def to_plain(self) -> dict[str, Any]:
        """The ``[mechanism]`` table of a plan file."""
        plain: dict[str, Any] = {"kind": self.kind}
        return plain if self.protocol is None else {**plain, "protocol": self.protocol}

    @classmethod
    def from_plain(cls, table: Mapping[str, Any]) -> Self:
        """Read the ``[mechanism]`` table of a plan file, less its ``kind``."""
        known = ("kind", "protocol")
        for name in table:
            if name not in known:
                raise expected("mechanism key", name, f"to be one of {', '.join(known)}{did_you_mean(name, known)}")
        return cls(table.get("protocol"))


def _checked(client: Client, budget: Guarantee) -> Client:
    if not client.event().satisfies(budget):
        raise expected("budget", budget.symbols, f"to be met by {client.protocol.kind}")
    return client
