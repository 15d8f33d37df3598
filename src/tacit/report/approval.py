"""What somebody who has to approve a plan asks: how much noise, on what, for which promise, and what it is good for."""

from __future__ import annotations

from typing import Any

from tacit._support.printable import in_prose, statistic_in_prose
from tacit.mechanisms.add_noise import NoisySums
from tacit.mechanisms.local import Local
from tacit.mechanisms.mechanism import Central
from tacit.mechanisms.person import PERSON
from tacit.mechanisms.posterior_sample.posterior_sample import PosteriorDraws
from tacit.models.regression import Regression
from tacit.plan import Plan
from tacit.privacy.assumptions import TYPED_ELSEWHERE
from tacit.privacy.basis import Basis
from tacit.privacy.guarantees import GDP, ZCDP, ApproxDP, Guarantee, PureDP, RenyiDP
from tacit.report.neighbour_text import verb

_DEFINITIONS: dict[type[Guarantee], str] = {
    PureDP: "pure differential privacy",
    ApproxDP: "approximate differential privacy",
    ZCDP: "zero-concentrated differential privacy",
    GDP: "Gaussian differential privacy",
    RenyiDP: "Renyi differential privacy",
}


def noise_table(plan: Plan) -> list[dict[str, Any]]:
    """For each number that is released: its name and the standard deviation of its noise, in units of one row.

    Empty where no noise is added to sums.
    """
    calibrated = None if isinstance(plan.mechanism, Local) else plan.calibrated_mechanism()
    if not isinstance(calibrated, NoisySums):
        return []
    return [
        {"statistic": name, "noise": calibrated.noise.kind, "sd": sd / calibrated.unit}
        for name, sd in zip(calibrated.entries, calibrated.noise.sd, strict=True)
    ]


def sensitivity_sentence(plan: Plan) -> str | None:
    """How far one row, or one person, can move the sums; None where no noise is added to sums."""
    calibrated = None if isinstance(plan.mechanism, Local) else plan.calibrated_mechanism()
    if not isinstance(calibrated, NoisySums):
        return None
    unit = plan.mechanism.person
    whom = "one row" if unit is None else f"all {unit.max_rows} rows of one person"
    whom = "one person" if unit is not None and unit.weight == PERSON else whom
    l1 = float(calibrated.sensitivity.l1 / calibrated.unit)
    l2 = float(calibrated.sensitivity.l2_squared) ** 0.5 / calibrated.unit
    weighted = "" if len(set(calibrated.sensitivity.relative_scales)) == 1 else ", each entry over its relative scale"
    return (
        f"{verb(plan)} {whom} moves the {_count(len(calibrated.entries), 'sum')} by at most {l1:.4g} in all (L1), or "
        f"{l2:.4g} as a distance (L2){weighted}; a row adds at most 1 to any of them"
    )


def statement(plan: Plan) -> str:
    """The guarantee in one sentence, for a data-protection officer."""
    budget, unit = plan.promise, plan.mechanism.person
    name = _DEFINITIONS.get(type(budget), "differential privacy")
    if isinstance(plan.mechanism, Local):
        what, whose = "Each person's report", "the answers of that person"
    else:
        what = "The release"
        whose = (
            "any one row" if unit is None else f"all rows of any one person, as {in_prose(unit.id)} tells people apart"
        )
        if not plan.mechanism.whole_rows:
            whose = "the response of any one row, and not its covariates, which are not protected"
    typed = () if isinstance(plan.mechanism, Local) else (f"unless the rows are CSV or TSV files, {TYPED_ELSEWHERE}",)
    assumes = (*budget.assumes, *typed)
    given = f", assuming: {'; '.join(assumes)}" if assumes else ""
    holds = (
        f"{what} satisfies {name} with {plan.budget.symbols} with respect to {verb(plan)} {whose}; this holds against "
        f"a recipient with any other knowledge and computing power, and no later analysis can weaken it{given}."
    )
    if budget.basis is Basis.PROVED:
        return holds
    return f"ASSUMED, not proved, and to be approved only by somebody who can answer for the assumption: {holds}"


def learnable(plan: Plan) -> str:
    """What an analyst will be able to say, and what not."""
    model, schema = plan.model, plan.schema
    if isinstance(model, Regression):
        response = model.design(schema).formula.response
        names = [
            "the intercept" if name == "Intercept" else f"the coefficient of {statistic_in_prose(name)}"
            for name in model.design(schema).names
        ]
        what = f"{_some(names)}, and predictions" if model.in_data_units else "predictions"
        subject = f"how {in_prose(response)} goes with the other columns: {what}"
    else:
        dims, coords = model.dims(schema), model.coords(schema)
        names = []
        for name, axes in dims.items():
            labels = [coords[axis] for axis in axes]
            names += [name] if not labels else [f"{name} of {in_prose(str(level))}" for level in labels[0]]
        subject = _some(names)
    read = ", ".join(map(in_prose, plan.reads))
    return (
        f"{subject}; {_as_what(plan)}. Not: anything about a single row, about columns "
        f"other than {read}, or about groups and relations that the model does not name."
    )


def _as_what(plan: Plan) -> str:
    """Draws that nothing infers from are read as they are: points."""
    calibrated = plan.calibrated_mechanism() if isinstance(plan.mechanism, Central) else None
    if not isinstance(calibrated, PosteriorDraws) or plan.model.draw_methods:
        return "each with an interval that includes the noise"
    if calibrated.drawn.sampler == "dp-sgd":
        return "as one noisy estimate: a point, without an interval"
    return f"as {_count(calibrated.drawn.draws, 'random draw')}: points, without an interval"


def approval_plain(plan: Plan) -> dict[str, Any]:
    """The same for machines."""
    return {"statement": statement(plan), "learnable": learnable(plan), "statistics": noise_table(plan)}


def _count(number: int, one: str) -> str:
    return f"{number} {one if number == 1 else one + 's'}"


def _some(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 6 else f"{', '.join(names[:5])} and {len(names) - 5} more"
