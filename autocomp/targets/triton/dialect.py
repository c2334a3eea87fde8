"""Triton's Python as a language that kernels are written in."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from autocomp.errors import KernelError
from autocomp.targets.protocol import Language
from autocomp.targets.triton.language import check_module, fingerprint, parse
from autocomp.targets.triton.rewrites.syntax.tree import loops_in, text_of
from autocomp.workload.model import Workload


@dataclass(frozen=True)
class TritonPython(Language):
    name = "Triton"
    suffix = ".py"
    fence = "python"
    entry = "solution"

    def check(self, kernel: str, workload: Workload, source: str = "kernel") -> None:
        tensors = [tensor.name for tensor in workload.tensors]
        check_module(parse(kernel, source), tensors, source, computes=workload.host == "compute")

    def signature(self, workload: Workload) -> str:
        return f"def {self.entry}({', '.join(tensor.name for tensor in workload.tensors)}):"

    def skeleton(self, workload: Workload) -> str:
        return f"{self.signature(workload)}\n    ..."

    def fingerprint(self, kernel: str) -> str:
        try:
            return fingerprint(parse(kernel))
        except KernelError:
            return hashlib.sha256(b"text " + kernel.encode()).hexdigest()

    def loops(self, kernel: str) -> tuple[str, ...]:
        """Loops of the Triton functions, as `function: header`."""
        try:
            module = parse(kernel)
        except KernelError:
            return ()
        return tuple(
            f"{name}: for {text_of(loop.target)} in {text_of(loop.iter)}"
            for name, function in module.kernels.items()
            for loop in loops_in(function)
        )
