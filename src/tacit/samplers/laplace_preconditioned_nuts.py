"""NUTS in coordinates that are whitened at the peak of a target made of several pieces of evidence.

The unknowns are t, whose prior spreads are near 1, and for each number with Laplace noise of scale b a mixing variable
v: the noise is normal given its variance omega^2 = -2 b^2 log Phi(-v), and v is standard normal, so omega^2 is
exponential with mean 2 b^2 (bernstein2019, Algorithm 1). Before sampling, damped Newton steps find the peak of the
target in t. Then t is written as

    t = peak + H^-1 g + L'^-1 u,    H = L L' = F + sum J'W J,    g = sum J'(W - W0) r

where the sums run over pieces with Laplace noise, J is the Jacobian of the expected numbers at the peak, r the
residuals there, W their precision given omega and W0 that at the peak, and F is the information of all else. If the
expected numbers were linear in t, u would be standard normal whatever omega is. So neither the number of rows or
reports, nor an omega that happens to be small, changes the step size and the length of a trajectory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_solve, solve_triangular
from jax.scipy.special import log_ndtr, ndtri

from tacit.errors import expected
from tacit.runtime.chain import Arrays, Chain, SamplerSettings
from tacit.samplers.hmc_kernel import explore

_ROUNDS, _STEPS = 3, 15  # of the search for the peak; the variances of Laplace noise are renewed with each round


@dataclass(frozen=True, eq=False)
class Geometry:
    """``target``, ``information`` and ``start`` take the numbers of each piece and the variances of its noise.

    No direction has less information than ``flattest``. ``moments`` takes a piece and t; it is needed for pieces with
    noise of their own.
    """

    target: Callable[[Any, Any, Any], Any]
    information: Callable[[Any, Any, Any], Any]
    start: Callable[[Any, Any], Any]
    flattest: float
    moments: Callable[[Any, Any], Any] | None = None

    def fitted(self, piece: Any, t: Any) -> Any:
        """The moments of a piece with noise of its own."""
        assert self.moments is not None
        return self.moments(piece, t)


class _Noise:
    """The noise of all pieces: which of it is Laplace, and its variances given the mixing variables."""

    def __init__(self, evidence: Sequence[Any]) -> None:
        self.scales = [getattr(piece, "scales", np.zeros(0)) for piece in evidence]
        given = [np.asarray(getattr(piece, "laplace", False)) for piece in evidence]
        self.laplace = [np.broadcast_to(own, scale.shape) for own, scale in zip(given, self.scales, strict=True)]
        self.mixed = [bool(own.any()) for own in self.laplace]  # with a mixing variable for every number
        self.pieces = [i for i, mix in enumerate(self.mixed) if mix]
        lengths = [len(scale) if mix else 0 for scale, mix in zip(self.scales, self.mixed, strict=True)]
        self.cuts = np.cumsum(lengths)[:-1]

    def variances(self, mixing: Any) -> list[Any]:
        parts = zip(self.scales, jnp.split(mixing, self.cuts), self.mixed, self.laplace, strict=True)
        return [
            jnp.where(laplace, -2 * scale**2 * log_ndtr(-v), scale**2) if mix else scale**2
            for scale, v, mix, laplace in parts
        ]

    def mixing(self, variances: Sequence[Any]) -> Any:
        shares = [jnp.exp(-variances[i] / (2 * self.scales[i] ** 2)) for i in self.pieces]  # of normal noise: any
        return -ndtri(jnp.clip(jnp.concatenate(shares), 1e-6, 1 - 1e-6)) if shares else jnp.zeros(0)


def laplace_preconditioned_nuts(
    evidence: Sequence[Any],
    geometry: Geometry,
    parameters: Callable[[Any], Arrays],
    settings: SamplerSettings,
    *,
    accepted: float | None = None,
    depth: int = 10,
) -> Chain:
    """The chain of a target; ``parameters`` gives the draws by name from t, ``accepted`` is the rate aimed at.

    A piece has a ``size``, how many of the released numbers are its own. One with noise of its own has ``scales``,
    an array, and says whether it is ``laplace``, altogether or number by number.
    """
    if not evidence:
        raise expected("evidence", list(evidence), "to hold at least one piece")
    cuts = np.cumsum([piece.size for piece in evidence])[:-1]
    noise = _Noise(evidence)

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        parts = jnp.split(released, cuts)
        peak, variances, information = find_peak(evidence, geometry, parts)
        size = peak.shape[0]
        jacobians = [jax.jacfwd(lambda t, i=i: geometry.fitted(evidence[i], t)[0])(peak) for i in noise.pieces]
        fits = [geometry.fitted(evidence[i], peak) for i in noise.pieces]

        def precisions(variances: Sequence[Any]) -> list[Any]:
            pairs = zip(noise.pieces, fits, strict=True)
            return [jnp.linalg.inv(covariance + jnp.diag(variances[i])) for i, (_, covariance) in pairs]

        usual = precisions(variances)
        known = sum((J.T @ W @ J for J, W in zip(jacobians, usual, strict=True)), jnp.zeros((size, size)))
        rest = at_least(information - known, geometry.flattest) if noise.pieces else information
        fixed = jnp.linalg.cholesky(information)

        def unwhitened(position: Any) -> tuple[Any, Any]:
            """t, and the log of the volume that a unit of u has there."""
            if not noise.pieces:
                return peak + solve_triangular(fixed, position, lower=True, trans=1), 0.0
            bend, pull = rest, jnp.zeros(size)
            now = precisions(noise.variances(position[size:]))
            for i, J, (mean, _), W, W0 in zip(noise.pieces, jacobians, fits, now, usual, strict=True):
                bend, pull = bend + J.T @ W @ J, pull + J.T @ ((W - W0) @ (parts[i] - mean))
            root = jnp.linalg.cholesky(bend)
            moved = solve_triangular(root, pull, lower=True) + position[:size]
            return peak + solve_triangular(root, moved, lower=True, trans=1), -jnp.sum(jnp.log(jnp.diagonal(root)))

        def log_density(position: Any) -> Any:
            t, volume = unwhitened(position)
            value = geometry.target(t, parts, noise.variances(position[size:])) + volume
            value = value - jnp.sum(position[size:] ** 2) / 2
            return jnp.where(jnp.isfinite(value), value, -jnp.inf)

        for_start, for_chain = jax.random.split(key)
        first = jnp.concatenate([0.5 * jax.random.normal(for_start, (size,)), noise.mixing(variances)])
        usually = 0.9 if noise.pieces else 0.8  # omega is not quite normal, even in the best coordinates
        positions, info = explore(for_chain, log_density, first, settings, target=accepted or usually, depth=depth)
        return jax.vmap(lambda position: parameters(unwhitened(position)[0]))(positions), info

    return chain


def find_peak(evidence: Sequence[Any], geometry: Geometry, parts: Any) -> tuple[Any, list[Any], Any]:
    """The peak of the target, and the variances of the noise and the information there.

    Those of Laplace noise are renewed with each round, to the mean of omega^2 given the residual r: b |r| + b^2.
    """
    noise = _Noise(evidence)
    variances = [
        jnp.asarray(np.where(own, 2.0, 1.0) * s**2) for s, own in zip(noise.scales, noise.laplace, strict=True)
    ]

    def round_(_: int, state: tuple[Any, list[Any], Any]) -> tuple[Any, list[Any], Any]:
        peak, variances = state[0], list(state[1])
        for i in noise.pieces:
            residual = parts[i] - geometry.fitted(evidence[i], peak)[0]
            variances[i] = noise.scales[i] * jnp.where(noise.laplace[i], jnp.abs(residual), 0.0) + noise.scales[i] ** 2
        found, information = climb(
            lambda t: geometry.target(t, parts, variances), lambda t: geometry.information(t, parts, variances), peak
        )
        return found, variances, information

    start = geometry.start(parts, variances)
    empty = jnp.zeros((start.shape[0], start.shape[0]), start.dtype)
    return jax.lax.fori_loop(0, _ROUNDS if noise.pieces else 1, round_, (start, variances, empty))


def at_least(matrix: Any, flattest: float) -> Any:
    """A symmetric matrix with the absolute values of its eigenvalues, or ``flattest`` where that is more."""
    values, vectors = jnp.linalg.eigh(matrix)
    return (vectors * jnp.maximum(jnp.abs(values), flattest)) @ vectors.T


def climb(
    target: Callable[[Any], Any], information: Callable[[Any], Any], start: Any, steps: int = _STEPS
) -> tuple[Any, Any]:
    """The peak and the information there, by damped Newton steps (Levenberg and Marquardt).

    A step that does not rise is not taken and the damping grows. The target, its gradient and the information stand in
    the program once: the first step goes nowhere and is taken, and so finds them at the start.
    """

    def step(i: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
        t, best, slope, bend, damping = state
        damped = bend + jnp.diag(damping * jnp.diagonal(bend))
        moved = t + cho_solve((jnp.linalg.cholesky(damped), True), slope)
        value, gradient = jax.value_and_grad(target)(moved)
        better = (value > best) | (i == 0)
        new = moved, value, gradient, information(moved)
        kept = (jnp.where(better, one, old) for one, old in zip(new, state[:4], strict=True))
        return *kept, jnp.clip(jnp.where(better, damping / 5, damping * 5), 1e-9, 1e9)

    size, kind = start.shape[0], start.dtype
    first = start, jnp.asarray(-jnp.inf, kind), jnp.zeros(size, kind), jnp.eye(size, dtype=kind)
    found = jax.lax.fori_loop(0, steps + 1, step, (*first, jnp.asarray(5e-2, kind)))
    return found[0], found[3]
