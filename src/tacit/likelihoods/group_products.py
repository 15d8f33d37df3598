"""Normal sums by group that were seen with noise, and what they say of the products of these sums over all groups.

Group g has Z = sum zz' (q, q), with z = 1 or (1, slope), and a vector of sums v, one q-vector sum z w for each w of (r,
y). Given the parameters v is normal. `given_seen` conditions on noisy v, number by number, and `product_moments` gives
mean and covariance of what the groups add to sums of products over all rows,

    B_ij = sum over g of v_i' Z^-1 v_j = sum over g of h_i'h_j,    h = L^-1 v,  LL' = Z.

B is a sum over groups of products of normal numbers X, Y, so its moments are exact: E XY = E_xy with E_xy = C_xy + m_x
m_y, and Cov(XY, ZW) = E_xz E_yw + E_xw E_yz - 2 m_x m_y m_z m_w. That B is normal is the central limit theorem over
groups; where sums are known well their products are close to linear, and it is normal without it.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp


def given_seen(mean: Any, covariance: Any, seen: Any, noise: Any) -> tuple[Any, Any, Any]:
    """Mean and covariance of normal vectors (..., s) given each of their numbers with noise of variance ``noise``, and
    the log density of what was ``seen``, summed.
    """
    value = 0.0
    for i in range(mean.shape[-1]):
        total = covariance[..., i, i] + noise[..., i]
        away = seen[..., i] - mean[..., i]
        value -= jnp.sum(away**2 / total + jnp.log(total)) / 2
        gain = covariance[..., :, i] / total[..., None]
        mean = mean + gain * away[..., None]
        # Joseph's form, which stays positive where the noise is less than the rounding of the covariance.
        covariance = covariance - gain[..., :, None] * covariance[..., i, :][..., None, :]
        covariance = covariance - covariance[..., :, i][..., :, None] * gain[..., None, :]
        covariance = covariance + (noise[..., i, None] * gain)[..., :, None] * gain[..., None, :]
    return mean, covariance, value


def product_moments(mean: Any, covariance: Any) -> tuple[Any, Any]:
    """Mean (d, d) and covariance (d, d, d, d) of the sum over groups of h_i'h_j; ``mean`` of h is (groups, d, q),
    ``covariance`` (groups, d, q, d, q).
    """
    groups, d, q = mean.shape
    squares = mean[:, :, :, None, None] * mean[:, None, None, :, :]
    second = covariance + squares
    expected = jnp.einsum("giaja->ij", second)
    flat, own, both = (
        jnp.transpose(one, (0, 2, 4, 1, 3)).reshape(groups * q * q, d * d) for one in (covariance, squares, second)
    )
    # At (i, k, j, l) the sum of E_ik E_jl - m_i m_k m_j m_l, without a difference: means may be 10^7 times the sds.
    crossed = (flat.T @ both + own.T @ flat).reshape(d, d, d, d)
    return expected, jnp.transpose(crossed, (0, 2, 1, 3)) + jnp.transpose(crossed, (0, 2, 3, 1))
