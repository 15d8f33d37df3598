"""Private chains: the mechanism that releases the last states of a Markov chain which sees the rows by noisy sums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from tacit._support.renamed import renamed_arguments
from tacit.bibliography import JEWSON_2023, Paper
from tacit.errors import did_you_mean, expected
from tacit.mechanisms.mechanism import NoiseParameters
from tacit.mechanisms.posterior_sample.beta_divergence import KEYS
from tacit.mechanisms.posterior_sample.posterior_sample import Drawing, PosteriorDraws, plain_value
from tacit.mechanisms.private_chain.chain import ChainLoss, chain_loss
from tacit.mechanisms.private_chain.chain_settings import ChainSettings
from tacit.mechanisms.request import Request


@dataclass(frozen=True)
class ChainDraws(PosteriorDraws):
    """The last states of a private chain, rounded to the grid."""

    @property
    def chain(self) -> ChainLoss:
        """The chain."""
        assert isinstance(self.loss, ChainLoss)
        return self.loss


@renamed_arguments(leaps="num_leapfrog_steps")
@dataclass(frozen=True)
class PrivateChain(ChainSettings, Drawing):
    """The mechanism that releases states of a private chain; its fields are those of `ChainSettings`."""

    kind: ClassVar[str] = "private-chain"

    @property
    def papers(self) -> tuple[Paper, ...]:
        """Where the chains are compared."""
        return (JEWSON_2023,)

    def calibrated_mechanism(self, request: Request, noise_parameters: NoiseParameters | None = None) -> ChainDraws:
        """The chain with noise calibrated to the budget, or with the numbers that a release has."""
        loss = chain_loss(request.model, request.schema, self)
        drawn = self.drawn(
            loss, request.budget, noise_parameters, named=loss.settings.loss, draws=self.draws, grid=self.grid
        )
        return ChainDraws(loss, drawn)

    def to_plain(self) -> dict[str, Any]:
        """The ``[mechanism]`` table of a plan file."""
        plain: dict[str, Any] = {"kind": self.kind, "chain": self.chain}
        for name in _NAMES:
            value = getattr(self, _FIELDS.get(name, name))
            if value != _DEFAULTS[name]:
                plain[name] = plain_value(value)
        return {**plain, **{name: plain_value(value) for name, value in self.options.items()}}

    @classmethod
    def from_plain(cls, table: Mapping[str, Any]) -> Self:
        """Read the ``[mechanism]`` table of a plan file, less its ``kind``."""
        known = ("kind", "chain", *_NAMES, *KEYS)
        for name in table:
            if name not in known:
                raise expected("mechanism key", name, f"to be one of {', '.join(known)}{did_you_mean(name, known)}")
        if "chain" not in table:
            raise expected("chain", None, "of [mechanism] to be said")
        said = {_FIELDS.get(name, name): value for name, value in table.items() if name not in KEYS}
        return cls(**said, options={name: value for name, value in table.items() if name in KEYS})


_NAMES = ("steps", "n", "batch", "step_size", "leaps", "clip", "draws", "thin", "prior", "grid")
_FIELDS = {"leaps": "num_leapfrog_steps"}  # where a plan file has another word
_DEFAULTS = {name: getattr(ChainSettings(), _FIELDS.get(name, name)) for name in _NAMES}
