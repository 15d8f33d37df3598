"""Which of tacit's files a path names, by its suffix alone, so that a wrong one is met with what to run first."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from tacit._support.files import DATA_SUFFIXES
from tacit.errors import expected

_KINDS = {
    **dict.fromkeys(DATA_SUFFIXES, "rows"),
    ".toml": "a plan",
    ".json": "a release",
    ".nc": "a posterior",
    ".db": "a ledger",
    ".html": "a report",
}
_FIRST = {
    ("a release", "rows"): "`tacit privatize PLAN {file} -o release.json` makes one of rows",
    ("a release", "a plan"): "`tacit privatize {file} DATA -o release.json` makes one of rows by this plan",
    ("a release", "a posterior"): "this one was inferred already; `tacit report {file} -o report.html` shows it",
    ("a posterior", "a release"): "`tacit infer {file} -o posterior.nc` makes one of it",
    ("a posterior", "rows"): "it takes a plan, then `tacit privatize PLAN {file}` and `tacit infer`",
    ("a posterior", "a plan"): "it takes rows, then `tacit privatize {file} DATA` and `tacit infer`",
    ("a plan", "rows"): "`tacit init {file}` starts one from the names of its columns",
    ("a plan", "a release"): "a release holds its plan, but the plan is a file of its own, .toml",
}


def check_kind(path: str | Path, wanted: str, name: str) -> None:
    """Refuse a path whose suffix says that it is another of tacit's files than the ``wanted`` one."""
    kind = _KINDS.get(os.path.splitext(path)[1].lower()) if isinstance(path, str | os.PathLike) else None
    if kind is None or kind == wanted:
        return
    first = _FIRST.get((wanted, kind), f"it is for something else than {name}")
    raise expected(name, str(path), f"to be {wanted}, not {kind}: {first.format(file=_short(path))}")


def _short(path: str | os.PathLike[str]) -> str:
    text = Path(path).name
    return shlex.quote(text) if len(text) <= 60 else "FILE"
