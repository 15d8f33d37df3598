"""The journal of a collector: what devices sent, one line each, safe against crashes and against being sent twice.

The first line is the form of the survey. Every other line is one submission. A line is appended by one writer at a
time, synced to disk, and only then acknowledged; so a machine that stops at any point leaves at most one torn line, the
last, that nobody was told is stored. It is dropped on the next start, and its sender sends it again.

A journal keeps the order in which submissions came in. A file of reports, which `read_reports` makes of it, does not.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import threading
from array import array
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from tacit._support.files import check_readable, write_atomically
from tacit._support.reading import read_table, strict_json
from tacit.collector.form import Form
from tacit.collector.submission import Submission, submission_from_plain
from tacit.errors import InputError, RefusedError, expected
from tacit.reports import Group, Reports

_HEADER_LIMIT = 2**24  # bytes of the first line


class Journal:
    """The journal at ``path``, open for appending; no two can be open on one file. Safe to use from many threads."""

    def __init__(self, path: str | Path, form: Form) -> None:
        """Go on with the journal at ``path``, which must have the same form, or start it."""
        self.path = Path(path)
        if not os.path.lexists(self.path):
            write_atomically(self.path, _header(form), name="journal", overwrite=False, private=True)
        check_readable(self.path, name="journal")
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        except OSError as error:
            raise expected("journal", str(path), f"to be writable: {error.strerror}") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # ends with the process, however that ends
        except OSError:
            os.close(self._file)
            raise RefusedError(f"Expected journal={str(path)!r} not to be open in another collector.") from None
        try:
            self._restore(form)
        except BaseException:
            self.close()
            raise
        self._lock = threading.Lock()
        self._broken = False

    def _restore(self, form: Form) -> None:
        self._known: dict[bytes, bytes] = {}
        with _reading(self.path) as (found, self._size, lines):
            if found != form:
                raise expected("journal", str(self.path), "to have been started with these plans and this dataset name")
            for submission, length in lines:
                self._known[bytes.fromhex(submission.id)] = _fingerprint(submission)
                self._size += length
        os.ftruncate(self._file, self._size)
        os.fsync(self._file)

    def __len__(self) -> int:
        return len(self._known)

    def append(self, submission: Submission) -> bool:
        """Store a submission for good; False if the very same one was stored before.

        Another one with the same id is refused: either is a replay, or the other is.
        """
        key, mark = bytes.fromhex(submission.id), _fingerprint(submission)
        with self._lock:
            if key in self._known:
                if self._known[key] != mark:
                    raise RefusedError("Expected the id to be new, or to come with the reports it came with before.")
                return False
            self._write(submission.to_line())
            self._known[key] = mark
            return True

    def _write(self, line: bytes) -> None:
        if self._broken:
            raise OSError("the journal could not be written before")
        try:
            left = memoryview(line)
            while left:
                left = left[os.write(self._file, left) :]
            os.fsync(self._file)
        except OSError:
            # Half a line must not stand before the next one. After a failed sync nobody knows what the disk holds, so
            # nothing more is written if this fails, too.
            self._broken = True
            with suppress(OSError):
                os.ftruncate(self._file, self._size)
                os.fsync(self._file)
                self._broken = False
            raise
        self._size += len(line)

    def close(self) -> None:
        """Let another collector go on with it."""
        os.close(self._file)


def read_reports(path: str | Path, question: str | None = None) -> Reports:
    """The reports to one question of a journal, at any time, also while a collector appends to it.

    ``question`` may be left out where there is one. Ids and the order of arrival do not come along.
    """
    import numpy as np

    with _reading(check_readable(path, name="journal")) as (form, _, lines):
        names = [asked.name for asked in form.questions]
        if question is None and len(names) > 1:
            raise expected("question", None, f"to be one of {', '.join(names)}")
        asked = form[names[0] if question is None else question]
        numbers = array("q")
        for line, _ in lines:
            for name, values in line.reports:
                if name == asked.name:
                    numbers.extend(values)
    if not numbers:
        raise expected("journal", str(path), f"to hold a report to question {asked.name!r}")
    table = np.array(numbers, np.int64).reshape(-1, asked.protocol.reports.size)
    return Reports((Group(asked.plan, asked.protocol, table),), form.dataset)


def _header(form: Form) -> bytes:
    return json.dumps({"journal": form.to_plain()}, separators=(",", ":"), ensure_ascii=True).encode("ascii") + b"\n"


def _fingerprint(submission: Submission) -> bytes:
    return hashlib.sha256(submission.to_line()).digest()[:16]


@contextmanager
def _reading(path: Path) -> Generator[tuple[Form, int, Iterator[tuple[Submission, int]]]]:
    """The form and the length of its line, then the submissions one by one with theirs, less a torn last line."""
    broken = expected("journal", str(path), "to be the journal of a collector, unchanged but for a torn last line")
    with open(path, "rb") as stream:
        header = stream.readline(_HEADER_LIMIT)
        form = _form(header, broken)
        yield form, len(header), _submissions(stream, form, broken)


def _submissions(stream: BinaryIO, form: Form, broken: InputError) -> Iterator[tuple[Submission, int]]:
    seen: set[bytes] = set()
    longest = form.largest_submission
    while line := stream.readline(longest + 1):
        if len(line) > longest:
            raise expected(
                "journal", str(stream.name), f"to have lines of at most {longest} bytes, as its form implies"
            )
        try:
            plain = strict_json(line, "line", floats=False) if line.endswith(b"\n") else None
        except InputError:
            plain = None
        if plain is None:  # not written to its end: parts of it may have reached the disk and others not
            if stream.read(1):  # only the last line can be torn
                raise broken
            return
        try:
            submission = submission_from_plain(form, plain)
        except InputError:
            raise broken from None
        key = bytes.fromhex(submission.id)
        if key in seen:
            raise broken
        seen.add(key)
        yield submission, len(line)


def _form(line: bytes, broken: InputError) -> Form:
    if not line.endswith(b"\n"):
        raise broken
    try:
        plain = read_table("journal", strict_json(line, "journal"), ("journal",))
    except InputError:
        raise broken from None
    return Form.from_plain(plain["journal"])
