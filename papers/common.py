"""What the scripts of this folder share: arguments, cells that are kept as they come, claims with a verdict, figures.

A cell is a function of a script and what it is called with; what it finds is one line of OUT/PAPER.jsonl, written as
soon as it is there. A script that is stopped and started again finds those lines and goes on with the others, by
itself or with several processes. Figures and claims are made of the lines that are there.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

AGREES, PARTLY, DIFFERS = "agrees", "agrees in part", "differs"
BLUE, ORANGE, GREEN, DARK, GREY = "#2f6690", "#c0562f", "#3a8f5c", "#1d2733", "#8a939c"


def parser(description: str, figures: Sequence[str]) -> argparse.ArgumentParser:
    """The arguments that every script has."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--out", type=Path, required=True, help="folder for figures, numbers and claims")
    made.add_argument("--data", type=Path, help="folder with the tables that papers/fetch.py writes")
    made.add_argument("--figures", default=",".join(figures), help="comma-separated; all by default")
    made.add_argument("--quick", action="store_true", help="few repetitions, in less than a minute: does it run?")
    made.add_argument("--processes", type=int, default=1, help="how many cells run side by side")
    made.add_argument("--stop-after", type=float, help="seconds, after which the figures show what is there")
    return made


def chosen(said: argparse.Namespace, figures: Sequence[str]) -> list[str]:
    """The figures that were asked for, checked."""
    asked = said.figures.split(",")
    if set(asked) - set(figures):
        raise SystemExit(f"Expected --figures to be some of {','.join(figures)}; found {said.figures}.")
    if said.processes < 1:
        raise SystemExit(f"Expected --processes to be at least 1; found {said.processes}.")
    return [name for name in figures if name in asked]


def missing(data: Path | None, name: str) -> str | None:
    """Why a table is not there, or None if it is."""
    if data is None:
        return "--data is not given"
    return None if (data / name).is_file() else f"{data} does not hold {name}"


def left_out(figure: str, why: str) -> None:
    """A skip that nobody overlooks."""
    print(f"SKIPPED: {figure} is left out: {why}. papers/fetch.py says where the table is from.", flush=True)


def columns(path: Path, names: Sequence[str]) -> dict[str, Any]:
    """Columns of a Parquet file, cells as they are."""
    import numpy as np
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=list(names))
    return {name: np.array(table[name].to_pylist(), dtype=object) for name in names}


def area(score: Any, response: Any) -> float:
    """The area under the receiver operating curve: how often a positive scores above another, ties by half.

    A response is positive if it is above 0 or true; without any other the area is one half.
    """
    import numpy as np
    from scipy.stats import rankdata

    positive = np.asarray(response) > 0
    count, ranks = int(positive.sum()), rankdata(score)
    if count in (0, len(positive)):
        return 0.5
    return float((ranks[positive].sum() - count * (count + 1) / 2) / (count * (len(positive) - count)))


def plain_ticks(panel: Any, at: Sequence[float]) -> None:
    """Ticks of a logarithmic axis where something was measured, and nowhere else."""
    panel.set_xticks(list(at), [f"{value:g}" for value in at])
    panel.minorticks_off()


@dataclass(frozen=True)
class Cell:
    """A call whose arguments can be written as JSON; ``weight`` says which cells are slow and wait for the others."""

    function: Callable[..., Any]
    given: dict[str, Any]
    weight: float = 1.0

    @property
    def name(self) -> str:
        """The same for the same call, wherever the tables are."""
        given = {name: value for name, value in self.given.items() if name != "folder"}
        return json.dumps([self.function.__name__, given], sort_keys=True, default=str)


def _measured(cell: Cell) -> tuple[str, Any, float]:
    begin = time.process_time()
    return cell.name, cell.function(**cell.given), time.process_time() - begin


def measured(
    cells: Iterable[Cell], out: Path, paper: str, *, processes: int = 1, stop_after: float | None = None
) -> list[dict[str, Any]]:
    """What every cell found, in order, as far as there was time, with what was given and the processor seconds."""
    out.mkdir(parents=True, exist_ok=True)
    store, wanted = out / f"{paper}.jsonl", {cell.name: cell for cell in cells}
    kept: dict[str, dict[str, Any]] = {}
    if store.is_file():
        for line in store.read_text("utf-8").splitlines():
            try:
                row = json.loads(line)
            except ValueError:  # the last line of a run that was killed
                continue
            kept[row["cell"]] = row
    todo = sorted((cell for name, cell in wanted.items() if name not in kept), key=lambda cell: cell.weight)
    begin = time.time()

    def keep(name: str, found: Any, seconds: float) -> None:
        cell = wanted[name]
        plain = json.loads(json.dumps(cell.given, default=str))
        row = {"cell": name, "function": cell.function.__name__, "given": plain, "found": found, "seconds": seconds}
        kept[name] = json.loads(json.dumps(row))
        with store.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        said = ", ".join(f"{k} = {v}" for k, v in plain.items() if not isinstance(v, dict | list) and k != "folder")
        print(f"  {cell.function.__name__}: {said}: {seconds:.0f} s", flush=True)

    def late() -> bool:
        return stop_after is not None and time.time() - begin > stop_after

    if processes == 1:
        for cell in todo:
            if late():
                break
            keep(*_measured(cell))
    elif todo:
        os.environ["NPROC"] = "1"
        with multiprocessing.get_context("spawn").Pool(min(processes, len(todo)), maxtasksperchild=None) as pool:
            coming = pool.imap_unordered(_measured, todo)
            for _ in todo:
                left = None if stop_after is None else max(0.1, stop_after - (time.time() - begin))
                try:
                    keep(*coming.next(left))
                except multiprocessing.TimeoutError:
                    break  # leaving the block ends the processes
    short = [cell for name, cell in wanted.items() if name not in kept]
    if short:
        print(f"NOT DONE: {len(short)} of {len(wanted)} cells; run again with the same --out to go on.", flush=True)
    return [kept[name] for name in wanted if name in kept]


@dataclass(frozen=True)
class Claim:
    """What a paper says of a figure or table, what came out here, and whether that agrees."""

    figure: str
    paper: str
    here: str
    verdict: str

    def __post_init__(self) -> None:
        if self.verdict not in (AGREES, PARTLY, DIFFERS):
            raise ValueError(f"Expected verdict={self.verdict!r} to be one of {AGREES}, {PARTLY}, {DIFFERS}.")


def verdict(*held: bool) -> str:
    """All of the conditions, some of them, or none."""
    return AGREES if all(held) else PARTLY if any(held) else DIFFERS


def show(claims: Sequence[Claim], out: Path, paper: str, *, quick: bool) -> None:
    """Print the claims and write them as JSON, each with the command; those of other figures stay in the file."""
    print()
    for claim in claims:
        print(f"{claim.figure}\n  paper    {claim.paper}\n  here     {claim.here}\n  verdict  {claim.verdict}")
    if quick:
        print("\nWith --quick a verdict rests on few repetitions; docs/papers.md has those of the full runs.")
    path = out / f"{paper}-claims.json"
    kept = json.loads(path.read_text("utf-8")) if path.is_file() else []
    rows = {row["figure"]: row for row in kept} | {
        claim.figure: {**asdict(claim), "command": _command(paper), "quick": quick} for claim in claims
    }
    path.write_text(json.dumps(list(rows.values()), indent=1) + "\n", "utf-8")


def _command(paper: str) -> str:
    """The command line, without what says where files are and how long it may take."""
    left, words = iter(sys.argv[1:]), []
    for word in left:
        if word.partition("=")[0] in ("--out", "--data", "--page", "--processes", "--stop-after"):
            if "=" not in word:
                next(left, None)
        else:
            words.append(word)
    return " ".join(["python", f"papers/{paper}.py", *words])


def save(figure: Any, out: Path, name: str) -> None:
    """A small SVG: text stays text, the date is left out and coordinates are short."""
    import re

    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name, "path.simplify_threshold": 0.5}):
        figure.savefig(out / f"{name}.svg", metadata={"Date": None})
    path = out / f"{name}.svg"
    text = path.read_text("utf-8")
    text = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\d+\.\d\d)\d+", r"\1", tag[0]), text)  # tags alone: labels stay
    path.write_text(re.sub(r"[ \t]+\n", "\n", text), "utf-8")
