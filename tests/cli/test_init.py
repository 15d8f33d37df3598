"""`tacit init` and `tacit check`: only names are read, blanks are refused, a plan is explained to who approves it."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import select
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit
from tacit.cli.answers import read_declaration
from tacit.cli.template import filled, template, toml_key, toml_value
from tacit.report.approval import learnable, noise_table, sensitivity_sentence, statement
from tacit.schema import column_from_plain
from tacit.sources.open import header_of

TOOL = str(Path(sys.executable).parent / "tacit")
SECRET = "4711"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "rows.csv").write_text(f"age,body mass,smoker\n{SECRET},22.5,yes\n31,{SECRET},no\n")
    return tmp_path


def run(folder, *words, code=0, env=None):
    done = subprocess.run([TOOL, *words], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=env)
    assert done.returncode == code, (words, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done


def test_a_skeleton_holds_names_and_no_value_and_check_refuses_its_blanks(folder):
    assert "tacit check plan.toml" in run(folder, "init", "rows.csv").stdout
    text = (folder / "plan.toml").read_text()
    assert SECRET not in text
    assert "22.5" not in text
    tables = tomllib.loads(text)
    assert tables["schema"] == {"age": [], "body mass": [], "smoker": []}
    assert tables["budget"] == {"epsilon": ""}
    refused = run(folder, "check", "plan.toml", code=2).stderr
    assert refused.startswith("Error: Expected the blanks of the plan to be filled in, or their lines deleted: ")
    assert refused.count("\n") == 1


def test_it_never_overwrites_and_reads_nothing_but_the_header(folder):
    (folder / "plan.toml").write_text("dear to somebody")
    assert "not to exist" in run(folder, "init", "rows.csv", code=2).stderr
    assert (folder / "plan.toml").read_text() == "dear to somebody"
    assert "data" in run(folder, "init", "rows.csv", "-o", "rows.csv", code=2).stderr
    # Rows that are no text at all do not matter, as they are not read.
    (folder / "odd.csv").write_bytes(b"a,b\n\xff\xfe,\x00\n")
    run(folder, "init", "odd.csv", "-o", "odd.toml")
    plain = json.loads(run(folder, "init", "rows.csv", "-o", "other.toml", "--json").stdout)
    assert plain == {"plan": "other.toml", "columns": {"age": None, "body mass": None, "smoker": None}}


def test_types_come_from_a_schema_and_levels_do_not(folder):
    table = pa.table({"age": pa.array([1, 2], pa.int32()), "sex": pa.array(["m", SECRET]).dictionary_encode()})
    pq.write_table(table, folder / "rows.parquet")
    assert header_of(folder / "rows.parquet") == {"age": "int32", "sex": "dictionary"}
    run(folder, "init", "rows.parquet")
    text = (folder / "plan.toml").read_text()
    assert "# int32" in text
    assert SECRET not in text


@pytest.mark.parametrize("first", [f"{SECRET},31", f"a,a{SECRET},a,a{SECRET}", "a,,b", f"-1.5e3,{SECRET}x"])
def test_a_file_without_a_header_is_refused_and_its_row_not_shown(folder, first):
    (folder / "bare.csv").write_text(first + "\n1,2\n")
    refused = run(folder, "init", "bare.csv", code=2).stderr
    assert "header" in refused
    assert SECRET not in refused
    assert not (folder / "plan.toml").exists()


def test_any_name_and_value_survives_being_written():
    names = ["plain", "body mass", 'quote"d', "back\\slash", "ümlaut", "dot.ted"]
    tables = tomllib.loads(template(dict.fromkeys(names)))
    assert list(tables["schema"]) == names
    for value in (True, 3, -2.5, "a\tb", [1, 2], ["x", 'y"'], {"levels": [0, 1], "missing": 1}):
        assert tomllib.loads(f"{toml_key('k k')} = {toml_value(value)}") == {"k k": value}
    plan = tacit.Plan(tacit.Bernoulli("a b"), tacit.Schema({"a b": ["no", 'y"']}), tacit.ApproxDP(1.0, 1e-6))
    assert tacit.Plan.from_toml(filled(plan)) == plan


def test_on_a_terminal_it_asks(folder):
    """A pseudo-terminal; every question is awaited before it is answered. A wrong answer is asked for again."""
    answers = [
        ("Family", "linaer"),
        ("Family", "linear"),
        ("Column to explain", "age ~ nobody"),
        ("Column to explain", "Age"),
        ("may explain it", "smoker, nobody"),
        ("may explain it", "smoker"),
        ("age [0 110]", "grown-ups"),
        ("age [0 110]", "18 to 100"),
        ("smoker:", "no, yes"),
        ("several rows", ""),
        ("epsilon", "0.5"),
        ("title", "epsilon: 0"),
        ("title", ""),
    ]
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.execv(TOOL, [TOOL, "init", "rows.csv"])
    seen, last = "", time.monotonic() + 120
    for question, answer in answers:
        start = len(seen)
        while question not in seen[start:] or not seen.rstrip(" ").endswith(":"):
            assert time.monotonic() < last, seen
            if select.select([terminal], [], [], 1)[0]:
                seen += os.read(terminal, 4096).decode()
        os.write(terminal, f"{answer}\n".encode())
        seen += "|"
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0, seen
    os.close(terminal)
    plan = tacit.Plan.load(folder / "plan.toml")
    assert plan.model == tacit.LinearRegression("age ~ smoker")
    assert plan.schema == tacit.Schema(age=(18, 100), smoker=["no", "yes"])
    assert plan.budget == tacit.PureDP(0.5)
    assert plan.title == "What goes with age?"
    assert "age: Expected two numbers" in seen, "the column is named in what is wrong with it"
    assert "did you mean 'linear'" in seen
    assert "to promise nothing" in seen


def test_people_with_several_rows_and_families_by_number(folder):
    """A number for the family, bounds in every spelling, the person's column, and what counts of it."""
    answers = "1\nage\n[18,100]\nbody mass\n3\neach\nperson\n0.5\n\n"
    done = subprocess.run(
        [TOOL, "init", "rows.csv", "--ask"], cwd=folder, capture_output=True, text=True, input=answers, timeout=120
    )
    assert done.returncode == 0, done.stderr
    plan = tacit.Plan.load(folder / "plan.toml")
    assert plan.model == tacit.Mean("age")
    assert plan.schema == tacit.Schema(age=(18, 100))
    assert plan.mechanism.person == tacit.Person("body mass", 3, "person")
    text = (folder / "plan.toml").read_text()
    assert text.count("#") >= 5, "what each part is about"
    assert SECRET not in done.stdout + done.stderr + text


def test_what_does_not_suit_the_model_is_asked_for_again(tmp_path):
    """Levels where a yes or no is asked for, groups of a mean that varies, and a formula that no family of it takes."""
    (tmp_path / "t.csv").write_text("voted,age,place\n")

    def plan(*answers):
        (tmp_path / "plan.toml").unlink(missing_ok=True)
        command = [TOOL, "init", "t.csv", "--ask"]
        text = "".join(f"{answer}\n" for answer in answers)
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, input=text, timeout=120)
        assert done.returncode == 0, done.stderr
        return tacit.Plan.load(tmp_path / "plan.toml"), done.stderr

    found, said = plan("logistic", "voted", "2 3", "0 1", "18 95", "N, S", "no, yes", "yes", "no", "1", "")
    assert found.model == tacit.LogisticRegression("voted ~ age + place")
    assert found.schema == tacit.Schema(voted=["no", "yes"], age=(18, 95), place=["N", "S"])
    assert "column='voted' to be declared with levels" in said
    assert "not 'yes'" in said

    found, _ = plan("varying", "age", "place", "18 95", "N, S, E", "no", "1", "")
    assert found.model.formula == "age ~ (1 | place)"

    found, said = plan("varying", "age ~ place", "18 95", "N, S, E", "age", "place", "no", "1", "")
    assert found.model.formula == "age ~ (1 | place)"
    assert "to have a term (1 | g)" in said


def test_a_formula_of_columns_with_spaces_and_signs_is_put_together(tmp_path):
    """Names by their numbers, in another case, with a comma inside; what was understood is said."""
    (tmp_path / "t.csv").write_text('Smokes?;"Income, net";Satisfaction 1-5;Region\n')
    answers = "logistic\n1\nincome, net, 3 + Region\nnein, ja\n0 8000\n\nN, S\nno\n1\n\n"
    done = subprocess.run(
        [TOOL, "init", "t.csv", "--ask"], cwd=tmp_path, capture_output=True, text=True, input=answers, timeout=120
    )
    assert done.returncode == 0, done.stderr
    plan = tacit.Plan.load(tmp_path / "plan.toml")
    formula = "`Smokes?` ~ `Income, net` + `Satisfaction 1-5` + Region"
    assert plan.model == tacit.LogisticRegression(formula)
    assert plan.schema["Satisfaction 1-5"] == tacit.Schema(x=(1, 5))["x"]
    assert "numbers from 0 to 8,000" in done.stdout
    assert "levels 'nein', 'ja'" in done.stdout


@pytest.mark.parametrize(
    ("answer", "declared"),
    [
        ("1 5", [1, 5]),
        ("1,5", [1, 5]),
        ("(1, 5)", [1, 5]),
        ("1 - 5", [1, 5]),
        ("-5--1", [-5, -1]),
        ("0..1e3", [0, 1000]),
        ("no, yes", ["no", "yes"]),
        ("'a b', \"c\"", ["a b", "c"]),
        ("0 50,000,000", [0, 50_000_000]),
        ("m; f", ["m", "f"]),
        ("north, 'south, coast'", ["north", "south, coast"]),
        ("1,2,3", {"levels": [1, 2, 3]}),
        ("5 1", None),
        ("yes", None),
        ("", None),
        ("1 2 3", None),
    ],
)
def test_bounds_and_levels_in_every_spelling(answer, declared):
    if declared is None:
        with pytest.raises(tacit.InputError, match="Expected"):
            read_declaration(answer)
    else:
        assert read_declaration(answer) == column_from_plain("x", declared).to_plain()


def test_it_asks_for_all_that_the_family_needs(folder):
    """The known spread of a normal mean: a word and a negative number are asked for again, nothing is lost."""
    answers = "normal-mean\nage\nwide\n-4\n4\n18, 100\nno\n0.5\nHow old?\n"
    done = subprocess.run(
        [TOOL, "init", "rows.csv", "--ask"], cwd=folder, capture_output=True, text=True, input=answers, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("Expected sd=") == 2
    model = tacit.Plan.load(folder / "plan.toml").model
    assert isinstance(model, tacit.NormalMean)
    assert (model.column, model.sd) == ("age", 4.0)


def test_the_logarithm_of_a_response_becomes_a_derived_column(folder):
    """Bounds that reach 0 are asked for again: 0 has no logarithm."""
    answers = "linear\nlog(body mass) ~ age\n0 1,000\n18 to 100\n10 1,000\nno\n0,5\n\n"
    done = subprocess.run(
        [TOOL, "init", "rows.csv", "--ask"], cwd=folder, capture_output=True, text=True, input=answers, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "Expected the least value of body mass to be above 0, for log(`body mass`)." in done.stderr
    plan = tacit.Plan.load(folder / "plan.toml")
    assert plan.model == tacit.LinearRegression("log_body_mass ~ age")
    assert plan.schema.to_plain() == {"body mass": [10, 1000], "age": [18, 100]}
    assert plan.schema.derived_plain() == {"log_body_mass": "log(`body mass`)"}
    assert plan.budget == tacit.PureDP(0.5)


def test_it_asks_for_the_event_of_a_time(folder):
    """A column that is not there is asked for again, and what the event can be is asked like any column's."""
    answers = "weibull-survival\nage ~ `body mass`\nnobody\nsmoker\n0 110\n10 60\nno, yes\nno\n0.5\n\n"
    done = subprocess.run(
        [TOOL, "init", "rows.csv", "--ask"], cwd=folder, capture_output=True, text=True, input=answers, timeout=120
    )
    assert done.returncode == 0, done.stderr
    plan = tacit.Plan.load(folder / "plan.toml")
    assert plan.model == tacit.WeibullSurvival("age ~ `body mass`", event="smoker")
    assert plan.schema == tacit.Schema({"age": (0, 110), "body mass": (10, 60), "smoker": ["no", "yes"]})
    assert "Expected one of the columns" in done.stderr


# ---------------------------------------------------------------------------------------------------------------------
# check

SCHEMA = tacit.Schema(charges=(0, 65_000), age=(18, 65), smoker=["no", "yes"])
LINEAR = tacit.Plan(tacit.LinearRegression("charges ~ age + smoker"), SCHEMA, tacit.PureDP(1.0))


def test_check_says_all_that_is_asked_of_it(folder):
    LINEAR.save(folder / "plan.toml")
    said = run(folder, "check", "plan.toml").stdout
    for word in ("Reads:", "Releases:", "Noise:", "Promises:", "Sensitivity:", "data-protection officer:", "learn:"):
        assert word in said
    assert "the coefficient of age" in said
    rows = [line.split("\t") for line in run(folder, "check", "plan.toml", "--tsv").stdout.splitlines()]
    assert rows[0] == ["statistic", "noise", "sd"]
    assert [row[0] for row in rows[1:]] == list(LINEAR.statistic().entries)
    assert float(rows[1][2]) == LINEAR.noise().sd[0] / LINEAR.statistic().unit
    plain = json.loads(run(folder, "check", "plan.toml", "--json").stdout)
    assert plain["statement"] == statement(LINEAR)
    assert len(plain["statistics"]) == len(LINEAR.statistic().entries)
    assert "--tsv" in run(folder, "check", "plan.toml", "--json", "--tsv", code=2).stderr


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (LINEAR, ["pure differential privacy", "epsilon = 1", "any one row"]),
        (
            tacit.Plan(LINEAR.model, SCHEMA, tacit.ZCDP(0.5), tacit.AddNoise(unit=tacit.Person("id", 3))),
            ["zero-concentrated", "rho = 0.5", "all rows of any one person, as id"],
        ),
        (
            tacit.Plan(tacit.Bernoulli("smoker"), SCHEMA, tacit.PureDP(2.0), tacit.Local()),
            ["Each person's report", "epsilon = 2", "the answers of that person"],
        ),
    ],
)
def test_the_statement_names_definition_numbers_and_unit(plan, words):
    for word in words:
        assert word in statement(plan)
    assert statement(plan).endswith(".")
    assert "Not: anything about a single row" in learnable(plan)


def test_draws_that_nothing_infers_from_are_points():
    """The families with a method for draws keep their intervals; the others promise none."""
    logistic = tacit.Plan(
        tacit.LogisticRegression("smoker ~ age"), SCHEMA, tacit.GDP(1.0), tacit.PosteriorSample(draws=3)
    )
    assert "as 3 random draws: points, without an interval" in learnable(logistic)
    assert "with an interval" not in learnable(logistic)
    softmax = tacit.Plan(
        tacit.SoftmaxRegression("smoker ~ age"), SCHEMA, tacit.ApproxDP(1.0, 1e-5), tacit.PosteriorSample()
    )
    assert "as 1 random draw: points" in learnable(softmax)
    share = tacit.Plan(
        tacit.Bernoulli("smoker"), SCHEMA, tacit.RenyiDP(order=2, epsilon=1.0), tacit.PosteriorSample(n=100)
    )
    for plan in (share, LINEAR):
        assert "each with an interval that includes the noise" in learnable(plan)


def test_the_sensitivity_and_noise_are_the_plan_s():
    said = sensitivity_sentence(LINEAR)
    assert f"{float(LINEAR.sensitivity().l1 / LINEAR.statistic().unit):.4g}" in said
    local = tacit.Plan(tacit.Bernoulli("smoker"), SCHEMA, tacit.PureDP(2.0), tacit.Local())
    assert sensitivity_sentence(local) is None
    assert noise_table(local) == []


def test_no_color_in_pipes_nor_where_nobody_wants_them(folder):
    """In a pipe never, whatever the environment says; on a terminal not with NO_COLOR, and else in bold."""
    LINEAR.save(folder / "plan.toml")
    said = run(folder, "check", "plan.toml", env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "40"}).stdout
    assert "\x1b" not in said
    assert "\x1b" not in on_terminal(folder, {"NO_COLOR": "1", "TERM": "xterm-256color"}, "check", "plan.toml")
    assert "\x1b[1m" in on_terminal(folder, {"TERM": "xterm-256color"}, "check", "plan.toml")


def on_terminal(folder, env, *words):
    """What a command shows on a pseudo-terminal."""
    kept = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.execve(TOOL, [TOOL, *words], {**kept, **env})
    seen = b""
    with contextlib.suppress(OSError):  # how Linux says that the other end is closed
        while part := os.read(terminal, 4096):
            seen += part
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0, seen
    return seen.decode()


def test_the_shell_can_complete_commands(folder):
    env = {**os.environ, "_TACIT_COMPLETE": "complete_bash", "COMP_WORDS": "tacit des", "COMP_CWORD": "1"}
    assert run(folder, env=env).stdout.split() == ["design"]
