"""What a plan asks of one cohort, in plain words."""

from __future__ import annotations

from tacit.mechanisms.local import Local
from tacit.models.input_reports import RowInputs
from tacit.models.moment_regression import MomentRegression
from tacit.models.score_reports import RowScore
from tacit.plan import Plan
from tacit.protocols.noisy_statistic import NoisyStatistic

PEOPLE = 10_000
"""For how many people the noise of a coefficient is told."""


def about_cohort(plan: Plan) -> list[str]:
    """What people of the plan's cohort report, with how much noise, and what one cohort alone can say.

    For other local regressions of counts or of yes and no: what they assume. Nothing for other families.
    """
    randomizer, mechanism, model = plan.local_randomizer(), plan.mechanism, plan.model
    encoder, protocol = randomizer.encoder, randomizer.protocol
    assert isinstance(mechanism, Local)
    if not isinstance(encoder, RowScore):
        return _assumed(plan) if isinstance(model, MomentRegression) else []
    assert isinstance(protocol, NoisyStatistic)
    design, p = [column.name for column in encoder.sums.design], len(encoder.sums.design)
    share, at_zero = mechanism.cohort.share, not any(encoder.sums.point)
    where = "0" if at_zero else ", ".join(f"{t:g}" for t in mechanism.point or ())
    what = f"the {p} scores of the person's own row ({', '.join(design)})"
    if encoder.sums.matrix:
        what += f" and the {p * (p + 1) // 2} entries of its information, which get {share:.0%} of the report"
    sds = [sd / protocol.unit for sd in protocol.noise.sd]
    noise = f"standard deviation {sds[0]:.3g} on a score"
    if encoder.sums.matrix:
        noise += f" and {' or '.join(dict.fromkeys(f'{sd:.3g}' for sd in sds[p:]))} on an entry"
    lines = [
        f"Asks: {what}, at the point {where} in mapped units.",
        f"Noise: {protocol.noise.kind} in each report, {noise}. Of {PEOPLE:,} people it leaves a coefficient of a "
        f"number mapped to [-1, 1] a standard deviation of about {coefficient_sd(plan, PEOPLE):.2g}.",
        "Assumes: nothing about the covariates near the point; that people of all cohorts of a survey are of one kind, "
        "and that nobody answers in two.",
    ]
    if at_zero:
        lines.append(
            "Cohorts: the first one's point is 0, the prior's mean. One cohort is enough where effects are small; else "
            "what it reports is carried to the coefficients with normally distributed covariates and intervals are "
            "widened for it. `tacit cohort` makes the plan of the next cohort, at the point that its reports lead to."
        )
    if not encoder.sums.matrix:
        lines.append(
            "Information: none is asked for here, so another cohort of the same survey has to report some: without it "
            "there is no interval."
        )
    return lines


def coefficient_sd(plan: Plan, people: int) -> float:
    """What noise alone leaves open about a coefficient: that of a score over the information of ``people``.

    Their information about it is about people times w / 3, w that of a row at 0 and 1/3 the mean square of a number
    that is uniform on its bounds.
    """
    randomizer = plan.local_randomizer()
    encoder, protocol = randomizer.encoder, randomizer.protocol
    assert isinstance(encoder, RowScore)
    assert isinstance(protocol, NoisyStatistic)
    table = encoder.sums.table
    weight = table.curves(0, 0)[0][1][0][1] / table.weight_unit
    return 3 * protocol.noise.sd[0] / protocol.unit / (weight * people**0.5)


def _assumed(plan: Plan) -> list[str]:
    assert isinstance(plan.model, MomentRegression)
    encoder = plan.local_randomizer().encoder
    if isinstance(encoder, RowInputs) and len(encoder.numbers) == 1:
        return [
            "Assumes: little about how the covariate is distributed. What it is like between its bounds is learned "
            "from the reports, as a smooth distribution (docs/local.md)."
        ]
    if plan.model.default_method(plan.schema) != "gaussian-covariates":
        return []
    return [
        "Assumes: numbers among the covariates are normally distributed. Where they are skewed or discrete the "
        'coefficients may be wrong, and more people do not help; protocol = "scores" does not assume it '
        "(docs/local.md)."
    ]
