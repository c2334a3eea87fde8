"""Reading and changing syntax trees of kernel modules. Changes are made on copies."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from autocomp.targets.triton.language.module import (
    GLUON,
    Launch,
    Module,
    decorators,
    is_constexpr,
    is_kernel,
    launches_in,
    parameters,
)
from autocomp.targets.triton.rewrites.rewrite import refuse

Edit = Callable[[ast.Module], None]


def edited(module: Module, edit: Edit) -> Module:
    """A module with a change made to a copy of its tree."""
    tree = ast.parse(module.text)  # faster than copying the tree
    edit(tree)
    return Module(printed(tree))


def printed(tree: ast.Module) -> str:
    """The text of a module, two empty lines between functions."""
    parts: list[str] = []
    for before, node in zip([None, *tree.body], tree.body, strict=False):
        apart = isinstance(node, ast.FunctionDef) or isinstance(before, ast.FunctionDef)
        parts.append(("\n\n" if apart and before is not None else "") + ast.unparse(node))
    return "\n".join(parts) + "\n"


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def statements(text: str) -> list[ast.stmt]:
    return ast.parse(text).body


def statement(text: str) -> ast.stmt:
    return statements(text)[0]


def text_of(node: ast.AST) -> str:
    return ast.unparse(node)


# --- functions -------------------------------------------------------------------------------------------------------


def function_of(tree: ast.Module, name: str) -> ast.FunctionDef:
    """Raises NotApplicable where there is no function of that name."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
    raise refuse(f"the module has no function {name!r}")


def launches_of(tree: ast.Module, kernel: str, main: bool = True) -> list[Launch]:
    """Launches of a kernel; those kept for other shapes, in an `else`, only without `main`."""
    every = []
    hosts = [node for node in tree.body if isinstance(node, ast.FunctionDef) and not is_kernel(node)]
    for host in hosts:
        launches = [launch for launch in launches_in(host, host.name) if launch.kernel == kernel]
        aside = _aside(host) if main and launches else set()
        every += [launch for launch in launches if id(launch.node) not in aside]
    return every


def _aside(function: ast.FunctionDef) -> set[int]:
    """Nodes in the `else` branches of a function."""
    branches = [node.orelse for node in ast.walk(function) if isinstance(node, ast.If)]
    return {id(node) for branch in branches for statement in branch for node in ast.walk(statement)}


def main_kernels(module: Module) -> list[str]:
    """Names of the Triton kernels that are launched outside of `else` branches, in the order of their first launch.
    Kernels in Gluon are left out: no rewrite reads them."""
    names: list[str] = []
    for name, host in module.hosts.items():
        aside = _aside(host)
        for launch in launches_in(host, name):
            function = module.kernels.get(launch.kernel)
            if function is None or GLUON in decorators(function) or id(launch.node) in aside:
                continue
            if launch.kernel not in names:
                names.append(launch.kernel)
    return names


def constexprs(function: ast.FunctionDef) -> set[str]:
    return {a.arg for a in (*function.args.args, *function.args.kwonlyargs) if is_constexpr(a)}


def insert_parameters(function: ast.FunctionDef, names: Sequence[str], constant: bool = False) -> None:
    """Add parameters: constants at the end, others before the first constant."""
    annotation = expression("tl.constexpr") if constant else None
    arguments = [ast.arg(name, annotation) for name in names]
    position = next((i for i, a in enumerate(function.args.args) if is_constexpr(a)), len(function.args.args))
    if constant:
        position = len(function.args.args)
    function.args.args[position:position] = arguments


def bound_arguments(launch: Launch, function: ast.FunctionDef) -> dict[str, ast.expr]:
    """The expression that a launch gives for each parameter of its kernel."""
    names = parameters(function)
    given = dict(zip(names, launch.node.args, strict=False))
    return given | {name: value for name, value in launch.keywords.items() if name in names}


def name_arguments(launch: Launch, function: ast.FunctionDef) -> None:
    """Turn positional arguments after the first that a rewrite may move into keywords."""
    names = parameters(function)
    positional = launch.node.args
    launch.node.keywords[:0] = [ast.keyword(name, value) for name, value in zip(names, positional, strict=False)]
    launch.node.args = []


def set_keyword(call: ast.Call, name: str, value: ast.expr) -> None:
    for keyword in call.keywords:
        if keyword.arg == name:
            keyword.value = value
            return
    call.keywords.append(ast.keyword(name, value))


def drop_keyword(call: ast.Call, name: str) -> None:
    call.keywords = [keyword for keyword in call.keywords if keyword.arg != name]


def set_grid(launch: Launch, grid: ast.expr) -> None:
    assert isinstance(launch.node.func, ast.Subscript)
    launch.node.func.slice = grid


def grid_of(tree: ast.Module, launch: Launch) -> list[ast.expr]:
    """The extents of a launch's grid, in the host's terms. Raises NotApplicable where they cannot be seen."""
    grid = launch.grid
    if isinstance(grid, ast.Name):
        host = function_of(tree, launch.host)
        values = [n.value for n in ast.walk(host) if isinstance(n, ast.Assign) and _assigns(n, grid.id)]
        if len(values) != 1:
            raise refuse(f"the grid of {launch.kernel!r} is not one expression")
        grid = values[0]
    if isinstance(grid, ast.Lambda):
        if len(grid.args.args) != 1:
            raise refuse(f"the grid of {launch.kernel!r} is not a function of the launch's parameters")
        grid = _applied(grid, launch)
    if isinstance(grid, ast.Tuple):
        return list(grid.elts)
    raise refuse(f"the grid of {launch.kernel!r} is not a tuple: {text_of(grid)}")


def _applied(grid: ast.Lambda, launch: Launch) -> ast.expr:
    """The body of `lambda meta: …` with `meta["NAME"]` replaced by what the launch gives."""
    meta, keywords = grid.args.args[0].arg, launch.keywords

    class Apply(ast.NodeTransformer):
        def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
            key = node.slice
            if isinstance(node.value, ast.Name) and node.value.id == meta and isinstance(key, ast.Constant):
                if str(key.value) not in keywords:
                    raise refuse(f"the grid of {launch.kernel!r} needs {key.value!r}, which the launch does not give")
                return copy.deepcopy(keywords[str(key.value)])
            return self.generic_visit(node)

    body: ast.expr = Apply().visit(copy.deepcopy(grid.body))
    return body


def _assigns(node: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in node.targets)


# --- names -----------------------------------------------------------------------------------------------------------


class _Substitute(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if isinstance(node.ctx, ast.Load) and node.id in self._values:
            return copy.deepcopy(self._values[node.id])
        return node


def substituted(node: ast.expr, values: Mapping[str, ast.expr]) -> ast.expr:
    """A copy of an expression with names replaced by expressions."""
    result: ast.expr = _Substitute(values).visit(copy.deepcopy(node))
    return result


class _Rename(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self._names.get(node.id, node.id), node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(self._names.get(node.arg, node.arg), node.annotation)


def rename(nodes: Sequence[ast.AST], names: Mapping[str, str]) -> None:
    """Rename variables and parameters in place."""
    for node in nodes:
        _Rename(names).visit(node)


class _ReplaceCalls(ast.NodeTransformer):
    def __init__(self, replace: Callable[[ast.Call], ast.expr | None]) -> None:
        self._replace = replace

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        return self._replace(node) or node


def replace_calls(nodes: Sequence[ast.AST], replace: Callable[[ast.Call], ast.expr | None]) -> None:
    """Replace calls in place, the innermost first, where the function gives an expression."""
    for node in nodes:
        _ReplaceCalls(replace).visit(node)


def stores_of(nodes: Sequence[ast.AST]) -> Counter[str]:
    """The number of assignments to each name."""
    walked = (n for node in nodes for n in ast.walk(node))
    return Counter(n.id for n in walked if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def loads_of(nodes: Sequence[ast.AST]) -> Counter[str]:
    """The number of reads of each name."""
    walked = (n for node in nodes for n in ast.walk(node))
    return Counter(n.id for n in walked if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))


def names_in(nodes: Sequence[ast.AST]) -> set[str]:
    """Names of variables, parameters and functions."""
    walked = [n for node in nodes for n in ast.walk(node)]
    names = {n.id for n in walked if isinstance(n, ast.Name)} | {n.arg for n in walked if isinstance(n, ast.arg)}
    return names | {n.name for n in walked if isinstance(n, ast.FunctionDef)}


def fresh(name: str, taken: Collection[str]) -> str:
    """A name like this one that is not taken."""
    number, candidate = 1, name
    while candidate in taken:
        number += 1
        candidate = f"{name}_{number}"
    return candidate


# --- shapes of code --------------------------------------------------------------------------------------------------


def called(node: ast.AST, *names: str) -> bool:
    """True if a node is a call of one of Triton's functions with one of the names, as `tl.load`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    module = node.func.value
    return isinstance(module, ast.Name) and module.id in ("tl", "triton_language") and node.func.attr in names


def calls_in(nodes: Sequence[ast.AST], *names: str) -> Iterator[ast.Call]:
    for node in nodes:
        for call in ast.walk(node):
            if called(call, *names) and isinstance(call, ast.Call):
                yield call


def argument(call: ast.Call, position: int, keyword: str) -> ast.expr | None:
    """An argument of a call, by its position or its keyword."""
    if position < len(call.args):
        return call.args[position]
    return next((k.value for k in call.keywords if k.arg == keyword), None)


def is_range(node: ast.expr) -> bool:
    return called(node, "range", "static_range") or (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"
    )


def loops_in(function: ast.FunctionDef) -> list[ast.For]:
    """The loops over ranges, in the order of the text."""
    loops = [
        n for n in ast.walk(function) if isinstance(n, ast.For) and is_range(n.iter) and isinstance(n.target, ast.Name)
    ]
    return sorted(loops, key=lambda loop: loop.lineno)


def bounds(loop: ast.For) -> tuple[ast.expr, ast.expr, ast.expr]:
    """Start, end and step of a loop over a range."""
    assert isinstance(loop.iter, ast.Call)
    values = loop.iter.args
    zero, one = ast.Constant(0), ast.Constant(1)
    if len(values) == 1:
        return zero, values[0], one
    return values[0], values[1], values[2] if len(values) > 2 else one


def has_dot(nodes: Sequence[ast.AST]) -> bool:
    return any(True for _ in calls_in(nodes, "dot"))


def blocks(function: ast.FunctionDef) -> Iterator[list[ast.stmt]]:
    """Every list of statements in a function."""
    for node in ast.walk(function):
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield block


def block_of(function: ast.FunctionDef, wanted: ast.stmt) -> tuple[list[ast.stmt], int]:
    """The list that a statement is in, and its position there."""
    for block in blocks(function):
        for position, candidate in enumerate(block):
            if candidate is wanted:
                return block, position
    raise refuse("the statement is not in the function")


def launch_statement(host: ast.FunctionDef, launch: Launch) -> ast.stmt:
    """The statement that a launch is."""
    for block in blocks(host):
        for candidate in block:
            if isinstance(candidate, ast.Expr) and candidate.value is launch.node:
                return candidate
    raise refuse(f"the launch of {launch.kernel!r} is not a statement of its own")


def program_ids(function: ast.FunctionDef) -> dict[int, list[ast.Call]]:
    """The calls of `tl.program_id` by axis. Raises NotApplicable where an axis is not a number."""
    calls: dict[int, list[ast.Call]] = {}
    for call in calls_in([function], "program_id"):
        axis = argument(call, 0, "axis")
        if not isinstance(axis, ast.Constant) or not isinstance(axis.value, int):
            raise refuse("the axis of a program id is not a number")
        calls.setdefault(axis.value, []).append(call)
    return calls
