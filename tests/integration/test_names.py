"""Names that mean one thing each, and docstrings that stand where somebody needs them."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections import defaultdict
from functools import cache
from pathlib import Path

import tacit

SOURCE = Path(tacit.__file__).parent


@cache
def trees():
    return {path.relative_to(SOURCE): ast.parse(path.read_text("utf-8")) for path in sorted(SOURCE.rglob("*.py"))}


def definitions(tree):
    """The public classes and type aliases that a module defines: names in capital letters and small ones."""
    for node in tree.body:
        targets = []
        if isinstance(node, ast.ClassDef):
            targets = [node.name]
        elif isinstance(node, ast.Assign):
            targets = [one.id for one in node.targets if isinstance(one, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            targets = [node.target.id]
        yield from (name for name in targets if name[0].isupper() and not name.isupper())


def twice(modules):
    """Public classes and aliases that two modules define, with the modules."""
    places = defaultdict(list)
    for path, tree in modules.items():
        for name in definitions(tree):
            places[name].append(str(path))
    return {name: found for name, found in places.items() if len(found) > 1}


def test_no_public_class_or_alias_means_two_things():
    assert not twice(trees())
    other = ast.parse("class Plan: ...\nFloats = tuple[float, ...]")
    assert set(twice({**trees(), Path("other.py"): other})) >= {"Plan"}


def undocumented(owner):
    """Public methods without a docstring of their own or of the method that they override."""
    for name, member in vars(owner).items():
        function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if name.startswith("_") or not inspect.isfunction(function) or function.__module__ != owner.__module__:
            continue
        if function.__doc__ is None and not any(documented(base, name) for base in owner.__mro__[1:]):
            yield name


def documented(base, name):
    member = vars(base).get(name)
    function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
    return bool(getattr(function, "__doc__", None))


def test_every_public_method_says_what_it_is_for_here_or_where_it_is_declared():
    missing = []
    for path, tree in trees().items():
        if path.name in ("__main__.py",):
            continue
        module = importlib.import_module(".".join(("tacit", *path.with_suffix("").parts)).removesuffix(".__init__"))
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                missing += [f"{path}: {node.name}.{name}" for name in undocumented(getattr(module, node.name))]
    assert not missing


def test_a_method_that_says_nothing_is_found():
    class Base:
        def said(self):
            """What it is for."""

    class Below(Base):
        def said(self): ...

        def unsaid(self): ...

    assert list(undocumented(Below)) == ["unsaid"]
