"""One bounded number a row under any kind of evidence: what the families of one numeric column share.

A cell x is clamped to its bounds and mapped to a number c, affinely: to [-1, 1], or from [0, high] to [0, 1]. Clamping
is part of the model: c follows the rectified distribution of the family, its own density inside the bounds and an atom
at each end (`likelihoods.clamped_distributions`), so that nothing is lost where rows lie outside, and parameters are
those of x before clamping. Three kinds of evidence are about c, and a posterior takes any number of each:

* a central release: sums over n rows of the powers of c (`PowerSums`) plus noise. By the central limit theorem the
  exact sums are normal with n times the mean and the covariance of one row, both exact. Nothing else is approximate.
* reports c + Laplace noise, made on people's own devices (`NoisyNumber`), whose density is known in closed form;
* reports c + Gaussian noise (`NoisyVector` with one entry), likewise.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tacit.errors import expected
from tacit.models.local import LocalModel
from tacit.models.model import Method, Model, Prior, Problem, Site
from tacit.privacy.guarantees import Guarantee
from tacit.protocols.domain import Block
from tacit.protocols.local_randomizer import LatticeNumber, LocalRandomizer
from tacit.protocols.noisy_number import NoisyNumber
from tacit.protocols.noisy_vector import NoisyVector
from tacit.runtime.chain import Arrays, Chain, SamplerSettings
from tacit.schema import Schema
from tacit.statistics.power_sums import PowerSums
from tacit.statistics.shape_check import ShapeCheck

if TYPE_CHECKING:
    from tacit.likelihoods.clamped_distributions import ClampedDistribution
    from tacit.likelihoods.counted_sums import CountedPowerSums

_STEPS = 2**20  # of a device's lattice from 0 to 1: far finer than the noise of any report
_MOST_COUNTS = 10_000
_MOST_COUNTS_GAUSSIAN = 1_000
_FEWEST_NODES, _MOST_NODES = 128, 4096
_SPREAD = 8.0  # Gaussian noise is binned this many standard deviations beyond the bounds; past it lies 1e-15


@dataclass(frozen=True)
class Coding:
    """How cells in [``low``, ``high``] become c: to [-1, 1] if ``signed``, else to [0, 1]; ``counts``: whole cells."""

    column: str
    low: float
    high: float
    signed: bool = False
    counts: bool = False

    @property
    def most(self) -> int | None:
        """The largest count, where cells are counts."""
        return int(self.high) if self.counts else None

    @property
    def middle(self) -> float:
        """The cell that c = 0 stands for."""
        return self.low + (self.high - self.low) / 2 if self.signed else self.low

    @property
    def half(self) -> float:
        """How much of x a step of 1 in c is."""
        return (self.high - self.low) / 2 if self.signed else self.high - self.low

    @property
    def steps(self) -> int:
        """The lattice steps from 0 to 1 on a device: for counts a multiple of the largest one."""
        return _STEPS if self.most is None else self.most * -(-_STEPS // self.most)

    @property
    def ends(self) -> tuple[int, int]:
        """The lattice numbers of the bounds."""
        return -self.steps if self.signed else 0, self.steps


def counts_coding(column: str, schema: Schema, family: str) -> Coding:
    """The coding of a column of counts from 0 to K."""
    bounds = schema.number(column)
    if bounds.low != 0 or not bounds.high.is_integer() or not 1 <= bounds.high <= _MOST_COUNTS:
        raise expected(
            "bounds",
            (bounds.low, bounds.high),
            f"of column {column!r} to be 0 and a whole number from 1 to {_MOST_COUNTS} for a {family} model",
        )
    return Coding(column, bounds.low, bounds.high, counts=True)


@dataclass(frozen=True)
class OneNumber(Model, LocalModel):
    """A family about one numeric column; ``coding``, ``distribution`` and ``original`` say which.

    Its parameters are those of a shape that is assumed, before clamping. ``shape_check`` releases six counts beside the
    sums, for a tenth of the budget (`ShapeCheck`): parameters are inferred from the sums alone, and a posterior that
    does not predict the counts says so first. Left out, a new plan of noisy sums has it; a plan file that says neither
    it nor the kind ``default`` means that there is none, as it always has.
    """

    column: str
    shape_check: bool | None = field(default=None, kw_only=True)

    @abstractmethod
    def coding(self, schema: Schema) -> Coding:
        """How its cells are mapped; refuses bounds that do not fit the family."""

    @abstractmethod
    def distribution(self, prior: Prior, schema: Schema) -> ClampedDistribution:
        """The distribution of c with its prior, in mapped units."""

    @abstractmethod
    def original(self, draws: Arrays, schema: Schema) -> Arrays:
        """The parameters of x in the units of the column, from those of the distribution."""

    @property
    @abstractmethod
    def powers(self) -> tuple[int, ...]:
        """The powers of c whose sums are released."""

    @property
    @abstractmethod
    def shape(self) -> str:
        """The shape that is assumed, and what the parameters then mean, in a few words for a reader."""

    @property
    def models_clamping(self) -> bool:
        """Clamping is part of the distribution of c."""
        return True

    def sums(self, schema: Schema) -> PowerSums:
        """The sums of the powers of c."""
        coding = self.coding(schema)
        return PowerSums(self.column, coding.low, coding.high, self.powers, coding.signed)

    def statistic(self, schema: Schema) -> PowerSums | ShapeCheck:
        """The sums, and the counts of the shape check where it is asked for."""
        if not isinstance(self.shape_check, bool | None):
            raise expected("shape_check", self.shape_check, "to be true or false")
        return ShapeCheck(self.sums(schema)) if self.shape_check else self.sums(schema)

    def settled(self, *, checked: bool) -> Model:
        """With a shape check or without."""
        return self if self.shape_check is not None else replace(self, shape_check=checked)

    @property
    def unchecked(self) -> Model:
        """Without a shape check."""
        return replace(self, shape_check=False)

    def to_plain(self) -> dict[str, Any]:
        """The ``[model]`` table; without a shape check it says nothing of one."""
        plain = super().to_plain()
        return plain if self.shape_check else {k: v for k, v in plain.items() if k != "shape_check"}

    @property
    def methods(self) -> Mapping[str, Method]:
        """One method for all evidence, and the naive one."""
        return {
            "likelihood": Method(_evidence, thin=1, sites=True, releases=True, surveys=True, unknown_n=True),
            "naive": Method(_naive, thin=1, sites=True),
        }

    def protocols(self, schema: Schema) -> tuple[str, ...]:
        """Laplace noise, which meets every budget; or Gaussian noise, which needs one that is not pure."""
        return (NoisyNumber.kind, NoisyVector.kind)

    def local_randomizer(self, schema: Schema, budget: Guarantee, protocol: str) -> LocalRandomizer:
        """A device that adds noise to the clamped number."""
        coding = self.coding(schema)
        first, last = coding.ends
        encoder = LatticeNumber(coding.column, coding.low, coding.high, first, last)
        if protocol == NoisyNumber.kind:
            return LocalRandomizer(schema, encoder, NoisyNumber.calibrate(first, last, budget))
        if coding.most is not None and coding.most > _MOST_COUNTS_GAUSSIAN:
            raise expected(
                "protocol", protocol, f"to be {NoisyNumber.kind} for counts that may exceed {_MOST_COUNTS_GAUSSIAN}"
            )
        return LocalRandomizer(schema, encoder, NoisyVector.calibrate((Block((first,), (last,)),), budget))

    def summary(self, randomizer: LocalRandomizer, reports: Any) -> Any:
        """The weights of the reports on an equal grid, see `report_summaries.binned`."""
        import numpy as np

        from tacit.likelihoods.report_summaries import binned

        coding = self.coding(randomizer.schema)
        grid = _Grid.of(coding, randomizer, len(reports))
        places = np.asarray(reports[:, 0], np.float64) / coding.steps
        return binned(places, grid.low, grid.high, grid.nodes)

    def coords(self, schema: Schema) -> dict[str, list[str]]:
        return {}


@dataclass(frozen=True)
class _Grid:
    """Where the reports of a survey are binned, in units of c, and the noise that they have in these units.

    The nodes are as many as keep the error of the log likelihood of all N reports at 0.01 or below, up to 4096. With
    Laplace noise of scale b and nodes h apart it is N h^2 / (4 b^2) (`report_summaries`). With Gaussian noise s it is
    at most N h^2 w^2 / (32 s^4) for bounds w apart, beside a term that no parameter changes: (log p)'' is
    Var(c | z) / s^4 - 1 / s^2. Past 4096 nodes, from a million reports at epsilon = 0.8 on, the error grows, but it
    hardly depends on the parameters either.
    """

    low: float
    high: float
    nodes: int
    scale: float
    gaussian: bool

    @classmethod
    def of(cls, coding: Coding, randomizer: LocalRandomizer, n: int) -> _Grid:
        """The grid of ``n`` reports."""
        from tacit.likelihoods.report_summaries import grid_nodes

        protocol = randomizer.protocol
        low = -1.0 if coding.signed else 0.0
        if isinstance(protocol, NoisyVector):
            scale = protocol.noise.scales[0] / coding.steps
            width = (1.0 - low) / scale
            wanted = (width + 2 * _SPREAD) * width * math.sqrt(n / 0.32)
            return cls(low - _SPREAD * scale, 1.0 + _SPREAD * scale, _nodes(wanted) + 1, scale, gaussian=True)
        assert isinstance(protocol, NoisyNumber)
        scale = protocol.scale / coding.steps
        wanted = (1.0 - low) / scale * math.sqrt(n / 0.04)
        return cls(low, 1.0, grid_nodes(coding.most, _nodes(wanted) + 1), scale, gaussian=False)


def _nodes(wanted: float) -> int:
    """At least as many as wanted, within limits; powers of two, so that surveys of about one size look alike."""
    return min(max(2 ** math.ceil(math.log2(wanted)), _FEWEST_NODES), _MOST_NODES) if wanted > 1 else _FEWEST_NODES


def _evidence(problem: Problem, settings: SamplerSettings) -> Chain:
    """The parameters from all pieces of evidence: one is tabled along a line, two are drawn by weighting.

    Several releases of the same sums, whose likelihood has no closed form, are left to NUTS.
    """
    from tacit.likelihoods.evidence import BinnedReports, NoisyPowerSums

    model = problem.model
    assert isinstance(model, OneNumber)
    pieces: list[Any] = []
    for site in problem.sites:
        unit = problem.statistic.unit
        if site.n is None:
            pieces.append(counted_sums(site, model.powers, unit))
            continue
        laplace = tuple(noise.limit == "laplace" for noise in site.noises for _ in model.powers)
        scales = tuple(
            scale / unit
            for noise in site.noises
            for scale in (noise.scales if noise.limit == "laplace" else noise.sd)[: len(model.powers)]
        )
        pieces.append(NoisyPowerSums(site.n, model.powers, scales, laplace))
    for survey in problem.surveys:
        grid = _Grid.of(model.coding(problem.schema), survey.local_randomizer, survey.n)
        pieces.append(BinnedReports(grid.nodes, grid.scale, grid.gaussian, (grid.low, grid.high)))
    return _sums_alone(problem, _chain(problem, pieces, settings))


def counted_sums(site: Site, powers: tuple[int, ...], unit: int) -> CountedPowerSums:
    """The sums of a site and its number of rows, both with noise."""
    from tacit.likelihoods.counted_sums import CountedPowerSums

    noise, *others = site.noises
    if others:
        raise expected("releases", len(site.noises), "of the same rows to be one where n is not public")
    laplace = noise.limit == "laplace"
    scales = noise.scales if laplace else noise.sd
    return CountedPowerSums(powers, tuple(scale / unit for scale in (*scales[: len(powers)], scales[-1])), laplace)


def _sums_alone(problem: Problem, chain: Chain) -> Chain:
    """The chain, given the sums of each release without the counts of its shape check."""
    import numpy as np

    model = problem.model
    assert isinstance(model, OneNumber)
    if not model.shape_check or not problem.sites:
        return chain
    entries, size = len(problem.statistic.entries), len(model.powers)
    releases = sum(len(site.noises) for site in problem.sites)
    own = np.arange(size) if not problem.unknown_n else np.append(np.arange(size), entries - 1)
    kept = (entries * np.arange(releases)[:, None] + own).reshape(-1)

    def alone(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        import jax.numpy as jnp

        return chain(key, jnp.concatenate([released[kept], released[entries * releases :]]))

    return alone


def _naive(problem: Problem, settings: SamplerSettings) -> Chain:
    """The same posterior with the released sums, moved to where sums can be, taken for the exact ones."""
    import jax.numpy as jnp

    from tacit.likelihoods.evidence import NoisyPowerSums

    model = problem.model
    assert isinstance(model, OneNumber)
    signed, size = model.coding(problem.schema).signed, len(model.powers)
    # Noise far below what a sum varies by: a covariance that is singular to rounding stays positive.
    rows = [site.n or 0 for site in problem.sites]  # public, or the method would have been refused
    pieces = [NoisyPowerSums(n, model.powers, (1e-9 * n,) * size, (False,) * size) for n in rows]
    chain = _chain(problem, pieces, settings)

    def feasible(released: Any, n: int) -> Any:
        """Sums that n numbers not all at one end can have, by half a row."""
        first = jnp.clip(released[0], (-n if signed else 0) + 0.5, n - 0.5)
        if size == 1:
            return jnp.stack([first])
        return jnp.stack([first, jnp.clip(released[1], first**2 / n + 1e-3, n - 1e-3)])

    def naive(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        parts = jnp.split(released, len(problem.sites))
        moved = [feasible(part, n) for part, n in zip(parts, rows, strict=True)]
        return chain(key, jnp.concatenate(moved))

    return _sums_alone(problem, naive)


def _chain(problem: Problem, pieces: list[Any], settings: SamplerSettings) -> Chain:
    from tacit.likelihoods.noisy_sums import closed
    from tacit.samplers.grid_1d import grid_1d_chain
    from tacit.samplers.importance_chain import importance_chain
    from tacit.samplers.pooled_posterior import pooled_posterior_chain

    model = problem.model
    assert isinstance(model, OneNumber)
    distribution = model.distribution(problem.prior, problem.schema)
    if all(map(closed, pieces)):
        chain = (grid_1d_chain if distribution.size == 1 else importance_chain)(distribution, pieces, settings)
    else:
        chain = pooled_posterior_chain(distribution, pieces, settings)

    def original(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        draws, info = chain(key, released)
        latent = {"n": draws["n"]} if "n" in draws else {}
        return {**model.original(draws, problem.schema), **latent}, info

    return original


def check_prior_number(name: str, value: object, unit: float = 1.0) -> None:
    """Refuse a number of a prior that is not positive, or out of all proportion to ``unit``."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1e-5 * unit <= value <= 1e6 * unit:
        raise expected(f"prior {name}", value, f"to be a number from {1e-5 * unit:g} to {1e6 * unit:g}")
