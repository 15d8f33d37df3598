"""Generators of hostile input and what must hold for each; `test_fuzz.py` runs them for seconds, this file for minutes.

    python tests/fuzz.py --minutes 10
    python tests/fuzz.py --files posterior --inputs 100000

draws with fresh seeds, prints how many inputs of each kind were accepted and refused, and stops with exit code 1 at the
first traceback, broken promise or leaked canary, showing the smallest input that does it.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import io
import json
import math
import os
import random
import shutil
import stat
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import hypothesis
import tomli_w
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import fuzz_files
import tacit
from tacit.ledger import words

CANARY = "canary-7731"
ACCEPTED, REFUSED = "accepted", "refused"


# ---------------------------------------------------------------------------------------------------------------------
# Good input, from which bad input is made


@dataclass(frozen=True)
class Bench:
    """A folder with one good file of each kind, and their contents."""

    folder: Path
    plan: tacit.Plan
    release: tacit.Release
    posterior: bytes
    ledger: bytes


@lru_cache(maxsize=1)
def bench() -> Bench:
    folder = Path(tempfile.mkdtemp(prefix="tacit-fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    plan = tacit.Plan(
        tacit.Categorical("drinks"),
        tacit.Schema(drinks=["never", "often", "always"], age={"bounds": [18, 65], "missing": 30}),
        tacit.ApproxDP(1.0, 1e-6),
        tacit.AddNoise("discrete-gaussian"),
    )
    plan.save(folder / "plan.toml")
    (folder / "rows.csv").write_text(f"drinks,age\n{CANARY},7731\nnever,20\n")
    ledger = tacit.Ledger.create(folder / "ledger.db")
    ledger.new_dataset("rows", tacit.ZCDP(10.0))
    release = tacit.privatize(folder / "rows.csv", plan, ledger=ledger, dataset="rows")
    release.save(folder / "release.json")
    posterior = tacit.infer(release, method="naive", draws=8, anyway=True, chains=2).save(folder / "posterior.nc")
    return Bench(folder, plan, release, posterior.read_bytes(), (folder / "ledger.db").read_bytes())


def check_sentence(error: Exception, *, one_line: bool = True) -> str:
    """A refusal is one sentence, of bounded length, without a cell of the data."""
    message = str(error) if one_line else " ".join(str(error).split())
    assert message.endswith("."), message
    assert "\n" not in message, message
    assert len(message) < 1500, message
    assert "canary" not in message, message
    assert "Expected " in message, message
    return REFUSED


# ---------------------------------------------------------------------------------------------------------------------
# Junk

numbers = st.one_of(
    st.integers(),
    st.sampled_from([0, 1, 2, -1, 2**53, 2**63, 10**400, -(10**400), 10**4200]),
    st.floats(),
    st.sampled_from([1e-320, 5e-324, 1e308, -1e308, 1e-30, 1e30, 0.5, 1.0, 1 - 2**-53]),
)
texts = st.one_of(
    st.text(max_size=8),
    st.sampled_from(["", " ", "\0", "\ud800", "\n", "\x1b[31m", "x" * 3000, "drinks", "age", "never", "person", "row"]),
    st.text(st.characters(codec="utf-8"), max_size=4),
)
scalars = st.one_of(st.none(), st.booleans(), numbers, texts)
junk = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=8,
)
deep = st.sampled_from([50, 300, 900]).map(lambda depth: json.loads("[" * depth + "]" * depth))
anything = st.one_of(junk, junk, junk, deep, st.just(date(1979, 5, 27)), st.just(datetime(1979, 5, 27)))


def rarely(good: st.SearchStrategy[Any], bad: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """One of twelve is bad: a plan has a dozen places to be wrong in."""
    return st.integers(0, 11).flatmap(lambda turn: bad if turn == 11 else good)


def misspelt(name: str) -> st.SearchStrategy[str]:
    """The name itself, most of the time, or something like it."""
    wrong = [name.upper(), name[:-1], name + "s", name[::-1], f" {name}", name.replace("e", "é") or "x"]
    return rarely(st.just(name), st.one_of(st.sampled_from(wrong), texts))


def table(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A table with some of these fields, some misspelt, some of them junk; now and then junk instead."""
    pairs = [st.tuples(misspelt(name), rarely(value, anything)) for name, value in fields.items()]
    some = st.lists(st.sampled_from(range(len(pairs))), unique=True).flatmap(
        lambda kept: st.tuples(*(pairs[i] for i in kept))
    )
    return rarely(st.tuples(*pairs).map(dict), st.one_of(some.map(dict), anything))


columns = st.one_of(
    st.sampled_from(["drinks", "age"]), st.sampled_from(["drinks", "age"]), texts.filter(lambda text: len(text) < 50)
)
formulas = st.one_of(
    st.sampled_from(
        ["age ~ drinks", "age ~ 1", "age ~ drinks + bmi", "age ~ bmi*drinks - 1", "bmi ~ age:drinks + age"]
    ),
    st.text("age~+-*:`1 02.bmdrinks()\n\0é", max_size=30),
    st.lists(st.sampled_from(["age", "bmi", "drinks", "~", "+", "-", ":", "*", "1", "0", "`x`", "`"]), max_size=12).map(
        " ".join
    ),
)
bounds = st.one_of(st.just([18, 65]), st.tuples(numbers, numbers).map(list), st.lists(scalars, max_size=3))
levels = st.one_of(
    st.just(["never", "often"]),
    st.lists(texts, max_size=5),
    st.lists(numbers, max_size=4),
    st.lists(scalars, max_size=3),
)
column = st.one_of(bounds, levels, table(bounds=bounds, missing=scalars), table(levels=levels, missing=scalars))
positive = st.one_of(st.just(1.0), st.floats(1e-12, 1e6), numbers)
budgets = st.one_of(
    table(epsilon=positive),
    table(epsilon=positive, delta=st.one_of(st.just(1e-6), st.floats(1e-300, 1), numbers)),
    table(rho=positive),
    table(mu=positive),
    table(order=st.one_of(st.just(2.0), positive), epsilon=positive),
    table(epsilon=positive, neighbours=st.one_of(st.just("replace-one"), texts), assumes=st.lists(texts, max_size=2)),
)
mechanisms = st.one_of(
    table(kind=st.just("noise")),
    table(
        kind=st.just("noise"),
        law=st.sampled_from(["discrete-laplace", "discrete-gaussian", "rounded-gaussian", "magic"]),
    ),
    table(kind=st.just("noise"), unit=st.just("person"), id=columns, max_rows=st.one_of(st.integers(1, 9), numbers)),
)
models = st.one_of(
    table(family=st.sampled_from(["bernoulli", "categorical"]), column=columns),
    table(family=st.just("linear"), formula=formulas),
    table(family=texts, column=columns, formula=formulas),
)
schemas = st.one_of(
    st.fixed_dictionaries({"drinks": levels, "age": bounds}, optional={"bmi": column, "x": column}),
    table(drinks=levels, age=column),
    st.dictionaries(texts, column, max_size=4),
)
plans = st.one_of(
    table(model=models, schema=schemas, budget=budgets),
    table(model=models, schema=schemas, budget=budgets, mechanism=mechanisms),
)


# ---------------------------------------------------------------------------------------------------------------------
# Plans


def check_plan(tables: Any) -> str:
    """Only InputError escapes; what is accepted survives being written down, and its price meets its budget."""
    try:
        plan = tacit.Plan.from_plain(tables)
    except tacit.InputError as error:
        return check_sentence(error)
    assert tacit.Plan.from_toml(plan.to_toml()) == plan
    assert plan.event().satisfies(plan.budget)
    return ACCEPTED


def as_toml(tables: Any) -> str:
    """The tables as TOML, as far as TOML can say them."""
    with contextlib.suppress(TypeError, ValueError, AttributeError, RecursionError, UnicodeEncodeError):
        return tomli_w.dumps(tables).encode("utf-8", "replace").decode()
    return str(tables).encode("utf-8", "replace").decode()


edits = st.lists(
    st.tuples(st.floats(0, 1), st.sampled_from(["cut", "drop", "twice", "put"]), st.text(max_size=3)), max_size=3
)


def edited(text: str, changes: list[tuple[float, str, str]]) -> str:
    """The text with some changes at places given as fractions of its length."""
    for place, kind, more in changes:
        at = int(place * len(text))
        match kind:
            case "cut":
                text = text[:at]
            case "drop":
                text = text[:at] + text[at + 1 :]
            case "twice":
                text = text[:at] + text[at : at + 20] + text[at:]
            case _:
                text = text[:at] + more + text[at:]
    return text


def check_plan_text(example: tuple[Any, list[tuple[float, str, str]]]) -> str:
    """Text of any kind: only InputError."""
    tables, changes = example
    text = edited(as_toml(tables), changes)
    try:
        tacit.Plan.from_toml(text)
    except tacit.InputError as error:
        return check_sentence(error)
    return ACCEPTED


def check_formula(formula: str) -> str:
    """A formula of any kind: only InputError; what is accepted can be released."""
    schema = tacit.Schema(age=(18, 65), bmi=(15, 55), drinks=["never", "often", "always"])
    try:
        plan = tacit.Plan(tacit.LinearRegression(formula), schema, tacit.PureDP(1.0))
        tacit.privatize({"age": [20, None], "bmi": [math.nan, 9], "drinks": [CANARY, ""]}, plan, ledger=None)
    except tacit.InputError as error:
        return check_sentence(error)
    assert tacit.Plan.from_toml(plan.to_toml()) == plan
    return ACCEPTED


# ---------------------------------------------------------------------------------------------------------------------
# Releases, posteriors, ledgers, priors

flips = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=6)


def flipped(content: bytes, changes: list[tuple[float, int]]) -> bytes:
    """The content with some bytes changed, at places given as fractions of its length."""
    raw = bytearray(content)
    for place, value in changes:
        raw[int(place * len(raw))] = value
    return bytes(raw)


def check_release_bytes(changes: tuple[list[tuple[float, int]], float]) -> str:
    """Changed bytes and a cut: InputError, or a release that is as good as any."""
    content = (bench().folder / "release.json").read_bytes()
    path = bench().folder / "changed.json"
    path.write_bytes(flipped(content, changes[0])[: math.ceil(changes[1] * len(content))])
    return _load_release(lambda: tacit.Release.load(path))


def _load_release(load: Callable[[], tacit.Release]) -> str:
    try:
        release = load()
    except tacit.InputError as error:
        return check_sentence(error)
    assert tacit.Release.from_json(release.to_json()) == release
    release.to_json().encode()
    return ACCEPTED


def check_release_object(example: tuple[list[int], str, Any]) -> str:
    """One place in the object deleted or replaced: InputError, or a release that is as good as any."""
    path, kind, value = example
    plain = bench().release.to_plain()
    place: Any = plain
    for step in path[:-1]:
        inner = _pick(place, step)
        if not isinstance(inner := place[inner], dict | list) or not inner:
            break
        place = inner
    key = _pick(place, path[-1])
    if kind == "delete":
        del place[key]
    elif kind == "add" and isinstance(place, dict):
        place[str(value)] = value
    elif kind == "add":
        place.insert(key, value)
    else:
        place[key] = value
    first = _load_release(lambda: tacit.Release.from_plain(plain))
    with contextlib.suppress(TypeError, ValueError, RecursionError):  # not every object can be written as JSON
        text = json.dumps(plain)
        assert _load_release(lambda: tacit.Release.from_json(text)) in (ACCEPTED, REFUSED)
    return first


def _pick(place: Any, step: int) -> Any:
    return list(place)[step % len(place)] if isinstance(place, dict) else step % len(place)


def check_posterior(changes: tuple[list[tuple[float, int]], float]) -> str:
    """Changed bytes and a cut: InputError, or the very same file."""
    path = bench().folder / "changed.nc"
    content = flipped(bench().posterior, changes[0])[: math.ceil(changes[1] * len(bench().posterior))]
    path.write_bytes(content)
    try:
        tacit.Posterior.load(path)
    except tacit.InputError as error:
        return check_sentence(error)
    assert content == bench().posterior
    return ACCEPTED


def check_ledger(changes: tuple[list[tuple[float, int]], float]) -> str:
    """Changed bytes and a cut: InputError or RefusedError, or a ledger that works."""
    path = bench().folder / "changed.db"
    for left in bench().folder.glob("changed.db*"):
        left.unlink()
    content = flipped(bench().ledger, changes[0])[: math.ceil(changes[1] * len(bench().ledger))]
    path.write_bytes(content)
    try:
        ledger = tacit.Ledger(path)
        problems = ledger.verify()
        assert all("canary" not in problem for problem in problems)
        receipt = ledger.spend("rows", bench().plan.event(), "0" * 64)
        assert ledger.head == receipt.head
        assert words(ledger)
        json.dumps(ledger.to_plain())
    except (tacit.InputError, tacit.RefusedError) as error:
        return check_sentence(error, one_line=False)  # SQLite's own words about the damage may be two lines
    return ACCEPTED


def check_prior(example: tuple[str, dict[str, Any]]) -> str:
    """Junk for the numbers of a prior: only InputError."""
    family, changes = example
    schema = tacit.Schema(age=(18, 65), bmi=(15, 55), drinks=["never", "often"])
    model = {
        "bernoulli": tacit.Bernoulli("drinks"),
        "categorical": tacit.Categorical("drinks"),
        "linear": tacit.LinearRegression("age ~ bmi"),
    }[family]
    try:
        prior = model.default_prior(schema).replaced(changes)
        json.dumps(prior.to_plain())
        hash(prior)
    except tacit.InputError as error:
        return check_sentence(error)
    return ACCEPTED


# ---------------------------------------------------------------------------------------------------------------------
# Rows


def check_rows(example: tuple[bytes, bytes, bool]) -> str:
    """Any bytes behind a good header are rows; any bytes at all are rows, or are refused by name, header or length."""
    header, body, good = example
    path = bench().folder / "rows.csv"
    path.write_bytes((b"drinks,age\n" if good else header) + body)
    try:
        release = tacit.privatize(path, bench().plan, ledger=None)
    except tacit.InputError as error:
        assert not good or not body or CANARY.encode() in header, (header, body)
        return check_sentence(error)
    assert release.n >= 1
    if good:
        assert release.n == body.count(b"\n") + (not body.endswith(b"\n"))
    return ACCEPTED


def check_objects(cells: list[Any]) -> str:
    """Any Python objects are cells."""
    release = tacit.privatize({"drinks": cells, "age": cells[::-1]}, bench().plan, ledger=None)
    assert release.n == len(cells)
    return ACCEPTED


# ---------------------------------------------------------------------------------------------------------------------
# The command line

argument = st.one_of(
    st.sampled_from(["check", "privatize", "simulate", "ledger", "new", "show", "verify", "infer", "report"]),
    st.sampled_from(["plan.toml", "rows.csv", "release.json", "ledger.db", "posterior.nc", ".", "no.json", "null"]),
    st.sampled_from(
        ["-o", "--output", "--ledger", "--no-ledger", "--dataset", "--json", "--overwrite", "--n", "--seed"]
    ),
    st.sampled_from(
        ["--epsilon", "--delta", "--rho", "--mu", "--order", "--release", "--help", "-h", "--version", "--"]
    ),
    st.sampled_from(
        ["1", "0", "-1", "nan", "1e400", "rows", "a/b", "", "out.json", "x" * 300, "é", "\x1b", str(10**400)]
    ),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5),
)
good_words = st.sampled_from(
    [
        ["check", "plan.toml"],
        ["privatize", "plan.toml", "rows.csv", "-o", "out.json", "--no-ledger"],
        ["privatize", "plan.toml", "rows.csv", "-o", "out.json", "--ledger", "ledger.db", "--dataset", "rows"],
        ["simulate", "plan.toml", "--n", "5", "-o", "out.json"],
        ["ledger", "new", "other.db", "--dataset", "rows", "--epsilon", "1"],
        ["ledger", "show", "ledger.db"],
        ["ledger", "verify", "ledger.db", "--release", "release.json"],
        ["infer", "no.json", "-o", "out.nc"],
        ["report", "no.nc", "-o", "out.html"],
    ]
)
command_lines = st.one_of(
    st.lists(argument, max_size=8),
    st.tuples(good_words, st.lists(st.tuples(st.floats(0, 1), argument), max_size=3)).map(
        lambda both: _with_words(both[0], both[1])
    ),
)


def _with_words(line: list[str], changes: list[tuple[float, str]]) -> list[str]:
    line = list(line)
    for place, word in changes:
        at = int(place * len(line))
        line[at : at + (at % 2)] = [word]
    return line


def check_command_line(line: list[str]) -> str:
    """Exit code 0, 1 or 2; every failure is a usage message or one sentence; no canary, no control character."""
    from tacit.cli import main

    slow = line[:1] in (["infer"], ["report"]) and "no." not in str(line)
    if slow or "demo" in line or "--install-completion" in line:
        return "left out"
    out, err = io.StringIO(), io.StringIO()
    folder = bench().folder / "line"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name in ("plan.toml", "release.json", "posterior.nc"):
        shutil.copy(bench().folder / name, folder)
    (folder / "ledger.db").write_bytes(bench().ledger)
    (folder / "rows.csv").write_text(f"drinks,age\n{CANARY},7731\nnever,20\n")
    with contextlib.suppress(PermissionError):  # only root can; the computer's own is not for a fuzzer to try
        os.mknod(folder / "null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    here, arguments = os.getcwd(), sys.argv
    code: Any = 0
    try:
        os.chdir(folder)
        sys.argv = ["tacit", *line]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as stopped:
        code = stopped.code or 0
    finally:
        sys.argv = arguments
        os.chdir(here)
    said = err.getvalue()
    assert code in (0, 1, 2), code
    assert "Traceback" not in said
    assert "\x1b" not in out.getvalue() + said
    assert "canary" not in out.getvalue() + said
    if code == 2 and "Usage:" not in said + out.getvalue():
        assert said.startswith("Error: ")
        assert said.count("\n") == 1
    assert (folder / "rows.csv").read_text() == f"drinks,age\n{CANARY},7731\nnever,20\n", "the rows survive"
    assert not [name for name in os.listdir(folder) if name.startswith(".") or name.endswith("-journal")]
    assert tacit.Ledger(folder / "ledger.db").verify() == []
    return ACCEPTED if code == 0 else REFUSED


# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Target:
    """What is generated, what must hold, and how many examples the test suite tries."""

    strategy: st.SearchStrategy[Any]
    check: Callable[[Any], str]
    examples: int


cut = st.one_of(st.just(1.0), st.just(1.0), st.floats(0, 1))
cells = st.one_of(
    st.sampled_from(["never", "often", "", "nan", "inf", "1e999", CANARY, '"', "\x00", "\x1b", "7731", "x" * 5000]).map(
        str.encode
    ),
    st.binary(max_size=12),
)
lines = st.lists(st.lists(cells, max_size=4).map(b",".join), max_size=8).map(b"\n".join)
headers = st.one_of(
    st.binary(max_size=40),
    st.sampled_from([b"drinks\n", b"drinks,drinks,age\n", b"\xef\xbb\xbfdrinks,age\r\n", b"age\n", b"\n"]),
)
objects = st.one_of(
    junk,
    st.just(CANARY),
    st.dates(),
    st.times(),
    st.timedeltas(),
    st.decimals(),
    st.fractions(),
    st.complex_numbers(),
    st.binary(max_size=5),
    st.builds(object),
)
prior_names = st.sampled_from(
    ["a", "b", "concentration", "mu0", "lambda0", "a0", "b0", "m0", "kappa0", "nu0", "psi0", "c"]
)

TARGETS = {
    "plans": Target(plans, check_plan, 500),
    "plan texts": Target(st.tuples(plans, edits), check_plan_text, 250),
    "formulas": Target(formulas, check_formula, 60),
    "release bytes": Target(st.tuples(flips, cut), check_release_bytes, 200),
    "release objects": Target(
        st.tuples(
            st.lists(st.integers(0, 20), min_size=1, max_size=4),
            st.sampled_from(["delete", "add", "replace"]),
            anything,
        ),
        check_release_object,
        300,
    ),
    "posterior bytes": Target(st.tuples(flips, cut), check_posterior, 60),
    "ledger bytes": Target(st.tuples(flips, cut), check_ledger, 60),
    "priors": Target(
        st.tuples(
            st.sampled_from(["bernoulli", "categorical", "linear"]), st.dictionaries(prior_names, anything, max_size=3)
        ),
        check_prior,
        200,
    ),
    "csv bytes": Target(st.tuples(headers, st.one_of(lines, st.binary(max_size=60)), st.booleans()), check_rows, 250),
    "python cells": Target(st.lists(objects, min_size=1, max_size=6), check_objects, 150),
    "command lines": Target(command_lines, check_command_line, 80),
}


def run_target(target: Target, *, seed: int, examples: int, counts: Counter[str]) -> None:
    """Try ``examples`` inputs; raise what breaks, on the smallest input that does."""

    @hypothesis.seed(seed)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(target.strategy)
    def attempt(example: Any) -> None:
        counts[target.check(example)] += 1

    attempt()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=None, help="start here instead of anywhere")
    parser.add_argument("--only", choices=TARGETS, default=None)
    parser.add_argument("--files", choices=[*fuzz_files.KINDS, "all"], help="forged files of this kind instead")
    parser.add_argument("--inputs", type=int, default=100_000, help="how many of each kind, with --files")
    parser.add_argument("--first", type=int, default=0, help="go on with this input, with --files")
    arguments = parser.parse_args()
    if arguments.files is not None:
        kinds = list(fuzz_files.KINDS) if arguments.files == "all" else [arguments.files]
        seed = 0 if arguments.seed is None else arguments.seed
        return fuzz_files.long_run(kinds, inputs=arguments.inputs, seed=seed, first=arguments.first)
    first = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(2**32)
    print(f"The first seed is {first}.", flush=True)
    counts: dict[str, Counter[str]] = {name: Counter() for name in TARGETS if arguments.only in (None, name)}
    end = time.monotonic() + 60 * arguments.minutes
    seed = first
    while time.monotonic() < end:
        for name, found in counts.items():
            try:
                run_target(TARGETS[name], seed=seed, examples=TARGETS[name].examples, counts=found)
            except BaseException:
                traceback.print_exc()
                print(f"Broken: {name}, seed {seed}.", flush=True)
                return 1
            if time.monotonic() > end:
                break
        seed += 1
    for name, found in counts.items():
        print(f"{name:16} {found.total():9,}   {', '.join(f'{kind} {found[kind]:,}' for kind in sorted(found))}")
    print(f"{sum(found.total() for found in counts.values()):,} inputs, no failure.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
