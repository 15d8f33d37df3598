"""The mechanisms by kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacit.errors import did_you_mean, expected
from tacit.mechanisms.add_noise import AddNoise
from tacit.mechanisms.dp_sgd.dp_sgd import DPSGD
from tacit.mechanisms.local import Local
from tacit.mechanisms.mechanism import Mechanism
from tacit.mechanisms.posterior_sample.posterior_sample import PosteriorSample
from tacit.mechanisms.private_chain.private_chain import PrivateChain

MECHANISMS: dict[str, type[Mechanism]] = {
    mechanism.kind: mechanism for mechanism in (AddNoise, Local, PosteriorSample, DPSGD, PrivateChain)
}


def mechanism_from_plain(table: Mapping[str, Any], *, earlier: bool = False) -> Mechanism:
    """Read the ``[mechanism]`` table of a plan file, or with ``earlier`` that of draws that are no longer made."""
    kind = table.get("kind")
    for name in table:
        if kind is None and (hint := did_you_mean(name, ["kind"])):
            raise expected("mechanism key", name, f"to be one that [mechanism] has{hint}")
    if not isinstance(kind, str) or kind not in MECHANISMS:
        known = ", ".join(f'"{name}"' for name in MECHANISMS)
        raise expected("kind", kind, f"of [mechanism] to be {known}{did_you_mean(kind, MECHANISMS)}")
    if earlier and MECHANISMS[kind] is PosteriorSample:
        return PosteriorSample.from_plain(
            {name: value for name, value in table.items() if name != "kind"}, earlier=True
        )
    return MECHANISMS[kind].from_plain({name: value for name, value in table.items() if name != "kind"})
