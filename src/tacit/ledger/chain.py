"""The hash chain: every entry's hash covers its content and, through the hash before it, everything earlier.

    hash_i = SHA-256(hash_(i-1) + content_i),    hash_0 = 64 zeros

with content_i the entry as canonical JSON (sorted keys, no spaces, ASCII) and hashes in lower-case hexadecimal. The
chain does not stop anybody from writing another ledger from scratch. What it does: whoever holds a published hash can
tell that something at or before that entry has been changed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacit._support.canonical_json import canonical as canonical
from tacit._support.canonical_json import digest as digest
from tacit.errors import InputError, expected

START = "0" * 64
LAST = "the last entry is not the one that the ledger names as its last"
HASH = re.compile(r"[0-9a-f]{64}")
ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class Entry:
    """One line of the log: its ``number`` from 1 on, what it says, and its place in the chain."""

    number: int
    content: Mapping[str, Any]
    hash: str

    @property
    def kind(self) -> str:
        """ledger, dataset, spend or released."""
        return str(self.content.get("kind"))

    def to_plain(self) -> dict[str, Any]:
        """A JSON table."""
        return {**self.content, "hash": self.hash}


@dataclass(frozen=True)
class Receipt:
    """A point of the chain to publish: the id of the ``ledger``, the number of an ``entry``, and ``head``, its hash."""

    ledger: str
    entry: int
    head: str

    def to_plain(self) -> dict[str, Any]:
        """What a release carries."""
        return {"ledger": self.ledger, "entry": self.entry, "head": self.head}

    @classmethod
    def from_plain(cls, plain: object) -> Receipt:
        """Read what a release carries."""
        if not isinstance(plain, Mapping) or set(plain) != {"ledger", "entry", "head"}:
            raise InputError("Expected the receipt to have a ledger, an entry and a head, and nothing else.")
        ledger, entry, head = plain["ledger"], plain["entry"], plain["head"]
        if not isinstance(ledger, str) or not ID.fullmatch(ledger):
            raise expected("ledger", ledger, "of the receipt to be 32 hexadecimal digits")
        if isinstance(entry, bool) or not isinstance(entry, int) or entry < 1:
            raise expected("entry", entry, "of the receipt to be a whole number, at least 1")
        if not isinstance(head, str) or not HASH.fullmatch(head):
            raise expected("head", head, "to be 64 hexadecimal digits")
        return cls(ledger, entry, head)

    def contradicts(self, entries: Sequence[Entry]) -> str | None:
        """What in ``entries`` is not as it was when this receipt was given; None if nothing is."""
        there = 1 <= self.entry <= len(entries)
        known = str(entries[0].content.get("id")) if entries else ""
        return self.disagrees(known, entries[self.entry - 1].hash if there else None)

    def disagrees(self, ledger: str, head: str | None) -> str | None:
        """The same of the ``ledger`` with this id, where the entry's hash is ``head``, or the entry is not there."""
        if ledger != self.ledger:
            return "the receipt is of another ledger"
        if head is None:
            return f"entry {self.entry} of the receipt is not there"
        if head != self.head:
            return f"entry {self.entry} or one before it is not what it was when the receipt was given"
        return None


def link(previous: str, content: bytes) -> str:
    """The hash of an entry."""
    return hashlib.sha256(previous.encode() + content).hexdigest()


def read_chain(
    rows: Sequence[tuple[object, object, object]], head: Sequence[tuple[object, object]]
) -> tuple[list[Entry], list[str]]:
    """The entries up to the first break, and what is wrong with the chain.

    ``rows`` are (number, content, hash) as stored, texts as bytes. ``head`` is the stored copy of the last number and
    hash: without it a file that lost its last entries would still look whole.
    """
    entries: list[Entry] = []
    previous = START
    for position, row in enumerate(rows, start=1):
        entry = read_entry(row, position, previous)
        if isinstance(entry, str):
            return entries, [entry]
        entries.append(entry)
        previous = entry.hash
    if not entries or list(head) != [(len(entries), previous.encode())]:
        return entries, [LAST]
    return entries, []


def read_entry(row: tuple[object, object, object], position: int, previous: str) -> Entry | str:
    """The entry that a stored row is, if its place in the chain is right; else what is wrong with it."""
    number, content, stored = row
    if number != position or not isinstance(content, bytes) or not isinstance(stored, bytes):
        return f"entry {position} is missing or unreadable"
    found = link(previous, content)
    if stored != found.encode():
        return f"entry {position} does not match its hash"
    try:
        plain = json.loads(content)
    except (ValueError, RecursionError):
        plain = None
    if not isinstance(plain, dict) or plain.get("entry") != position:
        return f"entry {position} does not say which entry it is"
    return Entry(position, plain, found)
