"""Reports: what people's devices sent, as a versioned Parquet file with a public header.

A file holds one or more groups. The reports of a group were made under one plan; groups of one file share the model and
the schema and may differ in budget and protocol. Files can be merged. A report says nothing about who sent it, and the
order of reports is not kept.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tacit._support.files import check_readable, write_atomically
from tacit._support.integer_columns import MOST_NUMBERS, open_columns
from tacit._support.names import check_name
from tacit._support.reading import check_format, flag, read_list, read_table, strict_json, whole
from tacit.errors import InputError, expected
from tacit.plan import Plan
from tacit.privacy.assumptions import assumed_of
from tacit.privacy.guarantees import ApproxDP
from tacit.protocols.client import Client
from tacit.protocols.protocol import Protocol
from tacit.protocols.registry import protocol_from_plain

FORMAT = 1
_KEY = b"tacit"
_MOST_GROUPS = 256  # they share a model and a schema, and differ in budget or protocol
_OPTIONAL = ("typed_elsewhere",)
_MISFIT = (
    "Expected the reports to be as many and as wide as their header says, and every report to belong to a group of it."
)


@dataclass(frozen=True, eq=False)
class Group:
    """Reports (N, m) under one plan, and the protocol that made them."""

    plan: Plan
    protocol: Protocol
    values: Any

    def __post_init__(self) -> None:
        _ = self.client
        self.protocol.check_reports(self.values)

    @cached_property
    def client(self) -> Client:
        """The device's side; refuses a protocol that does not meet the plan's budget."""
        return self.plan.client(self.protocol)

    @property
    def n(self) -> int:
        """How many reports there are."""
        return len(self.values)

    def to_plain(self) -> dict[str, Any]:
        """The public header of the group."""
        return {"plan": self.plan.to_plain(), "protocol": self.protocol.to_plain(), "n": self.n}


@dataclass(frozen=True, eq=False)
class Reports:
    """What a collector holds: groups of reports, and nothing else about anybody.

    ``dataset`` names the survey; ``simulated`` marks reports about made-up people. ``typed_elsewhere`` marks reports of
    a table (see `randomize_rows`) that was not text which tacit read itself, as in a release.
    """

    groups: tuple[Group, ...]
    dataset: str
    simulated: bool = False
    typed_elsewhere: bool = False

    def __post_init__(self) -> None:
        check_name("dataset", self.dataset)
        if not self.groups or not sum(group.n for group in self.groups):
            raise InputError("Expected the reports to be at least one.")
        if len(self.groups) > _MOST_GROUPS:
            raise expected("groups", len(self.groups), f"of reports to be at most {_MOST_GROUPS}")
        flag("simulated", self.simulated)
        flag("typed_elsewhere", self.typed_elsewhere)
        first = self.groups[0].plan
        for group in self.groups:
            if (group.plan.model, group.plan.schema) != (first.model, first.schema):
                raise InputError("Expected all groups of reports to have one model and one schema.")

    @property
    def assumes(self) -> tuple[str, ...]:
        """What the promise takes on trust of a table that the reports were made of."""
        return assumed_of(self.typed_elsewhere)

    @property
    def plan(self) -> Plan:
        """The plan of the first group; all of them have its model and its schema."""
        return self.groups[0].plan

    @property
    def n(self) -> int:
        """How many reports there are in all."""
        return sum(group.n for group in self.groups)

    @property
    def id(self) -> str:
        """A name that the reports themselves give."""
        return hashlib.sha256(json.dumps(self.header(), sort_keys=True).encode() + self._content()).hexdigest()[:32]

    def _repr_html_(self) -> str:
        from tacit.pages.notebook import reports_card

        return reports_card(self)

    def warnings(self) -> tuple[str, ...]:
        """What the sender of a report should know."""
        found: list[str] = []
        for group in self.groups:
            budget = group.plan.budget
            if isinstance(budget, ApproxDP) and budget.delta * group.n > 0.01:
                found.append(
                    f"delta times the number of reports is {budget.delta * group.n:.2g}: so many people may expect to "
                    "be left without the promise. It should be far below 1."
                )
        return tuple(found)

    def header(self) -> dict[str, Any]:
        """The public header."""
        return {
            "format": FORMAT,
            "dataset": self.dataset,
            "simulated": self.simulated,
            "groups": [group.to_plain() for group in self.groups],
            **_typed(self.typed_elsewhere),
        }

    def publish(self) -> PublishedReports:
        """The header, for what is made of the reports."""
        return PublishedReports(
            self.dataset,
            self.id,
            self.simulated,
            tuple(group.plan for group in self.groups),
            tuple(group.protocol for group in self.groups),
            tuple(group.n for group in self.groups),
            self.typed_elsewhere,
        )

    def _content(self) -> bytes:
        import numpy as np

        return b"".join(np.sort(np.asarray(group.values, np.int64), axis=0).tobytes() for group in self.groups)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write a Parquet file, whole or not at all."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.parquet as pq

        width = max(group.protocol.reports.size for group in self.groups)
        rows = self.n
        if rows * (width + 1) > MOST_NUMBERS:
            raise expected("reports", rows, f"to hold at most {MOST_NUMBERS} numbers; save them in several files")
        columns: dict[str, Any] = {"group": np.repeat(np.arange(len(self.groups)), [g.n for g in self.groups])}
        for j in range(width):
            cells = [
                np.asarray(g.values)[:, j].astype(np.int64) if j < g.protocol.reports.size else np.zeros(g.n, np.int64)
                for g in self.groups
            ]
            columns[f"report_{j}"] = np.concatenate(cells)
        # Sorted by content: the order in which reports came in is nobody's business.
        order = np.lexsort(tuple(columns[name] for name in reversed(columns)))
        table = pa.table({name: pa.array(values[order]) for name, values in columns.items()})
        table = table.replace_schema_metadata({_KEY: json.dumps(self.header(), ensure_ascii=True)})
        assert table.num_rows == rows
        buffer = io.BytesIO()
        pq.write_table(table, buffer, compression="zstd")
        return write_atomically(path, buffer.getvalue(), name="reports", overwrite=overwrite)

    @classmethod
    def load(cls, path: str | Path) -> Reports:
        """Read a file of reports; refuse what is broken, newer, or impossible under its own protocol."""
        import numpy as np

        source = check_readable(path, name="reports")
        with open_columns(source) as table:
            if _KEY not in table.metadata:
                raise expected("reports", str(path), "to be a file of reports, whole and unchanged")
            header = read_header(strict_json(table.metadata[_KEY], "header of the reports"))
            counts = [group.n for group in header.groups]
            width = max(group.protocol.reports.size for group in header.groups)
            names = ["group", *(f"report_{j}" for j in range(width))]
            if table.rows != sum(counts) or set(table.names) != set(names):
                raise InputError(_MISFIT)
            member = table.read("group")
            inside = member.min() >= 0 and member.max() < len(counts)
            if not inside or np.bincount(member, minlength=len(counts)).tolist() != counts:
                raise InputError(_MISFIT)
            own = np.split(np.argsort(member, kind="stable"), np.cumsum(counts)[:-1])
            values = [np.empty((group.n, group.protocol.reports.size), np.int64) for group in header.groups]
            for j, name in enumerate(names[1:]):
                column = table.read(name)
                for rows, array in zip(own, values, strict=True):
                    if j < array.shape[1]:
                        array[:, j] = column[rows]
        groups = (Group(one.plan, one.protocol, array) for one, array in zip(header.groups, values, strict=True))
        return cls(tuple(groups), header.dataset, header.simulated, header.typed_elsewhere)

    @classmethod
    def merge(cls, parts: Iterable[Reports], *, dataset: str | None = None) -> Reports:
        """All reports of several files; groups with one plan and one protocol become one."""
        import numpy as np

        given = list(parts)
        if not given:
            raise InputError("Expected at least one file of reports to merge.")
        found: dict[str, list[Group]] = {}
        for group in (group for part in given for group in part.groups):
            key = json.dumps([group.plan.to_plain(), group.protocol.to_plain()], sort_keys=True)
            found.setdefault(key, []).append(group)
        groups = [
            Group(same[0].plan, same[0].protocol, np.concatenate([np.asarray(group.values) for group in same]))
            for same in found.values()
        ]
        simulated, typed = any(part.simulated for part in given), any(part.typed_elsewhere for part in given)
        return cls(tuple(groups), dataset or given[0].dataset, simulated, typed)


@dataclass(frozen=True)
class GroupHeader:
    """What a header says of one group."""

    plan: Plan
    protocol: Protocol
    n: int


@dataclass(frozen=True)
class Header:
    """What the header of a file of reports says."""

    dataset: str
    simulated: bool
    groups: tuple[GroupHeader, ...]
    typed_elsewhere: bool


def read_header(plain: object) -> Header:
    """Read the public header of a file of reports, strictly."""
    if not isinstance(plain, dict) or "format" not in plain:
        raise InputError("Expected the header of the reports to say its format.")
    check_format("reports", plain["format"], FORMAT)
    table = read_table("header of the reports", plain, ("format", "dataset", "simulated", "groups"), _OPTIONAL)
    dataset, simulated = check_name("dataset", table["dataset"]), flag("simulated", table["simulated"])
    return Header(dataset, simulated, _groups(table), _read_typed(table))


def _typed(typed_elsewhere: bool) -> dict[str, Any]:
    return {"typed_elsewhere": True} if typed_elsewhere else {}


def _read_typed(table: dict[str, Any]) -> bool:
    return flag("typed_elsewhere", table.get("typed_elsewhere", False))


def _groups(table: dict[str, Any]) -> tuple[GroupHeader, ...]:
    found: list[GroupHeader] = []
    for plain in read_list("groups", table["groups"], _MOST_GROUPS):
        group = read_table("group of reports", plain, ("plan", "protocol", "n"))
        plan, protocol = Plan.from_plain(group["plan"]), protocol_from_plain(group["protocol"])
        plan.client(protocol)  # refuses a protocol that does not meet the plan's budget
        found.append(GroupHeader(plan, protocol, whole("n", group["n"], 0, 2**53)))
    if not sum(group.n for group in found):
        raise InputError("Expected the reports to be at least one.")
    return tuple(found)


@dataclass(frozen=True)
class PublishedReports:
    """What a posterior keeps of reports: their public header. The reports themselves stay with the collector."""

    dataset: str
    id: str
    simulated: bool
    plans: tuple[Plan, ...]
    protocols: tuple[Protocol, ...]
    counts: tuple[int, ...]
    typed_elsewhere: bool = False

    @property
    def assumes(self) -> tuple[str, ...]:
        """As `Reports.assumes`."""
        return assumed_of(self.typed_elsewhere)

    @property
    def plan(self) -> Plan:
        """The plan of the first group."""
        return self.plans[0]

    @property
    def n(self) -> int:
        """How many reports there were in all."""
        return sum(self.counts)

    def to_plain(self) -> dict[str, Any]:
        """As it stands in a posterior."""
        groups = [
            {"plan": plan.to_plain(), "protocol": protocol.to_plain(), "n": n}
            for plan, protocol, n in zip(self.plans, self.protocols, self.counts, strict=True)
        ]
        plain = {"reports": self.id, "dataset": self.dataset, "simulated": self.simulated, "groups": groups}
        return {**plain, **_typed(self.typed_elsewhere)}

    @classmethod
    def from_plain(cls, plain: object) -> PublishedReports:
        """Read what `to_plain` wrote, strictly."""
        table = read_table("reports", plain, ("reports", "dataset", "simulated", "groups"), _OPTIONAL)
        groups = _groups(table)
        return cls(
            check_name("dataset", table["dataset"]),
            check_name("id", table["reports"]),
            flag("simulated", table["simulated"]),
            tuple(group.plan for group in groups),
            tuple(group.protocol for group in groups),
            tuple(group.n for group in groups),
            _read_typed(table),
        )


def as_reports(reports: Reports | str | Path) -> Reports:
    """Reports, or the path of a file of them."""
    return reports if isinstance(reports, Reports) else Reports.load(reports)


def is_reports_file(path: object) -> bool:
    """Whether a path is that of a file of reports, by its suffix."""
    return isinstance(path, str | Path) and Path(path).suffix.lower() in (".parquet", ".pq")
