"""Neighbours through the workers of Dask and Spark, about twenty pairs each. Seed 5, and the same pairs every time."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from unittest import mock

import pytest

from engines.test_clusters import dask, spark  # noqa: F401 (fixtures, which start their workers once)
from neighbours import ways
from neighbours.check import ViolationError, check
from neighbours.media import MEDIA
from neighbours.pairs import with_filter, without_one
from neighbours.run import attack, pair_of, small_pieces
from tacit.engines.open import engine_of
from tacit.mechanisms.record_moves import UnitOfPrivacy
from tacit.version import __version__

SEED = 5
# Where the unit is a person, a cluster is refused: the rows have to be in one place.
PORTABLE = [replace(medium, people=()) for medium in MEDIA.values() if medium.portable]
PAIRS = 20
LESS = [(without_one, 0), (without_one, 1), (without_one, 2), (with_filter, 3), (with_filter, 4)]
"""What is made of a pair, and the place of its medium, where n is not public."""


@pytest.mark.parametrize("cluster", ["dask", "spark"])
def test_neighbours_on_a_cluster(cluster, request):
    engine = engine_of(request.getfixturevalue(cluster))
    with small_pieces(9, 2000):  # few tasks: each takes a while to start
        found = [_attack(i, engine) for i in range(3)]
        with as_they_have_said(engine):
            found += [_attack(i, engine) for i in range(3, PAIRS)]
    assert found.count("read") > PAIRS / 2


@pytest.mark.parametrize("cluster", ["dask", "spark"])
def test_releases_that_do_not_say_n_on_a_cluster(cluster, request):
    """With a ledger; n, errors, what is printed, progress and the ledger are compared. Planted: a release says n."""
    engine = engine_of(request.getfixturevalue(cluster))
    way = partial(ways.by_privatize, engine=engine)
    with small_pieces(9, 2000), as_they_have_said(engine):
        found = [_less(change, i, way).error is None for change, i in LESS]
        assert sum(found) > len(LESS) / 2
        change, i = LESS[found.index(True)]
        with mock.patch.object(UnitOfPrivacy, "n_is_public", True), pytest.raises(ViolationError, match="is seen"):
            _less(change, i, way)


@contextmanager
def as_they_have_said(engine):
    """Workers that are not asked for their version each time."""
    with mock.patch.object(type(engine), "ask", return_value=(__version__, True)):
        yield


def _less(change, index, way):
    medium = PORTABLE[index]
    return check(change(pair_of(medium, SEED, 1000 + index)), medium.write, way)


def _attack(index, engine):
    return attack(PORTABLE[index % len(PORTABLE)], SEED, 1000 + index, engine)
