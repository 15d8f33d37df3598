"""What a release of given rows leads to: widths of intervals, to compare predictions with."""

from __future__ import annotations

import numpy as np

from tacit.calibration.simulate import SeededEntropy
from tacit.infer import check_settings, method_for, numbers_of, posterior_arrays, problem_of
from tacit.release import Release
from tacit.sources.open import open_source


def made_up(n, seed, **response):
    """Columns as no normal distribution has them: skewed, discrete and lopsided, U-shaped. None fills its bounds."""
    rng = np.random.default_rng(seed)
    rows = {
        "income": np.minimum(12 * rng.gamma(1.2, 1.0, n), 100),
        "grade": rng.choice([1, 2, 3, 4, 5], n, p=[0.02, 0.05, 0.16, 0.35, 0.42]).astype(float),
        "lean": 2 * rng.beta(0.4, 0.4, n) - 1,
    }
    eta = 0.03 * (rows["income"] - 14) - 0.4 * (rows["grade"] - 4) + 0.6 * rows["lean"]
    return rows, eta, rng


BOUNDS = {"income": (0, 100), "grade": (1, 5), "lean": (-2, 2)}


def knowledge(rows):
    """Mean and sd of each number, as somebody knows them: to two digits."""
    return {name: (float(f"{np.mean(v):.2g}"), float(f"{np.std(v):.2g}")) for name, v in rows.items()}


def obtained(plan, rows, releases, *, seed=0, prior=None):
    """Of each coefficient the median over seeded releases of the width of its 95% interval."""
    columns = list(rows)
    source = open_source(rows, columns, plan.schema)
    n = len(rows[columns[0]])
    (batch,) = source.batches(plan.schema, columns, n)

    def read(empty):
        empty.add(batch.columns)
        return n, empty

    problem = problem_of(plan, prior, n)
    numbers = []
    for i in range(releases):
        _, values, noise = plan.calibrated_mechanism().carry_out(read, SeededEntropy(1000 + seed + i))
        release = Release(plan=plan, n=n, values=values, noise_parameters=noise, dataset="a", id="a", simulated=True)
        numbers.append(numbers_of(problem, [release]))
    settings = check_settings(warmup=200, draws=300, chains=1, seed=seed)
    arrays, _ = posterior_arrays(problem, method_for(problem, None), settings, numbers, chains=1, seed=seed)
    found = plan.model.coefficients({name: values[:, 0] for name, values in arrays.items()}, plan.schema)
    return {
        name: float(np.median(np.diff(np.quantile(one, [0.025, 0.975], axis=1), axis=0))) for name, one in found.items()
    }


def ratios(found, widths):
    """Predicted over obtained width, by number."""
    return {one.name: one.width / widths[one.name] for one in found.cells[0].numbers}
