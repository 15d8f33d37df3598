"""Steps in lock step keep the target, like the no-U-turn ones that they stand in for."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import gamma, kstest, norm

import tacit
from tacit.infer import check_settings
from tacit.runtime.backend import float64
from tacit.runtime.chain import Settings
from tacit.samplers.explore import explore
from tacit.samplers.lockstep import lockstep
from tacit.samplers.nuts import nuts

CHAINS = 3000


def _log_density(position, *, power=1.0):
    """u ~ log Gamma(3) and v | u ~ N(u, 1): skewed, and each pulls at the other."""
    u, v = position["u"][0], position["v"][0]
    return power * (3 * u - jnp.exp(u) - (v - u) ** 2 / 2)


def _last(log_density, seed, dense):
    def chain(key):
        start = {"u": jnp.zeros(1), "v": jnp.zeros(1)}
        draws, info = lockstep(key, log_density, start, warmup=150, draws=20, leaps=16, dense=dense)
        return draws["u"][-1, 0], draws["v"][-1, 0], info

    with float64():
        u, v, info = jax.jit(jax.vmap(chain))(jax.random.split(jax.random.key(seed), CHAINS))
        return np.exp(u), np.asarray(v) - np.asarray(u), {name: np.asarray(value) for name, value in info.items()}


def test_the_last_draw_of_many_chains_has_the_law_of_the_target():
    """Seed 1, 3,000 chains, two exact laws: false alarms 2e-4. A target twice too warm is caught."""
    for dense in (False, True):
        grown, apart, info = _last(_log_density, 1, dense)
        assert kstest(grown, gamma(3).cdf).pvalue > 5e-5
        assert kstest(apart, norm.cdf).pvalue > 5e-5
        assert np.corrcoef(grown, apart)[0, 1] ** 2 < 16 / CHAINS
        assert info["diverging"].mean() < 0.01
        assert (info["n_steps"] == 16).all()
        assert 0.6 < info["acceptance_rate"].mean() < 0.99
    warm = _last(partial(_log_density, power=0.5), 1, False)
    assert min(kstest(warm[0], gamma(3).cdf).pvalue, kstest(warm[1], norm.cdf).pvalue) < 5e-5


def test_places_without_density_are_never_kept():
    """A target on the positive half line only: proposals beyond it count as refused, not as a number."""

    def half(position):
        return jnp.where(position[0] > 0, -position[0], -jnp.inf)

    with float64():
        draws, info = lockstep(jax.random.key(2), half, jnp.ones(1), warmup=100, draws=200, leaps=16)
    assert np.all(np.asarray(draws) > 0)
    assert np.isfinite(info["energy"]).all()


def test_a_number_of_leaps_is_checked():
    for leaps in (0, 1025, 2.5, True):
        with pytest.raises(tacit.InputError, match="Expected leaps="):
            check_settings(warmup=1, draws=4, chains=1, seed=0, leaps=leaps)
    assert check_settings(warmup=1, draws=4, chains=1, seed=0).leaps is None


def test_settings_say_which_kernel_explores():
    """The no-U-turn one unless a number of leaps is said; both thin and count in the same way."""
    with float64():
        key, start = jax.random.key(3), jnp.zeros(2)
        few, many = Settings(20, 6), Settings(20, 6, leaps=16)
        target = lambda position: -position @ position / 2  # noqa: E731
        steps = explore(key, target, start, few)[1]["n_steps"]
        assert set(np.asarray(explore(key, target, start, many)[1]["n_steps"])) == {16}
        assert set(np.asarray(steps)) <= {1, 3, 7, 15, 31}
        for kernel in (nuts, partial(lockstep, leaps=16)):
            every, _ = kernel(key, target, start, warmup=20, draws=6)
            third, _ = kernel(key, target, start, warmup=20, draws=2, thin=3)
            np.testing.assert_allclose(third, every[2::3])
