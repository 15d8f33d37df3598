"""What the entries of a ledger add up to, from the first to the last: for each data set its events and releases."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tacit._support.printable import flaw
from tacit.errors import InputError, shown
from tacit.ledger.basis import read_basis
from tacit.ledger.chain import Entry
from tacit.ledger.privacy_unit import read_privacy_unit
from tacit.ledger.state import State
from tacit.privacy.basis import Basis
from tacit.privacy.events import Event, event_from_plain
from tacit.privacy.filter import Filter
from tacit.privacy.guarantees import Guarantee, guarantee_from_plain
from tacit.privacy.neighbours import REPLACE_ONE

UNREADABLE = (InputError, KeyError, TypeError, ValueError, ArithmeticError, RecursionError)
"""What an entry that was made up may raise when it is read or priced."""


@dataclass
class Account:
    """One data set: its ``state``, that ``before`` the last event, the ``events`` by entry number, and the releases.

    ``bases`` says what each event's price rests on; None for an entry of an earlier version that cannot tell.
    """

    state: State
    before: State
    events: dict[int, Event] = field(default_factory=dict[int, Event])
    released: dict[int, str] = field(default_factory=dict[int, str])
    bases: dict[int, Basis | None] = field(default_factory=dict[int, "Basis | None"])

    @property
    def total(self) -> Guarantee:
        """All that may be spent."""
        return self.state.total

    @property
    def unit(self) -> str:
        """The unit of privacy."""
        return self.state.unit

    @property
    def spent(self) -> list[Event]:
        """All events in the order of their entries. Those without a release count: they may have been spent."""
        return list(self.events.values())

    def spent_on(self, basis: Basis | None) -> list[Event]:
        """The events whose price rests on ``basis``."""
        return [event for number, event in self.events.items() if self.bases[number] is basis]

    def within(self) -> bool:
        """Whether the total is kept. Sums only grow: if it is kept by the last event, it was by those before."""
        return not self.events or Filter(self.total).admits(self.before.spent, self.spent[-1])

    def charge(self, number: int, event: Event) -> None:
        """Add the event of an entry, whether it fits or not."""
        self.events[number] = event
        self.before, self.state = self.state, self.state.plus(event)


def replay(entries: Iterable[Entry]) -> tuple[dict[str, Account], list[str]]:
    """The accounts by data set, and every entry that makes no sense after those before it."""
    accounts: dict[str, Account] = {}
    releases: set[str] = set()
    problems: list[str] = []
    for entry in entries:
        try:
            _apply(entry, accounts, releases)
        except UNREADABLE as error:
            reason = str(error) if isinstance(error, InputError) else "a field is missing or of the wrong kind"
            problems.append(f"entry {entry.number} makes no sense: {reason.rstrip('.')}")
    return accounts, problems


def opened(entry: Entry) -> tuple[str, State]:
    """The data set that an entry opens an account for, and its state."""
    content: Any = entry.content
    name = content["dataset"]
    if not isinstance(name, str) or flaw(name):
        raise InputError("the name of its data set is no text that is shown as itself")
    return name, State(guarantee_from_plain(content["total"]), read_privacy_unit(content["unit"]))


def _apply(entry: Entry, accounts: dict[str, Account], releases: set[str]) -> None:
    content: Any = entry.content
    if (entry.kind == "ledger") != (entry.number == 1):
        raise InputError("the first entry, and no other, names the ledger")
    match entry.kind:
        case "ledger":
            str(content["id"])
        case "dataset":
            name, state = opened(entry)
            if name in accounts:
                raise InputError(f"the data set {shown(name)} has a total already")
            accounts[name] = Account(state, state)
        case "spend":
            account, unit = accounts[content["dataset"]], read_privacy_unit(content["unit"])
            if unit != account.unit:
                raise InputError(f"its unit is {shown(unit)}, and that of the data set is {shown(account.unit)}")
            relation = content.get("neighbours", REPLACE_ONE)
            if relation != account.total.neighbours:
                own = shown(account.total.neighbours)
                raise InputError(f"its neighbours are {shown(relation)}, and those of the data set are {own}")
            event = event_from_plain(content["event"])
            account.bases[entry.number] = read_basis(event, content.get("basis"))
            account.charge(entry.number, event)
        case "released":
            account, spend, release = accounts[content["dataset"]], content["spend"], content["release"]
            if spend not in account.events or spend in account.released:
                raise InputError(f"entry {shown(spend)} is not a spend of this data set that awaits its release")
            if release in releases:
                raise InputError(f"the release {shown(release)} is there already")
            account.released[spend] = release
            releases.add(release)
        case _:
            raise InputError(f"the kind {shown(entry.kind)} is unknown")
