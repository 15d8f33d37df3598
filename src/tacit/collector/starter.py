"""The survey to start from: a page, the client that runs in it, and plans of three questions, as they are installed."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from tacit._support.files import write_atomically
from tacit.errors import expected


def new_survey(folder: str | Path) -> list[Path]:
    """Fill ``folder``, which is made if it is not there and must be empty; return the files."""
    place = Path(folder)
    try:
        place.mkdir(exist_ok=True)
        taken = any(place.iterdir())
    except OSError as error:
        raise expected("folder", str(folder), f"to be a folder that can be made: {error.strerror}") from None
    if taken:
        raise expected("folder", str(folder), "to be new or empty")
    starter = sorted(files("tacit.collector").joinpath("survey").iterdir(), key=lambda one: one.name)
    return [write_atomically(place / one.name, one.read_bytes(), name="folder", overwrite=False) for one in starter]
