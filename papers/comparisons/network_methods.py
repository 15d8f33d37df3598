"""Networks for many data sets at once, for comparisons: beta-divergence draws, and stochastic gradient descent.

Both are the twins of what a plan releases (kinds "posterior-sample" and "dp-sgd"), with a seeded generator and rows
that are seen: for releases there are plans. Data sets have one size: ``x`` (data sets, n, columns), ``y`` (data sets,
n) in mapped units.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tacit.studies import BetaLoss, DrawSettings, NetworkBernoulli, NetworkNormal

Network = NetworkBernoulli | NetworkNormal
_START = 0.3  # of the prior's standard deviation: where the weights of a descent start


def network_draws(density: Network, x: Any, y: Any, *, weight: float, beta: float, cooling: Any, seed: int) -> Any:
    """What `tacit.studies.particle_run` gives, every array with a first axis of data sets."""
    import jax.numpy as jnp
    import numpy as np

    from tacit.studies import float64

    words = np.random.default_rng(seed).integers(0, 2**32, (len(x), cooling.keys, 2), dtype=np.uint32)
    loss = BetaLoss(None, DrawSettings(loss="beta-divergence"), density, beta)  # type: ignore[arg-type]
    with float64():
        given = {"weight": jnp.asarray(weight, jnp.float64), "beta": jnp.asarray(beta, jnp.float64)}
        data = jnp.asarray(x, jnp.float64), jnp.asarray(y, jnp.float64)
        return _many_draws(loss, cooling)(given, *data, jnp.asarray(density.wide), words)


@lru_cache(maxsize=16)
def _many_draws(loss: BetaLoss, cooling: Any) -> Any:
    import jax

    from tacit.studies import particle_run

    return jax.jit(jax.vmap(particle_run(loss, cooling), in_axes=(None, 0, 0, None, 0)))


@dataclass(frozen=True)
class Descent:
    """Steps down the log-likelihood's loss, as `tacit.mechanisms.dp_sgd.descent` takes them.

    theta <- theta - ``learning_rate`` / n (1 / ``rate`` (sum over a Poisson sample of gradients, clipped to ``clip``,
    plus N(0, (``multiplier`` clip)^2)) + gradient of the prior's potential). A multiplier of 0 and no clip: plain SGD.
    """

    steps: int
    rate: float
    learning_rate: float
    multiplier: float = 0.0
    clip: float | None = None


def network_descents(density: Network, x: Any, y: Any, descent: Descent, *, seed: int) -> Any:
    """The last point of one descent a data set, (data sets, size)."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    from tacit.studies import float64

    rng = np.random.default_rng(seed)
    sets, n = np.shape(y)
    starts, weights = np.tile(density.wide[0], (sets, 1)), len(density.coefficients)
    starts[:, :weights] += _START * density.sd * rng.standard_normal((sets, weights))
    usual = n * descent.rate
    width = min(n, math.ceil(usual + 8 * math.sqrt(usual) + 8))  # one shape, hence one program; more rows never come
    counts = np.minimum(rng.binomial(n, descent.rate, (descent.steps, sets)), width)
    rows = np.full((descent.steps, sets, width), -1, np.int32)
    for step, each in enumerate(counts):
        for k, count in enumerate(each):
            rows[step, k, :count] = rng.choice(n, count, replace=False)
    with float64():
        keys = jax.random.split(jax.random.key(seed), sets)
        limit = np.inf if descent.clip is None else descent.clip
        noise = 0.0 if descent.clip is None else descent.multiplier * descent.clip
        numbers = jnp.asarray([descent.learning_rate / n, 1 / descent.rate, limit, noise])
        data = jnp.asarray(x, jnp.float64), jnp.asarray(y, jnp.float64)
        return np.asarray(_many_descents(density)(numbers, *data, starts, rows, keys))


@lru_cache(maxsize=16)
def _many_descents(density: Network) -> Any:
    import jax

    of_prior = jax.grad(density.prior_potential)

    def one(numbers: Any, x: Any, y: Any, theta: Any, rows: Any, key: Any) -> Any:
        length, more, limit, noise = numbers

        def step(theta: Any, given: tuple[Any, Any]) -> tuple[Any, None]:
            taken, own = given
            total = clipped_sum(density, theta, x[taken], y[taken], taken >= 0, limit)
            total = total + noise * jax.random.normal(own, theta.shape)
            return theta - length * (more * total + of_prior(theta)), None

        return jax.lax.scan(step, theta, (rows, jax.random.split(key, len(rows))))[0]

    return jax.jit(jax.vmap(one, in_axes=(None, 0, 0, 0, 1, 0)))


def clipped_sum(density: Network, theta: Any, x: Any, y: Any, taken: Any, limit: Any) -> Any:
    """The sum over the rows that are taken of the gradients of -ln f, each shortened to ``limit``. Pure JAX.

    With a = tanh(W x), g = dl/dm and u = v (1 - a^2), a row's gradient is g u x' in W, g a in v and g in the constant,
    so that its square length is g^2 (|u|^2 |x|^2 + |a|^2 + 1), and for a number h^2 more, h = dl/dv of the scatter.
    """
    import jax
    import jax.numpy as jnp

    columns, hidden = x.shape[1], density.hidden
    into, out = theta[: hidden * columns].reshape(hidden, columns), theta[hidden * columns : hidden * (columns + 1)]
    a = jnp.tanh(x @ into.T)
    m = a @ out + theta[hidden * (columns + 1)]
    u = out * (1 - jnp.square(a))
    if isinstance(density, NetworkNormal):
        sigma = density.sigma_min + jnp.exp(theta[-1])
        off = (m - y) / sigma
        g, h = off / sigma, (1 - jnp.square(off)) * jnp.exp(theta[-1]) / sigma
    else:
        g, h = -y * jax.nn.sigmoid(-y * m), jnp.zeros_like(m)
    length = jnp.square(u).sum(axis=1) * jnp.square(x).sum(axis=1) + jnp.square(a).sum(axis=1) + 1
    norm = jnp.sqrt(jnp.square(g) * length + jnp.square(h))
    share = jnp.where(taken, jnp.minimum(1.0, limit / jnp.maximum(norm, 1e-300)), 0.0)
    found = [((share * g)[:, None] * u).T @ x, (share * g) @ a, jnp.sum(share * g), jnp.sum(share * h)]
    flat = jnp.concatenate([jnp.ravel(part) for part in found])
    return flat if isinstance(density, NetworkNormal) else flat[:-1]
