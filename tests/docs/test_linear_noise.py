"""The page on the noise of linear regression: every number in its tables, computed again by the package."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path

import pytest

from tacit.models.regression import design_for
from tacit.schema import Schema
from tacit.statistics.box import l1_products
from tacit.statistics.gram import Gram
from tacit.statistics.gram_moments import GramMoments
from tacit.statistics.moments import l1_fourth_moments

PAGE = (Path(__file__).parents[2] / "docs" / "linear-noise.md").read_text("utf-8")
ONE, BOTH = (Fraction(1), Fraction(1)), (Fraction(-1), Fraction(1))
INSURANCE = Schema(
    charges=(0, 65_000), age=(18, 65), bmi=(15, 55), smoker=["no", "yes"], region=["north", "east", "south", "west"]
)


def tables(first_heading):
    """The tables whose first column has this heading, row by row and cell by cell."""
    found = re.findall(rf"^\| {first_heading} \|.*\n\|[-|]+\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    return [
        [[cell.strip(" *`") for cell in line.strip("|").split("|")] for line in text.splitlines()] for text in found
    ]


def shown(cell, value):
    """Whether a cell shows a value, to the digits that it has."""
    digits = len(cell.partition(".")[2])
    return cell == f"{float(value):.{digits}f}"


def bounds(cell):
    low, high = re.fullmatch(r"\[(\S+), (\S+)\]", cell).groups()
    return Fraction(low), Fraction(high)


def printed(width_x, width_y, d):
    return width_x**2 * d * (d + 1) / 2 + width_x * width_y * d + width_y**2


def unit_design(covariates):
    names = [f"x{i}" for i in range(covariates)]
    return design_for(f"y ~ {' + '.join(names)}", Schema(y=(-1, 1), **dict.fromkeys(names, (-1, 1))))


@pytest.mark.parametrize("row", tables("x in")[0], ids=" ".join)
def test_printed_and_right(row):
    """A value is right if it equals the package's, which other tests attack. Bold marks a broken promise, no other."""
    x, y, covariates = bounds(row[0]), bounds(row[1]), int(row[2])
    said = printed(x[1] - x[0], y[1] - y[0], covariates + 1)
    right = l1_products([ONE, *[x] * covariates, y])
    assert shown(row[3], said)
    assert shown(row[4], right)
    assert shown(row[5], right / said)
    assert (f"| **{row[5]}** |" in PAGE) == (right > said)


@pytest.mark.parametrize("row", tables("covariates")[0], ids=" ".join)
def test_mapped_to_the_same_bounds(row):
    covariates = int(row[0])
    d = covariates + 1
    design = unit_design(covariates)
    statistic = Gram(design.columns, design.number_response)
    found = statistic.sensitivity()
    l1, l2 = found.l1 / statistic.unit, math.sqrt(found.l2_squared) / statistic.unit
    l2_printed = math.sqrt(4**2 * (d * (d + 1) / 2 + d + 1))
    values = (printed(2, 2, d), l1, printed(2, 2, d) / l1, l2_printed, l2, l2_printed / l2)
    assert all(shown(cell, value) for cell, value in zip(row[1:], values, strict=True))


@pytest.mark.parametrize("row", tables("formula")[0], ids=lambda row: row[0])
def test_levels_and_interactions(row):
    design = design_for(row[0], INSURANCE)
    statistic = Gram(design.columns, design.number_response)
    found, size = statistic.sensitivity(), len(statistic.vector)
    assert int(row[1]) == size * (size + 1) // 2 - design.formula.intercept
    assert int(row[2]) == len(statistic.entries)
    assert shown(row[3], found.l1 / statistic.unit)
    assert shown(row[4], math.sqrt(found.l2_squared) / statistic.unit)


@pytest.mark.parametrize("row", tables("covariates")[1], ids=" ".join)
def test_fourth_moments(row):
    covariates = int(row[0])
    design = unit_design(covariates)
    products, joint = Gram(design.columns, design.number_response), GramMoments(design.columns, design.number_response)
    moments = l1_fourth_moments([ONE, *[BOTH] * covariates])
    values = (
        math.comb(covariates + 4, 4) * 2**4,
        moments,
        2 * products.sensitivity().l1 / products.unit,
        2 * moments,
        joint.sensitivity().l1 / joint.unit,
    )
    assert all(shown(cell, value) for cell, value in zip(row[1:], values, strict=True))


def test_numbers_in_the_text():
    assert l1_fourth_moments([ONE, (Fraction(1), Fraction(2))]) == 26
    assert "in [1, 2] it is 5 where 26 is right" in PAGE
    (rows,) = [row for row in tables("x in")[0] if row[0] == "[36, 42]" and row[2] == "1"]
    assert f"the promise of epsilon = 1 is really {rows[5]}" in " ".join(PAGE.split())
