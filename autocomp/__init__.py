"""Search for fast, validated kernels for tensor accelerators.

    import autocomp

    result = autocomp.search("gemm_100x70x30", options=autocomp.Options(evaluations=20))
    print(result.best, result.objective.unit)

The functions are those of `autocomp.api`, which is imported when the first of them is used.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autocomp.api import (
        Agents,
        Answer,
        AutocompError,
        Evaluation,
        Match,
        Options,
        Profile,
        Result,
        Target,
        Workload,
        evaluate,
        load_target,
        load_workload,
        lookup,
        lookup_or_adapt,
        lookup_or_adapt_all,
        profile,
        resume,
        search,
        why_none,
    )

__all__ = [
    "Agents",
    "Answer",
    "AutocompError",
    "Evaluation",
    "Match",
    "Options",
    "Profile",
    "Result",
    "Target",
    "Workload",
    "evaluate",
    "load_target",
    "load_workload",
    "lookup",
    "lookup_or_adapt",
    "lookup_or_adapt_all",
    "profile",
    "resume",
    "search",
    "why_none",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'autocomp' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module("autocomp.api"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """This package. `autocomp.search` is the function, also after an import of the package `autocomp.search`, which the
    import system would otherwise put in its place."""

    @property
    def search(self) -> Any:
        return __getattr__("search")

    @search.setter
    def search(self, module: ModuleType) -> None:
        """The package is reached by `from autocomp.search import …`."""


sys.modules[__name__].__class__ = _Package
