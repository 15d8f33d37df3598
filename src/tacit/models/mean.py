"""The mean and the standard deviation of a number, of all rows or by group, with no shape assumed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tacit._support.printable import in_prose
from tacit.errors import expected
from tacit.models.bounded_prior import BoundedPrior
from tacit.models.effects import EffectDraws, by_words, condition, effects_of_array
from tacit.models.groups import by_plain, checked_by, factors_of
from tacit.models.local import LocalModel
from tacit.models.mean_methods import DEVICE_STEPS, by_group, moments, naive, naive_groups, particles
from tacit.models.model import Example, Method, Model, Prior
from tacit.models.support import POSITIVE
from tacit.privacy.guarantees import Guarantee
from tacit.protocols.domain import Block
from tacit.protocols.local_randomizer import LatticeNumber, LocalRandomizer
from tacit.protocols.noisy_number import NoisyNumber
from tacit.protocols.noisy_vector import NoisyVector
from tacit.runtime.chain import Arrays
from tacit.schema import Number, Schema
from tacit.statistics.bounded_moments import BoundedMoments
from tacit.statistics.group_moments import GroupMoments
from tacit.statistics.statistic import Statistic

if TYPE_CHECKING:
    from tacit.likelihoods.bounded_number import BoundedNumber


@dataclass(frozen=True)
class Mean(Model, LocalModel):
    """The mean of ``column`` as clamped to its bounds: of the rows, and of the population that they are a sample of.

    ``rows_mean`` and ``rows_sd`` are about the rows themselves, so that noise is all that is unknown; ``mean`` and
    ``sd`` are about the distribution that the rows were drawn from. Nothing is assumed about its shape
    (`likelihoods.bounded_number` has the one exception). Released: the sums of c and c^2, c the clamped cell mapped to
    [-1, 1], plus noise; with ``by``, in each group and with the sizes of the groups (`GroupMoments`). ``pooled`` lets
    the groups' means inform each other, as draws from one distribution whose spread is learned.

    ```pycon
    >>> tacit.Mean("age", by="sex").question(tacit.Schema(age=(18, 90), sex=["f", "m"]))
    'What is the mean of age, by sex?'

    ```
    """

    family: ClassVar[str] = "mean"
    about: ClassVar[str] = "mean and spread of a number, of any shape"
    column: str
    by: str | tuple[str, ...] | None = None
    pooled: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "by", checked_by(self.by, self.column))
        if not isinstance(self.pooled, bool):
            raise expected("pooled", self.pooled, "to be true or false")
        if self.pooled and self.by is None:
            raise expected("pooled", self.pooled, "to go with groups: say `by`")

    @classmethod
    def examples(cls) -> tuple[Example[Self], ...]:
        """Visits to a doctor; and a wage in two groups."""
        return (
            Example(cls("visits"), Schema(visits=(0, 30)), quick=False),
            Example(cls("wage", by="sex"), Schema(wage=(0, 100), sex=["f", "m"]), quick=False, always=False),
        )

    def to_plain(self) -> dict[str, Any]:
        """The ``[model]`` table; two factors are a list."""
        plain = super().to_plain()
        return {**plain, "by": by_plain(self.by)} if self.by is not None else plain

    def bounds(self, schema: Schema) -> Number:
        """The declared bounds."""
        return schema.number(self.column)

    def statistic(self, schema: Schema) -> Statistic:
        """Two sums, or three in each group."""
        bounds, by = self.bounds(schema), factors_of(self.by, schema)
        if by is None:
            return BoundedMoments(self.column, bounds.low, bounds.high)
        return GroupMoments(self.column, bounds.low, bounds.high, by)

    def default_prior(self, schema: Schema) -> BoundedPrior:
        """Uniform."""
        return BoundedPrior()

    def distribution(self, prior: Prior) -> BoundedNumber:
        """The prior of the mapped number."""
        from tacit.likelihoods.bounded_number import BoundedNumber

        assert isinstance(prior, BoundedPrior)
        return BoundedNumber(*prior.numbers)

    def groups(self, schema: Schema) -> int:
        """How many groups there are."""
        by = factors_of(self.by, schema)
        return 1 if by is None else by.size

    def draw_parameters(self, prior: Prior, schema: Schema, rng: Any) -> Arrays:
        """Mean and sd from their prior, in each group."""
        import numpy as np

        assert isinstance(prior, BoundedPrior)
        bounds, size = self.bounds(schema), None if self.by is None else self.groups(schema)
        place = rng.beta(prior.mean_a, prior.mean_b, size)
        if self.pooled:
            logits = rng.normal(0, 1.5) + abs(rng.normal()) * rng.normal(size=size)
            place = 1 / (1 + np.exp(-logits))
        sd = rng.beta(prior.ratio_a, prior.ratio_b, size) * np.sqrt(place * (1 - place))
        width = bounds.high - bounds.low
        return {"mean": bounds.low + width * place, "sd": width * sd}

    def draw_rows(self, parameters: Arrays, schema: Schema, n: int, rng: Any) -> Arrays:
        """Beta-distributed rows with this mean and sd, one of many shapes; groups as large as their
        ``count`` says, or of any size.
        """
        import numpy as np

        bounds = self.bounds(schema)
        width = bounds.high - bounds.low
        place = np.clip((np.asarray(parameters["mean"]) - bounds.low) / width, 1e-9, 1 - 1e-9)
        ratio = np.clip((np.asarray(parameters["sd"]) / width) ** 2 / (place * (1 - place)), 1e-9, 1 - 1e-9)
        weight = 1 / ratio - 1
        by = factors_of(self.by, schema)
        if by is None:
            return {self.column: bounds.low + width * rng.beta(place * weight, (1 - place) * weight, n)}
        sizes = parameters["count"] if "count" in parameters else rng.dirichlet(np.ones(by.size))
        codes = rng.choice(by.size, size=n, p=np.asarray(sizes) / np.sum(sizes))
        u = rng.beta((place * weight)[codes], ((1 - place) * weight)[codes])
        cells: Arrays = {self.column: bounds.low + width * u}
        for name, levels in reversed(list(zip(by.columns, by.levels, strict=True))):
            own = schema.category(name).levels
            cells[name] = [own[code] for code in codes % len(levels)]
            codes = codes // len(levels)
        return cells

    @property
    def methods(self) -> Mapping[str, Method]:
        """Particles for the rows of one holder and for groups; by moments where sites or reports are pooled."""
        if self.by is None:
            return {
                "particles": Method(particles, thin=1, releases=True, unknown_n=True),
                "moments": Method(moments, thin=1, sites=True, releases=True, surveys=True, unknown_n=True),
                "naive": Method(naive, thin=1),
            }
        return {
            "groups": Method(by_group, thin=1, releases=True, unknown_n=True),
            "naive": Method(naive_groups, thin=1),
        }

    def protocols(self, schema: Schema) -> tuple[str, ...]:
        """Noise on the number; none by group, whose label would have to be randomised, too."""
        return (NoisyNumber.kind, NoisyVector.kind) if self.by is None else ()

    def local_randomizer(self, schema: Schema, budget: Guarantee, protocol: str) -> LocalRandomizer:
        """A device that adds noise to the clamped number, in [-1, 1]."""
        bounds, steps = self.bounds(schema), DEVICE_STEPS
        encoder = LatticeNumber(self.column, bounds.low, bounds.high, -steps, steps)
        if protocol == NoisyNumber.kind:
            return LocalRandomizer(schema, encoder, NoisyNumber.calibrate(-steps, steps, budget))
        return LocalRandomizer(schema, encoder, NoisyVector.calibrate((Block((-steps,), (steps,)),), budget))

    def summary(self, randomizer: LocalRandomizer, reports: Any) -> Any:
        """The sums of the reports and of their squares."""
        import numpy as np

        z = np.asarray(reports[:, 0], np.float64) / DEVICE_STEPS
        return [float(z.sum()), float((z * z).sum())]

    @property
    def models_clamping(self) -> bool:
        """The question is about values as clamped."""
        return True

    @property
    def sums_must_fit(self) -> bool:
        """Any sums that rows can have fit."""
        return False

    @property
    def site_parameters(self) -> tuple[str, ...]:
        """The rows of each site are its own."""
        return ("rows_mean", "rows_sd")

    @property
    def supports(self) -> Mapping[str, str]:
        """Where the draws lie."""
        return {"sd": POSITIVE, "rows_sd": POSITIVE, "count": POSITIVE}

    def question(self, schema: Schema) -> str:
        """What is the mean?"""
        return f"What is the mean of {in_prose(self.column)}{by_words(self.by)}?"

    def effects(self, draws: Arrays, schema: Schema) -> list[EffectDraws]:
        """The mean, in every group."""
        axes = [] if self.by is None else [self.coords(schema)["group"]]

        def words(*group: str) -> tuple[str, str, str]:
            where = condition(self.by, *group) if group else ""
            before = f"{where}the mean of {in_prose(self.column)} is "
            return (group or (f"mean of {self.column}",))[0], before[:1].upper() + before[1:], ""

        return effects_of_array(draws["mean"], axes, words)

    def dims(self, schema: Schema) -> dict[str, tuple[str, ...]]:
        """One number each, or one a group."""
        axes = () if self.by is None else ("group",)
        names = ("mean", "sd", "rows_mean", "rows_sd", *(() if self.by is None else ("count",)))
        return dict.fromkeys(names, axes)

    def coords(self, schema: Schema) -> dict[str, list[str]]:
        by = factors_of(self.by, schema)
        return {} if by is None else {"group": list(by.labels)}
