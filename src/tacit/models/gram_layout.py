"""How a Gram statistic's released entries stand in the matrices that samplers work with."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tacit.models.model import Problem
from tacit.statistics.design import Mapped, Product
from tacit.statistics.gram import Gram

if TYPE_CHECKING:
    from tacit.samplers.free_gram import FreeGram

_TYPICAL_SPREAD = 0.15  # the variance of a number that fills its range moderately, in mapped units


def free_gram(problem: Problem) -> FreeGram:
    """The layout for any design, levels and interactions included."""
    import jax.numpy as jnp
    import numpy as np

    from tacit.samplers.free_gram import FreeGram

    statistic, noise = problem.statistic, problem.noise
    assert isinstance(statistic, Gram)
    entries, products = statistic.layout
    number = {product: i for i, product in enumerate(entries)}
    p = len(statistic.design)
    index = np.zeros((p, p), dtype=int)
    for j in range(p):
        for k in range(j, p):
            product = products[j, k]
            index[j, k] = index[k, j] = -2 if product is None else -1 if product.constant else number[product]
    inner = set(index[index >= 0].tolist())
    levels = {name: len(problem.schema.category(name).levels) for product in entries for name, _ in product.levels}
    return FreeGram(
        gram_index=index,
        cross_index=np.array([_entry(products[j, p], number) for j in range(p)]),
        square_index=_entry(products[p, p], number),
        shares=np.array([i for q, i in number.items() if i in inner and not q.numbers], dtype=int),
        squares=np.array([i for q, i in number.items() if i in inner and _is_square(q)], dtype=int),
        typical=np.array([_typical(product, levels) for product in entries]),
        n=float(problem.n),
        scales=np.array(noise.scales, np.float64) / statistic.unit,
        sds=np.array(noise.sd, np.float64) / statistic.unit,
        log_noise=lambda residual: noise.standard_log_density(residual, jnp),
    )


def _entry(product: Product | None, number: dict[Product, int]) -> int:
    assert product is not None  # the response has no levels, so no product with it is void
    return number[product]


def _is_square(product: Product) -> bool:
    return len(product.numbers) == 2 and product.numbers[0] == product.numbers[1]


def _typical(product: Product, levels: dict[str, int]) -> float:
    """A possible mean of the product over rows: levels equally frequent, numbers uncorrelated around their middle."""
    share = 1 / math.prod(levels[name] for name, _ in product.levels)
    if _is_square(product):
        return share * (_middle(product.numbers[0]) ** 2 + _spread(product.numbers[0]))
    return share * math.prod(map(_middle, product.numbers))


def _middle(mapped: Mapped) -> float:
    return (mapped.low + mapped.high) / 2


def _spread(mapped: Mapped) -> float:
    return _TYPICAL_SPREAD * ((mapped.high - mapped.low) / 2) ** 2
