"""What one person's device sends: a random id, and a report for each question that was answered."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from tacit._support.reading import read_table, strict_json
from tacit.collector.form import Form
from tacit.errors import InputError
from tacit.protocols.parameters import read_wholes, written_whole

_ID = re.compile(r"[0-9a-f]{32}")
_REFUSED = "Expected a submission to be an id of 32 hexadecimal digits and possible reports to questions of the form."


@dataclass(frozen=True)
class Submission:
    """``reports`` holds the whole numbers of each answered question, in the order of the form.

    ``id`` is 128 random bits of the device's own. It says nothing about anybody; it tells a submission that is sent
    again from a new one.
    """

    id: str
    reports: tuple[tuple[str, tuple[int, ...]], ...]

    def to_line(self) -> bytes:
        """One line of a journal, the same for equal submissions."""
        reports = {name: [written_whole(value) for value in values] for name, values in self.reports}
        return json.dumps({"id": self.id, "reports": reports}, separators=(",", ":")).encode("ascii") + b"\n"


def read_submission(form: Form, text: bytes) -> Submission:
    """Read what a device sent, or a line of a journal; refuse in one sentence, without a word of what it was.

    Strict: UTF-8, no fractions, no unknown or repeated names, every number possible under its protocol.
    """
    try:
        return submission_from_plain(form, strict_json(text, "submission", floats=False))
    except InputError:
        pass
    raise InputError(_REFUSED)  # out here: the sentence that named a value does not come along


def submission_from_plain(form: Form, content: Any) -> Submission:
    """Read the JSON object of a submission; whoever shows a refusal leaves out its words, which may name a value."""
    plain = read_table("submission", content, ("id", "reports"))
    names = tuple(question.name for question in form.questions)
    given = read_table("reports", plain["reports"], (), names)
    if not isinstance(plain["id"], str) or not _ID.fullmatch(plain["id"]) or not given:
        raise InputError(_REFUSED)
    reports: list[tuple[str, tuple[int, ...]]] = []
    for question in form.questions:
        if question.name in given:
            values = read_wholes("report", given[question.name])
            if not question.possible(values):
                raise InputError(_REFUSED)
            reports.append((question.name, values))
    return Submission(plain["id"], tuple(reports))
