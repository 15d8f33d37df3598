"""The function of a network with one hidden layer: how its numbers are laid out, and what it gives.

    m(x) = sum over units j of v_j tanh(w_j'x) + c

x is the design of a formula in mapped units. Its constant, where there is one, makes the first number of w_j the unit's
bias. The numbers stand in one list: w_1, ..., w_hidden, then v, then c.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def weight_names(columns: Sequence[str], hidden: int) -> tuple[str, ...]:
    """The name of each number, for a design with these columns."""
    into = [f"unit {j}: {name}" for j in range(1, hidden + 1) for name in columns]
    return (*into, *(f"output: unit {j}" for j in range(1, hidden + 1)), "output: constant")


def output(theta: Any, x: Any, hidden: int, tanh: Any) -> Any:
    """m(x) of every row: ``theta`` (numbers,), ``x`` (n, columns) -> (n,). ``tanh`` is NumPy's or JAX's."""
    columns = x.shape[1]
    into = theta[: hidden * columns].reshape(hidden, columns)
    out, constant = theta[hidden * columns : hidden * (columns + 1)], theta[hidden * (columns + 1)]
    return tanh(x @ into.T) @ out + constant
