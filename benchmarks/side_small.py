"""Calibrating a Gaussian and drawing exact noise: tacit beside dp-accounting and OpenDP, in one process, in turns."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from fresh import missing

import noise

EPSILON, DELTA = 1.0, 1e-5


def measure(quick: bool) -> list[dict[str, Any]]:
    return [*_gaussian(quick), *_noise(quick)]


def _gaussian(quick: bool) -> list[dict[str, Any]]:
    """The least sigma of (epsilon, delta) at sensitivity 1, three times each after one call that is not counted."""
    from tacit.privacy.gaussian import sigma_over_sensitivity

    job = f"sigma for epsilon = {EPSILON:g}, delta = {DELTA:g}"
    ours = {"job": job, "who": "tacit", "target": 100.0, "against": "PLD", **_timed(_tacit(sigma_over_sensitivity), 3)}
    why = missing("dp_accounting")
    if why:
        return [ours, {"job": job, "who": "dp-accounting, PLD", "note": why}]
    import dp_accounting as da
    from dp_accounting import pld

    def by_distribution() -> float:
        found: Any = da.calibrate_dp_mechanism(
            lambda: pld.PLDAccountant(value_discretization_interval=1e-3 if quick else 1e-4),
            da.GaussianDpEvent,
            EPSILON,
            DELTA,
            bracket_interval=da.ExplicitBracketInterval(0.5, 50.0),
        )
        return float(found)

    closed = _timed(lambda: float(da.get_sigma_gaussian(EPSILON, DELTA)), 3)
    return [
        ours,
        {"job": job, "who": "dp-accounting, PLD", **_timed(by_distribution, 3)},
        {"job": job, "who": "dp-accounting, closed form", **closed},
    ]


def _tacit(rule: Callable[[float, float], float]) -> Callable[[], float]:
    return lambda: rule(EPSILON, DELTA)


def _timed(call: Callable[[], float], repeats: int) -> dict[str, Any]:
    value = call()
    seconds: list[float] = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begin)
    return {"seconds": seconds, "quality": f"sigma {value:.6f}"}


def _noise(quick: bool) -> list[dict[str, Any]]:
    if missing("opendp"):
        return [{"job": "noise", "who": "OpenDP", "note": missing("opendp")}]
    rows: list[dict[str, Any]] = []
    if quick:
        noise.DRAWS = 1000
    for found in noise.rows():
        job = f"{found['law']} noise, {found['draws']:,} integers at scale 2^32"
        same = "" if found["law"] != "rounded-gaussian" else "its discrete Gaussian; it has no rounded one"
        rows += [
            {
                "job": job,
                "who": "tacit",
                "seconds": found["tacit_all"],
                "target": 10.0,
                "quality": "exact distribution",
            },
            {
                "job": job,
                "who": "OpenDP",
                "seconds": found["opendp_all"],
                "quality": "exact distribution",
                "note": same,
            },
        ]
    return rows
