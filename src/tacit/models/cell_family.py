"""Families that count rows in the cells of a table: what histograms, quantiles and shares by group have in common.

Rows are independent, each in cell k with probability p_k. Released: the number of rows in each cell, plus noise. With
n public and p ~ Dirichlet(alpha), the exact counts are Dirichlet-multinomial given their sum n. They are sampled as
latent whole numbers, so that none is negative and all add up to n, and p is then drawn from Dirichlet(alpha + counts).
From 5 cells on alpha is learned. Cells are groups times bins or levels. A group's own is
that of its cells over their sum, Dirichlet and independent of the other groups' and of how many rows they have.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacit.bibliography import HOFFMAN_2014
from tacit.errors import expected
from tacit.models.binned_prior import binned_concentrations
from tacit.models.categorical import DirichletPrior
from tacit.models.free_cells import free_counts_chain
from tacit.models.groups import by_plain
from tacit.models.levels import LEVEL_PROTOCOLS, level_summary, shares_chain
from tacit.models.local import LocalModel
from tacit.models.model import Method, Model, Prior, Problem
from tacit.models.sparse_prior import SparseDirichletPrior
from tacit.numerics.dirichlet import draw_shares, shares_of_logs
from tacit.privacy.guarantees import Guarantee
from tacit.protocols.local_randomizer import Encoder, LocalRandomizer
from tacit.runtime.chain import Arrays, Chain, SamplerSettings
from tacit.schema import Schema
from tacit.statistics.cell_table import Bins, CellTable

MOST_CELLS = 4096
_MANY = 5  # cells, from which on the default prior learns the concentration
_SWEEPS, _EXCHANGES = 2, 6  # for each draw; the latter cost next to nothing


@dataclass(frozen=True)
class CellCode(Encoder):
    """The code of a record's cell in a table."""

    table: CellTable

    @property
    def columns(self) -> tuple[str, ...]:
        return self.table.columns

    def encode(self, columns: Mapping[str, Any]) -> Any:
        """One whole number each."""
        return self.table.codes(columns)[:, None]


@dataclass(frozen=True)
class CellFamily(Model, LocalModel):
    """A family about the cells of a `CellTable`; `table` says which, and `described` what a reader is told of them."""

    column: str

    @abstractmethod
    def table(self, schema: Schema) -> CellTable:
        """The cells."""

    @abstractmethod
    def described(self, key: Any, shares: Any, counts: Any | None, schema: Schema) -> Arrays:
        """Draws by name from ``shares`` (draws, groups, cells), which add up to 1 in each group, and the rows'
        ``counts``.
        """

    def to_plain(self) -> dict[str, Any]:
        """The ``[model]`` table; tuples are lists."""
        plain = super().to_plain()
        return {k: by_plain(v) if k == "by" else list(v) if isinstance(v, tuple) else v for k, v in plain.items()}

    def statistic(self, schema: Schema) -> CellTable:
        """The counts; refuses too many cells."""
        found = self.table(schema)
        if found.cells > MOST_CELLS:
            raise expected("cells", found.cells, f"to be at most {MOST_CELLS}: fewer edges, or fewer groups")
        return found

    def default_prior(self, schema: Schema) -> SparseDirichletPrior:
        """Uniform on the simplex; for many cells its concentration is learned."""
        return SparseDirichletPrior(None if self.table(schema).cells >= _MANY else 1.0)

    @abstractmethod
    def parameters_of(self, shares: Any, schema: Schema, rng: Any) -> Arrays:
        """The parameters that ``shares`` (groups, cells in each), which add up to 1 in each group, amount to."""

    def draw_parameters(self, prior: Prior, schema: Schema, rng: Any) -> Arrays:
        """From the shares of all cells, which follow their Dirichlet prior."""
        return self.parameters_of(self.cell_shares(prior, schema, rng)[0], schema, rng)

    def draw_together(self, prior: Prior, schema: Schema, n: int, rng: Any) -> tuple[Arrays, Arrays]:
        """Rows from the same shares, the sizes of the groups included."""
        shares, groups = self.cell_shares(prior, schema, rng)
        return self.parameters_of(shares, schema, rng), self.cell_rows(groups[:, None] * shares, schema, n, rng)

    def concentrations(self, prior: Prior, schema: Schema) -> Any:
        """The concentrations of all cells that are equally likely, one row each; of bins see `binned_prior`."""
        assert isinstance(prior, DirichletPrior)
        table = self.table(schema)
        if prior.concentration is None and isinstance(table.inner, Bins):
            return binned_concentrations(table.inner.places, table.shape[0])
        return prior.rows(table.cells)

    def cell_shares(self, prior: Prior, schema: Schema, rng: Any) -> tuple[Any, Any]:
        """The shares of cells within their group from the prior, (groups, cells in each), and those of the groups."""
        rows = self.concentrations(prior, schema)
        own = rows[rng.integers(len(rows))].reshape(self.table(schema).shape)
        return draw_shares(rng, own), draw_shares(rng, own.sum(axis=1))

    def cell_rows(self, shares: Any, schema: Schema, n: int, rng: Any) -> Arrays:
        """n rows whose cells have these shares."""
        import numpy as np

        table = self.table(schema)
        flat = np.maximum(np.asarray(shares, np.float64).reshape(-1), 0.0)
        codes = rng.choice(table.cells, size=n, p=flat / flat.sum())
        group, inner = np.divmod(codes, table.shape[1])
        cells = self.inner_cells(inner, schema, rng)
        if table.by is not None:
            for name, own in reversed(list(zip(table.by.columns, table.by.levels, strict=True))):
                levels = schema.category(name).levels
                cells[name] = [levels[code] for code in group % len(own)]
                group = group // len(own)
        return cells

    def inner_cells(self, codes: Any, schema: Schema, rng: Any) -> Arrays:
        """Raw cells for the places of bins or levels within a group: uniform within a bin."""
        import numpy as np

        inner = self.table(schema).inner
        if isinstance(inner, Bins):
            edges = np.asarray(inner.places)
            return {inner.column: edges[codes] + (edges[codes + 1] - edges[codes]) * rng.random(len(codes))}
        levels = schema.category(self.column).levels
        return {self.column: [levels[code] for code in codes]}

    @property
    def methods(self) -> Mapping[str, Method]:
        """Gibbs over the counts; NUTS on the shares for reports."""
        return {
            "gibbs": Method(_gibbs, thin=8, sites=True, releases=True, unknown_n=True),
            "shares": Method(_shares, thin=2, sites=True, surveys=True, unknown_n=True, papers=(HOFFMAN_2014,)),
            "naive": Method(_naive, thin=1),
        }

    def protocols(self, schema: Schema) -> tuple[str, ...]:
        """Those of levels: a cell is one."""
        return tuple(LEVEL_PROTOCOLS)

    def local_randomizer(self, schema: Schema, budget: Guarantee, protocol: str) -> LocalRandomizer:
        """A device that randomises the code of its cell, the group included."""
        table = self.statistic(schema)
        return LocalRandomizer(schema, CellCode(table), LEVEL_PROTOCOLS[protocol].calibrate(table.cells, budget))

    def summary(self, randomizer: LocalRandomizer, reports: Any) -> Any:
        """Counts of the cells or of bit patterns."""
        return level_summary(randomizer, reports)

    @property
    def site_parameters(self) -> tuple[str, ...]:
        """The rows of each site are its own."""
        return ("count",)

    @property
    def models_clamping(self) -> bool:
        """The question is about values as clamped."""
        return True

    @property
    def sums_must_fit(self) -> bool:
        """Any counts fit."""
        return False


def _table(problem: Problem) -> tuple[CellFamily, CellTable]:
    model, table = problem.model, problem.statistic
    assert isinstance(model, CellFamily)
    assert isinstance(table, CellTable)
    return model, table


def _within(logs: Any, table: CellTable) -> Any:
    """The shares within each group, (draws, groups, cells), from the logarithms of numbers in proportion to them."""
    import jax.numpy as jnp

    return shares_of_logs(logs.reshape(-1, *table.shape), jnp)


def _whole(released: Any, table: CellTable, n: Any) -> Any:
    """The released counts with, for two cells, the one that n implies put in front."""
    import jax.numpy as jnp

    return released if table.cells > 2 else jnp.stack([n - released[0], released[0]])


def _gibbs(problem: Problem, settings: SamplerSettings) -> Chain:
    """Paired Gibbs sweeps over the latent counts of all sites; the shares exactly given them."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    from tacit.models.categorical import concentration_given
    from tacit.runtime.backend import argument
    from tacit.samplers.paired_counts import exchange, paired_sweep, plausible_counts

    (model, table), sites = _table(problem), problem.sites
    concentrations = np.array(model.concentrations(problem.prior, problem.schema))
    if problem.unknown_n:

        def free(key: Any, logs: Any, counts: Any) -> Arrays:
            counts = counts.reshape(-1, len(sites), *table.shape)
            return described_sites(model, key, _within(logs, table), counts, problem.schema)

        return free_counts_chain(problem, concentrations, free, settings)
    entry_of = np.zeros(table.cells, int)
    entry_of[list(table.counted)] = range(len(table.counted))
    counted = np.isin(np.arange(table.cells), table.counted)
    sizes = argument(np.array([site.n for site in sites], np.float64))
    noises = [noise for site in sites for noise in site.noises]
    scales = argument(np.array([noise.scales for noise in noises], np.float64) / table.unit)
    site_of = np.repeat(np.arange(len(sites)), [len(site.noises) for site in sites])
    units = _units(problem)
    variances = argument(np.array([_variances(site.noises, table, entry_of) for site in sites]))

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        z = released.reshape(len(noises), -1)

        def log_noise(cells: Any, counts: Any) -> Any:
            entry = jnp.asarray(entry_of)[cells]
            scored = 0.0
            for j, noise in enumerate(noises):
                away = (z[j][entry][:, None] - counts[:, site_of[j]]) / scales[j][entry][:, None]
                scored += noise.standard_log_density(away, jnp)
            return jnp.where(jnp.asarray(counted)[cells][:, None], scored, 0.0)

        def step(counts: Any, key: Any) -> tuple[Any, tuple[Any, Any]]:
            for_alpha, *for_counts = jax.random.split(key, 1 + _SWEEPS + _EXCHANGES)
            alpha = concentration_given(for_alpha, jnp.sum(counts, axis=0), concentrations)
            for one in for_counts[:_SWEEPS]:
                counts = paired_sweep(one, counts, alpha, log_noise, units)
            for one in for_counts[_SWEEPS:]:
                counts = exchange(one, counts, alpha, log_noise)
            return counts, (alpha, counts)

        for_warmup, for_draws, for_shares, for_rest, for_first = jax.random.split(key, 5)
        first = jnp.stack([_whole(jnp.mean(z[site_of == s], axis=0), table, sizes[s]) for s in range(len(sites))])
        counts = plausible_counts(for_first, first, variances, sizes, concentrations)
        counts, _ = jax.lax.scan(step, counts, jax.random.split(for_warmup, settings.warmup))
        _, (alphas, counts) = jax.lax.scan(step, counts, jax.random.split(for_draws, settings.draws))
        shares = _within(jax.random.loggamma(for_shares, alphas + jnp.sum(counts, axis=1)), table)
        counts = counts.reshape(-1, len(sites), *table.shape)
        return described_sites(model, for_rest, shares, counts, problem.schema), {}

    return chain


def _variances(noises: Any, table: CellTable, entry_of: Any) -> Any:
    """Of the noise in the mean of a site's releases, in rows, for each cell."""
    import numpy as np

    sds = np.array([noise.sd for noise in noises], np.float64) / table.unit
    return np.mean(sds**2, axis=0)[entry_of] / len(noises)


def _units(problem: Problem) -> Any:
    """How many rows a step moves at each site: at one of them, or at all in proportion to their rows."""
    import numpy as np

    from tacit.samplers.latent_counts import strides

    sites, unit = problem.sites, problem.statistic.unit
    found: list[list[int]] = []
    for s, site in enumerate(sites):
        sd = min(max(noise.sd) for noise in site.noises) / unit
        found += [
            [step * (s == other) for other in range(len(sites))] for step in strides(min(site.rows + 1.0, 8 * sd))
        ]
    if len(sites) > 1:
        shares = [site.rows / max(1, *(one.rows for one in sites)) for site in sites]
        steps = sorted({sum(row) for row in found})
        found += [[max(1, round(step * share)) for share in shares] for step in steps]
    return np.array(found)


def described_sites(model: CellFamily, key: Any, shares: Any, counts: Any, schema: Schema) -> Arrays:
    """What a reader is told: of the shares in common, and of the rows of each site, ``counts`` (draws, sites, ...)."""
    import jax.numpy as jnp

    found = [model.described(key, shares, counts[:, s], schema) for s in range(counts.shape[1])]
    if len(found) == 1:
        return found[0]
    own = {name: jnp.stack([one[name] for one in found], axis=1) for name in model.site_parameters}
    return {**found[0], **own}


def _shares(problem: Problem, settings: SamplerSettings) -> Chain:
    """NUTS on the shares, all pieces of evidence together; central counts by the central limit theorem."""
    import jax

    model, table = _table(problem)
    chain = shares_chain(problem, model.concentrations(problem.prior, problem.schema), settings)

    def described(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        for_chain, for_rest = jax.random.split(key)
        draws, info = chain(for_chain, released)
        return model.described(for_rest, _within(draws["log_theta"], table), None, problem.schema), info

    return described


def _naive(problem: Problem, settings: SamplerSettings) -> Chain:
    """The conjugate posterior with the released counts, made non-negative with sum n, taken for the exact ones."""
    import jax
    import jax.numpy as jnp

    from tacit.models.categorical import concentration_given

    (model, table), n = _table(problem), problem.n
    rows = model.concentrations(problem.prior, problem.schema)

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        counts = jnp.maximum(_whole(released, table, n), 0)
        counts = counts * n / jnp.maximum(jnp.sum(counts), 1e-9)
        for_alpha, for_shares, for_rest = jax.random.split(key, 3)
        keys = jax.random.split(for_alpha, settings.draws)
        alpha = jax.vmap(lambda key: concentration_given(key, counts, rows))(keys)
        counts = jnp.broadcast_to(counts, (settings.draws, *counts.shape))
        shares = _within(jax.random.loggamma(for_shares, alpha + counts), table)
        return model.described(for_rest, shares, counts.reshape(-1, *table.shape), problem.schema), {}

    return chain
