"""What is installed: everything that the pages start from is in the wheel, as files and not as links."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SURVEY = ROOT / "src" / "tacit" / "collector" / "survey"


def test_the_wheel_holds_the_survey_and_its_client(tmp_path):
    pytest.importorskip("hatchling", reason="NOT TESTED: hatchling is missing")
    code = f"from hatchling.build import build_wheel; build_wheel({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as content:
        for name in os.listdir(SURVEY):
            assert content.read(f"tacit/collector/survey/{name}") == (SURVEY / name).read_bytes()


def test_the_client_in_the_page_is_the_client():
    assert (SURVEY / "tacit-client.js").read_bytes() == (ROOT / "clients" / "js" / "tacit-client.js").read_bytes()


def test_hashes_are_of_the_versions_that_are_tested():
    """Every requirement has a hash, no address is in the file, and every version is the one of constraints.txt."""
    pinned = set(re.findall(r"^([a-z0-9._-]+)==([^ ;\n]+)", (ROOT / "constraints.txt").read_text(), re.M))
    text = (ROOT / "constraints-hashes.txt").read_text()
    blocks = re.split(r"\n(?=[a-z0-9])", text.strip())
    for block in blocks:
        name, version = re.match(r"([a-z0-9._-]+)==([^ ;\n]+)", block).groups()
        assert (name, version) in pinned, name
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", block), name
    assert "://" not in text
    core = re.search(r"^dependencies = \[(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.M | re.S)[1]
    needed = set(re.findall(r'^  "([a-z0-9-]+)', core, re.M))
    assert needed <= {re.match(r"[a-z0-9._-]+", block)[0] for block in blocks}
