"""Deliberately broken mechanisms: the auditor catches every one, and says why."""

from __future__ import annotations

import pytest

import tacit
from faults.catalogue import FAULTS

LEVEL = 1e-6


def test_there_are_many():
    assert len(FAULTS) > 30, "as docs/audit.md says"


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_caught(name, monkeypatch):
    """Fresh entropy. A fault may be missed only where the draws are what shows it: there the test has power beyond
    1 - 1e-6 (p-values of the seen faults are below 1e-20).
    """
    fault = FAULTS[name]
    found = tacit.audit(fault.plan(monkeypatch), runs=fault.runs, n=fault.n, level=LEVEL)
    broken = [check.name for check in found.checks if check.violated]
    assert found.verdict == "violated", found.sentence()
    assert set(broken) & set(fault.caught_by), (broken, found.sentence())
    assert "broken" in found.sentence()
