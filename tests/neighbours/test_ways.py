"""Neighbours through other ways in: releases, pooled partials, bounds, screens, reports, the command line. Seed 5."""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import pytest

from neighbours import pairs, ways
from neighbours.check import UnwritableError, ViolationError, by_partial, check
from neighbours.media import MEDIA
from neighbours.pairs import of_cells, of_likelihoods, with_filter, without_one
from neighbours.run import pair_of, small_pieces
from tacit.engines import reading
from tacit.engines.threads import Threads
from tacit.mechanisms.record_moves import UnitOfPrivacy

SEED = 5


def rows_of(name):
    return replace(MEDIA[name], people=())


def attack(way, medium, pairs, change=lambda pair: pair, **options):
    """How many pairs were read, each after a ``change``."""
    read = 0
    with small_pieces():
        for index in range(pairs):
            try:
                found = check(change(pair_of(medium, SEED, index)), medium.write, way, **options)
            except UnwritableError:
                continue
            read += found.error is None
    return read


def attack_add_remove(way, medium, pairs, **options):
    """The same for tables of which one has a row, or a person, less."""
    return attack(way, medium, pairs, without_one, **options)


ONE_LESS = [
    "table",
    "csv",
    "tsv",
    "parquet",
    "parquet folder",
    "ipc",
    "dict of lists",
    "dict of arrays",
    "pandas",
    "polars",
]


@pytest.mark.parametrize("name", [*ONE_LESS, "polars", "stream", "csv folder", "hive folder", "duckdb file"])
def test_a_table_with_one_record_less(name):
    pairs = 12 if name == "duckdb file" else 40  # it takes long to write
    assert attack_add_remove(by_partial(Threads(1)), MEDIA[name], pairs) > pairs // 3


@pytest.mark.parametrize("name", ["table", "csv", "dict of lists", "parquet folder"])
@pytest.mark.parametrize("less", [False, True])
def test_tables_of_which_a_filter_leaves_rows_out(name, less):
    """A row, or a person, replaced or left out, some of which do not meet the condition in one table or in both."""

    def change(pair):
        return with_filter(without_one(pair) if less else pair)

    assert attack(by_partial(Threads(1)), MEDIA[name], 40, change) > 15


@pytest.mark.parametrize("name", ["table", "csv", "parquet"])
@pytest.mark.parametrize("change", [None, without_one, with_filter])
def test_survival_curves_and_means_that_vary(name, change):
    """About one pair in six has columns for one of them."""

    def changed(pair):
        found = of_cells(pair)
        if found is None:
            raise UnwritableError
        return found if change is None else change(found)

    assert attack(by_partial(Threads(1)), MEDIA[name], 120, changed) > 6


LIKELIHOODS = 4  # one plan, since each compiles a program of its own


@pytest.mark.parametrize("change", [without_one, with_filter])
def test_families_by_likelihood(change):
    def changed(pair):
        found = of_likelihoods(pair)
        if found is None:
            raise UnwritableError
        return change(found)

    plan = pairs.plan_of(LIKELIHOODS, people=False, levels=False)
    with mock.patch.object(pairs, "plan_of", return_value=plan):
        assert attack(by_partial(Threads(1)), rows_of("csv"), 20, changed) > 10


@pytest.mark.parametrize("way", [ways.by_privatize, ways.by_command])
def test_releases_of_tables_of_which_a_filter_leaves_rows_out(way):
    assert attack(way, MEDIA["csv"], 12, with_filter) > 5


def test_a_filter_whose_price_forgets_that_rows_may_vanish_is_found():
    """Planted: the sensitivity of two rows that both count."""
    pairs = mock.patch.object(UnitOfPrivacy, "moves", lambda unit, statistic: statistic.sensitivity())
    with pairs, pytest.raises(ViolationError, match="times the claimed sensitivity apart"):
        attack(by_partial(Threads(1)), rows_of("csv"), 200, with_filter)


@pytest.mark.parametrize("way", [ways.by_privatize, ways.by_pooling, ways.by_command])
def test_releases_of_a_table_with_one_record_less(way):
    assert attack_add_remove(way, MEDIA["csv"], 12) > 5


def test_scores_in_rounds_of_a_table_with_one_record_less():
    assert attack_add_remove(ways.by_rounds, MEDIA["csv"], 60, close=ways.rounds_apart) > 3


LEAKS = {
    "in the release": (UnitOfPrivacy, "n_is_public", True),
    "by the progress": (reading, "Silent", lambda progress: progress),
}


@pytest.mark.parametrize("name", LEAKS)
def test_a_leak_of_the_number_of_rows_is_found(name):
    """Planted; without it the same pairs pass, above."""
    with mock.patch.object(*LEAKS[name]), pytest.raises(ViolationError, match="what is seen differs"):
        attack_add_remove(ways.by_privatize, MEDIA["csv"], 12)


@pytest.mark.parametrize("name", ["table", "csv", "parquet folder with links"])
def test_releases_that_a_ledger_pays_for(name):
    assert attack(ways.by_privatize, MEDIA[name], 12) > 6


@pytest.mark.parametrize("name", ["table", "csv"])
def test_partials_that_are_pooled(name):
    assert attack(ways.by_pooling, MEDIA[name], 30) > 15


@pytest.mark.parametrize("name", ["table", "csv", "parquet folder with links"])
def test_scores_in_rounds(name):
    """Pairs whose family has scores: some 1 in 5."""
    assert attack(ways.by_rounds, MEDIA[name], 60, close=ways.rounds_apart) > 3


@pytest.mark.parametrize("name", ["csv", "csv of raw lines", "dict of lists", "parquet"])
def test_bounds(name):
    assert attack(ways.by_bounds, rows_of(name), 60, close=ways.counts_apart) > 40


@pytest.mark.parametrize("name", ["csv", "table", "parquet folder of several types"])
def test_screens(name):
    """Where a column of the schema is not in the table, a screen is refused."""
    pytest.importorskip("tacit.cell_screen")
    assert attack(ways.by_screen, MEDIA[name], 40, close=ways.screens_apart) > 15


@pytest.mark.parametrize("name", ["csv", "dict of lists", "parquet folder"])
def test_reports(name):
    assert attack(ways.by_reports, rows_of(name), 40) > 15


@pytest.mark.parametrize("name", ["csv", "hive folder"])
def test_the_command_line(name):
    assert attack(ways.by_command, MEDIA[name], 6) > 3
