"""The audit of local reports: any two records, through the device's own code, against the distribution of its
protocol.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import singledispatch
from itertools import combinations, product
from typing import Any

import numpy as np

from tacit.audit.check import Check
from tacit.audit.curve import Curve, curve_of
from tacit.audit.draws import category_test, noise_tests
from tacit.audit.effort import Effort
from tacit.audit.findings import attacked, bounded, drawn, exact, priced
from tacit.audit.neighbours import Record
from tacit.audit.output_distributions import report_parts
from tacit.audit.sensitivity import search_pairs
from tacit.device import parsed_cell
from tacit.errors import InputError
from tacit.noise.entropy import OSEntropy
from tacit.noise.noise import Noise
from tacit.plan import Plan
from tacit.protocols.label_and_vector import LabelAndVector
from tacit.protocols.local_randomizer import LocalRandomizer
from tacit.protocols.noisy_statistic import NoisyStatistic
from tacit.protocols.protocol import Protocol

_FEW_INPUTS = 16  # up to so many different inputs, every pair of them is looked at
_FEW_REPORTS = 2**12


def local_reports(randomizer: LocalRandomizer, plan: Plan, effort: Effort) -> list[Check]:
    """All checks of what one person's device does."""
    protocol, event = randomizer.protocol, randomizer.protocol.event()
    checks = [priced(event, plan.budget)]

    def locate(records: Sequence[Record]) -> list[list[int]]:
        return [[int(v) for v in row] for row in _encoded(randomizer, records)]

    size = protocol.inputs.size
    weights = tuple(Fraction(s) for s in _scales(protocol, size))
    try:
        found = search_pairs(randomizer.columns, randomizer.schema, weights, locate, seed=effort.seed)
        pairs: list[tuple[Record, Record]] = [found.l1_pair, found.l2_pair, *_few_pairs(randomizer, locate)]
        for pair in pairs:
            protocol.check_inputs(np.array(locate(pair)))
    except InputError as error:
        words = f"A record makes the device fail ({type(error).__name__}), and failing tells about it."
        return [*checks, Check("public part", True, words, proof=True)]
    if isinstance(protocol, NoisyStatistic):
        own = search_pairs(
            randomizer.columns, randomizer.schema, protocol.sensitivity.relative_scales, locate, seed=effort.seed
        )
        checks.append(bounded(own, protocol.sensitivity, protocol.unit))
        pairs += [own.l1_pair, own.l2_pair]
    curves: list[tuple[Curve, Any]] = []
    for pair in pairs:
        first, second = locate(pair)
        parts = report_parts(protocol, first, second)
        if first != second and parts is not None:
            curves.append((curve_of(parts), pair))
    witness: Any = pairs[0]
    if curves:
        checks.append(exact(curves, plan.budget, event))
        witness = checks[-1].witness
    if effort.runs:
        checks += _outcomes(randomizer, plan, effort, witness)
    return checks


def _encoded(randomizer: LocalRandomizer, records: Sequence[Record]) -> Any:
    """What the protocol is given for each record, cell by cell as a device parses them."""
    parsed = [{name: parsed_cell(record, name, randomizer.schema) for name in randomizer.columns} for record in records]
    together = {name: np.concatenate([one[name] for one in parsed]) for name in randomizer.columns}
    return randomizer.encoder.encode(together)


def _few_pairs(randomizer: LocalRandomizer, locate: Any) -> list[tuple[Record, Record]]:
    """All pairs of levels, where the device asks for nothing but one column with few levels."""
    columns = [randomizer.schema.declared(name) for name in randomizer.columns]
    levels = getattr(columns[0], "levels", None)
    if len(columns) > 1 or levels is None or len(levels) > _FEW_INPUTS:
        return []
    return [({randomizer.columns[0]: a}, {randomizer.columns[0]: b}) for a, b in combinations(levels, 2)]


def _outcomes(randomizer: LocalRandomizer, plan: Plan, effort: Effort, witness: Any) -> list[Check]:
    protocol = randomizer.protocol
    inputs = _encoded(randomizer, witness)
    p_values: dict[str, float] = {}
    scores: list[Any] = []
    for name, own in zip(("first", "second"), inputs, strict=True):
        reports = protocol.randomize(np.repeat(own[None, :], effort.runs, axis=0), OSEntropy())
        p_values |= {f"{name}: {test}": p for test, p in report_tests(protocol, reports, own).items()}
        first, second = (protocol.log_pmf(reports, one[None, :]) for one in inputs)
        scores.append(np.clip(second, -1e6, 1e6) - np.clip(first, -1e6, 1e6))
    attack = attacked(scores[0], scores[1], plan.budget, effort, witness, "a likelihood-ratio attack")
    return [drawn(p_values, effort, 2 * effort.runs), attack]


@singledispatch
def report_tests(protocol: Protocol, reports: Any, own: Any) -> dict[str, float]:
    """p-values that the reports of one input follow `log_pmf`: noise by its own tests, few reports by counting."""
    noise = getattr(protocol, "noise", None)
    if isinstance(noise, Noise):
        return noise_tests(np.asarray(reports, dtype=object) - np.asarray(own, dtype=object), noise)
    ranges = [range(a, b + 1) for block in protocol.reports.blocks for a, b in zip(block.low, block.high, strict=True)]
    if math.prod(map(len, ranges)) > _FEW_REPORTS:
        return {}
    everything = np.array(list(product(*ranges)))
    codes = {tuple(row): i for i, row in enumerate(everything.tolist())}
    seen = [codes[tuple(row)] for row in np.asarray(reports).tolist()]
    return {"fit": category_test(seen, np.exp(protocol.log_pmf(everything, own[None, :])))}


@report_tests.register
def _(protocol: LabelAndVector, reports: Any, own: Any) -> dict[str, float]:
    label = report_tests(protocol.label, reports[:, :1].astype(np.int64), own[:1])
    vector = report_tests(protocol.vector, reports[:, 1:], own[1:])
    return {f"label {name}": p for name, p in label.items()} | vector


@singledispatch
def _scales(protocol: Protocol, size: int) -> tuple[int, ...]:
    """The unit in which inputs are far apart: the noise's scale, or one."""
    noise = getattr(protocol, "noise", None)
    return noise.scales if isinstance(noise, Noise) else (1,) * size


@_scales.register
def _(protocol: LabelAndVector, size: int) -> tuple[int, ...]:
    return (1, *protocol.vector.noise.scales)
