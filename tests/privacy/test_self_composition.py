"""The allowances of a composition by Fourier transforms, each against more digits than it is meant to cover."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest

from tacit.privacy import gaussian, self_composition
from tacit.privacy.dominating_pair import DominatingPair, _normal_masses


@pytest.mark.parametrize("size", [360, 2000, 4096, 5625, 6561])
def test_transforms_are_nearer_than_is_allowed(size):
    """Radices 2, 3 and 5, forward and back (seed 7). What is seen is a twentieth of the allowance or less."""
    mp.mp.dps = 40
    rng = np.random.default_rng(7)
    values = rng.exponential(size=size)
    values /= values.sum()
    found = np.fft.rfft(values)
    level = 24 * 2.0**-53 * math.log2(size)
    exact = [mp.mpf(float(value)) for value in values]
    for k in (0, 1, 7, size // 3, size // 2):
        turns = [2 * mp.pi * ((k * n) % size) / size for n in range(size)]
        real = mp.fsum(v * mp.cos(turn) for v, turn in zip(exact, turns, strict=True))
        imaginary = -mp.fsum(v * mp.sin(turn) for v, turn in zip(exact, turns, strict=True))
        off = abs(complex(float(found[k].real - real), float(found[k].imag - imaginary)))
        assert off <= level / 20
    back = np.fft.irfft(found, size) - values
    assert np.linalg.norm(back) <= 2 * level * np.linalg.norm(values) / 10


def test_powers_are_nearer_than_is_allowed():
    mp.mp.dps = 60
    for exponent in (1, 2, 3, 1000, 99_999):
        value = complex(0.99991, -0.0071) if exponent > 10 else complex(-0.3, 0.8)
        found = complex(self_composition._power(np.array([value]), exponent)[0])
        exact = mp.mpc(value) ** exponent
        assert abs(mp.mpc(found) - exact) <= 2.3 * exponent * 2.0**-53 * abs(exact)


def test_sizes_have_no_factor_above_five():
    for size in range(1, 3000, 7):
        found = self_composition._smooth(size)
        assert size <= found <= 2 * size
        for factor in (2, 3, 5):
            while found % factor == 0:
                found //= factor
        assert found == 1


def test_masses_of_cells_of_any_width():
    """Against 40 digits: narrow cells far out, where a difference of two tails has lost eight digits."""
    mp.mp.dps = 40
    edges = [-13.0, -12.999999, -9.0, -8.99999, -2.0, -1e-9, 1e-9, 0.3, 5.0, 5.0 + 1e-7, 12.0, 12.0 + 1e-8, 30.0, 30.1]
    found = _normal_masses(np.array(edges), 0.0, 1.0)
    for mass, low, high in zip(found, edges[:-1], edges[1:], strict=True):
        side = -1 if low < 0 else 1
        ends = sorted(mp.erfc(side * mp.mpf(edge) / mp.sqrt(2)) / 2 for edge in (low, high))
        true = ends[1] - ends[0]
        assert abs(mp.mpf(float(mass)) / true - 1) <= (8 + max(low**2, high**2)) * mp.mpf(2) ** -50
    from scipy.special import ndtr

    lost = (ndtr(-12.0) - ndtr(-(12.0 + 1e-8))) / found[edges.index(12.0)] - 1
    assert abs(lost) > 1e-10  # the planted fault: what the difference of tails gives


def test_masses_of_narrow_cells_far_from_a_centre_in_a_narrow_distribution():
    """The planted fault, differences of rounded z, is off by 1e-11 and more here."""
    mp.mp.dps = 50
    s, centre = 0.3, -1.0
    edges = 0.501 + 2.3e-9 * np.arange(30.0)
    found = _normal_masses(edges, centre, s)
    for mass, low, high in zip(found, edges[:-1], edges[1:], strict=True):
        ends = [mp.erfc((mp.mpf(float(x)) - mp.mpf(centre)) / (mp.mpf(s) * mp.sqrt(2))) / 2 for x in (low, high)]
        z = (low - centre) / s
        assert abs(mp.mpf(float(mass)) / (ends[0] - ends[1]) - 1) <= (8 + z * z) * mp.mpf(2) ** -50
    rounded = np.diff((edges - centre) / s) * s / np.diff(edges) - 1
    assert np.abs(rounded).max() > 1e-9


@pytest.mark.parametrize(("s", "q", "steps"), [(3.0, 0.01, 2), (10.0, 0.01, 20), (1.0, 0.3, 7)])
def test_an_epsilon_at_the_largest_loss_of_all_steps(s, q, steps):
    """The sums above it are none, or few: no error, and never less than further out."""
    pair = DominatingPair(s, q)
    found = [
        self_composition.composed_delta(pair, steps, part * steps * pair.largest_loss)
        for part in (0.9, 1.0, 1.1, 100.0)
    ]
    assert all(0 <= delta <= 1e-6 for delta in found)
    assert all(later <= sooner * (1 + 1e-6) for sooner, later in itertools.pairwise(found))


def test_cuts_are_where_they_are_said_to_be():
    mp.mp.dps = 50
    for s, q in ((1.0, 0.01), (0.3, 1e-5), (5.0, 0.9), (0.05, 0.2)):
        pair = DominatingPair(s, q)
        c = mp.mpf(q) * mp.exp(-1 / (2 * mp.mpf(s) ** 2))
        for loss in (1e-9, 1e-3, 0.2, 0.6 * pair.largest_loss, -0.9 * pair.largest_loss):
            w = mp.exp(mp.mpf(float(pair.point(loss))) / mp.mpf(s) ** 2)
            true = mp.log(1 - mp.mpf(q) + c * w) - mp.log(1 - mp.mpf(q) + c / w)
            assert abs(true - mp.mpf(loss)) <= pair.loss_error


@pytest.mark.parametrize(
    ("s", "steps", "epsilon"), [(8.0, 4, 0.7), (40.0, 400, 2.0), (300.0, 30_000, 1.0), (20.0, 100, 6.0)]
)
def test_where_the_composition_is_known_it_is_just_above(s, steps, epsilon):
    """At rate 1 T steps are one Gaussian of mu = 2 sqrt(T) / s, exactly."""
    true = gaussian.delta(epsilon, 2 * math.sqrt(steps) / s)
    found = self_composition.composed_delta(DominatingPair(s, 1.0), steps, epsilon)
    assert true <= found <= true * 1.002


def test_very_rare_rows_far_out_keep_their_digits():
    """A million steps in which nearly nothing happens: the heaviest atom is kept out of the transform. Its error alone,
    for the whole distribution, would leave 1e-8.
    """
    pair = DominatingPair(1.0, 1e-5)
    found = self_composition.composed_delta(pair, 10**6, 1.0)
    assert 0 < found < 1e-20
