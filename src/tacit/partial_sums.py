"""Partials: exact sums of one site, to be added to those of other sites before the noise.

Several sites that trust one party, or each other, may add up first and add noise once: the noise is then that of one
release, not of one a site. A partial is what a site hands to that party. It holds exact sums, which protect nobody: it
is as sensitive as the rows, its name must end in ``.partial``, only its owner may read the file, and `infer` refuses
it. `privatize` is what makes a release of partials.

Proof: the release of partials of n_1, ..., n_k rows is the release of the table in which all these rows stand, because
sums of whole numbers are exact however they are grouped. Two pooled tables in which one person's row is replaced have
the same n = n_1 + ... + n_k and sums that differ by no more than the sensitivity of the statistic, so the guarantee of
the plan holds for everybody in the pool, if nobody is in two partials. Only n has to be public, and under add-remove
not even that, as the sums have it: the n of each site stays in its partial. Somebody who is in m of the partials gets
the guarantee for m replaced rows instead. []
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit._support.files import read_text, write_atomically
from tacit._support.names import check_name
from tacit._support.reading import LARGEST_JSON, same, strict_json
from tacit.errors import InputError, expected
from tacit.plan import Plan
from tacit.schema import Number, Schema
from tacit.statistics.accumulator import Sums
from tacit.statistics.statistic import Statistic
from tacit.version import __version__

FORMAT = 2
SUFFIX = ".partial"
WARNING = (
    "SENSITIVE: exact sums over people's rows, without noise. They protect nobody. Guard this file like the rows, "
    "never publish it, and delete it when `tacit privatize` has made a release of it."
)


@dataclass(frozen=True)
class Measure:
    """What the totals of a partial are in: sums on other lattices, or of other entries, can not be added up.

    ``unit`` is the whole number that stands for 1, ``entries`` are the names of the sums. ``probe`` is a checksum of
    what the statistic makes of a few made-up rows, so that another map is told even where all names are equal.
    ``version`` is the tacit that made it.
    """

    unit: int
    entries: tuple[str, ...]
    probe: str
    version: str

    @classmethod
    def of(cls, plan: Plan) -> Measure:
        """What this tacit takes the totals of ``plan`` in."""
        statistic = _statistic(plan)
        return cls(statistic.unit, statistic.entries, _probe(statistic, plan.schema), __version__)

    def fits(self, other: Measure) -> bool:
        """Whether sums in both can be added up, whoever made them."""
        return (self.unit, self.entries, self.probe) == (other.unit, other.entries, other.probe)


def _statistic(plan: Plan) -> Statistic:
    """What the rows of a plan are added up to; refuses a plan that has no such sums."""
    if plan.calibrated_mechanism().passes > 1:
        raise expected(
            "kind",
            plan.mechanism.kind,
            "of [mechanism] to read rows once, for a partial: let sites release, and pool",
        )
    sums = plan.calibrated_mechanism().accumulator()
    if not isinstance(sums, Sums):
        kind = plan.mechanism.kind
        raise expected("kind", kind, "of [mechanism] to be one whose rows are added up, for a partial")
    return sums.statistic


@dataclass(frozen=True)
class Partial:
    """The exact ``totals`` of a plan's statistic over the ``n`` rows of ``dataset``, in ``measure``. Secret.

    ``typed_elsewhere`` is as in a release. Where nobody says, as in files of an earlier version, it is so.
    """

    plan: Plan
    n: int
    totals: tuple[int, ...]
    dataset: str
    id: str
    measure: Measure
    typed_elsewhere: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "totals", tuple(self.totals))
        if not isinstance(self.typed_elsewhere, bool):
            raise expected("typed_elsewhere", "...", "to be true or false")
        for name in ("dataset", "id"):
            check_name(name, getattr(self, name))
        least = 1 if self.plan.calibrated_mechanism().public_n else 0
        if not _is_int(self.n) or not least <= self.n < 2**53:
            raise expected("n", "...", f"to be a whole number of rows, at least {least} and below 2^53")
        own = Measure.of(self.plan)
        if not self.measure.fits(own):
            made = f"that its plan has in this version of tacit, {own.version}; make it again"
            raise InputError(f"Expected the partial to be on the lattice, and of the entries, {made}.")
        entries = len(own.entries)
        if len(self.totals) != entries or not all(_is_int(total) for total in self.totals):
            raise InputError(f"Expected the partial's totals to be {entries} whole numbers, one per entry.")
        if any(abs(total) > self.n * _statistic(self.plan).largest for total in self.totals):
            raise InputError(
                "Expected the partial's totals to be sums of its rows, none of which can add so much as they say."
            )

    def __repr__(self) -> str:
        """Without the numbers: they are secret."""
        return f"Partial(dataset={self.dataset!r}, id={self.id!r})"

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write it to a file that only its owner may read."""
        check_suffix(path)
        content = {
            "sensitive": WARNING,
            "partial": FORMAT,
            "id": self.id,
            "dataset": self.dataset,
            "n": self.n,
            "totals": list(self.totals),
            "version": self.measure.version,
            "unit": self.measure.unit,
            "entries": list(self.measure.entries),
            "probe": self.measure.probe,
            "plan": self.plan.to_plain(),
            "typed_elsewhere": self.typed_elsewhere,
        }
        text = json.dumps({**content, "sha256": _digest(content)}, indent=2, ensure_ascii=True, allow_nan=False) + "\n"
        return write_atomically(path, text.encode(), name="partial", overwrite=overwrite, private=True)

    @classmethod
    def load(cls, path: str | Path) -> Partial:
        """Read one from a file."""
        check_suffix(path)
        text = read_text(path, name="partial", limit=LARGEST_JSON)
        plain: Any = None
        with contextlib.suppress(InputError):
            plain = strict_json(text, "partial")
        # No message below shows what stands in the file: it is secret.
        measured = {"version", "unit", "entries", "probe"}
        known = {"sensitive", "partial", "id", "dataset", "n", "totals", "plan", "sha256", *measured}
        said = set(plain) - {"typed_elsewhere", "frame"} if isinstance(plain, dict) else set[str]()
        if said == known - measured:
            raise expected("partial", str(path), f"to be of format {FORMAT}, with its lattice; run tacit partial again")
        if said != known or not same(plain["partial"], FORMAT):
            raise expected("partial", str(path), f"to be a whole file that tacit partial wrote, of format {FORMAT}")
        if plain.pop("sha256") != _digest(plain):
            raise expected("partial", str(path), "to be as tacit partial wrote it; it was changed since")
        if not isinstance(plain["totals"], list) or not isinstance(plain["entries"], list):
            raise expected("partial", str(path), "to hold a list of totals and one of entries")
        plan = Plan.from_plain(plain["plan"])
        measure = Measure(plain["unit"], tuple(plain["entries"]), plain["probe"], plain["version"])
        typed = plain.get("typed_elsewhere", True)
        return cls(plan, plain["n"], tuple(plain["totals"]), plain["dataset"], plain["id"], measure, typed)


def check_suffix(path: object) -> None:
    """Refuse a name that does not say what the file is."""
    if not isinstance(path, str | os.PathLike) or not str(path).endswith(SUFFIX):
        raise expected("partial", str(path), f"to end in {SUFFIX}, so that nobody takes it for a release")


def as_partials(data: Any) -> list[Partial] | None:
    """The partials that ``data`` is, or None where it is rows."""
    several = list(data) if isinstance(data, list | tuple) else [data]
    marked = [isinstance(one, Partial) or (isinstance(one, str | os.PathLike) and _is_path(one)) for one in several]
    if not any(marked):
        return None
    if not all(marked):
        raise InputError("Expected data to be either rows or partials, not both.")
    return [one if isinstance(one, Partial) else Partial.load(one) for one in several]


def check_pool(partials: Sequence[Partial], plan: Plan) -> None:
    """Refuse partials that can not be added up."""
    own = Measure.of(plan)
    for one in partials:
        if one.plan != plan or not one.measure.fits(own):
            raise expected("partial", one.dataset, "to be made with the very plan that it is to be released by")
    if len({one.id for one in partials}) < len(partials) or len({one.dataset for one in partials}) < len(partials):
        raise InputError("Expected every dataset to be in one partial, as nobody may be counted twice.")


def _probe(statistic: Statistic, schema: Schema) -> str:
    """A checksum of what each of a few made-up rows adds: at the bounds, in between, and at levels."""
    import numpy as np

    cells: dict[str, Any] = {}
    for place, name in enumerate(statistic.columns):
        column = schema.declared(name)
        if isinstance(column, Number):
            shares = np.array([0, 1, 0.5, 0.25, 0.3141592653589793, 0.7, 0.9, 1 / 3])
            cells[name] = np.roll(column.low + shares * (column.high - column.low), place).clip(column.low, column.high)
        else:
            cells[name] = (np.arange(8) + place) % len(column.levels)
    added = [statistic.batch_sum({name: values[i : i + 1] for name, values in cells.items()}) for i in range(8)]
    return _digest({"rows": added})


def _is_path(one: str | os.PathLike[str]) -> bool:
    return str(one).endswith(SUFFIX)


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _digest(content: dict[str, Any]) -> str:
    plain = json.dumps(content, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(plain.encode()).hexdigest()
