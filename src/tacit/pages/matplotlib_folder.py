"""A folder for matplotlib where there is no home: it cannot be imported without one that it may write to."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from tacit.errors import RefusedError


def give_matplotlib_a_folder() -> None:
    """Before matplotlib is imported: a temporary folder, where the user has no home of their own."""
    if "MPLCONFIGDIR" in os.environ:
        return
    try:
        if os.access(Path.home(), os.W_OK | os.X_OK):
            return
    except RuntimeError:  # no home at all
        pass
    try:
        folder = tempfile.mkdtemp(prefix="tacit-matplotlib-")
    except OSError:
        raise RefusedError(
            "Expected a folder for matplotlib, which draws the picture: there is neither a home nor a temporary folder "
            "that can be written to, so set MPLCONFIGDIR to one."
        ) from None
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["MPLCONFIGDIR"] = folder
