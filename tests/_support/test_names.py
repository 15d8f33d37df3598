"""Names from strangers: what could forge what an officer approves is refused, and every output spells it out anyway.

The first half tries every hostile name wherever a name is declared. The second half lets them in, by taking the first
defence away, and looks at everything that is printed and written: as many lines as for a plain name, and no character
that is not shown as itself.
"""

from __future__ import annotations

import re
import sys
import warnings
from contextlib import contextmanager

import pytest

import tacit
from tacit._support import printable
from tacit._support.names import check_name
from tacit.cli import main
from tacit.cli.template import toml_value
from tacit.models.formula import parse_formula
from tacit.report.plan_text import explain

HOSTILE = {
    "a line of its own": "smoker.\nPromises: epsilon = 0.01",
    "carriage return": "smoker\rPromises: epsilon = 0.01",
    "tab": "smoker\tyes",
    "null": "smo\0ker",
    "escape sequence": "smoker\x1b[2K\x1b[1APromises: epsilon = 0.01",
    "one-byte escape sequence": "smoker\x9b2J",
    "delete": "smoker\x7f",
    "next line": "smoker\x85yes",
    "line separator": "smoker\u2028Promises: epsilon = 0.01",
    "paragraph separator": "smoker\u2029yes",
    "right-to-left override": "smoker \u202e10.0 = nolispe",
    "isolate": "smoker\u2066yes\u2069",
    "mark of direction": "smoker\u200eyes",
    "Arabic mark of direction": "smoker\u061cyes",
    "zero-width space": "smo\u200bker",
    "zero-width joiner": "smo\u200dker",
    "byte-order mark": "smoker\ufeffyes",
    "soft hyphen": "smo\u00adker",
    "no-break space": "smoker\u00a0yes",
    "wide space": "smoker\u3000yes",
    "tag": "smoker\U000e0041",
    "private use": "smoker\ue000",
    "not assigned": "smoker\u0378",
    "half of a pair": "smoker\ud800",
    "filler of Hangul": "smo\u3164ker",
    "other filler": "smo\u115fker",
    "blank of Braille": "smo\u2800ker",
    "variant": "smoker\ufe0f",
    "joiner of graphemes": "smo\u034fker",
    "accent in front": "\u0301smoker",
    "tower of accents": "smoker" + "\u0335" * 40,
}
HONEST = {
    "spaces": "body mass index",
    "umlaut": "Größe",
    "apart": "Gro\u0308ße",
    "Vietnamese": "tuổi người bệnh",
    "Hindi": "आयु",
    "Thai": "น้ำหนัก",
    "Hebrew": "משקל",
    "Chinese": "体重",
    "emoji": "\U0001f600",
    "euro": "costs in €",
}
# Printable, and allowed; must stand in a sentence and a page as the name of something.
TRICKS = [
    "a. Promises: epsilon = 0.01",
    "[red]a[/red]",
    "[link=http://a.example]a[/link]",
    "<b>a</b><script>alert(1)</script>",
    "{{ 7 * 7 }}",
    "a'b\"c",
    "$x^2$",
    "=1+1",
    ":smile:",
]


def plain_text(text):
    """Whether a terminal shows every character as itself, line by line."""
    return all(printable.spelled_out(line) == line for line in text.split("\n"))


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_name_is_refused_wherever_one_is_declared(name):
    plan = tacit.Plan(tacit.Bernoulli("a"), tacit.Schema(a=["n", "y"]), tacit.PureDP(1.0))
    places = [
        lambda: tacit.Schema({name: (0, 1)}),
        lambda: tacit.Schema(a=["n", name]),
        lambda: tacit.Category(("n", name)),
        lambda: tacit.Plan.from_plain({**plan.to_plain(), "schema": {"a": ["n", "y"], name: [0, 1]}}),
        lambda: parse_formula(f"y ~ `{name}`"),
        lambda: parse_formula(f"y ~ a{name}"),
        lambda: tacit.AddNoise(person=tacit.Person(id=name, max_rows=2)),
        lambda: check_name("dataset", name),
        lambda: check_name("dataset", f"a{name}"),
    ]
    for place in places:
        with pytest.raises(tacit.InputError) as caught:
            place()
        assert plain_text(str(caught.value))
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", HONEST.values(), ids=HONEST)
def test_names_of_every_script_are_fine(name):
    schema = tacit.Schema({name: ["n", name]})
    plan = tacit.Plan(tacit.Bernoulli(name), schema, tacit.PureDP(1.0))
    assert tacit.Plan.from_toml(plan.to_toml()) == plan
    assert parse_formula(f"`{name}` ~ 1").response == name
    assert any(plain_text(line) and name in line for line in explain(plan)[:2])


def run(monkeypatch, capsys, *words):
    monkeypatch.setattr(sys, "argv", ["tacit", *map(str, words)])
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    code = 0
    try:
        main()
    except SystemExit as stopped:
        code = stopped.code or 0
    return code, *capsys.readouterr()


def plan_text(column, level="yes", epsilon=50.0):
    plain = [toml_value(text) for text in (column, level)]
    return (
        f'[model]\nfamily = "bernoulli"\ncolumn = {plain[0]}\n[schema]\n{plain[0]} = ["no", {plain[1]}]\n'
        f"[budget]\nepsilon = {epsilon}\n"
    )


@pytest.mark.parametrize("kind", ["a line of its own", "escape sequence", "right-to-left override", "filler of Hangul"])
def test_every_command_refuses_in_one_plain_line(kind, tmp_path, monkeypatch, capsys):
    name = HOSTILE[kind]
    monkeypatch.chdir(tmp_path)
    tmp_path.joinpath("plan.toml").write_text(plan_text(name), "utf-8")
    tmp_path.joinpath("level.toml").write_text(plan_text("a", name), "utf-8")
    tmp_path.joinpath("local.toml").write_text(plan_text(name) + '[mechanism]\nkind = "local"\n', "utf-8")
    tmp_path.joinpath("good.toml").write_text(plan_text("a"), "utf-8")
    tmp_path.joinpath("rows.csv").write_text(f'"{name}",b\nyes,1\n', "utf-8", newline="")
    commands = [
        *((verb, plan) for verb in ("check",) for plan in ("plan.toml", "level.toml", "local.toml")),
        ("init", "rows.csv"),
        ("design", "plan.toml", "--n", "100"),
        ("audit", "plan.toml"),
        ("calibrate", "level.toml", "--n", "100"),
        ("cite", "plan.toml"),
        ("simulate", "plan.toml", "--n", "10", "-o", "out.json"),
        ("privatize", "plan.toml", "rows.csv", "-o", "out.json", "--no-ledger"),
        ("privatize", "good.toml", "rows.csv", "-o", "out.json", "--no-ledger", "--dataset", name),
        ("bounds", "rows.csv", "--column", name, "--within", "0", "9", "--epsilon", "1", "--no-ledger"),
        ("partial", "good.toml", "rows.csv", "-o", "out.partial", "--dataset", name),
        ("randomize", "local.toml", "rows.csv", "-o", "out.parquet", "--dataset", "a"),
        ("collect", "local.toml", "--port", "0", "--dataset", "a", "-o", "journal"),
        ("ledger", "new", "ledger.db", "--dataset", name, "--epsilon", "1"),
        ("ledger", "new", "ledger.db", "--dataset", "a", "--epsilon", "1", "--person", name),
    ]
    for words in commands:
        code, out, err = run(monkeypatch, capsys, *words)
        assert (code, out) == (2, ""), (words, out)
        assert re.fullmatch(r"Error: [^\n]*\.\n", err), (words, err)
        assert plain_text(err), words
    assert {path.suffix for path in tmp_path.iterdir()} == {".toml", ".csv"}


@contextmanager
def without_first_defence(monkeypatch):
    with monkeypatch.context() as open_door:
        for module in ("tacit.schema", "tacit._support.names", "tacit.models.formula", "tacit.ledger.accounts"):
            open_door.setattr(f"{module}.flaw", lambda _text: None)
        open_door.setattr("tacit._support.names._NAME", re.compile(".+", re.S))
        open_door.setattr("tacit.collector.form._NAME", re.compile(".+", re.S))
        yield


def everything(monkeypatch, capsys, folder, name):
    """All that the commands print about a plan whose column, level and data set have this name; the pages last."""
    monkeypatch.chdir(folder)
    folder.joinpath("plan.toml").write_text(plan_text(name, name, 1.0), "utf-8")
    quick = ("--chains", "2", "--draws", "20", "--anyway", "--method", "naive")
    tacit.Ledger.create("ledger.db").new_dataset(name, tacit.PureDP(5.0))
    tacit.privatize({name: ["no", name] * 20}, "plan.toml", ledger="ledger.db", dataset=name).save("release.json")
    commands = [
        ("check", "plan.toml"),
        ("check", "plan.toml", "--tsv"),
        ("check", "plan.toml", "--json"),
        ("design", "plan.toml", "--n", "100", "--plot", "plot.svg"),
        ("infer", "release.json", "-o", "posterior.nc", *quick),
        ("infer", "release.json", "-o", "again.nc", *quick, "--tsv"),
        ("report", "posterior.nc", "-o", "report.html", "--quick", "--ledger", "ledger.db"),
        ("audit", "plan.toml", "--runs", "200", "-o", "audit.html"),
        ("calibrate", "plan.toml", "--n", "30", "--trials", "12", "--method", "naive", "-o", "calibration.html"),
        ("ledger", "show", "ledger.db"),
        ("ledger", "verify", "ledger.db", "--release", "release.json"),
        ("cite", "plan.toml"),
    ]
    printed = {}
    for words in commands:
        code, out, err = run(monkeypatch, capsys, *words)
        assert code in (0, 1), (words, err)
        printed[words[:3]] = out + err
    loaded = tacit.Posterior.load("posterior.nc")
    pages = [path.read_text("utf-8") for path in sorted(folder.glob("*.html")) + sorted(folder.glob("*.svg"))]
    plan = tacit.Plan.load("plan.toml")
    cards = [one._repr_html_() for one in (loaded, plan, tacit.Release.load("release.json"))]
    return printed, [*pages, *cards]


def test_outputs_spell_out_what_gets_past_the_first_defence(tmp_path, monkeypatch, capsys):
    """One name that holds all of them."""
    name = "a".join(text for kind, text in HOSTILE.items() if kind not in ("null", "half of a pair", "accent in front"))
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    with without_first_defence(monkeypatch):
        printed, pages = everything(monkeypatch, capsys, tmp_path / "one", name)
    honest, _ = everything(monkeypatch, capsys, tmp_path / "other", "smoker")
    for words, text in printed.items():
        assert plain_text(text.replace("\t", "")), (words, text)
        assert text.count("\n") == honest[words].count("\n"), (words, text)
        assert not re.search(r"^\s*Promises: epsilon = 0.01", text, re.M), text
    assert len(pages) == 7
    for page in pages:
        assert plain_text(page)


@pytest.mark.parametrize("name", TRICKS)
def test_printable_tricks_stay_names(name, tmp_path, monkeypatch, capsys):
    """They are allowed: in a sentence they stand in quotes, in a table as they are, and are no markup."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.toml").write_text(plan_text(name, name))
    code, check, _ = run(monkeypatch, capsys, "check", "plan.toml")
    assert code == 0
    assert f"Reads: the column {name!r};" in check
    assert f"\n{name}={name} " in check, "the table takes it for markup"
    assert re.findall(r"^Promises: (.*?)\. ", check, re.M) == ["epsilon = 50"]


def test_printable_tricks_are_no_markup_in_pages(tmp_path, monkeypatch, capsys):
    with monkeypatch.context() as patched:
        patched.setattr(
            "tacit._support.names._NAME", re.compile(".+", re.S)
        )  # data sets have stricter names by themselves
        _, pages = everything(monkeypatch, capsys, tmp_path, " ".join(TRICKS))
    for page in pages:
        assert "<script>alert" not in page
        assert "<b>a</b>" not in page
    assert sum("{{ 7 * 7 }}" in page for page in pages) >= 5


def test_a_sentence_on_a_narrow_terminal_has_no_forged_line(tmp_path, monkeypatch, capsys):
    """Words that break where a line ends: the rest of the name is set in and inside its quotes."""
    monkeypatch.chdir(tmp_path)
    name = "smoker" + " x" * 20 + " Promises: epsilon = 0.01"
    (tmp_path / "plan.toml").write_text(plan_text(name))
    for columns in range(40, 100):
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        _, out, _ = run(monkeypatch, capsys, "check", "plan.toml")
        assert re.search(r"^Promises: epsilon = 50", out, re.M)
        assert not re.search(r"^Promises: epsilon = 0", out, re.M)


def test_the_check_for_plain_text_sees_planted_faults():
    assert not any(plain_text(name) for kind, name in HOSTILE.items() if kind not in NOT_ABOUT_ONE_CHARACTER)
    assert all(plain_text(name) for name in HONEST.values())


NOT_ABOUT_ONE_CHARACTER = ("a line of its own", "accent in front", "tower of accents")
