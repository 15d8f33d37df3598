"""The columns of a design: what a formula makes of a schema, on the lattice and back in the units of the data."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from tacit.errors import InputError
from tacit.models.regression import design_for
from tacit.schema import Category, Schema
from tacit.statistics.design import Indicator, Product, Scaled, product_of

STEPS = 2**15
SCHEMA = Schema(y=(0, 10), x=(18, 65), z=(-5, 5), w=(-1, 3), f=["a", "b", "c"], g=["u", "v"])
FORMULAS = [
    "y ~ 1",
    "y ~ x",
    "y ~ x - 1",
    "y ~ x + z + f",
    "y ~ x*f + g",
    "y ~ x*f - 1",
    "y ~ x:f",
    "y ~ x:f - 1",
    "y ~ f:g + x:z",
    "y ~ f*g + x:z:f - 1",
    "y ~ z + x:z + x*f*g",
]


def cells_of(schema, rows, rng):
    """Parsed cells: numbers inside their bounds, their ends among them, and level codes."""
    cells = {}
    for name, column in schema.items():
        if isinstance(column, Category):
            cells[name] = rng.integers(0, len(column.levels), rows)
        else:
            ends = rng.choice([column.low, column.high], rows)
            cells[name] = np.where(rng.random(rows) < 0.3, ends, rng.uniform(column.low, column.high, rows))
    return cells


def term_values(name, cells, schema):
    """The column called ``name`` from its definition: a product of raw numbers and levels."""
    value = np.ones(len(next(iter(cells.values()))))
    for part in name.split(":") if name != "Intercept" else []:
        column, _, level = part.rstrip("]").partition("[")
        value = value * (cells[column] == schema[column].levels.index(level) if level else cells[column])
    return value


@pytest.mark.parametrize(
    ("formula", "names"),
    [
        ("y ~ x + f", ["Intercept", "x", "f[b]", "f[c]"]),
        ("y ~ x + f - 1", ["x", "f[a]", "f[b]", "f[c]"]),
        ("y ~ g + f - 1", ["g[u]", "g[v]", "f[b]", "f[c]"]),
        ("y ~ x:f", ["Intercept", "x:f[b]", "x:f[c]"]),
        ("y ~ x:f - 1", ["x:f[a]", "x:f[b]", "x:f[c]"]),
        ("y ~ g:f", ["Intercept", "g[v]:f[b]", "g[v]:f[c]"]),
        ("y ~ g:f - 1", ["g[u]:f[a]", "g[u]:f[b]", "g[u]:f[c]", "g[v]:f[a]", "g[v]:f[b]", "g[v]:f[c]"]),
        ("y ~ 1", ["Intercept"]),
    ],
)
def test_names_of_columns(formula, names):
    assert design_for(formula, SCHEMA).names == names


@pytest.mark.parametrize("formula", FORMULAS)
def test_coefficients_in_original_units_predict_the_same(formula):
    """Seed 1: 200 rows, 3 draws of theta. Both predictions agree to 1e-9 of the response's range.

    The planted fault is theta taken for coefficients in original units.
    """
    rng = np.random.default_rng(1)
    design, cells = design_for(formula, SCHEMA), cells_of(SCHEMA, 200, rng)
    theta = rng.standard_normal((3, len(design.columns)))
    mapped = theta @ design.matrix(cells).T * design.number_response.scale + design.number_response.offset
    raw = np.stack([term_values(name, cells, SCHEMA) for name in design.names])
    kept = theta.copy()
    assert np.allclose(design.original_units(theta, design.number_response) @ raw, mapped, rtol=0, atol=1e-9)
    assert np.array_equal(theta, kept)
    assert not np.allclose(theta @ raw, mapped, rtol=0, atol=1e-3)


@pytest.mark.parametrize("formula", FORMULAS)
def test_lattice_values_are_the_rounded_mapped_ones(formula):
    """Seed 2: 500 rows. Whole numbers, inside the bounds, within half a step of the exact mapped value."""
    design, cells = design_for(formula, SCHEMA), cells_of(SCHEMA, 500, np.random.default_rng(2))
    for j, column in enumerate(design.columns):
        values, exact = column.values(cells, STEPS), design.matrix(cells)[:, j] * STEPS
        assert np.all(values == np.rint(values))
        assert np.abs(values - exact).max() <= 0.5 + 1e-9
        if isinstance(column, Scaled):
            low, high = column.number.bounds(STEPS)
            assert min(low, 0) >= -STEPS
            assert max(high, 0) <= STEPS
            assert np.all((values == 0) | ((values >= low) & (values <= high)))
        else:
            assert set(values) <= {0.0, float(STEPS)}


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_product_is_what_it_says(formula):
    """Seed 3: 300 rows. Columns multiplied on the lattice equal the product of its numbers where its levels hold."""
    design, cells = design_for(formula, SCHEMA), cells_of(SCHEMA, 300, np.random.default_rng(3))
    vector = (*design.columns, design.number_response)
    for first in vector:
        for second in vector:
            values = first.values(cells, STEPS) * second.values(cells, STEPS)
            found = product_of(first, second)
            assert found == product_of(second, first)
            if found is None:
                assert not values.any()
                continue
            rebuilt = Indicator(found.levels, "").values(cells, 1) * float(STEPS) ** (2 - len(found.numbers))
            for number in found.numbers:
                rebuilt = rebuilt * number.values(cells, STEPS)
            assert np.array_equal(values, rebuilt)


def test_identities_of_levels():
    design = design_for("y ~ z*f", SCHEMA)
    by_name = dict(zip(design.names, design.columns, strict=True))
    level, other, within = by_name["f[b]"], by_name["f[c]"], by_name["z:f[b]"]
    assert product_of(level, level) == product_of(by_name["Intercept"], level) == Product((("f", 1),), ())
    assert product_of(level, other) is None
    assert product_of(within, by_name["z:f[c]"]) is None
    assert product_of(within, level) == product_of(by_name["z"], level) == product_of(within, by_name["Intercept"])
    assert product_of(within, within) == product_of(within, by_name["z"])
    assert product_of(by_name["Intercept"], by_name["Intercept"]).constant
    assert product_of(by_name["z"], by_name["z"]) != product_of(by_name["z"], design.number_response)


@pytest.mark.parametrize(
    ("formula", "name", "bounds"),
    [
        ("y ~ x", "x", (-STEPS, STEPS)),
        ("y ~ x*f", "x:f[b]", (-STEPS, STEPS)),
        ("y ~ x:z", "x:z", (-STEPS, STEPS)),
        ("y ~ x - 1", "x", (round(18 / 65 * STEPS), STEPS)),
        ("y ~ w - 1", "w", (round(-STEPS / 3), STEPS)),
        ("y ~ x:f", "x:f[b]", (round(18 / 65 * STEPS), STEPS)),  # f is not in the design: nothing to centre against
        ("y ~ x:f + f", "x:f[b]", (-STEPS, STEPS)),  # it is, whatever the order
        ("y ~ x + x:f - 1", "x:f[b]", (round(18 / 65 * STEPS), STEPS)),
    ],
)
def test_bounds_are_attained_and_centred_only_against_their_own_levels(formula, name, bounds):
    design = design_for(formula, SCHEMA)
    column = dict(zip(design.names, design.columns, strict=True))[name]
    assert column.number.bounds(STEPS) == bounds
    corners = {n: np.array([SCHEMA[n].low, SCHEMA[n].high]) for n in column.numbers}
    if name == "x:z":  # its range is attained at the largest x
        corners["x"] = np.array([65.0, 65.0])
    assert tuple(column.number.values(corners, STEPS)) == bounds


def test_columns_with_the_same_number_share_its_map():
    for formula in ("y ~ x*f", "y ~ x + f + x:f - 1", "y ~ x:z + f + x:z:f"):
        columns = [c for c in design_for(formula, SCHEMA).columns if isinstance(c, Scaled)]
        maps = {}
        for column in columns:
            assert maps.setdefault(column.numbers, column.number) == column.number
    assert design_for("y ~ z:x", SCHEMA).columns[1].number == design_for("y ~ x:z", SCHEMA).columns[1].number


@pytest.mark.parametrize("bounds", [(1.0, math.nextafter(1.0, 2)), (-1e308, 7e307), (1e300, 1.1e300), (0.0, 1e-301)])
@pytest.mark.parametrize("formula", ["y ~ x", "y ~ x - 1"])
def test_extreme_bounds_are_no_reason_to_fail_on_a_row(bounds, formula):
    """Nothing may raise once rows are read: what cannot be mapped is refused with the plan."""
    schema = Schema(y=(0, 1), x=bounds)
    column = design_for(formula, schema).columns[-1]
    low, high = column.number.bounds(STEPS)
    values = column.values({"x": np.array([*bounds, schema["x"].missing])}, STEPS)
    assert np.all((values >= low) & (values <= high))
    assert (values[0], values[1]) == (low, high) or Fraction(bounds[1]) - Fraction(bounds[0]) < 1e-15


@pytest.mark.parametrize(
    ("formula", "columns"),
    [
        ("y ~ x", {"x": (0.0, 5e-324)}),
        ("y ~ x:w", {"x": (0, 1e200), "w": (0, 1e200)}),
        ("y ~ x:w", {"x": (-1e155, 1e155), "w": (0, 1.5e153)}),
        ("y ~ x:w", {"x": (0, 1e-200), "w": (0, 1e-200)}),
    ],
)
def test_a_range_that_no_float_can_hold_is_refused_with_the_plan(formula, columns):
    with pytest.raises(InputError, match=r"range that float64 can hold|at least 1e-301"):
        design_for(formula, Schema(y=(0, 1), **columns))


@pytest.mark.parametrize(
    ("formula", "words"), [("y ~ q", "declared"), ("f ~ x", "bounds, not levels"), ("q ~ x", "declared")]
)
def test_columns_are_checked_against_the_schema(formula, words):
    with pytest.raises(InputError, match=words):
        _ = design_for(formula, SCHEMA).number_response


@pytest.mark.parametrize(
    ("formula", "plain"),
    [
        ("y ~ x + z", True),
        ("y ~ 1", False),
        ("y ~ x - 1", False),
        ("y ~ x + f", False),
        ("y ~ x:z", False),
        ("y ~ x*f", False),
    ],
)
def test_which_designs_are_all_numeric(formula, plain):
    assert design_for(formula, SCHEMA).all_numeric is plain


def test_new_points_are_parsed_and_refused_in_words():
    design = design_for("y ~ x*f", SCHEMA)
    cells = design.parse({"x": [20, 30.5], "f": ["c", "a"], "unused": [1, 2]})
    assert cells["x"].tolist() == [20.0, 30.5]
    assert cells["f"].tolist() == [2, 0]
    assert design.matrix(cells).shape == (2, 6)
    assert design_for("y ~ 1", SCHEMA).matrix(design_for("y ~ 1", SCHEMA).parse({})).tolist() == [[1.0]]
    for new, words in [
        ({"x": [1]}, "one of its columns"),
        (3, "one of its columns"),
        ({"x": [1], "f": ["q"]}, "one of \\['a', 'b', 'c'\\]"),
        ({"x": ["one"], "f": ["a"]}, "hold numbers"),
        ({"x": [math.inf], "f": ["a"]}, "finite"),
        ({"x": [1, 2], "f": ["a"]}, "one length"),
    ]:
        with pytest.raises(InputError, match=words):
            design.parse(new)
