"""From one row for each program to a tile of rows: every value that depends on the row gets a dimension in front."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from autocomp.targets.triton.language.module import Launch
from autocomp.targets.triton.rewrites.rewrite import refuse
from autocomp.targets.triton.rewrites.syntax.ranks import ranks_of
from autocomp.targets.triton.rewrites.syntax.tree import (
    argument,
    called,
    calls_in,
    expression,
    fresh,
    grid_of,
    has_dot,
    insert_parameters,
    loops_in,
    name_arguments,
    names_in,
    program_ids,
    set_grid,
    set_keyword,
    statements,
    text_of,
)

_REDUCTIONS = ("sum", "max", "min", "argmax", "argmin")
_POINTWISE = (
    "exp",
    "exp2",
    "log",
    "log2",
    "sqrt",
    "rsqrt",
    "abs",
    "maximum",
    "minimum",
    "where",
    "sigmoid",
    "cast",
    "cos",
    "sin",
)


def lift(tree: ast.Module, function: ast.FunctionDef, launches: Sequence[Launch], number: int) -> None:
    """Rewrite a function and its launches in place, for a number of rows at a time."""
    name = function.name
    ids = program_ids(function)
    grids = [grid_of(tree, launch) for launch in launches]
    if set(ids) != {0} or any(len(grid) != 1 for grid in grids):
        raise refuse(f"{name!r} is not launched with one program for each row")
    if has_dot([function]) or any(True for _ in calls_in([function], "num_programs", "atomic_add")):
        raise refuse(f"{name!r} multiplies matrices or adds atomically")
    if any(isinstance(node, (ast.If, ast.While)) for node in ast.walk(function)):
        raise refuse(f"{name!r} branches")
    taken = names_in([function])
    rows, count = fresh("ROWS", taken), fresh("rows", taken)
    _Lift(function, rows, count).run()
    insert_parameters(function, [count])
    insert_parameters(function, [rows], constant=True)
    for launch, grid in zip(launches, grids, strict=True):
        name_arguments(launch, function)
        host = _host_constant(tree, rows, number)
        set_keyword(launch.node, count, grid[0])
        set_keyword(launch.node, rows, ast.Name(host, ast.Load()))
        set_grid(launch, expression(f"(triton.cdiv({text_of(grid[0])}, {host}),)"))


def _host_constant(tree: ast.Module, rows: str, number: int) -> str:
    """A module-level constant for the number of rows, which the grid and the launch share."""
    taken = {
        n.id for node in tree.body if isinstance(node, ast.Assign) for n in ast.walk(node) if isinstance(n, ast.Name)
    }
    name = fresh(rows, taken)
    position = next(i for i, node in enumerate(tree.body) if isinstance(node, ast.FunctionDef))
    tree.body.insert(position, statements(f"{name} = {number}")[0])
    return name


class _Lift:
    """`own` are the names whose values depend on the row, with the rank they had before."""

    def __init__(self, function: ast.FunctionDef, rows: str, count: str) -> None:
        self._function = function
        self._rows = rows
        self._count = count
        self._ranks = ranks_of(function)
        self._own = self._dependent()
        self._valid = fresh("valid_rows", names_in([function]))

    def run(self) -> None:
        for loop in loops_in(self._function):
            if self._depends(loop.iter):
                raise refuse(f"how often a loop of {self._function.name!r} runs depends on the row")
        self._block(self._function.body)
        self._function.body[0:0] = statements(f"{self._valid} = {self._program()} < {self._count}")

    def _program(self) -> str:
        return f"tl.program_id(0) * {self._rows} + tl.arange(0, {self._rows})"

    def _dependent(self) -> set[str]:
        dependent: set[str] = set()
        changed = True
        while changed:
            changed = False
            for node in ast.walk(self._function):
                if isinstance(node, (ast.Assign, ast.AugAssign)):
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    names = {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
                    depends = self._reads(node.value, dependent)
                    if depends and not names <= dependent:
                        dependent |= names
                        changed = True
        return dependent

    def _reads(self, node: ast.AST, own: set[str]) -> bool:
        read = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        return bool(read & own) or any(True for _ in calls_in([node], "program_id"))

    def _depends(self, node: ast.AST) -> bool:
        return self._reads(node, self._own)

    def _block(self, body: list[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, ast.For):
                self._block(node.body)
            elif isinstance(node, ast.Assign):
                self._assignment(node)
            elif isinstance(node, ast.AugAssign):
                rank = self._rank(node.target)
                node.value = self._raised(node.value, rank)
            elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                node.value = self._value(node.value)
            elif not isinstance(node, (ast.Expr, ast.Pass)):
                raise refuse(f"a statement of {self._function.name!r} cannot be lifted: {text_of(node)}")

    def _assignment(self, node: ast.Assign) -> None:
        target = node.targets[0]
        if isinstance(target, ast.Name) and target.id in self._own and not self._depends(node.value):
            # What a row's own value starts from, such as a sum at 0.
            if self._ranks.get(target.id, 0) != 0:
                raise refuse(f"{target.id!r} starts as a vector")
            node.value = expression(f"tl.full(({self._rows},), {text_of(node.value)}, tl.float32)")
        else:
            node.value = self._value(node.value)

    # --- expressions ---------------------------------------------------------------------------------------------

    def _rank(self, node: ast.expr) -> int:
        """Before lifting."""
        from autocomp.targets.triton.rewrites.syntax.ranks import rank

        return rank(node, self._ranks)

    def _value(self, node: ast.expr) -> ast.expr:
        """The lifted expression: with a dimension in front if it depends on the row, else as it was."""
        if not self._depends(node):
            return node
        if isinstance(node, ast.Name):
            return node
        if called(node, "program_id"):
            return expression(self._program())
        if isinstance(node, (ast.BinOp, ast.Compare, ast.UnaryOp, ast.IfExp, ast.BoolOp)):
            return self._combined(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        raise refuse(f"{text_of(node)} cannot be lifted")

    def _combined(self, node: ast.expr) -> ast.expr:
        rank = self._rank(node)
        for field, child in list(ast.iter_fields(node)):
            if isinstance(child, ast.expr):
                setattr(node, field, self._raised(child, rank))
            elif isinstance(child, list) and child and isinstance(child[0], ast.expr):
                setattr(node, field, [self._raised(part, rank) for part in child])
        return node

    def _raised(self, node: ast.expr, rank: int) -> ast.expr:
        """An operand, lifted and given the dimensions that the others of a rank have."""
        own = self._rank(node)
        depends = self._depends(node)
        lifted = self._value(node)
        if rank == 0 or rank > 1:
            if rank > 1:
                raise refuse("values of two dimensions cannot be lifted")
            return lifted
        if depends and own == 0:
            return expression(f"({text_of(lifted)})[:, None]")
        if not depends and own == 1:
            return expression(f"({text_of(lifted)})[None, :]")
        return lifted

    def _call(self, node: ast.Call) -> ast.expr:
        if called(node, "load"):
            return self._load(node)
        if called(node, "store"):
            return self._store(node)
        if called(node, *_REDUCTIONS):
            inner = self._value(node.args[0])
            function = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            return expression(f"tl.{function}({text_of(inner)}, axis=1)")
        if called(node, "reshape"):
            return self._reshape(node)
        if called(node, "split", "join"):
            node.args = [self._value(a) for a in node.args]
            return node
        if called(node, *_POINTWISE):
            rank = self._rank(node)
            node.args = [self._raised(a, rank) for a in node.args]
            return node
        if isinstance(node.func, ast.Attribute) and node.func.attr == "to":
            node.func.value = self._value(node.func.value)
            return node
        raise refuse(f"the call {text_of(node)} cannot be lifted")

    def _reshape(self, node: ast.Call) -> ast.expr:
        shape = argument(node, 1, "shape")
        if not isinstance(shape, (ast.Tuple, ast.List)):
            raise refuse(f"{text_of(node)} cannot be lifted")
        inner = text_of(self._value(node.args[0]))
        return expression(f"tl.reshape({inner}, ({self._rows}, {', '.join(text_of(e) for e in shape.elts)}))")

    def _load(self, node: ast.Call) -> ast.expr:
        rank = self._rank(node.args[0])
        node.args[0] = self._raised(node.args[0], rank)
        self._masked(node, rank, 1)
        return node

    def _store(self, node: ast.Call) -> ast.expr:
        rank = self._rank(node.args[0])
        node.args[:2] = [self._raised(part, rank) for part in node.args[:2]]
        self._masked(node, rank, 2)
        return node

    def _masked(self, node: ast.Call, rank: int, position: int) -> None:
        """A mask that leaves out rows beyond the last."""
        mask = argument(node, position, "mask")
        rows = f"{self._valid}[:, None]" if rank else self._valid
        text = rows if mask is None else f"{rows} & ({text_of(self._raised(mask, rank))})"
        del node.args[position:]
        node.keywords = [k for k in node.keywords if k.arg != "mask"]
        node.keywords.insert(0, ast.keyword("mask", expression(text)))
        if called(node, "load") and all(k.arg != "other" for k in node.keywords):
            node.keywords.insert(1, ast.keyword("other", ast.Constant(0)))
