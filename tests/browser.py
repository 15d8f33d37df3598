"""What the tests of the survey share: a collector in a process of its own, Node, and a headless Chromium."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CLIENT = ROOT / "clients" / "js" / "tacit-client.js"
SURVEY = ROOT / "src" / "tacit" / "collector" / "survey"
PLANS = [SURVEY / f"{name}.toml" for name in ("drove", "drugs", "weight")]
TOOL = Path(sys.executable).parent / "tacit"

needs_node = pytest.mark.skipif(
    shutil.which("node") is None, reason="NOT TESTED: Node is missing; `make system-deps` installs nodejs"
)
needs_chromium = pytest.mark.skipif(
    shutil.which("chromium") is None or shutil.which("chromedriver") is None,
    reason="NOT TESTED: Chromium is missing; `make system-deps` installs chromium and chromium-driver",
)


class Collecting:
    """A running `tacit collect`."""

    def __init__(self, journal, plans=PLANS, page=SURVEY, port=0, dataset="survey"):
        words = [TOOL, "collect", *plans, "--port", str(port), "--dataset", dataset, "-o", journal, "--json"]
        words += [] if page is None else ["--page", page]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        text = ""
        while not re.search(r"^}$", text, re.M):
            line = self.process.stdout.readline()
            if not line:
                raise AssertionError(self.process.communicate()[1])
            text += line
        self.said = json.loads(text)
        self.url = self.said["url"]
        self.port = int(self.url.rstrip("/").rsplit(":", 1)[1])

    def kill(self):
        """kill -9, at once."""
        self.process.kill()
        return self._rest()

    def stop(self):
        self.process.terminate()
        return self._rest()

    def _rest(self):
        """Whatever it still said, and its exit code."""
        out, error = self.process.communicate(timeout=20)
        return out, error, self.process.returncode


@contextmanager
def collecting(journal, **more):
    running = Collecting(journal, **more)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.kill()


def node(script, *arguments, timeout=120):
    """Run a module in Node that may import the client from $CLIENT; returns the JSON that it prints."""
    code = script.replace("$CLIENT", CLIENT.as_uri())
    done = subprocess.run(
        ["node", "--input-type=module", "-", *map(str, arguments)],
        input=code,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@contextmanager
def chromium(width=1000, height=900):
    """A fresh headless Chromium whose network and console are recorded."""
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = shutil.which("chromium")
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", f"--window-size={width},{height}"):
        options.add_argument(word)
    for word in ("--disable-background-networking", "--disable-component-update", "--no-first-run"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        driver.set_script_timeout(120)
        yield driver
    finally:
        driver.quit()


# Replaces the random bytes of Node by those of a file, one after the other, and counts them.
STREAM = """
import { readFileSync } from "node:fs";
import * as client from "$CLIENT";
const stream = readFileSync(process.argv[2]);
let at = 0;
Object.defineProperty(globalThis, "crypto", { value: { getRandomValues(bytes) {
  if (at + bytes.length > stream.length) throw new Error("out of bytes");
  bytes.set(stream.subarray(at, at + bytes.length));
  at += bytes.length;
  return bytes;
} } });
const input = JSON.parse(readFileSync(process.argv[3], "utf8"));
"""


class Stream:
    """The same bytes for Python."""

    def __init__(self, content):
        self.content, self.at = content, 0

    def bytes(self, count):
        assert self.at + count <= len(self.content)
        self.at += count
        return self.content[self.at - count : self.at]


def on_stream(tmp_path, content, given, script):
    (tmp_path / "stream").write_bytes(content)
    (tmp_path / "input.json").write_text(json.dumps(given))
    return node(STREAM + script, tmp_path / "stream", tmp_path / "input.json")
