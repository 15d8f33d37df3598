"""A study in one sentence."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.design.study import Cell, Design

_ENOUGH = 1.5  # times the interval without privacy: from here on more budget buys little
_NOTHING = 0.9  # of the prior's interval is left


def advice(design: Design) -> str:
    """The least budget whose intervals are at most half as wide again as without privacy, for the most rows."""
    most = max(cell.n for cell in design.cells)
    cells = [cell for cell in design.cells if cell.n == most]
    if all(to_prior(cell) > _NOTHING for cell in cells):
        last = cells[-1]
        return (
            f"Even {_choice(last)} tells hardly more than the prior: intervals keep "
            f"{100 * to_prior(last):.0f}% of its width; more rows or a larger budget are needed."
        )
    for cell in cells:
        if to_exact(cell) <= _ENOUGH and to_prior(cell) <= _NOTHING:
            more = "" if cell is cells[0] else ", and is the least of these budgets to come that close"
            return f"{_start(cell)} gives intervals {to_exact(cell):.2g} times as wide as without privacy{more}."
    last = cells[-1]
    return (
        f"Even {_choice(last)} gives intervals {to_exact(last):.2g} times as wide as without privacy, "
        f"{100 * to_prior(last):.0f}% of the prior's: more rows help more than anything else."
    )


def to_exact(cell: Cell) -> float:
    """The median over the numbers of how many times wider privacy makes their intervals."""
    return median(number.to_exact for number in cell.numbers)


def to_prior(cell: Cell) -> float:
    """The median over the numbers of what is left of the prior's interval."""
    return median(number.to_prior for number in cell.numbers)


def _choice(cell: Cell) -> str:
    return f"{cell.budget.symbols} with n = {cell.n:,}"


def _start(cell: Cell) -> str:
    text = _choice(cell)
    return text[0].upper() + text[1:]
