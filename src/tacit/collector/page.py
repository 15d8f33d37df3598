"""The page of a survey: the files of one folder, read once, before anybody asks for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tacit._support.files import read_bytes
from tacit.errors import expected

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
}
_LARGEST = 2**24
_TAKEN = ("form.json", "reports")


@dataclass(frozen=True)
class File:
    """What is sent for one path."""

    kind: str
    content: bytes


def load_page(folder: str | Path) -> Mapping[str, File]:
    """The files right inside ``folder`` by their paths; ``/`` is its index.html.

    Only kinds that a page is made of are taken, and nothing hidden. What is not read here can never be sent.
    """
    place = Path(folder)
    if not place.is_dir():
        raise expected("page", str(folder), "to be a folder")
    files: dict[str, File] = {}
    for path in sorted(place.iterdir()):
        if path.name in _TAKEN:
            raise expected("page", str(folder), f"not to hold {path.name!r}, which the collector sends itself")
        if path.suffix in _TYPES and not path.name.startswith(".") and path.is_file():
            files[f"/{path.name}"] = File(_TYPES[path.suffix], read_bytes(path, name="page", limit=_LARGEST))
    if "/index.html" not in files:
        raise expected("page", str(folder), "to hold an index.html")
    return {"/": files["/index.html"], **files}
