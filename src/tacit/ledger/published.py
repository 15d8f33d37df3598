"""Whether published releases are what the ledger has paid for and noted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tacit.errors import InputError
from tacit.ledger.chain import Entry, Receipt, digest
from tacit.ledger.unit import unit_of

if TYPE_CHECKING:
    from tacit.screen_release import Published


def disagreements(entries: Sequence[Entry], releases: Mapping[str, Published]) -> list[str]:
    """Every way in which ``releases``, by the names that the answer is to use, disagree with the ledger.

    The spend that a release's receipt points to must have the release's data set, plan, unit of privacy and price, and
    the note about that spend must have its id and digest. Without a note nothing is known of the numbers in the
    release; that is a problem too, and it is said apart. A copy of a release is no second release.
    """
    problems: list[str] = []
    first: dict[tuple[str, int], tuple[str, str]] = {}
    for name, release in releases.items():
        if release.ledger is None:
            problems.append(f"release {name!r} has no receipt")
            continue
        try:
            receipt = Receipt.from_plain(release.ledger)
        except InputError as error:
            problems.append(f"release {name!r} has a receipt that no ledger gave: {str(error).rstrip('.')}")
            continue
        content = digest(release.unsigned_plain())  # a signature may be added later
        other, seen = first.setdefault((receipt.ledger, receipt.entry), (name, content))
        if seen != content:
            problems.append(
                f"releases {other!r} and {name!r} differ and show the same receipt, of entry {receipt.entry}"
            )
        problems += [f"release {name!r}: {problem}" for problem in _problems(entries, release, receipt, content)]
    return problems


def _problems(entries: Sequence[Entry], release: Published, receipt: Receipt, content: str) -> list[str]:
    if contradiction := receipt.contradicts(entries):
        return [contradiction]
    number = receipt.entry
    spend = entries[number - 1]
    if spend.kind != "spend":
        return [f"entry {number}, which its receipt points to, is not a spend"]
    unit = release.plan.mechanism.person
    said = {
        "dataset": release.dataset,
        "plan": digest(release.plan.to_plain()),
        "unit": unit_of(None if unit is None else unit.id),
        "event": release.plan.event().to_plain(),
    }
    labels = {"dataset": "data set", "plan": "plan", "unit": "unit of privacy", "event": "price"}
    problems = [
        f"entry {number} paid for another {labels[field]}"
        for field, value in said.items()
        if spend.content.get(field) != value
    ]
    note = next((e for e in entries if e.kind == "released" and e.content.get("spend") == number), None)
    if note is None:
        problems.append(f"not noted: the ledger charged for entry {number} but knows no release that came of it")
    elif note.content.get("release") != release.id:
        problems.append(f"entry {number} paid for the release with the id {note.content.get('release')!r}")
    elif note.content.get("digest") != content:
        problems.append(f"its content is not what entry {note.number} noted")
    return problems
