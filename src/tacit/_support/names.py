"""Names of datasets and releases: short, printable, and safe to show anywhere."""

from __future__ import annotations

import re

from tacit._support.printable import flaw
from tacit.errors import expected, one_thing

_NAME = re.compile(r"\w[\w .:+@-]{0,199}")


def check_name(what: str, name: object) -> str:
    """``name`` itself, if it can be one; ``what`` says in the refusal whose name it is."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or flaw(name):
        raise expected(
            what,
            one_thing(name),
            "to be 1 to 200 letters, digits, spaces or .:+@_- characters, a letter or digit first",
        )
    return name
