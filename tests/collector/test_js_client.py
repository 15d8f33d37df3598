"""The browser's client makes the reports of the Python client: the same bytes give the same report, the same
distribution.
"""

from __future__ import annotations

import copy
import json
import re
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2, ncx2

import tacit
from browser import CLIENT, SURVEY, Stream, chromium, collecting, needs_chromium, needs_node, node, on_stream
from tacit.collector.form import SPOKEN, Form
from tacit.device import parsed_cell
from tacit.protocols.logistic_coin import leading_bits
from tacit.protocols.noisy_number import NoisyNumber
from tacit.protocols.randomized_response import RandomizedResponse
from tacit.protocols.unary_encoding import UnaryEncoding

LEVEL = 1e-7
DRAWS = 20_000

# ---------------------------------------------------------------------------------------------------------------------
# The same bytes, the same report

CASES = [
    (RandomizedResponse(2, 1.0), (0, 1)),
    (RandomizedResponse(3, 0.1), (0, 2)),
    (RandomizedResponse(5, Fraction(2, 3)), (0, 4)),
    (RandomizedResponse(257, 3), (0, 255, 256)),
    (RandomizedResponse(2**31, 20), (0, 2**31 - 1)),
    (RandomizedResponse(4, 10**6), (3,)),
    (RandomizedResponse(2, Fraction(1, 10**300)), (0, 1)),
    (UnaryEncoding(2, 0.5), (0, 1)),
    (UnaryEncoding(7, 2.25), (0, 3, 6)),
    (UnaryEncoding(300, 1.0), (0, 299)),
    (NoisyNumber(0, 1, 1), (0, 1)),
    (NoisyNumber(-3, 8, 20), (-3, 8)),
    (NoisyNumber(-(2**20), 2**20, 2**21), (-(2**20), 5, 2**20)),
    (NoisyNumber(-(2**60), 2**60, 2**64 + 12345), (-(2**60), 2**60)),
    (NoisyNumber(0, 2**53, 2**120), (0, 2**53)),
]

SAME_BYTES = """
const reports = input.map(([plain, code]) => client.readProtocol(plain).randomize(BigInt(code)).map(String));
console.log(JSON.stringify({ reports, at }));
"""


@needs_node
@pytest.mark.parametrize(("protocol", "inputs"), CASES, ids=lambda v: getattr(v, "kind", ""))
def test_the_same_bytes_give_the_same_report(protocol, inputs, tmp_path):
    """Seed 11: 200 reports an input, number by number, and every byte used in the same order. No probability is
    involved.

    The planted fault is one byte more at the start of the stream, after which nearly no report is the same.
    """
    rows = [code for code in inputs for _ in range(40 if protocol.reports.size > 50 else 200)]
    content = np.random.default_rng(11).bytes(2**21)
    stream = Stream(content)
    wanted = [[str(v) for v in protocol.randomize(np.array([[code]]), stream)[0]] for code in rows]
    given = [[protocol.to_plain(), str(code)] for code in rows]
    found = on_stream(tmp_path, content, given, SAME_BYTES)
    assert found["reports"] == wanted
    assert found["at"] == stream.at
    if protocol.reports.size == 1 and protocol.event().epsilon() < 10:
        shifted = on_stream(tmp_path, b"\0" + content, given, SAME_BYTES)
        assert shifted["reports"] != wanted


@needs_node
def test_a_tie_is_broken_by_the_next_digits(tmp_path):
    """The first 32 bits of the drawn point equal those of the probability, then the next 32: not decided yet."""
    for epsilon, others in ((Fraction(1), 1), (Fraction(1, 3), 4)):
        protocol = RandomizedResponse(others + 1, epsilon)
        digits = leading_bits(others, epsilon, 96).to_bytes(12, "big")
        words = [int.from_bytes(digits[i : i + 4], "big") for i in (0, 4, 8)]
        for last, step in ((2, -1), (2, 0), (1, 1), (1, -1), (0, 1)):
            drawn = [*words[:last], words[last] + step, 2**31]
            content = b"".join(word.to_bytes(4, "little") for word in drawn) + bytes(64)
            stream = Stream(content)
            wanted = [[str(v) for v in protocol.randomize(np.array([[1]]), stream)[0]]]
            found = on_stream(tmp_path, content, [[protocol.to_plain(), "1"]], SAME_BYTES)
            assert found == {"reports": wanted, "at": stream.at}


@needs_node
def test_the_shown_chance_is_the_coin_s(tmp_path):
    epsilons = [
        Fraction(1, 10**9),
        Fraction(1, 7),
        Fraction(0.1),
        Fraction(1),
        Fraction(5, 2),
        Fraction(30),
        Fraction(90),
    ]
    plain = [RandomizedResponse(k, e).to_plain() for e in epsilons for k in (2, 5, 1000)]
    script = "console.log(JSON.stringify(input.map((p) => client.readProtocol(p).chance)));"
    wanted = [leading_bits(k - 1, e, 53) / 2**53 for e in epsilons for k in (2, 5, 1000)]
    assert on_stream(tmp_path, b"", plain, script) == wanted


# ---------------------------------------------------------------------------------------------------------------------
# Answers become the same whole numbers

SCHEMA = tacit.Schema(
    {
        "drinks": ["never", "weekly", "daily"],
        "code": {"levels": [1, 2.5, 70], "missing": 70},
        "flag": {"levels": [False, True]},
        "zip": ["?", "01234", "True", "9007199254740993"],
        "weight": (40, 160),
        "odd": {"bounds": [-0.1, 0.7], "missing": 0.3},
        "count": (0, 7),
    }
)
MODELS = {
    "drinks": tacit.Categorical("drinks"),
    "code": tacit.Categorical("code"),
    "flag": tacit.Bernoulli("flag"),
    "zip": tacit.Categorical("zip"),
    "weight": tacit.Normal("weight"),
    "odd": tacit.Normal("odd"),
    "count": tacit.Poisson("count"),
}
ANSWERS = {
    "drinks": ["never", "daily", " weekly\n", "Daily", "", None, 3, "\u00a0daily"],
    "code": [1, 2.5, 70, "2.50", " 1 ", "7e1", "x", None, True, 3, "true", "FALSE"],
    "zip": ["01234", 1234, "1234.0", "1.234e3", True, 1, "TRUE", "9007199254740993", "9007199254740992", None, "a"],
    "flag": [True, False, 1, 0, "TRUE", "false ", "1.0", "yes", None, 2],
    "weight": [40, 160, 87.5, 0, 1e300, -5, "87.5", "8,5", None, "", "true", 100.001, 61.7, 99.99, "nan"],
    "odd": [-0.1, 0.7, 0.3, 0.123456789, 0.30000001, None, 1e-20],
    "count": [0, 1, 2.5, 3, 7, 8, 6.4999999],
}


@needs_node
def test_answers_are_encoded_as_in_python(tmp_path):
    """With bytes of zeros randomized response tells the truth and noise is 0: the report is the encoded answer."""
    plans = {name: tacit.Plan(model, SCHEMA, tacit.PureDP(1.0), tacit.Local()) for name, model in MODELS.items()}
    form = Form.of_plans("answers", plans)
    wanted = {}
    for name, answers in ANSWERS.items():
        encoder = plans[name].local_randomizer().encoder
        wanted[name] = [
            int(encoder.encode({name: parsed_cell({name: answer}, name, SCHEMA)})[0, 0]) for answer in answers
        ]
    script = """
    const form = client.readForm(input.form);
    const find = (name) => form.questions.find((question) => question.name === name);
    const codes = Object.entries(input.answers).map(([name, answers]) => [
      name, answers.map((answer) => find(name).randomize(answer)[0])]);
    console.log(JSON.stringify(Object.fromEntries(codes)));
    """
    found = on_stream(tmp_path, bytes(2**16), {"form": form.to_plain(), "answers": ANSWERS}, script)
    assert found == wanted
    assert wanted["drinks"][:3] == [0, 2, 1]
    assert len(set(wanted["weight"])) > 5


# ---------------------------------------------------------------------------------------------------------------------
# What it does not understand it refuses


def _form():
    plans = {name: tacit.Plan.load(SURVEY / f"{name}.toml") for name in ("drove", "drugs", "weight")}
    return Form.of_plans("survey", plans).to_plain()


def _changed(*path, to=None, drop=False):
    form = copy.deepcopy(_form())
    place = form
    for key in path[:-1]:
        place = place[key]
    if drop:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return form


def _budgets(*epsilons):
    """A form that keeps the budgets it states, which the collector's own code would not make."""
    form = copy.deepcopy(_form())
    for question, epsilon in zip(form["questions"], epsilons, strict=True):
        question["plan"]["budget"]["epsilon"] = epsilon
        if "epsilon" in question["protocol"]:
            question["protocol"]["epsilon"] = f"{epsilon}/1"
        else:
            question["protocol"]["scale"] = max(1, -(-2 * 2**20 // epsilon))
    return form


def _one_column_twice():
    form = copy.deepcopy(_form())
    form["questions"][1] = {**copy.deepcopy(form["questions"][0]), "name": "again"}
    return form


BAD_FORMS = {
    "newer": _changed("format", to=2),
    "format as text": _changed("format", to="1"),
    "unknown key": _changed("surprise", to=1),
    "no dataset": _changed("dataset", drop=True),
    "no questions": _changed("questions", to=[]),
    "questions no list": _changed("questions", to={}),
    "two of one name": _changed("questions", 1, "name", to="drove"),
    "strange name": _changed("questions", 0, "name", to="../x"),
    "no plan": _changed("questions", 0, "plan", drop=True),
    "unknown plan table": _changed("questions", 0, "plan", "extra", to={}),
    "central": _changed("questions", 0, "plan", "mechanism", "kind", to="noise"),
    "other protocol": _changed("questions", 0, "plan", "mechanism", "protocol", to="unary-encoding"),
    "a delta": _changed("questions", 0, "plan", "budget", "delta", to=0.1),
    "rho": _changed("questions", 0, "plan", "budget", to={"rho": 1.0, "neighbours": "replace-one"}),
    "other neighbours": _changed("questions", 0, "plan", "budget", "neighbours", to="add-remove"),
    "less privacy than promised": _changed("questions", 0, "protocol", "epsilon", to="1000001/1000000"),
    "budget smaller": _changed("questions", 0, "plan", "budget", "epsilon", to=0.9999999999999999),
    "noise too small": _changed("questions", 2, "protocol", "scale", to=2097151),
    "zero epsilon": _changed("questions", 0, "protocol", "epsilon", to="0/1"),
    "endless epsilon": _changed("questions", 0, "protocol", "epsilon", to="1/0"),
    "epsilon a number": _changed("questions", 0, "protocol", "epsilon", to=1),
    "unknown protocol": _changed("questions", 0, "protocol", "kind", to="noisy-vector"),
    "prototype": _changed("questions", 0, "protocol", "kind", to="toString"),
    "levels amiss": _changed("questions", 0, "protocol", "levels", to=3),
    "levels a fraction": _changed("questions", 0, "protocol", "levels", to=2.5),
    "extra in protocol": _changed("questions", 0, "protocol", "seed", to=1),
    "scale zero": _changed("questions", 2, "protocol", "scale", to=0),
    "low above high": _changed("questions", 2, "protocol", "low", to=2**30),
    "other lattice": _changed("questions", 2, "encoder", "first", to=-5),
    "other bounds": _changed("questions", 2, "encoder", "low", to=30),
    "other column": _changed("questions", 2, "encoder", "column", to="height"),
    "encoder of levels": _changed("questions", 2, "encoder", to={"kind": "level", "column": "weight"}),
    "one level": _changed("questions", 0, "plan", "schema", "drove", to=["no"]),
    "bounds turned": _changed("questions", 2, "plan", "schema", "weight", to=[160, 40]),
    "far too large a budget": _budgets(10**6, 1, 1),
    "too large a budget in all": _budgets(4, 4, 3),
    "one column under two names": _one_column_twice(),
    "a line in the name": _changed("dataset", to="survey\nanother line"),
    "a name turned round": _changed("dataset", to="survey \u202e"),
    "a level of no width": _changed("questions", 0, "plan", "schema", "drove", to=["no", "no\u200b"]),
    "equal levels": _changed("questions", 0, "plan", "schema", "drove", to=["no", "no"]),
    "null": None,
    "a list": [],
    "text": "form",
}


@needs_node
def test_a_form_that_is_not_understood_is_refused(tmp_path):
    script = """
    const outcome = (plain) => {
      try { client.readForm(plain); return "read"; } catch (error) { return `${error.name}: ${error.message}`; }
    };
    const entries = Object.entries(input).map(([name, plain]) => [name, outcome(plain)]);
    console.log(JSON.stringify(Object.fromEntries(entries)));
    """
    good = {"good": _form(), "at the limit": _budgets(4, 4, 2)}
    found = on_stream(tmp_path, b"", {**good, **BAD_FORMS}, script)
    assert [found.pop(name) for name in good] == ["read"] * 2
    assert "column of its own" in found["one column under two names"]
    assert "epsilon = 10" in found["far too large a budget"]
    assert "epsilon = 10" in found["too large a budget in all"]
    for name, words in found.items():
        assert re.fullmatch(r"FormError: Expected [^\n]{10,200}\.", words), (name, words)


@needs_node
def test_a_submission_is_an_id_and_reports_and_no_error_quotes_an_answer(tmp_path):
    script = """
    const form = client.readForm(input);
    const all = [{ drove: "SECRET" }, { drugs: "daily", weight: 77.125 }, { drove: { toString() { throw 1; } } }];
    const made = all.slice(0, 2).map((answers) => client.submission(form, answers));
    const errors = [{}, { SECRET: 1 }, { drove: "no", other: "SECRET" }].map((answers) => {
      try { client.submission(form, answers); return "made"; } catch (error) { return String(error); }
    });
    const [epsilon, frozen] = [client.asNumber(form.epsilon), Object.isFrozen(made[0])];
    console.log(JSON.stringify({ made, errors, epsilon, frozen }));
    """
    found = on_stream(tmp_path, np.random.default_rng(2).bytes(2**14), _form(), script)
    assert [sorted(made) for made in found["made"]] == [["id", "reports"]] * 2
    assert all(re.fullmatch("[0-9a-f]{32}", made["id"]) for made in found["made"])
    assert found["made"][0]["id"] != found["made"][1]["id"]
    assert [list(made["reports"]) for made in found["made"]] == [["drove"], ["drugs", "weight"]]
    assert found["frozen"]
    assert found["epsilon"] == 3.0
    for words in found["errors"]:
        assert words.startswith("TypeError: Expected answers")
        assert "SECRET" not in words


# ---------------------------------------------------------------------------------------------------------------------
# What a device gives to one origin in all

STORAGE = """
const kept = new Map(Object.entries(input.kept ?? {}));
const storage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value) };
const broken = { getItem() { throw new Error(); }, setItem() { throw new Error(); } };
const form = client.readForm(input.form);
const attempt = (act) => { try { act(); return "done"; } catch (error) { return error.name; } };
const total = (allowance) => client.asNumber(allowance.spent);
"""


@needs_node
def test_an_allowance_adds_up_over_surveys_and_refuses_before_it_rolls(tmp_path):
    """Exactly: ten times a tenth is one, and the eleventh does not fit. A renamed survey counts as any other."""
    script = (
        STORAGE
        + """
    const first = client.openAllowance(storage, 6);
    const all = { drove: "yes", drugs: "daily", weight: 80 };
    const renamed = client.readForm({ ...input.form, dataset: "another name" });
    const outcomes = [form, renamed, form].map((asked) => {
      const before = at;
      return [attempt(() => client.submission(asked, all, first)), at > before, total(first)];
    });
    const other = client.openAllowance(storage, 6); // after a reload
    const skipping = attempt(() => client.submission(form, { drove: "no" }, other));
    const tenth = { numerator: 1n, denominator: 10n };
    const small = client.openAllowance({ getItem: () => null, setItem() {} }, 1);
    const tenths = Array.from({ length: 11 }, () => attempt(() => small.spend(tenth)));
    console.log(JSON.stringify({ outcomes, skipping, left: other.remembers, tenths, kept: Object.fromEntries(kept) }));
    """
    )
    found = on_stream(tmp_path, np.random.default_rng(3).bytes(2**14), {"form": _form()}, script)
    assert found["outcomes"] == [["done", True, 3], ["done", True, 6], ["CeilingError", False, 6]]
    assert found["skipping"] == "CeilingError"
    assert found["left"]
    assert found["tenths"] == ["done"] * 10 + ["CeilingError"]
    assert json.loads(found["kept"]["tacit:allowance"])["spent"] == "6/1"


@needs_node
def test_an_allowance_is_lowered_by_the_person_and_never_raised(tmp_path):
    script = (
        STORAGE
        + """
    const allowance = client.openAllowance(storage, 6);
    const ceilings = [4, 100, 0, -1, 2.5].map((asked) => (allowance.lower(asked), client.asNumber(allowance.ceiling)));
    const again = client.openAllowance(storage, 6);
    const tab = client.openAllowance(storage, 6); // another tab of the same browser
    again.spend({ numerator: 2n, denominator: 1n });
    const late = attempt(() => tab.spend({ numerator: 1n, denominator: 1n }));
    again.startAnew();
    const raised = new Map([["tacit:allowance", '{"spent":"0/1","ceiling":"1000/1"}']]);
    const bad = ["", "{}", "null", '{"spent":"-1/1","ceiling":"6/1"}', '{"spent":"1/0","ceiling":"6/1"}'];
    const spoiled = bad.map((text) => {
      const one = client.openAllowance({ getItem: () => text, setItem() {} }, 6);
      return [attempt(() => one.spend({ numerator: 1n, denominator: 100n })), one.remembers];
    });
    const none = client.openAllowance(broken, 6);
    const without = [1, 2, 3].map((i) => attempt(() => none.spend({ numerator: 3n, denominator: 1n })));
    console.log(JSON.stringify({
      ceilings, late, spoiled, without, remembers: none.remembers, again: client.asNumber(again.ceiling),
      raised: client.asNumber(client.openAllowance({ getItem: (key) => raised.get(key), setItem() {} }, 6).ceiling),
    }));
    """
    )
    found = on_stream(tmp_path, b"", {"form": _form()}, script)
    assert found["ceilings"] == [4, 6, 0, 0, 2.5]
    assert found["again"] == 2.5
    assert found["late"] == "CeilingError"
    assert found["raised"] == 6
    assert found["spoiled"] == [["CeilingError", False]] * 5
    assert found["without"] == ["done", "done", "CeilingError"]
    assert not found["remembers"]


# ---------------------------------------------------------------------------------------------------------------------
# The distribution, from real entropy

LAWS = [
    RandomizedResponse(2, 1.0),
    RandomizedResponse(5, 1.0),
    UnaryEncoding(4, 1.0),
    NoisyNumber(-8, 8, 16),
    NoisyNumber(-(2**20), 2**20, 2**21),
]
DRAW = """
const { plain, code, draws } = input;
const protocol = client.readProtocol(plain);
const reports = Array.from({ length: draws }, () => protocol.randomize(BigInt(code)).map(Number));
"""


def probabilities(protocol, code, grid=None):
    """The cells of a goodness-of-fit test: a function from reports (N, m) to cells, and the probability of each.

    The cells of a number are half a scale of the protocol ``grid`` wide, of the same one unless it is said.
    """
    if isinstance(protocol, RandomizedResponse):
        cells = np.arange(protocol.levels)[:, None]
        return lambda reports: reports[:, 0], np.exp(protocol.log_pmf(cells, np.array([code])))
    if isinstance(protocol, UnaryEncoding):
        weights = 2 ** np.arange(protocol.levels)
        cells = (np.arange(2**protocol.levels)[:, None] // weights) % 2
        return lambda reports: reports @ weights, np.exp(protocol.log_pmf(cells, np.array([code])))
    # Noise up to 6 scales in 24 bins, tails in the outer two: P(e <= m) by the geometric series of the exact
    # distribution.
    s = protocol.scale
    edges = np.arange(-12, 13) * (grid or protocol).scale // 2

    def below(m):
        tail = np.exp(-np.where(m < 0, -m, m + 1) / s) / (1 + np.exp(-1 / s))
        return np.where(m < 0, tail, 1 - tail)

    if s < 100:
        support = np.arange(-60 * s, edges[3] + 1)
        exact = np.exp(protocol.log_pmf(support[:, None] + code, np.array([code]))).sum()
        assert below(edges[3]) == pytest.approx(exact, rel=1e-10)
    cumulative = np.concatenate([[0.0], below(edges), [1.0]])
    return lambda reports: np.searchsorted(edges, reports[:, 0] - code, side="left"), np.diff(cumulative)


def p_value(reports, protocol, code):
    cell, wanted = probabilities(protocol, code)
    counts = np.bincount(cell(reports), minlength=len(wanted))
    return float(chi2.sf((((counts - len(reports) * wanted) ** 2) / (len(reports) * wanted)).sum(), len(wanted) - 1))


def faulty(protocol):
    """An epsilon 20% off, either way."""
    for share in (Fraction(4, 5), Fraction(6, 5)):
        if isinstance(protocol, NoisyNumber):
            yield NoisyNumber(protocol.low, protocol.high, int(protocol.scale / share))
        else:
            yield type(protocol)(protocol.levels, protocol.epsilon * share)


def check_law(draw):
    """Five distributions from two answers each, ten chi-square tests of 20,000 draws at level 1e-7: false alarms 1e-6
    in all.

    The power against an epsilon 20% off is computed and above 0.999; such a law, and that of another answer, are the
    planted faults.
    """
    for protocol in LAWS:
        ends = (protocol.low, protocol.high) if isinstance(protocol, NoisyNumber) else (0, protocol.levels - 1)
        for code, other in (ends, ends[::-1]):
            reports = np.array(draw({"plain": protocol.to_plain(), "code": str(code), "draws": DRAWS}), np.int64)
            assert reports.shape == (DRAWS, protocol.reports.size)
            assert p_value(reports, protocol, code) > LEVEL, (protocol, code)
            assert p_value(reports, protocol, other) < LEVEL, (protocol, code)
            wanted = probabilities(protocol, code)[1]
            for wrong in faulty(protocol):
                theirs = probabilities(wrong, code, grid=protocol)[1]
                noncentrality = DRAWS * (((theirs - wanted) ** 2) / wanted).sum()
                threshold = chi2.isf(LEVEL, len(wanted) - 1)
                assert ncx2.sf(threshold, len(wanted) - 1, noncentrality) > 0.999
                assert p_value(reports, wrong, code) < LEVEL, (protocol, wrong)


@needs_node
@pytest.mark.slow
def test_reports_follow_the_law_in_node(tmp_path):
    """Fresh entropy; see `check_law`."""

    def draw(given):
        (tmp_path / "input.json").write_text(json.dumps(given))
        head = 'import { readFileSync } from "node:fs"; import * as client from "$CLIENT";\n'
        head += 'const input = JSON.parse(readFileSync(process.argv[2], "utf8"));\n'
        return node(head + DRAW + "console.log(JSON.stringify(reports));", tmp_path / "input.json")

    check_law(draw)


@needs_chromium
def test_reports_follow_the_law_in_chromium(tmp_path):
    """Fresh entropy of the browser; see `check_law`."""
    with collecting(tmp_path / "journal") as running, chromium() as browser:
        browser.get(running.url)

        def draw(given):
            code = f"import('/tacit-client.js').then((client) => {{ {DRAW} done(reports); }});"
            return browser.execute_async_script(f"const [input, done] = arguments; {code}", given)

        check_law(draw)


# ---------------------------------------------------------------------------------------------------------------------
# The package

SOURCE = CLIENT.read_text("utf-8")


def test_the_client_has_one_source_of_randomness_and_no_dependency():
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", SOURCE, flags=re.S)
    for word in (r"Math\.random", r"Math\.exp", r"Math\.log", r"console\.", r"\bimport\b", r"\brequire\b", r"\beval\b"):
        assert not re.search(word, code), word
    assert len(re.findall(r"getRandomValues", code)) == 1
    assert len(SOURCE) < 46_000


def test_the_client_speaks_what_a_form_may_ask():
    table = re.search(r"const PROTOCOLS = \{(.*?)\n\};", SOURCE, re.S)[1]
    assert re.findall(r'^  "([a-z-]+)":', table, re.M) == [protocol.kind for protocol in SPOKEN]


def test_the_package_folder_is_whole():
    folder = CLIENT.parent
    package = json.loads((folder / "package.json").read_text("utf-8"))
    assert package["version"] == tacit.__version__
    assert package["type"] == "module"
    assert "dependencies" not in package
    for name in [*package["files"], package["main"], package["types"], *package["exports"]["."].values()]:
        assert (folder / name).is_file(), name
    types = (folder / "tacit-client.d.ts").read_text("utf-8")
    exported = r"^export (?:async |declare )?(?:function|class) (\w+)"
    assert sorted(re.findall(exported, SOURCE, re.M)) == sorted(re.findall(exported, types, re.M))
    assert (SURVEY / "tacit-client.js").read_text("utf-8") == SOURCE
