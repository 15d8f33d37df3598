"""What a budget buys, before it is spent: widths of intervals for many n and budgets, without data."""

from tacit.design.study import Cell as Cell
from tacit.design.study import Design as Design
from tacit.design.study import Expectation as Expectation
from tacit.design.study import design as design
