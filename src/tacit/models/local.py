"""What a family adds to be asked about under local privacy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from tacit.errors import expected
from tacit.models.cohort import Cohort
from tacit.privacy.guarantees import Guarantee
from tacit.protocols.local_randomizer import LocalRandomizer
from tacit.schema import Schema


class LocalModel(ABC):
    """A family that can be inferred from reports that people randomised themselves."""

    @abstractmethod
    def protocols(self, schema: Schema) -> tuple[str, ...]:
        """The names of the protocols that suit it, the default first."""

    @abstractmethod
    def local_randomizer(self, schema: Schema, budget: Guarantee, protocol: str) -> LocalRandomizer:
        """What a device does, calibrated to the budget of one report."""

    def cohort_randomizer(self, schema: Schema, budget: Guarantee, protocol: str, cohort: Cohort) -> LocalRandomizer:
        """`local_randomizer` for a ``cohort`` of which more is asked than the name of a protocol says."""
        name, value = next(iter(cohort.to_plain().items()))
        raise expected(name, value, f"to be left out: the protocol {protocol!r} has none")

    def survey_method(self, randomizer: LocalRandomizer) -> str | None:
        """The method for reports of such devices alone, where it is not the family's default one."""
        return None

    @abstractmethod
    def summary(self, randomizer: LocalRandomizer, reports: Any) -> Any:
        """All that a method needs of the reports (N, m), as one list of numbers.

        Its length is known from the client and N, which are public, and has a limit that N does not change.
        """
