"""Messages of the compiler, and of libraries, that say nothing to a person stay out of sight."""

from __future__ import annotations

import os
import sys
import warnings


def quiet_compiler() -> None:
    """Let XLA report only what ends the process, unless JAX is loaded already or the user has said otherwise.

    Its "Very slow compile? If you want to file a bug ..." is about programs that compile in a minute, as ours may. In a
    notebook, NumPyro's own bar misses widgets that nothing here uses.
    """
    warnings.filterwarnings("ignore", message="IProgress not found")
    if "jaxlib" not in sys.modules:
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
