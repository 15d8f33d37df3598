"""Logistic regression on levels alone: the exact counts of cells and responses are latent, and nothing else is.

A row falls into cell c with probability pi_c and has the response yes with probability p_c = expit(theta'a_c). So the
counts N (cells, 2) of a site with n rows are multinomial, and the released entries are a linear function A N of them
plus noise. Target, up to a constant, with t the coordinates of theta and of each site's pi (`marginal_likelihood_glm`):

    p(t)  *  prod over sites of  prod_cy (pi_c p_cy)^N_cy / N_cy!  *  noise(z - A N).

Nothing is approximated, for any n and any noise distribution. A step has three parts, each of which leaves it
unchanged.

1. Counts given theta, pi integrated out, so that prod_c pi_c^N_c becomes prod_c Gamma(N_c + alpha_c). N moves along a
   whole direction d to N + (i - u) d, i = 0..W-1, with the direction and the offset u drawn beforehand, and i from its
   exact distribution (why that is right: `latent_counts`). Directions: a stride from one place to another, which
   reaches every N; and draws from the normal distribution below, shrunk and rounded, which follow what little noise
   leaves free.
2. Pi given the counts, from its Dirichlet distribution; theta given the counts (`glm_coefficients`).
3. Theta, pi and counts together. Parts 1 and 2 alone move by steps of sqrt(n), too little where noise is much wider.
   `binomial_splits` writes the counts as a function of t and of nearly normal numbers g, so that (t, g) has a density.
   A normal distribution that fits it, from least squares with counts that are not rounded, makes the frame for a
   Hamiltonian step along the gradient of a smooth stand-in.

Parts 1 and 2 do best where noise is narrow, part 3 where it is wide.

Where n is not public it is flat on 0, 1, 2, ... beforehand, and the sum of the counts; the last of the released numbers
is n with noise. The counts have the further factor n!, which parts 2 and 3 leave as it is, for they keep n. Part 1 also
moves one count alone, and along lines that change all of them in proportion, with pi integrated out: of n that leaves
n! / Gamma(n + A), A the sum of the alpha_c.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln

from tacit.numerics.binomial_splits import scores, split
from tacit.numerics.least_squares import WhiteCoordinates, peak
from tacit.runtime.chain import Arrays, Chain, SamplerSettings
from tacit.samplers.glm_coefficients import move_coefficients
from tacit.samplers.marginal_likelihood_glm import GlmCoordinates
from tacit.samplers.release_noise import Noises, split_by_site
from tacit.samplers.surrogate_hmc import hamiltonian

WINDOW = 16
_GROWTH = 4
_LINES = 12
_SHRINKAGES = np.array([1.0, 0.5, 0.25, 0.1])
_LEAST_NOISE = 0.1  # of a count, for the guide alone


@dataclass(frozen=True, eq=False)
class CellCounts:
    """What was released, and how entries depend on counts.

    ``design`` (cells, p) are the a_c. ``entries`` (E, 2 cells) is A, for counts in the order of cells, and in each no
    before yes. ``n`` has the number of rows of each site, ``noises`` its noise. Where ``n`` is None it is latent:
    the last entry, which is 1 for every count.
    """

    design: Any
    entries: Any
    n: tuple[int, ...] | None
    noises: Sequence[Noises]

    def strides(self, site: int) -> Any:
        """1, 4, 16, ... up to the one whose window spans the noise, or all rows."""
        width = 8 * float(np.max(self.noises[site].sds))
        width = width if self.n is None else min(self.n[site] + 1.0, width)
        found = [1.0]
        while found[-1] * WINDOW < width:
            found.append(found[-1] * _GROWTH)
        return np.array(found)


class Guide(NamedTuple):
    """What the release alone says of where to go: the frame of (t, g), dN/dq there (sites, 2 cells, size), and what a
    standard deviation of the noise on a latent n adds to each count (sites, 2 cells).
    """

    frame: WhiteCoordinates
    slopes: Any
    growth: Any


def cell_counts_chain(problem: CellCounts, coordinates: GlmCoordinates, settings: SamplerSettings) -> Chain:
    """Draws: theta (p,), with more than one cell pi (sites, cells), and n (sites,) where it is latent; ``released`` is
    the list of all sites.
    """
    distribution = _Conditionals(problem, coordinates)

    def chain(key: Any, released: Any) -> tuple[Arrays, Arrays]:
        parts = split_by_site(released, problem.noises)
        n = distribution.rows(parts)
        guide = distribution.guide(parts, n)

        def step(state: tuple[Any, Any], key: Any) -> tuple[tuple[Any, Any], Any]:
            keys = jax.random.split(key, 3)
            t, counts = state
            counts = distribution.given_theta(keys[0], t, counts, parts, guide)
            t = distribution.given_counts(keys[1], t, counts)
            t, counts, moved = distribution.together(keys[2], t, counts, parts, guide)
            return (t, counts), (t, jnp.sum(counts, axis=(1, 2)), {"acceptance_rate": 1.0 * moved})

        for_start, for_steps = jax.random.split(key)
        start = distribution.counts_at(guide.frame.outside(0.5 * jax.random.normal(for_start, (distribution.size,))), n)
        kept = jax.lax.scan(step, start, jax.random.split(for_steps, settings.warmup + settings.draws))[1]
        t, n, info = jax.tree.map(lambda array: array[settings.warmup :], kept)
        draws = jax.vmap(coordinates.draws)(t)
        return (draws if problem.n is not None else {**draws, "n": n}), info

    return chain


class _Conditionals:
    """The target and the three parts of a step."""

    def __init__(self, problem: CellCounts, coordinates: GlmCoordinates) -> None:
        self.problem, self.coordinates = problem, coordinates
        self.design, self.linear = np.asarray(problem.design, float), np.asarray(problem.entries, float)
        self.alpha = np.asarray(coordinates.prior.alpha, float)
        self.places, self.splits = 2 * coordinates.cells, 2 * coordinates.cells - 1
        self.size = coordinates.size + coordinates.sites * self.splits

    def rows(self, parts: Sequence[Any]) -> Any:
        """The rows of every site, or what was released of them, for a start and a guide."""
        if self.problem.n is not None:
            return np.array(self.problem.n, float)
        best = [own.best(part)[-1] for own, part in zip(self.problem.noises, parts, strict=True)]
        return jnp.maximum(jnp.round(jnp.stack(best)), 1.0)

    def log_rows(self, n: Any) -> Any:
        """What a latent n adds with pi integrated out."""
        return 0.0 if self.problem.n is not None else gammaln(n + 1) - gammaln(n + self.alpha.sum())

    def log_responses(self, t: Any) -> Any:
        """Of no and of yes in every cell: (cells, 2)."""
        u = self.design @ self.coordinates.theta(t)
        return jnp.stack([jax.nn.log_sigmoid(-u), jax.nn.log_sigmoid(u)], axis=1)

    def log_probabilities(self, t: Any) -> Any:
        """Of every cell and response at every site: (sites, cells, 2)."""
        return jnp.log(self.coordinates.distributions(t).probabilities)[:, :, None] + self.log_responses(t)

    def log_noise(self, parts: Sequence[Any], counts: Any) -> Any:
        noises = zip(self.problem.noises, parts, counts.reshape(len(parts), -1) @ self.linear.T, strict=True)
        return sum(own.log_density(part, entries) for own, part, entries in noises)

    def all_splits(self, x: Any, n: Any, *, whole: bool) -> tuple[Any, Any]:
        """Counts (sites, cells, 2) and log gradients (sites, splits) at x = (t, g), of ``n`` rows (sites,)."""
        t, g = x[: self.coordinates.size], x[self.coordinates.size :].reshape(-1, self.splits)
        return jax.vmap(lambda n, probabilities, g: split(n, probabilities, g, whole=whole))(
            n, self.log_probabilities(t), g
        )

    def counts_at(self, x: Any, n: Any) -> tuple[Any, Any]:
        return x[: self.coordinates.size], self.all_splits(x, n, whole=True)[0]

    def log_density(self, x: Any, parts: Sequence[Any], n: Any) -> Any:
        """The density of (t, g) given n."""
        t = x[: self.coordinates.size]
        counts, log_derivatives = self.all_splits(x, n, whole=True)
        value = jnp.sum(counts * self.log_probabilities(t) - gammaln(counts + 1)) + jnp.sum(log_derivatives)
        value = value + self.coordinates.log_prior(t) + self.log_noise(parts, counts)
        return jnp.where(jnp.isnan(value), -jnp.inf, value)

    def log_smooth(self, x: Any, parts: Sequence[Any], n: Any) -> Any:
        """A smooth stand-in for it: g normal, and counts that are not rounded."""
        t, g = x[: self.coordinates.size], x[self.coordinates.size :]
        return self.coordinates.log_prior(t) - g @ g / 2 + self.log_noise(parts, self.all_splits(x, n, whole=False)[0])

    def guide(self, parts: Sequence[Any], n: Any) -> Guide:
        """That of a normal distribution that fits (t, g), at ``n`` rows (sites,)."""
        noises = self.problem.noises
        best = jnp.stack([own.best(part) for own, part in zip(noises, parts, strict=True)])
        # Counts are whole: less noise than this says nothing more, and would make numbers that overflow.
        sds = np.maximum(np.stack([own.sds for own in noises]), _LEAST_NOISE)

        def counts(x: Any) -> Any:
            return self.all_splits(x, n, whole=False)[0].reshape(len(parts), -1)

        def residual(x: Any) -> Any:
            return ((best - counts(x) @ self.linear.T) / sds).reshape(-1)

        frame = WhiteCoordinates.of(*peak(residual, jnp.zeros(self.size), steps=30))
        centre = counts(frame.centre)
        growth = centre / jnp.sum(centre, axis=1, keepdims=True) * sds[:, -1:]
        return Guide(frame, jax.jacfwd(counts)(frame.centre) @ frame.spread, growth)

    def given_theta(self, key: Any, t: Any, counts: Any, parts: Sequence[Any], guide: Guide) -> Any:
        """Move the counts (part 1)."""
        responses = self.log_responses(t).reshape(-1)
        found: list[Any] = []
        for site, (own, part) in enumerate(zip(self.problem.noises, parts, strict=True)):
            log_noise = jax.vmap(lambda entries, own=own, part=part: own.log_density(part, entries))
            for_numbers, for_directions = jax.random.split(jax.random.fold_in(key, site))
            uniforms = jax.random.uniform(for_numbers, (self.places + _LINES, 4))
            pairs, lines = uniforms[: self.places], uniforms[self.places :]
            normals = jax.random.normal(for_directions, (_LINES, self.size))
            shrunk = jnp.asarray(_SHRINKAGES)[_pick(lines[:, 2], len(_SHRINKAGES))][:, None] * normals
            directions = jnp.rint(shrunk @ guide.slopes[site].T)
            directions = directions.at[:, 0].add(-jnp.sum(directions, axis=1))
            strides, own = self.problem.strides(site), counts[site].reshape(-1)
            if self.problem.n is None:
                for_singles, for_growth = jax.random.split(jax.random.fold_in(key, len(parts) + site))
                more = jax.random.normal(for_growth, (_LINES, 1))
                directions = directions + jnp.rint(more * guide.growth[site])
                singles = jax.random.uniform(for_singles, (self.places, 3))
                own = self._singles(own, singles, strides, responses, log_noise)
            moved = self._pairs(own, pairs, strides, responses, log_noise)
            found.append(self._lines(moved, lines, directions, responses, log_noise))
        return jnp.stack(found).reshape(counts.shape)

    def _pairs(self, counts: Any, uniforms: Any, strides: Any, responses: Any, log_noise: Callable[[Any], Any]) -> Any:
        """A visit to every place, paired with another at random."""
        linear, alpha = jnp.asarray(self.linear.T), jnp.asarray(self.alpha)

        def visit(counts: Any, step: tuple[Any, Any]) -> tuple[Any, None]:
            to, uniform = step
            source = (to + 1 + _pick(uniform[3], self.places - 1)) % self.places
            steps, choose = _window(uniform)
            far = jnp.asarray(strides)[_pick(uniform[2], len(strides))] * steps
            pair, ways = jnp.stack([to, source]), jnp.stack([far, -far])
            sides = counts[pair][:, None] + ways  # (2, W)
            possible, held = jnp.all(sides >= 0, axis=0), jnp.maximum(sides, 0)
            apart = 1.0 * (to // 2 != source // 2)
            totals = jnp.maximum(jnp.sum(counts.reshape(-1, 2), axis=1)[pair // 2][:, None] + apart * ways, 0)
            gammas = gammaln(jnp.stack([held + 1, totals + alpha[pair // 2][:, None]]))
            logs = jnp.sum(held * responses[pair][:, None] + gammas[1] - gammas[0], axis=0)
            logs = logs + log_noise(counts @ linear + far[:, None] * (linear[to] - linear[source]))
            moved = far[choose(logs, possible)]
            return counts.at[to].add(moved).at[source].add(-moved), None

        return jax.lax.scan(visit, counts, (jnp.arange(self.places), uniforms))[0]

    def _singles(
        self, counts: Any, uniforms: Any, strides: Any, responses: Any, log_noise: Callable[[Any], Any]
    ) -> Any:
        """A visit to every place alone, which changes n."""
        linear, alpha = jnp.asarray(self.linear.T), jnp.asarray(self.alpha)

        def visit(counts: Any, step: tuple[Any, Any]) -> tuple[Any, None]:
            place, uniform = step
            steps, choose = _window(uniform)
            far = jnp.asarray(strides)[_pick(uniform[2], len(strides))] * steps
            possible, held = counts[place] + far >= 0, jnp.maximum(counts[place] + far, 0)
            total = jnp.maximum(jnp.sum(counts.reshape(-1, 2), axis=1)[place // 2] + far, 0)
            logs = held * responses[place] - gammaln(held + 1) + gammaln(total + alpha[place // 2])
            logs = logs + self.log_rows(jnp.maximum(jnp.sum(counts) + far, 0))
            logs = logs + log_noise(counts @ linear + far[:, None] * linear[place])
            return counts.at[place].add(far[choose(logs, possible)]), None

        return jax.lax.scan(visit, counts, (jnp.arange(self.places), uniforms))[0]

    def _lines(
        self, counts: Any, uniforms: Any, directions: Any, responses: Any, log_noise: Callable[[Any], Any]
    ) -> Any:
        """A visit along each of some directions."""
        signs = np.repeat([-1.0, 1.0], [self.places, self.places // 2])

        def visit(counts: Any, step: tuple[Any, Any]) -> tuple[Any, None]:
            direction, uniform = step
            steps, choose = _window(uniform)
            candidates = counts + steps[:, None] * direction
            held = jnp.maximum(candidates, 0)
            totals = jnp.sum(held.reshape(WINDOW, -1, 2), axis=2)
            gammas = gammaln(jnp.concatenate([held + 1, totals + self.alpha], axis=1))
            logs = held @ responses + gammas @ signs + log_noise(held @ self.linear.T)
            logs = logs + self.log_rows(jnp.sum(held, axis=1))
            return candidates[choose(logs, jnp.all(candidates >= 0, axis=1))], None

        return jax.lax.scan(visit, counts, (directions, uniforms))[0]

    def given_counts(self, key: Any, t: Any, counts: Any) -> Any:
        """Move pi and theta (part 2)."""
        for_probabilities, for_theta = jax.random.split(key)
        logs = jax.random.loggamma(for_probabilities, self.alpha + jnp.sum(counts, axis=2))
        distributions = logs @ self.coordinates.distribution.contrasts / self.coordinates.distribution.spread
        no, yes = jnp.sum(counts, axis=0).T
        prior = self.coordinates.prior
        moments = jnp.eye(self.coordinates.p)[0], jnp.ones(self.coordinates.p)  # of a design without numbers
        mean, precision, _ = prior.said.normal(*moments)
        theta, moved = move_coefficients(
            for_theta,
            self.coordinates.theta(t),
            self.design,
            lambda u: yes * jax.nn.log_sigmoid(u) + no * jax.nn.log_sigmoid(-u),
            jnp.log((yes + 0.5) / (no + 0.5)),
            mean,
            precision,
            prior.radius,
        )
        h = theta
        if prior.radius is not None:  # theta = R tanh(|h|/R) h/|h|
            ratio = jnp.sqrt(jnp.sum(theta**2) + 1e-30) / prior.radius
            h = theta * jnp.arctanh(ratio) / ratio
        free = prior.said.unplace(h, *moments)
        # Where theta stays, so must its t: the way back is exact only up to rounding.
        return jnp.concatenate([jnp.where(moved, free, t[: self.coordinates.p]), distributions.reshape(-1)])

    def together(self, key: Any, t: Any, counts: Any, parts: Sequence[Any], guide: Guide) -> tuple[Any, Any, Any]:
        """Move theta and the counts together (part 3)."""
        for_scores, for_step = jax.random.split(key)
        n = self.rows(parts) if self.problem.n is not None else jnp.sum(counts, axis=(1, 2))
        v, which = jax.random.uniform(for_scores, (2, len(parts), self.splits))
        g = jax.vmap(scores)(counts, self.log_probabilities(t), v, which).reshape(-1)
        q, moved = hamiltonian(
            for_step,
            lambda q: self.log_density(guide.frame.outside(q), parts, n),
            jax.grad(lambda q: self.log_smooth(guide.frame.outside(q), parts, n)),
            guide.frame.inside(jnp.concatenate([t, g])),
        )
        return *self.counts_at(guide.frame.outside(q), n), moved


def _window(uniform: Any) -> tuple[Any, Callable[[Any, Any], Any]]:
    """The steps to each candidate of a window, and what draws one of them by its log weight."""
    offset = _pick(uniform[0], WINDOW)

    def choose(logs: Any, possible: Any) -> Any:
        logs = jnp.where(possible, logs, -jnp.inf)
        cumulative = jnp.tri(WINDOW) @ jnp.exp(logs - jnp.max(logs))
        chosen = jnp.minimum(jnp.sum(cumulative <= uniform[1] * cumulative[-1]), WINDOW - 1)
        return jnp.where(possible[chosen], chosen, offset)  # rounding of the last sums must not leave the range

    return 1.0 * (jnp.arange(WINDOW) - offset), choose


def _pick(uniform: Any, count: int) -> Any:
    """One of 0..count-1, all equally likely."""
    return jnp.floor(uniform * count).astype(jnp.int32)
