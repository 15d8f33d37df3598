"""Where the next round of a likelihood's scores is taken, and the anchor of its posterior: post-processing alone.

It sees what earlier rounds released, and no row. The estimate is the point at which stand-in rows would have the scores
that were released, each round weighed by its noise, by how far away it is, and by the prior.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tacit.models.likelihood_model import LikelihoodModel
from tacit.models.score_model import ScorePrior
from tacit.models.score_round import Round
from tacit.models.score_steps import LIMIT, positive, symmetric
from tacit.models.stand_in_covariates import StandInCovariates
from tacit.schema import Schema

# How far a move may take the linear predictor of a usual row, that of a level's rows, and other coordinates.
_REACH, _GROUP_REACH, _SCALAR_REACH = 2.0, 3.0, 1.0
_DOUBT = 0.2  # of a score that is far from what the anchor expects: the most that it is doubted by, relative to it
_UNEXPLAINED = (
    4.0  # of an information, relative to it: its squared doubt for rows that are off by 1 in their predictors
)
_NO_ROUND = 1e12  # the noise of a round that is not there
_PADDED = 8  # rounds, so that one compiled program serves all of a plan
_TRUST = 0.7  # how far an information is believed to be from that of stand-in rows, relative to it
_FARTHEST = 16.0  # by which the two may differ
_USUAL_VARIANCE, _USUAL_MEAN = 0.12, 0.35  # of a column in mapped units, and the sd of its mean
_USUAL_SCALE = 0.7  # how far the information of a constant is from that of usual rows, relative to it
_MOVES = 4  # towards where the next round is taken
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
    *,
    ahead: bool = False,
) -> AnchoredFit:
    """The anchor for what was released: the last point, moved ``moves`` times towards the estimate around it.

    Each move is of limited size, as stand-in rows are bent for where they are taken from. Of several places the one is
    kept around which what was released is likeliest: far from every round nothing would count, and nothing would fit.
    With ``ahead`` the last point is none of them, as nothing more would be learned there.
    """
    from tacit.runtime.backend import float64, on_processor

    p = len(rounds[0].point)
    values = _clean(values)
    made = model.made_up_rows(schema).covariates
    padding = -len(rounds) % _PADDED
    points = np.array([*(one.point for one in rounds), *[rounds[-1].point] * padding])
    scaled = [in_one_unit(one, value) for one, value in zip(rounds, values, strict=True)]
    scores = np.array([*(one.scores for one in scaled), *[np.zeros(p)] * padding])
    units = np.array([*(one.units for one in scaled), *[np.ones(p)] * padding])
    sds = [one.score_scale * (2**0.5 if one.laplace else 1.0) for one in rounds] + [_NO_ROUND] * padding
    noise = np.array(sds)[:, None] * units
    counts = np.array([*(one.cut for one in scaled), *[(0.0, _NO_ROUND)] * padding])
    taken = (points, units, counts)
    anchor, x, blocks = np.array(rounds[-1].point, float), model.covariates(schema), model.blocks(schema)
    with float64(), on_processor():
        prepare, predict = _programs(model, schema)

        def products(mean: Any, root: Any) -> Any:
            return np.asarray(prepare(anchor, np.eye(p), taken, scores, noise, mean, root, np.float64(n))["products"])

        mean, root = _covariates(made, rounds, values, products)
        placed, weights = made.placed(mean, root, np) if made is not None else (np.zeros((1, 0)), np.ones(1))
        middle = np.average(placed, axis=0, weights=weights)
        spread = np.sqrt(np.maximum(np.average((placed - middle) ** 2, axis=0, weights=weights), 1e-4))
        groups = made.groups(middle) if made is not None else placed
        prior_mean, prior_sd = model.coordinate_prior(said, middle, spread, schema)
        covariates, often = (mean, root, np.float64(n)), weights / len(weights)

        def around() -> tuple[Any, dict[str, Any], Any]:
            near = prepare(anchor, np.eye(p), taken, scores, noise, *covariates)
            bend = _bend(rounds, values, {name: np.asarray(one) for name, one in near.items()}, p)
            near = prepare(anchor, bend, taken, scores, noise, *covariates)
            return bend, near, _inverses(noise[:, :, None] ** 2 * np.eye(p) + np.asarray(near["extra"]))

        best, kept = np.inf, (anchor, np.eye(p))
        for move in range(moves + 1):
            bend, near, weights = around()
            missed = scores - np.asarray(near["shift"]) - np.asarray(near["means"])
            misfit = np.einsum("ki,kij,kj->", missed, weights, missed) - np.linalg.slogdet(weights)[1].sum()
            misfit = misfit if np.isfinite(misfit) else np.inf
            misfit += np.sum(((anchor - prior_mean) / prior_sd) ** 2)
            if misfit < best and (move > 0 or not ahead):
                best, kept = misfit, (anchor, bend)
            if move == moves:
                break
            found = _climbed(
                lambda t, near=near, bend=bend, centre=anchor: predict(t, centre, bend, near["scores"], *covariates),
                *(scores - np.asarray(near["shift"]), weights, prior_mean, prior_sd, anchor),
            )
            step = found - anchor
            own = step[: x * blocks].reshape(blocks, x)  # of each linear predictor
            size = np.sqrt((own @ placed.T) ** 2 @ often).max(initial=0.0) / _REACH
            size = max(size, np.abs(own @ groups.T).max(initial=0.0) / _GROUP_REACH)
            size = max(float(size), float(np.abs(step[x * blocks :]).max(initial=0.0)) / _SCALAR_REACH)
            anchor = np.clip(anchor + step / max(1.0, size), -LIMIT, LIMIT)
            if size < 1e-3:
                break
    return AnchoredFit(*kept, mean, root, prior_mean, prior_sd)


def settled_prior(
    model: LikelihoodModel, schema: Schema, rounds: Sequence[Round], values: Sequence[Any], n: float, said: ScorePrior
) -> tuple[Any, Any]:
    """Mean and sd of each coordinate, as the covariates are found to be spread."""
    fit = fitted(model, schema, rounds, values, n, said, 0)
    return fit.prior_mean, fit.prior_sd


class InOneUnit(NamedTuple):
    """What a round released: scores as they are, what they were cut in, the information as it was released, and how
    many rows were cut, with the sd of its noise.
    """

    scores: Any
    units: Any
    upper: Any
    cut: tuple[float, float]


def in_one_unit(one: Round, value: Any) -> InOneUnit:
    """The scores of a round, which were divided by its units."""
    p = len(one.point)
    units = np.ones(p) if one.units is None else np.array(one.units)
    return InOneUnit(
        np.asarray(value[:p]) * units, units, value[p : p + p * (p + 1) // 2], (float(value[-1]), one.cut_noise)
    )


def usual_squares(model: LikelihoodModel, schema: Schema, point: Sequence[float]) -> Any:
    """The mean square of each entry of a score at ``point``, where the model holds there and covariates are usual."""
    from tacit.runtime.backend import float64, on_processor

    made = model.made_up_rows(schema).covariates
    mean, root = _usual(made) if made is not None else (np.zeros(0), np.zeros((0, 0)))
    with float64(), on_processor():
        return np.asarray(_squares(model, schema)(np.asarray(point, float), mean, root))


@lru_cache(maxsize=16)
def _squares(model: LikelihoodModel, schema: Schema) -> Callable[[Any, Any, Any], Any]:
    import jax
    import jax.numpy as jnp

    build = stand_in_of(model, schema)

    def squares(point: Any, mean: Any, root: Any) -> Any:
        rows = build(mean, root, 1.0)
        return rows.mean(jnp.exp(rows.log_p(point)), rows.scores(point) ** 2)

    return jax.jit(squares)


def _clean(values: Sequence[Any]) -> list[Any]:
    return [np.clip(np.nan_to_num(np.asarray(value, float)), -1e12, 1e12) for value in values]


def _inverses(covariances: Any) -> Any:
    """Of symmetric matrices, 0 for one that is not finite: then its round says nothing."""
    sound = np.isfinite(covariances).all(axis=(1, 2))
    found = np.where(sound[:, None, None], covariances, np.eye(covariances.shape[1]))
    scale = np.sqrt(np.maximum(np.einsum("kjj->kj", found), 1e-300))
    outer = scale[:, :, None] * scale[:, None, :]
    inverses = np.linalg.inv(found / outer + 1e-10 * np.eye(covariances.shape[1])) / outer
    return np.where(sound[:, None, None], inverses, 0.0)


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
        return tuple(fitted(model, schema, rounds, values, float(n), ScorePrior(), _MOVES, ahead=True).anchor.tolist())


def _usual(made: StandInCovariates) -> tuple[Any, Any]:
    """Mean and root of the covariance of covariates that nothing is known of."""
    return made.usual_mean, _root(_USUAL_VARIANCE * np.eye(len(made.usual_mean) - 1))


def _covariates(
    made: StandInCovariates | None, rounds: Sequence[Round], values: Sequence[Any], products: Callable[[Any, Any], Any]
) -> tuple[Any, Any]:
    """Mean and root of the covariance of covariates with which stand-in rows have about the first released matrix.

    ``products`` gives the matrices that stand-in rows with such covariates have. What noise hides is as usual: they are
    led to a matrix between the one with usual covariates and the one that was released.
    """
    first = next((i for i, one in enumerate(rounds) if one.matrix), None)
    if made is None:
        return np.zeros(0), np.zeros((0, 0))
    mean, root = _usual(made)
    if first is None or len(mean) < 2:
        return mean, root
    x, p = len(mean), len(rounds[first].point)
    one = in_one_unit(rounds[first], values[first])
    seen = (symmetric(one.upper, p) * np.outer(one.units, one.units))[:x, :x]
    noise = rounds[first].matrix_scale * (1.5 if rounds[first].laplace else 1.0) * float(one.units[0]) ** 2
    own = products(mean, root)[first][:x, :x]
    usual = max(float(own[0, 0]), 1e-12)  # its constant is known about as well as usual rows are like these
    trust = 1 / (1 + (noise / (_USUAL_SCALE * usual)) ** 2)
    weight = max(usual + trust * (float(seen[0, 0]) - usual), 0.1 * usual)
    seen, own, noise = seen / weight, own / usual, noise / weight
    indicators = made.indicators
    target = own[0] + (seen[0] - own[0]) / (1 + (noise / _USUAL_MEAN) ** 2)
    target[0], target[indicators] = 1.0, np.clip(target[indicators], 0.0, 1.0)
    trust = 1 / (1 + (noise / _USUAL_VARIANCE) ** 2)
    inner = [(some - np.outer(some[0], some[0]))[1:, 1:] for some in (seen, own)]
    theirs = trust * inner[0] + (1 - trust) * inner[1]
    for places, _ in made.factors:  # of a level with the share f the variance is f (1 - f)
        share = target[places]
        theirs[np.ix_(places - 1, places - 1)] = np.diag(share) - np.outer(share, share)
    theirs = positive(theirs, max(trust * noise / 2, 1e-6))
    for _ in range(_SETTLING):
        own = products(mean, root)[first][:x, :x]
        own = own / max(float(own[0, 0]), 1e-12)
        mean = np.clip(mean + target - own[0], -_WIDEST, _WIDEST)
        mean[0], mean[indicators] = 1.0, np.clip(mean[indicators], 0.0, 1.0)
        ours = np.linalg.cholesky(positive((own - np.outer(own[0], own[0]))[1:, 1:], 1e-6))
        whiten = np.linalg.inv(ours)
        lengths, vectors = np.linalg.eigh(whiten @ theirs @ whiten.T)
        lengths = np.clip(lengths, 1 / _FARTHEST, _FARTHEST) ** 0.5
        turn = ours @ (vectors * lengths) @ vectors.T @ whiten @ root[1:, 1:]
        root = _root(_capped(turn @ turn.T + 1e-6 * np.eye(x - 1), _WIDEST))
    return mean, root


def _capped(inner: Any, most: float) -> Any:
    spread = np.sqrt(np.maximum(np.diag(inner) / most, 1.0))
    return inner / np.outer(spread, spread)


def _root(inner: Any) -> Any:
    """The lower triangular root of a covariance, that of all covariates but the constant given."""
    root = np.zeros((len(inner) + 1, len(inner) + 1))
    root[1:, 1:] = np.linalg.cholesky(inner)
    return root


def _bend(rounds: Sequence[Round], values: Sequence[Any], near: dict[str, Any], p: int) -> Any:
    """C such that stand-in rows have the information that was released, as far as noise lets it be seen."""
    sizes = np.einsum("kj,jl,kl->k", near["steps"], near["information"], near["steps"])
    able = [i for i, one in enumerate(rounds) if one.matrix]
    if not able:
        return np.eye(p)
    nearest = min(able, key=lambda i: float(sizes[i]))
    one = in_one_unit(rounds[nearest], values[nearest])
    predicted = near["products"][nearest]
    root = np.linalg.cholesky(predicted + 1e-9 * np.trace(predicted) * np.eye(p))
    whiten = np.linalg.inv(root)
    ratio = whiten @ (symmetric(one.upper, p) * np.outer(one.units, one.units)) @ whiten.T
    lengths = np.linalg.norm(whiten * one.units, axis=1)
    noise = rounds[nearest].matrix_scale * np.outer(lengths, lengths)
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
        weights = jnp.ones(len(made.base))
        if made.covariates is not None:
            x, weights = made.covariates.placed(mean, root, jnp)
            rows["x"] = jnp.broadcast_to(x[:, None, :], (*made.base.shape, x.shape[1]))
        return StandInRows(densities, rows, jnp.asarray(made.base), clip, n / len(weights) * weights[:, None])

    return build


@lru_cache(maxsize=16)
def _programs(model: LikelihoodModel, schema: Schema) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Compiled: what is fixed around an anchor, and the scores that are expected with their derivative."""
    import jax
    import jax.numpy as jnp

    from tacit.samplers.likelihood_chain import BEND, reference
    from tacit.samplers.stand_in_rows import around_anchor, discount

    build, x = stand_in_of(model, schema), model.covariates(schema)

    def prepare(anchor: Any, bend: Any, taken: Any, scores: Any, noise: Any, mean: Any, root: Any, n: Any) -> Any:
        near = around_anchor(build(mean, root, n), anchor, bend, *taken)
        own = bend.T @ near["information"] @ bend
        means, scale = near["means"] @ bend, reference(own, x, n)
        extra, near["doubt"] = discount(own, near["steps"], means, scale, BEND)
        # how far the estimate seems to be from the anchor, beyond what noise makes of it
        missed, inverse = scores - near["shift"] - means, jnp.linalg.inv(own)
        sizes = jnp.einsum("kj,jl,kl->k", missed, inverse, missed)
        sizes = sizes - 2 * jnp.einsum("kj,jj->k", noise**2, inverse)
        sizes = jnp.where(noise[:, 0] < _NO_ROUND, jnp.maximum(sizes, 0.0), 0.0)
        # where the anchor does not explain the scores, it does not explain the information either
        near["doubt"] += _UNEXPLAINED * sizes / scale
        shares = jnp.minimum(BEND**2 * sizes / scale, _DOUBT**2)
        extra = jnp.maximum(extra, 2 / (1 + len(anchor)) * shares * sizes)
        near["means"] = means
        near["extra"] = near["scatter"] + extra[:, None, None] * own
        return {
            name: near[name]
            for name in ("information", "steps", "scores", "means", "products", "extra", "doubt", "shift")
        }

    def predict(t: Any, anchor: Any, bend: Any, scores: Any, mean: Any, root: Any, n: Any) -> Any:
        stand_in = build(mean, root, n)

        def expected(t: Any) -> Any:
            return stand_in.mean(jnp.exp(stand_in.log_p(anchor + bend @ (t - anchor))), scores) @ bend

        return expected(t), jax.jacfwd(expected)(t)

    return jax.jit(prepare), jax.jit(predict)
