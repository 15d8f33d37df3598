"""The package keeps its promises about itself: surface, layering, light imports, who may draw seeded noise."""

from __future__ import annotations

import ast
import subprocess
import sys
import types
from pathlib import Path

import pytest

import tacit

SOURCE = Path(tacit.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))


def test_the_public_surface_is_all():
    """What is bound in the package and is not a module is listed, once, and nothing else is."""
    public = [
        name for name in vars(tacit) if not name.startswith("_") and not isinstance(vars(tacit)[name], types.ModuleType)
    ]
    assert sorted([*public, "__version__"]) == sorted(tacit.__all__)
    assert isinstance(tacit.__version__, str)


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


# What runs left of the boundary, or on a device: all its randomness is the operating system's.
UNSEEDED = (
    *("bounds.py", "boundary.py", "engines", "losses", "mechanisms", "noise", "partials.py", "privacy", "protocols"),
    *("sources", "statistics"),
)


def test_only_simulation_knows_a_seeded_source_of_noise():
    for path in MODULES:
        text = path.read_text()
        if path.name != "simulate.py":
            assert "SeededEntropy" not in text, path
        if path.relative_to(SOURCE).parts[0] in UNSEEDED:
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


def unproved(text):
    """Lines of functions called sensitivity or event, not abstract, without ``Proof:`` in a docstring that is theirs:

    the function's own, that of its own class, or that of the file.
    """
    tree = ast.parse(text)
    owner = {id(child): node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for child in node.body}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in ("sensitivity", "event"):
            abstract = any("abstractmethod" in ast.dump(decorator) for decorator in node.decorator_list)
            places = [node, tree, *([owner[id(node)]] if id(node) in owner else [])]
            if not abstract and not any("Proof:" in (ast.get_docstring(place) or "") for place in places):
                yield node.lineno


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_every_claim_stands_beside_its_proof(path):
    """A function called sensitivity or event states why it is true, unless it is the abstract interface."""
    if path.name != "plan.py":
        assert not list(unproved(path.read_text())), path.name


def test_a_proof_of_another_class_proves_nothing():
    """The planted fault: two classes in a file, of which only the first has a proof."""
    proved = 'class A:\n    """Proof: so."""\n    def event(self): ...\n'
    assert list(unproved(proved)) == []
    assert list(unproved(proved + "class B:\n    def event(self): ...\n")) == [5]
    assert list(unproved('"""Proof: so."""\nclass B:\n    def event(self): ...\n')) == []
