"""Starting kernels of operations that a user defines: from a graph of PyTorch's operators to a plain Triton module."""

from __future__ import annotations

from autocomp.targets.triton.start.traced.module import traced_kernel as traced_kernel

__all__ = ["traced_kernel"]
