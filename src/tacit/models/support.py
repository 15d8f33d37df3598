"""Where the draws of a parameter can lie, so that a file with other numbers is refused in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacit.errors import InputError

SHARE = "shares between 0 and 1"
SHARES = "shares between 0 and 1 that add up to 1"
POSITIVE = "numbers that are not below 0"
_ROUNDING = 1e-6  # of a sum of shares


def check_draws(draws: Mapping[str, Any], supports: Mapping[str, str]) -> None:
    """Refuse draws that lie outside the support of their parameter, or are no numbers at all."""
    for name, values in draws.items():
        support = supports.get(name, "numbers")
        if not _inside(values, support):
            raise InputError(f"Expected the draws of {name!r} to be {support}.")


def _inside(values: Any, support: str) -> bool:
    import numpy as np

    if np.isnan(values).any():
        return False
    low, high = float(values.min()), float(values.max())
    if support == SHARES and not float(np.abs(values.sum(axis=-1) - 1).max()) < _ROUNDING:
        return False
    return (support not in (SHARE, SHARES, POSITIVE) or low >= 0) and (support not in (SHARE, SHARES) or high <= 1)
