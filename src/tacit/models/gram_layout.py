"""How a Gram statistic's released entries stand in the matrices that samplers work with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tacit.errors import expected
from tacit.models.cells import Cells
from tacit.models.model import Problem, Site
from tacit.models.prior_draws import SDS_INSIDE
from tacit.models.regression import Regression
from tacit.noise.noise import Noise
from tacit.runtime.chain import Chain, Either
from tacit.statistics.counted_rows import CountedRows
from tacit.statistics.design import Product
from tacit.statistics.gram import Gram
from tacit.statistics.gram_moments import GramMoments

if TYPE_CHECKING:
    from tacit.samplers.cell_moments_gram import CellGram
    from tacit.samplers.latent_gram import NoisyGram
    from tacit.samplers.release_noise import Noises


def site_noises(site: Site, unit: int, entries: int) -> Noises:
    """The noise of every release about a site on its first ``entries``, in real units, and on n where that is latent:
    the last one.
    """
    import jax.numpy as jnp
    import numpy as np

    from tacit.samplers.release_noise import Noises

    def own(every: Sequence[float]) -> Sequence[float]:
        return (*every[:entries], every[-1]) if site.n is None else every[:entries]

    def log_density(noise: Noise) -> Callable[[Any], Any]:
        return lambda residual: noise.standard_log_density(residual, jnp)

    return Noises(
        scales=np.array([own(noise.scales) for noise in site.noises], np.float64) / unit,
        spreads=np.array([own(noise.sd) for noise in site.noises], np.float64) / unit,
        log_densities=tuple(log_density(noise) for noise in site.noises),
        laplace=tuple(noise.limit == "laplace" for noise in site.noises),
    )


def noisy_grams(problem: Problem) -> list[NoisyGram]:
    """Where the released entries of every site stand, for a design whose first column is the constant."""
    import numpy as np

    from tacit.samplers.latent_gram import NoisyGram

    gram, unit = gram_part(problem)
    size = len(gram.vector) - 1
    upper = {(int(j), int(k)): size + i for i, (j, k) in enumerate(zip(*np.triu_indices(size), strict=True))}
    places = gram.layout[0].values()
    order = np.array([p.k - 1 if p.j == 0 else upper[p.j - 1, p.k - 1] for p in places], dtype=int)
    found: list[NoisyGram] = []
    for site in problem.sites:
        rows = 1.0 if site.n is None else float(site.n)  # where n is latent, all else is for one row
        found.append(NoisyGram(size, order, rows, site_noises(site, unit, len(order))))
    return found


def gram_part(problem: Problem) -> tuple[Gram, int]:
    """The Gram statistic that the first entries of every release are, and the integer that stands for a real 1."""
    statistic = problem.statistic
    statistic = statistic.counted if isinstance(statistic, CountedRows) else statistic
    assert isinstance(statistic, Gram | GramMoments)
    return statistic.gram if isinstance(statistic, GramMoments) else statistic, statistic.unit


def check_latent(problem: Problem, method: str) -> None:
    """Refuse what methods with a latent n in every site do not pool it with."""
    if any(site.n is not None for site in problem.sites):
        raise expected("reports", 1, f"to be left out for the {method} method, beside releases that do not say n")


def from_gram_part(chain: Chain, problem: Problem) -> Chain:
    """A chain that is given the entries of the Gram statistic alone, and n where it has noise, where a release has
    more.
    """
    import numpy as np

    used, all_entries = len(gram_part(problem)[0].entries), len(problem.statistic.entries)
    own = [*range(used), *([all_entries - 1] if problem.unknown_n else [])]
    if len(own) == all_entries:
        return chain
    releases = sum(len(site.noises) for site in problem.sites)
    keep = np.concatenate([all_entries * i + np.array(own) for i in range(releases)])

    def part(whole: Chain) -> Chain:
        return lambda key, released: whole(key, released[keep])

    if isinstance(chain, Either):
        return Either(lambda released: chain.suits(released[:, keep]), part(chain.quick), part(chain.sure))
    return part(chain)


def fourth_moments(statistic: GramMoments) -> Any:
    """Where the sums of (1, q)(1, q)' stand among the entries, q the products of (1, x); -1 stands for n."""
    import numpy as np

    from tacit.likelihoods.gram_moments_clt import products

    number = {monomial: i for i, monomial in enumerate(statistic.monomials)} | {(): -1}
    pairs = [(), *((int(a), int(b)) for a, b in zip(*products(len(statistic.design) - 1), strict=True))]
    index = [[number[tuple(sorted(i for i in (*one, *other) if i))] for other in pairs] for one in pairs]
    return np.array(index)


def free_grams(problem: Problem) -> list[CellGram]:
    """The layout of every site for any design, levels and interactions included."""
    import numpy as np

    from tacit.samplers.cell_moments_gram import CellGram

    assert isinstance(problem.model, Regression)
    cells = Cells(problem.model.design(problem.schema), derived=True)
    constants, slopes = cells.maps()
    statistic, unit = gram_part(problem)
    entries, products = statistic.layout
    number = {product: i for i, product in enumerate(entries)}
    p = len(statistic.design)
    index = np.zeros((p, p), dtype=int)
    for j in range(p):
        for k in range(j, p):
            product = products[j, k]
            index[j, k] = index[k, j] = -2 if product is None else -1 if product.constant else number[product]
    return [
        CellGram(
            constants=constants,
            slopes=slopes,
            middles=np.array([(x.low + x.high) / 2 for x in cells.numbers]),
            halves=np.array([(x.high - x.low) / 2 for x in cells.numbers]),
            gram_index=index,
            cross_index=np.array([_entry(products[j, p], number) for j in range(p)]),
            square_index=_entry(products[p, p], number),
            plain=np.array([x.plain for x in cells.numbers], dtype=bool),
            sds_inside=SDS_INSIDE,
            n=None if site.n is None else float(site.n),
            noises=site_noises(site, unit, len(entries)),
        )
        for site in problem.sites
    ]


def _entry(product: Product | None, number: dict[Product, int]) -> int:
    assert product is not None  # the response has no levels, so no product with it is void
    return number[product]
