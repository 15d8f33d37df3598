"""Every protocol x every law of protocols: adding a line to the cases buys all of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from tacit.errors import InputError
from tacit.noise.discrete_gaussian import DiscreteGaussian
from tacit.noise.discrete_laplace import DiscreteLaplace
from tacit.noise.entropy import OSEntropy
from tacit.noise.rounded_gaussian import RoundedGaussian
from tacit.privacy.events import Event, event_from_plain
from tacit.privacy.sensitivity import Sensitivity
from tacit.protocols.domain import Block
from tacit.protocols.label_and_vector import LabelAndVector
from tacit.protocols.noisy_number import NoisyNumber
from tacit.protocols.noisy_statistic import NoisyStatistic
from tacit.protocols.noisy_vector import NoisyVector
from tacit.protocols.protocol import Protocol
from tacit.protocols.randomized_response import RandomizedResponse
from tacit.protocols.registry import PROTOCOLS, protocol_from_plain
from tacit.protocols.unary_encoding import UnaryEncoding

VECTOR = NoisyVector((Block.ball(2, 2**61), Block((-(2**55),), (2**55,))), RoundedGaussian((2**33, 2**33, 2**60)))
CASES: list[Protocol] = [
    RandomizedResponse(2, Fraction(1, 3)),
    RandomizedResponse(1000, 0.1),
    UnaryEncoding(5, 2.5),
    NoisyNumber(-3, 8, 20),
    NoisyNumber(-(2**60), 2**60, 2**100),
    NoisyVector((Block((0, 1), (4, 3)),), DiscreteGaussian((3, 9))),
    VECTOR,
    NoisyStatistic(4, Sensitivity(Fraction(20), Fraction(72), (Fraction(1), Fraction(3, 2))), DiscreteLaplace((9, 14))),
    NoisyStatistic(2**60, Sensitivity(Fraction(2**61), Fraction(2**122), (Fraction(1),)), RoundedGaussian((2**90,))),
    LabelAndVector(3, 0.75, VECTOR),
]
IDS = [f"{i}-{case.kind}" for i, case in enumerate(CASES)]
every = pytest.mark.parametrize("protocol", CASES, ids=IDS)


def some_inputs(protocol: Protocol, rows: int) -> np.ndarray:
    """Seed 3: admissible records, a third of the way from the middle of the box to its ends."""
    rng = np.random.default_rng(3)
    columns = []
    for block in protocol.inputs.blocks:
        share = 3 if block.radius_squared is not None else 1
        for low, high in zip(block.low, block.high, strict=True):
            columns.append(rng.integers(low // share, high // share + 1, rows))
    return np.stack(columns, axis=1)


def test_every_protocol_is_a_case() -> None:
    assert {case.kind for case in CASES} == set(PROTOCOLS)


@every
def test_plain_tables_are_lossless_in_any_language(protocol: Protocol) -> None:
    """Through JSON, also where every number is read as a float64, as browsers do: the same protocol comes back."""
    text = json.dumps(protocol.to_plain())
    back = protocol_from_plain(json.loads(text))
    assert back == protocol
    assert type(back) is type(protocol)
    assert back.event() == protocol.event()

    def as_float(digits: str) -> int:
        assert int(float(digits)) == int(digits)
        return int(digits)

    assert protocol_from_plain(json.loads(text, parse_int=as_float)) == protocol


@every
def test_reports_have_their_shape_and_alphabet(protocol: Protocol) -> None:
    inputs = some_inputs(protocol, 400)
    protocol.check_inputs(inputs)
    reports = protocol.randomize(inputs, OSEntropy())
    assert reports.shape == (400, protocol.reports.size)
    assert reports.dtype.kind == "i" or all(type(v) is int for v in reports.ravel())
    protocol.check_reports(reports)
    scores = protocol.log_pmf(reports, inputs)
    assert scores.shape == (400,)
    assert scores.dtype == np.float64
    assert np.all((scores > -200) & (scores <= 0))  # a report 200 below the peak is out of reach
    table = protocol.log_pmf(reports[:7, None], inputs[None, :5])
    assert table.shape == (7, 5)
    assert table[3, 2] == protocol.log_pmf(reports[3], inputs[2])
    assert protocol.randomize(inputs[:0], OSEntropy()).shape == (0, protocol.reports.size)


@every
def test_batches_are_cut_without_a_trace(protocol: Protocol, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row is answered once: batches of at least 16 numbers, one after the other."""
    import tacit.protocols.protocol as module

    seen: list[int] = []
    inner = type(protocol)._randomize

    def counted(self: Protocol, inputs: np.ndarray, entropy: object) -> np.ndarray:
        seen.append(len(inputs))
        return inner(self, inputs, entropy)

    monkeypatch.setattr(module, "_AT_ONCE", 16)
    monkeypatch.setattr(type(protocol), "_randomize", counted)
    inputs = some_inputs(protocol, 50)
    reports = protocol.randomize(inputs, OSEntropy())
    rows = -(-16 // protocol.reports.size)
    assert reports.shape == (50, protocol.reports.size)
    assert seen == [min(rows, 50 - i) for i in range(0, 50, rows)]


def test_batches_stay_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """No chance to speak of: at epsilon = 10^6 every report is the truth."""
    import tacit.protocols.protocol as module

    monkeypatch.setattr(module, "_AT_ONCE", 16)
    truth = np.arange(100)[:, None]
    assert RandomizedResponse(100, 10**6).randomize(truth, OSEntropy()).tolist() == truth.tolist()


@every
def test_reports_depend_on_nothing_but_the_bytes(protocol: Protocol, monkeypatch: pytest.MonkeyPatch) -> None:
    """No chance: the same bytes give the same reports, and all are used, while other sources are shut."""
    answers: list[bytes] = []

    class Recorder:
        def bytes(self, count: int) -> bytes:
            answers.append(os.urandom(count))
            return answers[-1]

    class Script:
        def bytes(self, count: int) -> bytes:
            answer = answers.pop(0)
            assert len(answer) == count
            return answer

    inputs = some_inputs(protocol, 30)
    reports = protocol.randomize(inputs, Recorder())

    def shut(*_: object) -> bytes:
        raise AssertionError("a report asked for randomness elsewhere")

    monkeypatch.setattr(os, "urandom", shut)
    assert protocol.randomize(inputs, Script()).tolist() == reports.tolist()
    assert not answers


@every
def test_the_event_stands_in_a_ledger(protocol: Protocol) -> None:
    event = protocol.event()
    assert isinstance(event, Event)
    assert event_from_plain(json.loads(json.dumps(event.to_plain()))) == event


@every
def test_inputs_outside_are_refused_without_a_word_about_them(protocol: Protocol) -> None:
    inputs = some_inputs(protocol, 3)
    ends = [(a, b) for block in protocol.inputs.blocks for a, b in zip(block.low, block.high, strict=True)]
    wrong = [inputs.astype(float), inputs[:, :0], inputs[0], np.hstack([inputs, inputs]), inputs.astype(str)]
    for component, (low, high) in enumerate(ends):
        for value in (low - 1, high + 1):
            outside = inputs.copy()
            outside[1, component] = value
            wrong.append(outside)
    for array in wrong:
        with pytest.raises(InputError) as caught:
            protocol.randomize(array, OSEntropy())
        sentence = str(caught.value)
        assert sentence.startswith("Expected inputs='...' to be an array of whole numbers of shape (N, ")
        with pytest.raises(InputError, match=r"^Expected inputs='...' "):
            protocol.check_inputs(array)


@every
def test_reports_outside_are_refused(protocol: Protocol) -> None:
    domain = protocol.reports
    ends = [(a, b) for block in domain.blocks for a, b in zip(block.low, block.high, strict=True)]
    row = [low for low, _ in ends]
    protocol.check_reports(np.array([row], dtype=object))
    protocol.check_reports(np.array([[high for _, high in ends]], dtype=object))
    for component, (low, high) in enumerate(ends):
        for value in (low - 1, high + 1):
            outside = [*row[:component], value, *row[component + 1 :]]
            with pytest.raises(InputError, match=r"^Expected reports='...' "):
                protocol.check_reports(np.array([row, outside], dtype=object))
    for array in (np.array([row], dtype=float), np.array([row[1:]], dtype=object), None, [[None] * len(row)]):
        with pytest.raises(InputError, match=r"^Expected reports='...' "):
            protocol.check_reports(array)


@every
def test_a_wrong_table_is_refused(protocol: Protocol) -> None:
    """Every entry missing, misspelt, or of another kind."""
    plain = protocol.to_plain()
    for name in plain:
        without = {key: value for key, value in plain.items() if key != name}
        for table in (without, {**without, name + "s": plain[name]}, {**plain, "extra": 1}):
            with pytest.raises(InputError, match=r"^Expected "):
                protocol_from_plain(table)
        for value in (None, True, 1.5, "", "1/0", "-1/2", [], [None], {}, {"kind": "noisy-number"}):
            with pytest.raises(InputError, match=r"^Expected "):
                protocol_from_plain({**plain, name: value})


@pytest.mark.parametrize(
    ("plain", "words"),
    [
        (None, "to be a table with a kind"),
        ([], "to be a table with a kind"),
        ({}, "Expected protocol kind=None"),
        ({"kind": "randomised-response"}, "did you mean 'randomized-response'"),
        ({"kind": ["noisy-number"]}, "Expected protocol kind="),
        ({"kind": "noisy-number", "low": "5", "high": 9, "scale": 1}, "from 2\\^53 on a string of its digits"),
        ({"kind": "noisy-number", "low": 0, "high": "9" * 200, "scale": 1}, "Expected high="),
        ({"kind": "randomized-response", "levels": 2, "epsilon": 0.5}, 'to be a string "a/b"'),
        ({"kind": "randomized-response", "levels": 2, "epsilon": "0/5"}, "to be a positive number"),
    ],
)
def test_other_wrong_tables_are_refused(plain: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        protocol_from_plain(plain)


def test_plain_forms() -> None:
    """What a client in another language reads."""
    assert RandomizedResponse(2, 0.5).to_plain() == {"kind": "randomized-response", "levels": 2, "epsilon": "1/2"}
    assert UnaryEncoding(3, 2).to_plain() == {"kind": "unary-encoding", "levels": 3, "epsilon": "2/1"}
    assert NoisyNumber(0, 2**53, 5).to_plain() == {"kind": "noisy-number", "low": 0, "high": str(2**53), "scale": 5}
    small = NoisyVector((Block((0,), (4,)), Block.ball(1, 9)), DiscreteGaussian((3, 5)))
    table = {
        "kind": "noisy-vector",
        "blocks": [{"low": [0], "high": [4]}, {"low": [-3], "high": [3], "radius_squared": 9}],
        "law": "discrete-gaussian",
        "scales": [3, 5],
    }
    assert small.to_plain() == table
    close = Sensitivity(Fraction(8), Fraction(32), (Fraction(1), Fraction(3, 2)))
    assert NoisyStatistic(4, close, DiscreteLaplace((3, 5))).to_plain() == {
        "kind": "noisy-statistic",
        "unit": 4,
        "l1": "8/1",
        "l2_squared": "32/1",
        "relative_scales": ["1/1", "3/2"],
        "law": "discrete-laplace",
        "scales": [3, 5],
    }
    assert LabelAndVector(2, 1, small).to_plain() == {
        "kind": "label-and-vector",
        "levels": 2,
        "epsilon_label": "1/1",
        "vector": table,
    }


def test_a_client_needs_numpy_and_nothing_else() -> None:
    """Import, read a header, randomise: with everything but the standard library and numpy shut out."""
    code = """
import sys

class Gate:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in {*sys.stdlib_module_names, "numpy", "tacit"}:
            raise ImportError(f"a client asked for {name}")

sys.meta_path.insert(0, Gate())
import json
from tacit.noise.entropy import OSEntropy
from tacit.protocols.registry import protocol_from_plain
for plain in json.loads(sys.stdin.read()):
    protocol = protocol_from_plain(plain)
    lowest = [low for block in protocol.inputs.blocks for low in block.low]
    record = [0] * len(lowest) if "radius_squared" in json.dumps(plain) else lowest
    print(len(protocol.randomize([record], OSEntropy())[0]))
"""
    headers = json.dumps([case.to_plain() for case in CASES])
    done = subprocess.run([sys.executable, "-c", code], input=headers, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert [int(size) for size in done.stdout.split()] == [case.reports.size for case in CASES]
