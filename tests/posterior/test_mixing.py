"""R-hat and effective sample sizes beside ArviZ's, and on chains whose answer is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from arviz_stats.base import array_stats

from tacit.posterior import mixing


def chains(rng: np.random.Generator, trial: int) -> np.ndarray:
    """Autoregressive draws: smooth, rounded, heavy-tailed, or with chains at different places."""
    count, draws, phi = int(rng.integers(1, 7)), int(rng.integers(4, 300)), rng.uniform(-0.95, 0.99)
    found = rng.standard_normal((count, draws))
    for t in range(1, draws):
        found[:, t] += phi * found[:, t - 1]
    if trial % 4 == 1:
        found = np.round(found)
    if trial % 4 == 2:
        found = np.exp(3 * found)
    return found + 10 * np.arange(count)[:, None] if trial % 7 == 3 else found


@pytest.mark.filterwarnings("ignore")
def test_the_numbers_are_those_of_arviz() -> None:
    rng = np.random.default_rng(1)
    for trial in range(400):
        found = chains(rng, trial)
        ours = [mixing.effective_draws(found), mixing.effective_draws_in_tails(found), mixing.r_hat(found)]
        theirs = [
            array_stats.ess(found, method="bulk"),
            array_stats.ess(found, method="tail", prob=(0.05, 0.95)),
            array_stats.rhat(found) if len(found) > 1 else math.nan,
        ]
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, err_msg=f"trial {trial}")


def test_too_few_draws_or_chains_have_no_number() -> None:
    assert math.isnan(mixing.r_hat(np.zeros((1, 100))))
    assert math.isnan(mixing.r_hat(np.arange(6.0).reshape(2, 3)))
    assert math.isnan(mixing.effective_draws(np.full((4, 100), math.nan)))
