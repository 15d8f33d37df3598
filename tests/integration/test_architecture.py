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


def public_names(path):
    """What a file imports to show it, by name: the module that it is from."""
    found = [node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.ImportFrom)]
    return {one.asname: node.module for node in found for one in node.names if one.asname == one.name}


def test_the_public_surface_is_all():
    """Type checkers are shown the names that there are, each where it is, and the list is one they can read."""
    stub = SOURCE / "__init__.pyi"
    assert public_names(stub) == {**tacit._HOMES, "__version__": "tacit.version"}
    listed = ast.parse(stub.read_text("utf-8")).body[-1]
    assert sorted(ast.literal_eval(listed.value)) == sorted(tacit.__all__)
    assert isinstance(tacit.__version__, str)


def test_a_name_is_loaded_when_it_is_asked_for_and_no_module_takes_its_place():
    code = (
        "import sys, tacit\nassert 'tacit.plan' not in sys.modules\nimport tacit.audit.audit, tacit.infer, tacit.report"
    )
    code += "\nprint(*(type(getattr(tacit, name)).__name__ for name in ('audit', 'infer', 'report', 'models')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["function", "function", "function", "module"]


def test_a_tab_shows_the_public_names_alone():
    """Modules can be imported and are not shown."""
    assert sorted(dir(tacit)) == sorted(tacit.__all__)
    assert not any(isinstance(getattr(tacit, name), types.ModuleType) for name in dir(tacit))


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


def imports_of_tacit(path):
    """What a script imports of the package: modules, and names as module.name."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names if name.name.split(".")[0] == "tacit"}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "tacit":
            found |= {f"{node.module}.{name.name}" for name in node.names}
    return found


def test_scripts_of_the_papers_use_the_public_names_alone():
    from tacit import studies

    public = {"tacit", "tacit.studies", *(f"tacit.{name}" for name in tacit.__all__)}
    public |= {f"tacit.studies.{name}" for name in studies.__all__}
    scripts = sorted((SOURCE.parents[1] / "papers").rglob("*.py"))
    assert len(scripts) > 10
    assert not {path.name: own for path in scripts if (own := imports_of_tacit(path) - public)}
    assert imports_of_tacit(SOURCE / "infer.py") - public  # which does use others
    assert all(hasattr(studies, name) for name in studies.__all__)


# What runs left of the boundary, or on a device: all its randomness is the operating system's.
UNSEEDED = (
    *("boundary.py", "bounds.py", "device.py", "partial_sums.py", "screen.py", "cell_screen.py"),
    *("engines", "expressions", "ledger", "mechanisms", "noise", "privacy", "private_samplers", "protocols", "sources"),
    "statistics",
)
GENERATORS = {"default_rng", "RandomState", "SeedSequence", "PRNGKey", "SeededEntropy"}
KEYS = {"key", "PRNGKey", "seed"}  # of a module called random: jax.random and whatever imitates it


def generators(text):
    """Lines that make or name a generator with a seed, or one whose state nobody sees.

    What JAX draws with a key is allowed: a key is made of the entropy source's own bytes by ``wrap_key_data``.
    """
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found = any(name.name in ("random", "numpy.random") for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = {name.name for name in node.names}
            found = (
                node.module in ("random", "numpy.random")
                or (node.module == "numpy" and "random" in names)
                or (node.module == "jax.random" and bool(names & KEYS))
                or (node.module == "tacit.runtime.backend" and "run" in names)  # its chains have seeds
                or bool(names & GENERATORS)
            )
        elif isinstance(node, ast.Attribute):
            owner = ast.unparse(node.value)
            found = (
                node.attr in GENERATORS
                or (owner in ("np.random", "numpy.random"))
                or (owner.split(".")[-1] in ("random", "jr", "jrandom") and node.attr in KEYS)
            )
        else:
            found = isinstance(node, ast.Name) and node.id in GENERATORS
        if found:
            yield node.lineno


def seeded(source):
    """Places left of the boundary where randomness could come from elsewhere than the operating system."""
    for path in sorted(source.rglob("*.py")):
        place = path.relative_to(source)
        if place.parts[0] in UNSEEDED:
            yield from (f"{place}:{line}" for line in generators(path.read_text()))


def test_what_runs_beside_rows_has_no_seed():
    assert list(seeded(SOURCE)) == []
    assert all((SOURCE / name).exists() for name in UNSEEDED)


PLANTED = {
    "a numpy generator": "import numpy as np\nrng = np.random.default_rng(0)\n",
    "numpy's own state": "import numpy as np\nu = np.random.uniform()\n",
    "numpy's generator by name": "from numpy.random import default_rng\n",
    "the standard library": "import random\n",
    "an old key": "import jax\nkey = jax.random.PRNGKey(0)\n",
    "a key": "import jax\nkey = jax.random.key(0)\n",
    "a key, otherwise imported": "from jax import random\nkey = random.key(0)\n",
    "a key by name": "from jax.random import key\n",
    "chains with a seed": "from tacit.runtime.backend import float64, run\n",
    "noise that is simulated": "from tacit.calibration.simulate import SeededEntropy\n",
}


@pytest.mark.parametrize("place", ["private_samplers/entropy_arrays.py", "mechanisms/dp_sgd/descent.py"])
@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_seed_is_found(fault, place, tmp_path):
    """The planted fault: a seed in a copy of a module that runs beside rows."""
    copy = tmp_path / place
    copy.parent.mkdir(parents=True)
    lines = (SOURCE / place).read_text().splitlines()
    copy.write_text("\n".join([*lines, PLANTED[fault]]))
    assert list(seeded(tmp_path)) == [f"{place}:{len(lines) + PLANTED[fault].count(chr(10))}"]


def test_every_sampler_that_runs_beside_rows_is_listed():
    """A module outside the list that the boundary's mechanisms import to draw would not be looked at."""
    reached = {
        name.split(".")[1]
        for path in (SOURCE / "mechanisms").rglob("*.py")
        for name in imported(path.read_text())
        if name.startswith("tacit.") and "sampler" in name.split(".")[1]
    }
    assert reached == {"private_samplers"}


def imported(text):
    """Modules that are imported, also inside functions."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def test_only_simulation_knows_a_seeded_source_of_noise():
    for path in MODULES:
        if path.name != "simulate.py":
            assert "SeededEntropy" not in path.read_text(), path


def test_noise_for_real_data_comes_from_the_operating_system():
    assert "OSEntropy()" in (SOURCE / "boundary.py").read_text()


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_file_holds_one_concept(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 400, "a file this long usually holds two concepts"
    if path.name != "__init__.py":
        assert ast.get_docstring(ast.parse(text)), "say what this file is for"


BESIDES = {"docs", "integration", "laws", "neighbours", "papers"}


def test_tests_lie_where_the_source_does():
    """A folder of tests is a package, but for those about no package; a file on top is about a module there."""
    tests = Path(__file__).parents[1]
    for path in sorted(tests.rglob("test_*.py")):
        folder = path.relative_to(tests).parent
        if folder == Path():
            assert (SOURCE / path.name.removeprefix("test_")).exists(), path.name
        elif folder.parts[0] not in BESIDES:
            assert (SOURCE / folder / "__init__.py").exists(), folder


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
