"""Forged files, for seconds: each kind that a stranger may hand over, in a process that is watched.

No false alarm is possible: an input that breaks a promise is a counter-example. Seed 1; `fuzz.py --files` runs on.
"""

from __future__ import annotations

import pytest

import fuzz_files


@pytest.mark.parametrize("kind", fuzz_files.KINDS)
def test_a_forged_file_is_read_or_refused(kind):
    counts, complaint = fuzz_files.run(kind, inputs=200, seed=1)
    assert not complaint
    assert counts.total() == 200
    assert min(counts["accepted"], counts["refused"]) >= 3  # a forger that only spoils would test little


def test_what_a_long_run_found_stays_mended():
    """Arrow ended the process over a footer that contradicts itself."""
    counts, complaint = fuzz_files.run("reports", inputs=1, seed=7, first=1171)
    assert not complaint
    assert counts["refused"] == 1


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("hang", "took more than"),
        ("memory", "MemoryError"),
        ("open", "open "),
        ("traceback", "KeyError"),
        ("crash", "ended with -6"),
        ("end", "ended with -6 after its last input"),
    ],
)
def test_a_broken_reader_is_caught(fault, words):
    """The planted faults: one for each promise."""
    counts, complaint = fuzz_files.run("partial", inputs=3, seed=1, fault=fault)
    assert not counts
    assert words in complaint
