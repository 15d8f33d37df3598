"""docs/benchmarks.md from the rows that are kept."""

from __future__ import annotations

import json
import math
import statistics
import tempfile
from pathlib import Path
from typing import Any

import kept

DOCS = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
FASTER = Path(__file__).resolve().parent / "faster.md"  # written by hand: what is gone cannot be measured again
INTRODUCTION = """# Benchmarks

What tacit costs beside what one would use instead, on the same work, measured in one run on one machine. `make bench`
measures all of it again and makes this page; `make bench ONLY=local` measures one table. Peers are installed into an
environment of their own with the versions of `benchmarks/requirements.txt`.

A time is the middle of the repeats, with the least and the most in brackets; a single number was measured once.
"times tacit" is the middle time of a row divided by that of tacit's row of the same job: above 1, tacit is ahead.
Times to 1,000 effective draws count from before a process starts, imports and compilation included. A run has a fixed
length: what comes before its first kept draw counts once, and the rest counts in proportion to the draws that are
wanted. Effective draws are the least bulk effective sample size over the parameters. "Caches empty" means that
nothing was compiled before; "caches warm" that an earlier process left its compiled programs on disk. tacit runs the
chains of one release two at a time, and all else on one core; PyMC and nutpie run their chains on all of them.
"""


def write(titles: dict[str, str], *, quick: bool) -> Path:
    """The page; rows of a quick run go to a page that is not part of the documentation."""
    found = {name: kept.load(name, quick=quick) for name in titles}
    lines = [INTRODUCTION]
    if quick:
        lines.append("**A quick run: sizes are minimal and no figure here means anything.**\n")
    there = [one for one in found.values() if one is not None]
    if there:
        lines += ["## At a glance", "", *summary(there), ""]
    for name, title in titles.items():
        lines += [f"## {title}", "", *_section(found[name]), ""]
    lines += ["## On a GPU", "", *_gpu(kept.FOLDER / "gpu.json"), ""]
    lines += ["## What made it faster", "", FASTER.read_text("utf-8")]
    path = Path(tempfile.gettempdir()) / "benchmarks-quick.md" if quick else DOCS
    path.write_text("\n".join(lines), "utf-8")
    return path


def _section(found: dict[str, Any] | None) -> list[str]:
    if found is None:
        return ["Not measured yet."]
    used = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    took = f"Measured {found['date']} UTC in {found['took_seconds']} s on {found['machine']}; other programs used "
    took += f"{100 * found['load']:.0f}% of each core at the start."
    if found["load"] > kept.BUSY:
        took += " **The machine was busy: these figures are not to be relied on.**"
    return [*table(found["rows"]), "", took, "", f"Versions: {used}."]


def table(rows: list[dict[str, Any]]) -> list[str]:
    """One line a row, jobs in their order."""
    lines = ["| job | who | seconds | times tacit | effective draws | a second | |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        cells = (
            row["job"],
            row["who"],
            spread(row.get("seconds")),
            "" if row["who"].startswith("tacit") else times(ratio(row, rows)),
            "" if row.get("effective") is None else f"{row['effective']:,.0f}",
            "" if row.get("rate") is None else number(row["rate"]),
            "; ".join(filter(None, [row.get("quality"), row.get("note")])),
        )
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def summary(found: list[dict[str, Any]]) -> list[str]:
    """One line a job that has a target: the nearest peer, and whether the target is met."""
    lines = ["| job | tacit, s | nearest peer, s | times tacit | wanted | |", "|---|---|---|---|---|---|"]
    for one in found:
        for ours in one["rows"]:
            if not ours.get("target") or not ours.get("seconds"):
                continue
            want, mine = ours["target"], spread(ours["seconds"])
            first = next(r for r in one["rows"] if r["job"] == ours["job"] and r["who"].startswith("tacit"))
            job = ours["job"] if ours is first else f"{ours['job']}, {ours['who'].removeprefix('tacit, ')}"
            peers = [r for r in one["rows"] if r["job"] == ours["job"] and not r["who"].startswith("tacit")]
            peers = [r for r in peers if r.get("seconds") and ours.get("against", "") in r["who"]]
            if not peers:
                lines.append(f"| {job} | {mine} | no peer ran | | {times(want)} | |")
                continue
            nearest = min(peers, key=lambda r: statistics.median(r["seconds"]))
            reached = statistics.median(nearest["seconds"]) / statistics.median(ours["seconds"])
            verdict = "met" if reached >= want else f"**not met**{': ' + ours['why'] if ours.get('why') else ''}"
            verdict += " (busy machine)" if one["load"] > kept.BUSY else ""
            theirs = f"{nearest['who']}: {spread(nearest['seconds'])}"
            lines.append(f"| {job} | {mine} | {theirs} | {times(reached)} | {times(want)} | {verdict} |")
    return lines


def ratio(row: dict[str, Any], rows: list[dict[str, Any]]) -> float | None:
    """How many times tacit's middle time this row's is."""
    ours = next((r for r in rows if r["job"] == row["job"] and r["who"].startswith("tacit")), None)
    if ours is None or not ours.get("seconds") or not row.get("seconds"):
        return None
    return statistics.median(row["seconds"]) / statistics.median(ours["seconds"])


def spread(seconds: list[float] | None) -> str:
    """The middle, and the least and the most of several."""
    if not seconds:
        return ""
    middle = number(statistics.median(seconds))
    return middle if len(seconds) == 1 else f"{middle} ({number(min(seconds))} to {number(max(seconds))})"


def number(value: float) -> str:
    """Two or three digits that matter."""
    if value == 0 or not math.isfinite(value):
        return str(value)
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.{max(0, 1 - math.floor(math.log10(abs(value))))}f}"


def times(value: float | None) -> str:
    """A ratio."""
    return "" if value is None else f"{number(value)}x"


def _gpu(path: Path) -> list[str]:
    """The parts of benchmarks/gpu.py."""
    if not path.exists():
        return ["Not measured yet: `python benchmarks/gpu.py --out benchmarks/results/gpu.json` on a machine with one."]
    found = json.loads(path.read_text("utf-8"))
    lines = ["| what | hardware | first call, s | again, s | more |", "|---|---|---|---|---|"]
    shown = ("device", "machine", "platform", "versions", "what", "first_seconds", "again_seconds", "error")
    for name, part in found["parts"].items():
        rest = "; ".join(f"{key.replace('_', ' ')} {value}" for key, value in part.items() if key not in shown)
        rest = f"**{part['error']}**; {rest}" if part.get("error") else rest
        where = f"{part.get('device', '?')} ({part.get('machine', '?')})"
        first = number(part["first_seconds"]) if "first_seconds" in part else ""
        again = spread(part.get("again_seconds"))
        lines.append(f"| {name}: {part.get('what', '')} | {where} | {first} | {again} | {rest} |")
    return [f"Measured {found['date']} by `benchmarks/gpu.py`. The first call compiles.", "", *lines]
