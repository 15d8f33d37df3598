"""The collector: a small web server that hands out the form of a survey and stores what devices send.

    GET  /form.json     the form
    GET  /...           the files of the survey's page, if there is one
    POST /reports       one submission; 201: stored, 200: the same one was stored before, 4xx: refused, 503: try again

It keeps nothing about a connection: no address, no header, no time is written anywhere. It speaks plain HTTP and is
meant to stand behind a web server that adds TLS and limits how often somebody may call.
"""

from __future__ import annotations

import io
import json
import socket
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from tacit.collector.form import Form
from tacit.collector.journal import Journal
from tacit.collector.page import File
from tacit.collector.places import Places
from tacit.collector.submission import read_submission
from tacit.errors import InputError, RefusedError

_AT_ONCE = 256  # connections; more of them wait, and take the place of slow ones
_SECONDS = 10.0  # that a device has for the head of its request, and for taking the answer
_LEAST_RATE = 1000  # bytes a second, after `_SECONDS`, that a body must come at
_DRAINED = 2**20  # bytes of an oversized body that are read and thrown away, so that the answer arrives
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Collector(ThreadingHTTPServer):
    """Serves a form and a page at ``address``, and stores submissions in ``journal``."""

    daemon_threads = True
    request_queue_size = 4096

    def __init__(self, address: tuple[str, int], form: Form, journal: Journal, page: Mapping[str, File]) -> None:
        self.form = form
        self.journal = journal
        plain = json.dumps(form.to_plain(), ensure_ascii=True).encode("ascii")
        self.files = {**page, "/form.json": File("application/json", plain)}
        self.largest_body = form.largest_submission
        self.places = Places(_AT_ONCE)
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread of its own, once there is a place for it."""
        self.places.take(request, client_address[0])
        try:
            super().process_request(request, client_address)
        except BaseException:
            self.places.give_back(request)
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, and give the place back."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.places.give_back(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: the usual words name the caller's address."""


class _Deadline(io.RawIOBase):
    """What a connection sends, up to a moment: many who send a byte now and then must not take all places."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.allow(_SECONDS)

    def allow(self, seconds: float) -> None:
        """So much time from now on."""
        self._last = time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what there is; raise `TimeoutError` when the moment has come."""
        self._connection.settimeout(max(self._last - time.monotonic(), 1e-3))
        return self._connection.recv_into(buffer)


class _Handler(BaseHTTPRequestHandler):
    server: Collector  # pyright: ignore[reportIncompatibleVariableOverride] - only a Collector makes handlers
    protocol_version = "HTTP/1.1"
    server_version = "tacit"
    sys_version = ""

    def setup(self) -> None:
        """Read with a deadline; write with one of its own."""
        super().setup()
        self._deadline = _Deadline(self.connection)
        self.rfile = io.BufferedReader(self._deadline)

    def do_GET(self) -> None:
        """Send a file that was read at the start; nothing is looked up on the disk."""
        file = self.server.files.get(self.path)
        if file is None:
            self._answer(404, "There is nothing here.")
        else:
            self._send(200, file.kind, file.content)

    do_HEAD = do_GET  # noqa: N815

    def do_POST(self) -> None:
        """Store one submission."""
        status, words = self._store()
        self._answer(status, words)

    def _store(self) -> tuple[int, str]:
        if self.path != "/reports":
            return 404, "There is nothing here."
        if len(set(self.headers.get_all("Content-Length", []))) > 1:
            return 400, "Expected one Content-Length."
        length = self._length()
        if length is None:
            return 411, "Expected a Content-Length."
        self._deadline.allow(_SECONDS + min(length, self.server.largest_body) / _LEAST_RATE)
        if length > self.server.largest_body:
            self._drain(length)
            return 413, "Expected a shorter submission."
        body = self.rfile.read(length)
        if len(body) != length:
            return 400, "Expected a whole submission."
        if not self._from_own_page():
            return 403, "Expected the survey's own page to send this."
        if self.headers.get_content_type() != "application/json":
            return 415, "Expected application/json."
        try:
            submission = read_submission(self.server.form, body)
            with self.server.places.storing(self.connection):
                new = self.server.journal.append(submission)
        except InputError as error:
            return 400, str(error)
        except RefusedError as error:
            return 409, str(error)
        except OSError:
            return 503, "The report could not be stored. Send the very same again later."
        return (201, "Stored.") if new else (200, "Stored before.")

    def _length(self) -> int | None:
        text = self.headers.get("Content-Length", "")
        plain = text.isascii() and text.isdigit() and len(text) < 10
        return int(text) if plain and "Transfer-Encoding" not in self.headers else None

    def _from_own_page(self) -> bool:
        """A browser says which page sends: it must be one of the same host. Other devices say nothing."""
        if self.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
            return False
        origin = self.headers.get("Origin")
        return origin is None or urlsplit(origin).netloc == self.headers.get("Host")

    def _drain(self, length: int) -> None:
        left = min(length, _DRAINED)
        while left > 0 and (part := self.rfile.read(min(left, 2**16))):
            left -= len(part)

    def _answer(self, status: int, words: str) -> None:
        self._send(status, "application/json", json.dumps({"status": status, "message": words}).encode())

    def _send(self, status: int, kind: str, content: bytes) -> None:
        self.close_connection = True
        self.connection.settimeout(_SECONDS)
        self.send_response(status)
        for name, value in {"Content-Type": kind, **_HEADERS}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the standard library refuses before a method is called: the same form, and no page that quotes it."""
        self.command = getattr(self, "command", None) or "GET"
        self.request_version = "HTTP/1.1"
        self._answer(int(code), "Expected a request that this collector knows.")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the standard library's name
        """Nothing is logged: neither an address nor a time."""


def listen(host: str, port: int, form: Form, journal: Journal, page: Mapping[str, File]) -> Collector:
    """A collector that listens at ``host`` and ``port``, 0 for any free one; `Collector.serve_forever` starts it."""
    try:
        return Collector((host, port), form, journal, page)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or (error.args[-1] if isinstance(error, socket.gaierror) else "")
        raise InputError(f"Expected host={host!r} and port={port} to be free to listen at. {reason}".strip()) from None
