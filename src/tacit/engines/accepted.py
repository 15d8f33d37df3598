"""What rows and engines may be given as: for editors, type checkers and readers of a signature. Nothing runs here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias


class ArrowStream(Protocol):
    """A table that speaks Arrow's stream protocol: polars, pyarrow, pandas from 2.2 on, a table of DuckDB."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """A capsule with the stream."""
        ...


class ArrowArray(Protocol):
    """A record batch that speaks Arrow's array protocol."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        """Two capsules, with the schema and with the array."""
        ...


class DaskClient(Protocol):
    """The client of a Dask cluster, ``distributed.Client``."""

    @property
    def scheduler(self) -> Any:
        """Where its workers are known."""
        ...

    def submit(self, *given: Any, **settings: Any) -> Any:
        """Let a worker call a function."""
        ...


class SparkSession(Protocol):
    """``pyspark.sql.SparkSession``."""

    @property
    def sparkContext(self) -> Any:  # noqa: N802 - Spark's own name
        """Where its workers are known."""
        ...


if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import numpy as np
    import pyarrow.dataset

    from tacit.engines.engine import Engine

    Files: TypeAlias = str | os.PathLike[str] | Sequence[os.PathLike[str]]
    """The path of a file, a folder or a pattern, or several paths."""
    Columns: TypeAlias = Mapping[str, Sequence[Any] | np.ndarray]
    """Cells by the names of columns."""
    Table: TypeAlias = Files | Columns | ArrowStream | ArrowArray | pyarrow.dataset.Dataset
    """One table."""
    Engines: TypeAlias = Literal["local"] | Engine | DaskClient | SparkSession
    """Who reads the rows."""
