"""Where the next round of a likelihood's scores is taken, and the anchor of its posterior: post-processing alone.

It sees what earlier rounds released, and no row. The estimate is the point at which stand-in rows would have the scores
that were released, each round weighed by its noise, by how far away it is, and by the prior.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tacit.models.likelihood_model import LikelihoodModel
from tacit.models.score_model import ScorePrior
from tacit.models.score_round import Round
from tacit.models.score_steps import LIMIT, positive, symmetric
from tacit.schema import Schema

# How far a move may take the linear predictor of a usual row, that of a level's rows, and other coordinates.
_REACH, _GROUP_REACH, _SCALAR_REACH = 2.0, 3.0, 1.0
_DOUBT = 0.2  # of a score that is far from what the anchor expects: the most that it is doubted by, relative to it
_NO_ROUND = 1e12  # the noise of a round that is not there
_PADDED = 8  # rounds, so that one compiled program serves all of a plan
_TRUST = 0.7  # how far an information is believed to be from that of stand-in rows, relative to it
_FARTHEST = 16.0  # by which the two may differ
_USUAL_VARIANCE = 0.12  # of a column in mapped units
_SETTLING, _WIDEST = 6, 4.0  # corrections of the covariates' mean and covariance, before ends


@dataclass(frozen=True)
class AnchoredFit:
    """The anchor, the bend of stand-in rows there, and the mean and the root of the covariance of covariates."""

    anchor: Any
    bend: Any
    mean: Any
    root: Any
    prior_mean: Any
    prior_sd: Any


def fitted(
    model: LikelihoodModel,
    schema: Schema,
    rounds: Sequence[Round],
    values: Sequence[Any],
    n: float,
    said: ScorePrior,
    moves: int,
) -> AnchoredFit:
    """The anchor for what was released: the last point, moved ``moves`` times towards the estimate around it.

    Each move is of limited size, as stand-in rows are bent for where they are taken from. Of several places the one is
    kept around which what was released is likeliest: far from every round nothing would count, and nothing would fit.
    """
    from tacit.runtime.backend import float64, on_processor

    p = len(rounds[0].point)
    values = _clean(values)
    mean, root = _covariates(model.covariates(schema), rounds, values, n)
    padding = -len(rounds) % _PADDED
    points = np.array([*(one.point for one in rounds), *[rounds[-1].point] * padding])
    scores = np.array([*(value[:p] for value in values), *[np.zeros(p)] * padding])
    noise = np.array([one.score_scale * (2**0.5 if one.laplace else 1.0) for one in rounds] + [_NO_ROUND] * padding)
    anchor, x, blocks = np.array(rounds[-1].point, float), model.covariates(schema), model.blocks(schema)
    with float64(), on_processor():
        prepare, predict = _programs(model, schema)
        for _ in range(_SETTLING):
            near = prepare(anchor, np.eye(p), points, scores, noise, mean, root, np.float64(n))
            mean, root = _corrected(x, rounds, values, np.asarray(near["products"]), mean, root, n)
        made = model.made_up_rows(schema)
        placed = made.placed(mean, root, np) if x else np.zeros((1, 0))
        groups = made.groups(placed.mean(axis=0)) if x else placed
        prior_mean, prior_sd = model.coordinate_prior(
            said, placed.mean(axis=0), np.sqrt(np.maximum(placed.var(axis=0), 1e-4)), schema
        )
        covariates = (mean, root, np.float64(n))

        def around() -> tuple[Any, dict[str, Any], Any]:
            near = prepare(anchor, np.eye(p), points, scores, noise, *covariates)
            bend = _bend(rounds, values, {name: np.asarray(one) for name, one in near.items()}, p)
            near = prepare(anchor, bend, points, scores, noise, *covariates)
            return bend, near, np.linalg.inv(noise[:, None, None] ** 2 * np.eye(p) + np.asarray(near["extra"]))

        best, kept = np.inf, (anchor, np.eye(p))
        for move in range(moves + (moves > 1)):
            bend, near, weights = around()
            missed = scores - np.asarray(near["means"])
            misfit = np.einsum("ki,kij,kj->", missed, weights, missed) - np.linalg.slogdet(weights)[1].sum()
            misfit += np.sum(((anchor - prior_mean) / prior_sd) ** 2)
            if misfit < best:
                best, kept = misfit, (anchor, bend)
            if move == moves:
                break
            found = _climbed(
                lambda t, near=near, bend=bend, centre=anchor: predict(t, centre, bend, near["scores"], *covariates),
                *(scores, weights, prior_mean, prior_sd, anchor),
            )
            step = found - anchor
            own = step[: x * blocks].reshape(blocks, x)  # of each linear predictor
            size = np.sqrt(((own @ placed.T) ** 2).mean(axis=1)).max(initial=0.0) / _REACH
            size = max(size, np.abs(own @ groups.T).max(initial=0.0) / _GROUP_REACH)
            size = max(float(size), float(np.abs(step[x * blocks :]).max(initial=0.0)) / _SCALAR_REACH)
            anchor = np.clip(anchor + step / max(1.0, size), -LIMIT, LIMIT)
            if size < 1e-3:
                break
        if moves > 1:
            anchor, bend = kept
        else:
            bend = kept[1]
    return AnchoredFit(anchor, bend, mean, root, prior_mean, prior_sd)


def settled_prior(
    model: LikelihoodModel, schema: Schema, rounds: Sequence[Round], values: Sequence[Any], n: float, said: ScorePrior
) -> tuple[Any, Any]:
    """Mean and sd of each coordinate, as the covariates are found to be spread."""
    fit = fitted(model, schema, rounds, values, n, said, 0)
    return fit.prior_mean, fit.prior_sd


def _clean(values: Sequence[Any]) -> list[Any]:
    return [np.clip(np.nan_to_num(np.asarray(value, float)), -1e12, 1e12) for value in values]


def _climbed(
    predict: Callable[[Any], Any], scores: Any, weights: Any, prior_mean: Any, prior_sd: Any, start: Any
) -> Any:
    """The most plausible point, by damped Gauss-Newton steps."""
    t, best, damping, kept = start, np.inf, 1e-2, None
    for _ in range(12):
        expected, jacobian = (np.asarray(one) for one in predict(t))
        residual = scores - expected
        value = float(
            np.einsum("ki,kij,kj->", residual, weights, residual) + np.sum(((t - prior_mean) / prior_sd) ** 2)
        )
        if np.isfinite(value) and value < best:
            gradient = np.einsum("kij,kil,kl->j", jacobian, weights, residual) - (t - prior_mean) / prior_sd**2
            curvature = np.einsum("kij,kil,klm->jm", jacobian, weights, jacobian) + np.diag(prior_sd**-2.0)
            done, best, damping, kept = best - value < 1e-4, value, damping / 4, (t, gradient, curvature)
            if done:
                break
        else:
            damping *= 8
        if kept is None:
            return start
        at, gradient, curvature = kept
        t = np.clip(at + np.linalg.solve(curvature + damping * np.diag(np.diag(curvature)), gradient), -LIMIT, LIMIT)
    assert kept is not None
    return kept[0]


def next_point(
    model: LikelihoodModel, schema: Schema, rounds: Sequence[Round], values: Sequence[Any], n: float
) -> tuple[float, ...]:
    """The point of the next round: one move from the last one."""
    with np.errstate(all="ignore"):
        return tuple(fitted(model, schema, rounds, values, float(n), ScorePrior(), 1).anchor.tolist())


def _covariates(x: int, rounds: Sequence[Round], values: Sequence[Any], n: float) -> tuple[Any, Any]:
    """Mean and root of the covariance of covariates, by the first released matrix, rows weighed by their scores."""
    found = _seen(x, rounds, values, n)
    if x < 2 or found is None:
        return np.eye(max(x, 1))[0, :x], _root(np.diag([0.0] * min(x, 1) + [_USUAL_VARIANCE] * max(x - 1, 0)))
    gram, noise, _ = found
    mean = np.concatenate([[1.0], np.clip(gram[0, 1:] / (1 + (noise / 0.5) ** 2), -1.0, 1.0)])
    trust = 1 / (1 + (noise / _USUAL_VARIANCE) ** 2)
    inner = trust * (gram[1:, 1:] - np.outer(mean[1:], mean[1:])) + (1 - trust) * _USUAL_VARIANCE * np.eye(x - 1)
    return mean, _root(_capped(positive(inner, max(trust * noise / 2, 1e-6))))


def _corrected(
    x: int, rounds: Sequence[Round], values: Sequence[Any], products: Any, mean: Any, root: Any, n: float
) -> tuple[Any, Any]:
    """Covariates under which stand-in rows, weighed by their own scores, have the first released matrix."""
    found = _seen(x, rounds, values, n)
    if x < 2 or found is None:
        return mean, root
    gram, noise, place = found
    own = products[place][:x, :x]
    own = own / max(own[0, 0], 1e-12)
    moved = (gram[0, 1:] - own[0, 1:]) / (1 + (noise / 0.5) ** 2)
    changed = np.concatenate([[1.0], np.clip(mean[1:] + moved, -_WIDEST, _WIDEST)])
    theirs = positive(gram[1:, 1:] - np.outer(gram[0, 1:], gram[0, 1:]), max(noise / 2, 1e-6))
    ours = np.linalg.cholesky(positive(own[1:, 1:] - np.outer(own[0, 1:], own[0, 1:]), 1e-6))
    whiten, trust = np.linalg.inv(ours), 1 / (1 + (noise / _USUAL_VARIANCE) ** 2)
    lengths, vectors = np.linalg.eigh(whiten @ theirs @ whiten.T)
    lengths = np.clip(lengths, 1 / _FARTHEST, _FARTHEST) ** (trust / 2)
    turn = ours @ (vectors * lengths) @ vectors.T @ whiten @ root[1:, 1:]
    return changed, _root(_capped(turn @ turn.T + 1e-6 * np.eye(x - 1), _WIDEST))


def _seen(x: int, rounds: Sequence[Round], values: Sequence[Any], n: float) -> tuple[Any, float, int] | None:
    """The first released matrix of covariates over that of the constant, the scale of its noise, and its place."""
    first = next((i for i, one in enumerate(rounds) if one.matrix), None)
    if first is None:
        return None
    p = len(rounds[0].point)
    upper = symmetric(values[first][p : p + p * (p + 1) // 2], p)[:x, :x]
    scale = rounds[first].matrix_scale * (1.5 if rounds[first].laplace else 1.0)
    weight = max(upper[0, 0] if x else 0.0, 1e-3 * n, scale)
    return upper / weight, scale / weight, first


def _capped(inner: Any, most: float = 1.0) -> Any:
    spread = np.sqrt(np.maximum(np.diag(inner) / most, 1.0))
    return inner / np.outer(spread, spread)


def _root(inner: Any) -> Any:
    """The lower triangular root of a covariance of covariates, of all of them or of all but the constant."""
    x = len(inner) if len(inner) and inner[0, 0] == 0 else len(inner) + 1
    inner = inner[len(inner) - x + 1 :, len(inner) - x + 1 :] if len(inner) else inner
    root = np.zeros((x, x)) if len(inner) else np.zeros((0, 0))
    root[1:, 1:] = np.linalg.cholesky(inner)
    return root


def _bend(rounds: Sequence[Round], values: Sequence[Any], near: dict[str, Any], p: int) -> Any:
    """C such that stand-in rows have the information that was released, as far as noise lets it be seen."""
    sizes = np.einsum("kj,jl,kl->k", near["steps"], near["information"], near["steps"])
    able = [i for i, one in enumerate(rounds) if one.matrix]
    if not able:
        return np.eye(p)
    nearest = min(able, key=lambda i: float(sizes[i]))
    upper = values[nearest][p : p + p * (p + 1) // 2]
    predicted = near["products"][nearest]
    root = np.linalg.cholesky(predicted + 1e-9 * np.trace(predicted) * np.eye(p))
    whiten = np.linalg.inv(root)
    ratio = whiten @ symmetric(upper, p) @ whiten.T
    noise = rounds[nearest].matrix_scale * np.linalg.norm(whiten, axis=1)[:, None] * np.linalg.norm(whiten, axis=1)
    trust = _TRUST**2 / (_TRUST**2 + noise**2 + float(near["doubt"][nearest]))
    ratio = positive(np.eye(p) + trust * (ratio - np.eye(p)), 0.05)
    lengths, vectors = np.linalg.eigh(ratio)
    ratio = (vectors * np.clip(lengths, 1 / _FARTHEST, _FARTHEST)) @ vectors.T
    return np.linalg.inv(root.T) @ np.linalg.cholesky(ratio).T @ root.T


def stand_in_of(model: LikelihoodModel, schema: Schema) -> Callable[[Any, Any, Any], Any]:
    """What makes stand-in rows from the mean and the root of the covariance of covariates, and n."""
    import jax.numpy as jnp

    from tacit.samplers.stand_in_rows import StandInRows

    made, densities, clip = model.made_up_rows(schema), model.densities(schema), float(model.clip_length(schema))

    def build(mean: Any, root: Any, n: Any) -> StandInRows:
        rows = {name: jnp.asarray(values) for name, values in made.rows.items()}
        if model.covariates(schema):
            x = made.placed(mean, root, jnp)
            rows["x"] = jnp.broadcast_to(x[:, None, :], (*made.base.shape, x.shape[1]))
        return StandInRows(densities, rows, jnp.asarray(made.base), clip, n)

    return build


@lru_cache(maxsize=16)
def _programs(model: LikelihoodModel, schema: Schema) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Compiled: what is fixed around an anchor, and the scores that are expected with their derivative."""
    import jax
    import jax.numpy as jnp

    from tacit.samplers.likelihood_chain import BEND, reference
    from tacit.samplers.stand_in_rows import around_anchor, discount

    build, x = stand_in_of(model, schema), model.covariates(schema)

    def prepare(anchor: Any, bend: Any, points: Any, scores: Any, noise: Any, mean: Any, root: Any, n: Any) -> Any:
        near = around_anchor(build(mean, root, n), anchor, bend, points)
        own = bend.T @ near["information"] @ bend
        means, scale = near["means"] @ bend, reference(own, x, n)
        extra, near["doubt"] = discount(own, near["steps"], means, scale, BEND)
        # how far the estimate seems to be from the anchor, beyond what noise makes of it
        missed, inverse = scores - means, jnp.linalg.inv(own)
        sizes = jnp.einsum("kj,jl,kl->k", missed, inverse, missed) - 2 * noise**2 * jnp.trace(inverse)
        sizes = jnp.where(noise < _NO_ROUND, jnp.maximum(sizes, 0.0), 0.0)
        shares = jnp.minimum(BEND**2 * sizes / scale, _DOUBT**2)
        extra = jnp.maximum(extra, 2 / (1 + len(anchor)) * shares * sizes)
        near["means"] = means
        near["extra"] = near["scatter"] + extra[:, None, None] * own
        return {name: near[name] for name in ("information", "steps", "scores", "means", "products", "extra", "doubt")}

    def predict(t: Any, anchor: Any, bend: Any, scores: Any, mean: Any, root: Any, n: Any) -> Any:
        stand_in = build(mean, root, n)

        def expected(t: Any) -> Any:
            return stand_in.mean(jnp.exp(stand_in.log_p(anchor + bend @ (t - anchor))), scores) @ bend

        return expected(t), jax.jacfwd(expected)(t)

    return jax.jit(prepare), jax.jit(predict)
