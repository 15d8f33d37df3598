"""Neighbours through every medium: the same outcome and output, the same n, and sums within the claim.

Seed 5, and the same pairs every time. A violation is no matter of probability: there is no false alarm.
"""

from __future__ import annotations

import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

import tacit
from neighbours.check import ROOT, Changing
from neighbours.media import MEDIA
from neighbours.run import attack_all, pair_of
from tacit.privacy.assumptions import TYPED_ELSEWHERE

SEED = 5
PAIRS = 5  # times the share of a medium: thousands of pairs in all


@pytest.mark.parametrize("name", MEDIA)
def test_neighbours_cannot_be_told_apart(name):
    medium = MEDIA[name]
    pairs = PAIRS * medium.share
    found = attack_all(medium, SEED, pairs)
    assert found["unwritable"] < 2 * pairs / 3, "the writer takes too few of the tables for a test of anything"
    if medium.broken:
        assert found["read"] == 0
    elif medium.refused:
        assert found["refused"] > pairs / 3
    else:
        assert found["read"] > pairs / 3, "what is always refused is no test"


@pytest.mark.parametrize("name", MEDIA)
def test_a_medium_is_assumed_to_be_typed_unless_tacit_reads_its_text(name):
    """In the releases that are made of it."""
    medium = MEDIA[name]
    found, releases = set(), 0
    for index in range(12):
        one = assumed(medium, pair_of(replace(medium, people=()), SEED, index))
        found, releases = found | one, releases + len(one)
        if releases == 3:
            break
    assert found == {() if medium.text else (TYPED_ELSEWHERE,)} or (medium.refused and not found)


def assumed(medium, pair):
    """What a release of the pair's first table assumes, if it can be made."""
    with tempfile.TemporaryDirectory(dir=ROOT) as folder, suppress(Exception):
        data = medium.write(pair.first, Path(folder))
        data = data.data if isinstance(data, Changing) else data
        return {tacit.privatize(data, pair.plan, ledger=None).guarantee.assumes}
    return set()


def test_there_are_thousands_of_pairs():
    assert PAIRS * sum(medium.share for medium in MEDIA.values()) > 2000
