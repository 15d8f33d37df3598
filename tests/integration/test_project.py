"""What a public project has beside its code: workflows, hooks, templates and a changelog that are true of this one."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import tacit
from tacit.cli import app

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


def loaded(path):
    return yaml.load(path.read_text("utf-8"), yaml.BaseLoader)  # no guessing: 3.10 and `on` stay text


def verbs():
    return [command.name or command.callback.__name__ for command in app.registered_commands] + [
        group.name for group in app.registered_groups
    ]


def unknown(line):
    """What of a workflow's command line this project does not have, or None."""
    words = shlex.split(line)
    program, first = words[0], (words[1:] or [""])[0]
    if program == "make":
        targets = re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.M)[1].split()
        return None if first in targets and re.search(rf"^{re.escape(first)}:", MAKEFILE, re.M) else first
    if Path(program).name == "tacit":
        return None if first in verbs() else first
    if Path(program).name == "python":
        return None if first == "-m" and words[2] in ("venv", "pip", "tacit") else first
    script = ROOT / program
    return None if script.is_file() and os.access(script, os.X_OK) else program


def steps(workflow):
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("path", sorted(GITHUB.glob("workflows/*")), ids=lambda path: path.name)
def test_workflows_run_commands_that_exist(path):
    workflow = loaded(path)
    assert workflow["permissions"] == {"contents": "read"}, "a workflow needs to write nothing"
    for step in steps(workflow):
        assert ("run" in step) != ("uses" in step)
        for line in step.get("run", "").splitlines():
            assert unknown(line) is None, line
        if "uses" in step:
            assert re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"])


@pytest.mark.parametrize("line", ["make tests", "make .PHONY", ".ci/go", "fresh/bin/tacit example", "python -m nose"])
def test_a_command_that_does_not_exist_is_seen(line):
    """Planted: what a renamed target, script or verb would leave behind."""
    assert unknown(line) is not None


def test_the_workflow_covers_every_python_the_docs_and_the_wheel():
    workflow = loaded(GITHUB / "workflows" / "checks.yml")
    pythons = [c.rpartition(" ")[2] for c in PROJECT["project"]["classifiers"] if re.search(r":: 3\.\d+$", c)]
    assert workflow["jobs"]["tests"]["strategy"]["matrix"]["python"] == pythons
    lines = [line for step in steps(workflow) for line in step.get("run", "").splitlines()]
    assert {".ci/run", "make docs", "make wheel"} <= set(lines)
    ci = (ROOT / ".ci" / "run").read_text("utf-8")
    assert re.findall(r"^make .*$", ci, re.M) == ["make test", "make lint"]


def test_hooks_call_the_pinned_tools_and_download_nothing():
    (repository,) = loaded(ROOT / ".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    assert [hook["id"] for hook in repository["hooks"]] == ["ruff", "ruff-format"]
    linted = re.search(r"ruff check (.*)$", MAKEFILE, re.M)[1].split()
    for hook in repository["hooks"]:
        assert hook["language"] == "system", "any other one installs something"
        assert "additional_dependencies" not in hook
        assert shlex.split(hook["entry"])[0] == ".venv/bin/ruff"
        assert hook["files"] == f"^({'|'.join(linted)})/"
    assert re.search(r"^ruff==", (ROOT / "constraints.txt").read_text("utf-8"), re.M)
    assert "VENV := .venv\n" in MAKEFILE


@pytest.mark.parametrize("path", sorted(GITHUB.glob("ISSUE_TEMPLATE/*")), ids=lambda path: path.name)
def test_issue_templates_have_a_name_and_are_short(path):
    text = path.read_text("utf-8")
    _, head, body = text.split("---\n", 2)
    assert {"name", "about"} <= set(yaml.safe_load(head))
    assert len(body.splitlines()) < 25


def test_nobody_is_asked_for_rows():
    fault = (GITHUB / "ISSUE_TEMPLATE" / "privacy-fault.md").read_text("utf-8")
    assert "Include no rows" in fault.split("**Which promise")[0], "before the first thing that is asked for"
    assert "SECURITY.md" in fault
    assert "never paste real ones" in (GITHUB / "ISSUE_TEMPLATE" / "bug.md").read_text("utf-8")
    security = (ROOT / "SECURITY.md").read_text("utf-8")
    for heading in ("What a privacy fault is", "How to report one", "What is promised"):
        assert f"\n## {heading}\n" in security
    assert "Never send real ones" in security


def test_python_m_tacit_is_the_command(tmp_path):
    """Same words, same exit code: `python -m tacit` starts where the command starts."""

    def both(*words):
        started = ([sys.executable, "-m", "tacit"], [str(Path(sys.executable).parent / "tacit")])
        done = [subprocess.run([*way, *words], cwd=tmp_path, capture_output=True, text=True) for way in started]
        assert done[0].returncode == done[1].returncode
        assert done[0].stdout == done[1].stdout
        assert done[0].stderr == done[1].stderr
        return done[0]

    assert both("--version").stdout == f"tacit {tacit.__version__}\n"
    missing = both("check", "nowhere.toml")
    assert (missing.returncode, missing.stderr.count("\n")) == (2, 1)


def test_the_readme_names_the_demo_and_the_tests_side_by_side():
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    demo = next(number for number, line in enumerate(lines) if line.startswith("$ make demo"))
    assert lines[demo + 1].startswith("$ make test")
    assert demo < 40


def test_the_changelog_has_versions_newest_first():
    """Every version but the one that is being made has a date; the code's own is listed."""
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    found = re.findall(r"^## (\d+\.\d+\.\d+) \((unreleased|\d{4}-\d\d-\d\d)\)$", text, re.M)
    assert len(found) == len(re.findall(r"^## ", text, re.M))
    versions = [tuple(map(int, version.split("."))) for version, _ in found]
    assert versions == sorted(set(versions), reverse=True)
    assert all(date != "unreleased" for _, date in found[1:])
    assert tacit.__version__ in [version for version, _ in found]
