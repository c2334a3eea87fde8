"""A kernel module as a syntax tree: its Triton functions, its entry function, and where it launches what."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from autocomp.errors import KernelError, Place

ENTRY = "solution"
OPTIONS = (  # of a launch, not of the function
    "num_warps",
    "num_stages",
    "num_ctas",
    "maxnreg",
    "launch_pdl",
    "launch_cooperative_grid",
    "enable_fp_fusion",
)
MAX_CHARACTERS = 400_000
MAX_DEPTH = 100  # of nested expressions and statements
GLUON = "gluon.jit"
JIT = ("triton.jit", GLUON)


@dataclass(frozen=True)
class Launch:
    """A call `kernel[grid](arguments)` in a host function. `node` is the call, `grid` the expression in brackets."""

    kernel: str
    host: str
    node: ast.Call
    grid: ast.expr

    @property
    def keywords(self) -> dict[str, ast.expr]:
        return {keyword.arg: keyword.value for keyword in self.node.keywords if keyword.arg is not None}


@dataclass(frozen=True)
class Module:
    """A parsed module. Its tree is never changed: rewrites work on copies."""

    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def functions(self) -> dict[str, ast.FunctionDef]:
        return {node.name: node for node in self.tree.body if isinstance(node, ast.FunctionDef)}

    @cached_property
    def kernels(self) -> dict[str, ast.FunctionDef]:
        """The Triton functions, those that only others call included."""
        return {name: node for name, node in self.functions.items() if is_kernel(node)}

    @cached_property
    def hosts(self) -> dict[str, ast.FunctionDef]:
        """The functions that run on the host."""
        return {name: node for name, node in self.functions.items() if name not in self.kernels}

    @cached_property
    def constants(self) -> dict[str, ast.expr]:
        """Values of the names assigned at module level."""
        values: dict[str, ast.expr] = {}
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                values[node.targets[0].id] = node.value
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
                values[node.target.id] = node.value
        return values

    @cached_property
    def launches(self) -> tuple[Launch, ...]:
        """In the order of the text."""
        every = [launch for name, host in self.hosts.items() for launch in launches_in(host, name)]
        known = (launch for launch in every if launch.kernel in self.kernels)
        return tuple(sorted(known, key=lambda launch: (launch.node.lineno, launch.node.col_offset)))


def parse(text: str, source: str = "kernel") -> Module:
    """The module of a text. Raises KernelError with the place of what is not Python, or too much of it."""
    if len(text) > MAX_CHARACTERS:
        raise KernelError(f"{source}: the kernel has {len(text)} characters, expected at most {MAX_CHARACTERS}")
    try:
        module = Module(text)
        depth = _depth(module.tree)
    except SyntaxError as error:
        line, column = error.lineno or 1, error.offset or 1
        place = Place(source, line, column, line_of(text, line))
        raise KernelError(f"not valid Python: {error.msg}", place=place) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise KernelError(f"{source}: not valid Python: {type(error).__name__}") from None
    if depth > MAX_DEPTH:
        raise KernelError(f"{source}: statements and expressions are nested more than {MAX_DEPTH} deep")
    return module


def line_of(text: str, line: int) -> str:
    lines = text.splitlines()
    return lines[line - 1] if 0 < line <= len(lines) else ""


def place_of(node: ast.AST, text: str, source: str) -> Place:
    """Where a node is in a text."""
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
    return Place(source, line, column + 1, line_of(text, line))


def dotted(node: ast.expr) -> str:
    """`a.b.c` of names and attributes; "" for any other expression."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        head = dotted(node.value)
        return f"{head}.{node.attr}" if head else ""
    return ""


def decorators(function: ast.FunctionDef) -> list[str]:
    """Dotted names of a function's decorators, called or not."""
    return [dotted(d.func if isinstance(d, ast.Call) else d) for d in function.decorator_list]


def is_kernel(function: ast.FunctionDef) -> bool:
    return any(name in JIT for name in decorators(function))


def launches_in(function: ast.FunctionDef, name: str) -> Iterator[Launch]:
    for node in ast.walk(function):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Subscript)
            and isinstance(node.func.value, ast.Name)
        ):
            yield Launch(node.func.value.id, name, node, node.func.slice)


def parameters(function: ast.FunctionDef) -> list[str]:
    arguments = function.args
    return [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def is_constexpr(argument: ast.arg) -> bool:
    """True if a parameter of a Triton function is a compile-time constant."""
    return argument.annotation is not None and dotted(argument.annotation).endswith("constexpr")


def _depth(tree: ast.AST) -> int:
    deepest, waiting = 0, [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        deepest = max(deepest, depth)
        if depth > MAX_DEPTH:
            break
        waiting += [(child, depth + 1) for child in ast.iter_child_nodes(node)]
    return deepest
