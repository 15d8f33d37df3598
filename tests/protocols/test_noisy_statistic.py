"""A noisy statistic costs what two records can differ by, and not what two corners of its box could."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from tacit.errors import InputError
from tacit.models.regression import design_for
from tacit.models.statistic_reports import RowStatistic
from tacit.noise.discrete_laplace import DiscreteLaplace
from tacit.noise.rounded_gaussian import RoundedGaussian
from tacit.privacy.events import GaussianEvent
from tacit.privacy.guarantees import GDP, ZCDP, ApproxDP, PureDP, RenyiDP
from tacit.privacy.sensitivity import Sensitivity
from tacit.protocols.domain import box
from tacit.protocols.noisy_statistic import NoisyStatistic
from tacit.schema import Schema
from tacit.statistics.design import sign
from tacit.statistics.gram import Gram

STEPS = 6
SCHEMA = Schema(y=(-1, 1), x=(-1, 1), ill=["no", "yes"])


def small_gram() -> tuple[Gram, np.ndarray]:
    """The products of (1, x, y) on a lattice of 13 numbers a cell, and those of every possible record."""
    design = design_for("y ~ x", SCHEMA)
    gram = Gram(design.columns, design.number_response, STEPS)
    cells = np.array(list(itertools.product(np.arange(-STEPS, STEPS + 1) / STEPS, repeat=2)))
    return gram, RowStatistic(gram).encode({"x": cells[:, 0], "y": cells[:, 1]})


def worst_log_ratio(protocol: NoisyStatistic, inputs: np.ndarray) -> float:
    """The largest log ratio of one report's probabilities from two records; Laplace noise has it at an input."""
    scores = protocol.log_pmf(inputs[:, None], inputs[None, :])  # report i from record j
    return float(np.max(np.diagonal(scores)[:, None] - scores))


def test_laplace_reports_keep_a_pure_promise_over_all_records() -> None:
    """Exact: every record against every other. The planted fault is noise for nine tenths of the distance."""
    gram, inputs = small_gram()
    protocol = NoisyStatistic.calibrate(gram.unit, gram.sensitivity(), PureDP(1.5))
    protocol.check_inputs(inputs)
    assert 1.5 * 0.99 < worst_log_ratio(protocol, inputs) <= 1.5
    less = DiscreteLaplace(tuple(scale * 9 // 10 for scale in protocol.noise.scales))
    assert worst_log_ratio(NoisyStatistic(gram.unit, gram.sensitivity(), less), inputs) > 1.5
    assert not NoisyStatistic(gram.unit, gram.sensitivity(), less).event().satisfies(PureDP(1.5))


@pytest.mark.parametrize("budget", [ZCDP(0.3), GDP(0.7), RenyiDP(4.0, 0.8)], ids=["zcdp", "gdp", "renyi"])
def test_gaussian_reports_are_priced_by_the_farthest_records(budget: object) -> None:
    """Exact: mu^2 over all pairs, in rationals. A box in which every entry is free would need 1.5 times the noise."""
    gram, inputs = small_gram()
    protocol = NoisyStatistic.calibrate(gram.unit, gram.sensitivity(), budget)
    event = protocol.event()
    assert isinstance(event, GaussianEvent)
    assert event.satisfies(budget)
    pairs = itertools.combinations([[int(v) for v in row] for row in inputs], 2)
    scales = protocol.noise.scales
    farthest = max(
        sum((Fraction(a - b, s) ** 2 for a, b, s in zip(*pair, scales, strict=True)), Fraction(0)) for pair in pairs
    )
    assert farthest <= event.mu_squared < Fraction(11, 10) * farthest
    box = sum((Fraction(2 * gram.unit, s) ** 2 for s in scales), Fraction(0))
    assert box > Fraction(3, 2) ** 2 * event.mu_squared


def test_delta_of_one_entry() -> None:
    """Exact sums over the lattice: the sign of a response alone. Noise 5% less breaks the promise."""
    design = design_for("ill ~ 1", SCHEMA)
    gram = Gram(design.columns, sign("ill", SCHEMA), STEPS)
    epsilon, delta = 1.0, 1e-3
    protocol = NoisyStatistic.calibrate(gram.unit, gram.sensitivity(), GDP(0.55))
    inputs = RowStatistic(gram).encode({"ill": np.array([0, 1])})
    assert inputs.tolist() == [[-gram.unit], [gram.unit]]

    def exact_delta(protocol: NoisyStatistic) -> float:
        reach = gram.unit + math.ceil(12 * protocol.noise.sd[0])
        reports = np.arange(-reach, reach + 1)[:, None]
        p, q = (np.exp(protocol.log_pmf(reports, one)) for one in inputs)
        return float(np.maximum(0.0, p - math.exp(epsilon) * q).sum())

    assert exact_delta(protocol) <= protocol.event().delta(epsilon) + 1e-14
    assert exact_delta(protocol) > 0.9 * protocol.event().delta(epsilon)
    assert protocol.event().delta(epsilon) > delta  # so that the promise below is met by more noise alone
    least = NoisyStatistic.calibrate(gram.unit, gram.sensitivity(), ApproxDP(epsilon, delta))
    assert least.event().satisfies(ApproxDP(epsilon, delta))
    gaussian = RoundedGaussian.calibrate(ApproxDP(epsilon, delta), gram.sensitivity())
    assert exact_delta(NoisyStatistic(gram.unit, gram.sensitivity(), gaussian)) <= delta
    less = RoundedGaussian((gaussian.scales[0] * 95 // 100,))
    assert exact_delta(NoisyStatistic(gram.unit, gram.sensitivity(), less)) > delta


def test_refusals() -> None:
    sensitivity = Sensitivity(Fraction(2), Fraction(4), (Fraction(1),))
    for build, words in (
        (lambda: NoisyStatistic(0, sensitivity, DiscreteLaplace((3,))), "Expected unit="),
        (lambda: NoisyStatistic(2**63, sensitivity, DiscreteLaplace((3,))), "to lie between"),
        (lambda: NoisyStatistic(4, None, DiscreteLaplace((3,))), "to be a Sensitivity"),
        (lambda: NoisyStatistic(4, sensitivity, None), "to be one of discrete-laplace"),
        (lambda: NoisyStatistic(4, sensitivity, DiscreteLaplace((3, 4))), "to have 1 entries"),
        (lambda: NoisyStatistic.calibrate(4, sensitivity, ZCDP(1e-80)), "Expected scales="),
    ):
        with pytest.raises(InputError, match=words):
            build()


def test_entries_may_be_larger_than_the_unit():
    """``largest`` widens the box, stands in the table where it is said, and has to be the one that was asked for."""
    moves = Sensitivity(Fraction(20), Fraction(72), (Fraction(1), Fraction(3, 2)))
    usual, wide = (NoisyStatistic(4, moves, DiscreteLaplace((9, 14)), most) for most in (None, 7))
    assert wide.inputs == box((-7, -7), (7, 7))
    assert usual.inputs == box((-4, -4), (4, 4))
    assert "largest" not in usual.to_plain()
    assert NoisyStatistic.from_plain(wide.to_plain()) == wide
    assert not wide.answers(usual)
    assert wide.event() == usual.event()
    for wrong in (0, True, 1.5):
        with pytest.raises(InputError, match="largest"):
            NoisyStatistic(4, moves, DiscreteLaplace((9, 14)), wrong)
