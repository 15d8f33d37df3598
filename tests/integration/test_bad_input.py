"""Hostile input, driven through the command line: whatever is wrong, one sentence, and nothing is spent or lost.

Every case of the campaign asserts the same things: the exit code (2: not what was expected; 1: refused), exactly one
sentence on standard error that names what is wrong, no traceback, no cell of the data anywhere, and a folder that is
byte for byte what it was before: no output, no temporary file, nothing charged to the ledger.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import tacit
from tacit.cli import main

TOOL = str(Path(sys.executable).parent / "tacit")
ERRORS = (Path(__file__).parents[2] / "docs" / "errors.md").read_text("utf-8")
CANARY = "canary-7731"
PLAN = """
[model]
family = "bernoulli"
column = "smoker"

[schema]
smoker = ["no", "yes"]
age = [18, 65]

[budget]
epsilon = 1.0

[mechanism]
kind = "noise"
"""
PAID = ("--ledger", "ledger.db", "--dataset", "survey 2026")
PRIVATIZE = ("privatize", "plan.toml", "rows.csv", "-o", "out.json", *PAID)
INFER = ("infer", "release.json", "-o", "out.nc")


# ---------------------------------------------------------------------------------------------------------------------
# The folder, a run of the command line inside this process, and what must hold after every refusal


@pytest.fixture(scope="session")
def template(tmp_path_factory):
    """A plan, rows full of canaries, a ledger with one release paid, a release, a posterior."""
    folder = tmp_path_factory.mktemp("template")
    (folder / "plan.toml").write_text(PLAN)
    (folder / "rows.csv").write_text("smoker,age\n" + f"{CANARY},7731\nyes,20\n" * 20)
    (folder / "there.json").write_text("precious")
    plan = tacit.Plan.load(folder / "plan.toml")
    ledger = tacit.Ledger.create(folder / "ledger.db")
    ledger.new_dataset("survey 2026", tacit.PureDP(2.5))
    release = tacit.privatize(folder / "rows.csv", plan, ledger=ledger, dataset="survey 2026")
    release.save(folder / "release.json")
    tacit.infer(release, draws=20, anyway=True, chains=2, warmup=0, method="naive").save(folder / "posterior.nc")
    return folder


@pytest.fixture
def folder(template, tmp_path, monkeypatch):
    shutil.copytree(template, tmp_path / "desk")
    monkeypatch.chdir(tmp_path / "desk")
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # main() sets it: put it back afterwards
    return tmp_path / "desk"


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


def run(capsys, *words):
    """The command line in this process. Whatever escapes it but SystemExit fails the test."""
    old, sys.argv = sys.argv, ["tacit", *map(str, words)]
    code = 0
    try:
        main()
    except SystemExit as stopped:
        code = stopped.code or 0
    finally:
        sys.argv = old
    out, err = capsys.readouterr()
    return Outcome(code, out, err)


def contents(folder):
    """Every file below ``folder``: its content, or what it is."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"link to {os.readlink(path)}"
        else:
            found[name] = path.read_bytes() if path.is_file() else "folder" if path.is_dir() else "other"
    return found


def check_refusal(done, code, said):
    """One sentence in the one form (or a usage message), naming what is wrong, without a trace of a row."""
    assert done.code == code, done
    if "Usage:" in done.err:
        assert code == 2
    else:
        assert re.fullmatch(r"Error: (In the schema, column [^\n]*: )?Expected [^\n]*\.\n", done.err), done.err
        assert len(done.err) < 1200
        if named := re.search(r"Expected ([a-z_ ]+)=", done.err):
            assert f"`{named[1]}`" in ERRORS, "the page of errors explains every name"
    for word in (said,) if isinstance(said, str) else said:
        assert word.lower() in done.err.lower(), done.err
    assert done.out == ""
    shown = done.out + done.err
    assert "Traceback" not in shown
    assert "\x1b" not in shown
    assert "canary" not in shown
    assert "7731" not in shown


@contextmanager
def unharmed(folder):
    """Nothing in the folder changes; the ledger's head in particular."""
    before, head = contents(folder), tacit.Ledger(folder / "ledger.db").head
    yield
    assert tacit.Ledger(folder / "ledger.db").head == head, "nothing is charged"
    assert contents(folder) == before


# ---------------------------------------------------------------------------------------------------------------------
# Plans. Every one is tried with a ledger that would pay.

AGE, LEVELS, BUDGET, LAW = "age = [18, 65]", '["no", "yes"]', "epsilon = 1.0", 'kind = "noise"'

PLANS = {
    "bounds reversed": (AGE, "age = [65, 18]", "bounds"),
    "bounds equal": (AGE, "age = [18, 18]", "bounds"),
    "bounds nan": (AGE, "age = [nan, 65]", "bounds"),
    "bounds infinite": (AGE, "age = [18, inf]", "bounds"),
    "bounds overflow in their difference": (AGE, "age = [-1e308, 1e308]", "bounds"),
    "bounds past float64": (AGE, f"age = [18, 1{'0' * 400}]", "high"),
    "bounds with an endless number": (AGE, f"age = [18, 1{'0' * 5000}]", "TOML"),
    "bounds of text and number": (AGE, 'age = ["a", 1]', "column"),
    "one bound": (AGE, "age = [18]", "column"),
    "missing out of bounds": (AGE, "age = {bounds = [18, 65], missing = 7}", "missing"),
    "missing a list": (AGE, "age = {bounds = [18, 65], missing = [1]}", "missing"),
    "a date for a bound": (AGE, "age = [1979-05-27, 2000-01-01]", "column"),
    "nothing declared for a column": (AGE, "age = []", "age of [schema]"),
    "one level": (LEVELS, '["no"]', "levels"),
    "levels twice": (LEVELS, '["no", "no"]', "levels"),
    "levels of two kinds": (LEVELS, '{levels = ["no", 1]}', "levels"),
    "levels nan": (LEVELS, "{levels = [0, nan]}", "levels"),
    "levels with spaces": (LEVELS, '["no ", "yes"]', "levels"),
    "levels with a null character": (LEVELS, '["no", "y\\u0000s"]', "levels"),
    "three levels for bernoulli": (LEVELS, '["no", "yes", "perhaps"]', "levels"),
    "a level that stands for missing but is none": (LEVELS, '{levels = ["no", "yes"], missing = "nay"}', "missing"),
    "epsilon 0": (BUDGET, "epsilon = 0", "epsilon"),
    "epsilon negative": (BUDGET, "epsilon = -1", "epsilon"),
    "epsilon nan": (BUDGET, "epsilon = nan", "epsilon"),
    "epsilon inf": (BUDGET, "epsilon = inf", "epsilon"),
    "epsilon past float64": (BUDGET, "epsilon = 1e400", "epsilon"),
    "epsilon past what is priced": (BUDGET, "epsilon = 1.1e12", "epsilon=1100000000000.0"),
    "rho past what is priced": (BUDGET, "rho = 1e13", "rho"),
    "mu past what is priced": (BUDGET, "mu = 1e7", "mu"),
    "epsilon an endless number": (BUDGET, f"epsilon = 1{'0' * 5000}", "TOML"),
    "epsilon a long number": (BUDGET, f"epsilon = 1{'0' * 4000}", "epsilon"),
    "epsilon too small": (BUDGET, "epsilon = 1e-308", "epsilon"),
    "epsilon text": (BUDGET, 'epsilon = "1"', "epsilon"),
    "epsilon bool": (BUDGET, "epsilon = true", "epsilon"),
    "epsilon a table": (BUDGET, "epsilon = {a = 1}", "epsilon"),
    "delta 0": (BUDGET, "epsilon = 1.0\ndelta = 0", "delta"),
    "delta 1": (BUDGET, "epsilon = 1.0\ndelta = 1", "delta"),
    "delta nan": (BUDGET, "epsilon = 1.0\ndelta = nan", "delta"),
    "delta alone": (BUDGET, "delta = 1e-6", "epsilon"),
    "order 1": (BUDGET, "epsilon = 1.0\norder = 1", "order"),
    "order past reason": (BUDGET, "epsilon = 1e-3\norder = 1e300", "epsilon"),
    "rho and epsilon": (BUDGET, "epsilon = 1.0\nrho = 1.0", "rho"),
    "mu too small": (BUDGET, "mu = 1e-300", "mu"),
    "another neighbour relation": (BUDGET, 'epsilon = 1.0\nneighbours = "remove-one"', "neighbours"),
    "an assumption": (BUDGET, 'epsilon = 1.0\nassumes = ["luck"]', "assumes"),
    "typo in a table's name": ("[budget]", "[bugdet]", ("plan table", "did you mean 'budget'")),
    "typo in [model]": ("column =", "colunm =", ("found 'colunm'", "did you mean 'column'")),
    "typo in family": ('family = "bernoulli"', 'familly = "bernoulli"', "family"),
    "typo in a family's name": ("bernoulli", "bernouli", ("family", "did you mean 'bernoulli'")),
    "typo in [budget]": ("epsilon =", "epsilom =", ("budget key", "did you mean 'epsilon'")),
    "typo in [mechanism]": ("kind =", "kinde =", ("mechanism key", "did you mean 'kind'")),
    "typo in a column's table": (AGE, "age = {bonds = [18, 65]}", ("key", "did you mean 'bounds'")),
    "typo in a noise": (LAW, LAW + '\nlaw = "discrete-laplce"', ("law", "did you mean 'discrete-laplace'")),
    "typo in the column": ('column = "smoker"', 'column = "smokers"', ("column", "did you mean 'smoker'")),
    "the column in another case": ('column = "smoker"', 'column = "Smoker"', ("column", "did you mean 'smoker'")),
    "an unknown family": ("bernoulli", "quantum", "family"),
    "a family that is a list": ('"bernoulli"', '["bernoulli"]', "family"),
    "a column that is a list": ('column = "smoker"', 'column = ["smoker"]', "column"),
    "a column that is a number": ('column = "smoker"', 'column = "age"', "column"),
    "a noise that is a list": (LAW, LAW + '\nlaw = ["discrete-laplace"]', "law"),
    "a noise that cannot meet the budget": (LAW, LAW + '\nlaw = "discrete-gaussian"', "budget"),
    "a unit without an id": (LAW, LAW + '\nunit = "person"\nmax_rows = 2', "id"),
    "an id with spaces": (LAW, LAW + '\nunit = "person"\nid = " w "\nmax_rows = 2', "id"),
    "an id that is declared": (LAW, LAW + '\nunit = "person"\nid = "age"\nmax_rows = 2', "id"),
    "max_rows 0": (LAW, LAW + '\nunit = "person"\nid = "w"\nmax_rows = 0', "max_rows"),
    "max_rows past reason": (LAW, LAW + f'\nunit = "person"\nid = "w"\nmax_rows = 1{"0" * 4000}', "max_rows"),
    "no model": ('[model]\nfamily = "bernoulli"\ncolumn = "smoker"\n', "", "model"),
    "no budget": ("[budget]\nepsilon = 1.0\n", "", "budget"),
    "an empty schema": (f"smoker = {LEVELS}\n{AGE}\n", "", "schema"),
    "a table that is none": ("[budget]\nepsilon = 1.0\n", "", "budget"),
    "a key twice": (AGE, f"{AGE}\n{AGE}", "TOML"),
    "an array nested without end": (AGE, f"age = {'[' * 3000}{']' * 3000}", "TOML"),
    "a table nested without end": (AGE, f"age = {'{a = ' * 3000}1{'}' * 3000}", "TOML"),
    "a column name of spaces": (AGE, '" " = [0, 1]', "column name"),
    "a column name that is nothing": (AGE, '"" = [0, 1]', "column name"),
    "a column name with a null character": (AGE, '"a\\u0000" = [0, 1]', "column name"),
    "not TOML at all": ("[schema]", "]schema[", "TOML"),
    "unfinished": (BUDGET, "epsilon = ", "TOML"),
    "a formula for a family without one": ('column = "smoker"', 'formula = "smoker ~ age"', "column"),
}

FORMULAS = {
    "no response": '"~ age"',
    "no terms": '"age ~"',
    "two responses": '"age ~ bmi ~ smoker"',
    "a function": '"age ~ log(bmi)"',
    "the response as a term": '"age ~ age"',
    "a column twice in a term": '"age ~ bmi:bmi"',
    "a backtick left open": '"age ~ `bmi"',
    "a number": "3",
    "a list": '["age ~ bmi"]',
    "a null character": '"age ~ \\u0000"',
    "powers without end": '"age ~ ' + "*".join(f"x{i}" for i in range(40)) + '"',
    "terms without end": '"age ~ ' + "+".join(f"x{i}" for i in range(5000)) + '"',
    "levels to the third": '"age ~ many:more:most"',
    "a category as response": '"smoker ~ age"',
    "a sign at the end": '"age ~ bmi +"',
}


@pytest.mark.parametrize("case", PLANS)
def test_a_bad_plan(folder, capsys, case):
    old, new, said = PLANS[case]
    assert old in PLAN
    (folder / "plan.toml").write_text(PLAN.replace(old, new))
    with unharmed(folder):
        check_refusal(run(capsys, *PRIVATIZE), 2, said)
    with unharmed(folder):
        check_refusal(run(capsys, "check", "plan.toml"), 2, said)


@pytest.mark.parametrize("case", FORMULAS)
def test_a_bad_formula(folder, capsys, case):
    many = f"{{levels = [{', '.join(map(str, range(1000)))}]}}"
    schema = f"bmi = [15, 55]\nmany = {many}\nmore = {many}\nmost = {many}\n"
    schema += "".join(f"x{i} = [0, 1]\n" for i in range(40))
    plan = PLAN.replace('family = "bernoulli"\ncolumn = "smoker"', f'family = "linear"\nformula = {FORMULAS[case]}')
    (folder / "plan.toml").write_text(plan.replace(AGE, f"{AGE}\n{schema}"))
    with unharmed(folder):
        check_refusal(run(capsys, *PRIVATIZE), 2, ("formula", "column") if case == "levels to the third" else "")


# ---------------------------------------------------------------------------------------------------------------------
# Data


def write_csv(content):
    return lambda folder: (folder / "rows.csv").write_bytes(content)


def write_parquet(**columns):
    return lambda folder: pq.write_table(pa.table(columns), folder / "rows.parquet")


def two_equal_names(folder):
    cells = pa.array([CANARY, "yes"])
    pq.write_table(pa.table([cells, cells], ["smoker", "smoker"]), folder / "rows.parquet")


def junk(name):
    return lambda folder: (folder / name).write_bytes(b"\x00\xff\xfe" + CANARY.encode() * 50 + bytes(range(256)))


def folder_instead(name):
    def swap(folder):
        (folder / name).unlink(missing_ok=True)
        (folder / name).mkdir()

    return swap


def loop(name):
    def swap(folder):
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(name)

    return swap


def link(name, target):
    return lambda folder: (folder / name).symlink_to(target)


def device(name):
    """A null device of our own: a fault in a test that root runs must not cost the computer its own."""

    def make(folder):
        try:
            os.mknod(folder / name, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        except PermissionError:
            pytest.skip("NOT TESTED: only root can make a device")

    return make


def nothing(folder):
    pass


DATA = {
    "absent": (nothing, "no.csv", "data"),
    "absent folder": (nothing, "no/rows.csv", "data"),
    "empty": (write_csv(b""), "rows.csv", "data"),
    "blank first line": (write_csv(b"\nsmoker\n" + CANARY.encode()), "rows.csv", "data"),
    "header only": (write_csv(b"smoker,age\n"), "rows.csv", "at least one row"),
    "header only, not ended": (write_csv(b"smoker,age"), "rows.csv", "at least one row"),
    "header only in parquet": (write_parquet(smoker=pa.array([], pa.string())), "rows.parquet", "at least one row"),
    "header only in feather": (
        lambda f: feather.write_feather(pa.table({"smoker": pa.array([], pa.string())}), str(f / "rows.feather")),
        "rows.feather",
        "at least one row",
    ),
    "one column, not ended": (write_csv(b"smoker\nyes"), "rows.csv", "newline"),
    "no header": (write_csv(f"{CANARY},7731\nyes,20\n".encode()), "rows.csv", "column='smoker'"),
    "header in another case": (
        write_csv(f"Smoker,age\n{CANARY},1\n".encode()),
        "rows.csv",
        ("column='smoker'", "did you mean 'Smoker'"),
    ),
    "column missing": (write_csv(f"age\n{CANARY}\n".encode()), "rows.csv", "column='smoker'"),
    "column twice": (write_csv(f"smoker,smoker\n{CANARY},yes\n".encode()), "rows.csv", "appear once"),
    "column twice in parquet": (two_equal_names, "rows.parquet", "appear once"),
    "column missing in parquet": (write_parquet(age=[1.0]), "rows.parquet", "column='smoker'"),
    "column of lists in parquet": (write_parquet(smoker=[[CANARY]]), "rows.parquet", "column='smoker'"),
    "column of structs in parquet": (write_parquet(smoker=[{"a": CANARY}]), "rows.parquet", "column='smoker'"),
    "header not UTF-8": (write_csv(b"smok\xffer\nyes\n"), "rows.csv", "UTF-8"),
    "header without end": (write_csv(b"smoker," * 200_000), "rows.csv", "1 MiB"),
    "UTF-16": (write_csv(f"smoker\n{CANARY}\n".encode("utf-16")), "rows.csv", "UTF-8"),
    "line ends of old Macs": (write_csv(f"smoker\r{CANARY}\ryes".encode()), "rows.csv", "newline"),
    "junk as csv": (junk("rows.csv"), "rows.csv", "data"),
    "junk as parquet": (junk("rows.parquet"), "rows.parquet", "Parquet"),
    "junk as arrow": (junk("rows.arrow"), "rows.arrow", "Arrow"),
    "empty parquet": (lambda f: (f / "rows.parquet").write_bytes(b""), "rows.parquet", "Parquet"),
    "csv called parquet": (lambda f: shutil.copy(f / "rows.csv", f / "r.parquet"), "r.parquet", "Parquet"),
    "no suffix": (junk("rows"), "rows", "to end in"),
    "an unknown suffix": (junk("rows.xlsx"), "rows.xlsx", "to end in"),
    "a folder without parquet": (folder_instead("rows.csv"), "rows.csv", "folder"),
    "a loop of links": (loop("rows.csv"), "rows.csv", "data"),
    "the null device": (link("null.csv", "/dev/null"), "null.csv", "regular file"),
    "a device without end": (link("zero.csv", "/dev/zero"), "zero.csv", "regular file"),
    "a device without end as parquet": (link("zero.parquet", "/dev/zero"), "zero.parquet", "regular file"),
    "a name too long": (nothing, "x" * 300 + ".csv", "data"),
    "a name with a newline": (nothing, "a\nb.csv", "data"),
}


@pytest.mark.parametrize("case", DATA)
def test_bad_data(folder, capsys, case):
    prepare, data, said = DATA[case]
    prepare(folder)
    with unharmed(folder):
        check_refusal(run(capsys, "privatize", "plan.toml", data, "-o", "out.json", *PAID), 2, said)


def test_the_name_of_a_folder_is_shown_on_one_line(folder, capsys):
    (folder / "a\nb").mkdir()
    (folder / "a\nb" / "rows.csv").write_text("other\n1\n")
    with unharmed(folder):
        check_refusal(run(capsys, "privatize", "plan.toml", "a\nb/rows.csv", "-o", "out.json", *PAID), 2, "a\\nb")


GOOD_DATA = {
    "one row": b"smoker\nyes\n",
    "one row, not ended": b"smoker,age\nyes,20",
    "a blank row": b"smoker\n\n",
    "cells not UTF-8": b"smoker\n\xff\xfe\ny\xe9s\n",
    "null characters": b"smoker\n\x00\n",
    "quotes left open": b'smoker\n"yes\n"no\n',
    "a byte order mark": b"\xef\xbb\xbfsmoker\nyes\n",
    "a cell of a megabyte": b"smoker\n" + b"x" * 10**6 + b"\n",
}


@pytest.mark.parametrize("case", GOOD_DATA)
def test_odd_data_that_must_work(folder, capsys, case):
    (folder / "rows.csv").write_bytes(GOOD_DATA[case])
    done = run(capsys, *PRIVATIZE)
    assert (done.code, done.err) == (0, "")
    assert tacit.Release.load("out.json").n == max(1, GOOD_DATA[case].removesuffix(b"\n").count(b"\n"))


# ---------------------------------------------------------------------------------------------------------------------
# Outputs, ledgers and options of privatize


def hard_link(folder):
    os.link(folder / "rows.csv", folder / "other.csv")


def parquet_folder(folder):
    (folder / "many").mkdir()
    pq.write_table(pa.table({"smoker": [CANARY]}), folder / "many" / "0.parquet")


def case(prepare=nothing, plan="plan.toml", data="rows.csv", output="out.json", paid=PAID, more=(), code=2):
    return prepare, ("privatize", plan, data, "-o", output, *paid, *more), code


def ledger(file="ledger.db", dataset="survey 2026"):
    return ("--ledger", file, "--dataset", dataset)


OVERWRITE = ("--overwrite",)

REQUESTS = {
    "output exists": (case(output="there.json"), ("output", "not to exist")),
    "output in a folder that is not there": (case(output="no/out.json"), ("output", "folder")),
    "output in a file": (case(output="rows.csv/out.json"), ("output", "folder")),
    "output is a folder": (case(folder_instead("out.json")), ("output", "folder")),
    "output is nothing": (case(output=""), "output"),
    "output is the data": (case(output="rows.csv", more=OVERWRITE), ("output", "data")),
    "output is the data by another way": (case(output="../desk/./rows.csv", more=OVERWRITE), ("output", "data")),
    "output is the data by a link": (
        case(link("l.csv", "rows.csv"), output="l.csv", more=OVERWRITE),
        ("output", "data"),
    ),
    "output is the data by a hard link": (case(hard_link, output="other.csv", more=OVERWRITE), ("output", "data")),
    "output is a part of the data": (
        case(parquet_folder, data="many", output="many/0.parquet", more=OVERWRITE),
        ("output", "data"),
    ),
    "output would become a part of the data": (
        case(parquet_folder, data="many", output="many/1.parquet"),
        ("output", "data"),
    ),
    "output is the plan": (case(output="plan.toml", more=OVERWRITE), ("output", "plan")),
    "output is the ledger": (case(output="ledger.db", more=OVERWRITE), ("output", "ledger")),
    "output is the ledger's journal": (case(output="ledger.db-journal"), ("output", "ledger")),
    "output is a device": (case(device("null"), output="null"), ("output", "regular file")),
    "output is a device to overwrite": (
        case(device("null"), output="null", more=OVERWRITE),
        ("output", "regular file"),
    ),
    "output is a link to nowhere": (case(link("out.json", "nowhere")), ("output", "not a link")),
    "output is a link to overwrite": (case(link("out.json", "there.json"), more=OVERWRITE), ("output", "not a link")),
    "output is a loop of links": (case(loop("out.json")), ("output", "not a link")),
    "output has a name too long": (case(output="x" * 300), "output"),
    "plan is a folder": (case(folder_instead("plan.toml")), ("plan", "folder")),
    "plan is absent": (case(plan="no.toml"), "plan"),
    "plan is junk": (case(junk("plan.toml")), ("plan", "UTF-8")),
    "plan is the data": (case(plan="rows.csv"), ("plan", "tacit init")),
    "plan is empty": (case(lambda f: (f / "plan.toml").write_bytes(b"")), "model"),
    "plan is a device without end": (case(plan="/dev/zero"), ("plan", "regular file")),
    "plan is a loop of links": (case(loop("plan.toml")), "plan"),
    "plan has a name too long": (case(plan="x" * 300), "plan"),
    "ledger is absent": (case(paid=ledger("no.db")), ("ledger", "ledger new")),
    "ledger is a folder": (case(folder_instead("l.db"), paid=ledger("l.db")), "ledger"),
    "ledger is text": (case(paid=ledger("plan.toml")), "ledger"),
    "ledger is junk": (case(junk("l.db"), paid=ledger("l.db")), "ledger"),
    "ledger is empty": (case(lambda f: (f / "l.db").write_bytes(b""), paid=ledger("l.db")), "ledger"),
    "ledger is a device": (case(device("null"), paid=ledger("null")), "ledger"),
    "ledger has a name too long": (case(paid=ledger("x" * 300)), "ledger"),
    "ledger and no ledger": (case(more=("--no-ledger",)), "--no-ledger"),
    "neither ledger nor none": (case(paid=()), "--no-ledger"),
    "ledger without a dataset": (case(paid=("--ledger", "ledger.db")), "--dataset"),
    "dataset unknown": (
        case(paid=ledger(dataset="survey 2025")),
        ("dataset", "did you mean 'survey 2026'"),
    ),
    "dataset with a slash": (case(paid=ledger(dataset="a/b")), "dataset"),
    "dataset with a newline": (case(paid=ledger(dataset="a\nb")), "dataset"),
    "dataset with an escape": (case(paid=ledger(dataset="a\x1b[31m")), "dataset"),
    "dataset is nothing": (case(paid=ledger(dataset="")), "dataset"),
    "dataset of 201 letters": (case(paid=ledger(dataset="a" * 201)), "dataset"),
    "dataset of a million letters": (case(paid=ledger(dataset="a" * 10**6)), "dataset"),
    "dataset without a ledger, bad": (case(paid=("--no-ledger", "--dataset", "a/b")), "dataset"),
    "total too small": (
        case(lambda f: (f / "plan.toml").write_text(PLAN.replace("1.0", "1.6")), code=1),
        ("dataset='survey 2026'", "1.5"),
    ),
    "epsilon past reason": (
        case(lambda f: (f / "plan.toml").write_text(PLAN.replace("1.0", "1e12")), code=1),
        "dataset",
    ),
    "an unknown option": (case(more=("--epsilon", "3")), "No such option"),
    "a file too many": (case(more=("more.csv",)), "more.csv"),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_a_bad_request(folder, capsys, name):
    (prepare, words, code), said = REQUESTS[name]
    prepare(folder)
    with unharmed(folder):
        check_refusal(run(capsys, *words), code, said)


def test_a_long_name_that_the_system_allows_is_written(folder, capsys):
    name = "x" * 250 + ".json"
    assert run(capsys, "privatize", "plan.toml", "rows.csv", "-o", name, *PAID).code == 0
    assert tacit.Release.load(name).n == 40
    assert not [entry for entry in os.listdir() if entry.startswith(".")]


LEDGER_COMMANDS = {
    "bad name": (("new", "l.db", "--dataset", "a/b", "--epsilon", "1"), "dataset"),
    "no total": (("new", "l.db", "--dataset", "a"), "epsilon"),
    "total 0": (("new", "l.db", "--dataset", "a", "--epsilon", "0"), "epsilon"),
    "total nan": (("new", "l.db", "--dataset", "a", "--rho", "nan"), "rho"),
    "total inf": (("new", "l.db", "--dataset", "a", "--mu", "inf"), "mu"),
    "total text": (("new", "l.db", "--dataset", "a", "--mu", "much"), "--mu"),
    "delta 1": (("new", "l.db", "--dataset", "a", "--epsilon", "1", "--delta", "1"), "delta"),
    "a mixture": (("new", "l.db", "--dataset", "a", "--epsilon", "1", "--rho", "1"), "rho"),
    "a total twice": (("new", "ledger.db", "--dataset", "survey 2026", "--epsilon", "9"), "dataset"),
    "over another file": (("new", "rows.csv", "--dataset", "a", "--epsilon", "1"), "ledger"),
    "over a folder": (("new", ".", "--dataset", "a", "--epsilon", "1"), "ledger"),
    "in no folder": (("new", "no/l.db", "--dataset", "a", "--epsilon", "1"), "ledger"),
    "show what is not there": (("show", "no.db"), "ledger"),
    "show a folder": (("show", "."), "ledger"),
    "show text": (("show", "plan.toml"), "ledger"),
    "verify text": (("verify", "plan.toml"), "ledger"),
    "verify by a plan": (("verify", "ledger.db", "--release", "plan.toml"), "JSON"),
    "verify by nothing": (("verify", "ledger.db", "--release", "no.json"), "release"),
}


@pytest.mark.parametrize("name", LEDGER_COMMANDS)
def test_bad_commands_about_the_ledger(folder, capsys, name):
    words, said = LEDGER_COMMANDS[name]
    with unharmed(folder):
        check_refusal(run(capsys, "ledger", *words), 2, said)


def test_a_ledger_that_contradicts_a_release_is_a_problem(folder, capsys):
    tacit.Ledger.create("other.db")
    with unharmed(folder):
        done = run(capsys, "ledger", "verify", "other.db", "--release", "release.json")
    assert done.code == 1
    assert done.out.startswith("Problem: ")


# ---------------------------------------------------------------------------------------------------------------------
# Releases


def change(**fields):
    return lambda plain: {**plain, **fields}


def without(field):
    return lambda plain: {name: value for name, value in plain.items() if name != field}


def planned(table, **fields):
    return lambda plain: {**plain, "plan": {**plain["plan"], table: {**plain["plan"][table], **fields}}}


RECEIPT = {"ledger": "a" * 32, "entry": 3, "head": "0" * 64}

RELEASES = {
    "of a newer version": (change(format=2), "newer"),
    "of no version": (without("format"), "format"),
    "format a text": (change(format="1"), "format"),
    "format true": (change(format=True), "format"),
    "no plan": (without("plan"), "plan"),
    "plan a text": (change(plan="x"), "plan"),
    "no values": (without("values"), "values"),
    "values too many": (change(values=[1, 2]), "values"),
    "values not whole": (change(values=[1.5]), "values"),
    "values past reason": (change(values=[10**60]), "values"),
    "values a text": (change(values="12"), "values"),
    "n 0": (change(n=0), "n=0"),
    "n negative": (change(n=-5), "n=-5"),
    "n not whole": (change(n=40.5), "n=40.5"),
    "n true": (change(n=True), "n=True"),
    "n past 2^53": (change(n=2**53), "n="),
    "n a list": (change(n=[[[]]]), "n="),
    "unit changed": (change(unit=3), "unit"),
    "entries changed": (change(entries=["smoker=no"]), "entries"),
    "noise changed": (change(noise={"law": "discrete-laplace", "scales": [1]}), "noise"),
    "guarantee changed": (change(guarantee={"epsilon": 0.1, "neighbours": "replace-one"}), "guarantee"),
    "dataset with an escape": (change(dataset="\x1b[31m"), "dataset"),
    "dataset a number": (change(dataset=5), "dataset"),
    "id nothing": (change(id=""), "id"),
    "id half a character": (change(id="\ud800"), "id"),
    "simulated a number": (change(simulated=0), "simulated"),
    "ledger a number": (change(ledger=5), "ledger"),
    "ledger empty": (change(ledger={}), "ledger"),
    "ledger with more": (change(ledger={**RECEIPT, "more": 1}), "ledger"),
    "ledger's entry negative": (change(ledger={**RECEIPT, "entry": -1}), "ledger"),
    "ledger's head a list": (change(ledger={**RECEIPT, "head": [1]}), "ledger"),
    "ledger's name half a character": (change(ledger={**RECEIPT, "ledger": "\ud800"}), "ledger"),
    "another field": (change(extra=1), "extra"),
    "plan's budget changed": (planned("budget", epsilon=0.5), "noise"),
    "plan's budget broken": (planned("budget", epsilon=-1), "epsilon"),
    "plan's family and levels changed": (
        lambda plain: planned("schema", smoker=["no", "yes", "so"])(planned("model", family="categorical")(plain)),
        "noise",
    ),
    "plan's family a list": (planned("model", family=["bernoulli"]), "family"),
    "plan's column renamed": (planned("model", column="age"), "column"),
    "plan's levels half a character": (planned("schema", smoker=["no", "\ud800"]), "levels"),
    "plan's levels swapped": (planned("schema", smoker=["yes", "no"]), "entries"),
    "a list": (lambda plain: [plain], "JSON object"),
    "a text": (lambda plain: "release", "JSON object"),
    "nothing": (lambda plain: None, "JSON object"),
}


@pytest.mark.parametrize("case", RELEASES)
def test_a_bad_release(folder, capsys, case):
    edit, said = RELEASES[case]
    plain = json.loads((folder / "release.json").read_text())
    (folder / "release.json").write_text(json.dumps(edit(plain)))
    with unharmed(folder):
        check_refusal(run(capsys, *INFER), 2, said)


TEXTS = {
    "cut short": lambda text: text[: len(text) // 2],
    "empty": lambda text: "",
    "two of them": lambda text: text + text,
    "a field twice": lambda text: text.replace('"n": 40', '"n": 40, "n": 40'),
    "NaN": lambda text: text.replace('"n": 40', '"n": NaN'),
    "a number past float64": lambda text: text.replace('"n": 40', '"n": 1e999'),
    "a number of 5000 digits": lambda text: text.replace('"n": 40', f'"n": 1{"0" * 5000}'),
    "lists nested without end": lambda text: text.replace('"n": 40', f'"n": {"[" * 100_000}{"]" * 100_000}'),
    "lists nested deeply": lambda text: text.replace('"n": 40', f'"n": {"[" * 900}{"]" * 900}'),
    "a receipt nested deeply": lambda text: re.sub(
        r'"ledger": \{', lambda _: '"ledger": {"x": ' + "[" * 900 + "]" * 900 + ", ", text, count=1
    ),
    "a byte order mark": lambda text: "\ufeff" + text,
}


@pytest.mark.parametrize("case", TEXTS)
def test_a_release_whose_text_is_bad(folder, capsys, case):
    text = (folder / "release.json").read_text()
    edited = TEXTS[case](text)
    assert edited != text
    (folder / "release.json").write_text(edited)
    with unharmed(folder):
        check_refusal(run(capsys, *INFER), 2, "")


SETTINGS = {
    "release is absent": (("infer", "no.json", "-o", "out.nc"), "release"),
    "release is a folder": (("infer", ".", "-o", "out.nc"), ("release", "folder")),
    "release is a plan": (("infer", "plan.toml", "-o", "out.nc"), "not a plan"),
    "release is a posterior": (("infer", "posterior.nc", "-o", "out.nc"), ("release", "inferred already")),
    "release is a device without end": (("infer", "/dev/zero", "-o", "out.nc"), ("release", "regular file")),
    "output is the release": (("infer", "release.json", "-o", "release.json", "--overwrite"), ("output", "release")),
    "output exists": (("infer", "release.json", "-o", "there.json"), "output"),
    "seed negative": ((*INFER, "--seed", "-1"), "seed"),
    "seed past 2^63": ((*INFER, "--seed", str(2**63)), "seed"),
    "seed not whole": ((*INFER, "--seed", "1.5"), "--seed"),
    "chains 0": ((*INFER, "--chains", "0"), "chains"),
    "chains past memory": ((*INFER, "--chains", "1000000000"), "chains"),
    "chains past int64": ((*INFER, "--chains", str(10**30)), "chains"),
    "draws 3": ((*INFER, "--draws", "3"), "draws"),
    "draws past memory": ((*INFER, "--draws", "100000000000"), "draws"),
    "warmup negative": ((*INFER, "--warmup", "-1"), "warmup"),
    "warmup past memory": ((*INFER, "--warmup", str(10**20)), "warmup"),
    "method misspelt": ((*INFER, "--method", "exakt"), ("method", "did you mean 'exact'")),
    "prior without a value": ((*INFER, "--prior", "a"), "prior"),
    "prior without a name": ((*INFER, "--prior", "=1"), "prior"),
    "prior of text": ((*INFER, "--prior", "a=one"), "prior"),
    "prior misspelt": ((*INFER, "--prior", "aa=1"), ("prior", "did you mean 'a'")),
    "prior nan": ((*INFER, "--prior", "a=nan"), "prior a"),
    "prior infinite": ((*INFER, "--prior", "a=1e400"), "prior a"),
    "prior negative": ((*INFER, "--prior", "a=-1"), "prior a"),
    "prior of two numbers": ((*INFER, "--prior", "a=1,2"), "prior a"),
    "prior twice": ((*INFER, "--prior", "a=1", "--prior", "a=2"), "prior"),
    "simulate no rows": (("simulate", "plan.toml", "--n", "0", "-o", "o.json"), "n=0"),
    "simulate past memory": (("simulate", "plan.toml", "--n", str(10**12), "-o", "o.json"), "n="),
    "simulate past int64": (("simulate", "plan.toml", "--n", str(10**30), "-o", "o.json"), "n="),
    "simulate over the plan": (
        ("simulate", "plan.toml", "--n", "5", "-o", "plan.toml", "--overwrite"),
        ("output", "plan"),
    ),
    "simulate with a bad seed": (("simulate", "plan.toml", "--n", "5", "--seed", "-1", "-o", "o.json"), "seed"),
    "report on nothing": (("report", "no.nc", "-o", "page.html"), "posterior"),
    "report on a folder": (("report", ".", "-o", "page.html"), "posterior"),
    "report on a release": (("report", "release.json", "-o", "page.html"), "posterior"),
    "report with a name too long": (("report", "x" * 300, "-o", "page.html"), "posterior"),
    "report over its posterior": (
        ("report", "posterior.nc", "-o", "posterior.nc", "--overwrite"),
        ("output", "posterior"),
    ),
    "report over a file": (("report", "posterior.nc", "-o", "there.json"), "output"),
    "demo in a file": (("demo", "-o", "rows.csv"), ("output", "folder")),
    "demo below a file": (("demo", "-o", "rows.csv/demo"), ("output", "folder")),
    "demo where somebody works": (("demo", "-o", "."), ("output", "folder")),
    "demo with a name too long": (("demo", "-o", "x" * 300), "output"),
    "no such command": (("nonsense",), "No such command"),
    "no argument": (("infer",), "Missing"),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_bad_settings(folder, capsys, name):
    words, said = SETTINGS[name]
    with unharmed(folder):
        check_refusal(run(capsys, *words), 2, said)


@pytest.mark.parametrize("damage", ["junk", "empty", "cut", "flipped", "more behind it"])
def test_a_bad_posterior(folder, capsys, damage):
    content = (folder / "posterior.nc").read_bytes()
    middle = len(content) // 2
    (folder / "posterior.nc").write_bytes(
        {
            "junk": CANARY.encode() * 100,
            "empty": b"",
            "cut": content[:middle],
            "flipped": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
            "more behind it": content + b"more",
        }[damage]
    )
    with unharmed(folder):
        check_refusal(run(capsys, "report", "posterior.nc", "-o", "page.html"), 2, "posterior")


def test_the_campaign_is_large():
    lists = (PLANS, FORMULAS, DATA, GOOD_DATA, REQUESTS, LEDGER_COMMANDS, RELEASES, TEXTS, SETTINGS)
    assert sum(map(len, lists)) >= 250


# ---------------------------------------------------------------------------------------------------------------------
# The same promises in Python

PYTHON = {
    "a plan that is a number": lambda: tacit.privatize({"smoker": ["no"]}, 5, ledger=None),
    "a plan that is None": lambda: tacit.simulate(None, n=5, seed=0),
    "a path with a null character": lambda: tacit.Plan.load("a\0b"),
    "an output with a null character": lambda: tacit.Plan.from_toml(PLAN).save("a\0b"),
    "a ledger that is a number": lambda: tacit.privatize({"smoker": ["no"]}, tacit.Plan.from_toml(PLAN), ledger=5),
    "a release that is a list": lambda: tacit.infer([]),
    "a posterior that is None": lambda: tacit.report(None),
    "tables that are none": lambda: tacit.Plan.from_plain([1]),
    "a dataset that is a number": lambda: tacit.privatize(
        {"smoker": ["no"]}, tacit.Plan.from_toml(PLAN), ledger=None, dataset=3
    ),
    "no rows in a dict": lambda: tacit.privatize({"smoker": []}, tacit.Plan.from_toml(PLAN), ledger=None),
    "no rows in a table": lambda: tacit.privatize(
        pa.table({"smoker": pa.array([], pa.string())}), tacit.Plan.from_toml(PLAN), ledger=None
    ),
    "a bound of a thousand digits": lambda: tacit.Schema(age=(0, 10**1000)),
    "a budget of five thousand digits": lambda: tacit.PureDP(10**5000),
    "levels of five thousand digits": lambda: tacit.Schema(x={"levels": [0, 10**5000]}),
    "n of five thousand digits": lambda: tacit.simulate(tacit.Plan.from_toml(PLAN), n=10**5000, seed=0),
}


@pytest.mark.parametrize("name", PYTHON)
def test_bad_arguments_in_python(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(tacit.InputError, match=r"\AExpected [^\n]*\.\Z|\AIn the schema, [^\n]*: Expected [^\n]*\.\Z"):
        PYTHON[name]()
    assert not os.listdir()


# ---------------------------------------------------------------------------------------------------------------------
# Names are public, and may be anything that is shown as itself

NAMES = [
    "it's",
    'say "x"',
    "größe",
    "年龄",
    "😀",
    "a.b",
    "a,b",
    "$\\frac$",
    "a=b",
    "x" * 20_000,
    "%s{0}",
]


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name[:12]))
def test_columns_and_levels_of_any_name(folder, capsys, name):
    """Through the whole path; what is printed holds no control character."""
    schema = tacit.Schema({name: ["no", f"{name}!"], "other": (0, 1)})
    plan = tacit.Plan(tacit.Bernoulli(name), schema, tacit.PureDP(1.0))
    plan.save("named.toml")
    pq.write_table(pa.table({name: ["no", f"{name}!", CANARY], "other": [1, 2, 3]}), "named.parquet")
    for words in (
        ("check", "named.toml"),
        ("privatize", "named.toml", "named.parquet", "-o", "named.json", "--no-ledger"),
        ("infer", "named.json", "-o", "named.nc", "--draws", "8", "--anyway", "--method", "naive"),
        ("report", "named.nc", "-o", "named.html"),
    ):
        done = run(capsys, *words)
        assert (done.code, done.err) == (0, "")
        assert "\x1b" not in done.out
    assert tacit.Posterior.load("named.nc").release.plan == plan


def test_ten_thousand_columns(folder, capsys):
    """A wide survey, of which one column is asked for; a misspelling among as many names finds its hint."""
    wide = "\n".join(f"question{i:05d} = [0, {i + 1}]" for i in range(10_000))
    text = PLAN.replace(AGE, f"{AGE}\n{wide}")
    (folder / "plan.toml").write_text(text)
    header = ",".join(["smoker", *(f"question{i:05d}" for i in range(10_000))])
    (folder / "rows.csv").write_text(f"{header}\nyes\n")
    start = os.times().user
    assert run(capsys, *PRIVATIZE).code == 0
    (folder / "plan.toml").write_text(text.replace('column = "smoker"', 'column = "smokre"'))
    check_refusal(run(capsys, "check", "plan.toml"), 2, "did you mean 'smoker'")
    assert os.times().user - start < 15


# ---------------------------------------------------------------------------------------------------------------------
# Values never matter

SPECIAL = ["", "nan", "inf", "-inf", "NA", "yes", "no", "1e999", "0x1F", "1_000", "٣", CANARY, "x" * 70_000]
SPECIAL += ['"', '""', "\x00"]
SPECIAL += ["\x1b[31m", "'; DROP TABLE", "\u202e", "1" * 5000, "-7731", "65.0000001", " yes "]
SPECIAL += ["\ufeffyes", "=1+1", ",", '"a,b"']
cell = st.one_of(
    st.sampled_from(SPECIAL).map(str.encode),
    st.binary(max_size=30),
    st.floats(width=64).map(lambda x: repr(x).encode()),
    st.text(max_size=20).map(lambda text: text.encode("utf-8", "replace")),
).map(lambda raw: raw.replace(b"\n", b"\r"))
pair_of_files = st.integers(1, 6).flatmap(
    lambda n: st.tuples(*[st.lists(st.tuples(cell, cell, cell), min_size=n, max_size=n)] * 2)
)

SURVEY = {
    "bernoulli": PLAN,
    "linear": PLAN.replace('family = "bernoulli"\ncolumn = "smoker"', 'family = "linear"\nformula = "age ~ smoker"'),
    "person": PLAN.replace(LAW, LAW + '\nunit = "person"\nid = "who"\nmax_rows = 2\nweight = "row"'),
}


def normalised(done):
    """What was printed, without the release's id and the noisy values."""
    plain = json.loads(done.out)
    assert len(plain.pop("id")) == 32
    assert all(isinstance(value, int) for value in plain.pop("values"))
    return done.code, plain, done.err


@given(files=pair_of_files, plan=st.sampled_from(sorted(SURVEY)))
@example(files=([(b"yes", b"20", b"")] * 2, [(b'"', b"nan", b"x" * 70_000)] * 2), plan="linear")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_two_csv_files_of_equal_length_read_alike(folder, capsys, files, plan):
    """Whatever the cells hold: exit code 0, and the same words apart from the id and the noisy values."""
    (folder / "plan.toml").write_text(SURVEY[plan])
    seen = []
    for rows in files:
        lines = [b",".join([b"%d" % i, *cells]) for i, cells in enumerate(rows)]
        (folder / "rows.csv").write_bytes(b"\n".join([b"who,smoker,age,more", *lines]) + b"\n")
        words = ("privatize", "plan.toml", "rows.csv", "-o", "o.json", "--overwrite", "--no-ledger")
        seen.append((normalised(run(capsys, *words, "--json")), run(capsys, *words)))
    assert seen[0] == seen[1]
    assert seen[0][0][0] == 0
    assert seen[0][0][2] == ""


kinds = {
    pa.string(): st.one_of(st.none(), st.text(st.characters(codec="utf-8"), max_size=30), st.sampled_from(SPECIAL)),
    pa.float64(): st.one_of(st.none(), st.floats(), st.sampled_from([7731.0, 18.0, 65.0, 1e308, -0.0])),
    pa.int64(): st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
    pa.bool_(): st.one_of(st.none(), st.booleans()),
    pa.date32(): st.one_of(st.none(), st.dates()),
}


@given(data=st.data(), kind=st.sampled_from(list(kinds)), n=st.integers(1, 6), plan=st.sampled_from(sorted(SURVEY)))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_two_parquet_files_of_equal_length_and_types_read_alike(folder, capsys, data, kind, n, plan):
    """As for CSV; the type of a column is public, what it holds is not."""
    (folder / "plan.toml").write_text(SURVEY[plan])
    seen = []
    for _ in range(2):
        cells = {name: data.draw(st.lists(kinds[kind], min_size=n, max_size=n)) for name in ("smoker", "age")}
        columns = {name: pa.array(values, kind) for name, values in cells.items()}
        pq.write_table(pa.table({"who": list(range(n)), **columns}), folder / "rows.parquet")
        words = ("privatize", "plan.toml", "rows.parquet", "-o", "o.json", "--overwrite", "--no-ledger")
        seen.append((normalised(run(capsys, *words, "--json")), run(capsys, *words)))
    assert seen[0] == seen[1]
    assert seen[0][0][0] == 0
    assert seen[0][0][2] == ""


@pytest.mark.parametrize("warns", [True, False])
def test_a_reader_that_says_something_about_a_value(folder, capsys, monkeypatch, warns):
    """A parser that warns is not heard while rows are read. The planted fault, one that prints, is caught."""
    from tacit.sources import cells

    plain = cells.form_of

    def chatty(value):
        form = plain(value)
        if form is not None and b"canary" in form:
            if warns:
                warnings.warn("a cell could not be read", stacklevel=1)
            else:
                print("a cell could not be read", file=sys.stderr)
        return form

    monkeypatch.setattr(cells, "form_of", chatty)
    words = ("privatize", "plan.toml", "rows.csv", "-o", "o.json", "--overwrite", "--no-ledger")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        first = run(capsys, *words)
        (folder / "rows.csv").write_text("smoker,age\n" + "yes,20\n" * 40)
        second = run(capsys, *words)
    assert (first == second) == warns


# ---------------------------------------------------------------------------------------------------------------------
# What needs a process of its own


def start(folder, *words, **options):
    """The real command, with a time limit; for what could hang or kill the process."""
    done = subprocess.run([TOOL, *words], cwd=folder, capture_output=True, timeout=60, **options)
    return Outcome(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("privatize", "plan.toml", "pipe.csv", "-o", "out.json", *PAID), "data"),
        (("privatize", "plan.toml", "pipe.parquet", "-o", "out.json", *PAID), "data"),
        (("privatize", "pipe.csv", "rows.csv", "-o", "out.json", *PAID), "plan"),
        (("privatize", "plan.toml", "rows.csv", "-o", "pipe.csv", "--overwrite", *PAID), "output"),
        (("privatize", "plan.toml", "rows.csv", "-o", "out.json", *ledger("pipe.csv")), "ledger"),
        (("infer", "pipe.csv", "-o", "out.nc"), "release"),
        (("report", "pipe.csv", "-o", "page.html"), "posterior"),
        (("ledger", "show", "pipe.csv"), "ledger"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else "",
)
def test_a_pipe_that_nobody_writes_to(folder, words, said):
    """It must not be waited for."""
    os.mkfifo(folder / "pipe.csv")
    os.mkfifo(folder / "pipe.parquet")
    with unharmed(folder):
        check_refusal(start(folder, *words), 2, said)


def test_standard_output_that_cannot_be_written(folder):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([TOOL, "check", "plan.toml"], cwd=folder, stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 1
    assert re.fullmatch(rb"Error: Expected [^\n]*\.\n", done.stderr)
    done = subprocess.run(f"{TOOL} check plan.toml | true", shell=True, cwd=folder, stderr=subprocess.PIPE, timeout=60)
    assert done.stderr == b""


@pytest.mark.parametrize("encoding", ["ascii", "utf-8", "latin-1", "cp1252"])
def test_standard_output_of_any_encoding(folder, encoding):
    """A name that the encoding cannot write is no reason to fail after the release is paid for."""
    names = [b"gr\xc3\xb6\xc3\x9fe.json", b"\xf0\x9f\x98\x80.json", b"bad-\xff.json"]
    for name in names if encoding in ("ascii", "utf-8") else names[2:]:
        env = {**os.environ, "PYTHONIOENCODING": encoding}
        done = start(folder, "privatize", "plan.toml", "rows.csv", "-o", os.fsdecode(name), "--no-ledger", env=env)
        assert (done.code, done.err) == (0, "")
        assert tacit.Release.load(folder / os.fsdecode(name)).n == 40


LIMITED = """
import json, resource, sys
from tacit.cli import main
results = []
for limit, words in json.load(sys.stdin):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    sys.argv = ["tacit", *words]
    code = 0
    try:
        main()
    except SystemExit as stopped:
        code = stopped.code
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        sys.stdout.flush()
    print("\\nEND", code, flush=True)
    print("END", file=sys.stderr, flush=True)
"""


def several(program, cases, folder, **options):
    """Run cases one after the other in one process; their outcomes."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(cases).encode(),
        cwd=folder,
        capture_output=True,
        timeout=120,
        **options,
    )
    assert done.returncode == 0, done.stderr
    outs = re.split(r"\nEND (\d+)\n", done.stdout.decode())
    errs = done.stderr.decode().split("END\n")
    return [Outcome(int(code), out, err) for out, code, err in zip(outs[::2], outs[1::2], errs, strict=False)]


def test_a_full_disk(folder):
    """Files may not grow past a limit: the same as a disk that fills up at that byte."""
    head = tacit.Ledger(folder / "ledger.db").head
    before = contents(folder)
    cases = [
        (0, PRIVATIZE),  # the ledger cannot record it
        (0, ("privatize", "plan.toml", "rows.csv", "-o", "out.json", "--no-ledger")),
        (100, ("privatize", "plan.toml", "rows.csv", "-o", "there.json", "--overwrite", "--no-ledger")),
        (0, ("ledger", "new", "l.db", "--dataset", "a", "--epsilon", "1")),
        (100, ("simulate", "plan.toml", "--n", "5", "-o", "out.json")),
        (5000, ("infer", "release.json", "-o", "out.nc", "--method", "naive")),
        (0, ("infer", "release.json", "-o", "out.nc", "--method", "naive")),
    ]
    env = {**os.environ, "JAX_ENABLE_COMPILATION_CACHE": "false"}
    unpaid, printed, kept, *others = several(LIMITED, cases, folder, env=env)
    check_refusal(unpaid, 1, "ledger")
    for done in (printed, kept):
        assert done.code == 1
        assert "printed instead" in done.err
        assert "File too large" in done.err
        assert tacit.Release.from_json(done.out).n == 40
        assert "Traceback" not in done.err
    assert len(others) == 4
    for done in others:
        check_refusal(done, 2, "to be writable")
    assert tacit.Ledger(folder / "ledger.db").head == head
    assert contents(folder) == before


NOBODY = """
import json, os, shutil, sys, tempfile
from tacit.cli import main

def call(words):
    sys.argv = ["tacit", *words]
    try:
        main()
    except SystemExit as stopped:
        return stopped.code or 0
    return 0

# Everything that will be imported must be now: another user may not be allowed to read the library.
warm = tempfile.mkdtemp()
for name in ("plan.toml", "rows.csv", "ledger.db"):
    shutil.copy(name, warm)
here = os.getcwd()
os.chdir(warm)
sys.stdout = open(os.devnull, "w")
call(["privatize", "plan.toml", "rows.csv", "-o", "out.json", "--ledger", "ledger.db", "--dataset", "survey 2026"])
call(["report", "no.nc", "-o", "page.html"])
call(["infer", "no.json", "-o", "out.nc"])
call(["ledger", "show", "ledger.db"])
sys.stdout = sys.__stdout__
os.chdir(here)
shutil.rmtree(warm)
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
sys.stderr.write("END\\n")
for words in json.load(sys.stdin):
    code = call(words)
    sys.stdout.flush()
    print("\\nEND", code, flush=True)
    print("END", file=sys.stderr, flush=True)
"""


def test_no_permission(template):
    """As a user who owns nothing here. Root may read and write everything, so root becomes somebody else first."""
    folder = Path(tempfile.mkdtemp(prefix="tacit-permission-"))
    try:
        shutil.copytree(template, folder, dirs_exist_ok=True)
        (folder / "open").mkdir()
        (folder / "closed").mkdir()
        shutil.copy(folder / "rows.csv", folder / "closed" / "rows.csv")
        for path in folder.rglob("*"):
            path.chmod(0o777 if path.is_dir() else 0o666)
        folder.chmod(0o777)
        private = ["secret.toml", "secret.csv", "secret.parquet", "secret.db", "secret.json", "secret.nc"]
        for name in private:
            (folder / name).write_bytes((folder / "rows.csv").read_bytes())
            (folder / name).chmod(0)
        shutil.copy(folder / "ledger.db", folder / "fixed.db")
        (folder / "fixed.db").chmod(0o444)
        (folder / "open").chmod(0o555)
        (folder / "closed").chmod(0)
        head = tacit.Ledger(folder / "ledger.db").head
        cases = [
            (("check", "secret.toml"), 2, "plan"),
            (("privatize", "plan.toml", "rows.csv", "-o", "open/out.json", *PAID), 2, "output"),
            (("privatize", "plan.toml", "secret.csv", "-o", "out.json", *PAID), 2, "data"),
            (("privatize", "plan.toml", "secret.parquet", "-o", "out.json", *PAID), 2, "data"),
            (("privatize", "plan.toml", "closed/rows.csv", "-o", "out.json", *PAID), 2, "data"),
            (("privatize", "plan.toml", "rows.csv", "-o", "closed/out.json", *PAID), 2, "output"),
            (("privatize", "plan.toml", "rows.csv", "-o", "out.json", *ledger("secret.db")), 2, "ledger"),
            (("privatize", "plan.toml", "rows.csv", "-o", "out.json", *ledger("fixed.db")), 1, "ledger"),
            (("infer", "secret.json", "-o", "out.nc"), 2, "release"),
            (("report", "secret.nc", "-o", "page.html"), 2, "posterior"),
            (("ledger", "new", "open/l.db", "--dataset", "a", "--epsilon", "1"), 2, "ledger"),
            (("ledger", "show", "secret.db"), 2, "ledger"),
        ]
        names = sorted(path.name for path in folder.iterdir())
        done = subprocess.run(
            [sys.executable, "-c", NOBODY],
            input=json.dumps([words for words, _, _ in cases]).encode(),
            cwd=folder,
            capture_output=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr.decode()
        outs = re.split(r"\nEND (\d+)\n", done.stdout.decode())
        errs = done.stderr.decode().split("END\n")[1:]
        assert len(outs) // 2 == len(cases)
        for (_, code, said), out, found, err in zip(cases, outs[::2], outs[1::2], errs, strict=False):
            check_refusal(Outcome(int(found), out, err), code, said)
        assert sorted(path.name for path in folder.iterdir()) == names
        assert tacit.Ledger(folder / "ledger.db").head == head
    finally:
        for path in (folder / "closed", folder / "open"):
            path.chmod(0o777)
        shutil.rmtree(folder)


@pytest.mark.slow
def test_ten_million_rows(folder):
    """In one pass, in time, and without holding the rows in memory."""
    rows = pa.table({"smoker": pa.array(["yes", "no", CANARY, None, ""] * 2 * 10**6), "age": pa.nulls(10**7)})
    pq.write_table(rows, folder / "rows.parquet")
    del rows
    done = subprocess.run(
        [TOOL, "privatize", "plan.toml", "rows.parquet", "-o", "out.json", *PAID],
        cwd=folder,
        capture_output=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    release = tacit.Release.load(folder / "out.json")
    assert release.n == 10**7
    assert abs(release.values[0] / release.unit - 2 * 10**6) < 50  # discrete Laplace of scale 1: beyond by e^-50
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 3 * 2**20


def test_signals_are_left_alone_in_a_program_of_ones_own():
    """Importing tacit, or calling main() from Python, changes no handler."""
    code = (
        "import signal; before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)\n"
        "import sys, tacit, tacit.cli; sys.argv = ['tacit', '--version']\n"
        "try: tacit.cli.main()\n"
        "except SystemExit: pass\n"
        "assert before == (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
