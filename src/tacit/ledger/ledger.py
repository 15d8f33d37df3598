"""The ledger: totals are set once, each release is paid for before its first row is read, and nothing is taken back."""

from __future__ import annotations

import secrets
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tacit._support.names import check_name
from tacit.errors import InputError, RefusedError, expected
from tacit.ledger import store
from tacit.ledger.accounts import Account, replay
from tacit.ledger.balance import Balance, balance, check_delta
from tacit.ledger.book import Book, BrokenError, check_dataset, kept_wrongly, ledger_id
from tacit.ledger.chain import HASH, Entry, Receipt, read_chain
from tacit.ledger.head import Head, heads_of, today
from tacit.ledger.privacy_unit import unit_of
from tacit.ledger.published import disagreements
from tacit.ledger.state import State
from tacit.privacy.events import Event
from tacit.privacy.filter import Filter
from tacit.privacy.guarantees import Guarantee
from tacit.privacy.neighbours import REPLACE_ONE

if TYPE_CHECKING:
    from tacit.cell_screen import Published


class Ledger:
    """The ledger in the file ``path``, which must be there; `Ledger.create` makes one.

    Any number of processes may share the file. Every method is one transaction, and no connection outlives it. ``id``
    names this ledger in receipts, and so in releases.

    ```pycon
    >>> ledger = tacit.Ledger.create("ledger.db")
    >>> ledger.new_dataset("survey", tacit.PureDP(epsilon=2.0))
    >>> ledger.left("survey").left.symbols
    'epsilon = 2'

    ```
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        with store.reading(self.path) as log:
            try:
                self.id = ledger_id(log)
            except BrokenError as broken:
                raise self.not_intact(str(broken)) from None

    @classmethod
    def create(cls, path: str | Path) -> Self:
        """Make a new ledger without data sets, readable by its owner alone; refuse a path where something is."""
        store.create(
            Path(path), {"kind": "ledger", "format": store.FORMAT, "id": secrets.token_hex(16), "date": today()}
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
        It also says a neighbour relation, and pays for releases under that relation alone.
        """
        check_name("dataset", name)
        unit = unit_of(person)
        Filter(total)
        if total.assumes:
            raise expected("assumes", total.assumes, "to be empty: a total assumes nothing of its own")
        with self._writing() as book:
            if name in book.names():
                symbols = book.account(name).total.symbols
                raise expected("dataset", name, f"to be new; its total is {symbols} and cannot be changed")
            book.open_account(name, State(total, unit))

    def spend(
        self, dataset: str, event: Event, plan_digest: str, person: str | None = None, neighbours: str = REPLACE_ONE
    ) -> Receipt:
        """Charge ``event`` to ``dataset``; it is on the disk when this returns. Only then may the first row be read.

        An event that does not fit is refused, and nothing is written. What has been charged stays charged, also if no
        release comes of it: budget that may have been spent counts as spent. ``person`` is as in `new_dataset`: a
        release that protects rows cannot be paid from a total about persons, nor the other way round. Nor is one whose
        price is for other ``neighbours`` than the total's.
        """
        if not isinstance(event, Event):
            raise expected("event", event, "to be an event of tacit.privacy.events")
        _check_digest("plan_digest", plan_digest)
        unit = unit_of(person)
        with self._writing() as book:
            account = book.account(dataset)
            if unit != account.unit:
                how = "without --person" if person is None else f"with --person {person}"
                raise expected(
                    "unit",
                    unit,
                    f"of this release to be {account.unit!r}, the unit of privacy of dataset {dataset!r}; "
                    f"`tacit ledger new` {how} and another name opens an account for it",
                )
            if neighbours != account.total.neighbours:
                whose = f"the neighbour relation of dataset {dataset!r}: an account has one"
                raise expected("neighbours", neighbours, f"of this release to be {account.total.neighbours!r}, {whose}")
            total = Filter(account.total)
            try:
                why = None if total.admits(account.spent, event) else total.why_not(account.spent, event)
            except ArithmeticError:
                raise BrokenError(_beyond(dataset)) from None
            if why is not None:
                raise RefusedError(f"Expected dataset={dataset!r} to have room for this release: {why}.")
            # The block ends before the caller gets this, and with it the transaction.
            return book.charge(dataset, account, event, plan_digest)

    def record_release(self, receipt: Receipt, release_id: str, release_digest: str) -> None:
        """Note which release a `spend` has paid for: once for each receipt, and each release id once."""
        check_name("release_id", release_id)
        _check_digest("release_digest", release_digest)
        with self._writing() as book:
            book.note(receipt, release_id, release_digest)

    @property
    def head(self) -> str:
        """The hash of the last entry, which stands for the whole ledger so far."""
        with self._reading() as book:
            return book.head

    def receipt(self) -> Head:
        """How far the ledger has come. Keep its ``line`` elsewhere, to give to `verify` later."""
        with self._reading() as book:
            return Head(self.id, book.number, book.head, today())

    def datasets(self) -> dict[str, Guarantee]:
        """The total of each data set."""
        with self._reading() as book:
            return {name: book.account(name).total for name in book.names()}

    def units(self) -> dict[str, str]:
        """The unit of privacy of each data set: ``row``, or ``person:`` and the column that says whose a row is."""
        with self._reading() as book:
            return {name: book.account(name).unit for name in book.names()}

    def spends(self, dataset: str) -> int:
        """How often ``dataset`` has been charged."""
        with self._reading() as book:
            return book.account(dataset).spent.count

    def entries(self, dataset: str | None = None) -> list[Entry]:
        """The log, in order: all of it, or what concerns one data set."""
        history = self._read()
        if dataset is None:
            return history.entries
        history.account(dataset)
        return [entry for entry in history.entries if entry.content.get("dataset") == dataset]

    def left(self, dataset: str, delta: float | None = None) -> Balance:
        """What is left of the total of ``dataset`` and what has been spent, under each definition.

        Of approximate DP at ``delta``, or at the total's delta; with neither, nothing is said of it.
        """
        return self._balance(dataset, self._read().account(dataset), delta)

    def standing(self, delta: float | None = None) -> tuple[list[Entry], list[Balance]]:
        """The whole log and the balance of every data set, read at one moment."""
        history = self._read()
        return history.entries, [self._balance(name, account, delta) for name, account in history.accounts.items()]

    def verify(
        self,
        published: Iterable[Receipt] = (),
        releases: Mapping[str, Published] | None = None,
        head: Head | str | Path | Sequence[Head] = (),
    ) -> list[str]:
        """Every problem found: the file, the chain, the sense of each entry, the totals, and what was published.

        This reads the whole ledger, which a spend does not. ``published`` are receipts to find again. ``releases`` are
        whole releases, or screens, to compare with what was noted of them, by the names that the answer is to use, such
        as those of their files. ``head`` is what `receipt` gave before, or several of it, its line, or a file of such
        lines: the ledger must still hold all that it held then.
        """
        heads = [head] if isinstance(head, Head) else heads_of(head) if isinstance(head, str | Path) else list(head)
        try:
            with store.reading(self.path) as log:
                problems = log.damage()
                entries, broken = read_chain(log.rows(), log.head())
                accounts, nonsense = replay(entries)
                problems += broken + nonsense
                if not problems:
                    problems += kept_wrongly(log, entries, accounts)
        except InputError as error:
            return [str(error)]
        for name, account in accounts.items():
            try:
                if not account.within():
                    problems.append(f"the data set {name!r} has spent more than its total, {account.total.symbols}")
            except (ArithmeticError, ValueError):
                problems.append(_beyond(name))
        problems += [problem for one in (*published, *heads) if (problem := one.contradicts(entries))]
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

    def _balance(self, dataset: str, account: Account, delta: float | None) -> Balance:
        """How an account stands; entries that were made up may hold numbers that no price can be computed from."""
        if delta is not None:
            check_delta(delta)
        try:
            return balance(dataset, account, delta)
        except (ArithmeticError, ValueError):
            raise self.not_intact(_beyond(dataset)) from None

    def _read(self) -> _History:
        with store.reading(self.path) as log:
            return _History(self, log)

    @contextmanager
    def _reading(self) -> Generator[Book]:
        with store.reading(self.path) as log:
            try:
                yield self._book(log)
            except BrokenError as broken:
                raise self.not_intact(str(broken)) from None

    @contextmanager
    def _writing(self) -> Generator[Book]:
        with store.writing(self.path) as log:
            try:
                yield self._book(log)
            except BrokenError as broken:
                raise RefusedError(str(self.not_intact(str(broken)))) from None

    def _book(self, log: store.Transaction) -> Book:
        book = Book(log)
        if book.id != self.id:
            raise BrokenError("another ledger has taken its place")
        return book

    def not_intact(self, problem: str) -> InputError:
        """The error for a ledger that cannot be trusted."""
        return InputError(f"Expected ledger={str(self.path)!r} to be intact: {problem}.")


@dataclass(init=False)
class _History:
    """All entries, checked, and the accounts that follow from them."""

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

    def account(self, dataset: str) -> Account:
        """The account of a data set that must be there."""
        return self.accounts[check_dataset(dataset, self.accounts)]


def _beyond(dataset: str) -> str:
    """What is wrong with an account that somebody made up, of numbers that no price can be computed from."""
    return f"what was spent of {dataset!r} is beyond all prices that can be computed"


def _check_digest(what: str, digest: object) -> None:
    if not isinstance(digest, str) or not HASH.fullmatch(digest):
        raise expected(what, digest, "to be 64 hexadecimal digits, as `digest` makes them")
