"""The mechanisms by kind."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from tacit.errors import InputError, did_you_mean, expected
from tacit.mechanisms.add_noise import AddNoise
from tacit.mechanisms.dp_sgd.dp_sgd import DPSGD
from tacit.mechanisms.local import Local
from tacit.mechanisms.mechanism import Mechanism
from tacit.mechanisms.newton import Newton
from tacit.mechanisms.person import KEYS
from tacit.mechanisms.posterior_sample.posterior_sample import PosteriorSample
from tacit.mechanisms.private_chain.private_chain import PrivateChain
from tacit.models.likelihood_model import LikelihoodModel
from tacit.models.model import Model
from tacit.models.score_model import ScoreModel
from tacit.schema import Schema
from tacit.statistics.design import Scaled

MECHANISMS: dict[str, type[Mechanism]] = {
    mechanism.kind: mechanism for mechanism in (AddNoise, Newton, Local, PosteriorSample, DPSGD, PrivateChain)
}

DEFAULT = "default"
"""The kind that a new plan file names to leave the choice to tacit: the plan that is read has the one that it chose."""


def default_mechanism(model: Model, schema: Schema) -> Mechanism:
    """The mechanism of a plan that is made without one: scores in rounds for a regression that would otherwise assume a
    distribution of its numbers, noisy sums for everything else.

    A formula without an intercept has no scores in rounds. A plan file that names no kind means noisy sums, as it
    always has; one that names the kind `DEFAULT` gets this.
    """
    if isinstance(model, LikelihoodModel):
        return Newton()
    if isinstance(model, ScoreModel):
        with suppress(InputError):  # what is wrong with the schema is said by whoever calibrates
            sums = model.score_sums(schema)
            if sums.region.constant and any(isinstance(column, Scaled) for column in sums.design):
                return Newton()
    return AddNoise()


def mechanism_from_plain(table: Mapping[str, Any], *, earlier: bool = False) -> Mechanism:
    """Read the ``[mechanism]`` table of a plan file, or with ``earlier`` that of draws that are no longer made."""
    kind = table.get("kind")
    for name in table:
        if kind is None and name not in KEYS and (hint := did_you_mean(name, ["kind"])):
            raise expected("mechanism key", name, f"to be one that [mechanism] has{hint}")
    if not isinstance(kind, str) or kind not in MECHANISMS:
        known = ", ".join(f'"{name}"' for name in (*MECHANISMS, DEFAULT))
        if "kind" not in table:
            raise InputError(f"Expected [mechanism] to say its kind: {known}.")
        raise expected("kind", kind, f"of [mechanism] to be {known}{did_you_mean(kind, (*MECHANISMS, DEFAULT))}")
    if earlier and MECHANISMS[kind] is PosteriorSample:
        return PosteriorSample.from_plain(
            {name: value for name, value in table.items() if name != "kind"}, earlier=True
        )
    return MECHANISMS[kind].from_plain({name: value for name, value in table.items() if name != "kind"})
