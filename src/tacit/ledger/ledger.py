"""The ledger: totals are set once, each release is paid for before its first row is read, and nothing is taken back."""

from __future__ import annotations

import secrets
import time
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tacit.errors import InputError, RefusedError, did_you_mean, expected
from tacit.ledger import store
from tacit.ledger.accounts import Account, replay
from tacit.ledger.balance import Balance, balance
from tacit.ledger.chain import HASH, Entry, Receipt, read_chain
from tacit.ledger.published import disagreements
from tacit.ledger.unit import unit_of
from tacit.names import check_name
from tacit.privacy.events import Event
from tacit.privacy.filter import Filter
from tacit.privacy.guarantees import Guarantee

if TYPE_CHECKING:
    from tacit.release import Release


class Ledger:
    """The ledger in the file ``path``, which must be there; `Ledger.create` makes one.

    Any number of processes may share the file. Every method is one transaction, and no connection outlives it. ``id``
    names this ledger in receipts, and so in releases.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        with store.reading(self.path) as log:
            entries, problems = read_chain(log.rows(), log.head())
        if not entries:
            raise self.not_intact(problems[0])
        self.id = str(entries[0].content.get("id"))

    @classmethod
    def create(cls, path: str | Path) -> Self:
        """Make a new ledger without data sets; refuse a path where something is already."""
        store.create(
            Path(path), {"kind": "ledger", "format": store.FORMAT, "id": secrets.token_hex(16), "time": _now()}
        )
        return cls(path)

    @classmethod
    def open_or_create(cls, path: str | Path) -> Self:
        """The ledger at ``path``, made first if nothing is there."""
        if not Path(path).exists():
            try:
                return cls.create(path)
            except InputError:
                if not Path(path).exists():  # else another process has just made it
                    raise
        return cls(path)

    def new_dataset(self, name: str, total: Guarantee, person: str | None = None) -> None:
        """Set the ``total`` of a new data set. It can never be changed.

        It holds for each row or, with ``person``, for all rows of each person: the column that says whose a row is.
        """
        check_name("dataset", name)
        unit = unit_of(person)
        Filter(total)
        if total.assumes:
            raise expected("assumes", total.assumes, "to be empty: a total assumes nothing of its own")
        with self._writing() as book:
            if name in book.accounts:
                symbols = book.accounts[name].total.symbols
                raise expected("dataset", name, f"to be new; its total is {symbols} and cannot be changed")
            book.append("dataset", dataset=name, total=total.to_plain(), unit=unit)

    def spend(self, dataset: str, event: Event, plan_digest: str, person: str | None = None) -> Receipt:
        """Charge ``event`` to ``dataset``; it is on the disk when this returns. Only then may the first row be read.

        An event that does not fit is refused, and nothing is written. What has been charged stays charged, also if no
        release comes of it: budget that may have been spent counts as spent. ``person`` is as in `new_dataset`: a
        release that protects rows cannot be paid from a total about persons, nor the other way round.
        """
        if not isinstance(event, Event):
            raise expected("event", event, "to be an event of tacit.privacy.events")
        _check_digest("plan_digest", plan_digest)
        unit = unit_of(person)
        with self._writing() as book:
            account = book.account(dataset)
            if unit != account.unit:
                raise expected(
                    "unit", unit, f"of this release to be {account.unit!r}, the unit of privacy of dataset {dataset!r}"
                )
            total = Filter(account.total)
            if not total.admits(account.spent, event):
                why = total.why_not(account.spent, event)
                raise RefusedError(f"Expected dataset={dataset!r} to have room for this release: {why}.")
            # The block ends before the caller gets this, and with it the transaction.
            content = {"event": event.to_plain(), "basis": event.basis.value, "plan": plan_digest, "unit": unit}
            return book.append("spend", dataset=dataset, **content)

    def record_release(self, receipt: Receipt, release_id: str, release_digest: str) -> None:
        """Note which release a `spend` has paid for: once for each receipt, and each release id once."""
        check_name("release_id", release_id)
        _check_digest("release_digest", release_digest)
        with self._writing() as book:
            if problem := receipt.contradicts(book.entries):
                raise expected("receipt", receipt.entry, f"to be of this ledger; {problem}")
            dataset = book.entries[receipt.entry - 1].content.get("dataset")
            account = book.accounts.get(str(dataset))
            if account is None or receipt.entry not in account.events or receipt.entry in account.released:
                raise expected("receipt", receipt.entry, "to be of a spend that awaits its release")
            if any(release_id in other.released.values() for other in book.accounts.values()):
                raise expected("release_id", release_id, "to be new in this ledger")
            book.append("released", dataset=dataset, spend=receipt.entry, release=release_id, digest=release_digest)

    @property
    def head(self) -> str:
        """The hash of the last entry, which stands for the whole ledger so far."""
        return self._read().entries[-1].hash

    def datasets(self) -> dict[str, Guarantee]:
        """The total of each data set."""
        return {name: account.total for name, account in self._read().accounts.items()}

    def units(self) -> dict[str, str]:
        """The unit of privacy of each data set: ``row``, or ``person:`` and the column that says whose a row is."""
        return {name: account.unit for name, account in self._read().accounts.items()}

    def entries(self, dataset: str | None = None) -> list[Entry]:
        """The log, in order: all of it, or what concerns one data set."""
        book = self._read()
        if dataset is None:
            return book.entries
        book.account(dataset)
        return [entry for entry in book.entries if entry.content.get("dataset") == dataset]

    def left(self, dataset: str, delta: float | None = None) -> Balance:
        """What is left of the total of ``dataset`` and what has been spent, under each definition.

        Of approximate DP at ``delta``, or at the total's delta; with neither, nothing is said of it.
        """
        return balance(dataset, self._read().account(dataset), delta)

    def standing(self, delta: float | None = None) -> tuple[list[Entry], list[Balance]]:
        """The whole log and the balance of every data set, read at one moment."""
        book = self._read()
        return book.entries, [balance(name, account, delta) for name, account in book.accounts.items()]

    def verify(self, published: Iterable[Receipt] = (), releases: Mapping[str, Release] | None = None) -> list[str]:
        """Every problem found: the file, the chain, the sense of each entry, the totals, and what was published.

        ``published`` are receipts to find again. ``releases`` are whole releases to compare with what was noted of
        them, by the names that the answer is to use, such as those of their files.
        """
        try:
            with store.reading(self.path) as log:
                problems = log.damage()
                entries, broken = read_chain(log.rows(), log.head())
        except InputError as error:
            return [str(error)]
        accounts, nonsense = replay(entries)
        problems += broken + nonsense
        for name, account in accounts.items():
            if not account.within():
                problems.append(f"the data set {name!r} has spent more than its total, {account.total.symbols}")
        problems += [problem for receipt in published if (problem := receipt.contradicts(entries))]
        return problems + disagreements(entries, releases or {})

    def to_plain(self, delta: float | None = None) -> dict[str, Any]:
        """A JSON table of how every data set stands."""
        entries, balances = self.standing(delta)
        return {
            "ledger": self.id,
            "entries": len(entries),
            "head": entries[-1].hash,
            "datasets": [balance.to_plain() for balance in balances],
        }

    def _read(self) -> _Book:
        with store.reading(self.path) as log:
            return _Book(self, log)

    @contextmanager
    def _writing(self) -> Generator[_Book]:
        with store.writing(self.path) as log:
            try:
                book = _Book(self, log)
                # An entry on a damaged page could be lost again with it.
                if damage := log.damage():
                    raise self.not_intact(damage[0])
            except InputError as error:
                raise RefusedError(str(error)) from None
            yield book

    def not_intact(self, problem: str) -> InputError:
        """The error for a ledger that cannot be trusted."""
        return InputError(f"Expected ledger={str(self.path)!r} to be intact: {problem}.")


@dataclass(init=False)
class _Book:
    """The entries, checked, and the accounts that follow from them, within one transaction."""

    entries: list[Entry]
    accounts: dict[str, Account]

    def __init__(self, ledger: Ledger, log: store.Transaction) -> None:
        self.entries, problems = read_chain(log.rows(), log.head())
        self.accounts, nonsense = replay(self.entries)
        problems += nonsense
        if self.entries and self.entries[0].content.get("id") != ledger.id:
            problems.append("another ledger has taken its place")
        if problems:
            raise ledger.not_intact(problems[0])
        self._ledger, self._log = ledger, log

    def account(self, dataset: str) -> Account:
        """The account of a data set that must be there."""
        if dataset not in self.accounts:
            hint = did_you_mean(dataset, self.accounts)
            raise expected("dataset", dataset, f"to have a total in the ledger{hint}; `tacit ledger new` sets one")
        return self.accounts[dataset]

    def append(self, kind: str, **content: Any) -> Receipt:
        """Add an entry. The time is for people to read; nothing is ever decided by it."""
        number = len(self.entries) + 1
        head = self._log.append(number, self.entries[-1].hash, {"kind": kind, "time": _now(), **content})
        return Receipt(self._ledger.id, number, head)


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time()))


def _check_digest(what: str, digest: object) -> None:
    if not isinstance(digest, str) or not HASH.fullmatch(digest):
        raise expected(what, digest, "to be 64 hexadecimal digits, as `digest` makes them")
