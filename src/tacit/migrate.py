"""Files of older formats, written anew in the present one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tacit._support.files import check_apart, check_readable, check_writable
from tacit.errors import expected
from tacit.partial_sums import Partial
from tacit.plan import Plan
from tacit.posterior import Posterior
from tacit.posterior.file import has_index
from tacit.posterior.old_formats import open_old_posterior
from tacit.posterior.tree import parts_of
from tacit.release import Release
from tacit.reports import Reports


def migrate(path: str | Path, new: str | Path, *, overwrite: bool = False) -> Path:
    """Read a file of any format that tacit ever wrote, and write the same content to ``new`` in the present format.

    The suffix says what the file is: a plan, a release, reports, a posterior or a partial. Nothing is made up: what an
    older format did not say and the present one needs is refused.
    """
    kinds: dict[str, Callable[[Path], Plan | Release | Reports | Posterior | Partial]] = {
        ".toml": Plan.load,
        ".json": Release.load,
        ".parquet": Reports.load,
        ".pq": Reports.load,
        ".nc": _posterior,
        ".partial": Partial.load,
    }
    source = check_readable(path, name="file")
    suffix = source.suffix.lower()
    if suffix not in kinds or Path(new).suffix.lower() != suffix:
        raise expected("file", str(path), f"and the new one to end alike, in one of {', '.join(kinds)}")
    check_apart(new, "output", file=path)
    check_writable(new, name="output", overwrite=overwrite)
    return kinds[suffix](source).save(new, overwrite=overwrite)


def _posterior(path: Path) -> Posterior:
    if has_index(path):
        return Posterior.load(path)
    with open_old_posterior(path) as file:
        return Posterior(parts_of(file, path))
