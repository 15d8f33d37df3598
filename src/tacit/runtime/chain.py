"""What a sampler gives back: one chain for one dataset, as a pure function that the runner batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class SamplerSettings:
    """How long to sample; ``num_leapfrog_steps`` is for many datasets at once, see `tacit.samplers.hmc_kernel`."""

    warmup: int
    draws: int
    num_leapfrog_steps: int | None = None


Arrays = dict[str, Any]
# (key, released) -> (draws by name, diagnostics by name), each array with a leading axis over draws. Pure JAX: the
# runner adds chains and datasets by vmap. ``released`` holds the release's integers divided by the statistic's unit.
Chain = Callable[[Any, Any], tuple[Arrays, Arrays]]


@dataclass(frozen=True, eq=False)
class Shaped:
    """A chain whose program is found again for another n and another noise, because they are its arguments.

    ``made`` gives the chain from ``given``, a tree of arrays: all that differs between releases of one shape. While a
    program is written these are symbols, so none of them can be written into it. ``purpose`` says all else that
    ``made`` depends on; it can be pickled.
    """

    made: Callable[[Any], Chain]
    given: Any
    purpose: tuple[Any, ...]

    def __call__(self, key: Any, released: Any) -> tuple[Arrays, Arrays]:
        """One chain for one dataset."""
        return self.made(self.given)(key, released)


@dataclass(frozen=True, eq=False)
class Either:
    """Two chains for one posterior, of which only the one that is run is compiled.

    ``suits`` looks at what was released, a numpy array (datasets, entries), and says for which datasets ``quick`` will
    do; the others go to ``sure``. It sees no draw, and a dataset alone decides about itself, so either way the draws
    have the same distribution, and a study of many datasets tries what each alone would get. Called as a chain, it is
    ``sure``.
    """

    suits: Callable[[Any], Any]
    quick: Chain
    sure: Chain

    def __call__(self, key: Any, released: Any) -> tuple[Arrays, Arrays]:
        """One chain for one dataset."""
        return self.sure(key, released)
