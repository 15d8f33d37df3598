"""Other ways in than `tacit.partial`: releases with a ledger, pooled partials, bounds, reports, the command line."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import tacit
from tacit.engines.threads import Threads
from tacit.mechanisms import newton
from tacit.mechanisms.add_noise import NoisySums
from tacit.mechanisms.noisy_rank import NoisyRanks
from tacit.models.score_noise import ScoreNoise
from tacit.statistics.score_region import POINT_UNIT

from .check import ROOT, Found, ViolationError, within


def _exactly(calibrated: NoisySums, collected: Any, n: int, entropy: Any) -> tuple[int, ...]:
    return tuple(collected.totals)


def _released(data: Any, plan: tacit.Plan, engine: Any = None, **options: Any) -> Found:
    """A release whose noise is left out, so that the exact sums come through the whole of it."""
    with mock.patch.object(NoisySums, "cross", _exactly):
        release = tacit.privatize(data, plan, engine=engine or Threads(1), **options)
    return release.n, release.values


def _ledger(path: Path, plan: tacit.Plan) -> tacit.Ledger:
    ledger = tacit.Ledger.create(path)
    total = tacit.ZCDP(10.0, neighbours=plan.budget.neighbours)
    ledger.new_dataset("rows", total, plan.mechanism.person and plan.mechanism.person.id)
    return ledger


def by_privatize(data: Any, plan: tacit.Plan, progress: Any, engine: Any = None) -> Found:
    """Paid by a ledger, which must tell as little; on ``engine``."""
    with tempfile.TemporaryDirectory(dir=ROOT) as place:
        ledger = _ledger(Path(place) / "ledger.db", plan)
        found = _released(data, plan, engine, ledger=ledger, dataset="rows", progress=progress)
        print(len(ledger.entries("rows")), ledger.left("rows"))
    return found


def by_pooling(data: Any, plan: tacit.Plan, progress: Any) -> Found:
    """Added to the partial of another site, by way of files."""
    with tempfile.TemporaryDirectory(dir=ROOT) as place:
        there = Path(place) / "there.partial"
        tacit.partial(data, plan, dataset="there", engine=Threads(1), progress=progress).save(there)
        n, totals = _released([there, _other_site(plan)], plan, ledger=None)
    return None if n is None else n - _other_site(plan).n, totals


def _other_site(plan: tacit.Plan) -> Any:
    person = plan.mechanism.person
    names = (*plan.reads, *([person.id] if person else []))
    return tacit.partial({name: ["1", "x"] for name in names}, plan, dataset="here", engine=Threads(1))


_AT = (0.7, -1.1, 0.4, 1.9, -0.3)  # where later rounds are taken, whatever was released


def _in_rounds(plan: tacit.Plan) -> tacit.Plan:
    """The same plan with scores in rounds; refused where its family has none."""
    return replace(plan, mechanism=tacit.Newton(rounds=2, matrix=(0.5, 0.3), unit=plan.mechanism.person))


def by_rounds(data: Any, plan: tacit.Plan, progress: Any) -> Found:
    """Scores in two rounds without their noise, at fixed points; see `rounds_apart`."""
    with (
        mock.patch.object(
            ScoreNoise, "of_round", lambda distribution, place: _NoNoise(distribution.rounds[place].every_scale())
        ),
        mock.patch.object(newton, "next_point", lambda rounds, *_, **_more: _points(len(rounds[0].point))),
    ):
        made = _in_rounds(plan)  # in here: a plan keeps how its next point is found
        release = tacit.privatize(data, made, engine=Threads(1), ledger=None, progress=progress)
    points = [one.point for one in release.noise_parameters.rounds]
    assert points == _lattice_points(len(points[0]))
    return release.n, release.values


class _NoNoise:
    def __init__(self, scales: tuple[int, ...]) -> None:
        self.scales = scales

    def sample(self, size: int, entropy: Any) -> list[list[int]]:
        return [[0] * len(self.scales)] * size


def _points(size: int) -> tuple[float, ...]:
    return tuple(_AT[i % len(_AT)] for i in range(size))


def _lattice_points(size: int) -> list[tuple[int, ...]]:
    return [(0,) * size, tuple(round(v * POINT_UNIT) for v in _points(size))]


def rounds_apart(plan: tacit.Plan, first: tuple[int, ...], second: tuple[int, ...]) -> None:
    """In each round no further than its claim at its point."""
    calibrated = _in_rounds(plan).calibrated_mechanism()
    assert isinstance(calibrated, newton.ScoreRounds)
    start = 0
    for place, point in enumerate(_lattice_points(len(calibrated.sums.design))):
        claim = calibrated.sensitivity(place, point)
        stop = start + claim.entries
        within(claim, first[start:stop], second[start:stop])
        start = stop


def by_bounds(data: Any, plan: tacit.Plan, progress: Any) -> Found:
    """The counts that bounds are chosen by; see `counts_apart` for how far they may be apart."""
    seen: list[Any] = []

    def choose(mechanism: NoisyRanks, counts: Any, n: int, target: int, entropy: Any) -> tuple[float, float]:
        seen.append(counts)
        return mechanism.grid[0], mechanism.grid[-1]

    options = {"within": (-1000, 1000), "epsilon": 1.0, "ledger": None, "points": 20, "progress": progress}
    with mock.patch.object(NoisyRanks, "choose", choose):
        found = tacit.bounds(data, plan.reads[0], **options)
    return found.n, tuple(int(count) for count in seen[0].ravel())


def counts_apart(plan: tacit.Plan, first: tuple[int, ...], second: tuple[int, ...]) -> None:
    """One row moves each count by one at most, whatever the plan is about."""
    if max(abs(a - b) for a, b in zip(first, second, strict=True)) > 1:
        raise ViolationError("a count for bounds is moved by more than one")


def by_screen(data: Any, plan: tacit.Plan, progress: Any) -> Found:
    """The counts of cells that are not as declared; see `screens_apart` for how far they may be apart."""
    with mock.patch.object(NoisySums, "cross", _exactly):
        found = tacit.screen(data, plan, ledger=None, epsilon=1.0, engine=Threads(1), progress=progress)
    person = plan.mechanism.person
    return None if person and person.weight else found.n, found.values


def screens_apart(plan: tacit.Plan, first: tuple[int, ...], second: tuple[int, ...]) -> None:
    """No further than the screen's own claim."""
    from tacit.cell_screen import ScreenPlan

    within(ScreenPlan.of(plan, tacit.PureDP(1.0)).calibrated_mechanism().sensitivity, first, second)


def by_reports(data: Any, plan: tacit.Plan, progress: Any) -> Found:
    """One report a row of the first column, drawn for real: only their number can be compared."""
    name = plan.calibrated_mechanism().columns[0]
    model = tacit.Categorical(name) if isinstance(plan.schema[name], tacit.Category) else tacit.Normal(name)
    local = tacit.Plan(model, plan.schema, tacit.PureDP(1.0), tacit.Local())
    return tacit.randomize_rows(data, local, dataset="rows").n, None


def by_command(data: Any, plan: tacit.Plan, progress: Any) -> Found:
    """`tacit privatize` with a ledger; what it prints and how it ends is all that is compared."""
    from typer.testing import CliRunner

    from tacit.cli import app

    with tempfile.TemporaryDirectory(dir=ROOT) as place:
        here = Path(place)
        plan.save(here / "plan.toml")
        _ledger(here / "ledger.db", plan)
        words = ["privatize", str(here / "plan.toml"), str(data), "-o", str(here / "out.json"), "--dataset", "rows"]
        done = CliRunner().invoke(app, [*words, "--ledger", str(here / "ledger.db")])
        print(done.exit_code, done.output.replace(place, "HERE"))
        if done.exit_code == 0:
            release = json.loads((here / "out.json").read_text())
            print(sorted(release), len(release["values"]), release.get("n"))
        with sqlite3.connect(here / "ledger.db") as connection:
            tables = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]
            print({name: connection.execute(f"select count(*) from {name}").fetchall() for name in sorted(tables)})
        connection.close()
        files = sorted(path.name for path in here.iterdir())
        print(files)
    return None, None
