"""Reports: what a person reads, made from a run folder or an evaluation."""

from autocomp.report.evaluation import print_evaluation
from autocomp.report.over_time import print_over_time
from autocomp.report.runs.progress import SearchProgress
from autocomp.report.runs.run import RunView
from autocomp.report.runs.search import print_paths, print_search
from autocomp.report.terminal import make_console

__all__ = [
    "RunView",
    "SearchProgress",
    "make_console",
    "print_evaluation",
    "print_over_time",
    "print_paths",
    "print_search",
]
