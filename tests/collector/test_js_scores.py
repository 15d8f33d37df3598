"""The browser's client reports the scores of the Python client, and works out itself how far two rows can be apart."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import tacit
from browser import Stream, needs_node, on_stream
from tacit.collector.form import Form
from tacit.collector.journal import Journal, read_reports
from tacit.collector.submission import Submission
from tacit.device import parsed_cell
from tacit.noise.discrete_laplace import DiscreteLaplace
from tacit.protocols.noisy_statistic import NoisyStatistic
from tacit.statistics.score_region import POINT_UNIT
from tacit.statistics.score_tables import score_table

SCHEMA = tacit.Schema(
    {"ill": ["no", "yes"], "age": (20, 60), "dose": {"bounds": [-0.1, 0.7], "missing": 0.3}, "sex": ["f", "m", "x"]}
)
FORMULAS = ["ill ~ age", "ill ~ age + dose", "ill ~ sex", "ill ~ age + sex", "ill ~ age * sex + dose", "ill ~ age:dose"]
ANSWERS = [
    {"ill": "yes", "age": 33, "dose": 0.2, "sex": "m"},
    {"ill": "no", "age": "59.99", "dose": None, "sex": "x"},
    {"ill": "?", "age": 1e9, "dose": -5, "sex": None},
    {"ill": "yes", "age": 20, "dose": 0.7, "sex": "f"},
]


def plan_of(formula, point=None, matrix=None, epsilon=2.0):
    mechanism = tacit.Local("scores", point, matrix)
    return tacit.Plan(tacit.LogisticRegression(formula), SCHEMA, tacit.PureDP(epsilon), mechanism)


def plans():
    """Seed 12: every formula at 0 and at three random points, with and without information."""
    rng, found = np.random.default_rng(12), []
    for formula in FORMULAS:
        size = len(tacit.LogisticRegression(formula).design(SCHEMA).columns)
        for scale in (0.0, 0.5, 3.0, 30.0):
            point = tuple(round(t * POINT_UNIT) / POINT_UNIT for t in rng.normal(0, scale, size)) if scale else None
            found += [plan_of(formula, point, matrix) for matrix in (None, 0.0)]
    return found


SCRIPT = """
const found = input.map(([form, answers]) => {
  const question = client.readForm(form).questions[0];
  return [client.asNumber(question.epsilon), answers.map((answer) => question.randomize(answer).map(String))];
});
console.log(JSON.stringify({ found, at }));
"""


@needs_node
def test_the_same_bytes_give_the_same_scores(tmp_path):
    """Seed 13: 48 forms, 4 answers each, number by number, where Python draws the noise of one entry after the other as
    this client does; the price is the same, too. A form that it took is one whose sensitivity it worked out itself.
    """
    content = np.random.default_rng(13).bytes(2**21)
    stream, given, wanted = Stream(content), [], []
    for plan in plans():
        form = Form.of_plans("scores", {"ill": plan})
        assert Form.from_plain(form.to_plain()) == form
        randomizer = plan.local_randomizer()
        protocol, rows = randomizer.protocol, []
        assert isinstance(protocol, NoisyStatistic)
        for answer in ANSWERS:
            cells = {name: parsed_cell(answer, name, SCHEMA) for name in randomizer.columns}
            own = randomizer.encoder.encode(cells)[0]
            rows.append(
                [
                    str(v + DiscreteLaplace((s,)).sample(1, stream)[0, 0])
                    for v, s in zip(own, protocol.noise.scales, strict=True)
                ]
            )
        given.append([form.to_plain(), ANSWERS])
        wanted.append([pytest.approx(float(form.questions[0].epsilon), rel=1e-9), rows])
    found = on_stream(tmp_path, content, given, SCRIPT)
    assert found["found"] == wanted
    assert found["at"] == stream.at


@needs_node
def test_the_table_is_the_same_at_every_knot(tmp_path):
    """A row whose eta is a knot has the table's own numbers: with bytes of zeros noise is 0, and the scores of the
    constant at points that are knots are those of Python, at one knot in 50.
    """
    table = score_table("logistic", 1)
    given, wanted = [], []
    for knot in table.knots[::50]:
        plan = plan_of("ill ~ age", (knot / POINT_UNIT, 0.0), 0.25)
        encoder = plan.local_randomizer().encoder
        answer = {"ill": "yes", "age": 20}
        cells = {name: parsed_cell(answer, name, SCHEMA) for name in encoder.columns}
        given.append([Form.of_plans("scores", {"ill": plan}).to_plain(), [answer]])
        wanted.append([[str(v) for v in encoder.encode(cells)[0]]])
    found = on_stream(tmp_path, bytes(2**20), given, SCRIPT)
    assert [rows for _, rows in found["found"]] == wanted
    assert len(given) > 50


def _changed(*path, to):
    form = Form.of_plans("scores", {"ill": plan_of("ill ~ age + sex", (0.5, -2.0, 1.0, 0.0))}).to_plain()
    form = copy.deepcopy(form)
    place = form["questions"][0]
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return form


def _with_point(steps, **mechanism):
    form = _changed("encoder", "point", to=steps)
    form["questions"][0]["plan"]["mechanism"] |= mechanism
    return form


HALF = POINT_UNIT // 2
BAD = {
    "another point for the encoder": _with_point([0, 0, 0, 0]),
    "off the lattice": _with_point([HALF + 0.5, 0, 0, 0], point=[0.5 + 0.5 / POINT_UNIT, 0.0, 0.0, 0.0]),
    "too large": _with_point([257 * POINT_UNIT, 0, 0, 0], point=[257.0, 0.0, 0.0, 0.0]),
    "too short": _with_point([HALF, 0, 0], point=[0.5, 0.0, 0.0]),
    "as text": _with_point(["1", 0, 0, 0], point=["1", 0.0, 0.0, 0.0]),
    "not a list": _with_point(7, point=7),
    "a point far out with the noise of a near one": _with_point(
        [0, 64 * POINT_UNIT, 0, 0], point=[0.0, 64.0, 0.0, 0.0]
    ),
    "an understated distance": _changed("protocol", "l1", to="1000000000000/1"),
    "less noise": _changed("protocol", "scales", to=[2**40] * 14),
    "other weights": _changed("protocol", "relative_scales", to=["1/1"] * 13 + ["1/2"]),
    "few scales": _changed("protocol", "scales", to=[2**44] * 4),
    "another noise": _changed("protocol", "law", to="rounded-gaussian"),
    "another unit": _changed("protocol", "unit", to=2**43),
    "numbers beyond 1": _changed("encoder", "design", 1, "high", to=2.0),
    "no intercept": _changed("encoder", "design", 0, "levels", to={"sex": 1}),
    "the constant twice": _changed("encoder", "design", 1, to={"levels": {}, "numbers": []}),
    "a level twice": _changed("encoder", "design", 3, "levels", to={"sex": 1}),
    "the response as a covariate": _changed("encoder", "design", 1, "numbers", to=["ill"]),
    "unknown column": _changed("encoder", "columns", to=["age", "sex", "ill", "pay"]),
    "unknown key": _changed("encoder", "surprise", to=1),
    "a matrix that is not there": _changed("encoder", "matrix", to=False),
    "another family": _changed("plan", "model", "family", to="poisson-regression"),
    "another protocol": _changed("plan", "mechanism", "protocol", to="statistics"),
}


@needs_node
def test_a_forged_form_is_refused(tmp_path):
    """By this client and by the collector's own code; the unchanged form is taken."""
    script = """
    const told = input.map((form) => {
      try { client.readForm(form); return "taken"; } catch (error) { return error.name; }
    });
    console.log(JSON.stringify(told));
    """
    good = _changed("name", to="ill")
    told = on_stream(tmp_path, b"", [good, *BAD.values()], script)
    assert dict(zip(["good", *BAD], told, strict=True)) == {"good": "taken", **dict.fromkeys(BAD, "FormError")}
    for form in BAD.values():
        with pytest.raises(tacit.InputError):
            Form.from_plain(form)


@needs_node
def test_what_a_device_computes_is_at_most_what_is_claimed_and_not_far_below(tmp_path):
    """At every form above: a claim that is 1% smaller is refused, so the device's own number lies between."""
    given = []
    for plan in plans():
        form = Form.of_plans("scores", {"ill": plan}).to_plain()
        protocol = plan.local_randomizer().protocol
        assert isinstance(protocol, NoisyStatistic)
        moves = protocol.sensitivity.l1 * 99 / 100
        smaller = copy.deepcopy(form)
        smaller["questions"][0]["protocol"]["l1"] = f"{moves.numerator}/{moves.denominator}"
        given += [form, smaller]
    script = """
    console.log(JSON.stringify(input.map((form) => {
      try { client.readForm(form); return true; } catch { return false; }
    })));
    """
    assert on_stream(tmp_path, b"", given, script) == [True, False] * (len(given) // 2)


@needs_node
def test_a_form_whose_numbers_overflow_moves_no_row_further_than_the_device_has_worked_out(tmp_path):
    """A forged map takes age * age * dose, which is no number where it is infinity times 0, to the one value 1. At this
    point such a row, taken to 0 instead, would be 3 units from another one; all that the device knew of are within 2.
    Bytes of zeros make no noise.
    """
    form = Form.of_plans("scores", {"ill": plan_of("ill ~ age:dose", (24.0, -48.0), 0.0)}).to_plain()
    question = copy.deepcopy(form)["questions"][0]
    question["plan"]["schema"] |= {"age": [1, 1e200], "dose": [0, 1]}
    forged = {"levels": {}, "numbers": ["age", "age", "dose"], "offset": 0.0, "scale": 1.0, "low": 1.0, "high": 1.0}
    question["encoder"]["design"][1] = forged
    protocol = question["protocol"]
    claimed = int(protocol["unit"]) * 2001 // 1000
    protocol |= {"l1": f"{claimed}/1", "scales": [claimed] * 2}
    answers = [{"ill": "yes", "age": 1, "dose": 1}, {"ill": "no", "age": 1e200, "dose": 0}]
    found = on_stream(tmp_path, bytes(2**16), [[{**form, "questions": [question]}, answers]], SCRIPT)
    first, second = ([int(value) for value in row] for row in found["found"][0][1])
    assert sum(abs(a - b) for a, b in zip(first, second, strict=True)) <= claimed


def test_a_journal_of_scores_becomes_reports(tmp_path):
    form = Form.of_plans("scores", {"ill": plan_of("ill ~ age", (0.5, -1.25))})
    journal = Journal(tmp_path / "scores.journal", form)
    report = tacit.randomize(ANSWERS[0], form.questions[0].plan)
    journal.append(Submission("0" * 32, (("ill", report),)))
    found = read_reports(tmp_path / "scores.journal")
    assert found.groups[0].values.tolist() == [list(report)]
    assert found.groups[0].plan == form.questions[0].plan


def test_what_a_browser_cannot_ask_is_refused():
    poisson = tacit.Plan(
        tacit.PoissonRegression("age ~ dose"),
        tacit.Schema(age=(0, 9), dose=(0, 1)),
        tacit.PureDP(1.0),
        tacit.Local("scores"),
    )
    ball = tacit.Plan(
        tacit.LogisticRegression("ill ~ age", radius=0.5), SCHEMA, tacit.PureDP(1.0), tacit.Local("scores")
    )
    curve = tacit.Plan(tacit.LogisticRegression("ill ~ sqrt(age)"), SCHEMA, tacit.PureDP(1.0), tacit.Local("scores"))
    sums = tacit.Plan(tacit.LogisticRegression("ill ~ age"), SCHEMA, tacit.PureDP(1.0), tacit.Local("statistics"))
    for plan in (poisson, ball, curve, sums):
        with pytest.raises(tacit.InputError, match="for scores of logistic regression alone"):
            Form.of_plans("scores", {"ill": plan})
    with pytest.raises(tacit.InputError, match="of the questions to differ"):
        Form.of_plans("scores", {"a": plan_of("ill ~ age"), "b": plan_of("ill ~ dose")})
