"""Posterior draws: the mechanism that releases k draws from a tempered posterior, rounded to a public grid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from tacit.bibliography import Paper
from tacit.errors import BrokenMediumError, InputError, did_you_mean, expected
from tacit.mechanisms.mechanism import CalibratedMechanism, Central, NoiseParameters
from tacit.mechanisms.person import Person
from tacit.mechanisms.posterior_sample.loss import CONVERGED, DrawSettings, Loss
from tacit.mechanisms.posterior_sample.registry import loss_for, loss_kind
from tacit.mechanisms.posterior_sample.row_loss import RowLoss
from tacit.mechanisms.request import Request
from tacit.models.draw_parameters import FAILED, DrawParameters
from tacit.noise.entropy import Entropy
from tacit.privacy.basis import Basis
from tacit.privacy.events import Event
from tacit.privacy.guarantees import ApproxDP, Guarantee
from tacit.statistics.accumulator import Accumulator

_LARGEST = 2**61  # of a rounded number: what lies beyond counts as a failure


@dataclass(frozen=True)
class PosteriorDraws(CalibratedMechanism):
    """k draws from ``loss`` with the numbers of ``drawn``, rounded to its grid."""

    loss: Loss
    drawn: DrawParameters

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the loss."""
        return self.loss.columns

    @property
    def entries(self) -> tuple[str, ...]:
        """The parameters, draw by draw."""
        names = self.loss.parameters
        if self.drawn.draws == 1:
            return names
        return tuple(f"draw {i}: {name}" for i in range(1, self.drawn.draws + 1) for name in names)

    @property
    def unit(self) -> int:
        """The steps of the grid that make a 1."""
        return self.drawn.grid

    @property
    def noise_parameters(self) -> DrawParameters:
        """The density and the grid."""
        return self.drawn

    @property
    def rows(self) -> int | None:
        return self.loss.settings.n

    @property
    def basis(self) -> Basis:
        """That of the loss and of its sampler."""
        return self.loss.basis

    @property
    def assumes(self) -> tuple[str, ...]:
        """What the loss takes for granted."""
        return self.loss.assumes(dict(self.drawn.numbers))

    def event(self) -> Event:
        """The event of the loss.

        Proof: what leaves is k draws from the loss's density, each from coins of its own, rounded to a grid that is
        fixed beforehand. Rounding, and replacing a draw that is too large for the grid by the sign of failure, is
        post-processing. A sampler that is proved fails in no other way (`Loss.draw`); the failures of one that is
        assumed are part of the declared gamma. n is public under replace-one. `Loss.event` proves what draws cost. []
        """
        return self.loss.event(dict(self.drawn.numbers))

    def accumulator(self) -> Accumulator:
        """That of the loss."""
        return self.loss.accumulator()

    def cross(self, collected: Any, n: int, entropy: Entropy) -> tuple[int, ...]:
        """The draws on the grid; a draw that failed is released as such, whatever the reason."""
        declared = self.rows
        if declared is not None and n != declared:  # where the source did not tell beforehand
            said = expected("n", declared, "of [mechanism] to be the number of rows; the budget counts as spent")
            raise BrokenMediumError(str(said))
        found: list[int] = []
        for draw in self._draws(collected, n, entropy):
            found += self._rounded(draw)
        return tuple(found)

    def _draws(self, collected: Any, n: int, entropy: Entropy) -> Any:
        """The loss's draws; a fault that nobody foresaw is a failure of all of them, and says nothing of the rows."""
        try:
            return self.loss.draw(dict(self.drawn.numbers), collected, n, entropy)
        except Exception:
            return [None] * self.drawn.draws

    def _rounded(self, draw: Any) -> list[int]:
        failed = [FAILED] * self.drawn.parameters
        if draw is None or not all(abs(float(value)) <= _LARGEST / self.unit for value in draw):  # NaN is not
            return failed
        return [round(float(value) * self.unit) for value in draw]

    def check(self, values: tuple[int, ...], n: int | None) -> None:
        """Every number lies where draws can lie, or its whole draw failed; n is the declared one."""
        declared = self.rows
        if declared is not None and n != declared:
            raise expected("n", n, f"to be the declared number of rows, {declared}")
        low, high = (bound * self.unit for bound in self.loss.bounds)
        size = self.drawn.parameters
        for start in range(0, len(values), size):
            draw = values[start : start + size]
            if any(v == FAILED for v in draw) and any(v != FAILED for v in draw):
                raise InputError("Expected a draw to have failed as a whole or not at all.")
            if draw[0] != FAILED and not all(low <= v <= high and abs(v) <= _LARGEST for v in draw):
                raise InputError("Expected values to lie where the parameters can lie.")


@dataclass(frozen=True)
class Drawing(Central):
    """A mechanism that releases points of a parameter space, each row being one person: draws, states, an end."""

    noise_parameters_field: ClassVar[str] = "sample"

    @property
    def person(self) -> Person | None:
        """Every row is one."""
        return None

    def noise_parameters_from_plain(self, plain: object) -> DrawParameters:
        """Read a release's sample."""
        return DrawParameters.from_plain(plain)

    @staticmethod
    def drawn(
        loss: Loss, budget: Guarantee, noise_parameters: NoiseParameters | None, *, named: str, draws: int, grid: int
    ) -> DrawParameters:
        """The distribution of what is released from ``loss``: calibrated to the budget, or with the numbers of a
        release.
        """
        if noise_parameters is not None and not isinstance(noise_parameters, DrawParameters):
            raise expected("sample", noise_parameters.kind, f"to be {DrawParameters.kind}")
        numbers = loss.calibrate(budget) if noise_parameters is None else dict(noise_parameters.numbers)
        return DrawParameters(
            loss=named,
            sampler=loss.sampler,
            numbers=tuple((name, float(numbers[name])) for name in sorted(numbers)),
            draws=draws,
            grid=grid,
            parameters=len(loss.parameters),
            coordinates=loss.coordinates(numbers),
        )


@dataclass(frozen=True)
class PosteriorSample(DrawSettings, Drawing):
    """The mechanism that releases posterior draws; its fields are those of `DrawSettings`.

    Left out, one draw from the posterior with the data weighted down until it meets the budget (diffused), by the
    log-likelihood, on a grid of 2^20 steps to a 1.
    """

    kind: ClassVar[str] = "posterior-sample"

    @property
    def papers(self) -> tuple[Paper, ...]:
        """Those of the loss."""
        return loss_kind(self.loss).papers

    @property
    def takes_unclamped(self) -> bool:
        """Where the loss is bounded whatever the covariates are."""
        return loss_kind(self.loss).unclamped

    @property
    def retired(self) -> bool:
        """Where a chain's plan did not have to say ``assume`` yet."""
        return self.earlier

    @property
    def whole_rows(self) -> bool:
        """Not where the covariates are taken for public."""
        return self.private == "record"

    def calibrated_mechanism(self, request: Request, noise_parameters: NoiseParameters | None = None) -> PosteriorDraws:
        """The loss with numbers calibrated to the budget, or with the numbers that a release has."""
        loss = loss_for(request.model, request.schema, self)
        if not self.earlier:
            self._check_basis(loss, request.budget)
        drawn = self.drawn(loss, request.budget, noise_parameters, named=self.loss, draws=self.draws, grid=self.grid)
        return PosteriorDraws(loss, drawn)

    def _check_basis(self, loss: Loss, budget: Guarantee) -> None:
        """Refuse an assumption that the plan does not say, that it does not need, or that its budget cannot hold."""
        if loss.basis is Basis.PROVED:
            if self.assume is not None:
                raise expected("assume", self.assume, f"to be left out: draws by {loss.sampler} have a proof")
            return
        if self.assume is None:
            other = '; sampler = "rejection" has a proof, and may take long' if _convex(loss) else ""
            raise expected(
                "assume",
                None,
                f'to be "{CONVERGED}" in [mechanism], with gamma above 0 and a budget of epsilon and delta: nobody '
                f"bounds how far draws by {loss.sampler} are from this posterior, so that nothing is proved{other}",
            )
        if not isinstance(budget, ApproxDP):
            raise expected(
                "budget",
                budget.symbols,
                f'to be epsilon with delta for draws that assume = "{CONVERGED}": delta has to hold '
                "(1 + e^epsilon) gamma, and nothing else is left of a guarantee when a chain is gamma off",
            )

    def to_plain(self) -> dict[str, Any]:
        """The ``[mechanism]`` table of a plan file."""
        plain: dict[str, Any] = {"kind": self.kind}
        default = DrawSettings()
        for name in _KEYS:
            value = getattr(self, name)
            if value != getattr(default, name):
                plain[name] = plain_value(value)
        return {**plain, **{name: plain_value(value) for name, value in self.options.items()}}

    @classmethod
    def from_plain(cls, table: Mapping[str, Any], *, earlier: bool = False) -> Self:
        """Read the ``[mechanism]`` table of a plan file, less its ``kind``; ``earlier`` is as in `DrawSettings`."""
        own = loss_kind(table.get("loss", DrawSettings().loss)).keys
        known = ("kind", *_KEYS, *own)
        for name in table:
            if name not in known:
                raise expected("mechanism key", name, f"to be one of {', '.join(known)}{did_you_mean(name, known)}")
        said = {name: value for name, value in table.items() if name in _KEYS}
        return cls(**said, options={name: value for name, value in table.items() if name in own}, earlier=earlier)


_KEYS = ("draws", "loss", "tempering", "prior", "public", "n", "private", "grid", "sampler", "gamma", "assume")


def _convex(loss: Loss) -> bool:
    return isinstance(loss, RowLoss) and loss.convex


def plain_value(value: Any) -> Any:
    """A setting as a plan file writes it."""
    if isinstance(value, Mapping):
        return {name: plain_value(v) for name, v in value.items()}
    return [plain_value(v) for v in value] if isinstance(value, tuple) else value
