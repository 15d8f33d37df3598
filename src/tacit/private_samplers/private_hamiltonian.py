"""Hamiltonian steps with noisy gradients and a penalty test: DP-HMC (Raisa, Koskela and Honkela 2021).

A trajectory of L leaps from (theta, p), p ~ N(0, I), with step h, in the position form of the leapfrog:

    theta <- theta + h/2 p;     p <- p - h (G_j + N(0, s^2 I) + grad V);     theta <- theta + h/2 p,     j = 1, ..., L

where G_j is taken over a fresh Poisson sample of rows. The end is accepted by `Penalty` on the noisy log ratio of the
potentials plus the exact one of the kinetic energies. The posterior is kept exactly.

Proof: call w_j what is random in the j-th gradient: the rows taken and the noise. Given w_1, ..., w_L a leap is a
composition of shears, so a trajectory keeps volume. Turn p around at the end and run it again with w_L, ..., w_1: each
leap is undone, since the middle of leap j is the same point, with the same gradient. So (theta, p, w) -> (theta', -p',
w reversed) is an involution that keeps volume, and the law of w, independent of theta and p and the same in either
order, cancels. The log ratio left is U(theta) - U(theta') + (|p|^2 - |p'|^2) / 2, and `Penalty` handles its noise. []

The position form needs L gradients where the usual one needs L + 1: less is asked of the rows.
"""

from __future__ import annotations

from typing import Any

from tacit.private_samplers.private_evidence import Evidence, Prior
from tacit.private_samplers.private_tests import Penalty


def hamiltonian_chain(
    evidence: Evidence, prior: Prior, start: Any, *, steps: int, size: float, leaps: int, rng: Any
) -> list[Any]:
    """The states after each of ``steps`` trajectories of ``leaps`` leaps of length ``size``."""
    import numpy as np

    test = Penalty()
    theta = np.asarray(start, np.float64)
    states: list[Any] = []
    for _ in range(steps):
        first = momentum = rng.standard_normal(theta.shape)
        proposal = theta
        for _ in range(leaps):
            proposal = proposal + size / 2 * momentum
            momentum = momentum - size * (evidence.gradient(proposal) + prior.gradient(proposal))
            proposal = proposal + size / 2 * momentum
        sd = evidence.ratio_sd(theta, proposal)
        if sd < np.inf:
            change = prior.potential(theta) - prior.potential(proposal) + (first @ first - momentum @ momentum) / 2
            if test.accepts(evidence.log_ratio(theta, proposal) + change, sd, rng):
                theta = proposal
        states.append(theta)
    return states
