"""A plan says in public what will be released, before any row is read: model, schema, budget, mechanism.

A plan is a value. It reads from and writes to TOML without loss, and everything that the release will cost or contain
(the statistic, its sensitivity, the noise, the privacy event) follows from it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from tacit._support.file_kinds import check_kind
from tacit._support.files import read_text, write_atomically
from tacit._support.printable import flaw
from tacit._support.reading import LARGEST_TOML, strict_toml
from tacit._support.renamed import renamed_attribute
from tacit.errors import InputError, did_you_mean, expected, one_thing
from tacit.expressions.derive import RowFilter, row_filter_of, with_derived
from tacit.mechanisms.add_noise import AddNoise, NoisySums
from tacit.mechanisms.local import Local
from tacit.mechanisms.mechanism import CalibratedMechanism, Central, Mechanism, NoiseParameters
from tacit.mechanisms.registry import DEFAULT, default_mechanism, mechanism_from_plain
from tacit.mechanisms.request import Request
from tacit.models.model import Model
from tacit.models.registry import DRAWN, FAMILIES, OWN, SCORED
from tacit.models.regression import Regression
from tacit.noise.noise import Noise
from tacit.privacy.basis import Basis
from tacit.privacy.events import Event
from tacit.privacy.guarantees import Guarantee, guarantee_from_plain
from tacit.privacy.neighbours import REPLACE_ONE
from tacit.privacy.sensitivity import Sensitivity
from tacit.protocols.local_randomizer import LocalRandomizer
from tacit.protocols.protocol import Protocol
from tacit.schema import Number, Schema
from tacit.statistics.statistic import Statistic

_LONGEST_TITLE = 100
_WRITTEN = {
    "model": 'a model such as tacit.LinearRegression("y ~ x") or tacit.Mean("x")',
    "schema": 'a schema such as tacit.Schema(age=(18, 100), smoker=["no", "yes"])',
    "budget": "a guarantee such as tacit.PureDP(epsilon=1.0); ApproxDP, ZCDP, GDP and RenyiDP are others",
    "mechanism": "a mechanism such as tacit.AddNoise(), or to be left out",
}
# A title stands above what is promised, so it must not read like a promise, nor like a line of what `check` prints.
_PROMISES = re.compile(r"[:=]|epsilon|privat|privacy|anonym", re.IGNORECASE)


@dataclass(frozen=True)
class Plan:
    """What will be released, about what, and under which guarantee.

    A ``mechanism`` that is left out is the default one of the model (`default_mechanism`). ``title`` is what a report
    about it is called; it promises nothing, and changes nothing that is released. ``derive`` declares columns that
    follow from others of the same row, such as ``{"visited": "visits > 0"}``; they then stand in ``schema``, too.
    ``where`` is a condition for the rows that count.

    ```pycon
    >>> plan = tacit.Plan(tacit.Bernoulli("smoker"), tacit.Schema(smoker=["no", "yes"]), tacit.PureDP(epsilon=1.0))
    >>> plan.reads
    ('smoker',)

    ```
    """

    model: Model
    schema: Schema
    budget: Guarantee
    mechanism: Mechanism = field(default=cast("Mechanism", None))
    title: str | None = None
    derive: Mapping[str, Any] = field(default=cast("Mapping[str, Any]", None), compare=False)  # schema compares it
    where: str | None = None

    def __post_init__(self) -> None:
        _check_title(self.title)
        if isinstance(self.schema, Schema):
            if cast("Mapping[str, Any] | None", self.derive) is not None:
                object.__setattr__(self, "schema", with_derived(self.schema, self.derive))
            object.__setattr__(self, "derive", self.schema.derived_plain())
        if cast("Mechanism | None", self.mechanism) is None:
            known = isinstance(self.model, Model) and isinstance(self.schema, Schema)
            object.__setattr__(self, "mechanism", default_mechanism(self.model, self.schema) if known else AddNoise())
        if isinstance(self.model, Model):
            object.__setattr__(self, "model", self.model.settled(checked=isinstance(self.mechanism, AddNoise)))
        for name, kind in (("model", Model), ("schema", Schema), ("budget", Guarantee), ("mechanism", Mechanism)):
            if not isinstance(getattr(self, name), kind):
                raise expected(name, one_thing(getattr(self, name)), f"to be {_WRITTEN[name]}")
        if self.budget.assumes:
            raise expected("assumes", self.budget.assumes, "to be empty: a plan's budget assumes nothing of its own")
        if self.budget.basis is not Basis.PROVED:
            raise expected(
                "basis", self.budget.basis.value, "to be left out of a budget: it follows from the mechanism"
            )
        if self.budget.neighbours != REPLACE_ONE and not self.mechanism.takes_add_remove:
            raise expected(
                "neighbours",
                self.budget.neighbours,
                f'to be "{REPLACE_ONE}" for [mechanism] kind = "{self.mechanism.kind}": its proof is about replacing',
            )
        if self.mechanism.person is not None and self.mechanism.person.id in self.schema:
            raise expected("id", self.mechanism.person.id, "not to be declared in the schema as well")
        for name, column in self.schema.items():
            if isinstance(column, Number) and not (column.clamp or self.mechanism.takes_unclamped):
                raise expected("clamp", False, f"of column {name!r} to be left out: this mechanism clamps every number")
        if isinstance(self.model, Regression):
            self.model.check_offsets(self.schema, taken=self.mechanism.takes_offsets)
        if self.row_filter is not None and not self.mechanism.takes_add_remove:
            raise expected(
                "rows",
                self.where,
                f'of [where] to be left out for [mechanism] kind = "{self.mechanism.kind}": its proof is about tables '
                "in which every row counts",
            )
        _ = self._calibrated  # refuses what does not fit together, long before data is near

    def _repr_html_(self) -> str:
        from tacit.pages.notebook import plan_card

        return plan_card(self)

    @cached_property
    def row_filter(self) -> RowFilter | None:
        """The rows that count; None: all of them."""
        return None if self.where is None else row_filter_of(self.schema, self.where)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that what is released is made of: those of the table, and those that are derived from them."""
        return self._calibrated.columns

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns of the table, or of a person's record, that are read."""
        return self.schema.read_for(
            (*self.columns, *(() if self.row_filter is None else sorted(self.row_filter.named)))
        )

    def event(self) -> Event:
        """What one release costs, or one person's report, from public parameters alone."""
        return self._calibrated.event()

    @property
    def filled(self) -> bool:
        """Whether rows of stand-ins count for people who have few: nothing is inferred from such sums."""
        person = self.mechanism.person
        return person is not None and person.filled and self.calibrated_mechanism().fills

    @property
    def promise(self) -> Guarantee:
        """The budget as it is kept: what it rests on, and what it takes for granted beyond the program being right."""
        if not isinstance(self.mechanism, Central):
            return self.budget
        return replace(
            self.budget, basis=self.calibrated_mechanism().basis, assumes=self.calibrated_mechanism().assumes
        )

    @property
    def _request(self) -> Request:
        return Request(self.model, self.schema, self.budget, filtered=self.row_filter is not None)

    @cached_property
    def _calibrated(self) -> CalibratedMechanism | LocalRandomizer:
        """What meets the budget. Calibrated once, when the plan is made, and kept with the plan, also by pickle."""
        return self.mechanism.calibrated(self._request)

    def calibrated_mechanism(self, noise_parameters: NoiseParameters | None = None) -> CalibratedMechanism:
        """The way across the boundary: what is read, released and paid; ``noise_parameters`` is one that a release
        says it had.
        """
        mechanism, own = self.central(), self._calibrated
        assert isinstance(own, CalibratedMechanism)
        return (
            own
            if noise_parameters in (None, own.noise_parameters)
            else mechanism.checked(self._request, noise_parameters)
        )

    def central(self) -> Central:
        """The mechanism of a plan that a trusted holder of all rows carries out."""
        if not isinstance(self.mechanism, Central):
            raise expected("kind", self.mechanism.kind, "of [mechanism] to be one that makes releases of all rows")
        return self.mechanism

    def local_randomizer(self, protocol: Protocol | None = None) -> LocalRandomizer:
        """What one person's device does; ``protocol`` is one that reports say they had."""
        if not isinstance(self.mechanism, Local):
            raise expected("kind", self.mechanism.kind, f'of [mechanism] to be "{Local.kind}"')
        assert isinstance(self._calibrated, LocalRandomizer)
        return self.mechanism.answered(self._calibrated, self.budget, protocol)

    def statistic(self) -> Statistic:
        """What is summed over the rows."""
        return self._noisy_sums().statistic

    def sensitivity(self) -> Sensitivity:
        """How far replacing one unit of privacy, a row or a person, moves the statistic."""
        return self._noisy_sums().sensitivity

    def noise(self) -> Noise:
        """The noise that meets the budget."""
        return self._noisy_sums().noise

    def _noisy_sums(self) -> NoisySums:
        calibrated = self.calibrated_mechanism()
        if not isinstance(calibrated, NoisySums):
            raise expected("kind", self.mechanism.kind, f'of [mechanism] to be "{AddNoise.kind}"')
        return calibrated

    crossing = renamed_attribute("crossing", "calibrated_mechanism")
    client = renamed_attribute("client", "local_randomizer")

    def to_plain(self) -> dict[str, Any]:
        """Plain tables, as they stand in a plan file."""
        plain: dict[str, Any] = {
            **({} if self.title is None else {"title": self.title}),
            "model": self.model.to_plain(),
            "schema": self.schema.to_plain(),
            **({"derive": self.schema.derived_plain()} if self.schema.derived else {}),
            **({} if self.where is None else {"where": {"rows": self.where}}),
            "budget": self.budget.to_plain(),
        }
        return plain if self.mechanism == AddNoise() else {**plain, "mechanism": self.mechanism.to_plain()}

    @classmethod
    def from_plain(cls, tables: Mapping[str, Any], *, earlier: bool = False) -> Plan:
        """Read plain tables; every key must be known. ``earlier``: of a release of draws that are no longer made."""
        known = ("model", "schema", "budget", "mechanism", "derive", "where")
        title = tables.get("title") if isinstance(tables, Mapping) else None
        if not isinstance(tables, Mapping):
            raise expected("plan", tables, "to be a mapping of tables")
        tables = {name: table for name, table in tables.items() if name != "title"}
        for name in tables:
            if name not in known:
                raise expected("plan table", name, f"to be one of {', '.join(known)}{did_you_mean(name, known)}")
        for name in known:
            if name in tables and not isinstance(tables[name], Mapping):
                raise expected(name, tables[name], "to be a table")
        for name in known[:3]:
            if name not in tables:
                raise InputError(f"Expected the plan to have a [{name}] table.")
        _refuse_blanks(tables)
        where = tables.get("where")
        if where is not None and set(where) != {"rows"}:
            raise expected("where", sorted(where), 'to have one key: rows = "a condition"')
        model = _model_from_plain(tables["model"])
        schema = with_derived(Schema(tables["schema"]), tables.get("derive", {}))
        said = dict(tables.get("mechanism", {"kind": AddNoise.kind}))
        if said.get("kind") == DEFAULT:
            said["kind"] = default_mechanism(model, schema).kind
        else:
            model = model.settled(checked=False)
        return cls(
            model=model,
            schema=schema,
            budget=guarantee_from_plain(tables["budget"]),
            mechanism=mechanism_from_plain(said, earlier=earlier),
            title=title,
            where=None if where is None else where["rows"],
        )

    def to_toml(self) -> str:
        """The plan as text; `Plan.from_toml` gives back an equal plan."""
        import tomli_w

        return _LIST.sub(_on_one_line, tomli_w.dumps(self.to_plain()))

    @classmethod
    def from_toml(cls, text: str) -> Plan:
        """Read a plan from text."""
        return cls.from_plain(strict_toml(text, "plan"))

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """Read a plan from a file."""
        check_kind(path, "a plan", "plan")
        return cls.from_toml(read_text(path, name="plan", limit=LARGEST_TOML))

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the plan to a file."""
        return write_atomically(path, self.to_toml().encode(), name="plan", overwrite=overwrite)


def _check_title(title: object) -> None:
    """A title is one line that is shown as it is; a blank one is a plan that is not filled in yet."""
    if title is None:
        return
    if not isinstance(title, str) or not title.strip() or len(title) > _LONGEST_TITLE:
        raise expected("title", title, f"to be a line of 1 to {_LONGEST_TITLE} characters, or to be left out")
    if flawed := flaw(title):
        raise expected("title", title, f"to hold no {flawed}")
    if _PROMISES.search(title):
        words = "epsilon, private, privacy or anonymous"
        raise expected("title", title, f'to promise nothing: it may hold no ":", no "=" and none of {words}')


def _refuse_blanks(tables: Mapping[str, Any]) -> None:
    """Refuse what `tacit init` leaves to be filled in, all of it in one sentence."""
    blanks = [
        f"{key} of [{table}]"
        for table, content in tables.items()
        for key, value in content.items()
        if isinstance(value, str | list) and not value
    ]
    if blanks:
        rest = f" and {len(blanks) - 6} more" if len(blanks) > 6 else ""
        raise InputError(
            f"Expected the blanks of the plan to be filled in, or their lines deleted: {', '.join(blanks[:6])}{rest}."
        )


def _model_from_plain(table: Mapping[str, Any]) -> Model:
    families = {**FAMILIES, **SCORED, **OWN, **DRAWN}
    if "family" not in table:
        raise InputError(f"Expected [model] to say its family: one of {', '.join(families)}.")
    family = table["family"]
    if not isinstance(family, str) or family not in families:
        raise expected("family", family, f"to be one of {', '.join(families)}{did_you_mean(family, families)}")
    return families[family].from_plain({k: v for k, v in table.items() if k != "family"})


def as_plan(plan: Plan | str | Path) -> Plan:
    """A plan, or the path of one."""
    return plan if isinstance(plan, Plan) else Plan.load(plan)


_LIST = re.compile(r"= \[\n((?:    (?![\[{])[^\n]+,\n)+)\]")
"""A list of plain values, each on a line of its own, as `tomli_w` writes it."""


def _on_one_line(found: re.Match[str]) -> str:
    values = ", ".join(line.strip().removesuffix(",") for line in found[1].splitlines())
    return f"= [{values}]" if len(values) <= 100 else found[0]
