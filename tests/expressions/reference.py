"""Another reading of the same trees: one row at a time, Python's own numbers, None where there is no value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tacit.expressions.logarithm import logarithm
from tacit.expressions.syntax import Syntax, parse

SMALLEST, LARGEST = 2.0**-1000, 1.7976931348623157e308


def value_of(text: str, row: Mapping[str, Any], levels: Mapping[str, tuple[Any, ...]]) -> Any:
    """A float, a level, True, False or None. ``row`` has filled cells; ``levels`` are those of columns."""
    return _value(parse(text), row, levels)


def _settled(number: float) -> float | None:
    if math.isnan(number) or abs(number) > LARGEST:
        return None
    return 0.0 if abs(number) < SMALLEST else number


def _value(tree: Syntax, row: Any, levels: Any) -> Any:
    kind, parts = tree.kind, tree.parts
    if kind == "number":
        return float(tree.value)
    if kind == "name":
        cell = row[tree.value]
        return cell if tree.value in levels else _settled(cell)
    if kind in ("and", "or"):
        found = [_truth(part, row, levels) for part in parts]
        decisive = kind == "or"
        return decisive if decisive in found else None if None in found else not decisive
    if kind == "not":
        one = _truth(parts[0], row, levels)
        return None if one is None else not one
    if kind == "in":
        found = [_compared("==", parts[0], part, row, levels) for part in parts[1].parts]
        return True if True in found else None if None in found else False
    if kind == "compare":
        return _compared(tree.value, *parts, row, levels)
    if kind == "call" and tree.value == "is_missing":
        return row[f"missing {parts[0].value}"]
    if kind == "call" and tree.value == "count":
        held = [_truth(part, row, levels) for part in parts]
        return None if None in held else float(sum(held))
    if kind == "call" and tree.value == "recode":
        table = {pair.parts[0].value: pair.parts[1].value for pair in parts[1].parts}
        one = _value(parts[0], row, levels)
        return None if one is None else table.get(one, one)
    if kind == "call" and tree.value == "cut":
        one = _value(parts[0], row, levels)
        return None if one is None else sum(one >= float(edge.value) for edge in parts[1].parts)
    numbers = [_value(part, row, levels) for part in parts]
    if None in numbers:
        return None
    return _number(tree, numbers)


def _number(tree: Syntax, numbers: list[float]) -> float | None:
    if tree.kind == "power":
        return _settled(math.prod([numbers[0]] * int(tree.value)))
    a = numbers[0]
    if tree.kind == "arithmetic":
        b = numbers[1]
        if tree.value == "/":
            return None if b == 0 else _settled(a / b)
        return _settled({"+": a + b, "-": a - b, "*": a * b}[tree.value])
    if tree.value in ("min", "max"):
        return {"min": min, "max": max}[tree.value](numbers)
    if tree.value == "sqrt":
        return math.sqrt(a) if a >= 0 else None
    if tree.value == "log":
        return _settled(float(logarithm(np.array([a]))[0])) if a > 0 else None
    return {"abs": abs(a), "floor": float(math.floor(a))}[tree.value]


def _truth(tree: Syntax, row: Any, levels: Any) -> Any:
    return _value(tree, row, levels)


def _compared(sign: str, left: Syntax, right: Syntax, row: Any, levels: Any) -> Any:
    if right.kind == "text" or left.kind == "text":
        one, other = (left, right) if right.kind == "text" else (right, left)
        cell = _value(one, row, levels)
        return None if cell is None else (cell == other.value) == (sign == "==")
    a, b = _value(left, row, levels), _value(right, row, levels)
    if a is None or b is None:
        return None
    return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "==": a == b, "!=": a != b}[sign]
