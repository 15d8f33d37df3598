"""Which engine is meant: by a name, or by the client of a cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any

from tacit.engines.clusters import Dask, Spark
from tacit.engines.engine import Engine
from tacit.engines.threads import Threads
from tacit.errors import did_you_mean, expected
from tacit.sources.base import is_a

NAMES = ("local", "dask", "spark")


def engine_of(engine: Any) -> Engine:
    """The engine for "local", a Dask ``Client`` or a ``SparkSession``."""
    if isinstance(engine, Engine):
        return engine
    if isinstance(engine, str) and engine == "local":
        return Threads()
    if is_a(engine, "distributed", "Client"):
        return Dask(engine)
    if type(engine).__name__ == "SparkSession" and type(engine).__module__.startswith("pyspark."):
        return Spark(engine)
    shown = engine if isinstance(engine, str) else type(engine).__name__
    raise expected("engine", shown, 'to be "local", a Dask Client or a SparkSession')


@contextmanager
def opened_engine(text: str) -> Generator[Engine]:
    """The engine that the command line names.

    ``dask`` starts workers on this machine, ``tcp://HOST:PORT`` is the scheduler of a Dask cluster that is running, and
    ``spark`` is the session that Spark's own settings describe.
    """
    if text == "local":
        yield Threads()
    elif text == "dask" or text.startswith(("tcp://", "tls://")):
        _need("distributed", "dask")
        from distributed import Client, LocalCluster

        if text == "dask":
            with LocalCluster(dashboard_address="127.0.0.1:0") as cluster, Client(cluster) as client:
                yield Dask(client)
        else:
            client = None
            with suppress(OSError):
                client = Client(text, timeout=10)
            if client is None:
                raise expected("engine", text, "to be the address of a Dask scheduler that answers")
            with client:
                yield Dask(client)
    elif text == "spark":
        _need("pyspark", "spark")
        from pyspark.sql import SparkSession

        # Executors would start whatever python3 is: tacit is installed in this one.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        session = None
        with suppress(Exception):
            session = (
                SparkSession.builder.appName("tacit").config("spark.ui.showConsoleProgress", "false").getOrCreate()
            )
        if session is None:
            raise expected("engine", text, "to start, which needs Java 17 (make system-deps installs it)")
        try:
            yield Spark(session)
        finally:
            session.stop()
    else:
        raise expected("engine", text, f"to be local, dask, tcp://HOST:PORT or spark{did_you_mean(text, NAMES)}")


def _need(module: str, extra: str) -> None:
    if find_spec(module) is None:
        raise expected("engine", extra, f"to be installed: pip install 'tacit[{extra}]'")
