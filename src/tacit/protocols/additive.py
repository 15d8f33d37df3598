"""What every protocol that adds integer noise to its input has in common."""

from __future__ import annotations

from typing import Any

from tacit.errors import expected
from tacit.noise.entropy import Entropy
from tacit.noise.noise import Noise
from tacit.protocols.domain import Block, Domain

_LARGEST_INPUT = 2**62
_SCALES = 2**16  # noise beyond so many scales has probability below 2 e^-65536


def check_sizes(inputs: Domain) -> None:
    """Refuse inputs that an int64 cannot hold together with noise of the same size."""
    for block in inputs.blocks:
        if any(abs(v) > _LARGEST_INPUT for v in (*block.low, *block.high)):
            raise expected("low, high", (block.low, block.high), "to lie between -2^62 and 2^62")


def noisy_domain(inputs: Domain, noise: Noise) -> Domain:
    """Where a noisy input may lie: its box, wider by 65536 scales on either side."""
    low = [v for block in inputs.blocks for v in block.low]
    high = [v for block in inputs.blocks for v in block.high]
    margins = [_SCALES * scale for scale in noise.scales]
    return Domain(
        (
            Block(
                tuple(v - margin for v, margin in zip(low, margins, strict=True)),
                tuple(v + margin for v, margin in zip(high, margins, strict=True)),
            ),
        )
    )


def add_noise(inputs: Any, noise: Noise, entropy: Entropy) -> Any:
    """``inputs`` (rows, entries), int64, plus independent noise: int64, or Python integers where that could wrap."""
    import numpy as np

    drawn = noise.sample(len(inputs), entropy)
    if drawn.dtype == np.int64 and not -_LARGEST_INPUT < int(drawn.min()) <= int(drawn.max()) < _LARGEST_INPUT:
        drawn = drawn.astype(object)
    return inputs + drawn


def noise_log_pmf(noise: Noise, reports: Any, inputs: Any) -> Any:
    """The log probability that noise leads from each input to its report: (..., entries) to (...)."""
    import numpy as np

    return noise.log_pmf(np.subtract(reports, inputs)).sum(axis=-1)
