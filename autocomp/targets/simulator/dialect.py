"""The kernel dialect as a target's language."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

import numpy as np

from autocomp.errors import KernelError
from autocomp.targets.fences import fenced_blocks, without_thoughts
from autocomp.targets.protocol import Language
from autocomp.targets.simulator import kernel as dialect
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.kernel.checking.calls import BUILTINS
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.kernel.syntax.walk import walk
from autocomp.targets.simulator.start.idioms import signature
from autocomp.workload.model import Workload

ENTRY = "solution"
# Bounded in what they read again: a model may repeat one thing until its answer is cut off.
_PARAMETERS = r"[ \t]*\([^;{}()]*\)\s*\{"
_FUNCTION = re.compile(rf"^[ \t]*(?:static[ \t]+)?\w+[ \t]+\w+{_PARAMETERS}", re.MULTILINE)
_ENTRY_FUNCTION = re.compile(rf"^[ \t]*void\s+{ENTRY}{_PARAMETERS}", re.MULTILINE)
_PLAIN_DIRECTIVE = re.compile(r"#[ \t]*(?:include|define|undef|pragma)\b")
_DECIDED = re.compile(r"#|\benum\b")
_BRACES = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)|[{}]", re.DOTALL)


@dataclass(frozen=True)
class Dialect(Language):
    """C that calls the instructions of one accelerator."""

    accelerator: Accelerator
    name = "C"
    suffix = ".c"
    fence = "c"
    entry = ENTRY

    def check(self, kernel: str, workload: Workload, source: str = "kernel.c") -> None:
        tree = dialect.parse(kernel, source, {**self.accelerator.all_constants, **workload.constants})
        dialect.check(tree, self.accelerator, workload.constants, workload.tensors)

    def _tree(self, kernel: str) -> ast.Kernel:
        return dialect.parse(kernel, names=self.accelerator.all_constants)

    def fingerprint(self, kernel: str) -> str:
        """The canonical hash. That of the characters where a text does not parse, and where a name of some workload
        may decide what it means, as with `#if` and `enum`."""
        if not _DECIDED.search(_PLAIN_DIRECTIVE.sub("", kernel)):
            try:
                return dialect.canonical_hash(self._tree(kernel))
            except KernelError:
                pass
        return hashlib.sha256(b"text " + kernel.encode("utf-8", "surrogatepass")).hexdigest()

    def entry_of(self, kernel: str) -> str:
        """The name of the last function; of a text that does not parse, the usual one."""
        try:
            return dialect.parse(kernel).entry.name
        except KernelError:
            return ENTRY

    def signature(self, workload: Workload) -> str:
        return signature(workload.tensors)

    def skeleton(self, workload: Workload) -> str:
        return f"{self.signature(workload)} {{\n  ...\n}}"

    def locate(self, answer: str) -> str | None:
        """The last fenced block that defines the entry function, else the last that defines any function, else code
        that stands there without a fence."""
        proper = without_thoughts(answer)
        blocks = [block for block in fenced_blocks(proper) if _FUNCTION.search(block)]
        entry = [block for block in blocks if re.search(rf"\b{ENTRY}\s*\(", block)]
        if entry or blocks:
            return (entry or blocks)[-1].strip() + "\n"
        return _bare_code(proper)

    def loops(self, kernel: str) -> tuple[str, ...]:
        """As `variable@line`."""
        nodes = (node for node in walk(self._tree(kernel)) if isinstance(node, ast.For))
        return tuple(f"{_variable(loop)}@{loop.line}" for loop in nodes)

    def is_foreign(self, kernel: str) -> bool:
        """True if a kernel calls only its own functions and the host's."""
        tree = self._tree(kernel)
        own = {function.name for function in tree.functions} | {name for name, *_ in BUILTINS}
        return all(node.function in own for node in walk(tree) if isinstance(node, ast.Call))

    def hands_on(self, kernel: str, number: float) -> bool:
        tree = self._tree(kernel)
        own = {function.name for function in tree.functions}
        calls = (node for node in walk(tree) if isinstance(node, ast.Call) and node.function not in own)
        handed = {id(argument) for call in calls for argument in call.arguments}
        numbers = (node for node in walk(tree) if isinstance(node, ast.FloatLiteral))
        return all(id(node) in handed for node in numbers if np.float32(node.value) == np.float32(number))


def _variable(loop: ast.For) -> str:
    names = (node.name for node in walk(loop.initial) if isinstance(node, ast.Declarator | ast.Name))
    return next(names, "loop") if loop.initial is not None else "loop"


def _bare_code(answer: str) -> str | None:
    first = _FUNCTION.search(answer)
    entry = list(_ENTRY_FUNCTION.finditer(answer))
    if first is None or not entry:
        return None
    end = _closing_brace(answer, entry[-1].end() - 1)
    start = min(first.start(), entry[-1].start())
    return answer[start:end].strip() + "\n"


def _closing_brace(text: str, opening: int) -> int:
    """The position after the brace that closes the one at `opening`; the end of the text if none does."""
    depth = 0
    for match in _BRACES.finditer(text[opening:]):
        depth += {"{": 1, "}": -1}.get(match.group(), 0)
        if depth == 0 and match.group() == "}":
            return opening + match.end()
    return len(text)
