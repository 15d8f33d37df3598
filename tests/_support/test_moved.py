"""Modules that the pages once showed under another path are still found there, with a warning, and are no copies."""

from __future__ import annotations

import importlib
import sys

import pytest

import tacit
from tacit._support.moved import MOVED


@pytest.mark.parametrize("old", MOVED)
def test_an_old_path_is_the_module_itself_and_warns(old, monkeypatch):
    monkeypatch.delitem(sys.modules, old, raising=False)
    before = dir(tacit)
    with pytest.warns(DeprecationWarning, match=f"^{old} is now {MOVED[old]}.$"):
        found = importlib.import_module(old)
    assert found is importlib.import_module(MOVED[old])
    assert found.__spec__ is not None
    assert (found.__name__, found.__spec__.name) == (MOVED[old], MOVED[old])
    assert dir(tacit) == before
    assert old.removeprefix("tacit.") not in tacit.__all__  # or the module would take the public name's place


def test_what_never_was_is_not_found():
    for name in ("tacit.losses.nothing", "tacit.nothing", "tacit.samplers.nothing"):
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(name)
