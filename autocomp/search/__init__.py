"""Search: candidates, strategies, budgets, executors, the run folder and its resumable loop."""

from autocomp.search.candidate import Candidate, History
from autocomp.search.folder import RunFolder
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
