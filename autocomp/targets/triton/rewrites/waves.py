"""The last wave of a product's tiles, where the programs that run at once do not divide the tiles."""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence
from typing import Any

from autocomp.targets.triton.language.module import Module, parameters
from autocomp.targets.triton.rewrites.rewrite import Offer, Rewrite, Setting, refuse, wanted
from autocomp.targets.triton.rewrites.syntax.tree import (
    block_of,
    calls_in,
    constexprs,
    edited,
    expression,
    fresh,
    function_of,
    grid_of,
    has_dot,
    insert_parameters,
    launch_statement,
    launches_of,
    main_kernels,
    name_arguments,
    names_in,
    program_ids,
    replace_calls,
    set_grid,
    set_keyword,
    statement,
    substituted,
    text_of,
)

ROW, COLUMN = "row_of_tiles", "column_of_tiles"  # names that `group_programs` gives a tile's place
COUNTS = ("rows_of_tiles", "columns_of_tiles")
REST = "_rest"  # end of the name of the kernel that finishes the wave
FIRST = "first_tile"  # its parameter
FULL = 2  # a last wave with more than 1/2 of its tiles is left as it is
SMALLEST = 16  # rows or columns of a tile that tensor cores multiply
PARTS = ((2, 2), (2, 1), (1, 2))


class FinishWave(Rewrite):
    name = "finish_wave"
    doc = (
        "Launch whole waves of a product's tiles, and what is left of them in smaller tiles by a kernel of its own: "
        "else the last wave takes as long as a full one, however few tiles it has (wave quantisation; Osama et al., "
        "Stream-K, 2023, split the sums instead). Pays where tiles are few and large. Apply it after "
        "`group_programs`, and before `persistent` and `warp_groups`."
    )

    def offers(self, module: Module, setting: Setting) -> Sequence[Offer]:
        choices = []
        for kernel in main_kernels(module):
            if not has_dot([module.kernels[kernel]]):
                continue
            for rows, columns in PARTS:
                given = {"kernel": kernel, "programs": setting.multiprocessors, "rows": rows, "columns": columns}
                if self.applies(module, given):
                    reason = f"the last wave of {kernel} in tiles of 1/{rows} of the rows, 1/{columns} of the columns"
                    choices.append(Offer(given, reason, 0.05))
        return choices

    def apply(self, module: Module, parameters: Mapping[str, Any]) -> Module:
        kernel = wanted(parameters, "kernel", str)
        programs, rows, columns = (wanted(parameters, name, int) for name in ("programs", "rows", "columns"))
        if programs < 1 or rows < 1 or columns < 1 or rows * columns < 2:
            raise refuse("expected at least 1 program, and tiles cut into at least 2 parts")

        def edit(tree: ast.Module) -> None:
            _Wave(tree, kernel).finish(programs, {ROW: rows, COLUMN: columns})

        return edited(module, edit)


class _Wave:
    """A kernel that is launched once, on a grid of one axis, with its tiles in groups of rows."""

    def __init__(self, tree: ast.Module, kernel: str) -> None:
        self._tree = tree
        self._kernel = function_of(tree, kernel)
        launches = launches_of(tree, kernel)
        if len(launches) != 1:
            raise refuse(f"{kernel!r} is launched {len(launches)} times, expected 1")
        self._launch = launches[0]
        grid = grid_of(tree, self._launch)
        if len(grid) != 1 or set(program_ids(self._kernel)) != {0} or _places(self._kernel).keys() != {ROW, COLUMN}:
            raise refuse(f"the tiles of {kernel!r} are not in groups of rows", "apply `group_programs` first")
        if any(True for _ in calls_in([self._kernel], "num_programs")):
            raise refuse(f"{kernel!r} asks for the number of programs")
        if FIRST in parameters(self._kernel) or f"{kernel}{REST}" in names_in([tree]):
            raise refuse(f"the last wave of {kernel!r} is finished already")
        self._tiles = grid[0]

    def finish(self, programs: int, parts: Mapping[str, int]) -> None:
        name_arguments(self._launch, self._kernel)
        smaller = self._smaller(parts)
        rest = self._rest_kernel(parts)
        taken = names_in([self._tree])
        tiles, whole = fresh("all_tiles", taken), fresh("whole_waves", taken)
        call = self._rest_call(rest.name, smaller, (tiles, whole), parts)
        self._tree.body.insert(self._tree.body.index(self._kernel) + 1, rest)
        host = function_of(self._tree, self._launch.host)
        place, position = block_of(host, launch_statement(host, self._launch))
        left = f"{tiles} % {programs}"
        place[position:position] = [
            statement(f"{tiles} = {text_of(self._tiles)}"),
            statement(f"{whole} = {tiles} - {left} if {left} * {FULL} <= {programs} < {tiles} else {tiles}"),
        ]
        place.insert(position + 3, ast.Expr(call))
        set_grid(self._launch, expression(f"({whole},)"))

    def _smaller(self, parts: Mapping[str, int]) -> dict[str, ast.expr]:
        """New constants of the module, by the names of those that are the launch's tile rows and columns."""
        constants: dict[str, ast.expr] = {}
        for place, count in parts.items():
            constant = self._extent(place)
            size = self._launch.keywords.get(constant)
            defined = [n for n in self._tree.body if isinstance(n, ast.Assign) and text_of(n.targets[0]) == _name(size)]
            value = defined[0].value if len(defined) == 1 else None
            if not isinstance(value, ast.Constant) or not isinstance(value.value, int):
                raise refuse(f"the launch gives {constant!r} no constant of the module")
            if value.value % count or value.value // count < SMALLEST:
                raise refuse(f"{value.value} cut into {count} parts gives tiles below {SMALLEST}")
            if count > 1:
                name = fresh(f"{constant}_REST", names_in([self._tree]))
                self._tree.body.insert(
                    self._tree.body.index(defined[0]) + 1, statement(f"{name} = {value.value // count}")
                )
                constants[_name(size)] = ast.Name(name, ast.Load())
        return constants

    def _extent(self, place: str) -> str:
        """The constant that the place of a tile, under the name that it goes by, is multiplied with."""
        names = {place}
        for node in self._kernel.body:
            if isinstance(node, ast.Assign) and _name(node.value) in names:
                names.add(text_of(node.targets[0]))
        constants = constexprs(self._kernel)
        for product in ast.walk(self._kernel):
            if isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult):
                sides = {_name(product.left), _name(product.right)}
                if sides & names and len(sides & constants) == 1:
                    return next(iter(sides & constants))
        raise refuse(f"no constant of {self._kernel.name!r} is the extent of a tile along {place!r}")

    def _rest_kernel(self, parts: Mapping[str, int]) -> ast.FunctionDef:
        rest = copy.deepcopy(self._kernel)
        rest.name = fresh(f"{self._kernel.name}{REST}", names_in([self._tree]))
        pieces = parts[ROW] * parts[COLUMN]
        tile, part = f"{FIRST} + tl.program_id(0) // {pieces}", f"tl.program_id(0) % {pieces}"
        replace_calls(rest.body, lambda call: expression(tile) if text_of(call) == "tl.program_id(0)" else None)
        place = {ROW: f"{part} // {parts[COLUMN]}", COLUMN: f"{part} % {parts[COLUMN]}"}
        for name, node in _places(rest).items():
            node.value = expression(f"({text_of(node.value)}) * {parts[name]} + {place[name]}")
        insert_parameters(rest, [FIRST])
        return rest

    def _rest_call(
        self, name: str, smaller: Mapping[str, ast.expr], counts: tuple[str, str], parts: Mapping[str, int]
    ) -> ast.Call:
        """The launch of the small tiles; `counts` names the number of tiles and that of those in whole waves."""
        call = copy.deepcopy(self._launch.node)
        for keyword in call.keywords:
            if keyword.arg not in COUNTS:
                keyword.value = substituted(keyword.value, smaller)
        tiles, whole = counts
        set_keyword(call, FIRST, expression(whole))
        grid = expression(f"(({tiles} - {whole}) * {parts[ROW] * parts[COLUMN]},)")
        call.func = ast.Subscript(ast.Name(name, ast.Load()), grid, ast.Load())
        return call


def _places(function: ast.FunctionDef) -> dict[str, ast.Assign]:
    """The statements that say which tile a program makes."""
    assigned = {text_of(node.targets[0]): node for node in function.body if isinstance(node, ast.Assign)}
    return {name: assigned[name] for name in (ROW, COLUMN) if name in assigned}


def _name(node: ast.expr | None) -> str:
    return node.id if isinstance(node, ast.Name) else ""
