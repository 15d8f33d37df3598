"""Programs that are compiled once for all releases of one shape."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tacit
from tacit.infer import method_for, problem_of
from tacit.runtime.chain import Either, SamplerSettings

SETTINGS = SamplerSettings(20, 20)
NUMBERS = {"y": (-1, 1), "a": (-1, 1)}
CASES = {
    "linear": (tacit.LinearRegression("y ~ a"), tacit.Schema(**NUMBERS)),
    "linear with levels": (tacit.LinearRegression("y ~ a + b"), tacit.Schema(**NUMBERS, b=["u", "v"])),
    "logistic": (tacit.LogisticRegression("y ~ a"), tacit.Schema(y=["no", "yes"], a=(-1, 1))),
    "poisson": (tacit.PoissonRegression("y ~ a"), tacit.Schema(y=(0, 5), a=(-1, 1))),
    "normal": (tacit.Normal("y"), tacit.Schema(y=(-1, 1))),
    "exponential": (tacit.Exponential("y"), tacit.Schema(y=(0, 5))),
    "categorical": (tacit.Categorical("y"), tacit.Schema(y=["a", "b", "c"])),
}


def _texts(
    model: Any, schema: Any, n: int, epsilon: float, *, method: str | None = None, sites: int = 1, normal: bool = False
) -> list[str]:
    """The programs of a method before compilation: NUTS, and fresh noise where there is that."""
    import jax

    from tacit.runtime.backend import float64
    from tacit.runtime.stages import outlined

    budget = tacit.ApproxDP(epsilon, 1e-6) if normal else tacit.PureDP(epsilon)
    plan = tacit.Plan(model, schema, budget, tacit.AddNoise())
    problem = problem_of(plan, None, n)
    problem = replace(problem, sites=tuple(replace(problem.sites[0], n=n + i) for i in range(sites)))
    chain = problem.methods[method or method_for(problem, None)].build(problem, SETTINGS)
    with float64():
        inputs = jax.random.key(0), np.zeros(sites * len(plan.statistic().entries))
        found: list[str] = []
        for one in (chain.quick, chain.sure) if isinstance(chain, Either) else (chain,):
            _, (program,) = outlined(one, inputs, in_stages=False)
            found.append(program.as_text())
    return found


@pytest.mark.parametrize("case", CASES)
def test_n_and_epsilon_do_not_change_the_program(case: str) -> None:
    assert _texts(*CASES[case], 200, 1.0) == _texts(*CASES[case], 12_345, 0.37)


@pytest.mark.parametrize(
    ("case", "more"),
    [
        ("linear", {"sites": 2}),
        ("linear", {"normal": True}),
        ("logistic", {"sites": 2, "normal": True}),
        ("normal", {"sites": 2, "normal": True}),
        ("categorical", {"method": "shares", "sites": 2}),
    ],
)
def test_nor_with_several_sites_or_normal_noise(case: str, more: dict[str, Any]) -> None:
    assert _texts(*CASES[case], 200, 1.0, **more) == _texts(*CASES[case], 12_345, 0.37, **more)


def test_categories_change_at_a_few_widths_of_the_noise() -> None:
    """The strides of their moves are a part of the program: 1 at epsilon = 1, and 1 and 8 at epsilon = 0.1."""
    assert _texts(*CASES["categorical"], 200, 1.0) != _texts(*CASES["categorical"], 200, 0.1)


def test_another_model_changes_the_program() -> None:
    """Or the tests above could not fail."""
    schema = tacit.Schema(**NUMBERS, b=(-1, 1))
    assert _texts(*CASES["linear"], 200, 1.0) != _texts(tacit.LinearRegression("y ~ a + b"), schema, 200, 1.0)


def test_what_is_an_argument_and_what_is_a_constant() -> None:
    import jax.numpy as jnp

    from tacit.runtime.backend import argument, float64
    from tacit.runtime.stages import outlined

    def text(n: Any) -> str:
        with float64():
            outline, (program,) = outlined(lambda x: {"sum": (x * n).sum()}, (jnp.ones(3),), in_stages=False)
            assert float(outline.call([program.compile()], [jnp.ones(3)])["sum"]) == float(np.sum(n))
            return program.as_text()

    assert text(argument([1.0, 2.0, 3.0])) == text(argument([4.0, 5.0, 6.0]))
    assert text(np.array([1.0, 2.0, 3.0])) != text(np.array([4.0, 5.0, 6.0]))


def test_each_shape_has_its_program_and_each_function_its_arguments() -> None:
    import jax.numpy as jnp

    from tacit.runtime.backend import argument, float64, with_arguments

    def scaled(by: Any) -> Any:
        return with_arguments(lambda x, y: {"a": x * by[0], "b": (y.sum() + by.sum(),)})

    with float64():
        twice, thrice = scaled(argument(2.0)), scaled(argument(3.0))
        for size in (2, 5, 2):
            x, y = jnp.arange(1.0, size + 1), jnp.ones(size)
            for function, by in ((twice, 2.0), (thrice, 3.0)):
                found = function(x, y)
                np.testing.assert_array_equal(found["a"], by * np.arange(1.0, size + 1))
                assert found["b"][0].dtype == jnp.float64
                assert float(found["b"][0]) == size + by


def test_an_argument_has_an_axis_and_is_float64_whatever_jax_is_set_to() -> None:
    import jax

    from tacit.runtime.backend import argument

    with jax.enable_x64(False):
        found = argument(3)
    assert (found.shape, str(found.dtype)) == ((1,), "float64")
