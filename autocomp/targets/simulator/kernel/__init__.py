"""The kernel dialect: text to syntax tree and back, checks, bytecode, canonical hash."""

from autocomp.targets.simulator.kernel.canonical import canonical_form, canonical_hash
from autocomp.targets.simulator.kernel.checking.calls import call_forms
from autocomp.targets.simulator.kernel.code.bytecode import CompiledProgram, CompiledTensor
from autocomp.targets.simulator.kernel.compiler import CheckedKernel, check, check_procedures, compile, link  # noqa: A004
from autocomp.targets.simulator.kernel.syntax.parser import parse
from autocomp.targets.simulator.kernel.syntax.printer import print_expression, print_kernel, print_statement

__all__ = [
    "CheckedKernel",
    "CompiledProgram",
    "CompiledTensor",
    "call_forms",
    "canonical_form",
    "canonical_hash",
    "check",
    "check_procedures",
    "compile",
    "link",
    "parse",
    "print_expression",
    "print_kernel",
    "print_statement",
]
