"""Data sets of the logistic figures of Jewson, Ghalebikesabi and Holmes 2023, and how estimates of them are scored."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import columns
from scipy.special import expit

SEED, SD, DELTA = 2023, 3.0, 1e-5
MOST = 10_000  # rows of a table
SHOWN = {
    "beta-divergence": ("#2f6690", "beta-divergence, default weight (assumed)"),
    "beta-divergence, weight 1": ("#7fb2d9", "beta-divergence, weight 1 (paper, assumed)"),
    "Minami": ("#3a8f5c", "Minami, delta = 1e-5"),
    "output, ball, fixed ridge": ("#c0562f", "output perturbation, ridge 1/9"),
    "output, ball": ("#e8a87c", "output perturbation, ridge 1/(9n)"),
    "objective": ("#8a4f9e", "objective perturbation"),
}


def simulated(repeats: int, n: int, d: int, rng: Any) -> tuple[Any, Any, Any]:
    """theta ~ N(0, 9), x in [0, 1] and y in {-1, 1}, many data sets."""
    theta = SD * rng.standard_normal((repeats, d))
    x = np.clip((rng.standard_normal((repeats, n, d)) + 4) / 8, 0, 1)
    chances = expit(np.einsum("mnd,md->mn", x, theta))
    return theta, x, np.where(rng.random(chances.shape) < chances, 1.0, -1.0)


def _unit(values: Any, low: float, high: float) -> Any:
    return np.clip((np.asarray(values, float) - low) / (high - low), 0, 1)


def abalone(folder: Path) -> tuple[Any, Any]:
    """More than ten rings; sex as two indicators."""
    bounds = {"length": 1.0, "diameter": 1.0, "height": 1.2, "whole_weight": 3.0, "shucked_weight": 1.5}
    bounds |= {"viscera_weight": 1.0, "shell_weight": 1.1}
    raw = columns(folder / "abalone.parquet", ["sex", "rings", *bounds])
    made = [_unit(raw[name], 0, high) for name, high in bounds.items()]
    return _design([*made, raw["sex"] == "M", raw["sex"] == "F"]), raw["rings"].astype(float) > 10


def adult(folder: Path) -> tuple[Any, Any]:
    """Income above 50K."""
    names = ["age", "education_num", "hours_per_week", "sex", "marital_status", "capital_gain", "income"]
    raw = columns(folder / "adult.parquet", names)
    married = np.array([str(v).startswith("Married") for v in raw["marital_status"]])
    made = [_unit(raw["age"], 17, 90), _unit(raw["education_num"], 1, 16), _unit(raw["hours_per_week"], 1, 99)]
    made += [raw["sex"] == "Male", married, raw["capital_gain"].astype(float) > 0]
    return _design(made), raw["income"] == ">50K"


def bank(folder: Path) -> tuple[Any, Any]:
    """Banknotes, forged or not."""
    bounds = {"variance": (-8, 8), "skewness": (-14, 14), "curtosis": (-6, 19), "entropy": (-9, 3)}
    raw = columns(folder / "banknote.parquet", ["class", *bounds])
    return _design([_unit(raw[name], *b) for name, b in bounds.items()]), raw["class"].astype(int) == 1


def vertebral(folder: Path) -> tuple[Any, Any]:
    """Abnormal or normal."""
    bounds = {"pelvic_incidence": (20, 140), "pelvic_tilt": (-10, 60), "lumbar_lordosis_angle": (10, 130)}
    bounds |= {"sacral_slope": (10, 130), "pelvic_radius": (60, 170), "degree_spondylolisthesis": (-20, 430)}
    raw = columns(folder / "vertebral_column_2c.parquet", ["class", *bounds])
    return _design([_unit(raw[name], *b) for name, b in bounds.items()]), raw["class"] == "AB"


def _design(columns: list[Any]) -> Any:
    return np.stack([np.ones(len(columns[0])), *(np.asarray(c, float) for c in columns)], axis=1)


DATA: dict[str, tuple[str, Callable[[Path], tuple[Any, Any]]]] = {
    "abalone": ("abalone.parquet", abalone),
    "adult": ("adult.parquet", adult),
    "bank": ("banknote.parquet", bank),
    "vertebral": ("vertebral_column_2c.parquet", vertebral),
}


def sizes_of(name: str, folder: Path, rows: tuple[int, ...]) -> list[int]:
    """The numbers of rows for a table."""
    total = len(DATA[name][1](folder)[1])
    return list(dict.fromkeys(min(n, MOST) for n in [*(n for n in rows if n < 0.6 * total), int(0.9 * total)]))


def scores(value: Any, theta: Any) -> dict[str, float]:
    """The log error and the share of right signs, means over data sets with standard errors."""
    off = np.log(np.sqrt(np.mean(np.square(value - theta), axis=1)))
    signs = np.mean(np.sign(value) == np.sign(theta), axis=1)
    root = math.sqrt(len(off))
    return {
        "log rmse": float(off.mean()),
        "log rmse error": float(off.std(ddof=1) / root),
        "signs": float(signs.mean()),
        "signs error": float(signs.std(ddof=1) / root),
    }
