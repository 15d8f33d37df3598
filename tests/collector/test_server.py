"""The collector: nothing is lost, doubled or torn, nothing impossible is stored, nothing about anybody is kept."""

from __future__ import annotations

import dataclasses
import errno
import http.client
import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import numpy as np
import pytest

import tacit
from browser import PLANS, SURVEY, TOOL, collecting, needs_node, node
from tacit.cli import main
from tacit.collector import journal as module
from tacit.collector import server
from tacit.collector.form import Form
from tacit.collector.journal import Journal, read_reports
from tacit.collector.page import load_page
from tacit.collector.places import Places
from tacit.collector.starter import new_survey
from tacit.collector.submission import read_submission

FORM = Form.load("survey", PLANS)


def made(i, **more):
    """A submission of somebody, as a device sends it; the id is number ``i``."""
    reports = {"drove": [i % 2], "drugs": [i % 5], "weight": [i * 1000 - 5_000_000]}
    return {"id": f"{i:032x}", "reports": reports, **more}


def post(port, content, headers=None, path="/reports", method="POST"):
    """The status, and the answer."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, path, body, {"Content-Type": "application/json"} | (headers or {}))
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def ids(path):
    """The ids of a journal, as an independent reader finds them: every whole line."""
    lines = path.read_bytes().split(b"\n")[1:-1]
    return [json.loads(line)["id"] for line in lines]


def run(folder, *words):
    done = subprocess.run([TOOL, *map(str, words)], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (words, done.stdout, done.stderr)


# ---------------------------------------------------------------------------------------------------------------------
# Many at once, and crashes


def test_two_hundred_at_once_lose_and_double_nothing(tmp_path):
    """200 people connect at one moment; every fourth sends the same twice, at once. No chance decides the outcome."""
    path = tmp_path / "journal"
    senders = [*range(200), *range(0, 200, 4)]
    ready = threading.Barrier(len(senders))
    with collecting(path, page=None) as running:

        def send(i):
            ready.wait()
            return i, post(running.port, made(i))[0]

        with ThreadPoolExecutor(len(senders)) as pool:
            answers = list(pool.map(send, senders))
        _, error, code = running.stop()
    assert sorted(i for i, status in answers if status == 201) == list(range(200))
    assert sorted(i for i, status in answers if status == 200) == list(range(0, 200, 4))
    assert sorted(ids(path)) == sorted(made(i)["id"] for i in range(200))
    assert (error, code) == ("Stopped.\n", 130)
    for question in ("drove", "drugs", "weight"):
        wanted = sorted(made(i)["reports"][question] for i in range(200))
        assert sorted(read_reports(path, question).groups[0].values.tolist()) == wanted


def test_a_collector_that_is_killed_at_random_keeps_every_promise(tmp_path):
    """kill -9 at five random moments while eight devices send, each repeating what was not acknowledged.

    After each kill everything that was acknowledged is in the file, once, and after the last start everything is. The
    moments are fresh; no false alarm is possible, because the promise has no exception.
    """
    path = tmp_path / "journal"
    waiting = list(range(20_000))
    random.shuffle(waiting)
    stored: set[int] = set()
    for _ in range(5):
        with collecting(path, page=None) as running:
            started, stopped = threading.Event(), threading.Event()

            def device(port=running.port, started=started, stopped=stopped):
                while waiting and not stopped.is_set():
                    i = waiting.pop()
                    try:
                        status = post(port, made(i))[0]
                    except (OSError, http.client.HTTPException):
                        waiting.append(i)  # it may or may not be stored: it is sent again
                        return
                    assert status in (200, 201)
                    stored.add(i)
                    started.set()

            with ThreadPoolExecutor(8) as pool:
                jobs = [pool.submit(device) for _ in range(8)]
                assert started.wait(60)
                time.sleep(random.uniform(0.0, 0.4))
                running.kill()
                stopped.set()
            for job in jobs:
                job.result()
        found = ids(path)
        assert len(set(found)) == len(found)
        assert {made(i)["id"] for i in stored} <= set(found)
        assert read_reports(path, "drove").n == len(found)
    assert len(waiting) > 50
    with collecting(path, page=None) as running:
        assert running.said["stored"] >= len(stored)
        rest = [*waiting[:50], *list(stored)[:50]]
        statuses = {i: post(running.port, made(i))[0] for i in rest}
        assert all(statuses[i] == 200 for i in rest[50:])
    assert {made(i)["id"] for i in (*stored, *waiting[:50])} <= set(ids(path))
    assert len(set(ids(path))) == len(ids(path))


def test_a_journal_cut_at_any_byte_goes_on(tmp_path, monkeypatch):
    """Every place where a machine can stop inside the last two lines: whole lines stay, the rest is dropped."""
    monkeypatch.setattr(os, "fsync", lambda _file: None)  # nothing is pulled from under these files
    path = tmp_path / "whole"
    book = Journal(path, FORM)
    for i in range(3):
        assert book.append(read_submission(FORM, json.dumps(made(i)).encode()))
    book.close()
    content = path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(content) if byte == ord("\n")]
    for cut in range(ends[1], len(content) + 1):
        for filler in (b"", b"\0" * 7, b"\0" * 7 + b"\n"):  # a page of the file that never reached the disk
            torn = tmp_path / "torn"
            torn.write_bytes(content[:cut] + filler)
            kept = sum(end <= cut for end in ends) - 1
            again = Journal(torn, FORM)
            assert len(again) == kept, cut
            assert torn.read_bytes() == content[: ends[kept]]
            assert again.append(read_submission(FORM, json.dumps(made(7)).encode()))
            again.close()
            assert [int(i, 16) for i in ids(torn)] == [*range(kept), 7]


def test_a_changed_journal_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "journal"
    book = Journal(path, FORM)
    for i in range(3):
        book.append(read_submission(FORM, json.dumps(made(i)).encode()))
    with pytest.raises(tacit.RefusedError, match="another collector"):
        Journal(path, FORM)
    book.close()
    lines = path.read_bytes().splitlines(keepends=True)
    other = Form.load("other", PLANS)
    with pytest.raises(tacit.InputError, match="these plans"):
        Journal(path, other)
    with pytest.raises(tacit.InputError, match="these plans"):
        Journal(path, Form.load("survey", PLANS[:2]))
    bad = {
        "torn in the middle": [lines[0], lines[1][:20] + b"\n", lines[2]],
        "doubled": [*lines, lines[2]],
        "impossible": [*lines[:2], lines[2].replace(b'"drove":[1]', b'"drove":[2]')],
        "no header": lines[1:],
        "header torn": [lines[0][:-1]],
        "header only braces": [b"{}\n"],
        "somebody's rows": [b"name,age\nAnna,30"],
        "empty": [],
    }
    for name, changed in bad.items():
        assert changed != lines
        wrong = tmp_path / "wrong"
        wrong.write_bytes(b"".join(changed))
        for action in (lambda place: Journal(place, FORM), lambda place: read_reports(place, "drove")):
            with pytest.raises(tacit.InputError) as caught:
                action(wrong)
            assert "Anna" not in str(caught.value), name
        assert wrong.read_bytes() == b"".join(changed), name


@pytest.mark.parametrize("fault", ["write", "sync", "for ever"])
def test_a_full_disk_is_answered_and_leaves_no_half_line(tmp_path, monkeypatch, fault):
    path = tmp_path / "journal"
    book = Journal(path, FORM)
    first, second = (read_submission(FORM, json.dumps(made(i)).encode()) for i in (1, 2))
    book.append(first)
    before = path.read_bytes()

    def full(*_):
        raise OSError(errno.ENOSPC, "no space left")

    def half(file, content):
        os.pwrite(file, bytes(content)[:10], book._size)
        full()

    with monkeypatch.context() as patched:
        if fault == "sync":
            faults = iter([full])
            patched.setattr(module.os, "fsync", lambda _file: next(faults, lambda: None)())
        else:
            patched.setattr(module.os, "write", half)
        if fault == "for ever":
            patched.setattr(module.os, "ftruncate", full)
        with pytest.raises(OSError, match="no space"):
            book.append(second)
    if fault == "for ever":
        with pytest.raises(OSError, match="before"):
            book.append(second)
        return
    assert path.read_bytes() == before
    assert book.append(second)
    assert not book.append(second)
    assert [int(i, 16) for i in ids(path)] == [1, 2]


# ---------------------------------------------------------------------------------------------------------------------
# What is refused

ID = "0123456789abcdef" * 2
BAD_BODIES = {
    "nothing": b"",
    "not JSON": b"yes",
    "not UTF-8": b'{"id":"\xff"}',
    "a list": b"[]",
    "nested": b"[" * 400,
    "no id": {"reports": {"drove": [0]}},
    "no reports": {"id": ID},
    "empty reports": {"id": ID, "reports": {}},
    "reports a list": {"id": ID, "reports": [0]},
    "short id": {"id": ID[1:], "reports": {"drove": [0]}},
    "upper case": {"id": ID.upper(), "reports": {"drove": [0]}},
    "id a number": {"id": 5, "reports": {"drove": [0]}},
    "a name added": {"id": ID, "reports": {"drove": [0]}, "name": "Anna"},
    "unknown question": {"id": ID, "reports": {"drove": [0], "income": [1]}},
    "outside the alphabet": {"id": ID, "reports": {"drove": [2]}},
    "negative": {"id": ID, "reports": {"drugs": [-1]}},
    "too wide": {"id": ID, "reports": {"drove": [0, 0]}},
    "too narrow": {"id": ID, "reports": {"drove": []}},
    "not a list": {"id": ID, "reports": {"drove": 0}},
    "a fraction": {"id": ID, "reports": {"weight": [0.5]}},
    "whole as a float": b'{"id":"%s","reports":{"drove":[1.0]}}' % ID.encode(),
    "true": {"id": ID, "reports": {"drove": [True]}},
    "null": {"id": ID, "reports": {"drove": [None]}},
    "the answer as text": {"id": ID, "reports": {"drove": ["yes"]}},
    "NaN": b'{"id":"%s","reports":{"weight":[NaN]}}' % ID.encode(),
    "beyond the noise": {"id": ID, "reports": {"weight": [2**38]}},
    "endless": b'{"id":"%s","reports":{"weight":[%s]}}' % (ID.encode(), b"9" * 100),
    "twice the same name": b'{"id":"%s","reports":{"drove":[0],"drove":[1]}}' % ID.encode(),
    "one bad of two": {"id": ID, "reports": {"drove": [0], "drugs": [5]}},
}


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    path = tmp_path_factory.mktemp("collector") / "journal"
    with collecting(path) as started:
        started.path = path
        yield started


@pytest.mark.parametrize("body", BAD_BODIES.values(), ids=BAD_BODIES)
def test_a_malformed_submission_is_refused_and_not_stored(running, body):
    before = running.path.read_bytes()
    status, answer = post(running.port, body)
    assert status == 400
    assert b"Expected a submission to be" in answer
    assert b"Anna" not in answer
    assert running.path.read_bytes() == before


def test_a_replay_is_stored_once_and_another_report_under_its_id_is_refused(running):
    first = {"id": "ab" * 16, "reports": {"drove": [1]}}
    assert post(running.port, first)[0] == 201
    before = running.path.read_bytes()
    assert post(running.port, first)[0] == 200
    assert post(running.port, json.dumps(first, indent=3).encode())[0] == 200
    for reports in ({"drove": [0]}, {"drove": [1], "drugs": [0]}, {"weight": [1]}):
        assert post(running.port, {**first, "reports": reports})[0] == 409
    assert running.path.read_bytes() == before


def test_requests_that_are_not_a_submission_of_the_page_are_refused(running):
    before, good = running.path.read_bytes(), made(10**6)
    host = f"127.0.0.1:{running.port}"
    cases = [
        (403, {"Origin": "https://elsewhere.example"}, "/reports", "POST"),
        (403, {"Origin": "null"}, "/reports", "POST"),
        (403, {"Sec-Fetch-Site": "cross-site"}, "/reports", "POST"),
        (415, {"Content-Type": "text/plain"}, "/reports", "POST"),
        (415, {"Content-Type": "application/x-www-form-urlencoded"}, "/reports", "POST"),
        (404, {}, "/", "POST"),
        (404, {}, "/reports?id=1", "POST"),
        (501, {}, "/reports", "OPTIONS"),
        (501, {}, "/reports", "PUT"),
        (404, {}, "/reports", "GET"),
        (404, {}, "/../drove.toml", "GET"),
        (404, {}, "/drove.toml", "GET"),
        (404, {}, "/%2e%2e/%2e%2e/etc/passwd", "GET"),
    ]
    for wanted, headers, path, method in cases:
        assert post(running.port, good, headers, path, method)[0] == wanted, (headers, path, method)
    assert post(running.port, b" " * 300_000)[0] == 413
    raw = b"POST /reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = json.dumps(good).encode()
    two = b"Content-Length: %d\r\nContent-Length: %d" % (len(body), len(body) - 1)
    for request in (
        raw,
        raw.replace(b"Transfer-Encoding: chunked", b"Content-Length: -5"),
        raw.replace(b"Transfer-Encoding: chunked", two) + body,
        b"\0\0\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", running.port), timeout=10) as connection:
            connection.sendall(request)
            assert connection.recv(100).split()[1] in (b"411", b"400")
    assert running.path.read_bytes() == before
    assert post(running.port, good, {"Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"})[0] == 201


def test_every_answer_carries_the_rules_of_the_page(running):
    for path in ("/", "/form.json", "/tacit-client.js", "/nothing"):
        connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=10)
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert "'unsafe" not in answer.headers["Content-Security-Policy"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert "Access-Control-Allow-Origin" not in answer.headers
        assert "Set-Cookie" not in answer.headers
        connection.close()
    status, form = post(running.port, b"", path="/form.json", method="GET")
    assert status == 200
    assert Form.from_plain(json.loads(form)) == FORM


def test_a_device_that_trickles_is_cut_off(tmp_path, monkeypatch):
    """One byte now and then, in the headers or in the body, holds a place no longer than the deadline."""
    monkeypatch.setattr(server, "_SECONDS", 1.0)
    book = Journal(tmp_path / "journal", FORM)
    collector = server.listen("127.0.0.1", 0, FORM, book, {})
    thread = threading.Thread(target=collector.serve_forever, daemon=True)
    thread.start()
    head = b"POST /reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 400\r\n"
    for start in (head, head + b"\r\n{"):
        with socket.create_connection(("127.0.0.1", collector.server_address[1]), timeout=10) as connection:
            connection.sendall(start)
            connection.setblocking(False)
            last = time.monotonic() + 10
            closed = False
            while not closed and time.monotonic() < last:
                time.sleep(0.05)
                try:
                    connection.sendall(b" ")
                    closed = connection.recv(100) == b""
                except BlockingIOError:
                    pass
                except OSError:
                    closed = True
            assert closed
    assert post(collector.server_address[1], made(1))[0] == 201
    collector.shutdown()
    collector.server_close()
    book.close()


@contextmanager
def collecting_here(tmp_path, places=None):
    """A collector in a thread of this process; yields its port and the path of its journal."""
    book = Journal(tmp_path / "journal", FORM)
    collector = server.listen("127.0.0.1", 0, FORM, book, {})
    if places is not None:
        collector.places = Places(places)
    thread = threading.Thread(target=collector.serve_forever, daemon=True)
    thread.start()
    try:
        yield collector.server_address[1]
    finally:
        collector.shutdown()
        collector.server_close()
        book.close()


@pytest.mark.parametrize("trickling", [False, True], ids=["idle", "a byte now and then"])
def test_many_slow_connections_leave_room_for_an_honest_device(tmp_path, trickling):
    """300 connections that send half a head, and then nothing or a byte twice a second, against 256 places.

    Honest devices are answered within seconds, one after the other, while all of that goes on. The deadline of 10
    seconds alone, without making room, would keep the first of them waiting for that long.
    """
    with collecting_here(tmp_path) as port:
        slow = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(300)]
        stopped = threading.Event()

        def trickle():
            while not stopped.wait(0.5):
                for connection in slow:
                    with suppress(OSError):
                        connection.send(b"x")

        sender = threading.Thread(target=trickle)
        try:
            for connection in slow:
                connection.sendall(b"POST /reports HTTP/1.1\r\nHost: x\r\nX-Slow: ")
            if trickling:
                sender.start()
            began = time.monotonic()
            assert [post(port, made(i))[0] for i in range(20)] == [201] * 20
            assert time.monotonic() - began < 6  # two of patience, and a loaded machine
        finally:
            stopped.set()
            if trickling:
                sender.join()
            for connection in slow:
                connection.close()
    assert len(ids(tmp_path / "journal")) == 20


def test_the_address_that_holds_most_places_makes_room(tmp_path, monkeypatch):
    """Four places: three idle connections of one address, one of another, which is older and stays."""
    monkeypatch.setattr("tacit.collector.places.PATIENCE", 0.3)

    def connect(address):
        return socket.create_connection(("127.0.0.1", port), timeout=10, source_address=(address, 0))

    with collecting_here(tmp_path, places=4) as port:
        lonely = connect("127.0.0.2")
        crowd = [connect("127.0.0.3") for _ in range(3)]
        time.sleep(0.6)
        assert post(port, made(1))[0] == 201
        assert post(port, made(2))[0] == 201
        assert crowd[0].recv(1) == b"", "the oldest of the crowd was closed"
        body = json.dumps(made(3)).encode()
        head = f"POST /reports HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        lonely.sendall(head.encode() + body)
        assert b" 201 " in lonely.recv(100)
        for connection in (lonely, *crowd):
            connection.close()


def test_a_connection_whose_report_is_being_stored_is_not_closed(tmp_path, monkeypatch):
    monkeypatch.setattr("tacit.collector.places.PATIENCE", 0.5)
    slow_disk = Journal.append

    def append(self, submission):
        time.sleep(0.8)
        return slow_disk(self, submission)

    monkeypatch.setattr(Journal, "append", append)

    def answered(i):
        """Who is cut off asks again; had that happened while the report was being stored, it would be no new one."""
        for _ in range(100):
            with suppress(OSError, http.client.HTTPException):
                return post(port, made(i))[0]
        return None

    with collecting_here(tmp_path, places=2) as port, ThreadPoolExecutor(6) as pool:
        assert list(pool.map(answered, range(6))) == [201] * 6


async def crowd(port, people):
    """Everybody connects at one moment; who is cut off sends the very same again, as the client does."""
    import asyncio

    answers, again = {}, 0

    async def one(i):
        nonlocal again
        body = json.dumps(made(i)).encode()
        head = f"POST /reports HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        for _ in range(5):
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(head.encode() + body)
                answer = await asyncio.wait_for(reader.read(), 120)
                writer.close()
                if answer:
                    answers[i] = int(answer.split()[1])
                    return
            except OSError:
                pass
            again += 1

    await asyncio.gather(*(one(i) for i in range(people)))
    return answers, again


@pytest.mark.parametrize("people", [300, pytest.param(2000, marks=pytest.mark.slow)])
def test_a_crowd_at_one_moment_loses_nothing(tmp_path, people):
    import asyncio
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < people + 400:
        pytest.skip("NOT TESTED: too few files may be open at once")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, people + 400), hard))
    try:
        with collecting(tmp_path / "journal", page=None) as running:
            answers, again = asyncio.run(crowd(running.port, people))
            running.stop()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert sorted(answers) == list(range(people))
    assert set(answers.values()) <= {200, 201}
    assert sorted(ids(tmp_path / "journal")) == sorted(made(i)["id"] for i in range(people))
    assert again <= people / 10, "nearly everybody is heard at the first time"


def test_no_address_and_no_time_is_kept(tmp_path):
    """Requests of every kind from 127.0.0.5, which nothing else uses: no file and no stream names it, or the hour."""
    path = tmp_path / "journal"
    with collecting(path) as running:
        for body in (json.dumps(made(1)).encode(), b"nonsense"):
            connection = http.client.HTTPConnection("127.0.0.1", running.port, source_address=("127.0.0.5", 0))
            connection.request("POST", "/reports", body, {"Content-Type": "application/json", "User-Agent": "Anna's"})
            assert connection.getresponse().status in (201, 400)
            connection.close()
        with socket.create_connection(("127.0.0.1", running.port), source_address=("127.0.0.5", 0)) as broken:
            broken.sendall(b"POST /reports HTTP/1.1\r\nContent-Length: 50\r\n\r\nhalf")
        time.sleep(0.2)
        out, error, _ = running.stop()
    assert out == ""
    assert error == "Stopped.\n"
    line = path.read_bytes().split(b"\n")[1]
    assert json.loads(line) == made(1)
    assert sorted(os.listdir(tmp_path)) == ["journal"]
    assert path.stat().st_mode & 0o077 == 0


# ---------------------------------------------------------------------------------------------------------------------
# Plans, pages, commands


def test_a_form_survives_being_written_down_and_adds_up():
    assert Form.from_plain(json.loads(json.dumps(FORM.to_plain()))) == FORM
    assert FORM.promise == tacit.PureDP(3.0)
    thirds = {
        f"q{i}": tacit.Plan(
            tacit.Bernoulli(f"a{i}"), tacit.Schema({f"a{i}": ["n", "y"]}), tacit.PureDP(0.1), tacit.Local()
        )
        for i in range(3)
    }
    assert Form.of_plans("x", thirds).promise.epsilon >= 3 * 0.1
    changed = FORM.to_plain()
    changed["questions"][2]["encoder"]["first"] = 0
    with pytest.raises(tacit.InputError, match="encoder"):
        Form.from_plain(changed)


@pytest.mark.parametrize("name", ["drove", "drugs", "weight", "unary"])
def test_possible_reports_are_those_of_the_protocol(name):
    plan = tacit.Plan.load(PLANS[1 if name == "unary" else [p.stem for p in PLANS].index(name)])
    if name == "unary":
        plan = dataclasses.replace(plan, mechanism=tacit.Local("unary-encoding"))
    (question,) = Form.of_plans("survey", {name: plan}).questions
    (block,) = question.protocol.reports.blocks
    middle = tuple((low + high) // 2 for low, high in zip(block.low, block.high, strict=True))
    cases = [middle, block.low, block.high, (*middle, 0), middle[1:]]
    cases += [(block.low[0] - 1, *middle[1:]), (*middle[:-1], block.high[-1] + 1)]
    found = []
    for report in cases:
        try:
            question.protocol.check_reports(np.array([report], dtype=object))
            found.append(True)
        except tacit.InputError:
            found.append(False)
    assert [question.possible(report) for report in cases] == found == [True] * 3 + [False] * 4


@pytest.mark.parametrize(
    ("budget", "mechanism", "words"),
    [
        (tacit.PureDP(1.0), tacit.AddNoise(), "local"),
        (tacit.ApproxDP(1.0, 1e-6), tacit.Local(), "epsilon alone"),
        (tacit.GDP(1.0), tacit.Local("noisy-vector"), "epsilon alone"),
        (tacit.PureDP(1e-15), tacit.Local(), "less noise"),
    ],
)
def test_plans_that_no_page_can_follow_are_refused(budget, mechanism, words):
    plan = tacit.Plan(tacit.Normal("weight"), tacit.Schema(weight=(40, 160)), budget, mechanism)
    with pytest.raises(tacit.InputError, match=words):
        Form.of_plans("survey", {"weight": plan})


def test_what_no_client_accepts_is_refused_when_the_collector_starts():
    def plan(column, epsilon):
        return tacit.Plan(
            tacit.Bernoulli(column), tacit.Schema({column: ["n", "y"]}), tacit.PureDP(epsilon), tacit.Local()
        )

    with pytest.raises(tacit.InputError, match="asked for twice"):
        Form.of_plans("survey", {"a": plan("x", 1.0), "b": plan("x", 1.0)})
    with pytest.raises(tacit.InputError, match="epsilon = 10"):
        Form.of_plans("survey", {"a": plan("x", 5.0), "b": plan("y", 5.5)})
    assert Form.of_plans("survey", {"a": plan("x", 5.0), "b": plan("y", 5.0)}).promise.epsilon >= 10


def test_a_survey_to_start_from_comes_with_the_package(tmp_path):
    """In a folder of its own it is whole: no link, a page that loads, plans that make the form of the page."""
    written = new_survey(tmp_path / "habits")
    assert sorted(path.name for path in written) == sorted(os.listdir(tmp_path / "habits"))
    assert not any(path.is_symlink() for path in written)
    page = load_page(tmp_path / "habits")
    assert b"export function submission" in page["/tacit-client.js"].content
    assert Form.load("survey", sorted((tmp_path / "habits").glob("*.toml"))) == FORM
    for taken in (tmp_path / "habits", tmp_path / "habits" / "index.html", tmp_path / "no" / "folder"):
        with pytest.raises(tacit.InputError, match="folder"):
            new_survey(taken)


def test_a_page_is_a_few_files_read_once(tmp_path):
    page = load_page(SURVEY)
    assert page["/"] == page["/index.html"]
    assert not any(name.endswith((".toml", ".md")) for name in page)
    with pytest.raises(tacit.InputError, match=r"index\.html"):
        load_page(tmp_path)
    (tmp_path / "form.json").write_text("{}")
    with pytest.raises(tacit.InputError, match=r"form\.json"):
        load_page(tmp_path)
    with pytest.raises(tacit.InputError, match="folder"):
        load_page(tmp_path / "missing")


def test_the_commands_refuse_in_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def here(*words, code=0):
        """The command in this process: its output, or its one sentence."""
        monkeypatch.setattr(sys, "argv", ["tacit", *map(str, words)])
        with pytest.raises(SystemExit) as stopped:
            main()
        out, error = capsys.readouterr()
        assert (stopped.value.code or 0) == code, error
        if code:
            assert error.startswith("Error: Expected")
            assert error.count("\n") == 1
        return error if code else out

    (tmp_path / "rows.csv").write_text("name,age\nAnna,30")
    common = ("--dataset", "survey", "-o")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert "free" in here("collect", *PLANS, "--port", port, *common, "j1", code=2)
    assert "port" in here("collect", *PLANS, "--port", 70000, *common, "j2", code=2)
    assert "journal" in here("collect", *PLANS, "--port", 0, *common, "rows.csv", code=2)
    assert "plans" in here("collect", *PLANS[:1] * 2, "--port", 0, *common, "j3", code=2)
    assert (tmp_path / "rows.csv").read_text() == "name,age\nAnna,30"
    book = Journal(tmp_path / "journal", FORM)
    assert "drove" in here("reports", "journal", "-o", "out.parquet", code=2)
    words = ("reports", "journal", "--question")
    assert "one of" in here(*words, "income", "-o", "out.parquet", code=2)
    assert "hold a report" in here(*words, "drove", "-o", "out.parquet", code=2)
    book.append(read_submission(FORM, json.dumps(made(3)).encode()))
    book.append(read_submission(FORM, json.dumps({"id": ID, "reports": {"weight": [7]}}).encode()))
    said = json.loads(here(*words, "weight", "-o", "out.parquet", "--json"))
    assert said["groups"][0]["n"] == 2
    assert "not to exist" in here(*words, "drove", "-o", "out.parquet", code=2)
    assert "lost" in here(*words, "drove", "-o", "journal", "--overwrite", code=2)
    loaded = tacit.Reports.load(tmp_path / "out.parquet")
    assert sorted(loaded.groups[0].values[:, 0].tolist()) == [3000 - 5_000_000, 7]
    assert loaded.dataset == "survey"


# ---------------------------------------------------------------------------------------------------------------------
# From people to a posterior

RESPONDENTS = """
import { readFileSync } from "node:fs";
import { readForm, send, submission } from "$CLIENT";
const [url, file] = process.argv.slice(2);
const people = JSON.parse(readFileSync(file, "utf8"));
const form = readForm(await (await fetch(`${url}form.json`)).json());
let stored = 0;
const one = async () => {
  while (people.length) {
    await send(`${url}reports`, submission(form, people.pop()));
    stored += 1;
  }
};
await Promise.all(Array.from({ length: 16 }, one));
console.log(JSON.stringify(stored));
"""


@needs_node
def test_two_thousand_respondents_end_to_end(tmp_path):
    """People with seed 5, reports with fresh entropy: client, collector, journal, `tacit infer`, the page.

    Every parameter's posterior mean lies within 5 posterior standard deviations of the truth: false alarms below 1e-5
    for the shares and the mean together, whose posteriors are nearly normal. The reports say little about the weights'
    own standard deviation, against noise twelve times as large; its posterior is skew and wide, and holds the truth
    well inside. The planted fault, a share read off the reports as if they were answers, is farther away than that.
    """
    rng = np.random.default_rng(5)
    truth = {"drove": 0.15, "drugs": np.array([0.55, 0.2, 0.1, 0.1, 0.05]), "mean": 78.0, "sd": 14.0}
    levels = tacit.Plan.load(PLANS[1]).schema.category("drugs").levels
    people = [
        {"drove": "yes" if drove else "no", "drugs": levels[drugs], "weight": weight}
        for drove, drugs, weight in zip(
            rng.random(2000) < truth["drove"],
            rng.choice(5, 2000, p=truth["drugs"]),
            rng.normal(truth["mean"], truth["sd"], 2000),
            strict=True,
        )
    ]
    (tmp_path / "people.json").write_text(json.dumps(people))
    with collecting(tmp_path / "survey.journal", page=None) as running:
        assert node(RESPONDENTS, running.url, tmp_path / "people.json") == 2000
        for plan in PLANS:  # while it runs
            run(tmp_path, "reports", "survey.journal", "--question", plan.stem, "-o", f"{plan.stem}.parquet")
    run(tmp_path, "infer", "drove.parquet", "-o", "drove.nc")
    run(tmp_path, "report", "drove.nc", "-o", "drove.html")
    page = (tmp_path / "drove.html").read_text("utf-8")
    assert "local" in page.lower()
    assert "2,000" in page

    share = tacit.Posterior.load(tmp_path / "drove.nc").draws("theta")
    assert abs(share.mean() - truth["drove"]) < 5 * share.std()
    naive = np.mean(tacit.Reports.load(tmp_path / "drove.parquet").groups[0].values)
    assert abs(naive - truth["drove"]) > 5 * share.std()
    shares = np.asarray(tacit.infer(tmp_path / "drugs.parquet").draws("theta"))
    assert shares.shape[-1] == 5
    assert np.all(np.abs(shares.mean(0) - truth["drugs"]) < 5 * shares.std(0))
    weight = tacit.infer(tmp_path / "weight.parquet")
    for name in ("mean", "sd"):
        draws = weight.draws(name)
        assert abs(draws.mean() - truth[name]) < 5 * draws.std(), name
    assert weight.draws("mean").std() < 10
