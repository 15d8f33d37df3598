"""Counts of cells: which bin an edge belongs to, and how cells are named."""

from __future__ import annotations

import numpy as np

from tacit.statistics.cell_table import Bins, CellTable
from tacit.statistics.factors import Factors

BINS = Bins("wage", (0.0, 10.0, 20.5, 100.0))
SEX = Factors(("sex",), (("f", "m"),))


def test_an_edge_belongs_to_the_bin_above_it_and_the_last_bin_has_both_ends():
    cells = {"wage": np.array([0.0, 9.999, 10.0, 20.5, 100.0])}
    assert BINS.codes(cells).tolist() == [0, 0, 1, 2, 2]
    assert BINS.labels == ("0 to below 10", "10 to below 20.5", "20.5 to 100")


def test_close_edges_have_names_of_their_own():
    """The planted fault is a label of six digits, which these edges share."""
    edges = (0.0, 1_000_000.25, 1_000_000.5, 2e6)
    assert len(set(Bins("x", edges).labels)) == 3
    assert len({f"{edge:.6g}" for edge in edges}) == 3  # one fewer than there are


def test_a_row_is_counted_in_the_cell_of_its_group():
    table = CellTable(BINS, SEX)
    columns = {"wage": np.array([5.0, 50.0, 15.0, 50.0]), "sex": np.array([0, 0, 1, 1])}
    assert [v // table.unit for v in table.batch_sum(columns)] == [1, 0, 1, 0, 1, 1]
    assert table.entries[-1] == "wage 20.5 to 100, sex=m"


def test_of_two_cells_the_second_is_counted():
    table = CellTable(Bins("x", (0.0, 1.0, 2.0)))
    assert table.entries == ("x 1 to 2",)
    assert table.sensitivity().l1 == table.unit


def test_rows_at_a_bound_are_counted_apart():
    bins = Bins("x", (0.0, 5.0, 10.0), ends=True)
    assert bins.labels == ("at 0", "above 0 to below 5", "5 to below 10", "at 10")
    assert bins.places == (0.0, 0.0, 5.0, 10.0, 10.0)
    assert CellTable(bins).batch_sum({"x": np.array([0.0, 1e-9, 5.0, 10.0, 9.9, 0.0])}) == [
        count * CellTable(bins).unit for count in (2, 1, 2, 1)
    ]
