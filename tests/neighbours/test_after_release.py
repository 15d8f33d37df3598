"""A table with a row less, from the command that reads it to the last page: nothing tells which of the two it was.

The noise is made the one with which both tables have the same release, so all that follows must be the same to the
last byte: what is printed, what comes with `--json`, every file. And nowhere is the true number of rows.
"""

from __future__ import annotations

import secrets
import struct
from unittest import mock

import pytest
from typer.testing import CliRunner

import tacit
from tacit.cli import app
from tacit.mechanisms.add_noise import NoisySums
from tacit.mechanisms.record_moves import UnitOfPrivacy

ROWS = 7919  # a prime that nothing else here is
SCHEMA = tacit.Schema(score=(0, 10), arm=["a", "b"])
BUDGET = tacit.PureDP(1.0, neighbours="add-remove")
PLANS = {
    "a share": tacit.Plan(tacit.Bernoulli("arm"), SCHEMA, BUDGET),
    "a regression": tacit.Plan(tacit.LinearRegression("score ~ arm"), SCHEMA, BUDGET),
    "a filter": tacit.Plan(tacit.Bernoulli("arm"), SCHEMA, tacit.PureDP(1.0), where="score >= 1"),
}
COMMANDS = (
    ("check", "plan.toml"),
    ("privatize", "plan.toml", "rows.csv", "-o", "release.json", "--ledger", "book.db", "--dataset", "rows", "--json"),
    ("infer", "release.json", "-o", "posterior.nc", "--draws", "100", "--chains", "2", "--anyway"),
    ("effects", "posterior.nc", "--json"),
    ("effects", "posterior.nc"),
    ("predict", "posterior.nc", "--at", "arm=a,b"),
    ("predict", "posterior.nc", "--at", "arm=a,b", "--json"),
    ("report", "posterior.nc", "-o", "report.html", "--quick"),
    ("cite", "release.json"),
    ("ledger", "show", "book.db"),
)
NEEDS_A_REGRESSION = ("predict",)


def seen(folder, plan, rows, commands, monkeypatch):
    """What each of the commands prints, and what all files but the table and the ledger hold."""
    folder.mkdir()
    monkeypatch.chdir(folder)
    plan.save("plan.toml")
    cells = [f"{i * 7 % 11},{'ab'[i % 3 == 0]}" for i in range(rows)]
    (folder / "rows.csv").write_text("\n".join(["score,arm", *cells]) + "\n")
    ledger = tacit.Ledger.create("book.db")
    ledger.new_dataset("rows", tacit.PureDP(5.0, neighbours=plan.budget.neighbours))
    said = []
    for words in commands:
        if plan.model.family == "bernoulli" and words[0] in NEEDS_A_REGRESSION:
            continue
        done = CliRunner().invoke(app, list(words))
        assert done.exit_code == 0, (words, done.output)
        said.append(done.output)
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in ("rows.csv", "book.db")}
    return {"printed": "\n".join(said).encode(), **files}


def both(tmp_path, plan, monkeypatch, commands=COMMANDS):
    """The same for a table, and for one with its last row less."""
    released = []

    def same(calibrated, collected, n, entropy):
        """The exact sums of the first table, plus 40 rows or so, for either."""
        if not released:
            released.extend(total + 41 * calibrated.unit + 17 * i for i, total in enumerate(collected.totals))
        return tuple(released)

    named = mock.patch.object(secrets, "token_hex", return_value="0" * 32)
    with mock.patch.object(NoisySums, "cross", same), named:
        return [seen(tmp_path / str(rows), plan, rows, commands, monkeypatch) for rows in (ROWS, ROWS - 1)]


def told(first, second):
    """Where the two tables differ, and where the true number of rows of one stands: as text, or as a stored number."""
    assert first.keys() == second.keys()
    found = [name for name, content in first.items() if content != second[name]]
    for rows in (ROWS, ROWS - 1):
        stored = [f"{rows:,}".encode(), struct.pack("<d", rows), struct.pack("<q", rows)]
        for name, content in first.items():
            short = [f"{rows}".encode()] if name in ("printed", "release.json", "plan.toml") else []
            found += [f"{name}: {one!r}" for one in (*stored, *short) if one in content]
    return found


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n == "a share" else pytest.mark.slow) for n in PLANS])
def test_nothing_after_the_release_tells_how_many_rows_there_were(name, tmp_path, monkeypatch):
    first, second = both(tmp_path, PLANS[name], monkeypatch)
    assert first.keys() >= {"printed", "release.json", "posterior.nc", "report.html"}
    assert told(first, second) == []


def test_a_release_that_says_n_is_found(tmp_path, monkeypatch):
    """Planted."""
    monkeypatch.setattr(UnitOfPrivacy, "n_is_public", True)
    plan = tacit.Plan(tacit.Bernoulli("arm"), SCHEMA, tacit.PureDP(1.0))
    found = told(*both(tmp_path, plan, monkeypatch, COMMANDS[:2]))
    assert "release.json" in found
    assert f"release.json: {str(ROWS).encode()!r}" in found
