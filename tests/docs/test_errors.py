"""The index of errors names every name that an error sentence can begin with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tacit

SOURCE = Path(tacit.__file__).parent
PAGE = (Path(__file__).parents[2] / "docs" / "errors.md").read_text("utf-8")
FIXED = re.compile(r'\bexpected\(\s*"([^"{}]+)"')


def listed():
    first_cells = re.findall(r"^\| ([^|]+) \|", PAGE, re.MULTILINE)
    return {name for cell in first_cells for name in re.findall(r"`([^`]+)`", cell)}


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE)))
def test_every_name_is_in_the_index(path):
    """A new name goes into the table of docs/errors.md that it belongs to."""
    missing = set(FIXED.findall(path.read_text("utf-8"))) - listed()
    assert not missing, "add these names to a table of docs/errors.md"


def test_a_name_that_is_not_there_would_be_missed():
    """The planted fault."""
    assert "no such name" not in listed()
    assert FIXED.findall('raise expected("no such name", 1, "to be")') == ["no such name"]
