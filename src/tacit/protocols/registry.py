"""The protocols by kind."""

from __future__ import annotations

from collections.abc import Mapping

from tacit.errors import did_you_mean, expected
from tacit.protocols.label_and_vector import LabelAndVector
from tacit.protocols.noisy_number import NoisyNumber
from tacit.protocols.noisy_statistic import NoisyStatistic
from tacit.protocols.noisy_vector import NoisyVector
from tacit.protocols.protocol import Protocol
from tacit.protocols.randomized_response import RandomizedResponse
from tacit.protocols.unary_encoding import UnaryEncoding

PROTOCOLS: dict[str, type[Protocol]] = {
    protocol.kind: protocol
    for protocol in (RandomizedResponse, UnaryEncoding, NoisyNumber, NoisyVector, NoisyStatistic, LabelAndVector)
}


def protocol_from_plain(plain: object) -> Protocol:
    """Read what `Protocol.to_plain` wrote, exactly."""
    if not isinstance(plain, Mapping):
        raise expected("protocol", plain, "to be a table with a kind")
    kind = plain.get("kind")
    if not isinstance(kind, str) or kind not in PROTOCOLS:
        raise expected("protocol kind", kind, f"to be one of {', '.join(PROTOCOLS)}{did_you_mean(kind, PROTOCOLS)}")
    return PROTOCOLS[kind].from_plain(plain)
