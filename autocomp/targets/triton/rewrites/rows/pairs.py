"""Elements that are loaded and stored in pairs of neighbours."""

from __future__ import annotations

import ast

from autocomp.targets.triton.rewrites.rewrite import refuse
from autocomp.targets.triton.rewrites.syntax.cleaning import drop_unused
from autocomp.targets.triton.rewrites.syntax.tree import called, calls_in, fresh, names_in, statements, text_of


def join_pairs(function: ast.FunctionDef) -> None:
    """Join loads of `p + 2 * i` and `p + 2 * i + 1`, and stores likewise, in place. Raises NotApplicable."""
    loads, stores = _pairs(function, "load"), _pairs(function, "store")
    if not loads:
        raise refuse(f"{function.name!r} does not load neighbours in pairs")
    for first, second, base, index, extent in loads:
        _join_loads(function, first, second, base, index, extent)
    for first, second, base, index, extent in stores:
        _join_stores(function, first, second, base, index, extent)
    drop_unused(function)


Pair = tuple[ast.stmt, ast.stmt, str, str, str]  # the statements, the pointer in front, the index, its extent


def _pairs(function: ast.FunctionDef, kind: str) -> list[Pair]:
    """Statements of the function's body that load or store neighbours."""
    places: dict[tuple[str, str], ast.stmt] = {}
    pairs: list[Pair] = []
    for node in function.body:
        calls = list(calls_in([node], kind))
        if len(calls) != 1 or len(calls[0].args) > (1 if kind == "load" else 2) or calls[0].keywords:
            continue
        place = _strided(calls[0].args[0])
        if place is None:
            continue
        base, index, offset = place
        if offset == 0:
            places[base, index] = node
        elif (base, index) in places:
            extent = _extent(function, index)
            if extent:
                pairs.append((places[base, index], node, base, index, extent))
    return pairs


def _strided(pointer: ast.expr) -> tuple[str, str, int] | None:
    """`base + 2 * index + offset` with an offset of 0 or 1."""
    offset = 0
    if isinstance(pointer, ast.BinOp) and isinstance(pointer.op, ast.Add) and isinstance(pointer.right, ast.Constant):
        if pointer.right.value != 1:
            return None
        offset, pointer = 1, pointer.left
    if not (isinstance(pointer, ast.BinOp) and isinstance(pointer.op, ast.Add)):
        return None
    step = pointer.right
    if isinstance(step, ast.BinOp) and isinstance(step.op, ast.Mult):
        factors = [step.left, step.right]
        numbers = [f for f in factors if isinstance(f, ast.Constant) and f.value == 2]
        names = [f for f in factors if isinstance(f, ast.Name)]
        if len(numbers) == 1 and len(names) == 1:
            return text_of(pointer.left), names[0].id, offset
    return None


def _extent(function: ast.FunctionDef, index: str) -> str | None:
    """The extent of `index = tl.arange(0, extent)`."""
    for node in function.body:
        if isinstance(node, ast.Assign) and text_of(node.targets[0]) == index and called(node.value, "arange"):
            assert isinstance(node.value, ast.Call)
            return text_of(node.value.args[1])
    return None


def _join_loads(
    function: ast.FunctionDef, first: ast.stmt, second: ast.stmt, base: str, index: str, extent: str
) -> None:
    if not (isinstance(first, ast.Assign) and isinstance(second, ast.Assign)):
        raise refuse("a load of a pair is not assigned")
    taken = names_in([function])
    pair, left, right = fresh("pair", taken), fresh("first_of_pair", taken), fresh("second_of_pair", taken)
    position = function.body.index(first)
    for node, name in ((first, left), (second, right)):
        call = next(calls_in([node], "load"))
        node.value = _with(node.value, call, ast.Name(name, ast.Load()))
    function.body[position:position] = statements(
        f"{pair} = tl.load({base} + tl.arange(0, 2 * {extent}))\n"
        f"{left}, {right} = tl.split(tl.reshape({pair}, ({extent}, 2)))\n"
    )


def _join_stores(
    function: ast.FunctionDef, first: ast.stmt, second: ast.stmt, base: str, index: str, extent: str
) -> None:
    values = [text_of(next(calls_in([node], "store")).args[1]) for node in (first, second)]
    position = function.body.index(second)
    function.body[position] = statements(
        f"tl.store({base} + tl.arange(0, 2 * {extent}), tl.reshape(tl.join({values[0]}, {values[1]}), (2 * {extent},)))"
    )[0]
    function.body.remove(first)


def _with(value: ast.expr, old: ast.Call, new: ast.expr) -> ast.expr:
    class Replace(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.AST:
            return new if node is old else self.generic_visit(node)

    result: ast.expr = Replace().visit(value)
    return result
