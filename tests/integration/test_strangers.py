"""Files from strangers: a forged one reads no other file, takes no memory, and is refused in one sentence.

Whoever forges a file computes its checksum again, so every forgery here has a right one. No false alarm is possible.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit
from tacit.certificates.measurements import read_measurements
from tacit.cli import main
from tacit.collector.journal import read_reports
from tacit.posterior.checksum import CHECKSUM_LENGTH, sealed
from tacit.posterior.file import _MARK, file_content
from tacit.posterior.old_formats import walk

FORMATS = Path(__file__).parents[1] / "formats"
CANARY = b"Alice Canary,HIV\nBob Canary,none\n" * 100


def refused(call, words=None):
    """The one sentence of a refusal."""
    with pytest.raises(tacit.InputError, match=words) as caught:
        call()
    assert str(caught.value).startswith("Expected ")
    assert "\n" not in str(caught.value)
    assert "Canary" not in str(caught.value)
    return str(caught.value)


# ---------------------------------------------------------------------------------------------------------------------
# A posterior that leads to other files


def old(folder, change):
    """A posterior of format 1 in which ``change`` has forged something, its checksum right."""
    content = io.BytesIO((FORMATS / "posterior-1.nc").read_bytes()[:-CHECKSUM_LENGTH])
    with h5py.File(content, "r+") as file:
        change(file)
    path = folder / "forged.nc"
    path.write_bytes(sealed(content.getvalue()))
    return path


def external_storage(file):
    del file["posterior/theta"]
    file["posterior"].create_dataset("theta", (2, 8, 3), "<f8", external=[("rows.csv", 0, 384)])


def virtual(file):
    del file["posterior/theta"]
    layout = h5py.VirtualLayout((2, 8, 3), "<f8")
    layout[:] = h5py.VirtualSource("other.h5", "x", (2, 8, 3))
    file["posterior"].create_virtual_dataset("theta", layout)


def linked(link):
    def change(file):
        del file["posterior/theta"]
        file["posterior/theta"] = link

    return change


def variable(*shape, dtype="<f8", **settings):
    def change(file):
        del file["posterior/theta"]
        file["posterior"].create_dataset("theta", shape, dtype, **settings)

    return change


def attribute(name, value):
    def change(file):
        file.attrs[name] = value

    return change


FORGED = {
    "external storage": external_storage,
    "an external link": linked(h5py.ExternalLink("other.h5", "/x")),
    "a soft link": linked(h5py.SoftLink("/posterior/count")),
    "a virtual data set": virtual,
    "whole numbers": lambda file: variable(2, 8, 3, dtype="<i2", data=np.ones((2, 8, 3)))(file),
    "texts": variable(2, 8, 3, dtype="S8"),
    "references": variable(2, 8, 3, dtype=h5py.ref_dtype),
    "records": variable(2, 8, 3, dtype=np.dtype([("a", "<f8"), ("b", "<f8")])),
    "a sparse data set of 2e9 elements": variable(2, 10**9, dtype="<f8"),
    "chunks": variable(2, 8, 3, chunks=(2, 8, 3)),
    "chunks that are compressed": variable(2, 8, 3, chunks=(2, 8, 3), compression="gzip"),
    "a type of its own": lambda file: (
        file.__setitem__("t", np.dtype("<f8")),
        variable(2, 8, 3, dtype=file["t"])(file),
    ),
    "a group in itself": lambda file: linked(file["/"])(file),
    "another group": lambda file: file.create_group("warmup_posterior"),
    "another variable": lambda file: file["posterior"].create_dataset("my x", data=[1.0]),
    "a release of an array": attribute("release", ["[]", "[]"]),
    "a release of bytes": attribute("release", np.void(b"[]")),
    "a method of a number": attribute("method", 3.0),
    "another attribute": attribute("more", "x"),
}


@pytest.mark.parametrize("name", FORGED)
def test_an_old_posterior_is_walked_before_it_is_read(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_bytes(CANARY)
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = np.full((2, 8, 3), 0.5)
    path = old(tmp_path, FORGED[name])
    refused(lambda: tacit.Posterior.load(path), "migrate")
    with pytest.raises((tacit.InputError, TypeError, KeyError, ValueError, RuntimeError)):  # in a child
        walk(str(path))


def test_a_forged_posterior_reads_no_local_file_into_the_page(tmp_path, monkeypatch, capsys):
    """The attack: 48 draws in external storage, whose numbers are the bytes of a table of people."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_bytes(CANARY)
    path = old(tmp_path, external_storage)
    for words in (("report", path, "-o", "page.html"), ("migrate", path, "-o", "new.nc"), ("cite", path)):
        monkeypatch.setattr(sys, "argv", ["tacit", *map(str, words)])
        with pytest.raises(SystemExit) as caught:
            main()
        said = capsys.readouterr()
        assert caught.value.code == 2
        assert said.err.startswith("Error: Expected posterior=")
        assert "Canary" not in said.out + said.err
    assert not (tmp_path / "page.html").exists()
    assert not (tmp_path / "new.nc").exists()


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_only_the_file_itself_is_opened(tmp_path):
    """As the kernel sees it, below Python and every library in C. The planted fault: xarray, which h5py serves."""
    (tmp_path / "rows.csv").write_bytes(CANARY)
    path = old(tmp_path, external_storage)
    good = shutil.copy(FORMATS / "posterior-2.nc", tmp_path / "good.nc")

    def opened(code):
        command = ["strace", "-f", "-e", "trace=open,openat,openat2", "-o", "trace", sys.executable, "-c", code]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
        if "ptrace" in done.stderr:
            pytest.skip("this computer does not let processes be traced")
        return "rows.csv" in (tmp_path / "trace").read_text("utf-8", "replace")

    from_strangers = (
        "import contextlib, pathlib\n"
        "from tacit.posterior import Posterior\nfrom tacit.migrate import migrate\n"
        f"Posterior.load({str(good)!r})\n"
        "for call in (Posterior.load, lambda path: migrate(path, 'new.nc')):\n"
        f"    with contextlib.suppress(ValueError): call({str(path)!r})\n"
    )
    assert not opened(from_strangers)
    assert opened(f"import h5py; h5py.File({str(path)!r})['posterior/theta'][:]")


# ---------------------------------------------------------------------------------------------------------------------
# A posterior whose own index is forged


def forged_index(folder, change):
    content = (FORMATS / "posterior-2.nc").read_bytes()[:-CHECKSUM_LENGTH]
    length = int(content[-12:])
    start = len(content) - len(_MARK) - 12 - length
    plain = json.loads(content[start : start + length])
    plain = change(plain) or plain
    index = plain if isinstance(plain, bytes) else json.dumps(plain).encode()
    path = folder / "forged.nc"
    path.write_bytes(sealed(content[:start] + index + _MARK + b"%012d" % len(index)))
    return path


def place(**changes):
    def change(plain):
        plain["arrays"]["posterior/theta"].update(changes)

    return change


def said(**changes):
    def change(plain):
        plain["attributes"].update(changes)

    return change


def renamed(new):
    def change(plain):
        plain["arrays"][new] = plain["arrays"].pop("posterior/theta")

    return change


INDICES = {
    "an offset behind the end": place(offset=10**6),
    "an offset that is true": place(offset=True),
    "a negative offset": place(offset=-8),
    "a shape of 2e9": place(shape=[2, 10**9, 3]),
    "another shape": place(shape=[2, 3, 8]),
    "a shape of no axis": place(shape=[]),
    "whole numbers": place(type="<i8"),
    "objects": place(type="|O8"),
    "numbers that are no shares": place(offset=0),
    "one more name": place(more=1),
    "a path": renamed("../rows.csv"),
    "another variable": renamed("posterior/weights"),
    "no theta": lambda plain: plain["arrays"].pop("posterior/theta") and None,
    "no draws": lambda plain: plain["arrays"].clear(),
    "format true": lambda plain: plain.update(format=True),
    "format 3": lambda plain: plain.update(format=3),
    "attributes of arrays": said(method=["gibbs"]),
    "another method": said(method="magic"),
    "a seed that is a command": said(seed="0; rm -rf"),
    "a prior of objects": said(prior='{"concentration": {"a": 1}}'),
    "a prior without end": said(prior="[" * 10**5),
    "no evidence": said(release="[]"),
    "evidence of a number": said(release="[5]"),
    "reports of a number": said(release='[{"reports": 5}]'),
    "a release twice": lambda plain: said(release=json.dumps(2 * json.loads(plain["attributes"]["release"])))(plain),
    "released values without end": lambda plain: said(
        release=json.dumps([{**json.loads(plain["attributes"]["release"])[0], "values": [10**400] * 3}])
    )(plain),
    "repeated names": lambda _: b'{"format": 2, "format": 2}',
    "nesting": lambda _: b"[" * 10**5,
}


@pytest.mark.parametrize("name", INDICES)
def test_a_forged_index_is_refused(tmp_path, name):
    path = forged_index(tmp_path, INDICES[name])
    refused(lambda: tacit.Posterior.load(path))


def test_an_index_that_is_right_is_read(tmp_path):
    """Without this the tests above could not fail."""
    path = forged_index(tmp_path, lambda plain: None)
    assert tacit.Posterior.load(path).draws("theta").shape == (16, 3)


@pytest.mark.parametrize("theta", [[2.0, -0.5, -0.5], [0.5, 0.6, 0.1], [np.nan, 0.5, 0.5]])
def test_draws_that_are_no_probabilities_give_one_sentence(tmp_path, monkeypatch, capsys, theta):
    posterior = tacit.Posterior.load(FORMATS / "posterior-2.nc")
    posterior.tree["posterior"]["theta"].values[:] = theta
    posterior.save(tmp_path / "p.nc")
    monkeypatch.setattr(sys, "argv", ["tacit", "report", str(tmp_path / "p.nc"), "-o", str(tmp_path / "page.html")])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    assert "Expected the draws of 'theta' to be shares" in capsys.readouterr().err


def test_numbers_that_netcdf_stores_otherwise_are_kept_beside_it():
    """Compressed, or in another order of bytes: the index points to a copy."""
    values = np.arange(6.0).reshape(1, 2, 3)
    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        file.create_dataset("posterior/theta", data=values, compression="gzip")
    for kind in ("<f8", ">f8", "<f4"):
        whole = file_content(content.getvalue(), {"posterior/theta": values.astype(kind)}, {})
        assert whole.count(values.tobytes()) == 1


# ---------------------------------------------------------------------------------------------------------------------
# Small files that become large


def peak(call):
    """The most memory that Python's own objects took meanwhile, in bytes, and how long it took in seconds."""
    began = time.perf_counter()
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1], time.perf_counter() - began
    finally:
        tracemalloc.stop()


def test_many_reports_under_a_header_of_few(tmp_path):
    """The columns are not read: Arrow holds no more than before."""
    header = pq.read_schema(FORMATS / "reports-1.parquet").metadata[b"tacit"]
    table = pa.table({name: np.zeros(5_000_000, np.int64) for name in ("group", "report_0", "report_1", "report_2")})
    pq.write_table(table.replace_schema_metadata({b"tacit": header}), tmp_path / "r.parquet", compression="zstd")
    del table
    pool = pa.default_memory_pool()
    pool.release_unused()
    before, most = pa.total_allocated_bytes(), pool.max_memory()
    refused(lambda: tacit.Reports.load(tmp_path / "r.parquet"), "as many")
    assert pool.max_memory() <= max(most, before + 2**22)


def test_more_reports_than_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("tacit._support.integer_columns.MOST_NUMBERS", 79)
    refused(lambda: tacit.Reports.load(FORMATS / "reports-1.parquet"), "at most 79 numbers")
    monkeypatch.undo()
    found = tacit.Reports.load(FORMATS / "reports-1.parquet")
    monkeypatch.setattr("tacit.reports.MOST_NUMBERS", 79)
    refused(lambda: found.save(tmp_path / "r.parquet"), "several files")


def test_no_other_thread_reads_the_reports():
    """One that still calls Python while the process ends makes it abort, with the work done; none is ever started."""
    code = (
        "import os, sys, pyarrow.parquet\nfrom tacit.reports import Reports\n"
        "found = len(os.listdir('/proc/self/task'))\n"
        "Reports.load(sys.argv[1])\nprint(len(os.listdir('/proc/self/task')) - found)"
    )
    command = [sys.executable, "-c", code, str(FORMATS / "reports-1.parquet")]
    one = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    done = subprocess.run(command, env={**os.environ, **one}, capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"


@pytest.mark.parametrize("part", ["a", '"a"', "'a' ", "a \t"])
def test_a_plan_of_dotted_keys(part):
    text = ".".join([part] * 50_000) + " = 1"
    memory, seconds = peak(lambda: refused(lambda: tacit.Plan.from_toml(text), "at most 4 parts"))
    assert memory < 2**24
    assert seconds < 5
    assert "4 parts" in refused(lambda: tacit.Plan.from_toml(f"[model]\nx = {{ {text} }}"))


def test_dots_in_strings_and_comments_are_no_keys():
    plan = (FORMATS / "plan-1.toml").read_text()
    for more in ("# a.b.c.d.e.f.g", '"""', "'''"):
        text = plan.replace('"a"', '"www.a.b.c.d.e"') + more
        if more.startswith("#"):
            assert tacit.Plan.from_toml(text).schema["x"].levels[0] == "www.a.b.c.d.e"
        else:
            refused(lambda text=text: tacit.Plan.from_toml(text), "TOML")


def test_a_plan_of_megabytes(tmp_path):
    (tmp_path / "plan.toml").write_text("#" * (2**20 + 1))
    refused(lambda: tacit.Plan.load(tmp_path / "plan.toml"), "at most 1048576 bytes")


def test_a_journal_with_a_line_of_600_megabytes(tmp_path):
    path = shutil.copy(FORMATS / "journal-1.journal", tmp_path / "j.journal")
    with open(path, "r+b") as file:
        file.truncate(600 * 2**20)  # a hole: it takes no room on the disk
    memory, _ = peak(lambda: refused(lambda: read_reports(path), "lines of at most"))
    assert memory < 2**24


def test_releases_and_partials_have_a_largest_size(tmp_path):
    for name, load in (("a.json", tacit.Release.load), ("a.partial", tacit.Partial.load)):
        (tmp_path / name).touch()
        with open(tmp_path / name, "r+b") as file:
            file.truncate(2**25 + 1)
        refused(lambda load=load, name=name: load(tmp_path / name), "at most 33554432 bytes")


# ---------------------------------------------------------------------------------------------------------------------
# Every reader is as strict as that of releases


def reports_with(folder, **changes):
    table = pq.read_table(FORMATS / "reports-1.parquet")
    header = json.loads(table.schema.metadata[b"tacit"])
    pq.write_table(table.replace_schema_metadata({b"tacit": json.dumps({**header, **changes})}), folder / "r.parquet")
    return folder / "r.parquet"


@pytest.mark.parametrize(
    "changes",
    [{"simulated": "yes"}, {"simulated": 1}, {"format": True}, {"format": 1.0}, {"groups": {}}, {"dataset": 5}],
    ids=str,
)
def test_headers_of_reports_have_exact_types(tmp_path, changes):
    assert tacit.Reports.load(reports_with(tmp_path)).simulated is True
    refused(lambda: tacit.Reports.load(reports_with(tmp_path, **changes)), next(iter(changes)))


def test_numbers_of_a_release_have_exact_types():
    plain = json.loads((FORMATS / "release-1.json").read_text())
    assert tacit.Release.from_plain(plain).n == 200
    for text, words in (
        (json.dumps({**plain, "partials": True}), "partials"),
        (json.dumps(plain).replace('"n": 200', '"n": 200, "n": 200'), "once"),
        (json.dumps(plain).replace('"n": 200', '"n": 1e999'), "finite"),
        (json.dumps({**plain, "plan": {"model": json.loads("[" * 40 + "]" * 40)}}), "nested at most 32"),
    ):
        refused(lambda text=text: tacit.Release.from_json(text), words)


def test_a_partial_of_format_true(tmp_path):
    from tacit.partials import _digest

    plain = json.loads((FORMATS / "partial-1.partial").read_text())
    plain["partial"] = True
    del plain["sha256"]
    (tmp_path / "a.partial").write_text(json.dumps({**plain, "sha256": _digest(plain)}))
    refused(lambda: tacit.Partial.load(tmp_path / "a.partial"), "format")


# ---------------------------------------------------------------------------------------------------------------------
# Formats of the past


LOADERS = {
    "plan": tacit.Plan.load,
    "release": tacit.Release.load,
    "posterior": tacit.Posterior.load,
    "reports": tacit.Reports.load,
    "partial": tacit.Partial.load,
    "journal": read_reports,
    "measurements": read_measurements,
}


PAST = {"posterior-1.nc": "`tacit migrate`", "partial-1.partial": "run tacit partial again"}
KEPT = sorted(path for path in FORMATS.iterdir() if path.name.split("-")[0] in LOADERS)


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.name)
def test_every_format_loads_or_says_how_to_migrate(tmp_path, path):
    load = LOADERS[path.stem.split("-")[0]]
    advice = PAST.get(path.name)
    if advice is not None:
        refused(lambda: load(path), advice)
    if advice == "`tacit migrate`":
        path = tacit.migrate(path, tmp_path / path.name)
    if advice in (None, "`tacit migrate`"):
        load(path)


def test_a_posterior_of_format_1_is_migrated_bit_by_bit(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        sys, "argv", ["tacit", "migrate", str(FORMATS / "posterior-1.nc"), "-o", str(tmp_path / "new.nc")]
    )
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 0
    new = tacit.Posterior.load(tmp_path / "new.nc")
    with h5py.File(FORMATS / "posterior-1.nc") as before:
        for name in ("theta", "count"):
            np.testing.assert_array_equal(new.arrays()[name], before[f"posterior/{name}"][:])
    assert new.release == tacit.Release.load(FORMATS / "release-1.json")
    assert new.tree.identical(tacit.Posterior.load(FORMATS / "posterior-2.nc").tree)


def test_what_can_not_be_migrated_is_refused(tmp_path):
    refused(lambda: tacit.migrate(FORMATS / "release-1.json", tmp_path / "a.nc"), "end alike")
    refused(lambda: tacit.migrate(FORMATS / "journal-1.journal", tmp_path / "a.journal"), "end alike")
    (tmp_path / "junk.nc").write_bytes(b"junk")
    refused(lambda: tacit.migrate(tmp_path / "junk.nc", tmp_path / "new.nc"), "tacit saved")
