"""The noises by name, and which one a budget gets."""

from __future__ import annotations

from tacit.errors import expected
from tacit.noise.discrete_gaussian import DiscreteGaussian
from tacit.noise.discrete_laplace import DiscreteLaplace
from tacit.noise.noise import Noise
from tacit.noise.rounded_gaussian import RoundedGaussian
from tacit.privacy.guarantees import GDP, ZCDP, ApproxDP, Guarantee, PureDP, RenyiDP
from tacit.privacy.sensitivity import Sensitivity

NOISES: dict[str, type[Noise]] = {noise.kind: noise for noise in (DiscreteLaplace, DiscreteGaussian, RoundedGaussian)}

# The candidates for each definition; among several the one with the smallest total variance is taken.
_FOR_BUDGET: dict[type[Guarantee], tuple[type[Noise], ...]] = {
    PureDP: (DiscreteLaplace,),
    ApproxDP: (DiscreteLaplace, DiscreteGaussian),  # pure epsilon-DP is (epsilon, delta)-DP as well
    ZCDP: (DiscreteGaussian,),
    RenyiDP: (DiscreteGaussian,),
    GDP: (RoundedGaussian,),
}


def noise_for(budget: Guarantee, sensitivity: Sensitivity, kind: str | None) -> Noise:
    """The noise of this ``kind`` (None: the one that suits the budget best), calibrated to ``budget``."""
    if kind is not None:
        if kind not in NOISES:
            raise expected("kind", kind, f"to be one of {', '.join(NOISES)}")
        return NOISES[kind].calibrate(budget, sensitivity)
    candidates = _FOR_BUDGET.get(type(budget))
    if candidates is None:
        raise expected("budget", budget, f"to be one of {', '.join(known.__name__ for known in _FOR_BUDGET)}")
    calibrated = [noise.calibrate(budget, sensitivity) for noise in candidates]
    return min(calibrated, key=lambda noise: sum(sd**2 for sd in noise.sd))
