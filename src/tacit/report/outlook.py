"""How much narrower an interval would be with twice the rows, or with twice the budget.

Write S for the part of a variance that sampling has and P for that of privacy (`tacit.report.uncertainty`). An estimate
is about a sum over n: twice the rows halve S and leave the noise of the sum as it is, so that P falls to a quarter.
Twice the budget leaves S and multiplies P by the square of the ratio of both noises' standard deviations. Both are
approximations: they take the posterior for one in which estimates are linear in the sums.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from tacit.errors import TacitError
from tacit.noise.noise import Noise
from tacit.plan import Plan
from tacit.posterior import Posterior
from tacit.report.uncertainty import Split


def answering_splits(posterior: Posterior, splits: Sequence[Split]) -> list[Split]:
    """The splits of what answers the question, under the names of the effects; all of them where names differ."""
    model, schema = posterior.plan.model, posterior.plan.schema
    variable = next(iter(model.dims(schema)))
    own = [one for one in splits if one.name == variable or one.name.startswith(f"{variable}[")]
    effects = posterior.effects()
    if len(own) == len(effects):
        return [replace(one, name=effect.name) for one, effect in zip(own, effects, strict=True)]
    named = {one.name: one for one in own}
    labels = [effect.name.partition(", +")[0].replace(": ", ", ") for effect in effects]  # "group: level" is two labels
    matched = [(named.get(f"{variable}[{label}]"), effect) for label, effect in zip(labels, effects, strict=True)]
    found = [replace(one, name=effect.name) for one, effect in matched if one is not None]
    if effects and len(found) == len(effects):
        return found
    means = {one.name: one for one in splits}
    groups = [replace(one, name=effect.name) for effect in effects if (one := means.get(f"group_mean[{effect.name}]"))]
    return groups or list(own or splits)


def outlook(posterior: Posterior, splits: Sequence[Split]) -> dict[str, tuple[float, ...]]:
    """By name, the width of an interval with twice the rows and with twice the budget, over its width now."""
    ratio = None if posterior.surveys else _noise_with_twice(posterior.plan)
    found: dict[str, tuple[float, ...]] = {}
    if ratio is None:
        return found
    for one in answering_splits(posterior, splits):
        share = one.privacy_share
        rows = math.sqrt((1 - share) / 2 + share / 4)
        found[one.name] = (rows, math.sqrt(1 - share + share * ratio**2))
    return found


def _noise_with_twice(plan: Plan) -> float | None:
    """The noise with twice the budget over that with once, as the plan calibrates both; None for other mechanisms."""
    name = "epsilon" if "epsilon" in plan.budget.parameters() else plan.budget.parameters()[0]
    try:
        wider = replace(plan, budget=replace(plan.budget, **{name: 2 * getattr(plan.budget, name)}))
    except TacitError:  # twice the budget is more than there may be
        return None
    before, after = (one.calibrated_mechanism().noise_parameters for one in (plan, wider))
    if not isinstance(before, Noise) or not isinstance(after, Noise):
        return None
    return max(b / a for a, b in zip(before.sd, after.sd, strict=True))
