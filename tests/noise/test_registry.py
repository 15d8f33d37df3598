"""Which noise a budget gets."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import pytest

from tacit.errors import InputError
from tacit.noise.registry import NOISES, noise_for
from tacit.privacy.guarantees import GDP, ZCDP, ApproxDP, Guarantee, PureDP, RenyiDP
from tacit.privacy.sensitivity import Sensitivity

FINE = 2**30


def vector(entries: int) -> Sensitivity:
    """Every entry may move by one unit: l1 grows with the entries, l2 with their square root."""
    return Sensitivity(Fraction(entries * FINE), Fraction(entries * FINE**2), (Fraction(1),) * entries)


def test_names() -> None:
    assert list(NOISES) == ["discrete-laplace", "discrete-gaussian", "rounded-gaussian"]
    assert all(noise.kind == kind for kind, noise in NOISES.items())


@pytest.mark.parametrize(
    ("budget", "kind"),
    [
        (PureDP(1.0), "discrete-laplace"),
        (ZCDP(0.5), "discrete-gaussian"),
        (RenyiDP(8.0, 0.5), "discrete-gaussian"),
        (GDP(1.0), "rounded-gaussian"),
    ],
)
def test_each_definition_has_its_noise(budget: Guarantee, kind: str) -> None:
    noise = noise_for(budget, vector(3), None)
    assert noise.kind == kind
    assert noise == noise_for(budget, vector(3), kind)
    assert noise.event(vector(3)).satisfies(budget)


@pytest.mark.parametrize(("entries", "kind"), [(1, "discrete-laplace"), (200, "discrete-gaussian")])
def test_an_approximate_budget_gets_the_smaller_variance(entries: int, kind: str) -> None:
    """At (1, 1e-6), per unit of shift: sd 1.41 (Laplace) or 4.22 (Gaussian) for one entry, 283 or 59.7 for 200."""
    budget = ApproxDP(1.0, 1e-6)
    chosen = noise_for(budget, vector(entries), None)
    assert chosen.kind == kind
    for other in NOISES:
        assert sum(sd**2 for sd in chosen.sd) <= sum(sd**2 for sd in noise_for(budget, vector(entries), other).sd)


def test_an_explicit_kind_is_honoured_or_refused() -> None:
    assert noise_for(ApproxDP(1.0, 1e-6), vector(1), "rounded-gaussian").kind == "rounded-gaussian"
    assert noise_for(ZCDP(0.5), vector(1), "rounded-gaussian").kind == "rounded-gaussian"
    with pytest.raises(InputError, match="to be PureDP or ApproxDP"):
        noise_for(ZCDP(0.5), vector(1), "discrete-laplace")
    with pytest.raises(InputError, match="for GDP use rounded-gaussian"):
        noise_for(GDP(0.5), vector(1), "discrete-gaussian")
    with pytest.raises(InputError, match="to be one of discrete-laplace, discrete-gaussian, rounded-gaussian"):
        noise_for(PureDP(1.0), vector(1), "laplace")


def test_the_registry_is_light_to_import() -> None:
    """A plan names a noise and prices it without loading an array library."""
    code = "import sys, tacit.noise.registry; print({'numpy', 'scipy', 'jax'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
