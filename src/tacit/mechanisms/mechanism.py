"""The interface of a mechanism: how rows cross the boundary. One is one file beside this one and a line in `registry`.

A `Mechanism` is what a plan declares. Together with the plan's model, schema and budget it becomes a
`CalibratedMechanism`, which knows everything about one release in public: what is read, what is released, at what
price. The boundary walks through it: an `Accumulator` takes the rows in, and `CalibratedMechanism.cross` makes of it
the only numbers that leave.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

from tacit.bibliography import Paper
from tacit.errors import expected
from tacit.mechanisms.person import Person
from tacit.mechanisms.request import Request
from tacit.models.model import Model, Prior
from tacit.noise.entropy import Entropy
from tacit.privacy.basis import Basis
from tacit.privacy.events import Event
from tacit.protocols.local_randomizer import LocalRandomizer
from tacit.schema import Schema
from tacit.statistics.accumulator import Accumulator


class NoiseParameters(Protocol):
    """The public numbers by which a mechanism randomises, calibrated to a budget."""

    kind: ClassVar[str]
    papers: ClassVar[tuple[Paper, ...]]

    def to_plain(self) -> dict[str, Any]:
        """As they stand in a release."""
        ...


Read = Callable[[Accumulator], tuple[int, Accumulator]]
"""Read all rows into an empty collector: their number, and the collector. Each call is one pass over the rows."""


@dataclass(frozen=True)
class CalibratedMechanism(ABC):
    """One way across the boundary, with everything that is public about it."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""

    @property
    @abstractmethod
    def entries(self) -> tuple[str, ...]:
        """The name of each number that is released."""

    @property
    @abstractmethod
    def unit(self) -> int:
        """The integer that stands for a real 1 in what is released."""

    @property
    @abstractmethod
    def noise_parameters(self) -> NoiseParameters:
        """How it randomises."""

    @property
    def rows(self) -> int | None:
        """The number of rows, where the price is for that number alone."""
        return None

    @property
    def public_n(self) -> bool:
        """Whether a release says how many rows it is about."""
        return True

    @property
    def row_entries(self) -> tuple[int, ...]:
        """Where n is not public, the places of the released numbers that add up to it, but for their noise."""
        return ()

    @property
    def passes(self) -> int:
        """How often the rows are read."""
        return 1

    @property
    def fills(self) -> bool:
        """Whether a person's missing rows count as rows of stand-ins, where no weight is said; else they add
        nothing."""
        return True

    @property
    @abstractmethod
    def basis(self) -> Basis:
        """Whether the price has a proof for every data set, or rests on an assumption that nobody has checked."""

    @property
    def assumes(self) -> tuple[str, ...]:
        """What the price takes for granted beyond the program being right; every release carries it."""
        return ()

    def check_here(self) -> None:  # noqa: B027 (most have nothing to check)
        """Refuse, before anything is charged, what cannot be carried out in this process."""

    @property
    def one_process(self) -> bool:
        """Whether one process has to read all rows."""
        return False

    @abstractmethod
    def event(self) -> Event:
        """What one release costs, from public parameters alone, with its proof."""

    @abstractmethod
    def accumulator(self) -> Accumulator:
        """A new, empty collector."""

    @abstractmethod
    def cross(self, collected: Any, n: int, entropy: Entropy) -> tuple[int, ...]:
        """The released integers, from what was collected of n rows."""

    def carry_out(self, read: Read, entropy: Entropy) -> tuple[int, tuple[int, ...], NoiseParameters]:
        """Read the rows and cross: their number, the released integers, and the distribution by which they were
        drawn.
        """
        n, collected = read(self.accumulator())
        return n, self.cross(collected, n, entropy), self.noise_parameters

    @abstractmethod
    def check(self, values: tuple[int, ...], n: int | None) -> None:
        """Refuse integers that cannot have been released about n rows; None where n is not public."""


@dataclass(frozen=True)
class Mechanism(ABC):
    """What a plan's ``[mechanism]`` table declares."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def person(self) -> Person | None:
        """The unit of privacy, where it is not a row."""

    @property
    def papers(self) -> tuple[Paper, ...]:
        """What `cite` names for it."""
        return ()

    @property
    def takes_unclamped(self) -> bool:
        """Whether numbers that the schema does not clamp may come in: its proof asks nothing of their size."""
        return False

    @property
    def takes_offsets(self) -> bool:
        """Whether a formula may have a number whose coefficient is known to be 1."""
        return False

    @property
    def retired(self) -> bool:
        """Whether it was read from a release of a kind that is no longer made: it can be read, not carried out."""
        return False

    @property
    def whole_rows(self) -> bool:
        """Whether the price is for replacing a whole row; if not, no ledger pays it, as its totals are about rows."""
        return True

    @property
    def takes_add_remove(self) -> bool:
        """Whether its price has a proof for adding or removing a record, and for rows that a condition leaves out; if
        not, for replacing one record by another alone.
        """
        return False

    def default_prior(self, model: Model, schema: Schema) -> Prior:
        """The prior that is used unless another is asked for: the family's."""
        return model.default_prior(schema)

    @abstractmethod
    def calibrated(self, request: Request) -> CalibratedMechanism | LocalRandomizer:
        """What a holder or a device does under a plan; refuses what does not fit together or misses the budget."""

    @abstractmethod
    def to_plain(self) -> dict[str, Any]:
        """The ``[mechanism]`` table of a plan file."""

    @classmethod
    @abstractmethod
    def from_plain(cls, table: Mapping[str, Any]) -> Self:
        """Read the ``[mechanism]`` table of a plan file, less its ``kind``; every key must be known."""


@dataclass(frozen=True)
class Central(Mechanism):
    """A mechanism that a trusted holder of all rows runs: the rows cross as one release."""

    noise_parameters_field: ClassVar[str]
    """The field of a release that holds the distribution."""

    @abstractmethod
    def calibrated_mechanism(
        self, request: Request, noise_parameters: NoiseParameters | None = None
    ) -> CalibratedMechanism:
        """The way across for a plan; ``noise_parameters`` is read from a release, or left out to be calibrated to the
        budget.
        """

    @abstractmethod
    def noise_parameters_from_plain(self, plain: object) -> NoiseParameters:
        """Read a release's distribution."""

    def checked(self, request: Request, noise_parameters: NoiseParameters | None) -> CalibratedMechanism:
        """`calibrated_mechanism`, whose event meets the budget. A release's distribution need not be what today's code
        would choose.
        """
        found, budget = self.calibrated_mechanism(request, noise_parameters), request.budget
        if not found.event().satisfies(budget):
            if noise_parameters is None:
                raise expected(
                    "budget",
                    budget.symbols,
                    f"to be met by {found.noise_parameters.kind} {self.noise_parameters_field}",
                )
            raise expected(
                self.noise_parameters_field, noise_parameters.kind, f"to be large enough for {budget.symbols}"
            )
        return found

    def calibrated(self, request: Request) -> CalibratedMechanism:
        """The way across with the least noise."""
        return self.checked(request, None)
