"""The command line for somebody who is new to it: the order of commands, whole sentences, draws, early refusals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import typer

import tacit
from tacit.cli import app
from tacit.cli.order import ORDER
from tacit.cli.shared import check_suffix, prior_changes

SCHEMA = tacit.Schema(ill=["no", "yes"], age=(20, 60))
LOGISTIC = tacit.Plan(
    tacit.LogisticRegression("ill ~ age"), SCHEMA, tacit.GDP(1.0), tacit.PosteriorSample(draws=8, private="response")
)
SHARE = tacit.Plan(
    tacit.Bernoulli("ill"), SCHEMA, tacit.RenyiDP(order=2, epsilon=1.0), tacit.PosteriorSample(draws=2, n=50)
)


TOOL = str(Path(sys.executable).parent / "tacit")


def group():
    return typer.main.get_command(app)


def listed(*words):
    """The list of commands as it is printed at 80 columns."""
    env = {**os.environ, "COLUMNS": "80"}
    done = subprocess.run([TOOL, *words, "--help"], capture_output=True, text=True, check=True, env=env)
    return done.stdout.split("Commands:\n")[1]


def test_commands_are_listed_in_the_order_of_use_and_none_is_cut():
    shown = listed()
    assert [line.split()[0] for line in shown.splitlines()] == list(ORDER)
    visible = {name for name, command in group().commands.items() if not command.hidden}
    assert set(ORDER) == visible, "a new command has its place in the order"
    assert "..." not in shown
    assert "..." not in listed("ledger")


def test_a_command_that_the_order_does_not_know_comes_last():
    found = group()
    found.commands["another"] = found.commands["demo"]
    assert [name for name in found.list_commands(None) if name != "drawn"] == [*ORDER, "another"]


def test_first_sentences_are_short():
    for name, command in group().commands.items():
        assert len(command.help.split(". ")[0]) <= 60, name


@pytest.mark.parametrize(
    ("name", "usage"),
    [
        ("privatize", "{PLAN} {DATA}..."),
        ("partial", "{PLAN} {DATA}..."),
        ("infer", "{RELEASE}..."),
        ("collect", "{PLAN}..."),
        ("cite", "[FILE]"),
    ],
)
def test_usage_lines_have_dots_and_brackets_once(name, usage):
    command = group().commands[name]
    words = " ".join(command.collect_usage_pieces(typer.Context(command)))
    assert words == f"[OPTIONS] {usage}"


def invoke(*words):
    app(list(words), standalone_mode=False)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_draws_of_a_regression_are_read_in_the_units_of_the_data(here, capsys):
    release = tacit.simulate(LOGISTIC, n=40, seed=3).release
    release.save("release.json")
    truth = tacit.released_draws(release).coefficients()
    invoke("draws", "release.json", "--json")
    plain = json.loads(capsys.readouterr().out)
    assert (plain["units"], plain["draws"], plain["failed"]) == ("data", 8, 0)
    assert plain["values"] == {name: values.tolist() for name, values in truth.items()}
    invoke("draws", "release.json", "--tsv")
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert rows[0] == ["number", *(f"draw {i}" for i in range(1, 9))]
    assert {row[0]: [float(v) for v in row[1:]] for row in rows[1:]} == plain["values"]
    invoke("draws", "release.json")
    said = capsys.readouterr().out
    assert "In the units of the data" in said
    assert "and 2 more draws" in said
    assert "tacit infer" not in said, "nothing infers from draws of a regression"
    with pytest.raises(tacit.InputError, match="`tacit draws` reads them"):
        tacit.infer(release)


def test_other_draws_are_read_in_mapped_units_and_failures_are_left_out(here, capsys):
    from tacit.models.draw_parameters import FAILED

    tacit.Release(plan=SHARE, n=50, values=(FAILED, 2**19), dataset="d", id="i").save("release.json")
    invoke("draws", "release.json", "--json")
    name = SHARE.calibrated_mechanism().entries[0].removeprefix("draw 1: ")
    assert json.loads(capsys.readouterr().out) == {
        "units": "mapped",
        "draws": 1,
        "failed": 1,
        "values": {name: [0.5]},
    }
    invoke("draws", "release.json")
    said = capsys.readouterr().out
    assert "Note: 1 of 2 draws failed" in said
    assert "tacit infer release.json" in said
    with pytest.raises(tacit.InputError, match="either --json or --tsv"):
        invoke("draws", "release.json", "--json", "--tsv")
    noisy = tacit.Plan(SHARE.model, SCHEMA, tacit.PureDP(1.0))
    tacit.simulate(noisy, n=5, seed=1).release.save("noisy.json")
    with pytest.raises(tacit.InputError, match='to be "posterior-sample"'):
        invoke("draws", "noisy.json")


def test_simulated_reports_are_parquet_and_releases_are_not(here, capsys):
    tacit.Plan(SHARE.model, SCHEMA, tacit.PureDP(1.0), tacit.Local()).save("local.toml")
    tacit.Plan(SHARE.model, SCHEMA, tacit.PureDP(1.0)).save("central.toml")
    with pytest.raises(tacit.InputError, match=r"to end in \.parquet"):
        invoke("simulate", "local.toml", "--n", "20", "-o", "out.json")
    with pytest.raises(tacit.InputError, match="to be a JSON file"):
        invoke("simulate", "central.toml", "--n", "20", "-o", "out.parquet")
    assert not list(here.glob("out.*"))
    invoke("simulate", "local.toml", "--n", "20", "-o", "out.parquet")
    assert "made a report of each: out.parquet" in capsys.readouterr().out
    assert tacit.Reports.load("out.parquet").n == 20
    invoke("simulate", "central.toml", "--n", "20", "-o", "out.json")
    assert "released them: out.json" in capsys.readouterr().out


def test_plots_are_refused_before_the_long_run(here, monkeypatch):
    import tacit.calibration.study

    def never(*_, **__):
        raise AssertionError("it ran")

    monkeypatch.setattr(tacit.calibration.study, "study", never)
    tacit.Plan(SHARE.model, SCHEMA, tacit.PureDP(1.0)).save("plan.toml")
    (here / "file").write_text("dear to somebody")
    (here / "full").mkdir()
    (here / "full" / "differences.png").write_text("dear to somebody")
    before = sorted(here.rglob("*"))
    for folder, said in (("file", "to be a folder"), ("file/in", "to be a folder"), ("full", "not to exist")):
        with pytest.raises(tacit.InputError, match=said):
            invoke("calibrate", "plan.toml", "--n", "10", "--plots", folder)
    with pytest.raises(tacit.InputError, match="prior='a'"):
        invoke("calibrate", "plan.toml", "--n", "10", "--prior", "a")
    for words in (["new/folder"], ["full", "--overwrite"]):
        with pytest.raises(AssertionError, match="it ran"):
            invoke("calibrate", "plan.toml", "--n", "10", "--plots", *words)
    assert sorted(here.rglob("*")) == before


def test_changes_of_the_prior():
    assert prior_changes([]) is None
    assert prior_changes(["a=2", "b=1,2.5"]) == {"a": 2.0, "b": (1.0, 2.5)}
    for texts, said in ((["a"], "form"), (["=1"], "form"), (["a=x"], "form"), (["a=1", "a=2"], "only change of 'a'")):
        with pytest.raises(tacit.InputError, match=said):
            prior_changes(texts)


def commands(group=None, before=()):
    """Every command, by the words that call it."""
    group = typer.main.get_command(app) if group is None else group
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*before, name))
        elif not command.hidden:
            yield (*before, name), {flag for param in command.params for flag in param.opts}


def test_every_command_takes_the_common_options():
    """The bar, the log and JSON are asked for in one way; the demo has no result for a machine."""
    found = dict(commands())
    assert len(found) > 25
    for words, flags in found.items():
        assert {"--quiet", "-q", "--verbose", "-v"} <= flags, words
        assert "--json" in flags or words == ("demo",), words


def test_quiet_says_nothing_and_verbose_logs(folder_of_a_plan, tmp_path):
    """Results of --quiet are files and exit codes; errors are said all the same."""
    release = tmp_path / "release.json"
    rows = tmp_path / "rows.csv"
    rows.write_text("smoker,age\nyes,30\nno,40\n")
    words = [TOOL, "privatize", folder_of_a_plan, rows, "-o", release, "--no-ledger"]
    done = subprocess.run([*words, "-q"], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert release.exists()
    done = subprocess.run([*words, "-q"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: Expected output=")
    done = subprocess.run([*words, "--overwrite", "-v"], capture_output=True, text=True, timeout=120)
    assert "privatize: epsilon = 1 from no ledger" in done.stderr
    assert "Released 1 noisy number" in done.stdout


@pytest.fixture
def folder_of_a_plan(tmp_path):
    plan = tacit.Plan(tacit.Bernoulli("smoker"), tacit.Schema(smoker=["no", "yes"]), tacit.PureDP(1.0))
    return plan.save(tmp_path / "plan.toml")


def test_an_output_has_a_name_by_which_it_is_known_again():
    check_suffix(Path("page.HTML"), ".html", "why")
    for name in ("page.pdf", "page", "page.html.txt"):
        with pytest.raises(tacit.InputError, match=r"to end in \.html: the page is HTML"):
            check_suffix(Path(name), ".html", "the page is HTML")


def test_the_demo_names_a_command_that_the_shell_finds(monkeypatch):
    """`make demo` leaves the command in a folder where no shell looks."""
    demo = import_module("tacit.demo")
    monkeypatch.setattr(sys, "argv", ["/somewhere/bin/tacit", "demo"])
    monkeypatch.setattr(demo.shutil, "which", lambda _: None)
    assert demo._tool() == "/somewhere/bin/tacit"
    monkeypatch.setattr(demo.shutil, "which", lambda _: "/usr/bin/tacit")
    assert demo._tool() == "tacit"
