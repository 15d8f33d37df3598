"""The demo works in an empty folder, and again over its own files."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import tacit

pytestmark = pytest.mark.optimised  # it draws for long
TOOL = str(Path(sys.executable).parent / "tacit")


def test_the_demo(tmp_path, monkeypatch):
    done = subprocess.run([TOOL, "demo", "--output", "here"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout + done.stderr, "no colours when not on a terminal"
    assert "nothing left" in done.stdout
    for name in ("survey.csv", "ledger.db", "drinks.toml", "drinks.json", "drinks.nc", "drinks.html"):
        assert (tmp_path / "here" / name).stat().st_size > 0
    # Again, over its own files, with the posteriors that are there.
    demo = import_module("tacit.demo")
    monkeypatch.setattr(demo, "infer", lambda path, **_: tacit.Posterior.load(path.with_suffix(".nc")))
    before, again = (tmp_path / "here" / "drinks.json").read_bytes(), []
    demo.run_demo(tmp_path / "here", again.append)
    assert "nothing left" in "".join(again)
    assert (tmp_path / "here" / "drinks.json").read_bytes() != before
