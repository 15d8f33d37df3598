"""The formats of a ledger's file, the newest one, and the way from each to the next.

Format 1   the log, and a copy of its last number and hash
Format 2   besides: what each account adds up to (`accounts`), and which spend has which release (`released`). Both
           follow from the log. They are there so that an entry need not read the whole log.

A file of an older format is read as it is. The first entry that is written to it brings it up to date, in the same
transaction. To add a format, add what its file has to `_ADDED`; what must be filled in from the log is made by
`Book`, which makes everything again after a migration. Keep a file of the format before in ``tests/formats``. A new
field in the content of entries needs no new format: the hash covers it, and readers take what they know.
"""

from __future__ import annotations

import sqlite3

_ADDED: dict[int, dict[str, str]] = {
    1: {
        "log": "CREATE TABLE log (number INTEGER PRIMARY KEY, content TEXT NOT NULL, hash TEXT NOT NULL)",
        "head": "CREATE TABLE head (number INTEGER PRIMARY KEY, hash TEXT NOT NULL)",
        "log_grows_by_one": "CREATE TRIGGER log_grows_by_one BEFORE INSERT ON log"
        " WHEN NEW.number IS NOT (SELECT coalesce(max(number), 0) + 1 FROM log)"
        " BEGIN SELECT raise(ABORT, 'the ledger only grows'); END",
        "log_never_changes": "CREATE TRIGGER log_never_changes BEFORE UPDATE ON log"
        " BEGIN SELECT raise(ABORT, 'the ledger only grows'); END",
        "log_never_shrinks": "CREATE TRIGGER log_never_shrinks BEFORE DELETE ON log"
        " BEGIN SELECT raise(ABORT, 'the ledger only grows'); END",
    },
    2: {
        "accounts": "CREATE TABLE accounts (number INTEGER PRIMARY KEY, dataset TEXT NOT NULL, state TEXT NOT NULL,"
        " digest TEXT NOT NULL)",
        "accounts_by_dataset": "CREATE UNIQUE INDEX accounts_by_dataset ON accounts (dataset)",
        "released": "CREATE TABLE released (spend INTEGER PRIMARY KEY, release TEXT NOT NULL)",
        "released_by_release": "CREATE UNIQUE INDEX released_by_release ON released (release)",
    },
}

FORMAT = max(_ADDED)


def schema(version: int) -> dict[str, str]:
    """The statement that made each table, index and trigger of a file of this format."""
    return {name: sql for added in range(1, version + 1) for name, sql in _ADDED[added].items()}


def migrate(connection: sqlite3.Connection, version: int) -> bool:
    """Bring a file of format ``version`` up to date, inside the caller's transaction. False: it was."""
    for following in range(version + 1, FORMAT + 1):
        for statement in _ADDED[following].values():
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {following}")
    return version < FORMAT
