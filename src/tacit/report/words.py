"""A plan in plain words, for the person who has to approve it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tacit._support.printable import in_prose, statistic_in_prose
from tacit.mechanisms.dp_sgd.dp_sgd import DescentPoint
from tacit.mechanisms.local import Local
from tacit.mechanisms.mechanism import Crossing
from tacit.mechanisms.person import Person
from tacit.mechanisms.posterior_sample.posterior_sample import PosteriorDraws
from tacit.mechanisms.private_chain.private_chain import ChainDraws
from tacit.models.draw_law import DrawLaw
from tacit.plan import Plan
from tacit.privacy.assumptions import TYPED_ELSEWHERE
from tacit.schema import Category


def explain(plan: Plan) -> list[str]:
    """What will be read, released and promised, one sentence a line."""
    if isinstance(plan.mechanism, Local):
        return _explain_local(plan)
    if isinstance(plan.crossing(), PosteriorDraws):
        return _explain_draws(plan)
    statistic, noise, unit = plan.statistic(), plan.noise(), plan.mechanism.person
    read = _names(statistic.columns)
    sizes = sorted({f"{sd / statistic.unit:.3g}" for sd in noise.sd})
    lines = [
        f"Reads: the column{'s' if len(statistic.columns) > 1 else ''} {read}; {_unit(unit)}.",
        f"Releases: {len(statistic.entries)} noisy number{'s' if len(statistic.entries) > 1 else ''} "
        f"({_some(statistic.entries)}), and the number of {'rows' if unit is None else 'people'}.",
        f"Noise: {noise.kind}, standard deviation {' to '.join((sizes[0], sizes[-1])) if len(sizes) > 1 else sizes[0]}"
        " on each.",
        f"Promises: {plan.budget.symbols}. {plan.budget.sentence()}",
    ]
    if unit is not None:
        lines.append(f"Everyone: {_filled_and_cut(unit)}")
    return [*lines, *(_about_column(name, plan) for name in statistic.columns), about_types()]


def about_types() -> str:
    """What a plan cannot know before it is given rows."""
    return f"Assumes of rows that are not CSV or TSV files: {TYPED_ELSEWHERE}."


def _about_column(name: str, plan: Plan) -> str:
    column = plan.schema.declared(name)
    kind = "an undeclared, missing or unreadable" if isinstance(column, Category) else "a missing or unreadable"
    free = isinstance(column, Category) or not column.clamp
    clamped = "" if free else "values outside the bounds are clamped, and "
    return f"Column {in_prose(name)}: {clamped}{kind} cell counts as {column.missing!r}."


def _explain_local(plan: Plan) -> list[str]:
    client = plan.client()
    return [
        f"Reads: on each person's own device, {_names(client.columns)} of that person alone.",
        f"Sends: one report a person, made by {client.protocol.kind}, of {client.protocol.reports.size} whole number"
        f"{'s' if client.protocol.reports.size > 1 else ''}. The true answer never leaves the device.",
        f"Promises: {plan.budget.symbols} to every person, against everybody, the collector included. "
        f"{plan.budget.sentence()}",
        *(_about_column(name, plan) for name in client.columns),
    ]


def _explain_draws(plan: Plan) -> list[str]:
    crossing = plan.crossing()
    law = crossing.law
    assert isinstance(law, DrawLaw)
    numbers = ", ".join(f"{name} = {value:.4g}" for name, value in law.numbers)
    drawn, source = _drawn(crossing, law)
    unit = _unit(None) if plan.mechanism.whole_rows else "the unit of privacy is the response of a row"
    promise = f"{plan.promise.sentence()}{about_responses(plan)}"
    return [
        f"Reads: the column{'s' if len(crossing.columns) > 1 else ''} {_names(crossing.columns)}; {unit}.",
        f"Releases: {drawn} of {law.parameters} number{'s' if law.parameters > 1 else ''} ({_some(crossing.entries)}) "
        f"from {source}, rounded to multiples of 1/{law.grid}, and the number of rows.",
        f"{'Descent' if isinstance(crossing, DescentPoint) else 'Density'}: loss {law.loss}, {numbers}; drawn by "
        f"{law.sampler}. A draw that fails is released as a failure.",
        *_about_chain(crossing),
        f"Promises: {plan.promise.symbols}. {promise}",
        f"Assumes: {'; '.join(crossing.assumes)}.",
        *(_about_column(name, plan) for name in crossing.columns),
        about_types(),
    ]


def _drawn(crossing: Crossing, law: DrawLaw) -> tuple[str, str]:
    """What is released, and of what."""
    if isinstance(crossing, DescentPoint):
        return "the last point", "a noisy gradient descent"
    if isinstance(crossing, ChainDraws):
        return ("one state" if law.draws == 1 else f"{law.draws} states"), "the end of a private chain"
    return ("one draw" if law.draws == 1 else f"{law.draws} independent draws"), "a tempered posterior"


def _about_descent(crossing: DescentPoint) -> str:
    descent, law = crossing.chain.descent, crossing.chain.steps(dict(crossing.drawn.numbers))
    return (
        f"Noise: {law.steps} steps over about {descent.expected_batch} of {descent.n} rows, picked anew each time, "
        f"each with noise of {float(law.multiplier):.4g} times the longest gradient that a row may have; longer ones "
        "are cut. The price covers every step. A point comes without an interval."
    )


def _about_chain(crossing: Crossing) -> list[str]:
    """What is asked of the rows, and what is not promised about the result."""
    if isinstance(crossing, DescentPoint):
        return [_about_descent(crossing)]
    if not isinstance(crossing, ChainDraws):
        return []
    chain, numbers = crossing.chain.chain, dict(crossing.drawn.numbers)
    steps, bounds = crossing.chain.steps(numbers), crossing.chain.row_bounds(numbers)
    rows = "all rows" if chain.batch is None else f"about {chain.batch} of {chain.n} rows, picked anew each time"
    clipped = "" if bounds.proved else f" Gradients longer than {bounds.slope:.4g} are cut, which bends the posterior."
    return [
        f"Noise: {steps.steps} sums over {rows}, each with noise of {float(steps.multiplier):.4g} times the most that "
        f"one row can add; the price covers all of them, and so every state. Nothing is taken for granted about how "
        f"near the chain comes to its posterior.{clipped}"
    ]


def explain_plain(plan: Plan) -> dict[str, Any]:
    """The same for machines."""
    if isinstance(plan.mechanism, Local):
        client = plan.client()
        return {
            "columns": list(client.columns),
            "protocol": client.protocol.to_plain(),
            "budget": plan.budget.to_plain(),
            "plan": plan.to_plain(),
        }
    crossing = plan.crossing()
    if isinstance(crossing, PosteriorDraws):
        return {
            "columns": list(crossing.columns),
            "entries": list(crossing.entries),
            "unit": crossing.unit,
            "unit_of_privacy": _unit_plain(None) if plan.mechanism.whole_rows else {"unit": "response"},
            "sample": crossing.law.to_plain(),
            "assumes": list(crossing.assumes),
            "assumes_unless_text": [TYPED_ELSEWHERE],
            "budget": plan.budget.to_plain(),
            "plan": plan.to_plain(),
        }
    statistic, noise = plan.statistic(), plan.noise()
    sensitivity = plan.sensitivity()
    return {
        "assumes_unless_text": [TYPED_ELSEWHERE],
        "columns": list(statistic.columns),
        "entries": list(statistic.entries),
        "unit": statistic.unit,
        "unit_of_privacy": _unit_plain(plan.mechanism.person),
        "sensitivity": {
            "l1": float(sensitivity.l1 / statistic.unit),
            "l2": float(sensitivity.l2_squared) ** 0.5 / statistic.unit,
        },
        "noise": {"law": noise.kind, "sd": [sd / statistic.unit for sd in noise.sd]},
        "budget": plan.budget.to_plain(),
        "plan": plan.to_plain(),
    }


def _filled_and_cut(unit: Person) -> str:
    if unit.max_rows == 1:
        return "exactly 1 row of each person counts. Of who has more, a fixed choice counts and the rest is cut."
    return (
        f"exactly {unit.max_rows} rows of each person count. Who has fewer is filled up with rows of stand-ins, which "
        "moves the result towards them. Of who has more, a fixed choice counts and the rest is cut."
    )


def about_responses(plan: Plan) -> str:
    """What has to be added to a promise that is not about whole rows; nothing for others."""
    if plan.mechanism.whole_rows:
        return ""
    return " The record here is the response of a row alone: its covariates are not protected."


def _unit(unit: Person | None) -> str:
    if unit is None:
        return "the unit of privacy is a row, so every row counts as one person"
    return f"the unit of privacy is a person, to whom all rows with the same value of {in_prose(unit.id)} belong"


def _unit_plain(unit: Person | None) -> dict[str, Any]:
    return {"unit": "row"} if unit is None else {"unit": "person", "id": unit.id, "max_rows": unit.max_rows}


def _names(columns: Iterable[str]) -> str:
    return ", ".join(map(in_prose, columns))


def _some(statistics: tuple[str, ...]) -> str:
    names = [statistic_in_prose(name) for name in statistics]
    return ", ".join(names) if len(names) <= 6 else f"{', '.join(names[:5])}, ... and {len(names) - 5} more"
