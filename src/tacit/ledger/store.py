"""The ledger's file: one SQLite database in rollback-journal mode, one short connection for each use.

A write takes the only write lock first (BEGIN IMMEDIATE), so what it reads cannot change before it writes. It is on the
disk when the transaction ends: synchronous = EXTRA syncs the journal, the database and, after the journal is deleted,
the folder; with FULL alone a power cut could bring the journal back and undo the entry. Whoever is killed half-way
leaves a journal, and the next process that opens the file rolls it back.

The file is never opened except through SQLite: closing another descriptor of it would drop SQLite's locks.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from tacit.errors import InputError, RefusedError, expected
from tacit.files import check_writable, write_atomically
from tacit.ledger.chain import START, canonical, link

FORMAT = 1
_APPLICATION = 0x74616369
_BUSY_SECONDS = 60.0

_SCHEMA = {
    "log": "CREATE TABLE log (number INTEGER PRIMARY KEY, content TEXT NOT NULL, hash TEXT NOT NULL)",
    "head": "CREATE TABLE head (number INTEGER PRIMARY KEY, hash TEXT NOT NULL)",
    "log_grows_by_one": "CREATE TRIGGER log_grows_by_one BEFORE INSERT ON log"
    " WHEN NEW.number IS NOT (SELECT coalesce(max(number), 0) + 1 FROM log)"
    " BEGIN SELECT raise(ABORT, 'the ledger only grows'); END",
    "log_never_changes": "CREATE TRIGGER log_never_changes BEFORE UPDATE ON log"
    " BEGIN SELECT raise(ABORT, 'the ledger only grows'); END",
    "log_never_shrinks": "CREATE TRIGGER log_never_shrinks BEFORE DELETE ON log"
    " BEGIN SELECT raise(ABORT, 'the ledger only grows'); END",
}

_Rows = list[tuple[object, object, object]]
_Head = list[tuple[object, object]]


class Transaction:
    """The log as it stands, inside one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self) -> _Rows:
        """(number, content, hash) of every entry; texts as bytes."""
        return self._connection.execute("SELECT number, content, hash FROM log ORDER BY number").fetchall()

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

    def damage(self) -> list[str]:
        """What SQLite itself finds wrong with the file."""
        found = [str(line, "utf-8", "replace") for (line,) in self._connection.execute("PRAGMA integrity_check(5)")]
        return [] if found == ["ok"] else [f"the file is damaged: {line}" for line in found]


def create(path: Path, first: dict[str, Any]) -> None:
    """Make a new ledger with one entry, whole or not at all; refuse a path where something is."""
    check_writable(path, name="ledger", overwrite=False)
    try:
        with TemporaryDirectory() as folder:
            draft = Path(folder) / "ledger"
            connection = sqlite3.connect(draft, isolation_level=None)
            try:
                connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                connection.execute(f"PRAGMA user_version = {FORMAT}")
                for statement in _SCHEMA.values():
                    connection.execute(statement)
                Transaction(connection).append(1, START, first)
            finally:
                connection.close()
            content = draft.read_bytes()
    except (sqlite3.Error, OSError) as error:
        raise InputError(f"Expected ledger={str(path)!r} to be writable: no draft could be made: {error}.") from None
    write_atomically(path, content, name="ledger", overwrite=False)


@contextmanager
def reading(path: Path) -> Generator[Transaction]:
    """One consistent look at the log."""
    with _translated(path, writes=False), _connection(path) as connection:
        connection.execute("BEGIN")
        _recognise(path, connection)
        yield Transaction(connection)


@contextmanager
def writing(path: Path) -> Generator[Transaction]:
    """The log, locked for others; on the disk when the block ends, unchanged if it raises."""
    with _translated(path, writes=True), _connection(path) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("BEGIN IMMEDIATE")
        try:
            _recognise(path, connection)
            yield Transaction(connection)
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


def _recognise(path: Path, connection: sqlite3.Connection) -> None:
    """Refuse a database that is no ledger, or one of a format that this version does not know."""
    ((application,),) = connection.execute("PRAGMA application_id")
    ((version,),) = connection.execute("PRAGMA user_version")
    if application != _APPLICATION:
        raise expected("ledger", str(path), "to be a tacit ledger; it is another kind of database")
    if version != FORMAT:
        newer = "; it was written by a newer tacit" if version > FORMAT else ""
        raise expected("ledger", str(path), f"to have format {FORMAT}, not {version}{newer}")
    found = dict(connection.execute("SELECT name, sql FROM sqlite_master").fetchall())
    if found != {name.encode(): sql.encode() for name, sql in _SCHEMA.items()}:
        raise expected("ledger", str(path), "to be intact; its tables or triggers have been changed")


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
        # UnicodeDecodeError: SQLite's own message quotes what is damaged.
        name = (
            "SQLITE_CORRUPT" if isinstance(error, UnicodeDecodeError) else str(getattr(error, "sqlite_errorname", ""))
        )
        if name.startswith("SQLITE_NOTADB"):
            raise expected("ledger", str(path), "to be a tacit ledger; it is not a SQLite file") from None
        reason = next((words for code, words in _REASONS.items() if name.startswith(code)), str(error).rstrip("."))
        if writes:
            raise RefusedError(
                f"Expected ledger={str(path)!r} to record the entry: {reason}, so nothing may be released."
            ) from None
        raise InputError(f"Expected ledger={str(path)!r} to be readable: {reason}.") from None
