"""Times to 1,000 effective draws, side by side, in fresh processes with empty and with warm caches of compiled code."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fresh import TARGET, missing, timed


@dataclass(frozen=True)
class Way:
    """``who`` is shown, ``method`` is what the script is told; ``cold`` and ``warm`` are how often it runs."""

    who: str
    method: str
    cold: int = 3
    warm: int = 3
    limit: float = 300.0
    packages: tuple[str, ...] = ()


def compare(
    job: str,
    script: str,
    folder: Path,
    ways: list[Way],
    *,
    quick: bool,
    targets: Any,
    whys: Any,
    against: Any = ("", "", ""),
) -> list[dict[str, Any]]:
    """Rows of three jobs: caches empty, caches warm, and the sampling alone.

    ``targets`` are how many times faster tacit should be in each than every peer that has ``against`` in its name, and
    ``whys`` what is said if it is not. A way without warm runs has nothing to keep on disk, and stands in all three
    jobs with the same runs.
    """
    found = {way: _runs(way, script, folder, quick=quick) for way in ways}
    rows: list[dict[str, Any]] = []
    states = (f"{job}, caches empty", f"{job}, caches warm", f"{job}, sampling alone")
    for state, name in enumerate(states):
        for way, (cold, warm, why) in found.items():
            runs = cold if state == 0 or not warm else warm
            row: dict[str, Any] = {"job": name, "who": way.who, "note": why or _note(runs)}
            if runs:
                row["seconds"] = [_seconds(run, alone=state == 2) for run in runs]
                row["effective"] = sorted(run["effective"] for run in runs)[len(runs) // 2]
                row["rate"] = sorted(run["effective"] / max(run["sampling"], 1e-9) for run in runs)[len(runs) // 2]
            if way.who.startswith("tacit"):
                row |= {"target": targets[state], "why": whys[state], "against": against[state]}
            rows.append(row)
    return rows


def _runs(way: Way, script: str, folder: Path, *, quick: bool) -> tuple[list[Any], list[Any], str | None]:
    """Cold runs, warm runs, and why there are none."""
    why = missing(*way.packages)
    if why:
        return [], [], why
    cold: list[Any] = []
    warm: list[Any] = []
    with sizes(quick), tempfile.TemporaryDirectory() as place:
        for repeat in range(1 if quick else way.cold):
            found = timed(script, way.method, str(folder), limit=way.limit, cache=f"{place}/{repeat}")
            if "until" not in found:
                return cold, warm, found["note"]
            cold.append(found)
        for _ in range(min(way.warm, 1) if quick else way.warm):
            found = timed(script, way.method, str(folder), limit=way.limit, cache=f"{place}/0")
            if "until" not in found:
                return cold, warm, found["note"]
            warm.append(found)
    return cold, warm, None


def _seconds(run: Any, *, alone: bool) -> float:
    share = run["sampling"] * TARGET / run["effective"]
    return share if alone else run["until"] - run["sampling"] + share


def _note(runs: list[Any]) -> str:
    least = min(run["effective"] for run in runs)
    said = [f"extrapolated from {least:.0f} effective draws"] if least < TARGET else []
    said.append(f"{1e3 * runs[0]['sampling'] / runs[0]['draws']:.2g} ms a kept draw")
    if any("memory" in run for run in runs):
        said.append(f"{max(run['memory'] for run in runs if 'memory' in run)} MiB")
    return ", ".join(said)


@contextmanager
def sizes(quick: bool) -> Generator[None]:
    """Tell the processes that are started here to do as little as they can."""
    before = os.environ.pop("TACIT_BENCH_QUICK", None)
    if quick:
        os.environ["TACIT_BENCH_QUICK"] = "1"
    try:
        yield
    finally:
        os.environ.pop("TACIT_BENCH_QUICK", None)
        if before is not None:
            os.environ["TACIT_BENCH_QUICK"] = before
