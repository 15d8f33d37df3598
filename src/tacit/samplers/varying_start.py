"""About where everything is in a regression with varying effects, and on which scale: what coordinates begin with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular

from tacit.samplers.group_sums import GroupSums, Seen

_APART = 0.09  # how much means of groups vary, at most, for taking their noise away


@dataclass(frozen=True, eq=False)
class Start:
    """Rough estimates from noisy sums. The posterior does not depend on them; the time to reach it does."""

    rows: Any
    size: Any
    size_sd: Any
    alpha: Any
    alpha_sd: Any
    spread: Any
    unexplained: Any
    rss_sd: Any
    beta: Any = None
    beta_root: Any = None
    root: Any = None
    root_sd: Any = None
    sums: Any = None
    sums_v: Any = None
    log_square: Any = None
    square_weight: Any = None

    @staticmethod
    def of(problem: GroupSums, level: float, slope: float, seen: Seen, n: Any) -> Start:
        """From what was ``seen`` and the sds of the prior of the intercept and of other coefficients."""
        k, q, groups = problem.rest, problem.q, problem.groups
        size = jnp.sum(seen.parts, axis=1)
        rows = jnp.maximum(jnp.sum(size) if n is None else n, 2.0 + groups)
        size_sd = jnp.minimum(jnp.sqrt(jnp.sum(seen.parts_v, axis=1)), rows / groups)
        n = jnp.clip(size, size_sd, 0.9 * rows)
        y, y_v = seen.sum_of_y(n)
        sums = jnp.concatenate([seen.rest[:, :, 0], y[:, None]], axis=1)
        means = jnp.clip(sums / n[:, None], -1.0, 1.0)
        noise = jnp.concatenate([seen.rest_v[:, :, 0], y_v[:, None]], axis=1) / n[:, None] ** 2
        weight = 1 / (noise + 0.01)
        middle = jnp.sum(weight * means, axis=0) / jnp.sum(weight, axis=0)
        near = middle + _APART / (_APART + noise) * (means - middle)
        extra = jnp.sum(weight * ((means - middle) ** 2 - noise), axis=0)[-1] / jnp.sum(weight, axis=0)[-1]
        noise_y = jnp.median(noise[:, -1])
        spread = jnp.clip(jnp.sqrt(jnp.maximum(extra, 0.1 * noise_y)), 0.01, 0.6)
        products, wide = _all_products(problem, seen, jnp.sum(n[:, None] * near, axis=0)[:-1])
        wide += 4 * jnp.einsum("gj,gk->jk", n[:, None] * jnp.minimum(noise, _APART), n[:, None] * near**2)
        within = products - jnp.einsum("gj,gk->jk", n[:, None] * near, near)
        alpha, found = jnp.zeros(q).at[0].set(middle[-1]), dict[str, Any]()
        if problem.slope:
            square_sd = jnp.minimum(jnp.sqrt(seen.squares_v), 0.1 * rows / groups)
            scatter = jnp.maximum(seen.squares - seen.sums**2 / n, square_sd)
            line = jnp.sum(seen.turned - seen.sums / n * y) / jnp.sum(scatter)
            alpha = alpha.at[1].set(jnp.clip(line, -1.0, 1.0))
            within = within.at[k, k].add(-(alpha[1] ** 2) * jnp.sum(scatter))
            found |= {"log_square": jnp.log(scatter), "square_weight": scatter**2 / seen.squares_v}
            found |= {"sums": seen.sums, "sums_v": seen.sums_v}
        sd = jnp.sqrt(jnp.diagonal(wide))
        if k:
            floor = 0.005 * rows + 0.3 * jnp.median(sd)
            values, vectors = jnp.linalg.eigh((within[:k, :k] + within[:k, :k].T) / 2)
            gram = (vectors * jnp.clip(values, floor, floor + rows)) @ vectors.T
            root = jnp.linalg.cholesky(gram)
            beta = jnp.linalg.solve(gram + floor * jnp.eye(k), within[:k, k])
            beta = jnp.clip(beta, -slope, slope)
            own = jnp.sqrt(jnp.maximum(within[k, k], 0.003 * rows) / rows + sd[:k] ** 2 / jnp.diagonal(gram))
            own = jnp.minimum(own, slope * jnp.sqrt(jnp.diagonal(gram)))
            found |= {"root": root, "root_sd": jnp.clip(jnp.median(sd) / jnp.max(jnp.diagonal(gram)), 1e-9, 0.3)}
            found |= {"beta": beta, "beta_root": solve_triangular(root, jnp.diag(own), lower=True, trans=1)}
            explained = beta @ gram @ beta
        else:
            explained = 0.0
        rss = jnp.clip(within[k, k] - explained, 0.003 * rows, rows)
        noise_rss = jnp.minimum(wide[k, k], (0.1 * rows) ** 2)
        alone = jnp.sqrt((spread**2 + jnp.mean(noise[:, -1])) / groups + rss / rows**2)
        alone = jnp.minimum(alone, 0.5 * level)
        return Start(
            rows=rows,
            size=softplus_inverse(n / size_sd),
            size_sd=size_sd,
            alpha=alpha,
            alpha_sd=alone * jnp.array([1.0, 3.0])[:q],
            spread=spread,
            unexplained=rss + explained,
            rss_sd=jnp.sqrt(noise_rss + 2 * rss**2 / rows),
            **found,
        )


def _all_products(problem: GroupSums, seen: Seen, totals: Any) -> tuple[Any, Any]:
    """The sums over all rows of products of (rest, y), and the variances of their noise; ``totals`` of the rest."""
    d = problem.rest + 1
    upper = np.triu_indices(d)
    whole = problem.select.reshape(-1, d + 1, d + 1)
    made = whole[:, upper[0] + 1, upper[1] + 1] + whole[:, upper[1] + 1, upper[0] + 1] * (upper[0] != upper[1])
    back = np.linalg.pinv(made)
    values = back @ (seen.over_all - whole[:, 0, 1:d] @ totals)
    wide = back**2 @ seen.over_all_v
    empty = jnp.zeros((d, d))
    symmetric = empty.at[upper].set(values).at[upper[1], upper[0]].set(values)
    return symmetric, empty.at[upper].set(wide).at[upper[1], upper[0]].set(wide)


def softplus_inverse(x: Any) -> Any:
    """The number whose softplus is x."""
    return x + jnp.log(-jnp.expm1(-x))
