"""Moves of parameters and records at once leave the model's own distribution as it is."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import beta, halfnorm, kstest, norm

import tacit
from tacit.infer import problem_of
from tacit.runtime.backend import float64

SCHEMA = tacit.Schema(ill=["no", "yes"], a=(-1, 1), b=(-1, 1))
PRIOR = {"mean_sd": 0.4, "scale": 0.5, "theta_sd": 3.0, "shape": 2.0}
ROWS, COPIES, ROUNDS = 12, 4_000, 20


@lru_cache
def _moved(fault):
    """Copies of parameters and records drawn from the model, then moved, without a release to hold them.

    ``fault``: the stretch of space left out, or the responses.
    """
    import jax
    import jax.numpy as jnp

    from tacit.models.moment_exact import record_rows
    from tacit.samplers.glm_records import glm_records
    from tacit.samplers.record_augmentation import Together, move_together

    plan = tacit.Plan(tacit.LogisticRegression("ill ~ a + b"), SCHEMA, tacit.PureDP(1.0), tacit.AddNoise())
    problem = problem_of(plan, PRIOR, ROWS)
    model, found = problem.model, problem.model.cells(SCHEMA)
    rows = record_rows(model, SCHEMA, ROWS)
    family = glm_records(rows, problem.prior.numbers(found))
    right = family.together
    if fault == "stretch":
        family = replace(family, together=Together(lambda *now: (*right.propose(*now)[:2], 0.0), right.log_density))
    if fault == "responses":

        def silent(parameters, records):
            return right.log_density({**parameters, "theta": 0 * parameters["theta"]}, records)

        family = replace(family, together=Together(right.propose, silent))
    rng = np.random.default_rng(5)
    drawn = [model.draw_parameters(problem.prior, SCHEMA, rng) for _ in range(COPIES)]
    with float64():
        start = {
            "theta": jnp.asarray([one["theta"] for one in drawn]),
            "log_pi": jnp.zeros((COPIES, 1)),
            "m_x": jnp.asarray([np.reshape(one["mu_x"], (1, 2)) for one in drawn]),
            "S_x": jnp.asarray([one["Sigma_x"] for one in drawn]),
        }

        @jax.jit
        @jax.vmap
        def chain(key, parameters):
            for_records, for_moves = jax.random.split(key)
            records = jax.vmap(family.draw_record, (0, None))(jax.random.split(for_records, ROWS), parameters)

            def step(state, key):
                return move_together(key, *state, 0.0, family, lambda _: 0.0), None

            return jax.lax.scan(step, (parameters, records), jax.random.split(for_moves, ROUNDS))[0]

        parameters, records = chain(jax.random.split(jax.random.key(7), COPIES), start)
        moved = np.mean(np.any(np.asarray(parameters["S_x"] != start["S_x"]), axis=(1, 2)))
        return {name: np.asarray(value) for name, value in parameters.items()}, np.asarray(records), moved


def _least_p(fault):
    """The least p-value that means, standard deviations and correlation have their priors, times their number."""
    parameters, _, _ = _moved(fault)
    means, covariance = parameters["m_x"][:, 0], parameters["S_x"]
    sds = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    correlation = covariance[:, 0, 1] / sds.prod(axis=1)
    tests = [kstest(means[:, j], norm(scale=PRIOR["mean_sd"]).cdf).pvalue for j in range(2)]
    tests += [kstest(sds[:, j], halfnorm(scale=PRIOR["scale"]).cdf).pvalue for j in range(2)]
    tests.append(kstest((correlation + 1) / 2, beta(PRIOR["shape"], PRIOR["shape"]).cdf).pvalue)
    return len(tests) * min(tests)


def _errors_of_responses(fault):
    """How many standard errors the responses are from what their records' predictors say."""
    parameters, records, _ = _moved(fault)
    x, y = records[..., 1:-1], records[..., -1]
    u = parameters["theta"][:, :1] + np.einsum("cnj,cj->cn", x, parameters["theta"][:, 1:])
    scores = np.sum((y - (2 * expit(u) - 1)) * np.clip(u, -3, 3), axis=1)
    return abs(scores.mean()) / (scores.std() / np.sqrt(COPIES))


def test_the_prior_stays_what_it_is():
    """Seeds 5 and 7, 4,000 copies, 120 moves each; false-alarm rates 1e-4 and 1e-5 (4.4 standard errors)."""
    assert _moved(None)[2] > 0.99
    assert _least_p(None) > 1e-4
    assert _errors_of_responses(None) < 4.4


def test_a_forgotten_stretch_of_space_is_caught():
    assert _least_p("stretch") < 1e-10


def test_forgotten_responses_are_caught():
    assert _errors_of_responses("responses") > 10


@pytest.mark.parametrize(("formula", "there"), [("ill ~ a", True), ("ill ~ g", False)])
def test_only_numbers_move_with_their_records(formula, there):
    from tacit.models.moment_exact import record_rows
    from tacit.samplers.glm_records import glm_records

    schema = tacit.Schema(ill=["no", "yes"], a=(-1, 1), g=["x", "y"])
    plan = tacit.Plan(tacit.LogisticRegression(formula), schema, tacit.PureDP(1.0), tacit.AddNoise())
    problem = problem_of(plan, None, ROWS)
    numbers = problem.prior.numbers(problem.model.cells(schema))
    assert (glm_records(record_rows(problem.model, schema, ROWS), numbers).together is not None) == there
