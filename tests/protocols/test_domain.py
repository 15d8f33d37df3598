"""Boxes and balls of whole numbers: what they hold, how wide they are, and what is refused."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import InputError
from tacit.protocols.domain import Block, Domain, block_from_plain, box


def points(block: Block) -> np.ndarray:
    """Every admissible vector, by brute force."""
    ranges = (range(a, b + 1) for a, b in zip(block.low, block.high, strict=True))
    limit = block.radius_squared
    return np.array([v for v in itertools.product(*ranges) if limit is None or sum(c * c for c in v) <= limit])


@given(
    ends=st.lists(st.tuples(st.integers(-6, 3), st.integers(1, 6)), min_size=1, max_size=3),
    radius_squared=st.one_of(st.none(), st.integers(1, 60)),
    scales=st.tuples(*[st.integers(1, 9)] * 3),
)
@settings(derandomize=True, deadline=None, max_examples=80)
def test_no_pair_of_vectors_is_farther_apart_than_the_spread(
    ends: list[tuple[int, int]], radius_squared: int | None, scales: tuple[int, ...]
) -> None:
    low, high = tuple(a for a, _ in ends), tuple(a + w for a, w in ends)
    everywhere = points(Block(low, high))
    if radius_squared is not None and int((everywhere**2).sum(axis=1).min()) > radius_squared:
        with pytest.raises(InputError, match="to leave some vector of the box inside the ball"):
            Block(low, high, radius_squared)
        return
    block = Block(low, high, radius_squared)
    inside = points(block)
    assert Domain((block,))._holds(inside)
    used = scales[: block.size]
    squares = ((inside[:, None, :] - inside[None, :, :]) / np.array(used)) ** 2
    assert float(squares.sum(axis=2).max()) <= float(block.spread(used)) * (1 + 1e-12)
    if radius_squared is None:
        assert float(squares.sum(axis=2).max()) == pytest.approx(float(block.spread(used)), rel=1e-12)


def test_the_spread_of_a_ball_is_reached() -> None:
    """(2 r / s)^2 with one scale; with several, along the axis with the smallest."""
    ball = Block.ball(3, 25)
    assert ball.low == (-5, -5, -5)
    assert ball.spread((2, 2, 2)) == Fraction(100, 4)
    assert ball.spread((3, 2, 4)) == Fraction(100, 4)
    assert Block((-3, -3), (3, 3), 1000).spread((1, 1)) == 72  # the ball is outside the box
    assert Block((-9, -9), (9, 9), 16).spread((1, 1)) == 64


def test_the_edge_of_a_ball_is_decided_in_whole_numbers() -> None:
    """Squares beyond 2^53 and sums beyond 2^63: one unit decides, for int64 and for Python integers."""
    edge = 2**31 + 11
    for limit in (edge**2 + 4, 3 * edge**2 + 4):
        terms = limit // edge**2
        inside = np.array([[edge] * terms + [0] * (3 - terms) + [2]])
        outside = np.array([[edge] * terms + [0] * (3 - terms) + [3]])
        ball = Domain((Block.ball(4, limit),))
        ball.check("inputs", inside)
        for wrong in (outside, np.vstack([inside, outside])):
            with pytest.raises(InputError):
                ball.check("inputs", wrong)
    small = Domain((Block.ball(8, 2**60),))
    with pytest.raises(InputError):
        small.check("inputs", np.full((1, 8), 2**30))  # the sum of the squares is 2^63


def test_integers_of_any_kind_are_taken() -> None:
    domain = box((0, -1), (200, 1))
    for kind in (np.int16, np.int64, object):
        domain.check("inputs", np.array([[200, -1], [0, 1]], dtype=kind))
    domain.check("inputs", np.array([[200, 1]], dtype=np.uint8))
    domain.check("inputs", np.zeros((0, 2), dtype=np.int64))
    domain.check("inputs", [[1, 0], [2, 1]])
    box((0,), (2**130,)).check("reports", np.array([[2**129]], dtype=object))


SECRET = 123457


@pytest.mark.parametrize(
    "array",
    [
        np.array([[SECRET, 0]]),
        np.array([[0, -SECRET]]),
        np.array([[SECRET + 0.5, 0.0]]),
        np.array([[2**63 + SECRET, 0]], dtype=np.uint64),
        np.array([[0, 10**30 + SECRET]], dtype=object),
        np.array([[True, False]]),
        np.array([[0, True]], dtype=object),
        np.array([[np.nan, SECRET]]),
        np.array([["SECRET", str(SECRET)]]),
        np.array([SECRET, 0]),
        np.array([[0, 0, SECRET]]),
        np.array(SECRET),
        [[SECRET], [0, 1]],
        None,
        {"x": SECRET},
    ],
    ids=str,
)
def test_refusals_say_nothing_about_the_rows(array: object) -> None:
    domain = box((0, -1), (5, 1))
    with pytest.raises(InputError) as caught:
        domain.check("inputs", array)
    assert str(caught.value) == (
        "Expected inputs='...' to be an array of whole numbers of shape (N, 2), "
        "each from its own of (0, -1) to its own of (5, 1)."
    )


def test_a_ball_is_named_in_the_sentence() -> None:
    with pytest.raises(InputError, match=r"each from -5 to 5, and in a ball of squared radius 25\.$"):
        Domain((Block.ball(2, 25),)).check("inputs", np.array([[4, 4]]))


@pytest.mark.parametrize(
    ("low", "high", "radius_squared"),
    [
        ((), (), None),
        ((0,), (1, 2), None),
        ((0, 0), (1,), None),
        ((1,), (1,), None),
        ((2,), (1,), None),
        ((0.0,), (1,), None),
        ((False,), (1,), None),
        ((0,), (2**141,), None),
        ((0,), (1,), 0),
        ((0,), (1,), 1.5),
        ((0,), (1,), True),
        ((5, 5), (9, 9), 49),
    ],
)
def test_impossible_blocks_are_refused(low: object, high: object, radius_squared: object) -> None:
    with pytest.raises(InputError, match=r"^Expected "):
        Block(low, high, radius_squared)


@pytest.mark.parametrize(("size", "radius_squared"), [(0, 4), (2, 0), (2, -4), (1.0, 4), (2, 4.0)])
def test_impossible_balls_are_refused(size: object, radius_squared: object) -> None:
    with pytest.raises(InputError, match=r"^Expected "):
        Block.ball(size, radius_squared)


def test_blocks_round_trip() -> None:
    for block in (Block((0,), (1,)), Block((-3, 2**60), (4, 2**61)), Block.ball(2, 2**60), Block.ball(1, 5)):
        assert block_from_plain(block.to_plain()) == block
    assert Block.ball(1, 2**60).to_plain() == {"low": [-(2**30)], "high": [2**30], "radius_squared": str(2**60)}
    for wrong in (None, {}, {"low": [0]}, {"low": 0, "high": 1}, {"low": [0], "high": [1], "radius": 3}):
        with pytest.raises(InputError, match=r"^Expected "):
            block_from_plain(wrong)
