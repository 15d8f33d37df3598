"""Any family's parameters as free real numbers, found out from draws of its prior.

A parameter whose draws are all symmetric positive definite matrices is written by its log-Cholesky factor, one that
sums to 1 by log ratios, one inside (0, 1) by its log odds, a positive one by its logarithm, and any other as it is.
These are coordinates to differentiate in, no more: another choice would serve as well, so that a guess from draws can
be no error. The coordinates are then standardised by the mean and the covariance that the draws have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.runtime.chain import Arrays

_LEAST_VARIANCE = 1e-12  # of a coordinate that the prior leaves free


@dataclass(frozen=True, eq=False)
class _Part:
    """One parameter: its name, its own shape, how it is written, and how many coordinates that takes."""

    name: str
    shape: tuple[int, ...]
    kind: str
    size: int


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Standard coordinates: mean 0 and covariance 1 under the prior. u = ``mean`` + ``root`` v are the free ones."""

    parts: tuple[_Part, ...]
    mean: Any
    root: Any

    @property
    def size(self) -> int:
        """How many coordinates vary under the prior."""
        return self.root.shape[1]

    def standard(self, draws: Arrays) -> Any:
        """(M, ``size``) coordinates of M draws."""
        return (_free(self.parts, draws) - self.mean) @ np.linalg.pinv(self.root).T

    def parameters(self, standard: Any) -> Arrays:
        """M draws of the parameters, each an array with a leading axis, from (M, ``size``) coordinates."""
        free = self.mean + np.asarray(standard) @ self.root.T
        found: Arrays = {}
        start = 0
        for part in self.parts:
            found[part.name] = _from_free(part, free[:, start : start + part.size])
            start += part.size
        return found


def coordinates_of(draws: Arrays) -> Coordinates:
    """The coordinates for parameters with these draws of the prior, each an array with a leading axis."""
    parts = tuple(_part(name, np.asarray(values, np.float64)) for name, values in draws.items())
    free = _free(parts, draws)
    mean = free.mean(axis=0)
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(free.T)))
    varies = values > max(_LEAST_VARIANCE, 1e-10 * float(values.max()))
    return Coordinates(parts, mean, vectors[:, varies] * np.sqrt(values[varies]))


def _part(name: str, values: Any) -> _Part:
    shape = values.shape[1:]
    size = int(np.prod(shape, dtype=int))
    if len(shape) == 2 and shape[0] == shape[1] and np.allclose(values, values.swapaxes(1, 2)):
        try:
            np.linalg.cholesky(values)
            return _Part(name, shape, "covariance", shape[0] * (shape[0] + 1) // 2)
        except np.linalg.LinAlgError:
            return _Part(name, shape, "real", size)
    if len(shape) == 1 and size > 1 and np.all(values > 0) and np.allclose(values.sum(axis=1), 1):
        return _Part(name, shape, "shares", size - 1)
    if np.all((values > 0) & (values < 1)):
        return _Part(name, shape, "share", size)
    return _Part(name, shape, "positive" if np.all(values > 0) else "real", size)


def _free(parts: tuple[_Part, ...], draws: Arrays) -> Any:
    return np.concatenate([_to_free(part, np.asarray(draws[part.name], np.float64)) for part in parts], axis=1)


def _to_free(part: _Part, values: Any) -> Any:
    flat = values.reshape(len(values), -1)
    match part.kind:
        case "covariance":
            root = np.linalg.cholesky(values)
            d = part.shape[0]
            root[:, range(d), range(d)] = np.log(root[:, range(d), range(d)])
            return root[:, *np.tril_indices(d)]
        case "shares":
            logs = np.log(flat)
            return logs[:, :-1] - logs[:, -1:]
        case "share":
            return np.log(flat) - np.log1p(-flat)
        case "positive":
            return np.log(flat)
        case _:
            return flat


def _from_free(part: _Part, free: Any) -> Any:
    match part.kind:
        case "covariance":
            d = part.shape[0]
            root = np.zeros((len(free), d, d))
            root[:, *np.tril_indices(d)] = free
            root[:, range(d), range(d)] = np.exp(np.clip(root[:, range(d), range(d)], -300, 300))
            return root @ root.swapaxes(1, 2)
        case "shares":
            logs = np.concatenate([free, np.zeros((len(free), 1))], axis=1)
            weights = np.exp(logs - logs.max(axis=1, keepdims=True))
            return weights / weights.sum(axis=1, keepdims=True)
        case "share":
            return (0.5 * (1 + np.tanh(free / 2))).reshape(-1, *part.shape)
        case "positive":
            return np.exp(np.clip(free, -600, 600)).reshape(-1, *part.shape)
        case _:
            return free.reshape(-1, *part.shape)
