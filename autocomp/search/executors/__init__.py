"""Where the work of a search runs: in this process, in threads, in worker processes, or on a Dask cluster."""

from autocomp.search.executors.calls import Lost, TargetCall, run_calls
from autocomp.search.executors.choice import available_cores, check_executor, make_executor
from autocomp.search.executors.local import InlineExecutor, ProcessExecutor, ThreadExecutor
from autocomp.search.executors.protocol import Executor, Target

__all__ = [
    "Executor",
    "InlineExecutor",
    "Lost",
    "ProcessExecutor",
    "Target",
    "TargetCall",
    "ThreadExecutor",
    "available_cores",
    "check_executor",
    "make_executor",
    "run_calls",
]
