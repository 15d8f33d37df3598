"""A plan says in public what will be released, before any row is read: model, schema, budget, mechanism.

A plan is a value. It reads from and writes to TOML without loss, and everything that the release will cost or contain
(the statistic, its sensitivity, the noise, the privacy event) follows from it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tacit.errors import InputError, did_you_mean, expected
from tacit.files import read_text, write_atomically
from tacit.mechanisms.noise import Noise
from tacit.mechanisms.registry import NOISES, noise_for
from tacit.models.model import Model
from tacit.models.registry import FAMILIES
from tacit.privacy.events import Event
from tacit.privacy.guarantees import Guarantee, guarantee_from_plain
from tacit.privacy.sensitivity import Sensitivity
from tacit.schema import Schema, check_column_name
from tacit.statistics.statistic import Statistic


@dataclass(frozen=True)
class Person:
    """The unit of privacy when a person may have several rows: who they belong to, and how many of them count.

    Everyone contributes exactly ``max_rows`` rows: of more, a fixed pseudo-random choice counts; of fewer, the rest
    count as empty rows. n is then the number of people times ``max_rows``, and the noise is ``max_rows`` times larger.
    """

    id: str
    max_rows: int

    def __post_init__(self) -> None:
        check_column_name("id", self.id)
        if isinstance(self.max_rows, bool) or not isinstance(self.max_rows, int) or not 1 <= self.max_rows <= 10**6:
            raise expected("max_rows", self.max_rows, "to be a whole number from 1 to 1000000")


@dataclass(frozen=True)
class AddNoise:
    """The mechanism that adds integer noise to the statistic.

    ``law`` names the noise; left out, the budget decides: discrete Laplace for pure epsilon, discrete Gaussian for zCDP
    and Renyi, rounded Gaussian for Gaussian DP, and for (epsilon, delta) whichever adds less. ``unit`` says whose
    privacy is protected: left out, every row is a person of its own.
    """

    law: str | None = None
    unit: Person | None = None

    def __post_init__(self) -> None:
        if self.law is not None and (not isinstance(self.law, str) or self.law not in NOISES):
            raise expected("law", self.law, f"to be one of {', '.join(NOISES)}{did_you_mean(self.law, NOISES)}")
        if self.unit is not None and not isinstance(self.unit, Person):
            raise expected("unit", self.unit, "to be a Person, or nothing when every row is one")

    def to_plain(self) -> dict[str, Any]:
        """The ``[mechanism]`` table of a plan file."""
        plain: dict[str, Any] = {"kind": "noise"}
        if self.law is not None:
            plain["law"] = self.law
        if self.unit is not None:
            plain |= {"unit": "person", "id": self.unit.id, "max_rows": self.unit.max_rows}
        return plain


@dataclass(frozen=True)
class Plan:
    """What will be released, about what, and under which guarantee."""

    model: Model
    schema: Schema
    budget: Guarantee
    mechanism: AddNoise = field(default_factory=AddNoise)

    def __post_init__(self) -> None:
        for name, kind in (("model", Model), ("schema", Schema), ("budget", Guarantee), ("mechanism", AddNoise)):
            if not isinstance(getattr(self, name), kind):
                raise expected(name, getattr(self, name), f"to be a tacit {kind.__name__}")
        if self.budget.assumes:
            raise expected("assumes", self.budget.assumes, "to be empty: a plan's budget assumes nothing of its own")
        if self.mechanism.unit is not None and self.mechanism.unit.id in self.schema:
            raise expected("id", self.mechanism.unit.id, "not to be declared in the schema as well")
        # Refuses what does not fit together, long before data is near.
        if not self.event().satisfies(self.budget):
            raise expected("budget", self.budget.symbols, f"to be met by {self.noise().kind} noise")

    def statistic(self) -> Statistic:
        """What is summed over the rows."""
        return self.model.statistic(self.schema)

    def sensitivity(self) -> Sensitivity:
        """How far replacing one unit of privacy, a row or a person, moves the statistic."""
        one_row = self.statistic().sensitivity()
        return one_row if self.mechanism.unit is None else one_row.times(self.mechanism.unit.max_rows)

    def noise(self) -> Noise:
        """The noise that meets the budget."""
        return noise_for(self.budget, self.sensitivity(), self.mechanism.law)

    def event(self) -> Event:
        """What one release costs, from public parameters alone."""
        return self.noise().event(self.sensitivity())

    def to_plain(self) -> dict[str, Any]:
        """Plain tables, as they stand in a plan file."""
        plain = {
            "model": self.model.to_plain(),
            "schema": self.schema.to_plain(),
            "budget": self.budget.to_plain(),
        }
        return plain if self.mechanism == AddNoise() else {**plain, "mechanism": self.mechanism.to_plain()}

    @classmethod
    def from_plain(cls, tables: Mapping[str, Any]) -> Plan:
        """Read plain tables; every key must be known."""
        known = ("model", "schema", "budget", "mechanism")
        if not isinstance(tables, Mapping):
            raise expected("plan", tables, "to be a mapping of tables")
        for name in tables:
            if name not in known:
                raise expected("plan table", name, f"to be one of {', '.join(known)}{did_you_mean(name, known)}")
        for name in known:
            if name in tables and not isinstance(tables[name], Mapping):
                raise expected(name, tables[name], "to be a table")
        for name in known[:3]:
            if name not in tables:
                raise InputError(f"Expected the plan to have a [{name}] table.")
        return cls(
            model=_model_from_plain(tables["model"]),
            schema=Schema(tables["schema"]),
            budget=guarantee_from_plain(tables["budget"]),
            mechanism=_mechanism_from_plain(tables.get("mechanism", {"kind": "noise"})),
        )

    def to_toml(self) -> str:
        """The plan as text; `Plan.from_toml` gives back an equal plan."""
        import tomli_w

        return tomli_w.dumps(self.to_plain())

    @classmethod
    def from_toml(cls, text: str) -> Plan:
        """Read a plan from text."""
        try:
            tables = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"Expected the plan to be TOML: {str(error)[:300]}.") from None
        except (RecursionError, ValueError):  # ValueError: a whole number of thousands of digits
            raise InputError("Expected the plan to be TOML without endless numbers or nesting.") from None
        return cls.from_plain(tables)

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """Read a plan from a file."""
        return cls.from_toml(read_text(path, name="plan"))

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the plan to a file."""
        return write_atomically(path, self.to_toml().encode(), name="plan", overwrite=overwrite)


def _model_from_plain(table: Mapping[str, Any]) -> Model:
    if "family" not in table:
        raise InputError(f"Expected [model] to say its family: one of {', '.join(FAMILIES)}.")
    family = table["family"]
    if not isinstance(family, str) or family not in FAMILIES:
        raise expected("family", family, f"to be one of {', '.join(FAMILIES)}{did_you_mean(family, FAMILIES)}")
    return FAMILIES[family].from_plain({k: v for k, v in table.items() if k != "family"})


def _mechanism_from_plain(table: Mapping[str, Any]) -> AddNoise:
    known = ("kind", "law", "unit", "id", "max_rows")
    for name in table:
        if name not in known:
            raise expected("mechanism key", name, f"to be one of {', '.join(known)}{did_you_mean(name, known)}")
    if table.get("kind") != "noise":
        raise expected("kind", table.get("kind"), 'of [mechanism] to be "noise"')
    if table.get("unit", "row") == "row":
        if "id" in table or "max_rows" in table:
            raise InputError('Expected [mechanism] to say unit = "person" when it says id or max_rows.')
        return AddNoise(table.get("law"))
    if table["unit"] != "person":
        raise expected("unit", table["unit"], 'of [mechanism] to be "row" or "person"')
    for name in ("id", "max_rows"):
        if name not in table:
            raise InputError(f'Expected [mechanism] to say {name} beside unit = "person".')
    return AddNoise(table.get("law"), Person(table["id"], table["max_rows"]))


def as_plan(plan: Plan | str | Path) -> Plan:
    """A plan, or the path of one."""
    return plan if isinstance(plan, Plan) else Plan.load(plan)
