"""The README does what it says, and every command is explained."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from tacit.cli import app
from tacit.demo import _survey

pytestmark = pytest.mark.optimised  # the commands are those of a user
ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
CLI_PAGE = (ROOT / "docs" / "cli.md").read_text()


def blocks(text, language):
    return re.findall(rf"```{language}\n(.*?)```", text, re.S)


def commands(group=None, prefix="tacit"):
    """Every command, groups and their members included, as (words, click command)."""
    group = group or typer.main.get_command(app)
    for name, command in group.commands.items():
        if command.hidden:  # an old name
            continue
        yield f"{prefix} {name}", command
        if hasattr(command, "commands"):
            yield from commands(command, f"{prefix} {name}")


@pytest.mark.parametrize(("name", "command"), list(commands()), ids=lambda v: v if isinstance(v, str) else "")
def test_every_command_has_help_and_a_section(name, command):
    assert command.help
    assert len(command.help) > 20
    for parameter in command.params:
        assert getattr(parameter, "help", None), f"{name} {parameter.name}"
    top = " ".join(name.split()[:2])
    assert f"## {top}\n" in CLI_PAGE
    if name != top:
        assert f"$ {name} " in CLI_PAGE


def test_every_section_is_a_command():
    names = {name for name, _ in commands()}
    for section in re.findall(r"^## (tacit .*)$", CLI_PAGE, re.M):
        assert section in names


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 110


def test_the_readme_runs(tmp_path):
    """Its Python block, then its command-line twin, in an empty folder; the words of the shown output must come out."""
    (tmp_path / "survey.csv").write_text(_survey())
    (python,) = blocks(README, "python")
    script = python + '\nplan.save("wellbeing.toml")\n'
    run = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    (shown,) = [b for b in blocks(README, "text") if "What goes with" in b]
    said = [line.split(" wellbeing ")[0] for line in run.stdout.splitlines() if not line.startswith("Note:")]
    assert said == [line.split(" wellbeing ")[0] for line in shown.splitlines()]
    (shell,) = blocks(README, "bash")
    tool = Path(sys.executable).parent / "tacit"
    script = "set -e\n" + shell.replace("tacit ", f"{tool} ")
    run = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "goes with wellbeing" in run.stdout
    assert "epsilon = 1" in run.stdout
    for name in ("release.json", "posterior.nc", "report.html", "books.db"):
        assert (tmp_path / name).stat().st_size > 0
