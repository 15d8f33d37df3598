"""Releases as files: whole, checked, and never half-written."""

from __future__ import annotations

import json
import os

import pytest

import tacit
from tacit._support import files

PLAN = tacit.Plan(tacit.Categorical("x"), tacit.Schema(x=["a", "b", "c"]), tacit.PureDP(1.0))


@pytest.fixture
def release():
    return tacit.simulate(PLAN, n=100, seed=0).release


def test_a_newer_format_is_refused(release):
    with pytest.raises(tacit.InputError, match="newer"):
        tacit.Release.from_json(json.dumps({**release.to_plain(), "format": 2}))


def test_a_release_cut_short_anywhere_is_refused(release):
    text = release.to_json()
    for length in range(0, len(text) - 2, 37):
        with pytest.raises(tacit.InputError):
            tacit.Release.from_json(text[:length])


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_numbers_are_finite(release, constant):
    with pytest.raises(tacit.InputError, match="finite"):
        tacit.Release.from_json(release.to_json().replace('"n": 100', f'"n": {constant}'))


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("values", [1, 2], "values"),
        ("values", [1, 2, 3, 4], "values"),
        ("values", [1, 2, 3.5], "whole"),
        ("values", [1, 2, True], "whole"),
        ("values", [1, 2, 10**40], "values"),
        ("values", "123", "values"),
        ("n", 0, "n=0"),
        ("n", 1.5, "n=1.5"),
        ("unit", 3, "unit"),
        ("entries", ["a", "b", "c"], "entries"),
        ("noise", {"law": "discrete-laplace", "scales": [1, 1, 1]}, "noise"),
        ("guarantee", {"epsilon": 0.1, "neighbours": "replace-one"}, "guarantee"),
        ("dataset", "a\nb", "dataset"),
        ("id", "", "id"),
        ("simulated", 1, "simulated"),
        ("frame", 1, "frame"),
        ("frame", True, "guarantee"),
        ("frame", False, "frame"),
        ("ledger", 5, "ledger"),
    ],
)
def test_inconsistent_fields_are_refused(release, field, value, said):
    with pytest.raises(tacit.InputError, match=said):
        tacit.Release.from_json(json.dumps({**release.to_plain(), field: value}))


def test_a_missing_or_unknown_or_repeated_field_is_refused(release):
    plain = release.to_plain()
    for field in plain:
        with pytest.raises(tacit.InputError):
            tacit.Release.from_json(json.dumps({k: v for k, v in plain.items() if k != field}))
    with pytest.raises(tacit.InputError, match="extra"):
        tacit.Release.from_json(json.dumps({**plain, "extra": 1}))
    with pytest.raises(tacit.InputError, match="once"):
        tacit.Release.from_json(release.to_json().replace('"n": 100', '"n": 100, "n": 100'))


def test_a_failed_save_leaves_the_old_file_alone(release, tmp_path, monkeypatch):
    path = release.save(tmp_path / "release.json")
    before = path.read_bytes()

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(tacit.InputError, match="No space left"):
        release.save(path, overwrite=True)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["release.json"]


def test_saving_over_a_file_must_be_asked_for(release, tmp_path):
    path = release.save(tmp_path / "release.json")
    with pytest.raises(tacit.InputError, match="not to exist"):
        release.save(path)
    release.save(path, overwrite=True)


@pytest.mark.parametrize("path", ["", "missing/release.json"])
def test_a_bad_place_is_refused(release, tmp_path, path):
    with pytest.raises(tacit.InputError, match="folder"):
        release.save(tmp_path / path)


def test_reading_what_is_not_there(tmp_path):
    with pytest.raises(tacit.InputError, match="exists"):
        tacit.Release.load(tmp_path / "no.json")
    with pytest.raises(tacit.InputError, match="folder"):
        tacit.Release.load(tmp_path)
    (tmp_path / "junk.json").write_bytes(b"\xff\xfe\x00junk")
    with pytest.raises(tacit.InputError, match="UTF-8"):
        tacit.Release.load(tmp_path / "junk.json")


def test_integers_past_two_to_the_63_survive(release, tmp_path):
    """A billion billion rows: the sums are Python integers all the way."""
    n = 10**12
    big = tacit.Release(
        plan=PLAN, n=n, values=(n * release.unit, 2**63 + 1, -(2**40)), dataset="big", id="big", simulated=True
    )
    assert tacit.Release.load(big.save(tmp_path / "big.json")).values == big.values
