"""What the scripts of this folder share."""

from __future__ import annotations

from pathlib import Path


def missing(data: Path | None, name: str) -> str | None:
    """Why a table is not there, or None if it is."""
    if data is None:
        return "--data is not given"
    return None if (data / name).is_file() else f"{data} does not hold {name}"
