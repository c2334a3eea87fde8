"""The assignment of tiles to programs, and their order."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from autocomp.targets.triton.language.module import Module
from autocomp.targets.triton.rewrites.rewrite import Offer, Rewrite, Setting, refuse, wanted
from autocomp.targets.triton.rewrites.syntax.tree import (
    calls_in,
    edited,
    expression,
    fresh,
    function_of,
    grid_of,
    has_dot,
    insert_parameters,
    launches_of,
    main_kernels,
    name_arguments,
    names_in,
    program_ids,
    replace_calls,
    set_grid,
    set_keyword,
    statement,
    statements,
    text_of,
)

GROUP = 8
_GROUPED = """
{pid} = tl.program_id(0)
{group} = {pid} // ({size} * {cols})
{first} = {group} * {size}
{height} = min({rows} - {first}, {size})
{row} = {first} + {pid} % ({size} * {cols}) % {height}
{col} = {pid} % ({size} * {cols}) // {height}
"""


class GroupPrograms(Rewrite):
    name = "group_programs"
    doc = (
        "Number the programs of a two-dimensional grid so that neighbours share rows and columns of tiles: a group of "
        "rows is finished before the next one starts. Saves traffic to memory when the operands of all programs in "
        "flight would not fit into the second-level cache (Triton's tutorial 03)."
    )

    def offers(self, module: Module, setting: Setting) -> Sequence[Offer]:
        choices = []
        for kernel in main_kernels(module):
            if not has_dot([module.kernels[kernel]]):
                continue
            if not self.applies(module, {"kernel": kernel, "group": GROUP}):
                continue
            choices.append(
                Offer({"kernel": kernel, "group": GROUP}, f"tiles of {kernel} in groups of {GROUP} rows", 0.08)
            )
        return choices

    def apply(self, module: Module, parameters: Mapping[str, Any]) -> Module:
        kernel = wanted(parameters, "kernel", str)
        size = wanted(parameters, "group", int, GROUP)
        if size < 1:
            raise refuse(f"a group has at least 1 row, got {size}")

        def edit(tree: ast.Module) -> None:
            function, launches = function_of(tree, kernel), launches_of(tree, kernel)
            grids = [grid_of(tree, launch) for launch in launches]
            axes = program_ids(function)
            if set(axes) != {0, 1} or any(len(grid) != 2 for grid in grids):
                raise refuse(f"{kernel!r} is not launched on a grid of rows and columns")
            if any(True for _ in calls_in([function], "num_programs")):
                raise refuse(f"{kernel!r} asks for the number of programs")
            names = _names(function)
            row, col = names["row"], names["col"]
            replace_calls(function.body, lambda call: _axis_name(call, {0: row, 1: col}))
            function.body[0:0] = statements(_GROUPED.format(**names))
            insert_parameters(function, [names["rows"], names["cols"]])
            insert_parameters(function, [names["size"]], constant=True)
            for launch, grid in zip(launches, grids, strict=True):
                name_arguments(launch, function)
                set_keyword(launch.node, names["rows"], grid[0])
                set_keyword(launch.node, names["cols"], grid[1])
                set_keyword(launch.node, names["size"], ast.Constant(size))
                set_grid(launch, expression(f"({text_of(grid[0])} * ({text_of(grid[1])}),)"))

        return edited(module, edit)


def _names(function: ast.FunctionDef) -> dict[str, str]:
    taken = names_in([function])
    wanted_names = {
        "pid": "pid",
        "group": "group",
        "first": "first_row",
        "height": "rows_of_group",
        "row": "row_of_tiles",
        "col": "column_of_tiles",
        "rows": "rows_of_tiles",
        "cols": "columns_of_tiles",
        "size": "GROUP",
    }
    return {key: fresh(name, taken) for key, name in wanted_names.items()}


def _axis_name(call: ast.Call, names: Mapping[int, str]) -> ast.expr | None:
    """The variable in place of a program id."""
    if next(calls_in([ast.Expr(call)], "program_id"), None) is not call:
        return None
    axis = call.args[0] if call.args else call.keywords[0].value
    if isinstance(axis, ast.Constant) and isinstance(axis.value, int):
        return ast.Name(names[axis.value], ast.Load())
    return None


class Persistent(Rewrite):
    name = "persistent"
    doc = (
        "Launch as many programs as the device runs at once, and let each do several tiles in a loop: the next "
        "tile's loads start while this one's results are stored, if the loop is flattened, and launching costs once. "
        "Pays where tiles are many and short, or the last wave is mostly empty (Triton's tutorial 09)."
    )

    def offers(self, module: Module, setting: Setting) -> Sequence[Offer]:
        choices = []
        for kernel in main_kernels(module):
            dots = has_dot([module.kernels[kernel]])
            for each, flatten, gain in (
                ((1, True, 0.06), (2, True, 0.05), (1, False, 0.04)) if dots else ((8, False, 0.02), (4, False, 0.02))
            ):
                given = {"kernel": kernel, "programs": each * setting.multiprocessors, "flatten": flatten}
                if not self.applies(module, given):
                    continue
                how = "flattened " if flatten else ""
                choices.append(
                    Offer(given, f"{kernel} in {given['programs']} programs with a {how}loop over tiles", gain)
                )
        return choices

    def apply(self, module: Module, parameters: Mapping[str, Any]) -> Module:
        kernel = wanted(parameters, "kernel", str)
        programs = wanted(parameters, "programs", int)
        flatten = wanted(parameters, "flatten", bool, False)
        stages = parameters.get("stages")
        if programs < 1:
            raise refuse(f"at least 1 program is needed, got {programs}")

        def edit(tree: ast.Module) -> None:
            function, launches = function_of(tree, kernel), launches_of(tree, kernel)
            grids = [grid_of(tree, launch) for launch in launches]
            if set(program_ids(function)) != {0} or any(len(grid) != 1 for grid in grids):
                raise refuse(f"{kernel!r} is not launched on a grid of one dimension", "group its programs first")
            if any(True for _ in calls_in([function], "num_programs")):
                raise refuse(f"{kernel!r} asks for the number of programs")
            if any(isinstance(node, ast.Return) for node in ast.walk(function)):
                raise refuse(f"{kernel!r} returns early")
            taken = names_in([function])
            tile, tiles = fresh("tile", taken), fresh("tiles", taken)
            _loop_over_tiles(function, tile, tiles, flatten, stages)
            insert_parameters(function, [tiles])
            for launch, grid in zip(launches, grids, strict=True):
                name_arguments(launch, function)
                count = text_of(grid[0])
                set_keyword(launch.node, tiles, grid[0])
                set_grid(launch, expression(f"(min({count}, {programs}),)"))

        return edited(module, edit)


def _loop_over_tiles(function: ast.FunctionDef, tile: str, tiles: str, flatten: bool, stages: Any) -> None:
    """Put a function's body into a loop over the tiles of its program."""
    replace_calls(function.body, lambda call: _axis_name(call, {0: tile}))
    options = ", flatten=True" if flatten else ""
    options += f", num_stages={int(stages)}" if stages else ""
    loop = statement(f"for {tile} in tl.range(tl.program_id(0), {tiles}, tl.num_programs(0){options}):\n    pass")
    assert isinstance(loop, ast.For)
    has_text = isinstance(function.body[0], ast.Expr) and isinstance(function.body[0].value, ast.Constant)
    head = function.body[:1] if has_text else []
    loop.body = function.body[len(head) :]
    function.body = [*head, loop]


class ReversePrograms(Rewrite):
    name = "reverse_programs"
    doc = (
        "Start the programs along an axis from the last one. Where later programs have longer loops, as in causal "
        "attention, the short ones then fill the end of the launch (longest processing time first, Graham 1969)."
    )

    def offers(self, module: Module, setting: Setting) -> Sequence[Offer]:
        choices = []
        for kernel in main_kernels(module):
            if _loop_depends_on_program(module.kernels[kernel]) and "reversed" not in module.text:
                choices.append(Offer({"kernel": kernel, "axis": 0}, f"{kernel} starts with its longest programs", 0.08))
        return choices

    def apply(self, module: Module, parameters: Mapping[str, Any]) -> Module:
        kernel, axis = wanted(parameters, "kernel", str), wanted(parameters, "axis", int, 0)

        def edit(tree: ast.Module) -> None:
            function = function_of(tree, kernel)
            if axis not in program_ids(function):
                raise refuse(f"{kernel!r} does not ask for its program's number along axis {axis}")
            name = fresh("reversed_program", names_in([function]))
            if name != "reversed_program":
                raise refuse(f"the programs of {kernel!r} are reversed already")
            replace_calls(function.body, lambda call: _on_axis(call, axis, name))
            function.body.insert(0, statement(f"{name} = tl.num_programs({axis}) - 1 - tl.program_id({axis})"))

        return edited(module, edit)


def _on_axis(call: ast.Call, axis: int, name: str) -> ast.expr | None:
    if next(calls_in([ast.Expr(call)], "program_id"), None) is not call:
        return None
    given = call.args[0] if call.args else call.keywords[0].value
    return ast.Name(name, ast.Load()) if isinstance(given, ast.Constant) and given.value == axis else None


def _loop_depends_on_program(function: ast.FunctionDef) -> bool:
    """True if the number of rounds of a loop depends on the program that it is in."""
    if any(True for _ in calls_in([function], "num_programs")):
        return False
    depends: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            names = {n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)}
            if names & depends or any(True for _ in calls_in([node], "program_id")):
                depends.add(node.targets[0].id)
    ends = [node.iter for node in ast.walk(function) if isinstance(node, ast.For)]
    return any(isinstance(n, ast.Name) and n.id in depends for end in ends for n in ast.walk(end))
