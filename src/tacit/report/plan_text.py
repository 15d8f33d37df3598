"""A plan in plain words, for the person who has to approve it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tacit._support.printable import in_prose, statistic_in_prose
from tacit.mechanisms.dp_sgd.dp_sgd import DescentPoint
from tacit.mechanisms.local import Local
from tacit.mechanisms.mechanism import CalibratedMechanism
from tacit.mechanisms.person import Person
from tacit.mechanisms.posterior_sample.posterior_sample import PosteriorDraws
from tacit.mechanisms.private_chain.private_chain import ChainDraws
from tacit.mechanisms.registry import default_mechanism
from tacit.mechanisms.score_rounds import ScoreRounds
from tacit.models.draw_parameters import DrawParameters
from tacit.models.likelihood import Likelihood
from tacit.models.moment_regression import MomentRegression
from tacit.models.one_number import OneNumber
from tacit.models.score_noise import ScoreNoise
from tacit.plan import Plan
from tacit.posterior.cut_rows import FEW_TABLES
from tacit.privacy.assumptions import TYPED_ELSEWHERE
from tacit.report.cohort_text import about_cohort
from tacit.report.draw_cost import about_sampler
from tacit.report.many_columns import about_many_columns, about_many_scores
from tacit.report.neighbour_text import about_n, everyone
from tacit.schema import Category
from tacit.statistics.clipped_scores import ClippedScores


def explain(plan: Plan) -> list[str]:
    """What will be read, released and promised, one sentence a line."""
    titled = [] if plan.title is None else [f"Title: {plan.title!r}. It is the author's own, and promises nothing."]
    return [*titled, *_explained(plan)]


def _explained(plan: Plan) -> list[str]:
    if isinstance(plan.mechanism, Local):
        return _explain_local(plan)
    if isinstance(plan.calibrated_mechanism(), PosteriorDraws):
        return _explain_draws(plan)
    if isinstance(plan.calibrated_mechanism(), ScoreRounds):
        return _explain_rounds(plan)
    statistic, noise, unit = plan.statistic(), plan.noise(), plan.mechanism.person
    sizes = sorted({f"{sd / statistic.unit:.3g}" for sd in noise.sd})
    lines = [
        f"Mechanism: {plan.mechanism.kind}, sums of the rows{_by_default(plan)}.",
        f"Reads: the column{'s' if len(plan.reads) > 1 else ''} {_names(plan.reads)}; {_unit(unit)}.",
        f"Releases: {len(statistic.entries)} noisy number{'s' if len(statistic.entries) > 1 else ''} "
        f"({_some(statistic.entries)}), {about_n(plan)}.",
        f"Noise: {noise.kind}, standard deviation {' to '.join((sizes[0], sizes[-1])) if len(sizes) > 1 else sizes[0]}"
        " on each.",
        f"Promises: {plan.budget.symbols}. {plan.budget.sentence()}",
    ]
    model = plan.model
    if isinstance(model, MomentRegression) and model.default_method(plan.schema) == "gaussian-covariates":
        lines.append(
            "Assumes: numbers among the covariates are normally distributed. Where they are skewed or discrete the "
            'coefficients may be wrong, and more rows do not help; kind = "newton" does not assume it '
            "(docs/real-tables.md)."
        )
    lines += [*_about_shape(plan), *about_many_columns(plan)]
    if unit is not None:
        lines.append(f"Everyone: {everyone(unit, fills=True)}")
    return [*lines, *about_columns(plan), about_types()]


def _by_default(plan: Plan) -> str:
    same = plan.mechanism.kind == default_mechanism(plan.model, plan.schema).kind
    return " (the default)" if same else ""


def _about_shape(plan: Plan) -> list[str]:
    """What a family of one number assumes of it, and whether the release could show that it is wrong."""
    model = plan.model
    if not isinstance(model, OneNumber):
        return []
    seen = (
        "A tenth of the budget goes to counts that show whether this is wrong."
        if model.shape_check
        else "Nothing in the release can show whether this is wrong: with shape_check = true it could, for a tenth of "
        'the budget, and family = "mean" assumes no shape.'
    )
    return [f"Assumes: {model.shape}. {seen}"]


def about_types() -> str:
    """What a plan cannot know before it is given rows."""
    return f"Assumes of rows that are not CSV or TSV files: {TYPED_ELSEWHERE}."


def about_columns(plan: Plan) -> list[str]:
    """What a cell counts as that is not as declared: of every column that is read, then of those derived from them."""
    wanted = (*plan.columns, *(() if plan.row_filter is None else sorted(plan.row_filter.named)))
    needed = plan.schema.needed_for(wanted)
    rows = [] if plan.where is None else [f"Rows: only those with {in_prose(plan.where)} count."]
    derived = [name for name in plan.schema.derived if name in needed]
    return [
        *rows,
        *(_about_column(name, plan) for name in plan.reads),
        *(_about_derived(name, plan) for name in derived),
    ]


def _about_derived(name: str, plan: Plan) -> str:
    column, said = plan.schema.declared(name), plan.schema.derived[name].to_plain()
    text = said if isinstance(said, str) else said["value"]
    if isinstance(column, Category):
        values = f"one of {len(column.levels)} levels"
    else:
        values = f"clamped to {column.low:g} to {column.high:g}"
    none = f"where that has no value the cell counts as {column.missing!r}"
    return f"Column {in_prose(name)}: {in_prose(text)} of the same row, {values}; {none}."


def _about_column(name: str, plan: Plan) -> str:
    column = plan.schema.declared(name)
    kind = "an undeclared, missing or unreadable" if isinstance(column, Category) else "a missing or unreadable"
    free = isinstance(column, Category) or not column.clamp
    clamped = "" if free else "values outside the bounds are clamped, and "
    return f"Column {in_prose(name)}: {clamped}{kind} cell counts as {column.missing!r}."


def _explain_local(plan: Plan) -> list[str]:
    randomizer = plan.local_randomizer()
    size = randomizer.protocol.reports.size
    return [
        f"Reads: on each person's own device, {_names(plan.reads)} of that person alone.",
        f"Sends: one report per person, made by {randomizer.protocol.kind}, of {size} whole number"
        f"{'s' if size > 1 else ''}. The true answer never leaves the device.",
        f"Promises: {plan.budget.symbols} to every person, against everybody, the collector included. "
        f"{plan.budget.sentence()}",
        *about_cohort(plan),
        *about_columns(plan),
    ]


def _explain_draws(plan: Plan) -> list[str]:
    calibrated = plan.calibrated_mechanism()
    said = calibrated.noise_parameters
    assert isinstance(calibrated, PosteriorDraws)
    assert isinstance(said, DrawParameters)
    numbers = ", ".join(f"{name} = {value:.4g}" for name, value in said.numbers)
    drawn, source = _drawn(calibrated, said)
    unit = _unit(None) if plan.mechanism.whole_rows else "the unit of privacy is the response of a row"
    promise = f"{plan.promise.sentence()}{about_responses(plan)}"
    return [
        f"Reads: the column{'s' if len(plan.reads) > 1 else ''} {_names(plan.reads)}; {unit}.",
        f"Releases: {drawn} of {said.parameters} number{'s' if said.parameters > 1 else ''} "
        f"({_some(calibrated.entries)}) from {source}, rounded to multiples of 1/{said.grid}, and the number of rows.",
        f"{'Descent' if isinstance(calibrated, DescentPoint) else 'Density'}: loss {said.loss}, {numbers}; drawn by "
        f"{said.sampler}. {about_sampler(calibrated, plan.budget)} A draw that fails is released as a failure.",
        *_about_chain(calibrated),
        f"Promises: {plan.promise.symbols}. {promise}",
        f"Assumes: {'; '.join(calibrated.assumes)}.",
        *about_columns(plan),
        about_types(),
    ]


def _explain_rounds(plan: Plan) -> list[str]:
    calibrated, unit = plan.calibrated_mechanism(), plan.mechanism.person
    assert isinstance(calibrated, ScoreRounds)
    names = list(calibrated.sums.coordinates)
    lines = [
        f"Mechanism: {plan.mechanism.kind}, scores in rounds{_by_default(plan)}; the rows are read {calibrated.passes} "
        "times, once for each round. A score says in which direction, and how much, the rows would change a "
        "coefficient; its information says how strongly.",
        f"Reads: the column{'s' if len(plan.reads) > 1 else ''} {_names(plan.reads)}; {_unit(unit)}.",
        *(_about_round(calibrated, place, names) for place in range(calibrated.passes)),
        f"Also releases: the coefficients of each round, {about_n(plan)}.",
        f"Noise: {calibrated.noise_parameters.noise}. In later rounds its size follows from the "
        "coefficients there, and the sizes above are those with all of them at 0; the price is fixed beforehand.",
        f"Promises: {plan.budget.symbols}. {plan.budget.sentence()}",
        "Posterior: assumes that the response follows the model given the covariates, and nothing about how those are "
        "distributed.",
        *_about_cutting(calibrated, plan),
    ]
    if (least := useful_from(calibrated)) > _MANY:
        lines.append(
            f"Useless below about {least:,.0f} rows: with {len(names)} coefficients, noise is larger than what the "
            f"rows say about any of them.{_PURE_HINT if calibrated.sums.laplace else ''} "
            f"Narrower bounds and fewer columns help{'' if unit is None else ', and fewer rows of each person'}."
        )
    lines += about_many_scores(len(names))
    if unit is not None:
        lines.append(f"Everyone: {everyone(unit, fills=False)}")
    return [*lines, *about_columns(plan), about_types()]


_MANY = 1000
_PURE_HINT = " A budget with a delta above 0 needs far less noise."


def _about_round(calibrated: ScoreRounds, place: int, names: list[str]) -> str:
    share = f"{float(calibrated.shares[place]):.0%} of the budget"
    size = len(names)
    scores = f"{size} score{'s' if size > 1 else ''} ({_some(tuple(names))})"
    matrix = f" and the {size * (size + 1) // 2} entries of their information" if calibrated.matrix[place] > 0 else ""
    where = (
        "with all coefficients at 0"
        if place == 0
        else f"at the coefficients that {'round 1 leads' if place == 1 else 'the rounds before lead'} to"
    )
    sds = _noise_at_zero(calibrated, place)
    noise = f"noise with standard deviation {sds[0]:.3g} on a score"
    if len(sds) > 1:
        noise += f" and {' or '.join(dict.fromkeys(f'{sd:.3g}' for sd in sds[1:]))} on an entry"
    return f"Releases in round {place + 1}: {scores}{matrix}, {where}; {share}, {noise}."


def _noise_at_zero(calibrated: ScoreRounds, place: int) -> list[float]:
    """The standard deviations of a score and, with a matrix, of its entries on and off the diagonal, taken at 0."""
    p = len(calibrated.sums.coordinates)
    noise_parameters = ScoreNoise(calibrated.noise_parameters.noise, (calibrated.round_at(place, (0,) * p),))
    sds = [sd / calibrated.unit for sd in noise_parameters.of_round(0).sd]
    if not calibrated.matrix[place]:
        return [sds[0]]
    return [sds[0], sds[p], *(sds[p + 1 : p + 2] if p > 1 else [])]


def _about_cutting(calibrated: ScoreRounds, plan: Plan) -> list[str]:
    """What is cut off rows, and where the likelihood comes from."""
    if not isinstance(calibrated.sums, ClippedScores):
        return []
    longest = float(calibrated.sums.clip)
    found = [
        f"Cuts: a row's score to the length {longest:g}; each round counts how many rows that changed, with noise. "
        "What is cut is part of the model, and moves the posterior where the model does not hold.",
        f"Calibration: {FEW_TABLES}",
    ]
    if isinstance(plan.model, Likelihood):
        found.append(
            f"Likelihood: {plan.model.name}, the function whose source has the digest {plan.model.digest[:12]}. The "
            "plan holds no code: Python in which tacit.Likelihood was called with it carries out and infers, the "
            "command line does not."
        )
    return found


def useful_from(calibrated: ScoreRounds) -> float:
    """The number of rows from which all rounds' noise on a score is below what the rows' own scores vary by.

    The scores of n rows have a standard deviation of about sqrt(n w / 3), w the information of a row at 0 and 1/3 the
    mean square of a number that is uniform on its bounds. All rounds together have the noise of one with their whole
    price.
    """
    laplace = calibrated.sums.laplace
    noise_parameters = calibrated.noise_parameters
    part = float(calibrated.shares[0])
    sd = noise_parameters.of_round(0).sd[0] / calibrated.unit * (part if laplace else part**0.5)
    if isinstance(calibrated.sums, ClippedScores):  # information as of a response with two levels, or not known
        return 12 * sd**2 if calibrated.sums.covariates else 0.0
    weight = calibrated.sums.table.curves(0, 0)[0][1][0][1] / calibrated.sums.table.weight_unit
    return 3 * sd**2 / weight


def _drawn(calibrated: CalibratedMechanism, said: DrawParameters) -> tuple[str, str]:
    """What is released, and of what."""
    if isinstance(calibrated, DescentPoint):
        return "the last point", "a noisy gradient descent"
    if isinstance(calibrated, ChainDraws):
        return ("one state" if said.draws == 1 else f"{said.draws} states"), "the end of a private chain"
    return ("one draw" if said.draws == 1 else f"{said.draws} independent draws"), "a tempered posterior"


def _about_descent(calibrated: DescentPoint) -> str:
    descent, said = calibrated.chain.descent, calibrated.chain.steps(dict(calibrated.drawn.numbers))
    return (
        f"Noise: {said.steps} steps over about {descent.expected_batch} of {descent.n} rows, picked anew each time, "
        f"each with noise of {float(said.multiplier):.4g} times the longest gradient that a row may have; longer ones "
        "are cut. The price covers every step. A point comes without an interval."
    )


def _about_chain(calibrated: CalibratedMechanism) -> list[str]:
    """What is asked of the rows, and what is not promised about the result."""
    if isinstance(calibrated, DescentPoint):
        return [_about_descent(calibrated)]
    if not isinstance(calibrated, ChainDraws):
        return []
    chain, numbers = calibrated.chain.chain, dict(calibrated.drawn.numbers)
    steps, bounds = calibrated.chain.steps(numbers), calibrated.chain.row_bounds(numbers)
    rows = "all rows" if chain.batch is None else f"about {chain.batch} of {chain.n} rows, picked anew each time"
    clipped = (
        ""
        if bounds.proved
        else f" Gradients longer than {bounds.gradient_norm:.4g} are cut, which bends the posterior."
    )
    return [
        f"Noise: {steps.steps} sums over {rows}, each with noise of {float(steps.multiplier):.4g} times the most that "
        f"one row can add; the price covers all of them, and so every state. Nothing is taken for granted about how "
        f"near the chain comes to its posterior.{clipped}"
    ]


def explain_plain(plan: Plan) -> dict[str, Any]:
    """The same for machines."""
    if isinstance(plan.mechanism, Local):
        randomizer = plan.local_randomizer()
        return {
            "columns": list(plan.reads),
            "protocol": randomizer.protocol.to_plain(),
            "budget": plan.budget.to_plain(),
            "plan": plan.to_plain(),
        }
    calibrated = plan.calibrated_mechanism()
    if isinstance(calibrated, PosteriorDraws):
        return {
            "columns": list(plan.reads),
            "entries": list(calibrated.entries),
            "unit": calibrated.unit,
            "unit_of_privacy": _unit_plain(None) if plan.mechanism.whole_rows else {"unit": "response"},
            "sample": calibrated.noise_parameters.to_plain(),
            "assumes": list(calibrated.assumes),
            "assumes_unless_text": [TYPED_ELSEWHERE],
            "budget": plan.budget.to_plain(),
            "plan": plan.to_plain(),
        }
    if isinstance(calibrated, ScoreRounds):
        return {
            "columns": list(plan.reads),
            "entries": list(calibrated.entries),
            "unit": calibrated.unit,
            "unit_of_privacy": _unit_plain(plan.mechanism.person),
            "kind": plan.mechanism.kind,
            "rounds": [
                {"share": float(share), "matrix": float(matrix), "noise_at_zero": _noise_at_zero(calibrated, place)}
                for place, (share, matrix) in enumerate(zip(calibrated.shares, calibrated.matrix, strict=True))
            ],
            "first_round": calibrated.noise_parameters.to_plain(),
            "useful_from": useful_from(calibrated),
            "budget": plan.budget.to_plain(),
            "plan": plan.to_plain(),
        }
    statistic, noise = plan.statistic(), plan.noise()
    sensitivity = plan.sensitivity()
    return {
        "assumes_unless_text": [TYPED_ELSEWHERE],
        "columns": list(plan.reads),
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
    return {"unit": "row"} if unit is None else unit.to_plain()


def _names(columns: Iterable[str]) -> str:
    return ", ".join(map(in_prose, columns))


def _some(statistics: tuple[str, ...]) -> str:
    names = [statistic_in_prose(name) for name in statistics]
    return ", ".join(names) if len(names) <= 6 else f"{', '.join(names[:5])}, ... and {len(names) - 5} more"
