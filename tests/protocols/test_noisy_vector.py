"""A noisy vector has its law and its price, one release for all blocks together."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.audit.goodness import goodness_of_fit
from tacit.errors import InputError
from tacit.noise.discrete_gaussian import DiscreteGaussian
from tacit.noise.discrete_laplace import DiscreteLaplace
from tacit.noise.entropy import OSEntropy
from tacit.noise.rounded_gaussian import RoundedGaussian
from tacit.privacy import gaussian
from tacit.privacy.guarantees import GDP, ZCDP, ApproxDP, PureDP, RenyiDP
from tacit.protocols.domain import Block
from tacit.protocols.noisy_vector import GAUSSIANS, NoisyVector

LEVEL = 1e-7
LAWS = sorted(GAUSSIANS)

# sigma / sensitivity of the analytic Gaussian condition, computed to 40 digits (Balle and Wang 2018, Theorem 8)
SIGMA_OVER_SENSITIVITY = {
    (0.01, 1e-5): 243.78543767567803,
    (0.1, 1e-5): 30.74956613197745,
    (0.5, 1e-5): 7.031826675582492,
    (1.0, 1e-6): 4.224678889326835,
    (2.0, 1e-5): 1.9938124456435367,
    (5.0, 1e-6): 0.9800490003092099,
    (50.0, 1e-8): 0.16902906109367016,
    (0.5, 0.1): 1.5562878953734973,
}


def lattice(protocol: NoisyVector, standard_deviations: float) -> np.ndarray:
    """Every report within so many standard deviations of every input, one or two components."""
    bounds = [(a, b) for block in protocol.blocks for a, b in zip(block.low, block.high, strict=True)]
    reach = [math.ceil(standard_deviations * sd) for sd in protocol.noise.sd]
    axes = [np.arange(a - r, b + r + 1) for (a, b), r in zip(bounds, reach, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))


def hockey_stick(protocol: NoisyVector, first: object, second: object, epsilon: float, reach: float = 8.0) -> float:
    """The exact delta of two inputs: sum_z max(0, P(z) - e^epsilon Q(z)), with the mass left out added."""
    reports = lattice(protocol, reach)
    p, q = (np.exp(protocol.log_pmf(reports, np.array(v))) for v in (first, second))
    return float(np.maximum(0.0, p - math.exp(epsilon) * q).sum()) + max(0.0, 1.0 - float(p.sum()))


@pytest.mark.parametrize(("budget", "wanted"), SIGMA_OVER_SENSITIVITY.items())
def test_scales_match_the_reference(budget: tuple[float, float], wanted: float) -> None:
    """On a lattice of 2^40 whole scales are no loss. A range [0, w] has the sensitivity w, a ball of radius r 2 r."""
    width = 2**40
    for block, sensitivity in ((Block((0,), (width,)), width), (Block.ball(3, width**2), 2 * width)):
        protocol = NoisyVector.calibrate([block], ApproxDP(*budget))
        assert set(protocol.noise.scales) == {protocol.noise.scales[0]}
        assert protocol.noise.scales[0] / sensitivity == pytest.approx(wanted, rel=3e-11)


def test_two_blocks_are_balanced_and_cheaper_together() -> None:
    """sqrt(2) times the noise of one block each, 5.276 diameters at (1, 1e-5); two halves of the budget need 7.351."""
    radius, y = 2**40, 3 * 2**41
    blocks = [Block.ball(3, radius**2), Block((-y,), (y,))]
    together = NoisyVector.calibrate(blocks, ApproxDP(1.0, 1e-5)).noise.scales
    assert together[0] / (2 * radius) == pytest.approx(math.sqrt(2) * 3.7306316348159417, rel=1e-10)
    assert together[3] / (2 * y) == pytest.approx(together[0] / (2 * radius), rel=1e-10)
    apart = [NoisyVector.calibrate([block], ApproxDP(0.5, 5e-6)).noise.scales[0] for block in blocks]
    assert apart[0] / (2 * radius) == pytest.approx(7.351, rel=1e-3)
    assert apart[1] / (2 * y) == pytest.approx(7.351, rel=1e-3)


def test_shares_divide_mu_squared() -> None:
    blocks = [Block((0,), (2**40,)), Block((0, 0), (2**40, 2**40))]
    scales = NoisyVector.calibrate(blocks, GDP(0.5), shares=(3, 1)).noise.scales
    assert scales[0] == pytest.approx(2 * 2**40 * math.sqrt(4 / 3), rel=1e-11)
    assert scales[1] == scales[2] == pytest.approx(2 * 2**40 * math.sqrt(2) * 2, rel=1e-11)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-3), (2.0, 1e-5)])
def test_delta_in_one_dimension(law: str, epsilon: float, delta: float) -> None:
    """Every pair of inputs, exact sums over the lattice. The worst is that of the two ends; noise 4% less breaks it."""
    low, high = -9, 16
    protocol = NoisyVector.calibrate([Block((low,), (high,))], ApproxDP(epsilon, delta), law=law)
    pairs = list(itertools.product(range(low, high + 1, 5), repeat=2))
    deltas = {pair: hockey_stick(protocol, [pair[0]], [pair[1]], epsilon, 14.0) for pair in pairs}
    assert max(deltas.values()) == max(deltas[low, high], deltas[high, low])
    assert max(deltas.values()) <= protocol.event().delta(epsilon) + 1e-14
    assert protocol.event().delta(epsilon) <= delta
    least = NoisyVector.calibrate([Block((low,), (high,))], ApproxDP(epsilon, delta)).noise.scales[0]
    small = NoisyVector(protocol.blocks, GAUSSIANS[law]((least * 96 // 100,)))
    assert hockey_stick(small, [low], [high], epsilon, 14.0) > delta


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    "blocks",
    [
        (Block.ball(2, 65),),
        (Block((-6, 0), (2, 9)),),
        (Block.ball(1, 36), Block((-15,), (15,))),
        (Block((-9, -9), (9, 4), 90),),
    ],
    ids=["ball", "box", "x and y", "ball and box"],
)
def test_delta_in_two_dimensions(law: str, blocks: tuple[Block, ...]) -> None:
    """Pairs of inputs on the edge, exact sums over the lattice. None exceeds delta; the planted fault, noise for half
    the diameter (R in place of 2 R), does by far."""
    epsilon, delta = 1.5, 1e-3
    protocol = NoisyVector.calibrate(blocks, ApproxDP(epsilon, delta), law=law)
    ranges = [range(a, b + 1) for block in blocks for a, b in zip(block.low, block.high, strict=True)]
    inside = [v for v in itertools.product(*ranges) if protocol.inputs._holds(np.array([v]))]
    scales = np.array(protocol.noise.scales)
    pairs = sorted(
        itertools.combinations(inside, 2), key=lambda pair: -float(np.sum(((np.subtract(*pair)) / scales) ** 2))
    )
    deltas = [hockey_stick(protocol, *pair, epsilon, 5.0) for pair in (*pairs[:3], pairs[len(pairs) // 2])]
    tail = 2 * 2 * 3e-7  # beyond 5 standard deviations of either component, which `hockey_stick` adds
    assert max(deltas) <= protocol.event().delta(epsilon) + tail
    assert protocol.event().delta(epsilon) <= delta
    if blocks[0].radius_squared != 90:  # there the bound on the diameter is not reached
        assert max(deltas) > 0.95 * gaussian.delta(epsilon, math.sqrt(protocol.event().mu_squared))
    half = NoisyVector(blocks, GAUSSIANS[law](tuple(scale // 2 for scale in protocol.noise.scales)))
    assert hockey_stick(half, *pairs[0], epsilon, 5.0) > 10 * delta


@pytest.mark.parametrize("law", LAWS)
def test_reports_follow_the_law(law: str) -> None:
    """Fresh entropy; a chi-square a component, false alarms 3e-7. Planted faults: scales 10% off either way."""
    blocks = (Block.ball(2, 2**60), Block((0,), (100,)))
    protocol = NoisyVector(blocks, GAUSSIANS[law]((2**31, 2**20, 50)))
    truth = np.array([2**29, -(2**29), 77])
    noise = protocol.randomize(np.tile(truth, (200_000, 1)), OSEntropy()) - truth
    for i, scale in enumerate(protocol.noise.scales):

        def one_component(k: np.ndarray, wrong: int = scale, i: int = i) -> np.ndarray:
            """The law of component i alone, through the protocol: at the others' truth, less their own share."""
            other = NoisyVector(blocks, GAUSSIANS[law](tuple(wrong if j == i else 1 for j in range(3))))
            reports = np.tile(truth.astype(float), (len(k), 1))
            reports[:, i] += k
            rest = 2 * float(GAUSSIANS[law]((1,)).log_pmf(np.zeros(1))[0])
            return other.log_pmf(reports, truth) - rest

        assert goodness_of_fit(noise[:, i], one_component) > LEVEL
        for wrong in (scale * 9 // 10, scale * 11 // 10):
            assert goodness_of_fit(noise[:, i], lambda k, w=wrong, f=one_component: f(k, w)) < LEVEL


@pytest.mark.parametrize("law", LAWS)
def test_log_pmf_sums_to_one(law: str) -> None:
    protocol = NoisyVector((Block((0, -3), (4, 3)),), GAUSSIANS[law]((4, 9)))
    total = np.exp(protocol.log_pmf(lattice(protocol, 9.0), np.array([4, -3]))).sum()
    assert float(total) == pytest.approx(1.0, abs=1e-12)


def test_the_price_uses_every_scale_exactly() -> None:
    """No rounding of a relative scale comes between: mu^2 = (8/3)^2 + 100/49, a ball counted at its smallest scale."""
    protocol = NoisyVector((Block((0,), (8,)), Block.ball(2, 25)), RoundedGaussian((3, 7, 9)))
    assert protocol.event().mu_squared == Fraction(64, 9) + Fraction(100, 49)
    assert protocol.event().slack == 0
    discrete = NoisyVector(protocol.blocks, DiscreteGaussian((3, 7, 9)))
    assert discrete.event().mu_squared == protocol.event().mu_squared
    assert discrete.event().slack > 0


@given(
    width=st.integers(1, 2**40),
    radius=st.integers(1, 2**30),
    budget=st.one_of(
        st.builds(ApproxDP, st.floats(1e-2, 10), st.floats(1e-10, 0.1)),
        st.builds(ZCDP, st.floats(1e-6, 10)),
        st.builds(GDP, st.floats(1e-3, 8)),
        st.builds(RenyiDP, st.floats(1.01, 100), st.floats(1e-3, 8)),
    ),
    law=st.sampled_from(LAWS),
)
@settings(derandomize=True, deadline=None, max_examples=40)
def test_calibrated_scales_are_the_least(width: int, radius: int, budget: object, law: str) -> None:
    """The event meets the budget, and that of scales one less in every component does not."""
    blocks = (Block((0,), (width,)), Block.ball(2, radius**2))
    if isinstance(budget, GDP) and law == DiscreteGaussian.kind:
        with pytest.raises(InputError, match="to be one that discrete-gaussian noise can meet"):
            NoisyVector.calibrate(blocks, budget, law=law)
        return
    protocol = NoisyVector.calibrate(blocks, budget, law=law)
    assert protocol.event().satisfies(budget)
    less = tuple(scale - 1 for scale in protocol.noise.scales)
    if min(less) >= 1:
        assert not NoisyVector(blocks, GAUSSIANS[law](less)).event().satisfies(budget)


def test_refusals() -> None:
    block = Block((0,), (9,))
    noise = RoundedGaussian((3,))
    for build, words in (
        (lambda: NoisyVector((), noise), "Expected blocks="),
        (lambda: NoisyVector((None,), noise), "Expected blocks="),
        (lambda: NoisyVector(block, noise), "Expected blocks="),
        (lambda: NoisyVector((block,), DiscreteLaplace((3,))), "to be RoundedGaussian or DiscreteGaussian"),
        (lambda: NoisyVector((block,), RoundedGaussian((3, 4))), "to have 1 entries"),
        (lambda: NoisyVector((Block((0,), (2**63,)),), noise), "to lie between"),
        (lambda: NoisyVector.calibrate([block], PureDP(1.0)), "Gaussian noise is never pure"),
        (lambda: NoisyVector.calibrate([block], GDP(1.0), law="discrete-laplace"), "Expected law="),
        (lambda: NoisyVector.calibrate([block], GDP(1.0), law=["rounded-gaussian"]), "Expected law="),
        (lambda: NoisyVector.calibrate([block], ZCDP(1e-80)), "to be one that rounded-gaussian noise can meet"),
        (lambda: NoisyVector.calibrate([block], GDP(1.0), shares=(1, 2)), "Expected shares="),
        (lambda: NoisyVector.calibrate([block], GDP(1.0), shares=(0,)), "Expected shares="),
        (lambda: NoisyVector.calibrate([block], GDP(1.0), shares=(0.5,)), "Expected shares="),
        (lambda: NoisyVector.calibrate([], GDP(1.0)), "Expected blocks="),
    ):
        with pytest.raises(InputError, match=words):
            build()


def test_reports_beyond_65536_scales_are_refused() -> None:
    protocol = NoisyVector((Block((0,), (9,)), Block.ball(1, 4)), RoundedGaussian((1, 10)))
    protocol.check_reports(np.array([[9 + 2**16, -2 - 10 * 2**16]]))
    for bad in ([10 + 2**16, 0], [0, -3 - 10 * 2**16]):
        with pytest.raises(InputError, match=r"^Expected reports="):
            protocol.check_reports(np.array([bad]))
