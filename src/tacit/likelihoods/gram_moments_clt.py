"""Mean and covariance of t(x, y), what one record adds to the Gram matrix, from moments of the covariates.

Write 1x for (1, x) with d covariates, p = d + 1, and q for its distinct products without the constant one,

    q = (x_1 .. x_d, x_j x_k for j <= k row by row),        t(x, y) = (q, y, x_1 y .. x_d y, y^2),

all of them distinct entries, none constant. With y | x ~ N(theta' 1x, sigma^2), eta = E[1x 1x'] and Xi = Cov(q),

    E[t]   = (E[q], eta theta, theta' eta theta + sigma^2)
    Cov(t) = A Xi A' + E[Cov(t | x)],        E[t | x] = A q + constants,

    E[Cov(t | x)] = sigma^2 (0, 0, 0; 0, eta, 2 eta theta; 0, 2 theta' eta, 4 theta' eta theta + 2 sigma^2).

This is equations (2) and (3) of bernstein2019 with the index order of its appendix: the main text prints xi_{ij,kl} for
xi_{ik,jl} in Cov(x_i y, x_j y), which is not a covariance matrix (docs/errata.md, B6). Both terms are covariance
matrices, so their sum is one by construction, and t is drawn without a factorisation: with Xi = F F' and eta = R R',

    t - E[t] = (F g, B F g + sigma R h, b'F g + 2 sigma theta'R h + sqrt(2) sigma^2 e),

g, h, e standard normal, B the rows of A for (1x) y and b' its row for y^2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np


class CovariateLaw(NamedTuple):
    """Moments of the covariates: the Cholesky factor R of eta, Xi = Cov(q), and a square F with F F' = Xi."""

    second_root: Any
    covariance: Any
    root: Any


def products(d: int) -> tuple[Any, Any]:
    """The two indices in (1, x) of each entry of q."""
    rows, columns = np.triu_indices(d + 1)
    return rows[1:], columns[1:]


def canonical_order(d: int) -> Any:
    """For each entry of (sums of w, upper triangle of the products of w), w = (x, y): its place in t."""
    rows, columns = products(d)
    place = {(int(j), int(k)): i for i, (j, k) in enumerate(zip(rows, columns, strict=True))}
    place |= {(j, d + 1): len(rows) + j for j in range(d + 2)}
    w_rows, w_columns = np.triu_indices(d + 1)
    sums = [(0, j + 1) for j in range(d + 1)]
    upper = [(int(j) + 1, int(k) + 1) for j, k in zip(w_rows, w_columns, strict=True)]
    return np.array([place[pair] for pair in sums + upper], dtype=int)


def normal_law(mean: Any, half: Any) -> CovariateLaw:
    """x ~ N(mean, half half').

    With V = half half' and m = (1, mean), V = 0 on the constant (bernstein2019, section 3.4.4, by Isserlis' theorem
    instead of derivatives of the moment generating function):

        Xi_{ij,kl} = V_ik V_jl + V_il V_jk + m_i m_k V_jl + m_i m_l V_jk + m_j m_k V_il + m_j m_l V_ik.

    F has a column for each standard normal g_a, x = m + half g, and for each product g_a g_b, a <= b, at variance 1.
    """
    d = mean.shape[0]
    i, j = products(d)
    m = jnp.concatenate([jnp.ones(1), mean])
    rows = jnp.concatenate([jnp.zeros((1, d)), half])
    v = rows @ rows.T
    m_i, m_j = m[i], m[j]
    v_ii, v_ij, v_jj = v[np.ix_(i, i)], v[np.ix_(i, j)], v[np.ix_(j, j)]
    covariance = (
        v_ii * v_jj
        + v_ij * v_ij.T
        + jnp.outer(m_i, m_i) * v_jj
        + jnp.outer(m_i, m_j) * v_ij.T
        + jnp.outer(m_j, m_i) * v_ij
        + jnp.outer(m_j, m_j) * v_ii
    )
    a, b = np.triu_indices(d)
    linear = m_i[:, None] * rows[j] + m_j[:, None] * rows[i]
    squares = (rows[i][:, a] * rows[j][:, b] + rows[i][:, b] * rows[j][:, a]) * np.where(a == b, np.sqrt(0.5), 1.0)
    second_root = jnp.concatenate([m[:, None], rows], axis=1)
    return CovariateLaw(second_root, covariance, jnp.concatenate([linear, squares], axis=1))


def prior_law(m0: Any, kappa0: float, nu0: float, psi0: Any, n: float) -> CovariateLaw:
    """Covariates with a normal-inverse-Wishart prior, its parameters integrated out. Needs nu0 > d + 3.

    A record has covariance Cov(q), and two records have Cov(q, q') > 0, because they share mu_x and Sigma_x. A sum of
    n records has covariance n (Cov(q) + (n - 1) Cov(q, q')), and the bracket is what Xi stands for here.
    bernstein2019, section 3.4.4, takes Cov(q) alone, which understates the spread of the sums by a factor of about n.

    With c = 1 + 1/kappa0 and x, mu_x normal around m0 with covariance c Sigma_x and Sigma_x / kappa0 given Sigma_x,
    both come from E[Sigma_x] and E[Sigma_x_ij Sigma_x_kl], the latter from the inverse Wishart's covariance

        (2 Psi_ij Psi_kl + (nu - d - 1)(Psi_ik Psi_jl + Psi_il Psi_jk)) / ((nu - d)(nu - d - 1)^2 (nu - d - 3)).
    """
    d = len(m0)
    m = np.concatenate([[1.0], m0])
    psi = np.zeros((d + 1, d + 1))
    psi[1:, 1:] = psi0
    mean = psi / (nu0 - d - 1)
    paired = 2 * _outer("ij,kl", psi, psi) + (nu0 - d - 1) * (_outer("ik,jl", psi, psi) + _outer("il,jk", psi, psi))
    spread = paired / ((nu0 - d) * (nu0 - d - 1) ** 2 * (nu0 - d - 3))
    second = _outer("ij,kl", mean, mean) + spread
    crossed = np.einsum("ikjl->ijkl", second) + np.einsum("iljk->ijkl", second)
    square = np.outer(m, m)
    linear = sum(_outer(order, square, mean) for order in ("ik,jl", "il,jk", "jk,il", "jl,ik"))
    c = 1 + 1 / kappa0
    record = c * linear + c**2 * (crossed + spread)
    shared = linear / kappa0 + crossed / kappa0**2 + c**2 * spread
    i, j = products(d)
    covariance = (record + (n - 1) * shared)[i[:, None], j[:, None], i, j]
    return _law(square + c * mean, covariance, np)


def _outer(order: str, first: Any, second: Any) -> Any:
    return np.einsum(f"{order}->ijkl", first, second)


def released_law(fourth: Any) -> CovariateLaw:
    """From the released moment matrix E[(1, q)(1, q)'] of shape (Q + 1, Q + 1), noise included.

    Noisy moments need not be moments of anything. The Schur complements of the constant, Cov(x) and Cov(q), have their
    eigenvalues clipped, which keeps the constant at 1 and the means as released.
    """
    entries = fourth.shape[0] - 1
    d = int((np.sqrt(9 + 8 * entries) - 3) / 2 + 0.5)
    i, j = products(d)
    means = fourth[0, 1:]
    eta = jnp.zeros((d + 1, d + 1)).at[0, 0].set(1.0).at[i, j].set(means).at[j, i].set(means)
    return _law(eta, fourth[1:, 1:] - jnp.outer(means, means), jnp)


def _law(eta: Any, covariance: Any, xp: Any) -> CovariateLaw:
    """Roots of both, with eigenvalues below a billionth of the largest raised to it in Cov(x), and negative ones cut.

    A law with no spread in some direction would leave the regression in that direction without a meaning.
    """
    mean = eta[0, 1:]
    values, vectors = xp.linalg.eigh(eta[1:, 1:] - xp.outer(mean, mean))
    values = xp.maximum(values, 1e-9 * xp.maximum(values.max(), 1e-9))
    half = xp.linalg.cholesky((vectors * values) @ vectors.T)
    top = xp.concatenate([xp.ones(1), xp.zeros(mean.shape[0])])
    second_root = xp.concatenate([top[None, :], xp.concatenate([mean[:, None], half], axis=1)])
    values, vectors = xp.linalg.eigh(covariance)
    root = vectors * xp.sqrt(xp.maximum(values, 0.0))
    return CovariateLaw(second_root, root @ root.T, root)


def conditional_rows(theta: Any) -> Any:
    """(B; b') with a first column for the constant: E[(1x) y | x] = B (1, q) and E[y^2 | x] = b'(1, q) + sigma^2."""
    p = theta.shape[0]
    i, j = np.triu_indices(p)
    place = np.zeros((p, p), dtype=int)
    place[i, j] = place[j, i] = np.arange(len(i))
    rows = jnp.zeros((p, len(i))).at[np.arange(p)[:, None], place].add(jnp.broadcast_to(theta, (p, p)))
    return jnp.concatenate([rows, (theta @ rows)[None, :]])


def mean_and_covariance(theta: Any, variance: Any, law: CovariateLaw) -> tuple[Any, Any]:
    """E[t] and Cov(t); ``variance`` is sigma^2."""
    p = theta.shape[0]
    eta = law.second_root @ law.second_root.T
    eta_theta = eta @ theta
    explained = theta @ eta_theta
    mean = jnp.concatenate([eta[np.triu_indices(p)][1:], eta_theta, jnp.array([explained + variance])])
    rows = conditional_rows(theta)[:, 1:]
    across = law.covariance @ rows.T
    corner = jnp.concatenate([eta_theta, jnp.array([2 * explained + variance])])
    noise = jnp.concatenate([jnp.concatenate([eta, 2 * eta_theta[:, None]], axis=1), 2 * corner[None, :]])
    within = rows @ across + variance * noise
    top = jnp.concatenate([law.covariance, across], axis=1)
    return mean, jnp.concatenate([top, jnp.concatenate([across.T, within], axis=1)])


def deviations(theta: Any, variance: Any, law: CovariateLaw, normals: Any) -> Any:
    """Draws (entries, tries) of t - E[t] as a normal law has them; ``normals`` is standard, (entries, tries)."""
    p, entries = theta.shape[0], law.root.shape[0]
    q = law.root @ normals[:entries]
    errors = jnp.sqrt(variance) * (law.second_root @ normals[entries : entries + p])
    square = 2 * theta @ errors + jnp.sqrt(2.0) * variance * normals[-1]
    return jnp.concatenate([q, conditional_rows(theta)[:, 1:] @ q + jnp.concatenate([errors, square[None, :]])])
