"""The kernel dialect: text to syntax tree and back, checks, bytecode, canonical hash."""

from autocomp.kernel.parser import parse
from autocomp.kernel.printer import print_expression, print_kernel, print_statement

__all__ = ["parse", "print_expression", "print_kernel", "print_statement"]
