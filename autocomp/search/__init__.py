"""Search: candidates, strategies, budgets, executors, the run folder and its resumable loop.

The names below are imported when the first of them is used: the command line, which needs the options alone, starts
without the rest.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autocomp.search.candidate import Candidate, History
    from autocomp.search.log.folder import RunFolder
    from autocomp.search.options import Options
    from autocomp.search.search import Problem, Search, SearchResult
    from autocomp.search.strategies import BeamSearch
    from autocomp.search.strategy import Expand, Stop, Strategy

__all__ = [
    "BeamSearch",
    "Candidate",
    "Expand",
    "History",
    "Options",
    "Problem",
    "RunFolder",
    "Search",
    "SearchResult",
    "Stop",
    "Strategy",
]
_MODULES = {
    "candidate": ("Candidate", "History"),
    "log.folder": ("RunFolder",),
    "options": ("Options",),
    "search": ("Problem", "Search", "SearchResult"),
    "strategies": ("BeamSearch",),
    "strategy": ("Expand", "Stop", "Strategy"),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"autocomp.search.{module}"), name)
    raise AttributeError(f"module 'autocomp.search' has no attribute {name!r}")
