"""Neighbours through other ways in: releases, pooled partials, bounds, screens, reports, the command line. Seed 5."""

from __future__ import annotations

from dataclasses import replace

import pytest

from neighbours import ways
from neighbours.check import UnwritableError, check
from neighbours.media import MEDIA
from neighbours.run import pair_of, small_pieces

SEED = 5


def attack(way, medium, pairs, **options):
    """How many pairs were read."""
    read = 0
    with small_pieces():
        for index in range(pairs):
            try:
                found = check(pair_of(medium, SEED, index), medium.write, way, **options)
            except UnwritableError:
                continue
            read += found.error is None
    return read


def rows_of(name):
    return replace(MEDIA[name], people=())


@pytest.mark.parametrize("name", ["table", "csv", "parquet folder with links"])
def test_releases_that_a_ledger_pays_for(name):
    assert attack(ways.by_privatize, MEDIA[name], 12) > 6


@pytest.mark.parametrize("name", ["table", "csv"])
def test_partials_that_are_pooled(name):
    assert attack(ways.by_pooling, MEDIA[name], 30) > 15


@pytest.mark.parametrize("name", ["csv", "csv of raw lines", "dict of lists", "parquet"])
def test_bounds(name):
    assert attack(ways.by_bounds, rows_of(name), 60, close=ways.counts_apart) > 40


@pytest.mark.parametrize("name", ["csv", "table", "parquet folder of several types"])
def test_screens(name):
    """Where a column of the schema is not in the table, a screen is refused."""
    pytest.importorskip("tacit.screen_release")
    assert attack(ways.by_screen, MEDIA[name], 40, close=ways.screens_apart) > 15


@pytest.mark.parametrize("name", ["csv", "dict of lists", "parquet folder"])
def test_reports(name):
    assert attack(ways.by_reports, rows_of(name), 40) > 15


@pytest.mark.parametrize("name", ["csv", "hive folder"])
def test_the_command_line(name):
    assert attack(ways.by_command, MEDIA[name], 6) > 3
