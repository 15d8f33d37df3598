"""What rows of a model add up to, and how far released sums lie from what posterior draws expect of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tacit.models.model import Model
from tacit.schema import Category, Schema
from tacit.statistics.statistic import Statistic

_CHUNK = 2**16
_DRAWS, _ROWS, _GROUPS = 40, 4_000, 8  # of a posterior; made up for each of them; that these are split into


def exact_sums(
    model: Model, schema: Schema, statistic: Statistic, parameters: Mapping[str, Any], n: int, rng: Any
) -> Any:
    """The statistic of n made-up rows, in real units, clamped and put on the lattice as real rows would be."""
    import numpy as np

    total = [0] * len(statistic.entries)
    step = min(_CHUNK, statistic.batch_rows)
    for start in range(0, n, step):
        cells = model.draw_rows(dict(parameters), schema, min(step, n - start), rng)
        parsed = {name: _parsed(cells[name], schema, name) for name in statistic.columns}
        total = [a + b for a, b in zip(total, statistic.batch_sum(parsed), strict=True)]
    return np.array([value / statistic.unit for value in total])


def distances(
    model: Model,
    statistic: Statistic,
    schema: Schema,
    draws: Mapping[str, Any],
    n: int,
    values: Sequence[float],
    sds: Sequence[float],
) -> Any:
    """How many standard deviations each released number is from what ``draws`` expect of n rows and the noise.

    ``draws`` have a leading axis, ``values`` and ``sds`` of the noise are in real units. None where a method gives too
    few parameters to make rows of. For each draw m of the n rows are made, in groups, whose sums give the variance v of
    one row. With e the sums multiplied up to n, the released number has the mean of e and the variance
    Var(e) - v n^2 / m  +  v n  +  sd^2, to which Var(e) over the number of draws is added, as the mean is estimated.
    Where draws have an ``n`` of their own, their sums are multiplied up to that.
    """
    import numpy as np

    rng = np.random.default_rng(0)
    groups = min(_GROUPS, n)
    each = min(n, _ROWS) // groups
    rows = groups * each
    count = len(next(iter(draws.values())))
    made: list[Any] = []
    sizes: list[float] = []
    for i in np.linspace(0, count - 1, min(_DRAWS, count)).round().astype(int):
        one = {name: array[i] for name, array in draws.items()}
        sizes.append(float(one.get("n", n)))
        try:
            made.append([exact_sums(model, schema, statistic, one, each, rng) for _ in range(groups)])
        except (KeyError, ValueError, np.linalg.LinAlgError):
            return None
    sums = np.array(made)  # draws, groups, entries
    if len(sums) < 2 or groups < 2:
        return None
    of_row = sums.var(axis=1, ddof=1).mean(axis=0) / each
    scaled = sums.sum(axis=1) * (np.array(sizes)[:, None] / rows)
    between = scaled.var(axis=0, ddof=1)
    variance = np.maximum(between - of_row * n**2 / rows, 0) + of_row * n + np.square(sds) + between / len(sums)
    return (np.asarray(values) - scaled.mean(axis=0)) / np.sqrt(variance)


def _parsed(values: Any, schema: Schema, name: str) -> Any:
    import numpy as np

    column = schema.declared(name)
    if isinstance(column, Category):
        code = {level: i for i, level in enumerate(column.levels)}
        return np.array([code[value] for value in values], np.int64)
    bounds: Any = column
    return np.clip(np.asarray(values, np.float64), bounds.low, bounds.high)
