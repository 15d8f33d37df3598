"""Neighbours through the workers of Dask and Spark, about twenty pairs each. Seed 5, and the same pairs every time."""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import pytest

from engines.test_clusters import dask, spark  # noqa: F401 (fixtures, which start their workers once)
from neighbours.check import by_partial, check
from neighbours.media import MEDIA
from neighbours.pairs import without_one
from neighbours.run import attack, pair_of, small_pieces
from tacit.engines.open import engine_of
from tacit.version import __version__

SEED = 5
# Where the unit is a person, a cluster is refused: the rows have to be in one place.
PORTABLE = [replace(medium, people=()) for medium in MEDIA.values() if medium.portable]
PAIRS, LESS = 20, 3


@pytest.mark.parametrize("cluster", ["dask", "spark"])
def test_neighbours_on_a_cluster(cluster, request):
    engine = engine_of(request.getfixturevalue(cluster))
    with small_pieces(9, 2000):  # few tasks: each takes a while to start
        found = [_attack(i, engine) for i in range(3)]
        with mock.patch.object(type(engine), "ask", return_value=(__version__, True)):  # as they have said
            found += [_attack(i, engine) for i in range(3, PAIRS)]
            for i in range(LESS):  # a row less
                medium = PORTABLE[i]
                check(without_one(pair_of(medium, SEED, 1000 + i)), medium.write, by_partial(engine))
    assert found.count("read") > PAIRS / 2


def _attack(index, engine):
    return attack(PORTABLE[index % len(PORTABLE)], SEED, 1000 + index, engine)
