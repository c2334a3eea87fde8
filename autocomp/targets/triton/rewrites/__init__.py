"""Named rewrites of kernel modules, on Python's syntax tree. Each applies or says why not; the judge decides."""

from __future__ import annotations

from autocomp.targets.triton.rewrites.rewrite import Rewrite as Rewrite
from autocomp.targets.triton.rewrites.rewrite import Setting as Setting

__all__ = ["Rewrite", "Setting"]
