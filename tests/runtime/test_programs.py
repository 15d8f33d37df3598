"""Programs that are kept by what they are for: found again, not mixed up, not run if others could write them."""

from __future__ import annotations

import os
import pickle
import zlib
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit
from tacit.runtime import backend, programs
from tacit.runtime.cache_folder import cache_folder, drop_oldest, read_ours

infer_module = import_module("tacit.infer")


@pytest.fixture(autouse=True)
def kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is outside tests."""
    monkeypatch.setattr(backend, "name_of", programs.name_of)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = cache_folder("programs")
    assert found is not None
    return found


def solved(by: float, purpose: Any, seen: list[str]) -> Any:
    """x' A^-1 x times ``by``: it needs scipy's linear algebra. Every tracing adds to ``seen``."""
    import jax.numpy as jnp

    scale = backend.argument(by)

    def function(x: Any) -> dict[str, Any]:
        seen.append("traced")
        factor = jnp.linalg.cholesky(jnp.outer(x, x) + jnp.eye(len(x)))
        return {"value": scale[0] * jnp.sum(jnp.linalg.solve(factor @ factor.T, x) * x)}

    with backend.float64():
        return float(backend.with_arguments(function, purpose=purpose)(jnp.arange(1.0, 4.0))["value"])


def test_a_program_is_found_again_with_its_numbers_and_without_tracing(folder: Path) -> None:
    seen: list[str] = []
    first = solved(2.0, ("a", 2.0), seen)
    count = len(seen)
    assert (first, count) == (pytest.approx(2 * 14 / 15), 1)
    assert solved(2.0, ("a", 2.0), seen) == first
    assert len(seen) == count
    assert {path.suffix for path in folder.iterdir()} == {".purpose", ".program"}


def test_another_purpose_has_its_own_numbers_and_shares_the_code(folder: Path) -> None:
    seen: list[str] = []
    assert solved(3.0, ("a", 3.0), seen) == pytest.approx(1.5 * solved(2.0, ("a", 2.0), seen))
    assert len(seen) == 2
    assert len(list(folder.glob("*.purpose"))) == 2
    assert len(list(folder.glob("*.program"))) == 1
    assert solved(3.0, ("a", 3.0), seen) == pytest.approx(1.5 * solved(2.0, ("a", 2.0), seen))
    assert len(seen) == 2


@pytest.mark.parametrize("kind", ["*.purpose", "*.program"])
def test_a_damaged_file_is_made_anew(folder: Path, kind: str) -> None:
    seen: list[str] = []
    first = solved(2.0, ("b",), seen)
    (path,) = folder.glob(kind)
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert solved(2.0, ("b",), seen) == first
    assert solved(2.0, ("b",), seen) == first
    assert len(seen) == 2


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_what_others_could_write_is_never_read(folder: Path, tmp_path: Path) -> None:
    """The planted file would make this test fail by what unpickling it does."""

    class Planted:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "planted"),)

    seen: list[str] = []
    solved(2.0, ("c",), seen)
    (path,) = folder.glob("*.purpose")
    programs._write(path, Planted())
    forged = path.read_bytes()
    path.chmod(0o666)
    assert read_ours(path) is None
    solved(2.0, ("c",), seen)
    assert not (tmp_path / "planted").exists()
    elsewhere = tmp_path / "elsewhere"
    path.unlink()
    elsewhere.write_bytes(forged)
    elsewhere.chmod(0o600)
    path.symlink_to(elsewhere)
    assert read_ours(path) is None
    solved(2.0, ("c",), seen)
    assert not (tmp_path / "planted").exists()
    assert len(seen) == 3
    folder.chmod(0o777)
    assert cache_folder("programs") is None
    pickle.loads(zlib.decompress(forged[len(programs._FORMAT) + programs._CHECKSUM :]))
    assert (tmp_path / "planted").exists()  # or the planted file would do nothing, and the test could not fail


def test_shapes_settings_and_source_tell_programs_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    import jax

    with backend.float64():
        inputs = (np.zeros(3),)
        first = programs.name_of("a", inputs)
        assert first == programs.name_of("a", inputs)
        assert first is not None
        assert programs.name_of(None, inputs) is None
        others = [programs.name_of("b", inputs), programs.name_of("a", (np.zeros(4),))]
        others.append(programs.name_of("a", (np.zeros(3, np.float32),)))
        with jax.enable_x64(False):
            others.append(programs.name_of("a", inputs))
        monkeypatch.setattr(programs, "_source", lambda: [("infer.py", 0, 0)])
        others.append(programs.name_of("a", inputs))
    assert len({first, *others}) == len(others) + 1


SHAPED = {
    "wishart": (tacit.LinearRegression("y ~ a"), tacit.Schema(y=(-1, 1), a=(-1, 1)), (100, 0.5), (150, 0.4)),
    "wishart by fresh noise": (
        tacit.LinearRegression("y ~ a"),
        tacit.Schema(y=(-1, 1), a=(-1, 1)),
        (20_000, 2.0),
        (30_000, 1.5),
    ),
    "score": (tacit.LogisticRegression("y ~ a"), tacit.Schema(y=["no", "yes"], a=(-1, 1)), (2000, 1.0), (3000, 0.8)),
}


@pytest.fixture
def no_cache_of_jax() -> Any:
    """A program that JAX found in its own cache, where an earlier run has left it, cannot be kept."""
    import jax
    from jax.experimental.compilation_cache import compilation_cache

    before = jax.config.values["jax_enable_compilation_cache"]
    jax.config.update("jax_enable_compilation_cache", False)
    compilation_cache.reset_cache()
    yield
    jax.config.update("jax_enable_compilation_cache", before)
    compilation_cache.reset_cache()


@pytest.mark.parametrize(
    "case", [name if "fresh" in name else pytest.param(name, marks=pytest.mark.slow) for name in SHAPED]
)
def test_another_n_and_epsilon_find_the_program_and_get_their_own_draws(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_cache_of_jax: None
) -> None:
    """With the program of another release as with one of their own: the same draws, number by number."""
    model, schema, *sizes = SHAPED[case]
    releases = [
        tacit.simulate(tacit.Plan(model, schema, tacit.ApproxDP(epsilon, 1e-6)), n=n, seed=1).release
        for n, epsilon in sizes
    ]
    written: list[Any] = []
    outlined = backend.outlined
    monkeypatch.setattr(backend, "outlined", lambda *a, **k: written.append(a) or outlined(*a, **k))

    def theta(release: tacit.Release, folder: str) -> Any:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / folder))
        for cached in (backend._batched, backend._alone, backend._keys, infer_module._chain):
            cached.cache_clear()
        return tacit.infer(release, draws=10, warmup=10, chains=2, anyway=True).draws("theta")

    theta(releases[0], "shared")
    before = len(written)
    found = theta(releases[1], "shared")
    assert len(written) == before > 0
    np.testing.assert_array_equal(found, theta(releases[1], "own"))
    assert len(written) > before


def outside() -> None:
    """A function that is not ours: its name says nothing of what it does."""


class Outside:
    """A class that is not ours."""


@pytest.mark.parametrize("code", [outside, Outside, Outside(), lambda: 0])
def test_code_that_is_not_ours_is_not_told_apart_by_its_name(code: Any) -> None:
    """An edited likelihood would be given the program of what it was."""
    with backend.float64():
        assert programs.name_of(("method", code), (np.zeros(3),)) is None
        assert programs.name_of(("method", tacit.PureDP, tacit.PureDP(1.0)), (np.zeros(3),)) is not None


def test_the_oldest_go_first(tmp_path: Path) -> None:
    for age in range(4):
        path = tmp_path / f"{age}"
        path.write_bytes(bytes(100))
        os.utime(path, (1e9 - age, 1e9 - age))
    drop_oldest(tmp_path, 250)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1"]
