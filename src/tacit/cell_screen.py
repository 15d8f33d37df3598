"""The screen of a table: how many cells of each column are not what was declared, with noise, as a JSON file.

`ScreenPlan` is the question and is public before any row is read, like a plan. `Screen` is the answer and is public
like a release: noisy counts, and what is needed to read them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from statistics import NormalDist
from typing import Any

from tacit._support.files import read_text, write_atomically
from tacit._support.names import check_name
from tacit._support.reading import LARGEST_JSON, check_format, flag, same, strict_json
from tacit.errors import InputError, expected
from tacit.mechanisms.add_noise import AddNoise, NoisySums
from tacit.mechanisms.person import PERSON, ROW, of_public_number, person_from_plain
from tacit.mechanisms.record_moves import UnitOfPrivacy
from tacit.noise.noise import Noise
from tacit.noise.registry import noise_for
from tacit.plan import Plan
from tacit.privacy.assumptions import assumed_of
from tacit.privacy.events import Event
from tacit.privacy.guarantees import Guarantee, guarantee_from_plain
from tacit.privacy.neighbours import REPLACE_ONE
from tacit.release import LONGEST, Release, check_receipt
from tacit.schema import Category, Schema
from tacit.statistics.cell_classes import CellClasses

FORMAT = 1
NOTICED = 0.01
"""The share of a column's cells from which on a class is worth a warning."""
_FALSE_ALARM = 0.05  # of any warning at all, where every cell is as declared


@dataclass(frozen=True)
class ScreenPlan:
    """What will be counted: the cells of all columns of ``declared``, at the price of ``budget``.

    ``mechanism`` says whose privacy is protected, a row's or a person's.
    """

    declared: Schema
    budget: Guarantee
    mechanism: AddNoise = field(default_factory=AddNoise)

    def __post_init__(self) -> None:
        if self.budget.neighbours != REPLACE_ONE:
            raise expected("neighbours", self.budget.neighbours, f'of a screen to be "{REPLACE_ONE}": it says n')
        if self.mechanism.person is not None and self.mechanism.person.weight == ROW:
            raise expected("weight", ROW, f'of a screen to be "{PERSON}" or left out: it says n')

    @classmethod
    def of(cls, plan: Plan, budget: Guarantee) -> ScreenPlan:
        """The screening of a plan's columns, for the plan's unit of privacy."""
        plan.central()  # refuses a plan whose rows are never in one place
        if plan.budget.neighbours != REPLACE_ONE:
            raise expected(
                "neighbours", plan.budget.neighbours, f'of the plan to be "{REPLACE_ONE}" for a screen, which says n'
            )
        return cls(plan.schema.of_table, budget, AddNoise(unit=of_public_number(plan.mechanism.person)))

    @cached_property
    def schema(self) -> Schema:
        """What is asked of each column: the classes of its cells."""
        return self.declared.screened()

    @property
    def row_filter(self) -> None:
        """Which rows count: all of them."""
        return None

    def calibrated_mechanism(self, noise_parameters: Noise | None = None) -> NoisySums:
        """The way across the boundary; ``noise_parameters`` is the noise that a screen says it had.

        Proof: of the price, by `NoisySums.event`. The counts are those of `CellClasses`, whose sensitivity is for
        replacing one row. For a person it is `UnitOfPrivacy.moves`: of the mean of their rows, or of exactly
        ``max_rows`` rows, stand-ins among them. []
        """
        return self._calibrated if noise_parameters is None else self._calibrate(noise_parameters)

    @cached_property
    def _calibrated(self) -> NoisySums:
        return self._calibrate(None)

    def _calibrate(self, noise_parameters: Noise | None) -> NoisySums:
        statistic = CellClasses.of(self.schema)
        sensitivity = UnitOfPrivacy(REPLACE_ONE, self.mechanism.person).moves(statistic)
        noise = noise_for(self.budget, sensitivity, None) if noise_parameters is None else noise_parameters
        if len(noise.scales) != len(statistic.entries):
            raise expected("scales", len(noise.scales), f"of the noise to be {len(statistic.entries)}, one per entry")
        found = NoisySums(statistic, sensitivity, noise)
        if not found.event().satisfies(self.budget):
            raise expected("noise", noise.kind, f"to be large enough for {self.budget.symbols}")
        return found

    def event(self) -> Event:
        """What the screen costs.

        Proof: that of `calibrated_mechanism`. []
        """
        return self.calibrated_mechanism().event()

    def to_plain(self) -> dict[str, Any]:
        """Plain tables, as they stand in a screen."""
        unit = self.mechanism.person
        return {
            "schema": self.declared.to_plain(),
            "budget": self.budget.to_plain(),
            "unit": {"unit": "row"} if unit is None else unit.to_plain(),
        }

    @classmethod
    def from_plain(cls, plain: object) -> ScreenPlan:
        """Read what a screen says that it was asked."""
        keys = ("schema", "budget", "unit")
        if not isinstance(plain, dict) or set(plain) != set(keys):
            raise InputError("Expected the screen's question to have a schema, a budget and a unit, and nothing else.")
        if not all(isinstance(plain[key], dict) for key in keys):
            raise InputError("Expected the schema, the budget and the unit of the screen to be tables.")
        return cls(
            Schema(plain["schema"]),
            guarantee_from_plain(plain["budget"]),
            AddNoise(unit=person_from_plain(plain["unit"])),
        )


@dataclass(frozen=True)
class Count:
    """About how many cells of ``column`` are ``cells`` (missing, unreadable, unknown, below, above), of ``of``.

    ``low`` and ``high`` are an interval for the exact number, from the noise alone.
    """

    column: str
    cells: str
    count: float
    low: float
    high: float
    of: int

    def sentence(self, schema: Schema) -> str:
        """What it says, in plain words."""
        return (
            f"{self.column}: about {self.count:,.0f} of {self.of:,} cells [{math.ceil(self.low):,}, "
            f"{math.floor(self.high):,}] {_words(self.cells, schema, self.column)}"
        )


@dataclass(frozen=True)
class Screen:
    """Noisy counts of cells by column and class, and all that is public about them.

    ``plan`` is what was asked. ``n`` is the number of rows. Where the unit of privacy is a person it is the number of
    people, each of whom counts once with the mean of their rows; without a weight that number times the rows that count
    of each, and the rows that somebody lacks count as missing cells.
    ``typed_elsewhere`` is as in a release.
    """

    plan: ScreenPlan
    n: int
    values: tuple[int, ...]
    dataset: str
    id: str
    ledger: Mapping[str, Any] | None = None
    noise_parameters: Noise = None  # type: ignore[assignment]  # the screening's own unless a file says otherwise
    typed_elsewhere: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        calibrated = self.calibrated_mechanism
        object.__setattr__(self, "noise_parameters", calibrated.noise_parameters)
        if not _is_int(self.n) or not 1 <= self.n < 2**53:
            raise expected("n", self.n, "to be a whole number of rows, at least 1 and below 2^53")
        if len(self.values) != len(calibrated.entries) or not all(map(_is_int, self.values)):
            raise InputError(f"Expected values to be {len(calibrated.entries)} whole numbers, one per entry.")
        calibrated.check(self.values, self.n)
        for name in ("dataset", "id"):
            check_name(name, getattr(self, name))
        if self.ledger is not None:
            check_receipt(self.ledger)

    @property
    def guarantee(self) -> Guarantee:
        """What was promised to the people in the data, and what that assumes."""
        return replace(self.plan.budget, assumes=assumed_of(self.typed_elsewhere))

    @property
    def schema(self) -> Schema:
        """The columns as they were declared."""
        return self.plan.declared

    @cached_property
    def calibrated_mechanism(self) -> NoisySums:
        """The way across the boundary that the counts took."""
        return self.plan.calibrated_mechanism(self.noise_parameters)

    @property
    def sd(self) -> float:
        """The standard deviation of the noise on each count, in cells."""
        return max(self.noise_parameters.sd) / self.calibrated_mechanism.unit

    def half_width(self, probability: float = 0.95) -> float:
        """How far a count may be off, in cells: more than that has probability 1 - ``probability`` at most.

        Of the noise's continuous limit: P(|Z| > s ln(1/a)) = a for Laplace noise of scale s, and normal quantiles.
        """
        if not 0 < probability < 1:
            raise expected("probability", probability, "to lie between 0 and 1")
        beyond = 1 - probability
        if self.noise_parameters.limit == "laplace":
            return max(self.noise_parameters.reach(-math.log(beyond))) / self.calibrated_mechanism.unit
        return NormalDist().inv_cdf(1 - beyond / 2) * self.sd

    def summary(self, probability: float = 0.95) -> tuple[Count, ...]:
        """Every count with its interval, cut to what is possible, 0 to n."""
        half, names = self.half_width(probability), self.calibrated_mechanism.statistic
        assert isinstance(names, CellClasses)
        places = [(column, cells) for column, classes in names.counted for cells in classes]
        values = [value / self.calibrated_mechanism.unit for value in self.values]

        def inside(value: float) -> float:
            return min(max(value, 0.0), float(self.n))

        return tuple(
            Count(column, cells, inside(value), inside(value - half), inside(value + half), self.n)
            for (column, cells), value in zip(places, values, strict=True)
        )

    def noticed(self, columns: Iterable[str] | None = None) -> tuple[Count, ...]:
        """The counts that are above 1% of the rows beyond what noise explains, the largest first.

        Intervals are as wide as needed for all counts together to be right with probability 95%.
        """
        wanted = set(self.schema if columns is None else columns)
        wide = self.summary(1 - _FALSE_ALARM / len(self.values))
        told = zip(self.summary(), wide, strict=True)
        found = [one for one, sure in told if one.column in wanted and sure.low > NOTICED * self.n]
        return tuple(sorted(found, key=lambda one: -one.count))

    def warnings(self, columns: Iterable[str] | None = None) -> tuple[str, ...]:
        """One sentence for each class of cells that was noticed; empty when all is well, as far as noise lets see."""
        return tuple(one.sentence(self.schema) for one in self.noticed(columns))

    def unsigned_plain(self) -> dict[str, Any]:
        """What a ledger notes: all of it, for a screen is not signed."""
        return self.to_plain()

    def to_plain(self) -> dict[str, Any]:
        """The JSON object."""
        return {
            "screen": FORMAT,
            "id": self.id,
            "dataset": self.dataset,
            "n": self.n,
            "unit": self.calibrated_mechanism.unit,
            "entries": list(self.calibrated_mechanism.entries),
            "values": list(self.values),
            "noise": self.noise_parameters.to_plain(),
            "ledger": None if self.ledger is None else dict(self.ledger),
            "asked": self.plan.to_plain(),
            **({"typed_elsewhere": True, "assumes": list(self.guarantee.assumes)} if self.typed_elsewhere else {}),
        }

    @classmethod
    def from_plain(cls, plain: object) -> Screen:
        """Read the JSON object; refuse what is unknown, missing or contradicts itself."""
        if not isinstance(plain, dict):
            raise InputError("Expected the screen to be a JSON object.")
        check_format("screen", plain.get("screen"), FORMAT)
        try:
            values = plain["values"]
            if not isinstance(values, list):
                raise InputError("Expected values to be a list of whole numbers.")
            if any(isinstance(value, int) and value.bit_length() > LONGEST for value in values):
                raise InputError(f"Expected values to be whole numbers of at most {LONGEST} bits.")
            found = cls(
                ScreenPlan.from_plain(plain["asked"]),
                plain["n"],
                tuple(values),
                plain["dataset"],
                plain["id"],
                plain["ledger"],
                AddNoise().noise_parameters_from_plain(plain["noise"]),
                flag("typed_elsewhere", plain.get("typed_elsewhere", False)),
            )
        except KeyError as error:
            raise InputError(f"Expected the screen to have the field {error.args[0]!r}.") from None
        derived = found.to_plain()
        for name in plain:
            if name not in derived:
                raise expected("screen field", name, f"to be one of {', '.join(derived)}")
        for name, value in derived.items():
            if name not in plain or not same(plain[name], value):
                raise InputError(f"Expected the screen's {name!r} to be what its question implies.")
        return found

    def to_json(self) -> str:
        """The screen as text."""
        return json.dumps(self.to_plain(), indent=2, ensure_ascii=True, allow_nan=False) + "\n"

    @classmethod
    def load(cls, path: str | Path) -> Screen:
        """Read a screen from a file."""
        return cls.from_plain(strict_json(read_text(path, name="screen", limit=LARGEST_JSON), "screen"))

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the screen to a file, whole or not at all."""
        return write_atomically(path, self.to_json().encode(), name="screen", overwrite=overwrite)

    def check_about(self, release: Release) -> None:
        """Refuse a release with other rows, another unit or other declarations of the columns that it reads."""
        own, unit = self.plan.mechanism.person, release.plan.mechanism.person
        n = release.n if own == unit else None  # else rows, or people, count otherwise there
        people = [None if one is None else (one.id, one.max_rows) for one in (own, unit)]
        if self.dataset != release.dataset or people[0] != people[1] or n not in (None, self.n):
            raise expected("screen", self.id, f"to have the dataset, the n and the unit of release {release.id!r}")
        for name in release.plan.reads:
            if name not in self.schema or self.schema[name] != release.plan.schema[name]:
                raise expected("screen", self.id, f"to declare column {name!r} as release {release.id!r} does")


def _words(cells: str, schema: Schema, name: str) -> str:
    column = schema.declared(name)
    counts_as = f"and count as {column.missing!r}"
    if isinstance(column, Category):
        levels = ", ".join(map(repr, column.levels[:6])) + (", ..." if len(column.levels) > 6 else "")
        return {
            "missing": f"are empty, {counts_as}.",
            "unknown": f"are none of the declared levels {levels}, {counts_as}: the spelling may differ.",
        }[cells]
    return {
        "missing": f"are empty, {counts_as}.",
        "unreadable": f"hold something that is no number, {counts_as}: the column may be another one, or its numbers "
        "may be written with a comma or a unit.",
        "below": f"are below the bound {column.low:g} and are clamped to it.",
        "above": f"are above the bound {column.high:g} and are clamped to it.",
    }[cells]


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def as_screen(screen: Screen | str | Path) -> Screen:
    """A screen, or the path of one."""
    return screen if isinstance(screen, Screen) else Screen.load(screen)


Published = Release | Screen
"""What a ledger has paid for and noted, and what `Ledger.verify` can compare with the note."""


def load_published(path: str | Path) -> Published:
    """Read a release or a screen from a file, whichever it is."""
    plain = strict_json(read_text(path, name="release", limit=LARGEST_JSON), "release")
    return Screen.from_plain(plain) if isinstance(plain, dict) and "screen" in plain else Release.from_plain(plain)
