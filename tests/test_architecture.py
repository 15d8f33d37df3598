"""The package keeps its promises about itself: surface, layering, light imports, who may draw seeded noise."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tacit

SOURCE = Path(tacit.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))


def test_the_public_surface_is_all():
    exported = {n for n in vars(tacit) if not n.startswith("_")} | {"__version__"}
    modules = {p.stem if p.name != "__init__.py" else p.parent.name for p in MODULES}
    assert exported - modules - {"report"} <= set(tacit.__all__)
    for name in tacit.__all__:
        assert hasattr(tacit, name), name
    assert sorted(set(tacit.__all__)) == sorted(tacit.__all__)


@pytest.mark.parametrize("verb", ["privatize", "bounds", "design", "infer", "simulate", "calibrate", "report"])
def test_a_verb_is_a_function_and_not_its_module(verb):
    assert callable(getattr(tacit, verb))


def test_importing_tacit_loads_nothing_heavy():
    code = "import sys, tacit; print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"jax", "jaxlib", "arviz", "arviz_stats", "dp_accounting", "scipy", "pyarrow", "xarray", "pandas"}
    assert not heavy & set(loaded)


def test_help_loads_nothing_heavy():
    code = "import sys, tacit.cli as c\ntry: c.app(['--help'])\nexcept SystemExit: print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"jax", "pyarrow", "xarray", "matplotlib", "scipy"} & set(loaded)


def test_only_simulation_knows_a_seeded_source_of_noise():
    for path in MODULES:
        text = path.read_text()
        if path.name != "simulate.py":
            assert "SeededEntropy" not in text, path
        if path.parent.name in ("mechanisms", "statistics", "sources", "privacy") or path.name == "boundary.py":
            assert "default_rng" not in text, path
            assert "import random" not in text, path


def test_noise_for_real_data_comes_from_the_operating_system():
    assert "OSEntropy()" in (SOURCE / "boundary.py").read_text()


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_file_holds_one_concept(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 400, "a file this long usually holds two concepts"
    if path.name != "__init__.py":
        assert ast.get_docstring(ast.parse(text)), "say what this file is for"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_every_claim_stands_beside_its_proof(path):
    """A function called sensitivity or event states why it is true, unless it is the abstract interface."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef) and node.name in ("sensitivity", "event"):
            abstract = any("abstractmethod" in ast.dump(d) for d in node.decorator_list)
            parent = ast.get_docstring(node) or ""
            whole = ast.get_docstring(ast.parse(path.read_text())) or ""
            classes = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ClassDef)]
            texts = [parent, whole, *(ast.get_docstring(c) or "" for c in classes)]
            if not abstract and path.name not in ("plan.py",):
                assert any("Proof:" in t for t in texts), f"{path.name}:{node.lineno}"
