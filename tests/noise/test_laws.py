"""Every noise x every law of noise: the object that draws is the object that scores."""

from __future__ import annotations

import math
import os
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest, chi2, chi2_contingency

from tacit.audit.goodness import goodness_of_fit
from tacit.errors import InputError
from tacit.noise import gaussian_draws, laplace_draws
from tacit.noise.entropy import OSEntropy
from tacit.noise.noise import Noise
from tacit.noise.proposals import fill
from tacit.noise.registry import NOISES

LEVEL = 1e-7
DRAWS = 200_000
KINDS = sorted(NOISES)


def noise_of(kind: str, *scales: int) -> Noise:
    return NOISES[kind](scales)


class Recorder:
    """The operating system's bytes, remembered."""

    def __init__(self) -> None:
        self.answers: list[bytes] = []

    def bytes(self, count: int) -> bytes:
        self.answers.append(os.urandom(count))
        return self.answers[-1]


class Script:
    """The given bytes, one answer a call."""

    def __init__(self, answers: list[bytes]) -> None:
        self.answers = list(answers)

    def bytes(self, count: int) -> bytes:
        answer = self.answers.pop(0)
        assert len(answer) == count
        return answer


@pytest.mark.parametrize("scale", [1, 2, 3, 10, 257, 2**32, 2**70])
@pytest.mark.parametrize("kind", KINDS)
def test_draws_follow_the_exact_law_and_no_other_scale(kind: str, scale: int) -> None:
    """Fresh entropy; chi-square, false alarms 1e-7; power: scales 10% off (the next integers below 10) are rejected."""
    noise = noise_of(kind, scale)
    draws = noise.sample(DRAWS if scale < 2**63 else DRAWS // 4, OSEntropy())
    assert goodness_of_fit(draws, noise.log_pmf) > LEVEL
    step = max(1, scale // 10)
    for wrong in (scale - step, scale + step):
        if wrong:
            assert goodness_of_fit(draws, noise_of(kind, wrong).log_pmf) < LEVEL


@pytest.mark.parametrize("scale", [2, 3, 10])
@pytest.mark.parametrize("kind", KINDS)
def test_off_by_one_is_caught(kind: str, scale: int) -> None:
    """Fresh entropy, missed with probability below 1e-7. Planted fault: j runs over 1, ..., s and not 0, ..., s - 1."""

    def propose(scales: np.ndarray) -> object:
        if kind == "discrete-laplace":
            proposal = laplace_draws.propose_laplace(scales, OSEntropy())
        else:
            proposal = gaussian_draws.propose_gaussian(scales, kind == "rounded-gaussian", OSEntropy())
        return replace(proposal, rest=proposal.rest + 1)

    draws = fill((scale,), DRAWS, propose)
    assert goodness_of_fit(draws, noise_of(kind, scale).log_pmf) < LEVEL


@pytest.mark.parametrize("kind", KINDS)
def test_kept_negative_zero_is_caught(kind: str) -> None:
    """Seed 1 for the fault, fresh entropy for the draws, missed with probability below 1e-7.

    Planted fault: the negative zero stays, so 0 has twice its weight: with p = P(0), a draw is 0 with extra
    probability p / (1 + p).
    """
    noise = noise_of(kind, 20)
    p = math.exp(noise.log_pmf(np.zeros(1))[0])
    draws = noise.sample(DRAWS, OSEntropy())
    draws[np.random.default_rng(1).random(DRAWS) < p / (1 + p)] = 0
    assert goodness_of_fit(draws, noise.log_pmf) < LEVEL


@pytest.mark.parametrize("kind", KINDS)
def test_entries_have_their_own_scales(kind: str) -> None:
    """Fresh entropy; a chi-square for each entry, false alarms 4e-7. Planted fault: entries scored in another order."""
    scales = (1, 50, 3, 2**80)
    draws = noise_of(kind, *scales).sample(40_000, OSEntropy())
    assert draws.shape == (40_000, 4)
    for entry, scale in enumerate(scales):
        assert goodness_of_fit(draws[:, entry], noise_of(kind, scale).log_pmf) > LEVEL
        assert goodness_of_fit(draws[:, entry], noise_of(kind, scales[entry - 1]).log_pmf) < LEVEL


@pytest.mark.parametrize("kind", KINDS)
def test_entries_and_rows_are_independent(kind: str) -> None:
    """Fresh entropy; chi-square of 6 x 6 tables, false alarms 2e-7. Planted fault: 3% of the rows repeat an entry."""
    noise = noise_of(kind, 2**32)
    draws = np.asarray(noise.sample(DRAWS, OSEntropy()), dtype=float)[:, 0]
    wide = np.asarray(noise_of(kind, 2**32, 2**32).sample(DRAWS, OSEntropy()), dtype=float)

    def p_value(left: np.ndarray, right: np.ndarray) -> float:
        edges = 2**32 * np.array([-1.0, -0.4, 0.0, 0.4, 1.0])
        table = np.zeros((6, 6))
        np.add.at(table, (np.searchsorted(edges, left), np.searchsorted(edges, right)), 1)
        return float(chi2_contingency(table).pvalue)

    assert p_value(wide[:, 0], wide[:, 1]) > LEVEL
    assert p_value(draws[::2], draws[1::2]) > LEVEL
    faulty = np.where(np.arange(DRAWS) % 100 < 3, wide[:, 0], wide[:, 1])
    assert p_value(wide[:, 0], faulty) < LEVEL


@pytest.mark.parametrize("scale", [1, 2**32])
@pytest.mark.parametrize("kind", KINDS)
def test_signs_are_fair(kind: str, scale: int) -> None:
    """Fresh entropy; exact binomial test, false alarms 1e-7; planted fault: every tenth negative draw lost."""
    draws = noise_of(kind, scale).sample(DRAWS, OSEntropy())
    minus, plus = int(np.sum(draws < 0)), int(np.sum(draws > 0))
    assert binomtest(minus, minus + plus).pvalue > LEVEL
    assert binomtest(minus - minus // 10, minus + plus - minus // 10).pvalue < LEVEL


@pytest.mark.parametrize("scale", [1, 5, 2**40])
@pytest.mark.parametrize("kind", KINDS)
def test_mean_and_variance(kind: str, scale: int) -> None:
    """Fresh entropy; normal tests of mean and second moment at 5.5 standard errors, false alarms 8e-8.

    Planted faults: a shift by 0.03 standard deviations, a variance 10% too large.
    """
    noise = noise_of(kind, scale)
    values = np.asarray(noise.sample(DRAWS, OSEntropy()), dtype=float)[:, 0] / noise.sd[0]

    def error(moment: np.ndarray, wanted: float) -> float:
        return abs(float(moment.mean()) - wanted) / (float(moment.std()) / math.sqrt(DRAWS))

    assert error(values, 0.0) < 5.5
    assert error(values**2, 1.0) < 5.5
    assert error(values + 0.03, 0.0) > 5.5
    assert error(1.1 * values**2, 1.0) > 5.5


@pytest.mark.parametrize("scale", [1, 7, 2**32, 2**70])
@pytest.mark.parametrize("kind", KINDS)
def test_draws_depend_on_nothing_but_the_bytes(kind: str, scale: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """No chance: the same bytes give the same draws, and all are used, while other sources are shut."""
    noise = noise_of(kind, scale, 3)
    recorder = Recorder()
    draws = noise.sample(50, recorder)

    def shut(*_: object) -> bytes:
        raise AssertionError("noise asked for randomness elsewhere")

    monkeypatch.setattr(os, "urandom", shut)
    script = Script(recorder.answers)
    assert noise.sample(50, script).tolist() == draws.tolist()
    assert not script.answers


@pytest.mark.parametrize("kind", KINDS)
def test_shape_and_kind_of_the_integers(kind: str) -> None:
    assert noise_of(kind, 3, 4).sample(0, OSEntropy()).shape == (0, 2)
    assert noise_of(kind, 3, 4).sample(5, OSEntropy()).dtype == np.int64
    large = noise_of(kind, 2**100).sample(5, OSEntropy())
    assert large.dtype == object
    assert all(type(value) is int for value in large.ravel())


@pytest.mark.parametrize("scale", [1, 2, 3, 10, 100])
@pytest.mark.parametrize("kind", KINDS)
def test_log_pmf_sums_to_one_and_has_the_stated_sd(kind: str, scale: int) -> None:
    noise = noise_of(kind, scale)
    k = np.arange(-60 * scale, 60 * scale + 1)
    p = np.exp(noise.log_pmf(k[:, None]))[:, 0]
    assert p.sum() == pytest.approx(1.0, abs=1e-13)
    assert np.sum(p * k**2) == pytest.approx(noise.sd[0] ** 2, rel=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_log_pmf_tends_to_the_density(kind: str) -> None:
    """The lattice law over the continuous one is 1 + O(1 / s^2), from the centre to 40 scales out."""
    import jax.numpy as jnp

    for scale in (2**20, 2**60, 2**119):
        noise = noise_of(kind, scale, scale)
        # whole numbers, exact as floats
        values = np.array([[0, scale], [3 * scale // 4, -5 * scale], [20 * scale, -40 * scale]], dtype=object)
        exact = noise.log_pmf(values)
        assert exact.shape == values.shape
        limit = noise.log_density(np.asarray(values, float), np)
        assert np.max(np.abs(exact - limit)) <= 1e-9
        single = noise.log_density(jnp.asarray(np.asarray(values, float) / 2**60), jnp)
        assert single.shape == values.shape


def test_rounded_gaussian_log_pmf_in_the_tails() -> None:
    """Against ln(Q(a) - Q(b)) with 50 digits: k at 0, moderate and far, for s = 1, 3 and 1000."""
    reference = {
        (1, 0): -0.95991633369562231933,
        (1, 5): -12.598024402955911248,
        (1, 30): -439.42947460915031827,
        (3, 4): -2.9028741283395236065,
        (3, 9): -6.4809975775104848083,
        (3, 100): -554.4352945857405451,
        (1000, 5000): -20.326692812187060835,
    }
    for (scale, k), wanted in reference.items():
        got = noise_of("rounded-gaussian", scale).log_pmf(np.array([k, -k]))
        assert got == pytest.approx([wanted, wanted], rel=2e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_reach_is_where_the_density_has_fallen(kind: str) -> None:
    noise = noise_of(kind, 2**20, 3)
    reach = np.array(noise.reach(8.0))
    fall = noise.log_density(np.zeros(2), np) - noise.log_density(reach, np)
    assert fall == pytest.approx([8.0, 8.0], rel=1e-12)


@pytest.mark.parametrize("scales", [(), (0,), (-1,), (2**120 + 1,)])
@pytest.mark.parametrize("kind", KINDS)
def test_impossible_scales_are_refused(kind: str, scales: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="to be one or more whole numbers from 1 to 2"):
        NOISES[kind](scales)


def test_largest_scale_works() -> None:
    for kind in KINDS:
        noise = noise_of(kind, 2**120)
        assert noise.sample(2, OSEntropy()).shape == (2, 1)
        assert math.isfinite(noise.sd[0])
        assert np.isfinite(noise.log_pmf(np.array([2**121], dtype=object))).all()


def test_lazy_reals_compare_exactly() -> None:
    """No chance: two uniform reals that agree in 128 bits are told apart by the next 64, and x keeps its digits."""
    same, low, high = b"\x07" * 8, b"\x01" + b"\x00" * 7, b"\x02" + b"\x00" * 7
    zero = b"\x00"  # a scale of 1 leaves only j = 0, drawn from one byte
    x = [zero]
    first = [zero, same, same, same, same, low, high]  # its own j, then (other digit, x's digit) three times
    second = [zero, same, same, high, high, low]  # x's three digits are known; the fourth is drawn
    script = Script([*x, *first, *second])
    position = gaussian_draws._Position(np.ones(1, np.uint64), True, script)
    index = np.zeros(1, np.intp)
    assert position.coin(index).tolist() == [True]  # low < high
    assert position.coin(index).tolist() == [False]  # high > low
    assert [digit.tobytes() for digit in position.digits] == [same, same, high, low]
    assert not script.answers


def test_one_draw_by_hand() -> None:
    """No chance: the bytes below lead to -7 at scale 4, step by step."""
    script = Script(
        [
            b"\x03",  # j = 3
            b"\x03",  # coin of probability 3/4: 3 < 3 is tails, at the first coin, so exp(-3/4) is heads: keep j
            b"\x80",  # exp(-1): second coin (1/2) heads
            b"\x01",  # third coin (1/3): 1 is not 0, tails at an odd coin: heads, one step of 4
            b"\x00",  # exp(-1) again: second coin tails, at an even coin: tails, no more steps
            b"\x80",  # minus
        ]
    )
    assert noise_of("discrete-laplace", 4).sample(1, script).tolist() == [[-7]]
    assert not script.answers


@pytest.mark.parametrize("sizes", [(2_000, 64), (20_000, 16)])
def test_goodness_of_fit_has_its_false_alarm_rate(sizes: tuple[int, int]) -> None:
    """Seed 7: 400 p-values of true samples are uniform (chi-square over 10 parts at 1e-4), a wrong scale's are not."""
    draws, cells = sizes
    rng = np.random.default_rng(7)
    noise = noise_of("discrete-gaussian", 9)
    k = np.arange(-100, 101)
    p = np.exp(noise.log_pmf(k[:, None]))[:, 0]
    p_values = [goodness_of_fit(rng.choice(k, draws, p=p / p.sum()), noise.log_pmf, cells) for _ in range(400)]
    counts = np.histogram(p_values, bins=10, range=(0, 1))[0]
    assert chi2.sf(np.sum((counts - 40) ** 2 / 40), 9) > 1e-4
    wrong = [
        goodness_of_fit(rng.choice(k, draws, p=p / p.sum()), noise_of("discrete-gaussian", 10).log_pmf, cells)
        for _ in range(20)
    ]
    assert np.median(wrong) < 1e-3


def test_goodness_of_fit_refuses_what_it_cannot_judge() -> None:
    noise = noise_of("discrete-laplace", 3)
    with pytest.raises(InputError, match="to number at least five"):
        goodness_of_fit(np.zeros(100), noise.log_pmf)
    with pytest.raises(InputError, match="to sum to one"):
        goodness_of_fit(np.zeros(1000), lambda k: noise.log_pmf(k) + 0.1)
