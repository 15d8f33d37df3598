"""No cell decides between error and success: every statistic of every family is a total function of a row.

Bounds as extreme as a schema takes, cells as odd as a table holds. Whatever the schema or the plan does not refuse must
give whole numbers inside the claim. Seeds are fixed; nothing here is a statistical test.
"""

from __future__ import annotations

import math
import sys
import warnings
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import tacit
from tacit.audit.sensitivity import contributions
from tacit.engines.reading import silence
from tacit.errors import InputError
from tacit.mechanisms.posterior_sample.rows import ClampedResponse, CollectedRows, RowMap
from tacit.mechanisms.posterior_sample.unclamped_rows import UnclampedRowMap
from tacit.models.model import Example
from tacit.models.registry import FAMILIES
from tacit.schema import LEAST_WIDTH, Number, Schema
from tacit.sources.open import open_source
from tacit.statistics.accumulator import Sums
from tacit.statistics.design import sign
from tacit.statistics.signed_moments import SignedMoments

NORMAL = sys.float_info.min
LARGEST = sys.float_info.max
BOUNDS = {
    "one": (0.0, 1.0),
    "counts": (0.0, 4096.0),
    "subnormal": (0.0, 5e-324),
    "two subnormal steps": (0.0, 1e-323),
    "subnormal around 0": (-5e-324, 5e-324),
    "the least normal width": (0.0, NORMAL),
    "least": (0.0, LEAST_WIDTH),
    "a little less": (0.0, math.nextafter(LEAST_WIDTH, 0)),
    "tiny around 0": (-1e-300, 1e-300),
    "neighbours": (1.0, math.nextafter(1.0, 2.0)),
    "neighbours below 0": (-1.0, math.nextafter(-1.0, 0.0)),
    "neighbours far away": (1e300, math.nextafter(1e300, math.inf)),
    "neighbours at a power of two": (math.nextafter(-(2.0**53), -math.inf), -(2.0**53)),
    "neighbours at the end": (math.nextafter(LARGEST, 0), LARGEST),
    "huge": (0.0, 1e308),
    "huge around 0": (-8.9e307, 8.9e307),
    "all of it": (-LARGEST, LARGEST),
    "half of it": (0.0, LARGEST),
    "uneven": (-1e308, 7e307),
    "uneven the other way": (-1e-300, 1e307),
}
CELLS = [
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    NORMAL,
    1.0,
    LARGEST,
    -LARGEST,
    math.inf,
    -math.inf,
    math.nan,
    None,
    "x",
    "1e999",
    "",
]


def cells_of(low, high):
    """Odd cells, and those around the bounds and the middle."""
    near = [low, high, low / 2 + high / 2]
    beside = [math.nextafter(value, end) for value in near for end in (-math.inf, math.inf)]
    return [*near, *beside, *CELLS]


@pytest.mark.parametrize("bounds", BOUNDS.values(), ids=BOUNDS)
def test_a_width_that_maps_nothing_is_refused_with_the_schema(bounds):
    """Before, (0, 5e-324) passed: half of it is 0, and 0/0 an error for some cells."""
    low, high = bounds
    fine = LEAST_WIDTH <= high - low < math.inf
    if fine:
        column = Number(low, high)
        assert low <= column.missing <= high
        assert 0 < (high - low) / 2 < math.inf
    else:
        with pytest.raises(InputError, match="apart"):
            Number(low, high)


def declared(example, name, bounds):
    """The example's schema with other bounds for one column, or for all numbers; None where they are refused."""
    columns = {
        column: bounds if isinstance(kind, Number) and name in (column, "*") else kind
        for column, kind in example.schema.items()
    }
    try:
        schema = Schema(columns)
        return tacit.Plan(example.model, schema, tacit.PureDP(1.0), tacit.AddNoise())
    except InputError:
        return None


WIDE = Schema(y=(0, 1), x=(0, 1), w=(-3, 2), g=["a", "b", "c"])
CASES = [
    *(
        pytest.param(example, id=f"{family}-{i}")
        for family, model in FAMILIES.items()
        for i, example in enumerate(model.examples())
    ),
    pytest.param(Example(tacit.LinearRegression("y ~ x", moments=4), WIDE), id="fourth-moments"),
    pytest.param(Example(tacit.LinearRegression("y ~ x + g + x:g"), WIDE), id="interaction"),
    pytest.param(Example(tacit.LinearRegression("y ~ x + w - 1", radius=0.7), WIDE), id="ball"),
]


@pytest.mark.parametrize("example", CASES)
def test_every_statistic_is_total_and_inside_its_claim(example):
    """Through the source, the schema and the statistic, with NumPy left to raise at whatever is not a number."""
    numbers = [name for name, kind in example.schema.items() if isinstance(kind, Number)]
    tried = 0
    for name in [*numbers, "*"]:
        for bounds in BOUNDS.values():
            plan = declared(example, name, bounds)
            if plan is None:
                continue
            tried += 1
            statistic = plan.statistic()
            records = []
            for i, cell in enumerate(cells_of(*bounds)):
                records.append({})
                for place, column in enumerate(statistic.columns):
                    kind = plan.schema[column]
                    choices = cells_of(kind.low, kind.high) if isinstance(kind, Number) else [*kind.levels, None, "?"]
                    own = cell if column == name else choices[(i * (place + 1) + place) % len(choices)]
                    records[-1][column] = own
            found = contributions(statistic, plan.schema, records)
            claimed = statistic.sensitivity()
            for vector in found:
                assert all(isinstance(value, int) and abs(value) <= statistic.unit for value in vector)
            scales = claimed.relative_scales
            for a, b in combinations({tuple(vector) for vector in found}, 2):
                moved = [Fraction(abs(x - y)) / scale for x, y, scale in zip(a, b, scales, strict=True)]
                assert sum(moved) <= claimed.l1
                assert sum(value * value for value in moved) <= claimed.l2_squared
    assert tried or not numbers


@pytest.mark.parametrize("bounds", BOUNDS.values(), ids=BOUNDS)
def test_products_of_columns_are_total(bounds):
    """Interactions multiply in the units of the data, where a product may leave the range of floats."""
    for others in BOUNDS.values():
        for formula in ("y ~ x:w", "y ~ x:w - 1", "y ~ x + w + x:w"):
            try:
                schema = Schema(y=(0, 1), x=bounds, w=others)
                plan = tacit.Plan(tacit.LinearRegression(formula), schema, tacit.PureDP(1.0))
                statistic = plan.statistic()
            except InputError:
                continue
            xs, ws = cells_of(*bounds), cells_of(*others)
            records = [{"y": 0.3, "x": x, "w": ws[(i + shift) % len(ws)]} for i, x in enumerate(xs) for shift in (0, 3)]
            for vector in contributions(statistic, schema, records):
                assert all(isinstance(value, int) and abs(value) <= statistic.unit for value in vector)


@pytest.mark.parametrize("bounds", BOUNDS.values(), ids=BOUNDS)
@pytest.mark.parametrize("clamp", [True, False])
def test_rows_that_go_into_losses_are_finite(bounds, clamp):
    """Those of posterior draws, chains and descent, clamped, in a ball, or kept at their size."""
    for formula in ("y ~ x", "y ~ x:w", "x ~ w"):
        try:
            schema = Schema(y=(0, 1), w=(-2, 5), x={"bounds": bounds, "clamp": clamp})
            design = tacit.LinearRegression(formula).design(schema)
            ball = Fraction(1, 2) if formula == "y ~ x" and clamp else None
        except InputError:
            continue
        maps = [RowMap(design.columns, design.number_response, ball)] if clamp else []
        maps += [
            UnclampedRowMap(design.columns, design.number_response),
            UnclampedRowMap(design.columns, ClampedResponse("y", 0.0, 1.0, "y")),
        ]
        for row_map in maps:
            cells = cells_of(*bounds)
            columns = dict.fromkeys(row_map.columns, cells)
            rows = CollectedRows(row_map)
            with silence():
                for batch in open_source(columns, row_map.columns, schema).batches(schema, row_map.columns, 7):
                    rows.add(batch.columns)
            assert all(np.isfinite(part).all() and len(part) == len(cells) for part in rows.arrays())


@pytest.mark.parametrize("protocol", ["noisy-number", "noisy-vector"])
@pytest.mark.parametrize("bounds", BOUNDS.values(), ids=BOUNDS)
def test_reports_of_devices_are_total(bounds, protocol):
    """`randomize_rows` encodes whatever a cell holds: the domain is checked there, and no cell may fail it."""
    try:
        schema = Schema(x=bounds)
        budget = tacit.PureDP(1.0) if protocol == "noisy-number" else tacit.ApproxDP(1.0, 1e-6)
        plan = tacit.Plan(tacit.Normal("x"), schema, budget, tacit.Local(protocol=protocol))
    except InputError:
        return
    cells = cells_of(*bounds)
    assert len(tacit.randomize_rows({"x": cells}, plan, dataset="d").groups[0].values) == len(cells)
    for cell in cells:
        assert len(tacit.randomize({"x": cell}, plan)) == 1


@pytest.mark.parametrize("values", [(3.0, 1.0, 7.0), (3.0, 1.0, 0.0), (math.nan, None, math.inf)])
def test_the_outcome_is_the_same_for_every_cell(values):
    """Exit 0 for 3, 1, 7 and exit 2 for 3, 1, 0 was the fault, with bounds [0, 5e-324]."""
    outcomes = set()
    for bounds in BOUNDS.values():
        try:
            plan = tacit.Plan(tacit.Normal("x"), Schema(x=bounds), tacit.PureDP(1.0))
        except InputError as error:
            outcomes.add(str(error).partition("=")[0])
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert tacit.privatize({"x": list(values)}, plan, ledger=None).n == 3
    assert len(outcomes) == 1


def test_signed_moments_and_large_batches():
    """However large a batch comes in, no more is summed at once than is exact; the planted fault hands on all of it."""
    for bounds in BOUNDS.values():
        try:
            schema = Schema(y=["no", "yes"], x=bounds)
            design = tacit.LogisticRegression("y ~ x").design(schema).columns
        except InputError:
            continue
        statistic = SignedMoments(design, sign("y", schema), 3, Fraction(1, 2))
        for vector in contributions(statistic, schema, [{"x": x, "y": "yes"} for x in cells_of(*bounds)]):
            assert all(isinstance(value, int) and abs(value) <= statistic.unit for value in vector)
    rows = 2 * statistic.batch_rows + 1
    columns = {"x": np.full(rows, bounds[1]), "y": np.ones(rows, np.int64)}
    sums = Sums(statistic)
    sums.add(columns)
    one = statistic.batch_sum({name: values[:1] for name, values in columns.items()})
    assert sums.totals == [rows * value for value in one]
