"""Local privacy: every person randomises their own record, and nobody holds the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from tacit.bibliography import KULKARNI_2022, Paper
from tacit.errors import did_you_mean, expected
from tacit.mechanisms.mechanism import Mechanism
from tacit.mechanisms.person import Person
from tacit.mechanisms.request import Request
from tacit.models.cohort import Cohort
from tacit.models.local import LocalModel
from tacit.models.model import Model, Prior
from tacit.models.score_model import ScorePrior
from tacit.models.score_reports import SCORES
from tacit.privacy.guarantees import Guarantee
from tacit.protocols.local_randomizer import LocalRandomizer
from tacit.protocols.protocol import Protocol
from tacit.schema import Schema


@dataclass(frozen=True)
class Local(Mechanism):
    """The budget holds for each person's report by itself, against everybody, the collector included.

    ``protocol`` names what a device does; left out, the family's first one is taken. Reports of scores are taken at the
    ``point`` of a cohort, in mapped units, and give the part ``matrix`` of themselves to the information: see `Cohort`.
    """

    kind: ClassVar[str] = "local"
    protocol: str | None = None
    point: tuple[float, ...] | None = None
    matrix: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "point", self.cohort.point)

    @property
    def cohort(self) -> Cohort:
        """What is asked of the people of one cohort."""
        return Cohort(self.point, self.matrix)

    @property
    def papers(self) -> tuple[Paper, ...]:
        return (KULKARNI_2022,)

    @property
    def person(self) -> Person | None:
        """One report is one person's."""
        return None

    @property
    def takes_offsets(self) -> bool:
        """Scores know the linear predictor, whatever it is made of."""
        return self.protocol == SCORES

    def default_prior(self, model: Model, schema: Schema) -> Prior:
        """The family's; of coefficients alone where people report scores, which say nothing else."""
        return ScorePrior() if self.protocol == SCORES else model.default_prior(schema)

    def calibrated(self, request: Request) -> LocalRandomizer:
        """What a device does under this plan."""
        model, schema, budget = request.model, request.schema, request.budget
        if not isinstance(model, LocalModel):
            raise expected("family", model.family, "to be one that local reports can be about")
        known = model.protocols(schema)
        if not known:
            raise expected("family", model.family, "with these fields to be one that local reports can be about")
        name = self.protocol if self.protocol is not None else next(iter(known))
        if not isinstance(name, str) or name not in known:
            raise expected("protocol", name, f"to be one of {', '.join(known)}{did_you_mean(name, known)}")
        if self.cohort != Cohort():
            return _checked(model.cohort_randomizer(schema, budget, name, self.cohort), budget)
        return _checked(model.local_randomizer(schema, budget, name), budget)

    @staticmethod
    def answered(own: LocalRandomizer, budget: Guarantee, protocol: Protocol | None) -> LocalRandomizer:
        """The plan's ``own`` client with the protocol that reports say they had, which need not be today's choice."""
        if protocol in (None, own.protocol):
            return own
        if not protocol.answers(own.protocol):
            raise expected("protocol", protocol.kind, "of the reports to be the plan's")
        return _checked(replace(own, protocol=protocol), budget)

    def to_plain(self) -> dict[str, Any]:
        """The ``[mechanism]`` table of a plan file."""
        plain: dict[str, Any] = {"kind": self.kind}
        return {**plain, **({} if self.protocol is None else {"protocol": self.protocol}), **self.cohort.to_plain()}

    @classmethod
    def from_plain(cls, table: Mapping[str, Any]) -> Self:
        """Read the ``[mechanism]`` table of a plan file, less its ``kind``."""
        known = ("kind", "protocol", "point", "matrix")
        for name in table:
            if name not in known:
                raise expected("mechanism key", name, f"to be one of {', '.join(known)}{did_you_mean(name, known)}")
        return cls(table.get("protocol"), table.get("point"), table.get("matrix"))


def _checked(randomizer: LocalRandomizer, budget: Guarantee) -> LocalRandomizer:
    if not randomizer.event().satisfies(budget):
        raise expected("budget", budget.symbols, f"to be met by {randomizer.protocol.kind}")
    return randomizer
