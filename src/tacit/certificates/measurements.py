"""The file of measurements behind the certificates, read as strictly as any other that people hand to each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tacit._support.files import read_text
from tacit._support.reading import LARGEST_JSON, read_table, strict_json
from tacit.errors import InputError

_NAMES = ("family", "mechanism", "method", "version")
_TEXT, _NUMBER, _FLAG, _PAIR = (str,), (int, float, type(None)), (bool,), (list,)
_FIELDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys((*_NAMES, "budget", "verdict", "number", "refused", "error"), _TEXT),
    **dict.fromkeys(("share", "attacked_epsilon", "attacked_delta", "checks", "runs", "level", "seconds"), _NUMBER),
    **dict.fromkeys(("p", "numbers", "learnt", "width", "mmd_squared", "n", "trials", "failed"), _NUMBER),
    **dict.fromkeys(("seed", "parts"), _NUMBER),
    **dict.fromkeys(("violated", "calibrated"), _FLAG),
    "covers_95": _PAIR,
}
_MEASURED = {
    "audits": {
        "budget",
        "verdict",
        "violated",
        "share",
        "attacked_epsilon",
        "attacked_delta",
        "checks",
        "runs",
        "level",
    },
    "calibrations": {"budget", "verdict", "calibrated", "p", "number", "numbers", "covers_95", "learnt", "n", "trials"},
}


def read_measurements(path: Path) -> dict[str, Any]:
    """All rows of the file, every field of the type that it is written with."""
    plain = strict_json(read_text(path, name="measurements", limit=LARGEST_JSON), "measurements", constants=True)
    state = read_table("measurements", plain, ("audits", "calibrations", "made_with"))
    versions = state["made_with"]
    if not isinstance(versions, dict) or not all(isinstance(text, str) for text in versions.values()):
        raise InputError("Expected made_with of the measurements to be versions by name.")
    for kind, needed in _MEASURED.items():
        if not isinstance(state[kind], dict) or not all(_is_row(row, needed) for row in state[kind].values()):
            raise InputError(f"Expected the {kind} of the measurements to be rows of known fields and types.")
    return state


def _is_row(row: object, needed: set[str]) -> bool:
    if not isinstance(row, dict) or not set(_NAMES) <= set(row) <= set(_FIELDS):
        return False
    whole = needed <= set(row) or "refused" in row or "error" in row
    return whole and all(_is_value(value, _FIELDS[name]) for name, value in row.items())


def _is_value(value: object, types: tuple[type, ...]) -> bool:
    if types is _PAIR:
        return isinstance(value, list) and len(value) == 2 and all(_is_value(one, (int, float)) for one in value)
    return isinstance(value, types) and (not isinstance(value, bool) or types is _FLAG)
