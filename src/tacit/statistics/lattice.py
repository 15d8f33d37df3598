"""Numbers as integers: rounding to a lattice, exact sums and products through float64, and balls in integers.

A cell inside its bounds is mapped affinely to [-1, 1] (or [0, 1]) and rounded to q / Q with a whole q. Everything that
follows is integer arithmetic, carried out in float64 where it is exact: a product of ``degree`` lattice numbers is at
most Q^degree in size, so a sum over a batch of rows stays below 2^53, where float64 holds every integer. Batches are
then added as Python integers, which have no size limit.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from tacit.schema import Number

# log2 of (Q, rows in a batch), by the degree of the products that a plan needs: Q^degree * rows <= 2^53.
_BITS = {1: (30, 23), 2: (15, 22), 3: (12, 17), 4: (10, 13)}

# Of a fault in tacit: whole numbers of size Q^degree at most, in batches as `Sums` makes them, never get there.
_INEXACT = "The rows are too many or too large for exact sums."


def resolution(degree: int) -> int:
    """Q, the number of lattice steps from 0 to 1, for products of ``degree`` lattice numbers."""
    return 2 ** _BITS[degree][0]


def batch_rows(degree: int) -> int:
    """The most rows whose products of ``degree`` lattice numbers add up exactly in float64."""
    return 2 ** _BITS[degree][1]


def signed(values: Any, column: Number, steps: int) -> Any:
    """Map cells inside the bounds to whole numbers in [-steps, steps], as float64.

    Proof: that it is total. `Number` has a finite width of 2^-1000 or more, so half is finite and above 0, the middle
    lies in the bounds, and a cell is at most a width from it: nothing overflows and the quotient, at most 2 or so, is
    never 0/0. The last two operations round to the nearest integer and clamp, whatever the rounding before. []
    """
    import numpy as np

    half = (column.high - column.low) / 2
    middle = column.low + half
    return np.clip(np.rint((np.asarray(values, np.float64) - middle) / half * steps), -steps, steps)


def unsigned(values: Any, column: Number, steps: int) -> Any:
    """Map cells inside the bounds to whole numbers in [0, steps], as float64. Total, as `signed` is."""
    import numpy as np

    width = column.high - column.low
    return np.clip(np.rint((np.asarray(values, np.float64) - column.low) / width * steps), 0, steps)


def exact_gram(rows: Any) -> list[list[int]]:
    """The matrix of sums of products, rows' times rows, of a float64 array of whole numbers, as Python integers."""
    return [[int(v) for v in row] for row in gram_in_floats(rows)]


def gram_in_floats(rows: Any) -> Any:
    """`exact_gram` as a float64 array of whole numbers.

    Exact if the diagonal, as computed, stays at 2^53 or below, which is checked. On the diagonal BLAS adds up numbers
    that are not negative, so no partial sum exceeds the result; the first one that is not exact would be above 2^53,
    and with it the result. Off it, a partial sum over any rows is at most sqrt(sum v_j^2 sum v_k^2) in size by Cauchy
    and Schwarz, so no larger than the largest diagonal entry.
    """
    gram = rows.T @ rows
    if not float(gram.diagonal().max(initial=0.0)) <= 2**53:
        raise ArithmeticError(_INEXACT)
    return gram


def exact_products(left: Any, right: Any) -> list[list[int]]:
    """The sums of products, left' times right, of two float64 arrays of whole numbers, as Python integers.

    Exact: every partial sum that BLAS may form, in any order, is a whole number below 2^53, which is checked.
    """
    import numpy as np

    largest = float(np.max(np.abs(left), initial=0.0)) * float(np.max(np.abs(right), initial=0.0))
    if not largest * len(left) <= 2**53:
        raise ArithmeticError(_INEXACT)
    return [[int(v) for v in row] for row in left.T @ right]


def into_ball(points: Any, radius: Fraction, steps: int) -> Any:
    """Move rows of whole numbers into the Euclidean ball of ``radius``: sum_j q_j^2 <= floor(radius^2 steps^2).

    A row outside is scaled to the sphere and rounded; while it still sticks out, its largest coordinate shrinks by one.
    The last step is decided in integers, so the bound holds exactly for what is released. It is a total function of the
    row, which is all that the sensitivity proof needs.
    """
    import numpy as np

    limit = math.floor(radius * radius * steps * steps)
    q = np.array(points, dtype=np.int64)
    norms = (q * q).sum(axis=1)
    outside = np.flatnonzero(norms > limit)
    if outside.size:
        shrink = math.sqrt(limit) / np.sqrt(norms[outside].astype(np.float64))
        q[outside] = np.rint(q[outside] * shrink[:, None]).astype(np.int64)
    while outside.size:
        outside = outside[(q[outside] ** 2).sum(axis=1) > limit]
        largest = np.argmax(np.abs(q[outside]), axis=1)
        q[outside, largest] -= np.sign(q[outside, largest])
    return q.astype(np.float64)
