"""A noisy number has its law and its price."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.audit.goodness import goodness_of_fit
from tacit.errors import InputError
from tacit.noise.entropy import OSEntropy
from tacit.privacy.guarantees import GDP, ZCDP, ApproxDP, PureDP, RenyiDP
from tacit.protocols.noisy_number import NoisyNumber

LEVEL = 1e-7


def law_at(protocol: NoisyNumber, truth: int) -> object:
    """The log probability of the noise, by way of the protocol's own `log_pmf`."""
    return lambda k: protocol.log_pmf(k[:, None] + truth, np.array([truth]))


@pytest.mark.parametrize(("low", "high", "scale"), [(-5, 5, 20), (0, 2**30, 2**31), (-(2**40), 3, 10)])
def test_reports_follow_the_law(low: int, high: int, scale: int) -> None:
    """Fresh entropy; chi-square at both ends of the range, false alarms 2e-7.

    Planted faults: scales 10% off either way, and a number that is one scale off.
    """
    protocol = NoisyNumber(low, high, scale)
    for truth in (low, high):
        noise = protocol.randomize(np.full((200_000, 1), truth), OSEntropy()) - truth
        assert goodness_of_fit(noise, law_at(protocol, truth)) > LEVEL
        for wrong in (scale * 9 // 10, scale * 11 // 10):
            assert goodness_of_fit(noise, law_at(NoisyNumber(low, high, wrong), truth)) < LEVEL
        assert goodness_of_fit(noise + scale, law_at(protocol, truth)) < LEVEL


@pytest.mark.parametrize(("low", "high", "scale"), [(0, 4, 3), (-7, 6, 20), (0, 1, 1)])
def test_no_pair_of_numbers_exceeds_epsilon_anywhere(low: int, high: int, scale: int) -> None:
    """Every pair of inputs, every report to 40 scales out. Half the noise exceeds it."""
    protocol = NoisyNumber(low, high, scale)
    inputs = np.arange(low, high + 1)[:, None]
    reports = np.arange(low - 40 * scale, high + 40 * scale + 1)[:, None]
    table = protocol.log_pmf(reports[:, None], inputs)
    assert np.exp(table).sum(axis=0) == pytest.approx(np.ones(len(inputs)), abs=1e-12)
    largest = float(np.max(table.max(axis=1) - table.min(axis=1)))
    epsilon = float(protocol.event().epsilon())
    assert protocol.event().epsilon() == Fraction(high - low, scale)
    assert largest == pytest.approx(epsilon, rel=1e-12)
    if scale > 1:
        half = NoisyNumber(low, high, scale // 2).log_pmf(reports[:, None], inputs)
        assert float(np.max(half.max(axis=1) - half.min(axis=1))) > 1.9 * epsilon


@given(
    width=st.integers(1, 2**40),
    budget=st.one_of(
        st.builds(PureDP, st.floats(1e-3, 20)),
        st.builds(ApproxDP, st.floats(1e-3, 20), st.floats(1e-12, 0.5)),
        st.builds(ZCDP, st.floats(1e-6, 20)),
        st.builds(GDP, st.floats(1e-3, 8)),
        st.builds(RenyiDP, st.floats(1.01, 100), st.floats(1e-3, 8)),
    ),
)
@settings(derandomize=True, deadline=None, max_examples=60)
def test_calibrated_scales_are_the_least(width: int, budget: object) -> None:
    protocol = NoisyNumber.calibrate(-3, width - 3, budget)
    assert protocol.event().satisfies(budget)
    if protocol.scale > 1:
        assert not NoisyNumber(-3, width - 3, protocol.scale - 1).event().satisfies(budget)
    if isinstance(budget, PureDP):
        assert protocol.scale == math.ceil(width / Fraction(budget.epsilon))


def test_wide_noise_does_not_wrap() -> None:
    """At the largest inputs and scales the sum is a Python integer, and a report far from all others is refused."""
    wide = NoisyNumber(-(2**62), 2**62, 2**61)
    reports = wide.randomize(np.array([[2**62]] * 500), OSEntropy())
    assert max(reports.ravel().tolist()) > 2**63  # missed with probability (1 - e^-2 / 2)^500 < 1e-15
    wide.check_reports(reports)
    assert NoisyNumber(0, 1, 2**120).randomize(np.array([[1]]), OSEntropy()).dtype == object
    assert np.isfinite(wide.log_pmf(reports, np.array([[2**62]], dtype=object))).all()


def test_reports_beyond_65536_scales_are_refused() -> None:
    protocol = NoisyNumber(-2, 5, 10)
    for good in (5 + 2**16 * 10, -2 - 2**16 * 10, 0):
        protocol.check_reports(np.array([[good]]))
    for bad in (6 + 2**16 * 10, -3 - 2**16 * 10):
        with pytest.raises(InputError, match=r"each from -655362 to 655365\.$"):
            protocol.check_reports(np.array([[bad]]))


@pytest.mark.parametrize(
    ("low", "high", "scale"),
    [(0, 0, 1), (1, 0, 1), (0.0, 1, 1), (0, 2**62 + 1, 1), (0, 1, 0), (0, 1, 1.5), (0, 1, True), (0, 1, 2**120 + 1)],
)
def test_impossible_parameters_are_refused(low: object, high: object, scale: object) -> None:
    with pytest.raises(InputError, match=r"^Expected "):
        NoisyNumber(low, high, scale)


def test_a_budget_beyond_the_largest_scale_is_refused() -> None:
    with pytest.raises(InputError, match=r"to be one that a scale of at most 2\^120 can meet"):
        NoisyNumber.calibrate(0, 2**62, PureDP(1e-30))
