"""Mean and covariance of what one row adds to the released sums of a regression.

A row falls into cell c (a combination of levels) with probability pi_c; within the cell its d numbers are
x ~ N(m_c, S), its design vector is w = a_c + B_c x, its linear predictor u = theta'w, and its response y depends on u
alone (`link_moments.Link`). Released are products w_i w_j y^r of at most two entries of w, r = 0 or 1.

Within a cell each product is one of the monomials v_i v_j y^r, v = (1, x), or 0: a row of a matrix D_c. Put V = Cov(v)
(0 on the constant), m = E[v], q = Cov(v, u), and F_k = E[f^(k)(u)] with f(u) = E[y^r | u]. Stein's identity says that a
factor v_i may be replaced by m_i + q_i d/du acting on f, plus its covariances with the other factors. So

    E[v_i v_j f] = alpha F_0 + beta F_1 + gamma F_2,
    alpha = m_i m_j + V_ij,   beta = m_i q_j + q_i m_j,   gamma = q_i q_j,

two of them, ij and kl, with f now E[y^(r + r') | u], have the covariance

    (alpha, beta, gamma)_ij G (alpha, beta, gamma)_kl'  +  V_ik N_jl + V_jl N_ik + V_il N_jk + V_jk N_il
                                                       +  F_0 (V_ik V_jl + V_il V_jk),
    G_ab = F_(a+b)^(r + r') - F_a^(r) F_b^(r'),   N_ik = m_i m_k F_0 + (m_i q_k + q_i m_k) F_1 + q_i q_k F_2.

The means are taken out in G, a matrix of size 3, so that no large numbers are subtracted when S is small. This is
kulkarni2021, section 3.3, with the means of x and with y^2 = 1 in case (b), where the printed form has a negative
variance (docs/errata.md, K6). Cells are mixed as

    mean = sum_c pi_c mean_c,    Cov = sum_c pi_c (Cov_c + (mean_c - mean)(mean_c - mean)').

Where F comes from quadrature in its Hermite form, Cov is the covariance of a law with finitely many values of u, so it
is positive semidefinite up to rounding; `_JITTER` of each variance is added to it, a thousand times what rounding does.

Work is O(K Q^2) for K cells and Q monomials, of order d^4; the products with D_c are left out for a single cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from tacit.errors import expected
from tacit.likelihoods.link_moments import Link, expectations

_JITTER = 1e-11


class Monomials(NamedTuple):
    """The monomials v_i v_j y^r that released entries are made of, Q in all.

    ``factors`` (2, Q, d + 1) picks v_i and v_j and ``powers`` (Q, 2) picks r, by one 1 each. ``mix`` (K, entries, Q)
    are the D_c, or None where there is one and it is the identity.
    """

    factors: Any
    powers: Any
    mix: Any


class RowLaw(NamedTuple):
    """How rows arise: chances pi of the cells (K,), means (K, d), and any square ``root`` with S = root root'."""

    chances: Any
    means: Any
    root: Any


@dataclass(frozen=True, eq=False)
class Design:
    """What is released, and how design vectors depend on cells and numbers.

    ``constants`` (K, p) and ``slopes`` (K, p, d) are the a_c and B_c. They hold 0 and 1 only, so that every entry of w
    is 0, 1 or one of the numbers. Released entry e is w[first[e]] w[second[e]] y^power[e], where an index of -1 stands
    for no factor.
    """

    constants: Any
    slopes: Any
    first: Any
    second: Any
    power: Any

    def __post_init__(self) -> None:
        constants, slopes = np.asarray(self.constants), np.asarray(self.slopes)
        if slopes.ndim != 3 or slopes.shape[:2] != constants.shape:
            raise expected(
                "slopes", slopes.shape, f"to have the axes {constants.shape} of constants, and one of numbers"
            )
        whole = np.concatenate([constants[:, :, None], slopes], axis=2)
        if not np.isin(whole, (0, 1)).all() or (whole.sum(axis=2) > 1).any():
            raise expected("slopes", "slopes", "to make every entry of w in every cell 0, 1 or one of the numbers")
        if not len(self.first) == len(self.second) == len(self.power):
            raise expected("power", len(self.power), f"to be as long as first and second, {len(self.first)}")

    @property
    def sizes(self) -> tuple[int, int, int]:
        """K cells, p entries of w, d numbers."""
        cells, entries, numbers = np.asarray(self.slopes).shape
        return cells, entries, numbers

    @cached_property
    def monomials(self) -> Monomials:
        """What the entries are made of."""
        cells, _, d = self.sizes
        whole = np.concatenate([np.asarray(self.constants)[:, :, None], np.asarray(self.slopes)], axis=2)
        # Where each entry of w stands in v, -1 if it is 0; and at the end "no factor", which is 1.
        place = np.where(whole.any(axis=2), whole.argmax(axis=2), -1)
        place = np.concatenate([place, np.zeros((cells, 1), int)], axis=1)
        pairs = np.sort(np.stack([place[:, np.asarray(self.first)], place[:, np.asarray(self.second)]], axis=2), axis=2)
        powers = np.broadcast_to(np.asarray(self.power)[:, None], (*pairs.shape[:2], 1))
        known = np.concatenate([pairs, powers], axis=2).tolist()
        number: dict[tuple[int, ...], int] = {}
        found = [[number.setdefault(tuple(e), len(number)) if e[0] >= 0 else -1 for e in cell] for cell in known]
        mix = (np.array(found)[:, :, None] == np.arange(len(number))).astype(float)
        i, j, r = np.array(list(number), int).reshape(-1, 3).T
        plain = mix.shape == (1, len(number), len(number)) and np.array_equal(mix[0], np.eye(len(number)))
        return Monomials(np.eye(d + 1)[np.stack([i, j])], np.eye(2)[r], None if plain else mix)


def row_mean(design: Design, link: Link, theta: Any, law: RowLaw) -> Any:
    """E of the released entries of one row."""
    return law.chances @ _cell_means(design, _cells(design, link, theta, law))


def row_moments(design: Design, link: Link, theta: Any, law: RowLaw) -> tuple[Any, Any]:
    """E and Cov of the released entries of one row."""
    cells = _cells(design, link, theta, law)
    means = _cell_means(design, cells)
    mean = law.chances @ means
    covariance = law.chances[:, None, None] * _cell_covariances(design, cells)
    mix = design.monomials.mix
    if mix is None:
        covariance = covariance[0]
    else:
        covariance = jnp.einsum("keq,kqf->ef", mix, jnp.einsum("kqu,kfu->kqf", covariance, mix))
        away = means - mean
        covariance = covariance + (law.chances[:, None] * away).T @ away
    return mean, covariance + jnp.diag(_JITTER * jnp.diagonal(covariance))


class _Cells(NamedTuple):
    """What the covariance formula needs.

    ``coefficients`` (K, Q, 2, 3): alpha, beta, gamma at the monomial's own power, 0 at the other. ``shifts``
    (K, 2, Q, 2, 2): m and q of either factor, in the same way. ``orders`` (K, 2, 3, 2, 3): F_(a+b)^(r+s) at r, a, s, b.
    ``covariance`` (2, Q, 2, Q): V between any two factors.
    """

    coefficients: Any
    shifts: Any
    orders: Any
    covariance: Any


_PLACES = np.zeros((2, 3, 2, 3, 3, 5))  # where F_k of y^r stands in ``orders``
for _r, _a, _s, _b in np.ndindex(2, 3, 2, 3):
    _PLACES[_r, _a, _s, _b, _r + _s, _a + _b] = 1.0


def _cells(design: Design, link: Link, theta: Any, law: RowLaw) -> _Cells:
    count, _, d = design.sizes
    factors, powers, _ = design.monomials
    slopes = jnp.einsum("kpd,p->kd", np.asarray(design.slopes, float), theta)
    halves = slopes @ law.root
    centre = np.asarray(design.constants, float) @ theta + jnp.sum(slopes * law.means, axis=1)
    first_and_second = expectations(link, centre, jnp.sum(halves**2, axis=1))
    orders = jnp.concatenate([np.eye(1, 5)[:, :, None] * np.ones(count), first_and_second])
    # m and q of v in the last axis, then of each factor of each monomial.
    shifts = jnp.stack([law.means, halves @ law.root.T], axis=2)
    shifts = jnp.concatenate([jnp.broadcast_to(np.array([1.0, 0.0]), (count, 1, 2)), shifts], axis=1)
    shifts = jnp.einsum("jqv,kva->kjqa", factors, shifts)
    # Without the constant, which has no covariance.
    numbers = factors[:, :, 1:].reshape(2 * len(powers), d)
    covariance = (numbers @ law.root) @ (numbers @ law.root).T
    covariance = covariance.reshape(2, len(powers), 2, len(powers))
    one, other = shifts[:, 0], shifts[:, 1]
    coefficients = jnp.stack(
        [
            one[..., 0] * other[..., 0]
            + jnp.sum((factors[0, :, 1:] @ law.root) * (factors[1, :, 1:] @ law.root), axis=1),
            one[..., 0] * other[..., 1] + one[..., 1] * other[..., 0],
            one[..., 1] * other[..., 1],
        ],
        axis=2,
    )
    return _Cells(
        coefficients=powers[:, :, None] * coefficients[:, :, None],
        shifts=powers[:, :, None] * shifts[:, :, :, None],
        orders=jnp.einsum("rasbxf,xfk->krasb", _PLACES, orders),
        covariance=covariance,
    )


def _cell_means(design: Design, cells: _Cells) -> Any:
    """E of the entries in each cell: (K, entries)."""
    means = jnp.einsum("kqra,kra->kq", cells.coefficients, cells.orders[:, 0, 0])
    mix = design.monomials.mix
    return means if mix is None else jnp.einsum("keq,kq->ke", mix, means)


def _cell_covariances(design: Design, cells: _Cells) -> Any:
    """Cov of the monomials in each cell: (K, Q, Q)."""
    count, q = cells.coefficients.shape[:2]
    orders = cells.orders.reshape(count, 6, 6)
    inner = orders - orders[:, :, :1] * orders[:, :1]
    outer = cells.coefficients.reshape(count, q, 6)
    total = jnp.einsum("kqa,kab,kub->kqu", outer, inner, outer)
    # V between two factors, times N (and half F_0 V) between the two others: each pair comes up twice, once as either.
    shifts = cells.shifts[:, ::-1].reshape(count, 2 * q, 4)
    n = jnp.einsum("kxa,kab,kyb->kxy", shifts, cells.orders[:, :, :2, :, :2].reshape(count, 4, 4), shifts)
    powers = design.monomials.powers
    f_0 = jnp.einsum("qr,krs,us->kqu", powers, cells.orders[:, :, 0, :, 0], powers)
    others = n.reshape(count, 2, q, 2, q) + f_0[:, None, :, None] / 2 * cells.covariance[::-1, :, ::-1]
    return total + jnp.sum(cells.covariance * others, axis=(1, 3))
