"""The distribution of the privacy loss of a fixed list of events, convolved by the package dp-accounting.

Each event is replaced by a pair of distributions that dominates its own pair, whatever the neighbours (replace-one):

    GaussianEvent       N(0, 1) against N(mu, 1), for the rounded Gaussian that it is near; whoever asks adds its slack
    LaplaceEvent        Laplace noise against the same shifted by `laplace_shift`, in units of its scale
    SubsampledGaussian  `DominatingPair`, once a step
    others              randomised response with the event's pure epsilon

Proof: a pair dominates another if the other is a randomisation of it. For the first this is the event's definition, for
the last see `pure_to_delta`, for Laplace see `laplace_shift`. Randomising each of several independent outputs
randomises them together, so domination survives composition. The package is asked with sensitivity 1 under
add-or-remove, where it takes exactly these pairs. Under its replace-one it would take others; what replace-one does to
a sensitivity is already in ours. The one exception is the sampled Gaussian, whose pair it takes under replace-one.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import lru_cache
from typing import Any

from tacit.errors import InputError, expected
from tacit.privacy.events import Event, GaussianEvent, LaplaceEvent
from tacit.privacy.rounding import float_above, float_below
from tacit.privacy.subsampled_gaussian import SubsampledGaussian

# Below this scale the shift of `laplace_shift` is more than 1/64 too large, and randomised response serves better.
_FINE = 16


def laplace_shift(event: LaplaceEvent) -> Fraction:
    """The shift of one continuous Laplace variable, in scales, that dominates ``event``: epsilon (1 + 1 / (4 grain)).

    Proof: for neighbours P, Q let R = dQ/dP under P and C(k) = E[(R - k)_+]. R has mean 1, and one pair dominates
    another if and only if its C is nowhere smaller (Blackwell). Continuous Laplace noise, scale 1, shift u: P(R > r) =
    e^(-u/2) / (2 sqrt r) for e^-u <= r < e^u, so C_u(k) = max(1 - k, 1 - e^(-u/2) sqrt k, 0), which grows with u.

    (1) One entry of discrete noise, integer shift m, scale s, h = 1/s, u = m h. R has atoms at x_t = e^((2t-m) h),
    t = 0..m, and P(R > x_t) = e^(-(t+1) h) / (1 + e^-h) for t < m. Summing, C(x_t) = 1 - e^(-(m-t) h) = C_u(x_t), and C
    is linear between atoms. There it is 1 - e^(-u/2) c(k), c the chord of the square root from x to x e^(2h); at
    k = x z it is sqrt(k) (e^h + z) / ((e^h + 1) sqrt z), least at z = e^h, so c(k) >= sqrt(k) / cosh(h/2). Hence
    C <= C_v with v = u + 2 ln cosh(h/2) <= u + h^2 / 4 <= u (1 + h/4), because |m| >= 1 where the entry differs at all.

    (2) Two independent entries of continuous noise, shifts a >= b, are dominated by one of shift a + b: their C is
    E[R_b C_a(k / R_b)] with R_b as above. For 1 <= k <= e^(a-b) this is 1 - e^(-a/2) sqrt k E[sqrt R_b] =
    1 - e^(-(a+b)/2) sqrt k (1 + b/2); for e^(a-b) <= k <= e^(a+b) it is 1 - e^(-(a+b)/2) sqrt k (1 + (a+b-ln k) / 4);
    above it is 0. None exceeds C_(a+b)(k). For k < 1 use C(k) = 1 - k + k C(1/k), which holds for both pairs because
    swapping P and Q only mirrors them. Entries beyond the second follow by induction.

    So a vector with shifts u_i is dominated by the shift sum_i u_i (1 + h_i / 4) <= epsilon (1 + 1 / (4 grain)).
    """
    return event.pure * (1 + Fraction(1, 4 * event.grain))


@lru_cache(maxsize=64)
def loss_distribution(events: tuple[Event, ...]) -> Any:
    """The package's object for all ``events`` together, rounded to a grid on the safe side; slacks are left out."""
    try:
        from dp_accounting import NeighboringRelation
        from dp_accounting.pld import common, privacy_loss_distribution
    except ImportError:
        raise InputError(
            "Expected the package dp-accounting to be installed for privacy loss distributions: "
            "pip install 'tacit[accounting]'."
        ) from None

    def single(event: Event) -> Any:
        if isinstance(event, GaussianEvent):
            return privacy_loss_distribution.from_gaussian_mechanism(
                math.nextafter(math.sqrt(float_below(1 / event.mu_squared)), 0.0)
            )
        if isinstance(event, SubsampledGaussian):
            pair = event.pair
            one = privacy_loss_distribution.from_gaussian_mechanism(
                pair.multiplier, sampling_prob=pair.rate, neighboring_relation=NeighboringRelation.REPLACE_ONE
            )
            return one.self_compose(event.steps)
        if isinstance(event, LaplaceEvent) and event.grain >= _FINE:
            return privacy_loss_distribution.from_laplace_mechanism(float_below(1 / laplace_shift(event)))
        pure = event.epsilon()
        if not isinstance(pure, Fraction):
            raise expected("event", event.to_plain(), "to be Gaussian or pure for a privacy loss distribution")
        promised = common.DifferentialPrivacyParameters(float_above(pure), 0)
        return privacy_loss_distribution.from_privacy_parameters(promised)

    parts = [single(event).self_compose(count) for event, count in Counter(events).items()]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.compose(part)
    return whole
