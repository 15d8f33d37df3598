"""Metropolis with proposals that do not look at the chain.

False alarms: one test in 1e6 each, seeds fixed. Planted fault: proposals taken as they come.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from tacit.runtime.backend import run
from tacit.samplers.independence import TRIES, independence

LEVEL = 1e-6


def tilted(slope, *, floor=-np.inf):
    """Proposals from N(0, 1) with weight exp(slope x) above ``floor``, where a square root is a number."""

    def chain(key, _released):
        import jax
        import jax.numpy as jnp

        def propose(key):
            x = jax.random.normal(key)
            return x, slope * x + (0.0 if np.isinf(floor) else 0.0 * jnp.sqrt(x - floor))

        points, info = independence(key, propose, 2_000)
        return {"x": points}, info

    draws, info = run(chain, [[0.0]], chains=2, seed=11)
    return np.asarray(draws["x"]).reshape(-1), np.asarray(info["acceptance_rate"])


def p_value(draws, law) -> float:
    """Every fourth draw, as neighbours are not quite independent."""
    return stats.kstest(draws[::4], law.cdf).pvalue


def test_the_draws_have_the_tilted_law_and_not_that_of_the_proposals():
    draws, _ = tilted(1.0)
    assert p_value(draws, stats.norm(1.0)) > LEVEL
    assert p_value(draws, stats.norm()) < LEVEL
    untilted, _ = tilted(0.0)
    assert p_value(untilted, stats.norm(1.0)) < LEVEL


def test_a_proposal_without_a_weight_is_never_taken():
    draws, _ = tilted(0.5, floor=0.0)
    assert draws.min() >= 0
    assert p_value(draws, stats.truncnorm(-0.5, np.inf, loc=0.5)) > LEVEL


def test_equal_weights_take_every_proposal_and_a_tilt_of_one_standard_deviation_half():
    assert tilted(0.0)[1].min() == 1.0
    draws, rate = tilted(1.0)
    assert abs(rate.mean() - 2 * stats.norm.cdf(-1 / np.sqrt(2))) < 0.02
    neighbours = np.corrcoef(draws[:-1], draws[1:])[0, 1]
    assert abs(neighbours) < 0.25, f"{TRIES} proposals between draws should leave little"


def test_where_nothing_has_a_weight_nothing_counts_as_taken():
    _, rate = tilted(1.0, floor=50.0)
    assert rate.max() == 0.0
