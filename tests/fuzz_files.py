"""Files that a stranger may hand over, forged: each is read in a process with 1 GB of memory and 10 seconds.

    python tests/fuzz.py --files posterior --inputs 100000

A forged file begins as a good one. Its parts are changed as values or as bytes, and its checksum is computed again, as
somebody who forges would. Whatever it is, reading it gives the object or one sentence: no other error, no crash, no
hang, no file opened but the given one. Input i of a seed is always the same, so a long run can be split and repeated.
"""

from __future__ import annotations

import atexit
import copy
import io
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

FORMATS = Path(__file__).parent / "formats"
MEMORY = 10**9  # bytes, on top of what the libraries take when they are loaded
SECONDS = 10  # of the processor, for one input
STILL = 300  # seconds of the clock without one input done, on a busy computer
MOST_ROW_GROUPS = 200  # of a forged table; tens of thousands took most of the time, to write
NASTY: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 3, 7, 200, 255, 256, 2**31, 2**53, 2**63, -(2**63), 10**18, 10**30, 10**400),
    *(0.0, -0.0, 0.5, 1.0, 1e-300, 5e-324, 1e308, float("nan"), float("inf"), "", " ", "a", "0", "1/1", "1/0", "-1"),
    *("yes", "true", "\0", "\n", "\ud800", "\u202e", "../rows.csv", "/etc/passwd", "x" * 5000, "9" * 300, [], {}),
    *([[]], [1], ["a", "a"], {"a": 1}, {"": ""}, [[[[[[[[]]]]]]]], [0, 1], [1, 0], [0, 1e308], list(range(1000))),
]


# ---------------------------------------------------------------------------------------------------------------------
# Forging


def change_value(rng: random.Random, plain: Any, *, words: list[str]) -> Any:
    """The same plain value with one place in it changed."""
    plain = copy.deepcopy(plain)
    place, key, parent = plain, None, None
    while isinstance(place, dict | list) and place and (key is None or rng.random() < 0.85):
        parent = place
        key = rng.choice(list(place)) if isinstance(place, dict) else rng.randrange(len(place))
        place = place[key]
    if parent is None:
        return rng.choice(NASTY)
    kind = rng.randrange(8)
    if kind == 0:
        del parent[key]
    elif kind == 1 and isinstance(parent, dict):
        parent[rng.choice([*words, "more", "", "\0"])] = rng.choice([place, *NASTY])
    elif kind == 1:
        parent.insert(rng.randrange(len(parent) + 1), rng.choice([place, *NASTY]))
    elif kind == 2 and isinstance(place, int | float) and not isinstance(place, bool):
        parent[key] = rng.choice([place + 1, -place, place * 2, float(place) if abs(place) < 2**53 else 0, str(place)])
    elif kind == 3 and isinstance(place, list):
        parent[key] = place * rng.choice([0, 2, 3, 50])
    elif kind == 4 and isinstance(place, str):
        parent[key] = rng.choice([place[:-1], place + "x", place.upper(), place * 50, rng.choice(words)])
    elif kind == 5:
        parent[key] = [place]
    elif kind == 6 and isinstance(parent, dict):
        other = rng.choice(list(parent))
        parent[key], parent[other] = parent[other], parent[key]
    else:
        parent[key] = rng.choice(NASTY)
    return plain


def change_bytes(rng: random.Random, content: bytes) -> bytes:
    """The same bytes with some changed, cut, doubled or moved."""
    raw = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 4, 16])):
        if not raw:
            break
        at, kind = rng.randrange(len(raw)), rng.randrange(8)
        end = min(len(raw), at + rng.choice([1, 2, 4, 8, 64]))
        if kind <= 2:
            raw[at] = rng.randrange(256)
        elif kind == 3:
            raw[at] ^= 1 << rng.randrange(8)
        elif kind == 4:
            del raw[at:end]
        elif kind == 5:
            raw[at:at] = raw[at:end] * rng.choice([1, 2, 100])
        elif kind == 6:
            raw[at:end] = rng.choice([b"\0", b"\xff", b"\x7f"]) * (end - at)
        else:
            raw[at:end] = rng.choice([b'"', b"[", b"{", b"\n", b".", b"1e999", b"\\ud800", b"a.a.a.a.a."])
    if rng.random() < 0.05:
        del raw[rng.randrange(len(raw) + 1) :]
    return bytes(raw)


def written(rng: random.Random, plain: Any) -> bytes:
    """As JSON, now and then with a name twice, or with its text changed."""
    text = json.dumps(plain, ensure_ascii=rng.random() < 0.9).encode("utf-8", "surrogatepass")
    if rng.random() < 0.05:
        text = text.replace(b"{", b'{"n": 1, ', 1)
    return change_bytes(rng, text) if rng.random() < 0.2 else text


def forged_json(rng: random.Random, seed: bytes) -> bytes:
    """A changed JSON file."""
    if rng.random() < 0.2:
        return change_bytes(rng, seed)
    plain = json.loads(seed)
    for _ in range(rng.choice([1, 1, 2, 4])):
        plain = change_value(rng, plain, words=WORDS)
    return written(rng, plain)


def forged_partial(rng: random.Random, seed: bytes) -> bytes:
    """A changed partial, its digest right."""
    from tacit.partial_sums import _digest

    if rng.random() < 0.1:
        return change_bytes(rng, seed)
    plain = json.loads(seed)
    del plain["sha256"]
    for _ in range(rng.choice([1, 1, 2])):
        plain = change_value(rng, plain, words=WORDS)
    try:
        return written(rng, {**plain, "sha256": _digest(plain)})
    except (TypeError, ValueError):  # a number that is none has no digest
        return written(rng, plain)


def forged_plan(rng: random.Random, seed: bytes) -> bytes:
    """A changed plan."""
    import tomli_w

    if rng.random() < 0.3:
        return change_bytes(rng, seed)
    plain = tomllib.loads(seed.decode())
    for _ in range(rng.choice([1, 1, 2, 4])):
        plain = change_value(rng, plain, words=WORDS)
    try:
        return tomli_w.dumps(plain).encode("utf-8", "surrogatepass")
    except (TypeError, ValueError, AttributeError):  # TOML has no null
        return change_bytes(rng, seed)


def forged_posterior(rng: random.Random, seed: bytes) -> bytes:
    """A changed posterior, its checksum right: the index most of the time, the evidence inside it, or any bytes."""
    from tacit.posterior.checksum import CHECKSUM_LENGTH, with_checksum
    from tacit.posterior.file import _MARK

    content = seed[:-CHECKSUM_LENGTH]
    if rng.random() < 0.25:
        return with_checksum(change_bytes(rng, content)) if rng.random() < 0.9 else change_bytes(rng, seed)
    length = int(content[-12:])
    start = len(content) - len(_MARK) - 12 - length
    plain = json.loads(content[start : start + length])
    if rng.random() < 0.5:
        name = rng.choice(["release", "release", "prior"])
        inner = json.loads(plain["attributes"][name])
        for _ in range(rng.choice([1, 1, 2])):
            inner = change_value(rng, inner, words=WORDS)
        plain["attributes"][name] = written(rng, inner).decode("utf-8", "replace")
    else:
        for _ in range(rng.choice([1, 1, 2, 3])):
            plain = change_value(rng, plain, words=WORDS)
    index = written(rng, plain)
    body = change_bytes(rng, content[:start]) if rng.random() < 0.1 else content[:start]
    return with_checksum(
        body + index + _MARK + b"%012d" % (len(index) if rng.random() < 0.95 else rng.randrange(10**12))
    )


def forged_reports(rng: random.Random, seed: bytes) -> bytes:
    """A changed file of reports: the bytes, the header, or the columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if rng.random() < 0.5:
        return change_bytes(rng, seed)
    # No thread of Arrow's may call Python: one that does so while the process ends makes it abort.
    table = pq.ParquetFile(pa.BufferReader(seed), pre_buffer=False).read(use_threads=False)
    header = json.loads(table.schema.metadata[b"tacit"])
    if rng.random() < 0.7:
        for _ in range(rng.choice([1, 1, 2])):
            header = change_value(rng, header, words=WORDS)
    else:
        name = rng.choice(table.column_names)
        at, rows = table.column_names.index(name), table.num_rows
        column = rng.choice(
            [
                pa.array([rng.choice([0, 1, 2, -1, 2**62, None]) for _ in range(rows)], pa.int64()),
                pa.array([0.5] * rows),
                pa.array(["x"] * rows),
                pa.array([[1]] * rows),
                pa.array([1] * rows, pa.int8()),
                pa.array([{"a": 1}] * rows),
                pa.array(["x"] * rows).dictionary_encode(),
            ]
        )
        kind = rng.randrange(3)
        table = (
            table.set_column(at, name if kind else "other", column) if kind < 2 else table.append_column(name, column)
        )
    table = table.replace_schema_metadata({b"tacit": written(rng, header)})
    if rng.random() < 0.1:
        table = pa.concat_tables([table] * rng.choice([2, 1000]))
    buffer = io.BytesIO()
    compression, least = rng.choice(["zstd", "none", "gzip"]), rng.choice([1, 7, 10**6])
    pq.write_table(table, buffer, compression=compression, row_group_size=max(least, table.num_rows // MOST_ROW_GROUPS))
    return change_bytes(rng, buffer.getvalue()) if rng.random() < 0.2 else buffer.getvalue()


def forged_journal(rng: random.Random, seed: bytes) -> bytes:
    """A changed journal: the form in its first line, or the lines behind it."""
    if rng.random() < 0.3:
        return change_bytes(rng, seed)
    lines = seed.splitlines()
    at = rng.choice([0, rng.randrange(len(lines))])
    if rng.random() < 0.1:
        lines.insert(at, rng.choice(lines))
    else:
        lines[at] = written(rng, change_value(rng, json.loads(lines[at]), words=WORDS))
    return b"\n".join(lines) + rng.choice([b"\n", b"\n", b"", b"\n" + b"x" * 10**5])


def forged_ledger(rng: random.Random, seed: bytes) -> bytes:
    """A changed ledger: any bytes, or what an entry says, with the chain of hashes and the head right."""
    import sqlite3

    from tacit.ledger.chain import START, link
    from tacit.ledger.formats import schema

    if rng.random() < 0.2:
        return change_bytes(rng, seed)
    old, new = sqlite3.connect(":memory:", isolation_level=None), sqlite3.connect(":memory:", isolation_level=None)
    try:
        old.deserialize(seed)
        entries = [json.loads(content) for (content,) in old.execute("SELECT content FROM log ORDER BY number")]
        version = 1 if rng.random() < 0.8 else 2  # what format 2 keeps besides is checked against the entries
        for name in ("application_id", "user_version"):
            (value,) = old.execute(f"PRAGMA {name}").fetchone() if name == "application_id" else (version,)
            new.execute(f"PRAGMA {name} = {value}")
        for statement in schema(version).values():
            new.execute(statement)
        for _ in range(rng.choice([1, 1, 2])):
            at = rng.randrange(len(entries))
            if rng.random() < 0.1:
                entries.insert(at, entries[rng.randrange(len(entries))])
            else:
                spent = isinstance(entries[at], dict) and "event" in entries[at]
                part = entries[at]["event"] if spent and rng.random() < 0.8 else entries[at]
                changed = change_number(rng, part) if rng.random() < 0.5 else change_value(rng, part, words=WORDS)
                entries[at] = {**entries[at], "event": changed} if part is not entries[at] else changed
        previous = START
        for number, entry in enumerate(entries, start=1):
            kept = {**entry, "entry": number} if isinstance(entry, dict) and rng.random() < 0.99 else entry
            text = json.dumps(kept, sort_keys=True, separators=(",", ":"))
            previous = link(previous, text.encode())
            new.execute("INSERT INTO log VALUES (?, ?, ?)", (number, text, previous))
        new.execute("INSERT INTO head VALUES (?, ?)", (len(entries), previous))
        return new.serialize()
    finally:
        old.close()
        new.close()


def change_number(rng: random.Random, plain: Any) -> Any:
    """The same table with one of its numbers, also one written as a fraction, very large or very small."""
    size = 10 ** rng.choice([1, 12, 15, 100, 154, 160, 200, 300, 307, 309, 400])
    huge = [size, f"{size}/1", f"1/{size}", f"{size}/{size + 1}", f"{size + 1}/{size}", float(min(size, 10**308))]
    if not isinstance(plain, dict) or not plain:
        return rng.choice(huge)
    key = rng.choice(list(plain))
    return {**plain, key: change_number(rng, plain[key]) if isinstance(plain[key], dict) else rng.choice(huge)}


def forged_signature(rng: random.Random, seed: bytes) -> bytes:
    """A signed release whose signature was changed, or the release under it."""
    if rng.random() < 0.3:
        return forged_json(rng, seed)
    plain = json.loads(seed)
    return written(rng, {**plain, "signature": change_value(rng, plain["signature"], words=WORDS)})


WORDS = [
    *("format", "id", "dataset", "simulated", "n", "unit", "entries", "values", "noise", "law", "guarantee", "ledger"),
    *("plan", "partials", "model", "schema", "budget", "mechanism", "family", "column", "formula", "epsilon", "delta"),
    *("rho", "mu", "order", "neighbours", "assumes", "kind", "max_rows", "bounds", "levels", "missing", "bernoulli"),
    *("categorical", "normal", "linear", "logistic", "local", "posterior-sample", "discrete-laplace", "protocol"),
    *("newton", "rounds", "shares", "matrix", "point", "scales", "point_unit", "rounded-gaussian"),
    *("groups", "release", "prior", "method", "seed", "warmup", "attributes", "arrays", "type", "shape", "offset"),
    *("posterior/theta", "sample_stats/diverging", "key", "name", "signature", "tacit", "public key", "private key"),
    *("screen", "asked", "event", "spend", "released", "total", "laplace", "gaussian", "pure", "renyi", "repeated"),
]


# ---------------------------------------------------------------------------------------------------------------------
# What is read


@dataclass(frozen=True)
class Kind:
    """Files of one kind: their suffix, good ones to begin with, how they are forged, and what reads them."""

    suffix: str
    seeds: Callable[[], list[bytes]]
    forge: Callable[[random.Random, bytes], bytes]
    read: Callable[[Path], Any]


def kept(*names: str) -> Callable[[], list[bytes]]:
    """Files of `tests/formats`."""
    return lambda: [(FORMATS / name).read_bytes() for name in names]


@lru_cache(maxsize=1)
def plan_seeds() -> list[bytes]:
    """A plan of every family and kind of budget that goes with it."""
    import tacit
    from tacit.models.registry import FAMILIES

    found = [(FORMATS / "plan-1.toml").read_bytes()]
    budgets = [tacit.PureDP(1.0), tacit.ApproxDP(1.0, 1e-6), tacit.ZCDP(0.5), tacit.GDP(1.0)]
    mechanisms = [tacit.AddNoise(), tacit.Local(), tacit.PosteriorSample(), tacit.AddNoise(unit=tacit.Person("who", 3))]
    mechanisms += [tacit.Newton(), tacit.Newton(shares=[1, 2], matrix=[0.5, 0.0], unit=tacit.Person("who", 3))]
    mechanisms += [tacit.Local("scores", matrix=0.3), tacit.Local("scores", point=(0.5, -1.25, 0.0))]
    for family in FAMILIES.values():
        for i, example in enumerate(family.examples()[:2]):
            for j, mechanism in enumerate(mechanisms):
                try:
                    plan = tacit.Plan(example.model, example.schema, budgets[(i + j) % 4], mechanism)
                except tacit.InputError:
                    continue
                found.append(plan.to_toml().encode())
    schema = tacit.Schema({"x": (0, 9), "a b": {"bounds": [1, 5], "missing": 2}, "g": ["a", "b", "c"]})
    derive = {
        "z": {"value": "log(x + 1) / `a b`^2 - max(x, -1)", "bounds": [-9, 2], "missing": 0},
        "some": "x > 0 and not is_missing(z) or g in ['a', \"b\"]",
        "cut": "cut(x, [2, 3.5])",
        "g2": "recode(g, {'a': 'b'})",
    }
    model = tacit.LinearRegression("z ~ some + cut + g2")
    found.append(tacit.Plan(model, schema, budgets[0], tacit.AddNoise(), derive=derive).to_toml().encode())
    return found


@lru_cache(maxsize=1)
def release_seeds() -> list[bytes]:
    """Releases of several families and distributions."""
    import tacit

    schema = tacit.Schema(y=(-1, 1), x=(0, 10), z=["a", "b", "c"])
    rows = {"y": [0.5, -0.5, 0.1], "x": [1, 2, 3], "z": ["a", "b", "b"]}
    found = [(FORMATS / name).read_bytes() for name in ("release-1.json", "release-1-newton.json")]
    for model, budget in (
        (tacit.LinearRegression("y ~ x + z"), tacit.ApproxDP(1.0, 1e-6)),
        (tacit.Normal("x"), tacit.GDP(1.0)),
        (tacit.Categorical("z"), tacit.ZCDP(0.5)),
        (tacit.Mean("x", by="z"), tacit.PureDP(1.0)),
        (tacit.Quantiles("x", [0.5], [2, 5]), tacit.PureDP(1.0)),
    ):
        release = tacit.privatize(rows, tacit.Plan(model, schema, budget), ledger=None, dataset="rows")
        found.append(release.to_json().encode())
    return found


def _holder() -> Any:
    from tacit.signing.keys import PrivateKey

    return PrivateKey("The holder", bytes(range(32)))


@lru_cache(maxsize=1)
def key_seeds() -> list[bytes]:
    """Both halves of a pair."""
    with tempfile.TemporaryDirectory() as folder:
        return [one.save(Path(folder, "k" + suffix)).read_bytes() for one, suffix in _halves()]


def _halves() -> list[tuple[Any, str]]:
    return [(_holder().public, ".pub"), (_holder(), ".key")]


@lru_cache(maxsize=1)
def signature_seeds() -> list[bytes]:
    """Releases of several families, signed."""
    import tacit

    return [tacit.Release.from_json(one.decode()).sign(_holder()).to_json().encode() for one in release_seeds()]


@lru_cache(maxsize=1)
def screen_seeds() -> list[bytes]:
    """Screens under each noise distribution, for rows and for people."""
    import tacit

    schema = tacit.Schema(x=(0, 10), z=["a", "b", "c"])
    rows = {"x": [1, 2, None], "z": ["a", "b", "?"], "who": ["1", "2", "2"]}
    found: list[bytes] = []
    for unit in (None, tacit.Person("who", 3)):
        plan = tacit.Plan(tacit.Normal("x"), schema, tacit.PureDP(1.0), tacit.AddNoise(unit=unit))
        for price in ({"epsilon": 1.0}, {"rho": 0.1}, {"mu": 0.5}):
            found.append(tacit.screen(rows, plan, ledger=None, dataset="rows", **price).to_json().encode())
    return found


@lru_cache(maxsize=1)
def ledger_seeds() -> list[bytes]:
    """A ledger with a total of each definition, and an event of each kind spent on it."""
    from fractions import Fraction

    import tacit
    from tacit.privacy import events
    from tacit.privacy.approximate_event import ApproximateEvent
    from tacit.privacy.repeated_event import RepeatedEvent

    some = Fraction(1, 50)
    spent = [
        events.LaplaceEvent(some, 1000),
        events.GaussianEvent(some, 0),
        events.PureEvent(some),
        events.BoundedRangeEvent(some),
        events.RenyiEvent(2, some),
        events.ResponseGaussianEvent(some, 3, some, 0),
        RepeatedEvent(events.GaussianEvent(some, 0), 3),
        ApproximateEvent(events.PureEvent(some), Fraction(1, 10**12)),
    ]
    totals = [tacit.PureDP(3.0), tacit.ApproxDP(3.0, 1e-6), tacit.ZCDP(3.0), tacit.GDP(3.0), tacit.RenyiDP(2.0, 3.0)]
    found: list[bytes] = []
    for total in totals:
        with tempfile.TemporaryDirectory() as folder:
            ledger = tacit.Ledger.create(Path(folder, "ledger.db"))
            ledger.new_dataset("rows", total)
            for event in spent:
                try:
                    ledger.spend("rows", event, "0" * 64)
                except tacit.RefusedError:
                    continue
            found.append(Path(folder, "ledger.db").read_bytes())
    return found


def _read_key(path: Path) -> Any:
    """As who signs or checks does; a private key is its owner's alone."""
    from tacit.signing.keys import PrivateKey, PublicKey

    path.chmod(0o600)
    if b"private key" in path.read_bytes():
        return PrivateKey.load(path).public
    return PublicKey.load(path).is_signed(b"message", bytes(64)), PublicKey.load(path).fingerprint


def _read_signature(path: Path) -> Any:
    """As `tacit release verify` does."""
    from tacit.release import Release

    return Release.load(path).check_signature([_holder().public]).words


def _read_screen(path: Path) -> Any:
    """As `tacit infer --screen` and the report do."""
    from tacit.cell_screen import Screen

    found = Screen.load(path)
    return found.summary(), found.warnings(), f"{found.sd:,.3g}", found.to_json()


def _read_ledger(path: Path) -> Any:
    """As `tacit ledger show`, with and without `--json`, `tacit ledger verify` and `tacit privatize` do."""
    from fractions import Fraction

    from tacit.ledger import Ledger, words
    from tacit.privacy.events import PureEvent

    ledger = Ledger(path)
    problems = ledger.verify()
    assert all(problem.isprintable() for problem in problems), problems
    said = [*words(ledger), *words(ledger, 1e-9), json.dumps(ledger.to_plain(1e-9), allow_nan=False)]
    assert all(line.isprintable() for line in said), said
    return said, ledger.receipt().line, ledger.spend("rows", PureEvent(Fraction(1, 10**9)), "0" * 64)


def _read(module: str, name: str, load: str = "load") -> Callable[[Path], Any]:
    def read(path: Path) -> Any:
        import importlib

        owner = getattr(importlib.import_module(module), name)
        return owner(path) if load == "" else getattr(owner, load)(path)

    return read


KINDS = {
    "release": Kind(".json", release_seeds, forged_json, _read("tacit.release", "Release")),
    "posterior": Kind(
        ".nc", kept("posterior-2.nc", "posterior-2-newton.nc"), forged_posterior, _read("tacit.posterior", "Posterior")
    ),
    "reports": Kind(
        ".parquet",
        kept("reports-1.parquet", "reports-1-scores.parquet"),
        forged_reports,
        _read("tacit.reports", "Reports"),
    ),
    "plan": Kind(".toml", plan_seeds, forged_plan, _read("tacit.plan", "Plan")),
    "journal": Kind(
        ".journal",
        kept("journal-1.journal", "journal-1-scores.journal"),
        forged_journal,
        _read("tacit.collector.journal", "read_reports", ""),
    ),
    "partial": Kind(".partial", kept("partial-2.partial"), forged_partial, _read("tacit.partial_sums", "Partial")),
    "measurement": Kind(
        ".json",
        kept("measurements-1.json"),
        forged_json,
        _read("tacit.certificates.measurements", "read_measurements", ""),
    ),
    "screen": Kind(".json", screen_seeds, forged_json, _read_screen),
    "key": Kind(".key", key_seeds, forged_json, _read_key),
    "signature": Kind(".json", signature_seeds, forged_signature, _read_signature),
    "ledger": Kind(".db", ledger_seeds, forged_ledger, _read_ledger),
}


def _hang(_path: Path) -> None:
    while True:
        pass


def _outside(_path: Path) -> Any:
    return Path(__file__).read_bytes()


def _traceback(_path: Path) -> Any:
    raise KeyError


FAULTS: dict[str, Callable[[Path], Any]] = {
    "hang": _hang,
    "memory": lambda _path: bytearray(2 * MEMORY),
    "open": _outside,
    "traceback": _traceback,
    "crash": lambda _path: os.abort(),
    "end": lambda _path: atexit.register(os.abort),
}
"""Readers that break one promise each: the tests plant them."""


# ---------------------------------------------------------------------------------------------------------------------
# A process that reads


class Opens:
    """What Python opens, runs or calls out to while it is watched; one who is not given is a fault."""

    def __init__(self) -> None:
        self.allowed: str | None = None
        self.strange: list[str] = []
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.allowed is None:
            return
        if event == "open" and str(arguments[0]) != self.allowed and not _is_module(str(arguments[0])):
            self.strange.append(f"open {arguments[0]!r}")
        elif event.partition(".")[0] in ("socket", "subprocess", "ctypes") or event in (
            "os.system",
            "os.exec",
            "os.fork",
        ):
            self.strange.append(event)


def _is_module(path: str) -> bool:
    """Whether it is Python's own code, which some libraries import only when it is first needed."""
    return path.endswith((".py", ".pyc", ".so")) and path.startswith((sys.prefix, sys.base_prefix, *sys.path[1:]))


def forge(kind: str, seed: int, i: int) -> bytes:
    """Input i."""
    rng = random.Random(f"{kind} {seed} {i}")
    target = KINDS[kind]
    return target.forge(rng, rng.choice(target.seeds()))


def child(kind: str, seed: int, first: int, last: int, folder: Path, fault: str = "") -> int:
    """Read inputs ``first`` to ``last``; the number of the one being read stands in a file, for who finds us dead."""
    from tacit.errors import TacitError

    target, counts = KINDS[kind], Counter[str]()
    path = folder / f"forged{target.suffix}"
    for content in target.seeds():  # good files are read, and all modules are there
        path.write_bytes(content)
        target.read(path)
    opens, files = Opens(), len(os.listdir("/proc/self/fd"))
    most = MEMORY + _data()
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for i in range(first, last):
        content = forge(kind, seed, i)
        path.write_bytes(content)
        (folder / "now").write_text(str(i))
        signal.setitimer(signal.ITIMER_PROF, SECONDS)  # ends the process, whatever it is in
        try:
            opens.allowed = str(path)
            found = FAULTS.get(fault, target.read)(path)
            opens.allowed = None
            assert found is not None
            counts["accepted"] += 1
        except TacitError as error:
            opens.allowed = None
            message = str(error)
            assert "Expected " in message, message
            assert message.endswith("."), message
            assert message.isprintable(), ascii(message)
            assert len(message) < 1500, len(message)
            counts["refused"] += 1
        finally:
            opens.allowed = None
            signal.setitimer(signal.ITIMER_PROF, 0)
        assert not opens.strange, opens.strange[:3]
        assert len(os.listdir("/proc/self/fd")) <= files, "a file stays open"
    print(json.dumps(counts))
    return 0


def _data() -> int:
    """Bytes of writable memory that this process has asked for, the stacks of idle threads among them."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmData:"))


def run(kind: str, *, inputs: int, seed: int, first: int = 0, fault: str = "") -> tuple[Counter[str], str]:
    """What became of the inputs, and a complaint about the first that broke a promise, or nothing."""
    folder = Path(tempfile.mkdtemp(prefix="tacit-fuzz-"))
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "ARROW")}
    command = [sys.executable, __file__, kind, str(seed), str(first), str(first + inputs), str(folder), fault]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            env={**os.environ, **threads},
            timeout=STILL + inputs,
        )
        if done.returncode == 0:
            return Counter(json.loads(done.stdout)), ""
        now = folder / "now"
        if done.stdout:  # every input was read, and something still made the process fail
            ended = f"ended with {done.returncode} after its last input"
            return Counter(), f"{kind!r}, seed {seed}, {ended}\n{done.stderr[-3000:]}"
        which = f"input {now.read_text()} of {kind!r}, seed {seed}" if now.exists() else f"good files of {kind!r}"
        ended = {-signal.SIGPROF: f"took more than {SECONDS} seconds"}.get(
            done.returncode, f"ended with {done.returncode}"
        )
        return Counter(), f"{which} {ended}\n{done.stderr[-3000:]}"
    except subprocess.TimeoutExpired:
        return Counter(), f"{kind!r}, seed {seed}, input {(folder / 'now').read_text()}: it stands still"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def long_run(kinds: list[str], *, inputs: int, seed: int, first: int = 0, step: int = 2000) -> int:
    """Run kind after kind in parts; 0 if every promise held."""
    for kind in kinds:
        counts = Counter[str]()
        for start in range(first, first + inputs, step):
            found, complaint = run(kind, inputs=min(step, first + inputs - start), seed=seed, first=start)
            counts += found
            if complaint:
                print(f"Broken: {complaint}", flush=True)
                return 1
            print(f"{kind:12} seed {seed}: {counts.total():9,} inputs, {dict(counts)}", flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(child(sys.argv[1], *map(int, sys.argv[2:5]), Path(sys.argv[5]), sys.argv[6]))
    except MemoryError:
        traceback.print_exc()
        sys.exit(3)
