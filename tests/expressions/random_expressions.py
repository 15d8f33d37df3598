"""Random expressions over a few columns, and random cells to try them on."""

from __future__ import annotations

from random import Random

import numpy as np

from tacit.schema import Schema

SCHEMA = Schema(
    x=(-3, 3), y=(0, 1e200), z={"bounds": [0, 1e-300], "missing": 0}, w=(-1e308, 7e307), g=["a", "b", "c"], h=["u", "v"]
)
NUMBERS, LEVELS = ("x", "y", "z", "w"), {"g": ("a", "b", "c"), "h": ("u", "v")}
_CELLS = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, 1e-300, 5e-324, 1e-310, 1e200, 1e150, 7e307, -1e308, 0.1, 1 / 3)


def number(random: Random, depth: int) -> str:
    """An expression that is a number."""
    if depth == 0 or random.random() < 0.15:
        return random.choice((*NUMBERS, *NUMBERS, "0", "1", "2.5", "-1", "1e-200", "1e300", ".5"))
    one = number(random, depth - 1)
    kind = random.randrange(9)
    if kind < 4:
        return f"({one} {random.choice('+-*/')} {number(random, depth - 1)})"
    if kind == 4:
        return f"({one}) ^ {random.choice((2, 3, 10))}"
    if kind == 5:
        return f"{random.choice(('abs', 'floor', 'sqrt', 'log'))}({one})"
    if kind == 6:
        return f"{random.choice(('min', 'max'))}({one}, {number(random, depth - 1)}, x)"
    if kind == 7:
        return f"count({condition(random, depth - 1)}, {condition(random, depth - 1)})"
    return f"-({one})"


def condition(random: Random, depth: int) -> str:
    """An expression that is a condition."""
    kind = random.randrange(7) if depth else random.choice((0, 1, 2, 3))
    if kind == 0:
        return f"is_missing({random.choice((*NUMBERS, *LEVELS))})"
    if kind == 1:
        name = random.choice(tuple(LEVELS))
        return f"{name} {random.choice(('==', '!='))} '{random.choice(LEVELS[name])}'"
    if kind == 2:
        return f"""g {random.choice(("in", "not in"))} ["a", "{random.choice("abc")}"]"""
    if kind == 3:
        return f"{number(random, depth)} {random.choice(('<', '<=', '>', '>=', '==', '!='))} {number(random, depth)}"
    if kind == 4:
        return f"not {condition(random, depth - 1)}" if random.random() < 0.5 else f"0.5 < {number(random, depth)} <= 2"
    return f"({condition(random, depth - 1)} {random.choice(('and', 'or'))} {condition(random, depth - 1)})"


def parsed_cells(seed: int, rows: int) -> dict[str, np.ndarray]:
    """Cells as they are parsed with gaps: inside the bounds, NaN and -1 where missing."""
    rng = np.random.default_rng(seed)
    found = {}
    for name in NUMBERS:
        column = SCHEMA.number(name)
        cells = np.where(rng.random(rows) < 0.5, rng.choice(_CELLS, rows), rng.uniform(-3, 3, rows))
        cells = np.clip(cells, column.low, column.high)
        found[name] = np.where(rng.random(rows) < 0.1, np.nan, cells)
    for name, levels in LEVELS.items():
        found[name] = rng.integers(-1, len(levels), rows)
    return found
