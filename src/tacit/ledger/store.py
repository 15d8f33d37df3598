"""The ledger's file: one SQLite database in rollback-journal mode, one short connection for each use.

A write takes the only write lock first (BEGIN IMMEDIATE), so what it reads cannot change before it writes. It is on the
disk when the transaction ends: synchronous = EXTRA syncs the journal, the database and, after the journal is deleted,
the folder; with FULL alone a power cut could bring the journal back and undo the entry. Whoever is killed half-way
leaves a journal, and the next process that opens the file rolls it back.

What costs time that grows with the log (reading all of it, SQLite's own check of the file) is left to `verify`; an
entry is written in the same time however many there are.

The file is never opened except through SQLite: closing another descriptor of it would drop SQLite's locks.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tacit._support.files import check_writable, write_atomically
from tacit._support.printable import spelled_out
from tacit.errors import InputError, RefusedError, expected
from tacit.ledger.chain import START, canonical, link
from tacit.ledger.formats import FORMAT, migrate, schema

_APPLICATION = 0x74616369
_BUSY_SECONDS = 60.0

_Row = tuple[object, object, object]
_Rows = list[_Row]
_Head = list[tuple[object, object]]


class Transaction:
    """The file as it stands, inside one transaction.

    ``version`` is the format in which it was found; where this one ``writes``, it has been brought up to date since.
    """

    def __init__(self, connection: sqlite3.Connection, version: int = FORMAT, *, writes: bool = False) -> None:
        self._connection = connection
        self.version, self.writes = version, writes

    def rows(self) -> _Rows:
        """(number, content, hash) of every entry; texts as bytes."""
        return self._connection.execute("SELECT number, content, hash FROM log ORDER BY number").fetchall()

    def row(self, number: int) -> list[_Row]:
        """The entry of this number, if it is there."""
        return self._connection.execute("SELECT number, content, hash FROM log WHERE number = ?", (number,)).fetchall()

    def rows_from_the_end(self) -> Iterator[_Row]:
        """The entries, the last one first; read as far as they are asked for."""
        yield from self._connection.execute("SELECT number, content, hash FROM log ORDER BY number DESC")

    def head(self) -> _Head:
        """The stored copy of the last number and hash."""
        return self._connection.execute("SELECT number, hash FROM head").fetchall()

    def append(self, number: int, previous: str, content: dict[str, Any]) -> str:
        """Add an entry after the one whose hash is ``previous``; return its hash."""
        text = canonical({**content, "entry": number})
        following = link(previous, text.encode())
        self._connection.execute("INSERT INTO log VALUES (?, ?, ?)", (number, text, following))
        self._connection.execute("DELETE FROM head")
        self._connection.execute("INSERT INTO head VALUES (?, ?)", (number, following))
        return following

    def digests(self) -> dict[str, str]:
        """The stored digest of what each account adds up to, by data set."""
        found = self._connection.execute("SELECT dataset, digest FROM accounts ORDER BY number").fetchall()
        return {_text(dataset): _text(digest) for dataset, digest in found}

    def state(self, dataset: str) -> str | None:
        """What an account adds up to, as stored."""
        found = self._connection.execute("SELECT state FROM accounts WHERE dataset = ?", (dataset,)).fetchall()
        return _text(found[0][0]) if found else None

    def keep_state(self, dataset: str, state: str, digest: str) -> None:
        """Store what an account adds up to."""
        self._connection.execute(
            "INSERT INTO accounts (dataset, state, digest) VALUES (?, ?, ?)"
            " ON CONFLICT (dataset) DO UPDATE SET state = excluded.state, digest = excluded.digest",
            (dataset, state, digest),
        )

    def released(self) -> dict[int, str]:
        """Which release each spend has, as stored."""
        found = self._connection.execute("SELECT spend, release FROM released").fetchall()
        return {spend: _text(release) for spend, release in found}

    def has_release(self, spend: int, release: str) -> tuple[bool, bool]:
        """Whether the spend has a release, and whether the release has a spend."""
        ((by_spend, by_release),) = self._connection.execute(
            "SELECT EXISTS (SELECT 1 FROM released WHERE spend = ?), EXISTS (SELECT 1 FROM released WHERE release = ?)",
            (spend, release),
        )
        return bool(by_spend), bool(by_release)

    def keep_release(self, spend: int, release: str) -> None:
        """Store which release a spend has."""
        self._connection.execute("INSERT INTO released VALUES (?, ?)", (spend, release))

    def keep_all(self, states: Iterable[tuple[str, str, str]], released: Iterable[tuple[int, str]]) -> None:
        """Store all of it again: (data set, state, digest) of each account, and (spend, release) of each release."""
        self._connection.execute("DELETE FROM accounts")
        self._connection.execute("DELETE FROM released")
        for one in states:
            self.keep_state(*one)
        self._connection.executemany("INSERT INTO released VALUES (?, ?)", list(released))

    def damage(self) -> list[str]:
        """What SQLite itself finds wrong with the file."""
        found = [str(line, "utf-8", "replace") for (line,) in self._connection.execute("PRAGMA integrity_check(5)")]
        told = ("; ".join(line.splitlines()) for line in found)  # SQLite's words may be several lines
        return [] if found == ["ok"] else [spelled_out(f"the file is damaged: {words}") for words in told]


def create(path: Path, first: dict[str, Any]) -> None:
    """Make a new ledger with one entry, whole or not at all; refuse a path where something is."""
    check_writable(path, name="ledger", overwrite=False)
    try:
        connection = sqlite3.connect(":memory:", isolation_level=None)  # no temporary folder: there may be none
        try:
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
            for statement in schema(FORMAT).values():
                connection.execute(statement)
            Transaction(connection).append(1, START, first)
            content = connection.serialize()
        finally:
            connection.close()
    except (sqlite3.Error, OSError) as error:
        raise InputError(f"Expected ledger={str(path)!r} to be writable: no draft could be made: {error}.") from None
    write_atomically(path, content, name="ledger", overwrite=False, private=True)  # SQLite's own files are as private


@contextmanager
def reading(path: Path) -> Generator[Transaction]:
    """One consistent look at the log."""
    with _translated(path, writes=False), _connection(path) as connection:
        connection.execute("BEGIN")
        yield Transaction(connection, _recognise(path, connection))


@contextmanager
def writing(path: Path) -> Generator[Transaction]:
    """The log, locked for others; on the disk when the block ends, unchanged if it raises."""
    with _translated(path, writes=True), _connection(path) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("BEGIN IMMEDIATE")
        try:
            version = _recognise(path, connection)
            migrate(connection, version)
            yield Transaction(connection, version, writes=True)
            connection.execute("COMMIT")
        except BaseException:
            # SQLite has rolled back by itself after some errors, and closing the connection rolls back in any case.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


@contextmanager
def _connection(path: Path) -> Generator[sqlite3.Connection]:
    # mode=rw: a missing file is an error, not a new and empty ledger.
    uri = f"file:{quote(str(path.absolute()))}?mode=rw"
    connection = sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
    try:
        connection.text_factory = bytes  # a damaged text must not fail to decode inside the driver
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA fullfsync = ON")
        yield connection
    finally:
        connection.close()


def _recognise(path: Path, connection: sqlite3.Connection) -> int:
    """The format of the file; refuse a database that is no ledger, or one of a format that is not known here."""
    ((application,),) = connection.execute("PRAGMA application_id")
    ((version,),) = connection.execute("PRAGMA user_version")
    if application != _APPLICATION:
        raise expected("ledger", str(path), "to be a tacit ledger; it is another kind of database")
    if not 1 <= version <= FORMAT:
        newer = "; it was written by a newer tacit" if version > FORMAT else ""
        raise expected("ledger", str(path), f"to have a format from 1 to {FORMAT}, not {version}{newer}")
    found = dict(connection.execute("SELECT name, sql FROM sqlite_master").fetchall())
    if found != {name.encode(): sql.encode() for name, sql in schema(version).items()}:
        raise expected("ledger", str(path), "to be intact; its tables or triggers have been changed")
    return version


def _text(stored: object) -> str:
    """A stored text; a damaged one is like no other."""
    return stored.decode(errors="surrogateescape") if isinstance(stored, bytes) else repr(stored)


_REASONS = {
    "SQLITE_FULL": "the disk is full",
    "SQLITE_READONLY": "it or its folder is read-only",
    "SQLITE_CANTOPEN": "it or its folder cannot be opened",
    "SQLITE_PERM": "permission is denied",
    "SQLITE_IOERR": "reading or writing it failed",
    "SQLITE_CORRUPT": "it is damaged",
    "SQLITE_BUSY": f"another process has held it for {_BUSY_SECONDS:.0f} seconds",
    "SQLITE_LOCKED": f"another process has held it for {_BUSY_SECONDS:.0f} seconds",
}


@contextmanager
def _translated(path: Path, *, writes: bool) -> Generator[None]:
    """Turn what SQLite raises into one sentence. A failed write may not be followed by a release."""
    try:
        if path.is_dir():
            raise expected("ledger", str(path), "to be a file, not a folder")
        if not path.exists():
            raise expected("ledger", str(path), "to be a file that exists; `tacit ledger new` makes one")
        yield
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
        # SQLite quotes a damaged schema in its message, which the driver may fail to decode.
        garbled = isinstance(error, UnicodeDecodeError)
        name = "SQLITE_CORRUPT" if garbled else str(getattr(error, "sqlite_errorname", ""))
        if name.startswith("SQLITE_NOTADB"):
            raise expected("ledger", str(path), "to be a tacit ledger; it is not a SQLite file") from None
        reason = next((words for code, words in _REASONS.items() if name.startswith(code)), str(error).rstrip("."))
        if writes:
            raise RefusedError(
                f"Expected ledger={str(path)!r} to record the entry: {reason}, so nothing may be released."
            ) from None
        raise InputError(f"Expected ledger={str(path)!r} to be readable: {reason}.") from None
