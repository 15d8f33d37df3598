"""A noisy vector: bounded whole numbers, released together with Gaussian noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from tacit.errors import expected
from tacit.noise.discrete_gaussian import DiscreteGaussian
from tacit.noise.entropy import Entropy
from tacit.noise.noise import LARGEST_SCALE
from tacit.noise.rounded_gaussian import RoundedGaussian
from tacit.privacy.events import GaussianEvent
from tacit.privacy.guarantees import Guarantee, PureDP
from tacit.privacy.sensitivity import Sensitivity
from tacit.protocols.additive import add_noise, check_sizes, noise_log_pmf, noisy_domain
from tacit.protocols.calibration import least_whole, root_above
from tacit.protocols.domain import Block, Domain, block_from_plain
from tacit.protocols.parameters import read_table, read_wholes, written_whole
from tacit.protocols.protocol import Protocol

GAUSSIANS: dict[str, type[DiscreteGaussian | RoundedGaussian]] = {
    noise.kind: noise for noise in (RoundedGaussian, DiscreteGaussian)
}


@dataclass(frozen=True)
class NoisyVector(Protocol):
    """Report v + e: v a vector of whole numbers in the ``blocks``, e rounded or discrete Gaussian ``noise``.

    Each block bounds its own components by a box, a Euclidean ball or both, and ``noise.scales`` has a scale s_i for
    every component of every block. A response beside its covariates is a block of its own.

    Proof: of the price, where neighbours are any two admissible vectors (replace-one on a data set of one record) and
    the norm is the weighted L2 norm. Let D be their difference. sum_i (D_i / s_i)^2 over the components of one block is
    at most `Block.spread`: for a ball of radius r with one scale s it is (2 r / s)^2. The blocks are free of each
    other, so mu^2 = sum over blocks of their spreads, reached where all boxes and balls are at opposite ends at once.
    What Gaussian noise with this mu costs is proved in `RoundedGaussian` and `DiscreteGaussian`. []

    One draw for all blocks is charged once, for the whole vector. To spend half of epsilon and delta on each of two
    blocks instead needs far more noise: 7.351 in place of 5.276 diameters at epsilon = 1, delta = 1e-5.
    """

    kind: ClassVar[str] = "noisy-vector"
    blocks: tuple[Block, ...]
    noise: RoundedGaussian | DiscreteGaussian

    def __post_init__(self) -> None:
        object.__setattr__(self, "blocks", check_blocks(self.blocks))
        if not isinstance(self.noise, RoundedGaussian | DiscreteGaussian):
            raise expected("noise", self.noise, "to be RoundedGaussian or DiscreteGaussian")
        if len(self.noise.scales) != self.inputs.size:
            raise expected("scales", self.noise.scales, f"to have {self.inputs.size} entries, one a component")

    @classmethod
    def calibrate(
        cls,
        blocks: Sequence[Block],
        budget: Guarantee,
        *,
        shares: Sequence[int] | None = None,
        distribution: str = RoundedGaussian.kind,
    ) -> Self:
        """With the least noise of kind ``distribution`` whose event satisfies ``budget``, one scale a block.

        Block b with the diameter d_b (2 r of a ball) gets the part share_b / (sum of shares) of mu^2, so its scale is
        d_b sqrt(sum of shares / share_b) / mu. Left out, the shares are equal: the balanced choice, where all blocks
        are as noisy as each other in units of their diameters. Rounded Gaussian noise is the default because it meets
        every Gaussian budget without slack; discrete Gaussian noise cannot meet Gaussian DP.
        """
        if isinstance(budget, PureDP):
            raise expected("budget", budget, "to be ApproxDP, ZCDP, RenyiDP or GDP: Gaussian noise is never pure")

        def meets(vector: Self) -> bool:
            return vector.event().satisfies(budget)

        return cls.least_noise(blocks, meets, budget, shares=shares, distribution=distribution)

    @classmethod
    def least_noise(
        cls,
        blocks: Sequence[Block],
        meets: Callable[[Self], bool],
        budget: Guarantee,
        *,
        shares: Sequence[int] | None,
        distribution: str,
    ) -> Self:
        """The vector with the least noise that ``meets`` holds for; ``budget`` is what a refusal shows."""
        parts = check_blocks(blocks)
        weights = _check_shares(shares, len(parts))
        if not isinstance(distribution, str) or distribution not in GAUSSIANS:
            raise expected("law", distribution, f"to be one of {', '.join(GAUSSIANS)}")
        squared_diameters = [block.spread((1,) * block.size) for block in parts]
        # One step of the search moves no scale by more than one.
        unit = root_above(max(squared_diameters)) * sum(weights)

        def build(steps: int) -> Self:
            stretch = Fraction(steps, unit) ** 2
            scales = [
                root_above(d * stretch * sum(weights) / w) for d, w in zip(squared_diameters, weights, strict=True)
            ]
            return cls(
                parts, GAUSSIANS[distribution](tuple(s for b, s in zip(parts, scales, strict=True) for _ in b.low))
            )

        widest = max(d / w for d, w in zip(squared_diameters, weights, strict=True))
        most = LARGEST_SCALE * unit // root_above(widest * sum(weights))
        steps = least_whole(lambda count: meets(build(count)), most)
        if steps is None:
            raise expected("budget", budget, f"to be one that {distribution} noise can meet")
        return build(steps)

    @property
    def inputs(self) -> Domain:
        """The components of all blocks, one after the other."""
        return Domain(self.blocks)

    @property
    def reports(self) -> Domain:
        """As many whole numbers, up to 65536 scales beyond the boxes."""
        return noisy_domain(self.inputs, self.noise)

    def sensitivity(self) -> Sensitivity:
        """How far apart two inputs are, in units of the noise. Proof: that of the class; |D_i| <= high_i - low_i."""
        l1, l2_squared, start = Fraction(0), Fraction(0), 0
        for block in self.blocks:
            scales = self.noise.scales[start : start + block.size]
            l1 += sum((Fraction(b - a, s) for a, b, s in zip(block.low, block.high, scales, strict=True)), Fraction(0))
            l2_squared += block.spread(scales)
            start += block.size
        return Sensitivity(l1, l2_squared, tuple(Fraction(s) for s in self.noise.scales))

    def event(self) -> GaussianEvent:
        """What one report costs: mu^2 = sum over blocks of their spreads."""
        return self.noise.event(self.sensitivity())

    def _randomize(self, inputs: Any, entropy: Entropy) -> Any:
        return add_noise(inputs, self.noise, entropy)

    def log_pmf(self, reports: Any, inputs: Any) -> Any:
        """The sum over the components of the noise's own log probability at z_i - v_i."""
        return noise_log_pmf(self.noise, reports, inputs)

    def to_plain(self) -> dict[str, Any]:
        """As it stands in a public header."""
        return {
            "kind": self.kind,
            "blocks": [block.to_plain() for block in self.blocks],
            "law": self.noise.kind,
            "scales": [written_whole(scale) for scale in self.noise.scales],
        }

    @classmethod
    def from_plain(cls, table: Mapping[str, Any]) -> Self:
        """Read what `to_plain` wrote."""
        plain = read_table("protocol", table, ("kind", "blocks", "law", "scales"))
        if not isinstance(plain["blocks"], list | tuple):
            raise expected("blocks", plain["blocks"], "to be a list of tables")
        if not isinstance(plain["law"], str) or plain["law"] not in GAUSSIANS:
            raise expected("law", plain["law"], f"to be one of {', '.join(GAUSSIANS)}")
        blocks = tuple(block_from_plain(block) for block in plain["blocks"])
        return cls(blocks, GAUSSIANS[plain["law"]](read_wholes("scales", plain["scales"])))


def check_blocks(blocks: object) -> tuple[Block, ...]:
    """``blocks`` as a tuple, if they are some."""
    if not isinstance(blocks, list | tuple) or not blocks or not all(isinstance(b, Block) for b in blocks):
        raise expected("blocks", blocks, "to be one or more of Block")
    check_sizes(Domain(tuple(blocks)))
    return tuple(blocks)


def _check_shares(shares: object, count: int) -> list[int]:
    if shares is None:
        return [1] * count
    if (
        not isinstance(shares, list | tuple)
        or len(shares) != count
        or not all(type(s) is int and s > 0 for s in shares)
    ):
        raise expected("shares", shares, f"to be {count} whole numbers above 0, one a block")
    return list(shares)
