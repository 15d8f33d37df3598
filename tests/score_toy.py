"""Plans and rows that the tests of scores in rounds share."""

from __future__ import annotations

import math
from unittest import mock

import numpy as np

import tacit
from tacit.mechanisms import newton
from tacit.mechanisms.newton import Newton

SCHEMA = tacit.Schema(y=["no", "yes"], x=(1, 5), age=(18, 90), sex=["f", "m"], visits=(0, 8))


BUDGETS = {
    "pure": tacit.PureDP(1.0),
    "approximate": tacit.ApproxDP(1.0, 1e-6),
    "zcdp": tacit.ZCDP(0.5),
    "gdp": tacit.GDP(1.0),
    "renyi": tacit.RenyiDP(order=8.0, epsilon=2.0),
}


MODELS = {
    "logistic": tacit.LogisticRegression("y ~ x + age*sex"),
    "ball": tacit.LogisticRegression("y ~ x + age", radius=1.0),
    "products": tacit.LogisticRegression("y ~ x*age"),
    "poisson": tacit.PoissonRegression("visits ~ x + sex"),
    "log": tacit.PoissonRegression("visits ~ x*age", link="log"),
}


def plan(model="logistic", budget="approximate", **options):
    return tacit.Plan(MODELS[model], SCHEMA, BUDGETS[budget], Newton(**options))


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.choice([1, 2, 3, 4, 5], n, p=[0.02, 0.05, 0.16, 0.35, 0.42])
    return {
        "y": [
            "yes" if u < 1 / (1 + math.exp(-2.2 + 0.72 * v)) else "no" for u, v in zip(rng.random(n), x, strict=True)
        ],
        "x": [int(v) for v in x],
        "age": [round(float(v), 1) for v in rng.uniform(18, 90, n)],
        "sex": [("f", "m")[i] for i in rng.integers(0, 2, n)],
        "visits": [int(v) for v in rng.poisson(2.0, n)],
        "id": [int(v) for v in rng.integers(0, n // 2, n)],
    }


def csv(path, table):
    lines = [",".join(table), *(",".join(map(str, row)) for row in zip(*table.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


def exactly():
    """In place of noise, none: the exact sums of every round come through the whole of `privatize`."""
    return mock.patch.object(
        newton.ScoreNoise,
        "of_round",
        lambda noise_parameters, place: NoNoise(noise_parameters.rounds[place].every_scale()),
    )


class NoNoise:
    def __init__(self, scales):
        self.scales = scales

    def sample(self, size, entropy):
        return [[0] * len(self.scales)] * size
