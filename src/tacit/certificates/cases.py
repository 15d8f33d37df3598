"""Everything that a certificate is about: each registered family, with each mechanism that suits it, and each method.

Nothing here names a family or a mechanism's variant that it could ask for: a new one appears by being registered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import singledispatch
from itertools import product
from typing import Any

from tacit.errors import InputError
from tacit.mechanisms.add_noise import AddNoise
from tacit.mechanisms.dp_sgd import descent_settings
from tacit.mechanisms.dp_sgd.dp_sgd import DPSGD
from tacit.mechanisms.local import Local
from tacit.mechanisms.mechanism import Mechanism
from tacit.mechanisms.posterior_sample.loss import CONVERGED
from tacit.mechanisms.posterior_sample.posterior_sample import PosteriorSample
from tacit.mechanisms.posterior_sample.registry import LOSSES
from tacit.mechanisms.private_chain import chain_settings
from tacit.mechanisms.private_chain.private_chain import PrivateChain
from tacit.mechanisms.registry import MECHANISMS
from tacit.models.local import LocalModel
from tacit.models.model import Example, Model
from tacit.models.registry import DRAWN, FAMILIES, SCORED
from tacit.models.score_model import ScorePrior
from tacit.noise.registry import NOISES
from tacit.plan import Plan
from tacit.privacy.guarantees import GDP, ZCDP, ApproxDP, Guarantee, PureDP, RenyiDP
from tacit.privacy.neighbours import ADD_REMOVE

# A plan is certified under the first of these that it can meet.
BUDGETS: tuple[Guarantee, ...] = (
    PureDP(1.0),
    ApproxDP(1.0, 1e-5),
    RenyiDP(2.0, 0.5),
    ZCDP(0.1),
    GDP(0.5),
)
GAMMA = 1e-7
"""What a chain is assumed to be off by, where a loss has no sampler with a proof."""

ROWS = 200
"""The number of rows that a mechanism is told where its price depends on it, and that calibration simulates."""


@dataclass(frozen=True)
class Case:
    """One row of the certificate: a family's example under a mechanism; ``method`` is empty for the audit alone."""

    family: str
    mechanism: str
    method: str
    plan: Plan
    example: Example[Model]

    @property
    def key(self) -> str:
        """The name of the row."""
        return " / ".join(part for part in (self.family, self.mechanism, self.method) if part)

    @property
    def prior(self) -> Mapping[str, Any] | None:
        """The example's changes to the family's prior; None where the mechanism has one of its own."""
        default = self.plan.mechanism.default_prior(self.plan.model, self.plan.schema)
        return None if isinstance(default, ScorePrior) else self.example.prior


@singledispatch
def variants(mechanism: object, model: Model, schema: Any) -> Iterator[tuple[str, Mechanism]]:
    """The mechanisms of one kind that may suit a model, by name; asked with the kind's plainest value."""
    if isinstance(mechanism, Mechanism):
        yield mechanism.kind, mechanism


@variants.register
def _(mechanism: AddNoise, model: Model, schema: Any) -> Iterator[tuple[str, Mechanism]]:
    for law in NOISES:
        yield f"{mechanism.kind}, {law}", AddNoise(law)


@variants.register
def _(mechanism: Local, model: Model, schema: Any) -> Iterator[tuple[str, Mechanism]]:
    for protocol in model.protocols(schema) if isinstance(model, LocalModel) else ():
        yield f"{mechanism.kind}, {protocol}", Local(protocol)


@variants.register
def _(mechanism: PosteriorSample, model: Model, schema: Any) -> Iterator[tuple[str, Mechanism]]:
    for loss, kind in LOSSES.items():
        # A loss may have to be told n, that its Markov chain is taken to converge, or a number of its own.
        own: list[dict[str, float]] = [{}, *({key: 1.0} for key in kind.keys)]
        chain: dict[str, Any] = {"gamma": GAMMA, "assume": CONVERGED}
        for n, said, options in product((None, ROWS), ({}, chain), own):
            yield f"{mechanism.kind}, {loss}", PosteriorSample(loss=loss, n=n, options=options, **said)


@variants.register
def _(mechanism: DPSGD, model: Model, schema: Any) -> Iterator[tuple[str, Mechanism]]:
    for loss in descent_settings.LOSSES:
        # Few steps, of half of the rows; a model may have to be told a number of its own.
        own: list[dict[str, float]] = [{}, *({key: 1.0} for key in descent_settings.KEYS if key != "beta")]
        for options in own:
            made = DPSGD(n=ROWS, batch=ROWS // 2, steps=20, loss=loss, clip=1.0, options=options)
            yield f"{mechanism.kind}, {loss}", made


@variants.register
def _(mechanism: PrivateChain, model: Model, schema: Any) -> Iterator[tuple[str, Mechanism]]:
    for chain in chain_settings.CHAINS:
        own: list[dict[str, float]] = [{}, {"sigma_min": 1.0}]
        for clip, options in product((None, 1.0), own):
            batch = ROWS // 2 if chain == "fast-mh" else None
            yield (
                f"{mechanism.kind}, {chain}",
                PrivateChain(chain, steps=20, n=ROWS, batch=batch, clip=clip, options=options),
            )


def audited() -> list[Case]:
    """One case for every family, mechanism and variant of it that some example can carry out."""
    found: dict[str, Case] = {}
    for family, model in {**FAMILIES, **SCORED, **DRAWN}.items():
        for example in model.examples():
            for kind in MECHANISMS.values():
                for name, mechanism in variants(kind(), example.model, example.schema):
                    key = f"{family} / {name}"
                    if key not in found and (plan := _plan(example, mechanism)) is not None:
                        found[key] = Case(family, name, "", plan, example)
    return [one for case in found.values() for one in (case, *_where_n_is_latent(case))]


def _where_n_is_latent(case: Case) -> Iterator[Case]:
    """The same under add-remove; of the noise distributions, with the one that pure epsilon gets."""
    mechanism = case.plan.mechanism
    if mechanism.takes_add_remove and (not isinstance(mechanism, AddNoise) or mechanism.law == next(iter(NOISES))):
        budget = replace(case.plan.budget, neighbours=ADD_REMOVE)
        yield replace(case, mechanism=f"{case.mechanism}, {ADD_REMOVE}", plan=replace(case.plan, budget=budget))


def calibrated(cases: Iterable[Case]) -> list[Case]:
    """One case for every method of every audited case; of the noise distributions, the one that pure epsilon gets."""
    from tacit.infer import method_for, problem_of

    found: list[Case] = []
    for case in cases:
        if isinstance(case.plan.mechanism, AddNoise) and case.plan.mechanism.law != next(iter(NOISES)):
            continue
        problem = problem_of(case.plan, case.prior, ROWS)
        for method in problem.methods:
            try:
                method_for(problem, method)
            except InputError:
                continue
            found.append(Case(case.family, case.mechanism, method, case.plan, case.example))
    return found


def _plan(example: Example[Model], mechanism: Mechanism) -> Plan | None:
    for budget in BUDGETS:
        try:
            return Plan(example.model, example.schema, budget, mechanism)
        except InputError:
            continue
    return None
