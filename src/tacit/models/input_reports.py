"""Reports of inputs: every device releases its covariates and its response themselves, plus noise.

Covariates and a numeric response are mapped to [-1, 1] and get Gaussian noise, all in one release; a response of two
levels gets randomized response (kulkarni2022, section 12, with the exact price of both together). Such reports serve
any question, and pay for it: a regression needs products of two of them, so their noise is multiplied.

Only plain numbers can be covariates: Gaussian noise on indicators of levels would not know that they exclude each
other. Clamping is not part of the likelihood, as it is not for sums of products.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tacit.errors import expected
from tacit.models.regression import DesignMatrix
from tacit.privacy.guarantees import Guarantee
from tacit.protocols.domain import Block
from tacit.protocols.label_and_vector import LabelAndVector
from tacit.protocols.local_randomizer import Encoder, LocalRandomizer
from tacit.protocols.noisy_vector import NoisyVector
from tacit.schema import Schema
from tacit.statistics.design import Scaled, Sign
from tacit.statistics.gram import Gram

INPUTS = "inputs"


@dataclass(frozen=True)
class RowInputs(Encoder):
    """The covariates and the response of ``gram`` on its lattice; a response of two levels comes first, as a code."""

    gram: Gram

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the statistic."""
        return self.gram.columns

    @property
    def numbers(self) -> tuple[Scaled, ...]:
        """The covariates."""
        return tuple(column for column in self.gram.design if isinstance(column, Scaled))

    @property
    def covariates(self) -> Block:
        """Where the covariates lie: a box, or the part of it in a ball."""
        low, high = zip(*(column.number.bounds(self.gram.steps) for column in self.numbers), strict=True)
        radius = self.gram.radius
        return Block(low, high, None if radius is None else math.floor(radius * radius * self.gram.steps**2))

    def encode(self, columns: Mapping[str, Any]) -> Any:
        """As `Gram.matrix` has them, without the constant."""
        import numpy as np

        rows = self.gram.matrix(columns).astype(np.int64)
        places = [i for i, column in enumerate(self.gram.design) if isinstance(column, Scaled)]
        response = rows[:, -1:]
        if isinstance(self.gram.response, Sign):
            return np.concatenate([(response > 0).astype(np.int64), rows[:, places]], axis=1)
        return np.concatenate([rows[:, places], response], axis=1)


@lru_cache(maxsize=64)
def input_client(gram: Gram, schema: Schema, budget: Guarantee) -> LocalRandomizer:
    """A device that adds noise to its covariates and its response."""
    encoder = RowInputs(gram)
    if isinstance(gram.response, Sign):
        return LocalRandomizer(schema, encoder, LabelAndVector.calibrate(2, [encoder.covariates], budget))
    low, high = gram.response.number.bounds(gram.steps)
    blocks = [encoder.covariates, Block((low,), (high,))]
    return LocalRandomizer(schema, encoder, NoisyVector.calibrate(blocks, budget))


def check_numbers(design: DesignMatrix) -> None:
    """Refuse a design that is not an intercept and plain numbers."""
    if not design.all_numeric:
        raise expected(
            "formula",
            str(design.formula),
            f"to have an intercept and plain numbers only for the protocol {INPUTS!r}; 'statistics' takes any",
        )


def in_mapped_units(randomizer: LocalRandomizer, reports: Any) -> Any:
    """Reports (N, m) as real numbers, the lattice undone; the code of a label stays as it is."""
    import numpy as np

    assert isinstance(randomizer.encoder, RowInputs)
    found = np.asarray(reports, np.float64) / randomizer.encoder.gram.steps
    if isinstance(randomizer.protocol, LabelAndVector):
        found[:, 0] = reports[:, 0]
    return found


def noise_variances(randomizer: LocalRandomizer) -> tuple[float, ...]:
    """The variance of the noise on every number of a report, in mapped units."""
    encoder, protocol = randomizer.encoder, randomizer.protocol
    assert isinstance(encoder, RowInputs)
    vector = protocol.vector if isinstance(protocol, LabelAndVector) else protocol
    assert isinstance(vector, NoisyVector)
    return tuple((sd / encoder.gram.steps) ** 2 for sd in vector.noise.sd)
