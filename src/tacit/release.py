"""The release: the one thing that crosses the boundary, as a versioned JSON file.

It holds randomised integers and what is needed to read them: the plan, n, the lattice unit and the distribution by
which they were drawn. What can be derived from the plan is written down as well, for readers in other languages, and
checked on the way in: a release whose numbers contradict its plan is refused.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from tacit._support.file_kinds import check_kind
from tacit._support.files import read_text, write_atomically
from tacit._support.names import check_name
from tacit._support.reading import LARGEST_JSON, check_format, same, strict_json
from tacit._support.renamed import renamed_attribute
from tacit.errors import InputError, expected
from tacit.mechanisms.mechanism import CalibratedMechanism, NoiseParameters
from tacit.mechanisms.person import ROW
from tacit.mechanisms.posterior_sample.loss import SAMPLERS
from tacit.noise.noise import Noise
from tacit.plan import Plan
from tacit.privacy.assumptions import assumed_of
from tacit.privacy.basis import Basis
from tacit.privacy.guarantees import Guarantee
from tacit.signing.keys import PrivateKey, PublicKey, as_private_key, as_public_key
from tacit.signing.signature import Checked, Signature, check_signature, make_signature

FORMAT = 1
LONGEST = 1000
"""Bits of a value in a file: no noise comes near, and a float holds it."""

_FRAME = (
    "how each cell is stored in the frame did not depend on other people's rows, as it does where types were guessed "
    "from all of them"
)
"""How files of an earlier version word what they assume of a frame."""


@dataclass(frozen=True)
class Release:
    """Randomised integers, and all that is public about them.

    ``n`` is the number of rows, or of people where each counts once; None where that is not public, and noisy like the
    sums, as under add-remove. ``dataset`` names the rows, ``id`` names this release of them. ``ledger`` says which
    ledger entry paid for it; None means that it was made without a ledger. ``simulated`` marks a release of made-up
    rows with seeded noise. ``partials`` is how many sites' exact sums were added up before the noise; 1 where the
    rows were in one place. ``typed_elsewhere`` says that the rows were not text that tacit read itself: who chose
    the types of the columns is not known, and the guarantee says what it assumes of that. ``frame`` stands in files
    of an earlier version, which
    said so of frames alone.
    ``signature`` is its maker's, from `sign`; with it or without it, it is the same release.
    """

    plan: Plan
    n: int | None
    values: tuple[int, ...]
    dataset: str
    id: str
    ledger: Mapping[str, Any] | None = None
    simulated: bool = False
    partials: int = 1
    typed_elsewhere: bool = False
    frame: bool = False
    noise_parameters: NoiseParameters = None  # type: ignore[assignment]  # by which it was drawn; the plan's own unless a file says otherwise
    signature: Signature | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        calibrated = self.calibrated_mechanism
        object.__setattr__(self, "noise_parameters", calibrated.noise_parameters)
        if not calibrated.public_n:
            if self.n is not None:
                raise InputError("Expected n to be left out: under this plan the number of rows is not public.")
        elif not _is_int(self.n) or not 1 <= (self.n or 0) < 2**53:
            raise expected("n", self.n, "to be a whole number of rows, at least 1 and below 2^53")
        if not all(_is_int(v) for v in self.values):
            raise InputError("Expected values to be whole numbers.")
        if len(self.values) != len(calibrated.entries):
            raise expected("values", len(self.values), f"numbers to be {len(calibrated.entries)}, one per entry")
        calibrated.check(self.values, self.n)
        for name in ("dataset", "id"):
            check_name(name, getattr(self, name))
        for name in ("simulated", "typed_elsewhere", "frame"):
            if not isinstance(getattr(self, name), bool):
                raise expected(name, getattr(self, name), "to be true or false")
        if not _is_int(self.partials) or self.partials < 1:
            raise expected("partials", self.partials, "to be a whole number, at least 1")
        if self.ledger is not None:
            check_receipt(self.ledger)
        if self.signature is not None and not isinstance(self.signature, Signature):
            raise expected("signature", self.signature, "to be made by Release.sign")

    def _repr_html_(self) -> str:
        from tacit.pages.notebook import release_card

        return release_card(self)

    @cached_property
    def calibrated_mechanism(self) -> CalibratedMechanism:
        """The way across the boundary that this release took."""
        return self.plan.calibrated_mechanism(self.noise_parameters)

    @property
    def entries(self) -> tuple[str, ...]:
        """The name of each value."""
        return self.calibrated_mechanism.entries

    @property
    def noisy_n(self) -> tuple[float, float]:
        """n as it was released, and the standard deviation of its noise, which is 0 where n is public."""
        if self.n is not None:
            return float(self.n), 0.0
        places, sds = self.calibrated_mechanism.row_entries, self.noise_parameters.sd  # type: ignore[attr-defined]
        value, variance = sum(self.values[i] for i in places), sum(sds[i] ** 2 for i in places)
        return value / self.unit, math.sqrt(variance) / self.unit

    @property
    def size(self) -> str:
        """How many rows or people it is about, in words; about how many, where their number has noise."""
        (number, sd), person = self.noisy_n, self.plan.mechanism.person
        people = person is not None and person.weight != ROW
        if person is not None and person.weight is None and self.n is not None:
            number /= person.max_rows
        what = "people" if people else "rows"
        if self.n is not None:
            return f"{number:,.0f} {what}"
        return f"about {max(number, 0.0):,.0f} {what} (their number has noise with a standard deviation of {sd:,.3g})"

    @property
    def unit(self) -> int:
        """The integer that stands for a real 1."""
        return self.calibrated_mechanism.unit

    @property
    def noise(self) -> Noise:
        """The noise that was added, where that is the mechanism."""
        if not isinstance(self.noise_parameters, Noise):
            raise expected("kind", self.plan.mechanism.kind, 'of [mechanism] to be "noise"')
        return self.noise_parameters

    @property
    def guarantee(self) -> Guarantee:
        """What was promised to the people in the data: the budget, what it rests on, and what it assumes."""
        disjoint = (f"nobody is in two of the {self.partials} partials",) if self.partials > 1 else ()
        framed = (_FRAME,) if self.frame else ()
        assumes = (*self.calibrated_mechanism.assumes, *disjoint, *assumed_of(self.typed_elsewhere), *framed)
        return replace(self.plan.budget, basis=self.calibrated_mechanism.basis, assumes=assumes)

    def sign(self, key: PrivateKey | str | Path) -> Release:
        """The same release with the signature of ``key``, a private key or its file; an earlier one is replaced."""
        return replace(self, signature=make_signature(self.unsigned_plain(), as_private_key(key)))

    def check_signature(self, keys: Sequence[PublicKey | str | Path] | PublicKey | str | Path = ()) -> Checked:
        """Who signed this release, as far as the public ``keys``, or their files, can tell.

        What comes back has a ``status`` (signed, unsigned, wrong; unchecked without a key) and the same in ``words``.
        """
        several = [keys] if isinstance(keys, PublicKey | str | Path) else keys
        return check_signature(self.unsigned_plain(), self.signature, [as_public_key(key) for key in several])

    law = renamed_attribute("law", "noise_parameters")
    crossing = renamed_attribute("crossing", "calibrated_mechanism")

    def to_plain(self) -> dict[str, Any]:
        """The JSON object."""
        signed = {} if self.signature is None else {"signature": self.signature.to_plain()}
        return {**self.unsigned_plain(), **signed}

    def unsigned_plain(self) -> dict[str, Any]:
        """The JSON object without a signature: what is signed, and what a ledger notes."""
        return {
            "format": FORMAT,
            "id": self.id,
            "dataset": self.dataset,
            "simulated": self.simulated,
            **({} if self.n is None else {"n": self.n}),
            "unit": self.unit,
            "entries": list(self.entries),
            "values": list(self.values),
            self.plan.central().noise_parameters_field: self.noise_parameters.to_plain(),
            "guarantee": self._guarantee_plain(),
            "ledger": None if self.ledger is None else dict(self.ledger),
            "plan": self.plan.to_plain(),
            **({"partials": self.partials} if self.partials > 1 else {}),
            **({"typed_elsewhere": True} if self.typed_elsewhere else {}),
            **({"frame": True} if self.frame else {}),
        }

    def _guarantee_plain(self) -> dict[str, Any]:
        """The guarantee as the file says it; one that was made before files said its basis stays as it was noted."""
        plain = self.guarantee.to_plain()
        return {name: value for name, value in plain.items() if name != "basis" or not self.plan.mechanism.retired}

    @classmethod
    def from_plain(cls, plain: object) -> Release:
        """Read the JSON object; refuse what is unknown, missing or contradicts its own plan."""
        if not isinstance(plain, dict):
            raise InputError("Expected the release to be a JSON object.")
        if "partial" in plain:
            raise InputError(
                "Expected a release, not a partial, which holds exact sums: keep it safe, and let tacit privatize make "
                "a release of it."
            )
        if "screen" in plain:
            raise InputError("Expected a release, not a screen, which counts cells: give it to `tacit infer --screen`.")
        check_format("release", plain.get("format"), FORMAT)
        if not isinstance(plain.get("plan"), dict):
            raise InputError("Expected the release to carry its plan.")
        try:
            values = plain["values"]
            if not isinstance(values, list):
                raise InputError("Expected values to be a list of whole numbers.")
            if any(isinstance(value, int) and value.bit_length() > LONGEST for value in values):
                raise InputError(f"Expected values to be whole numbers of at most {LONGEST} bits.")
            plan = Plan.from_plain(plain["plan"], earlier=_earlier(plain))
            if "n" not in plain and plan.calibrated_mechanism().public_n:
                raise KeyError("n")
            release = cls(
                plan=plan,
                n=plain.get("n"),
                values=tuple(values),
                dataset=plain["dataset"],
                id=plain["id"],
                ledger=plain["ledger"],
                simulated=plain["simulated"],
                partials=plain.get("partials", 1),
                typed_elsewhere=plain.get("typed_elsewhere", False),
                frame=plain.get("frame", False),
                noise_parameters=plan.central().noise_parameters_from_plain(
                    plain[plan.central().noise_parameters_field]
                ),
                signature=Signature.from_plain(plain["signature"]) if "signature" in plain else None,
            )
        except KeyError as error:
            raise InputError(f"Expected the release to have the field {error.args[0]!r}.") from None
        derived = release.to_plain()
        for name in plain:
            if name not in derived:
                raise expected("release field", name, f"to be one of {', '.join(derived)}")
        for name, value in derived.items():
            if name not in plain or not same(plain[name], value):
                raise InputError(f"Expected the release's {name!r} to be what its plan implies.")
        return release

    def to_json(self) -> str:
        """The release as text."""
        return json.dumps(self.to_plain(), indent=2, ensure_ascii=True, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Release:
        """Read a release from text."""
        return cls.from_plain(strict_json(text, "release"))

    @classmethod
    def load(cls, path: str | Path) -> Release:
        """Read a release from a file."""
        check_kind(path, "a release", "release")
        return cls.from_json(read_text(path, name="release", limit=LARGEST_JSON))

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the release to a file, whole or not at all."""
        return write_atomically(path, self.to_json().encode(), name="release", overwrite=overwrite)


def _earlier(plain: Mapping[str, Any]) -> bool:
    """Whether a release was drawn by a chain whose plan did not have to say ``assume`` yet."""
    sample, mechanism = plain.get("sample"), plain["plan"].get("mechanism")
    if not isinstance(sample, Mapping) or not isinstance(mechanism, Mapping) or "assume" in mechanism:
        return False
    return SAMPLERS.get(str(sample.get("sampler"))) is Basis.ASSUMED


def check_receipt(receipt: object) -> None:
    """Refuse what no ledger has given as its receipt; whether it is true, `tacit ledger verify` says."""
    if not isinstance(receipt, Mapping) or set(receipt) != {"ledger", "entry", "head"}:
        raise expected("ledger", receipt, "to be null, or a receipt with a ledger, an entry and a head")
    for name, digits in (("ledger", 32), ("head", 64)):
        if not isinstance(receipt[name], str) or not re.fullmatch(rf"[0-9a-f]{{{digits}}}", receipt[name]):
            raise expected(f"ledger {name}", receipt[name], f"to be {digits} hexadecimal digits")
    if not _is_int(receipt["entry"]) or not 1 <= receipt["entry"] < 2**63:
        raise expected("ledger entry", receipt["entry"], "to be a whole number, at least 1")


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def as_release(release: Release | str | Path) -> Release:
    """A release, or the path of one."""
    return release if isinstance(release, Release) else Release.load(release)


def sites_in_order(releases: Sequence[Release], *, same_rows: bool) -> list[list[Release]]:
    """The releases of each dataset together; refuse what cannot be pooled."""
    if not isinstance(same_rows, bool):
        raise expected("same_rows", same_rows, "to be True or False")
    first, sites = releases[0], {}
    for one in releases:
        if (one.plan.model, one.plan.schema) != (first.plan.model, first.plan.schema):
            raise expected("release", one.id, f"to have the model and the schema of {first.id!r} to be pooled with it")
        if one.plan.where != first.plan.where:
            raise expected("release", one.id, f"to be about rows with the same condition as those of {first.id!r}")
        sites.setdefault(one.dataset, []).append(one)
    if len({one.id for one in releases}) < len(releases):
        raise InputError("Expected every release to be given once.")
    for dataset, site in sites.items():
        if len(site) > 1 and not same_rows:
            raise expected(
                "dataset",
                dataset,
                "to belong to one release, unless same_rows=True says that they are about the same rows",
            )
        for one in site[1:]:
            if (one.n, one.plan.mechanism.person) != (site[0].n, site[0].plan.mechanism.person):
                raise expected("release", one.id, f"to have the n and the unit of privacy of {site[0].id!r}")
    if len({one.n is None for one in releases}) > 1:
        raise InputError("Expected releases to be pooled to say their number of rows all, or none of them.")
    if same_rows and len(sites) == len(releases):
        raise InputError("Expected same_rows to be left out: no two of the releases are about the same dataset.")
    return list(sites.values())


def check_disjoint(sites: int, disjoint: object) -> None:
    """Refuse to pool sites that may share people: whoever is in two of them would count twice, unseen."""
    if not isinstance(disjoint, bool):
        raise expected("disjoint", disjoint, "to be True or False")
    if sites > 1 and not disjoint:
        raise expected(
            "disjoint",
            disjoint,
            f"to be True, if nobody is in two of the {sites} datasets or surveys; the tables of two years, or of two "
            "places with the same patients, cannot be pooled",
        )
