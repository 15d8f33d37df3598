"""The command line: exit codes, one sentence an error, JSON for machines, nothing lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import tacit

TOOL = str(Path(sys.executable).parent / "tacit")
PLAN = """
[model]
family = "bernoulli"
column = "smoker"
[schema]
smoker = ["no", "yes"]
[budget]
epsilon = 1.0
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "old.json").write_text("something dear to somebody")
    (tmp_path / "rows.csv").write_text("smoker\n" + "yes\nno\nno\n" * 50)
    return tmp_path


def run(folder, *words, code=0):
    done = subprocess.run([TOOL, *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == code, (words, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    if code == 2 and "Usage:" not in done.stderr:
        assert done.stderr.startswith("Error: ")
        assert done.stderr.count("\n") == 1
    assert "\x1b" not in done.stdout + done.stderr, "no colours when not on a terminal"
    return done


@pytest.fixture
def refused(folder, monkeypatch, capsys):
    """Calls a command in this process, to be refused; what it says on standard error."""
    from tacit.cli import main

    def call(*words):
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", ["tacit", *words])
        with pytest.raises(SystemExit) as stopped:
            main()
        said = capsys.readouterr()
        assert (stopped.value.code, said.out) == (2, "")
        assert "Traceback" not in said.err
        if "Usage:" not in said.err:
            assert said.err.startswith("Error: ")
            assert said.err.count("\n") == 1
        return said.err

    return call


def test_a_refusal_of_a_process_of_its_own(folder):
    """The others are asked for in this one."""
    assert "plan=" in run(folder, "check", "no.toml", code=2).stderr


def test_the_whole_path(folder):
    run(folder, "ledger", "new", "ledger.db", "--dataset", "rows", "--epsilon", "1.5")
    words = run(folder, "check", "plan.toml").stdout
    assert "smoker=yes" in words
    assert "epsilon = 1" in words
    paid = ("--ledger", "ledger.db", "--dataset", "rows")
    done = run(folder, "privatize", "plan.toml", "rows.csv", "-o", "out.json", *paid, "--json")
    summary = json.loads(done.stdout)
    assert summary["n"] == 150
    assert tacit.Release.load(folder / "out.json").ledger == summary["ledger"]
    done = run(folder, "infer", "out.json", "-o", "posterior.nc", "--json", "--prior", "a=2", "--prior", "b=3.5")
    table = json.loads(done.stdout)
    assert {row["name"] for row in table["summary"]} == {"theta", "count"}
    assert tacit.Posterior.load(folder / "posterior.nc").prior == {"a": 2.0, "b": 3.5}
    assert (
        json.loads(run(folder, "report", "posterior.nc", "-o", "page.html", "--json").stdout)["report"] == "page.html"
    )
    refused = run(folder, "privatize", "plan.toml", "rows.csv", "-o", "more.json", *paid, code=1)
    assert "0.5" in refused.stderr
    assert not (folder / "more.json").exists()
    shown = json.loads(run(folder, "ledger", "show", "ledger.db", "--json").stdout)
    assert shown["datasets"][0]["spends"] == 1
    assert "No problem" in run(folder, "ledger", "verify", "ledger.db", "--release", "out.json").stdout


def test_simulate_is_repeatable(folder):
    first = json.loads(
        run(folder, "simulate", "plan.toml", "--n", "100", "--seed", "4", "-o", "a.json", "--json").stdout
    )
    run(folder, "simulate", "plan.toml", "--n", "100", "--seed", "4", "-o", "b.json")
    assert (folder / "a.json").read_text() == (folder / "b.json").read_text()
    assert 0 < first["truth"]["theta"] < 1


def test_version_and_help(folder):
    assert run(folder, "--version").stdout == f"tacit {tacit.__version__}\n"
    assert "privatize" in run(folder, "--help").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check", "no.toml"], "plan="),
        (["check", "."], "folder"),
        (["check", "rows.csv"], "`tacit init rows.csv`"),
        (["privatize", "plan.toml", "rows.csv", "-o", "o.json"], "--no-ledger"),
        (["privatize", "plan.toml", "rows.csv", "-o", "o.json", "--ledger", "l.db"], "--dataset"),
        (["privatize", "plan.toml", "rows.csv", "-o", "o.json", "--ledger", "l.db", "--no-ledger"], "either"),
        (["privatize", "plan.toml", "rows.csv", "-o", "o.json", "--ledger", "l.db", "--dataset", "x"], "ledger="),
        (["privatize", "plan.toml", "no.csv", "-o", "o.json", "--no-ledger"], "to exist"),
        (["privatize", "plan.toml", "rows.csv", "-o", "old.json", "--no-ledger"], "not to exist"),
        (["privatize", "plan.toml", "rows.csv", "-o", "no/o.json", "--no-ledger"], "folder"),
        (["privatize", "plan.toml", "rows.csv", "-o", "o.json", "--no-ledger", "--dataset", "a/b"], "dataset="),
        (["infer", "no.json", "-o", "p.nc"], "release="),
        (["infer", "plan.toml", "-o", "p.nc"], "not a plan"),
        (["simulate", "plan.toml", "--n", "0", "-o", "s.json"], "n=0"),
        (["simulate", "plan.toml", "--n", "5", "--seed", "-1", "-o", "s.json"], "seed"),
        (["report", "no.nc", "-o", "p.html"], "posterior="),
        (["ledger", "show", "no.db"], "ledger="),
        (["ledger", "new", "l.db", "--dataset", "x"], "epsilon"),
        (["ledger", "new", "l.db", "--dataset", "x", "--epsilon", "-1"], "epsilon"),
        (["ledger", "new", "l.db", "--dataset", "x", "--epsilon", "1", "--rho", "1"], "rho"),
        (["nonsense"], "No such command"),
        (["check"], "Missing argument"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else "",
)
def test_bad_input_is_one_sentence_and_exit_code_2(folder, refused, words, said):
    before = sorted(p.name for p in folder.iterdir())
    assert said in refused(*words)
    assert sorted(p.name for p in folder.iterdir()) == before, "nothing is left behind"


@pytest.mark.parametrize(
    "words", [["--prior", "a"], ["--prior", "a=x"], ["--prior", "c=1"], ["--method", "magic"], ["--chains", "0"]]
)
def test_bad_settings_of_infer(folder, refused, words):
    tacit.simulate(folder / "plan.toml", n=10, seed=0).release.save(folder / "s.json")
    refused("infer", "s.json", "-o", "p.nc", *words)
    assert not (folder / "p.nc").exists()


def test_a_paid_release_that_cannot_be_saved_is_printed(folder, monkeypatch, capsys):
    """The disk fills up between the check and the save: the release goes to standard output, exit code 1."""
    from tacit.cli import main
    from tacit.errors import expected

    def fails(self, path, *, overwrite=False):
        raise expected("release", str(path), "to be writable: No space left on device")

    monkeypatch.chdir(folder)
    monkeypatch.setattr(tacit.Release, "save", fails)
    monkeypatch.setattr(sys, "argv", ["tacit", "privatize", "plan.toml", "rows.csv", "-o", "o.json", "--no-ledger"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 1
    out, err = capsys.readouterr()
    assert tacit.Release.from_json(out).n == 150
    assert "No space left" in err


def test_infer_says_the_answer_first_and_logs_only_when_asked(folder):
    """Seed 1. The answer before the table; with --verbose a log on standard error that holds nothing of the rows."""
    (folder / "titled.toml").write_text('title = "Who smokes?"\n' + PLAN)
    done = run(folder, "privatize", "titled.toml", "rows.csv", "-o", "out.json", "--no-ledger", "--verbose")
    assert "privatize: epsilon = 1 from no ledger" in done.stderr
    assert "tacit infer out.json" in done.stdout, "what to type next"
    words = ("infer", "out.json", "-o", "out.nc", "--seed", "1", "--chains", "2", "--draws", "500")
    quiet = run(folder, *words)
    assert quiet.stderr == ""
    lines = quiet.stdout.splitlines()
    assert lines[0] == "Who smokes?"
    assert lines[1].endswith("].")
    assert " have smoker = yes [" in lines[1]
    assert any(line.startswith("theta") for line in lines[2:])
    loud = run(folder, *words, "--overwrite", "-v")
    assert "infer: bernoulli by the method exact, 2 chains of 500 draws" in loud.stderr
    assert loud.stdout == quiet.stdout
    plain = json.loads(run(folder, *words, "--overwrite", "--json").stdout)
    assert plain["title"] == "Who smokes?"
    assert plain["effects"][0]["sentence"] == lines[1].strip()


def test_a_posterior_that_forbids_trust_says_so_before_its_answer(folder):
    run(folder, "privatize", "plan.toml", "rows.csv", "-o", "out.json", "--no-ledger")
    said = run(folder, "infer", "out.json", "-o", "out.nc", "--method", "naive").stdout.splitlines()
    assert said[0].startswith("Do not rely on this yet: The naive method ignores the noise")
    assert said[1] == "How many have smoker = yes?"
