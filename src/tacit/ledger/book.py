"""A ledger opened at its end: what the accounts add up to, without reading the log again from its first entry."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tacit._support.canonical_json import digest
from tacit.errors import did_you_mean, expected
from tacit.ledger.accounts import UNREADABLE, Account, opened, replay
from tacit.ledger.chain import ID, LAST, START, Entry, Receipt, read_chain, read_entry
from tacit.ledger.head import today
from tacit.ledger.state import State, root
from tacit.ledger.store import Transaction
from tacit.privacy.events import Event
from tacit.privacy.neighbours import REPLACE_ONE
from tacit.version import __version__

_KEPT = "what it keeps of its accounts is not what its last spend vouches for"


class BrokenError(Exception):
    """The file is not a whole ledger; the message says why, as a part of a sentence."""


class Book:
    """The last entry and the accounts, checked, within one transaction. Raises `BrokenError` if they contradict.

    ``number`` and ``head`` are those of the last entry. How much is checked is said in `state`; `verify` checks all.
    """

    def __init__(self, log: Transaction) -> None:
        self._log = log
        self.id = ledger_id(log)
        tail, spend = _tail(log)
        self.number, self.head = tail[-1].number, tail[-1].hash
        # Where the last spend says nothing of the accounts, or it is by another version, the whole log does.
        known = log.version > 1 and (spend is None or spend.content.get("tacit") == __version__)
        self._texts = {} if known else _made_again(log)
        self._digests = log.digests() if known else {name: digest(text) for name, text in self._texts.items()}
        if known and not vouched(self._digests, tail, spend):
            raise BrokenError(_KEPT)

    def names(self) -> list[str]:
        """The data sets."""
        return list(self._digests)

    def account(self, dataset: str) -> State:
        """The account of a data set that must be there."""
        check_dataset(dataset, self._digests)
        text = self._texts.get(dataset) or self._log.state(dataset)
        try:
            if text is not None and digest(text) == self._digests[dataset]:
                return State.read(text)
        except UNREADABLE:
            pass
        raise BrokenError(_KEPT)

    def open_account(self, dataset: str, state: State) -> None:
        """Add an account."""
        self._keep(dataset, state)
        self._append("dataset", dataset=dataset, total=state.total.to_plain(), unit=state.unit)

    def charge(self, dataset: str, state: State, event: Event, plan_digest: str) -> Receipt:
        """Add a spend to the account, whether it fits or not."""
        self._keep(dataset, state.plus(event))
        return self._append(
            "spend",
            dataset=dataset,
            event=event.to_plain(),
            basis=event.basis.value,
            plan=plan_digest,
            unit=state.unit,
            **({} if state.total.neighbours == REPLACE_ONE else {"neighbours": state.total.neighbours}),
            tacit=__version__,
            state=root(self._digests),
        )

    def note(self, receipt: Receipt, release_id: str, release_digest: str) -> None:
        """Add which release a spend has paid for. It has no date: that would tell how long the rows took."""
        entry = self._receipted(receipt)
        has_release, has_spend = self._log.has_release(receipt.entry, release_id)
        if entry.kind != "spend" or has_release:
            raise expected("receipt", receipt.entry, "to be of a spend that awaits its release")
        if has_spend:
            raise expected("release_id", release_id, "to be new in this ledger")
        self._log.keep_release(receipt.entry, release_id)
        dataset = entry.content.get("dataset")
        self._append("released", dataset=dataset, spend=receipt.entry, release=release_id, digest=release_digest)

    def _receipted(self, receipt: Receipt) -> Entry:
        entry = None
        if receipt.ledger == self.id and 1 <= receipt.entry <= self.number:
            before = START if receipt.entry == 1 else _hash(self._log, receipt.entry - 1)
            found = [read_entry(row, receipt.entry, before) for row in self._log.row(receipt.entry)]
            entry = found[0] if found else f"entry {receipt.entry} is missing or unreadable"
            if isinstance(entry, str):
                raise BrokenError(entry)
        problem = receipt.disagrees(self.id, None if entry is None else entry.hash)
        if entry is None or problem:
            raise expected("receipt", receipt.entry, f"to be of this ledger; {problem}")
        return entry

    def _keep(self, dataset: str, state: State) -> None:
        text = state.text()
        self._texts[dataset], self._digests[dataset] = text, digest(text)
        self._log.keep_state(dataset, text, self._digests[dataset])

    def _append(self, kind: str, **content: Any) -> Receipt:
        """Add an entry. The date is for people to read; nothing is ever decided by it."""
        dated = {} if kind == "released" else {"date": today()}
        self.head = self._log.append(self.number + 1, self.head, {"kind": kind, **dated, **content})
        self.number += 1
        return Receipt(self.id, self.number, self.head)


def check_dataset(dataset: str, known: Mapping[str, object]) -> str:
    """``dataset`` itself, if it is one of the ``known``."""
    if dataset not in known:
        hint = did_you_mean(dataset, known)
        raise expected("dataset", dataset, f"to have a total in the ledger{hint}; `tacit ledger new` sets one")
    return dataset


def ledger_id(log: Transaction) -> str:
    """The name of the ledger, which its first entry gives it."""
    first = [read_entry(row, 1, START) for row in log.row(1)]
    if not first or isinstance(first[0], str):
        raise BrokenError(first[0] if first and isinstance(first[0], str) else "entry 1 is missing or unreadable")
    found = first[0].content.get("id")
    if not isinstance(found, str) or not ID.fullmatch(found):
        raise BrokenError("entry 1 does not say which ledger it is of")
    return found


def kept_wrongly(log: Transaction, entries: list[Entry], accounts: Mapping[str, Account]) -> list[str]:
    """What is wrong with what the file keeps of its accounts and releases, given the whole log."""
    if log.version == 1:
        return []
    spends = [entry for entry in entries if entry.kind == "spend"]
    last = spends[-1] if spends else None
    tail = entries[last.number :] if last else entries
    ours = last is None or last.content.get("tacit") == __version__
    digests = log.digests()
    problems = [] if not ours or vouched(digests, tail, last) else [_KEPT]
    if set(digests) != set(accounts) or not all(
        _kept(log, name, account.state, digests, ours) for name, account in accounts.items()
    ):
        problems.append("what it keeps of its accounts is not what its entries add up to")
    if log.released() != {spend: release for one in accounts.values() for spend, release in one.released.items()}:
        problems.append("what it keeps of its releases is not what its entries say")
    return problems


def vouched(digests: Mapping[str, str], tail: list[Entry], spend: Entry | None) -> bool:
    """Whether the last ``spend``, and the accounts opened in the ``tail`` after it, vouch for the stored accounts."""
    try:
        fresh = dict(opened(entry) for entry in tail if entry.kind == "dataset")
    except UNREADABLE:
        return False
    before = {name: one for name, one in digests.items() if name not in fresh}
    return all(digests.get(name) == digest(state.text()) for name, state in fresh.items()) and (
        before == {} if spend is None else spend.content.get("state") == root(before)
    )


def _kept(log: Transaction, dataset: str, state: State, digests: Mapping[str, str], ours: bool) -> bool:
    text = log.state(dataset)
    try:
        return text is not None and digest(text) == digests[dataset] and State.read(text).agrees(state, sums=ours)
    except UNREADABLE:
        return False


def _tail(log: Transaction) -> tuple[list[Entry], Entry | None]:
    """The entries from the last spend on, or all if there is none, in order and linked; and that spend."""
    rows: list[tuple[object, object, object]] = []
    for row in log.rows_from_the_end():
        rows.append(row)
        if _is_spend(row[1]):
            break
    rows.reverse()
    start = len(rows) and rows[0][0]
    if not isinstance(start, int) or start < 1:
        raise BrokenError("entry 1 is missing or unreadable")
    previous = START if start == 1 else _hash(log, start - 1)
    entries: list[Entry] = []
    for position, row in enumerate(rows, start=start):
        entry = read_entry(row, position, previous)
        if isinstance(entry, str):
            raise BrokenError(entry)
        entries.append(entry)
        previous = entry.hash
    if log.head() != [(entries[-1].number, previous.encode())]:
        raise BrokenError(LAST)
    return entries, entries[0] if entries[0].kind == "spend" else None


def _is_spend(content: object) -> bool:
    try:
        plain = json.loads(content) if isinstance(content, bytes) else None
    except (ValueError, RecursionError):
        return False
    return isinstance(plain, dict) and plain.get("kind") == "spend"


def _hash(log: Transaction, number: int) -> str:
    found = log.row(number)
    if not found or not isinstance(found[0][2], bytes):
        raise BrokenError(f"entry {number} is missing or unreadable")
    return found[0][2].decode("ascii", errors="replace")


def _made_again(log: Transaction) -> dict[str, str]:
    """Check the whole file; what its entries add up to, which a writer stores."""
    entries, problems = read_chain(log.rows(), log.head())
    accounts, nonsense = replay(entries)
    if problems := log.damage() + problems + nonsense:
        raise BrokenError(problems[0])
    texts = {name: account.state.text() for name, account in accounts.items()}
    if log.writes:
        log.keep_all(
            [(name, text, digest(text)) for name, text in texts.items()],
            [pair for account in accounts.values() for pair in account.released.items()],
        )
    return texts
