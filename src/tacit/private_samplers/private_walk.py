"""A random walk with a noisy test: the penalty algorithm, DP-Fast-MH and the Barker test, by what the evidence says.

With `Penalty` and all rows it is the penalty algorithm (Yildirim and Ermis 2019, Algorithm 1); with `Penalty` and a
`sampled_ratio` it is minibatch Metropolis-Hastings as DP-Fast-MH is meant (Zhang and Zhang 2023); with `Barker` it is
the DP Barker test (Heikkila et al. 2019). Each leaves the posterior as it is; the noise costs acceptance, or length of
steps, and not exactness.
"""

from __future__ import annotations

from typing import Any

from tacit.private_samplers.private_evidence import Evidence, Prior
from tacit.private_samplers.private_tests import NoisyTest


def walk(
    evidence: Evidence, prior: Prior, start: Any, *, steps: int, size: float, test: NoisyTest, rng: Any
) -> list[Any]:
    """The states after each of ``steps`` proposals theta + ``size`` N(0, I), from ``start`` (p,).

    A proposal with more noise than the test takes is refused without asking. Noise depends on the pair of points alone,
    and not on their order, so that the way back is refused as well.
    """
    import numpy as np

    theta = np.asarray(start, np.float64)
    states: list[Any] = []
    for _ in range(steps):
        proposal = theta + size * rng.standard_normal(theta.shape)
        sd = evidence.ratio_sd(theta, proposal)
        if sd <= test.most_sd and sd < np.inf:
            change = prior.potential(theta) - prior.potential(proposal)
            if test.accepts(evidence.log_ratio(theta, proposal) + change, sd, rng):
                theta = proposal
        states.append(theta)
    return states
