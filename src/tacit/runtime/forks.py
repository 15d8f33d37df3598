"""JAX does not survive a fork: a child that uses it waits for ever for threads that only the parent has."""

from __future__ import annotations

import os
import sys

from tacit.errors import RefusedError

_forked_with_jax = False


def check_not_forked() -> None:
    """Refuse to start JAX in a process that was forked from one where JAX ran."""
    if _forked_with_jax:
        raise RefusedError(
            "Expected inference to run where JAX was started or in a fresh process: this one was forked from a process "
            'in which JAX had run, and would wait for ever. Start processes by multiprocessing.get_context("spawn").'
        )


def _in_child() -> None:
    global _forked_with_jax  # a fact about the whole process
    bridge = sys.modules.get("jax._src.xla_bridge")
    _forked_with_jax = _forked_with_jax or bool(getattr(bridge, "_backends", None))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
