"""Partials: exact sums of sites, added up before the noise; marked, guarded, and refused where they do not belong."""

from __future__ import annotations

import json
import stat

import numpy as np
import pytest

import tacit
from tacit.boundary import _adder, collect, needed
from tacit.cli import app
from tacit.engines.threads import Threads
from tacit.partials import _digest
from tacit.privacy.assumptions import TYPED_ELSEWHERE
from tacit.sources.open import open_source

SCHEMA = tacit.Schema(y=(-1, 1), x=(0, 10))
PLAN = tacit.Plan(tacit.LinearRegression("y ~ x"), SCHEMA, tacit.PureDP(1.0))


def rows(n, seed):
    rng = np.random.default_rng(seed)
    return {"y": rng.normal(size=n), "x": rng.normal(5, 3, n)}


@pytest.fixture
def sites():
    return [tacit.partial(rows(50 + i, i), PLAN, dataset=f"site {i}") for i in range(3)]


def refused(call):
    with pytest.raises(tacit.InputError) as caught:
        call()
    return str(caught.value)


def test_the_pool_is_the_table_of_all_rows(sites):
    """Bit for bit; the planted fault is a pool that lacks a site."""
    everything = {name: np.concatenate([rows(50 + i, i)[name] for i in range(3)]) for name in ("y", "x")}
    n, found = collect(open_source(everything, *needed(PLAN)), PLAN, None, Threads(1))
    pooled, sums = _adder(sites, PLAN).collect()
    assert (pooled, sums.totals) == (n, found.totals)
    assert _adder(sites[:2], PLAN).collect()[1].totals != found.totals
    release = tacit.privatize(sites, PLAN, ledger=None, dataset="pool")
    assert release.n == n
    assert tacit.Release.from_json(release.to_json()) == release


def test_people_are_pooled_by_site():
    """Where the unit is a person, each site has filled up and cut its own people."""
    plan = tacit.Plan(
        tacit.Categorical("x"),
        tacit.Schema(x=["a", "b"]),
        tacit.PureDP(1.0),
        tacit.AddNoise(unit=tacit.Person("who", 2)),
    )
    parts = [
        tacit.partial({"who": ["p", "p", "p", "q"], "x": ["b"] * 4}, plan, dataset="one"),
        tacit.partial({"who": ["r"], "x": ["b"]}, plan, dataset="two"),
    ]
    n, sums = _adder(parts, plan).collect()
    assert n == 6
    assert [total // plan.statistic().unit for total in sums.totals] == [4]


def test_the_file_is_marked_guarded_and_whole(sites, tmp_path):
    path = sites[0].save(tmp_path / "a.partial")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(path.read_text())["sensitive"].startswith("SENSITIVE: exact sums")
    assert tacit.Partial.load(path) == sites[0]
    assert str(sites[0].totals[0]) not in repr(sites[0])
    assert str(sites[0].n) not in repr(sites[0]).replace(sites[0].id, "")
    assert "to end in .partial" in refused(lambda: sites[0].save(tmp_path / "a.json"))
    sites[0].save(path, overwrite=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    whole = path.read_text()
    number = str(sites[0].totals[0])
    for content in (whole[:-20], "", "[]", whole.replace(number, "1"), whole.replace('"n": 50', '"n": 51'), "{}"):
        path.write_text(content)
        message = refused(lambda: tacit.Partial.load(path))
        assert message.startswith("Expected partial=")  # with its path, of which a long one is cut
        assert number not in message


def test_a_release_of_partials_says_what_it_assumes(sites, tmp_path):
    """In the promise, in the file and after reading it back; a release of one partial does not assume it."""
    pooled = tacit.privatize(sites, sites[0].plan, ledger=None)
    assert pooled.partials == len(sites)
    assert pooled.guarantee.assumes == (f"nobody is in two of the {len(sites)} partials", TYPED_ELSEWHERE)
    again = tacit.Release.load(pooled.save(tmp_path / "pooled.json"))
    assert again == pooled
    assert again.guarantee.assumes == pooled.guarantee.assumes
    alone = tacit.privatize(sites[:1], sites[0].plan, ledger=None)
    assert alone.guarantee.assumes == (TYPED_ELSEWHERE,)
    assert "partials" not in alone.to_plain()
    for lie in (1, 0, "2", True):
        with pytest.raises(tacit.InputError):
            tacit.Release.from_plain({**pooled.to_plain(), "partials": lie})


def rewritten(path, **changes):
    """A partial's file with other content and a checksum that fits it."""
    plain = json.loads(path.read_text())
    del plain["sha256"]
    plain |= changes
    plain = {name: value for name, value in plain.items() if value is not None}
    path.write_text(json.dumps({**plain, "sha256": _digest(plain)}))
    return path


def test_a_partial_says_what_its_totals_are_in(sites, tmp_path):
    """Before, one on a 16 times finer lattice was accepted."""
    path = sites[0].save(tmp_path / "a.partial")
    plain = json.loads(path.read_text())
    statistic = PLAN.statistic()
    assert (plain["unit"], plain["entries"]) == (statistic.unit, list(statistic.entries))
    assert plain["version"] == tacit.__version__
    assert tacit.Partial.load(rewritten(path, version="0.0.1")).n == 50, "another version with the same statistic"
    finer = {"unit": 16 * plain["unit"], "totals": [16 * total for total in plain["totals"]]}
    for changes in (finer, {"entries": plain["entries"][::-1]}, {"probe": "0" * 64}, {"unit": True}, {"entries": "yx"}):
        other = sites[0].save(tmp_path / "b.partial", overwrite=True)
        message = refused(lambda other=other, changes=changes: tacit.Partial.load(rewritten(other, **changes)))
        assert "lattice" in message or "list" in message
        assert str(plain["totals"][0]) not in message
    one = sites[0].save(tmp_path / "c.partial")
    assert "sums of its rows" in refused(lambda: tacit.Partial.load(rewritten(one, totals=finer["totals"])))
    old = sites[0].save(tmp_path / "d.partial")
    rewritten(old, partial=1, unit=None, entries=None, version=None, probe=None)
    message = refused(lambda: tacit.Partial.load(old))
    assert "run tacit partial again" in message
    assert "run tacit partial again" in refused(lambda: tacit.privatize([old], PLAN, ledger=None))


def test_a_statistic_that_maps_cells_in_another_way_is_told(sites, tmp_path, monkeypatch):
    """The planted fault: a version of tacit whose lattice has the same unit and names, and rounds down."""
    path = sites[0].save(tmp_path / "a.partial")
    monkeypatch.setattr(np, "rint", lambda values, **out: np.floor(values, **out))
    assert "make it again" in refused(lambda: tacit.Partial.load(path))


def test_infer_refuses_a_partial(sites, tmp_path):
    path = sites[0].save(tmp_path / "a.partial")
    assert "not a partial, which holds exact sums" in refused(lambda: tacit.infer(path))
    assert "not a partial" in refused(lambda: tacit.Release.load(path))
    assert "to be a Release" in refused(lambda: tacit.infer(sites[0]))


def test_what_can_not_be_pooled(sites, tmp_path):
    other = tacit.Plan(PLAN.model, SCHEMA, tacit.PureDP(2.0))
    assert "the very plan" in refused(lambda: tacit.privatize(sites, other, ledger=None))
    assert "counted twice" in refused(lambda: tacit.privatize([sites[0], sites[0]], PLAN, ledger=None))
    again = tacit.partial(rows(50, 0), PLAN, dataset="site 0")
    assert "counted twice" in refused(lambda: tacit.privatize([sites[0], again], PLAN, ledger=None))
    csv = tmp_path / "d.csv"
    csv.write_text("y,x\n1,2\n")
    assert "not both" in refused(lambda: tacit.privatize([sites[0], csv], PLAN, ledger=None))
    assert "at least one row" in refused(lambda: tacit.partial({"y": [], "x": []}, PLAN, dataset="none"))
    assert "dataset" in refused(lambda: tacit.partial(rows(5, 1), PLAN, dataset=""))


def test_the_charge_is_made_once_when_the_pool_is_released(sites, tmp_path):
    ledger = tacit.Ledger.create(tmp_path / "ledger.db")
    ledger.new_dataset("pool", tacit.PureDP(1.5))
    kinds = lambda: [entry.kind for entry in ledger.entries("pool")]  # noqa: E731
    assert kinds() == ["dataset"], "partials cost nothing: they protect nobody"
    release = tacit.privatize(sites, PLAN, ledger=ledger, dataset="pool")
    assert kinds().count("spend") == 1
    assert release.ledger is not None
    with pytest.raises(tacit.RefusedError):
        tacit.privatize(sites, PLAN, ledger=ledger, dataset="pool")


def test_on_the_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.toml").write_text(PLAN.to_toml())
    for name, seed in (("a", 1), ("b", 2)):
        lines = ["y,x", *(f"{y},{x}" for y, x in zip(*rows(40, seed).values(), strict=True))]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
        app(["partial", "plan.toml", f"{name}.csv", "-o", f"{name}.partial", "--dataset", name], standalone_mode=False)
        assert "SENSITIVE" in capsys.readouterr().out
    app(["privatize", "plan.toml", "a.partial", "b.partial", "-o", "out.json", "--no-ledger"], standalone_mode=False)
    said = capsys.readouterr().out
    assert "about 80 rows" in said
    assert "Assumes: nobody is in two of the 2 partials" in said
    assert tacit.Release.load("out.json").n == 80
    app(["privatize", "plan.toml", "a.csv", "b.csv", "-o", "two.json", "--no-ledger"], standalone_mode=False)
    assert tacit.Release.load("two.json").n == 80
    capsys.readouterr()
    app(["partial", "plan.toml", "a.csv", "-o", "c.partial", "--dataset", "c", "--json"], standalone_mode=False)
    printed = json.loads(capsys.readouterr().out)
    assert printed["sensitive"] is True
    assert "totals" not in printed
    for words in (
        ["partial", "plan.toml", "a.csv", "-o", "c.json", "--dataset", "c"],
        ["infer", "a.partial", "-o", "out.nc"],
        ["privatize", "plan.toml", "a.csv", "-o", "x.json", "--no-ledger", "--engine", "abacus"],
    ):
        with pytest.raises(tacit.InputError):
            app(words, standalone_mode=False)
