"""A plan in plain words, for the person who has to approve it."""

from __future__ import annotations

from typing import Any

from tacit.plan import Plan
from tacit.schema import Category


def explain(plan: Plan) -> list[str]:
    """What will be read, released and promised, one sentence a line."""
    statistic, noise = plan.statistic(), plan.noise()
    read = ", ".join(statistic.columns)
    sizes = sorted({f"{sd / statistic.unit:.3g}" for sd in noise.sd})
    lines = [
        f"Reads: the column{'s' if len(statistic.columns) > 1 else ''} {read}; {_unit(plan)}.",
        f"Releases: {len(statistic.entries)} noisy number{'s' if len(statistic.entries) > 1 else ''} "
        f"({_some(statistic.entries)}), and the number of rows.",
        f"Noise: {noise.kind}, standard deviation {' to '.join((sizes[0], sizes[-1])) if len(sizes) > 1 else sizes[0]}"
        " on each.",
        f"Promises: {plan.budget.symbols}. {plan.budget.sentence()}",
    ]
    for name in statistic.columns:
        column = plan.schema.declared(name)
        kind = "an undeclared, missing or unreadable" if isinstance(column, Category) else "a missing or unreadable"
        clamped = "" if isinstance(column, Category) else "values outside the bounds are clamped, and "
        lines.append(f"Column {name}: {clamped}{kind} cell counts as {column.missing!r}.")
    return lines


def explain_plain(plan: Plan) -> dict[str, Any]:
    """The same for machines."""
    statistic, noise = plan.statistic(), plan.noise()
    sensitivity = plan.sensitivity()
    return {
        "columns": list(statistic.columns),
        "entries": list(statistic.entries),
        "unit": statistic.unit,
        "sensitivity": {
            "l1": float(sensitivity.l1 / statistic.unit),
            "l2": float(sensitivity.l2_squared) ** 0.5 / statistic.unit,
        },
        "noise": {"law": noise.kind, "sd": [sd / statistic.unit for sd in noise.sd]},
        "budget": plan.budget.to_plain(),
        "plan": plan.to_plain(),
    }


def _unit(plan: Plan) -> str:
    unit = plan.mechanism.unit
    if unit is None:
        return "every row counts as one person"
    return f"rows with the same {unit.id} belong to one person, of whom exactly {unit.max_rows} rows count"


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(names) if len(names) <= 6 else f"{', '.join(names[:5])}, ... and {len(names) - 5} more"
