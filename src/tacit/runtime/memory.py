"""Too little address space for JAX: refused before JAX starts, because afterwards nothing ends it in order.

Under ``ulimit -v`` the compiler that JAX brings asks for memory again and again for ever, or aborts the process, where
Python would raise an error.
"""

from __future__ import annotations

import os

from tacit.errors import RefusedError

# Measured growth of a first inference on two cores: 2.3 GiB, most of it reserved by threads and never touched.
_NEEDED = 3 * 2**30
_NEEDED_PER_CORE = 2**28


def check_address_space() -> None:
    """Refuse where the process may not grow by as much as JAX reserves when it starts and compiles."""
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        with open("/proc/self/statm", "rb") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
    except (ImportError, OSError):  # no such limit, or no way to know: as on macOS and Windows
        return
    needed = used + _NEEDED + _NEEDED_PER_CORE * (os.cpu_count() or 1)
    if limit != resource.RLIM_INFINITY and limit < needed:
        raise RefusedError(
            f"Expected the limit on address space (ulimit -v) to be none or at least {needed // 1024} kB, "
            f"which JAX reserves, not {limit // 1024} kB."
        )
