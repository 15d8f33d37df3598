"""Results that are kept: one JSON file a benchmark, with the date, the machine and how busy it was.

A row says who did which ``job``, the ``seconds`` of each repeat, and how good the result is. Fields that not every row
has: ``effective`` (draws), ``rate`` (effective draws a second of sampling), ``quality`` (in words), ``note``, and for
rows of tacit ``target``, how many times faster than every peer it should be, as text where it is another comparison.
"""

from __future__ import annotations

import json
import os
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "results"
BUSY = 0.7  # of a core, by other programs, from which on a row says that it is not to be trusted
PACKAGES = ("tacit", "jax", "numpyro", "numpy", "pymc", "nutpie", "polars", "duckdb", "pyarrow", "opendp")
PACKAGES += ("diffprivlib", "dp-accounting")


def busy(seconds: float = 2.0) -> float:
    """The share of each core that other programs use, over a moment in which this one waits."""
    before = _ticks()
    if before is None:  # not Linux: what the last minute was like, this program included
        return os.getloadavg()[0] / (os.cpu_count() or 1)
    time.sleep(seconds)
    after = _ticks()
    assert after is not None
    return 1 - (after[0] - before[0]) / max(after[1] - before[1], 1)


def _ticks() -> tuple[int, int] | None:
    """Idle and all ticks of the processor since it started."""
    try:
        numbers = [int(v) for v in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    except OSError:
        return None
    return numbers[3] + numbers[4], sum(numbers)


def machine() -> str:
    """The processor by name, and its cores."""
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{name}, {os.cpu_count()} cores"


def versions() -> dict[str, str]:
    """What is installed, by package."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def keep(name: str, rows: list[dict[str, Any]], *, load: float, seconds: float, quick: bool) -> None:
    """Write one benchmark's rows; a half-written file never takes the place of a good one."""
    FOLDER.mkdir(exist_ok=True)
    whole = {
        "name": name,
        "date": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
        "machine": machine(),
        "versions": versions(),
        "load": round(load, 2),
        "took_seconds": round(seconds),
        "quick": quick,
        "rows": rows,
    }
    path = FOLDER / f"{name}{'.quick' if quick else ''}.json"
    half = path.with_suffix(".half")
    half.write_text(json.dumps(whole, indent=1) + "\n", "utf-8")
    half.replace(path)


def load(name: str, *, quick: bool = False) -> dict[str, Any] | None:
    """What was kept of a benchmark, or None."""
    path = FOLDER / f"{name}{'.quick' if quick else ''}.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else None
