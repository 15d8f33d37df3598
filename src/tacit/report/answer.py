"""The first screen of a page: what was found, as a picture with a sentence for each effect, and the promise in one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tacit.mechanisms.local import Local
from tacit.models.effects import EffectDraws, rounded
from tacit.models.model import Model
from tacit.models.quantiles import Quantiles
from tacit.models.regression import Regression
from tacit.models.survival_curve import SurvivalCurve
from tacit.pages.interval_rows import Scale, interval
from tacit.pages.svg import ratio_ticks, ticks
from tacit.plan import Plan
from tacit.posterior import Posterior
from tacit.posterior.effects import effect_draws, groups_left_out
from tacit.privacy.basis import Basis
from tacit.privacy.guarantees import GDP, ZCDP, ApproxDP, Guarantee, PureDP, RenyiDP
from tacit.report.densities import PosteriorNumber

_MOST = 24  # effects on the first screen
_DRAWS = 4000  # of the prior


@dataclass(frozen=True)
class ReportAnswer:
    """What the first screen shows: a sentence and a strip for each effect, on one scale."""

    rows: tuple[tuple[str, str], ...] = ()
    ticks: str = ""
    axis: str = ""
    left_out: int = 0
    numbers: tuple[PosteriorNumber, ...] = field(default=(), compare=False)
    """The same for the densities."""


def answer_of(posterior: Posterior, simulation: Any = None) -> ReportAnswer:
    """The effects of a posterior; of a simulation beside what the exact sums would give, and the truth."""
    import numpy as np

    found = effect_draws(posterior, posterior.joined())
    found = [one for one in found if np.isfinite(one.values).all()]
    if not found:
        return ReportAnswer()
    before = _by_name(posterior, posterior.prior_draws(_DRAWS))
    exact = {} if simulation is None or not simulation.exact else _by_name(posterior, simulation.non_private())
    truths = {} if simulation is None else {k: np.asarray(v)[None] for k, v in simulation.parameters.items()}
    truth = _by_name(posterior, truths) if truths else {}
    sentences = [one.sentence for one in posterior.effects()]
    rows, scale = _rows(found, sentences, before, exact, truth)
    numbers = tuple(
        PosteriorNumber(
            in_words(posterior.plan.model, one.name),
            "effect",
            one.values,
            before.get(one.name),
            exact.get(one.name),
            None if one.name not in truth else float(truth[one.name][0]),
            ratio=one.is_ratio,
        )
        for one in found
    )
    left_out = max(0, len(found) - _MOST) + groups_left_out(posterior, found)
    return ReportAnswer(rows, _scale_row(scale, found[0]), _axis(posterior, found[0]), left_out, numbers)


def in_words(model: Model, name: str) -> str:
    """An effect's name beside others' on a page, where a bare number would say nothing."""
    if isinstance(model, Quantiles):
        return f"quantile {name}"
    return f"{model.column} {name}" if isinstance(model, SurvivalCurve) else name


def promise_in_short(plan: Plan, guarantee: Guarantee) -> str:
    """The promise in one sentence. The section on the promise has it in full."""
    person = "any one person" if plan.mechanism.person is not None or isinstance(plan.mechanism, Local) else "any row"
    what = f"Replacing {person}'s data by other data" if person != "any row" else "Replacing any row by another"
    if not plan.mechanism.whole_rows:
        what = "Replacing the response of any row by another"
    assumed = "" if guarantee.basis is Basis.PROVED else "Assumed, not proved: "
    moved = f"{what} makes nothing that can be said from "
    moved += "that person's report" if isinstance(plan.mechanism, Local) else "this release"
    match guarantee:
        case ApproxDP():
            rest = f"{moved} more than {_factor(guarantee.epsilon)} times as likely"
            rest += f", plus a probability of {guarantee.delta!r}"
        case PureDP():
            rest = f"{moved} more than {_factor(guarantee.epsilon)} times as likely"
        case GDP():
            percent = min(100.0, math.ceil(500 * (1 + math.erf(guarantee.mu / 8**0.5))) / 10)
            rest = f"{what} can be told from this release with at most {percent:g}% of guesses right, where 50% is luck"
        case ZCDP() | RenyiDP():
            mean = guarantee.rho if isinstance(guarantee, ZCDP) else guarantee.epsilon
            rest = f"{what} moves anybody's odds about it by at most {_factor(mean)} times on average"
        case _:
            rest = guarantee.sentence().rstrip(".")
    return f"{assumed}{rest} ({guarantee.symbols.removeprefix('assumed, not proved: ')})."


def called(plan: Plan) -> str:
    """What kind of answer this is, in a person's words."""
    family, words = plan.model.family, plan.model.about
    if isinstance(plan.model, Regression) and plan.model.in_data_units:
        words = f"{family.removesuffix('-regression')} regression"
    elif not words:
        words = f"{family} model"
    return words[:1].upper() + words[1:].partition(",")[0]


def _rows(
    found: Sequence[EffectDraws], sentences: Sequence[str], before: Any, exact: Any, truth: Any
) -> tuple[tuple[tuple[str, str], ...], Scale]:
    import numpy as np

    def ends(values: Any) -> tuple[float, float, float, float]:
        low, inner_low, inner_high, high = (float(v) for v in np.quantile(values, [0.025, 0.25, 0.75, 0.975]))
        return low, inner_low, inner_high, high

    kept = found[:_MOST]
    own = [ends(one.values) for one in kept]
    placed = [one for one in kept if not _is_spread(one)] or kept
    everything = [end for one in placed for end in ends(one.values)]
    everything += [end for one in placed if one.name in exact for end in ends(exact[one.name])[::3]]
    everything += [float(truth[one.name][0]) for one in placed if one.name in truth]
    compared = found[0].is_ratio or found[0].scale == "difference"
    scale = Scale.around([*everything, *([0.0] if compared else [])])
    if found[0].scale == "share":
        scale = Scale(0.0, 1.0 if len(kept) == 1 else min(1.0, 1.08 * max(everything)))
    rows: list[tuple[str, str]] = []
    for one, sentence, (low, inner_low, inner_high, high) in zip(kept, sentences, own, strict=False):
        parts = [(low, high, "wide"), (inner_low, inner_high, "inner")]
        if one.name in exact:
            parts.append((ends(exact[one.name])[0], ends(exact[one.name])[3], "wide exact"))
        prior = ends(before[one.name]) if one.name in before else None
        behind = None if prior is None else (prior[0], prior[3])
        mark = float(truth[one.name][0]) if one.name in truth else None
        strip = interval(scale, parts, float(one.values.mean()), label=sentence, behind=behind, truth=mark)
        rows.append((sentence, strip if one in placed else ""))
    return tuple(rows), scale


def _is_spread(one: EffectDraws) -> bool:
    """Whether it says how far levels lie apart: on an axis of their means it has no place."""
    return one.scale == "amount" and one.name.startswith("sd by ")


def _by_name(posterior: Posterior, draws: Any) -> dict[str, Any]:
    """The same effects from other draws; none where those lack a parameter."""
    import numpy as np

    try:
        found = effect_draws(posterior, {name: np.asarray(values) for name, values in draws.items()})
    except (KeyError, IndexError):  # of simulated rows some parameters are not known
        return {}
    return {one.name: one.values for one in found if np.isfinite(one.values).all()}


def _scale_row(scale: Scale, one: EffectDraws) -> str:
    if one.scale == "share":
        return scale.labelled([(tick, f"{100 * tick:.4g}%") for tick in ticks(scale.low, scale.high, 5)])
    if not one.is_ratio:
        return scale.ticks()
    return scale.labelled([(math.log(tick), _ratio(tick)) for tick in ratio_ticks(scale.low, scale.high)])


def _ratio(tick: float) -> str:
    """A ratio on an axis, as a power of ten where it is one with four zeros or more."""
    power = math.log10(tick)
    huge = abs(power) >= 4 and abs(power - round(power)) < 1e-9
    return f"10^{round(power)}" if huge else rounded(tick)


def _axis(posterior: Posterior, one: EffectDraws) -> str:
    if one.is_ratio:
        return f"times the {one.scale}; left of 1 is lower, right of it higher"
    model = posterior.plan.model
    about = model.design(posterior.plan.schema).formula.response if isinstance(model, Regression) else None
    if one.scale == "difference":
        return f"higher or lower in {about}"
    return "share" if one.scale == "share" else str(about or getattr(model, "column", "value"))


def _factor(log_factor: float) -> str:
    """e^log_factor, rounded up."""
    if log_factor > 13:
        return f"10^{math.ceil(log_factor / math.log(10))}"
    value = math.exp(log_factor)
    digits = 2 if value >= 1.1 else 2 + max(0, math.ceil(-math.log10(max(math.expm1(log_factor), 1e-9))))
    return f"{math.ceil(value * 10.0**digits) / 10.0**digits:.{digits}f}"
