"""The executor that a spec names."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from autocomp.errors import ConfigError
from autocomp.search.executors.cluster import DaskExecutor
from autocomp.search.executors.local import InlineExecutor, ProcessExecutor, ThreadExecutor
from autocomp.search.executors.protocol import Executor

FORMS = "inline, threads:N, processes:N, dask://HOST:PORT, or local-cluster:N"


def make_executor(spec: str | None, workers: int, preload: Sequence[str] = ()) -> Executor:
    """The executor of a spec; without one, one worker runs in this process, and more are processes. `preload` names
    modules that worker processes need.

    Raises ConfigError for an invalid spec, for a cluster that does not answer, and where Dask is missing.
    """
    if spec is None:
        spec = "inline" if workers == 1 else f"processes:{workers}"
    check_executor(spec)
    kind, _, rest = spec.partition(":")
    if kind == "inline":
        return InlineExecutor()
    if kind == "threads":  # for targets whose work is done by other processes
        return ThreadExecutor(int(rest))
    if kind == "processes":
        return ProcessExecutor(int(rest), preload)
    return DaskExecutor.local(int(rest)) if kind == "local-cluster" else DaskExecutor.at(rest.removeprefix("//"))


def check_executor(spec: str) -> None:
    """Raises ConfigError for what cannot be the spec of an executor."""
    kind, _, rest = spec.partition(":")
    if kind in ("threads", "processes", "local-cluster"):
        if not rest.isdecimal() or int(rest) < 1:
            raise ConfigError(f"--executor {spec!r}: expected a number of workers, at least 1, after the colon")
    elif spec != "inline" and not (kind == "dask" and rest.startswith("//") and rest.rpartition(":")[2].isdecimal()):
        raise ConfigError(f"unknown executor {spec!r}", hint=f"known: {FORMS}")


def available_cores() -> int:
    """Cores this process may run on."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
