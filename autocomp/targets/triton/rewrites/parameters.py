"""Launch parameters and compile-time constants: found in the source of any kernel, and set there."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autocomp.errors import NotApplicable
from autocomp.targets.triton.language.module import OPTIONS, Launch, Module, dotted
from autocomp.targets.triton.rewrites.rewrite import Offer, Rewrite, Setting, refuse, wanted
from autocomp.targets.triton.rewrites.syntax.tree import (
    bound_arguments,
    calls_in,
    constexprs,
    edited,
    fresh,
    function_of,
    grid_of,
    has_dot,
    launches_of,
    loads_of,
    main_kernels,
    names_in,
    rename,
    set_keyword,
    statement,
    text_of,
)
from autocomp.targets.triton.rewrites.tiles import (
    IN_PARTS,
    MANY,
    PRODUCTS,
    ROUNDED,
    SCALE_BLOCK,
    WIDE,
    product_tiles,
    roles_of,
    sums_of_products,
    tiles_read,
)

USUAL = {"num_warps": 4, "num_stages": 3, "num_ctas": 1}  # what Triton takes where a launch says nothing


@dataclass(frozen=True)
class Tunable:
    """A number that a launch gives its kernel: a compile-time constant, or an option of the launch."""

    name: str
    value: int
    option: bool


def tunables(module: Module, kernel: str, launch: int = 0) -> dict[str, Tunable]:
    """The numbers that can be set for a kernel, by name, as its main launch of that position has them."""
    launches = launches_of(module.tree, kernel)
    if launch >= len(launches):
        raise refuse(f"the kernel {kernel!r} is not launched {launch + 1} times")
    function = function_of(module.tree, kernel)
    parameters = {name: Tunable(name, value, True) for name, value in USUAL.items() if name != "num_ctas"}
    for name, value in launches[launch].keywords.items():
        number = _number(value, module, launches[launch].host)
        if number is not None and (name in OPTIONS or name in constexprs(function)):
            parameters[name] = Tunable(name, number, name in OPTIONS)
    return parameters


def _number(value: ast.expr, module: Module, host: str) -> int | None:
    """The integer that an expression is: a literal, or a name that is assigned one once."""
    if isinstance(value, ast.Constant) and isinstance(value.value, int) and not isinstance(value.value, bool):
        return value.value
    if isinstance(value, ast.Name):
        if value.id in module.constants:
            return _number(module.constants[value.id], module, host)
        function = module.functions[host]
        given = [n.value for n in ast.walk(function) if isinstance(n, ast.Assign) and _target(n) == value.id]
        return _number(given[0], module, host) if len(given) == 1 and isinstance(given[0], ast.Constant) else None
    return None


def _target(node: ast.Assign) -> str:
    target = node.targets[0]
    return target.id if isinstance(target, ast.Name) else ""


class SetParameters(Rewrite):
    name = "set_parameters"
    doc = (
        "Set tile sizes, warps, pipelining stages and other numbers of a launch. Products on Hopper want tiles of "
        "128 x 256 x 64 with 8 warps and 3 or 4 stages; rows in one block want 4 to 16 warps (Triton's tutorials 02, "
        "06 and 09; measured here)."
    )

    def offers(self, module: Module, setting: Setting) -> Sequence[Offer]:
        choices: list[Offer] = []
        for kernel in main_kernels(module):
            for position in range(len(launches_of(module.tree, kernel))):
                choices += _offers(module, kernel, position, setting)
        return sorted(choices, key=lambda offer: -offer.gain)

    def offers_of(self, module: Module, kernel: str, setting: Setting) -> Sequence[Offer]:
        """Offers for the first launch of one kernel, best first."""
        return sorted(_offers(module, kernel, 0, setting), key=lambda offer: -offer.gain)

    def apply(self, module: Module, parameters: Mapping[str, Any]) -> Module:
        kernel = wanted(parameters, "kernel", str)
        values = wanted(parameters, "values", dict)
        position = parameters.get("launch")
        known = tunables(module, kernel, position or 0)
        for name, value in values.items():
            if name not in known and name not in OPTIONS:
                raise refuse(f"{kernel!r} has no parameter {name!r}", f"parameters: {', '.join(known)}")
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise refuse(f"the value of {name!r} is {value!r}, expected a positive integer")

        def edit(tree: ast.Module) -> None:
            launches = launches_of(tree, kernel)
            chosen = launches if position is None else [launches[position]]
            for launch in chosen:
                for name, value in values.items():
                    _set(tree, module, launch, name, value)

        return edited(module, edit)


def _set(tree: ast.Module, module: Module, launch: Launch, name: str, value: int) -> None:
    """Give one launch another value of a setting; if the value has a name, the launch's grid follows."""
    old = launch.keywords.get(name)
    if isinstance(old, ast.Name) and old.id in module.constants:
        _set_constant(tree, launch, old.id, value)
    elif isinstance(old, ast.Name):
        _reassign(tree, launch, old.id, value)
    else:
        _retile_grid(launch, name, old, value)
        set_keyword(launch.node, name, ast.Constant(value))


def _set_constant(tree: ast.Module, launch: Launch, name: str, value: int) -> None:
    """Change a constant that nothing but one launch uses; else give that launch a constant of its own."""
    inside: list[ast.AST] = [launch.node]
    if isinstance(launch.grid, ast.Name):
        host = function_of(tree, launch.host)
        inside += [n for n in ast.walk(host) if isinstance(n, ast.Assign) and _target(n) == launch.grid.id]
    definition = next(n for n in tree.body if isinstance(n, ast.Assign) and _target(n) == name)
    if loads_of(tree.body)[name] > loads_of(inside)[name]:
        own = fresh(name, names_in([tree]))
        tree.body.insert(tree.body.index(definition) + 1, statement(f"{own} = {value}"))
        rename(inside, {name: own})
    else:
        definition.value = ast.Constant(value)


def _reassign(tree: ast.Module, launch: Launch, name: str, value: int) -> None:
    for node in ast.walk(function_of(tree, launch.host)):
        if isinstance(node, ast.Assign) and _target(node) == name and isinstance(node.value, ast.Constant):
            node.value = ast.Constant(value)


def _retile_grid(launch: Launch, name: str, old: ast.expr | None, value: int) -> None:
    """A tile's size written as a number into the launch is repeated in its grid as `cdiv(extent, number)`."""
    if not isinstance(old, ast.Constant) or name in OPTIONS:
        return
    for call in ast.walk(launch.grid):
        divides = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "cdiv"
        if divides and isinstance(call, ast.Call) and isinstance(call.args[1], ast.Constant):
            others = [v for k, v in launch.keywords.items() if k != name and k not in OPTIONS]
            same = any(isinstance(v, ast.Constant) and v.value == old.value for v in others)
            if call.args[1].value == old.value and not same:
                call.args[1] = ast.Constant(value)


# --- which values are worth trying -----------------------------------------------------------------------------------

_ATTENTION = (  # query rows, key rows, warps, stages, blocks that share the registers of a multiprocessor
    (64, 64, 4, 3, 0, 0.55),
    (64, 64, 4, 3, 3, 0.5),
    (128, 64, 8, 2, 2, 0.45),
    (128, 64, 8, 3, 0, 0.4),
    (128, 128, 8, 2, 0, 0.35),
    (64, 64, 4, 2, 3, 0.35),
    (64, 32, 4, 3, 3, 0.3),
)
REGISTERS = 65_536  # of a multiprocessor (CUDA programming guide, compute capabilities from 5.0 on)
MOST_REGISTERS = 255  # of a thread


def _offers(module: Module, kernel: str, position: int, setting: Setting) -> list[Offer]:
    known = tunables(module, kernel, position)
    function = function_of(module.tree, kernel)
    dots = has_dot([function])
    names = {name for name, tunable in known.items() if not tunable.option}
    combined: list[tuple[dict[str, int], float]] = []
    extents = _extents(module, kernel, position)
    role = roles_of(names)
    if dots and {"BLOCK_M", "BLOCK_K"} <= role.keys() and ("BLOCK_N" in role or extents[1] < MANY):
        products = sums_of_products(function)
        read = tiles_read(function, products)
        rounded = any("'tf32'" in text_of(call) for call in calls_in([function], "dot"))
        tiles = PRODUCTS if setting.element_bytes != 4 else ROUNDED if rounded else WIDE
        if rounded and max(read) > products:
            tiles = IN_PARTS
        sizes = {name: tunable.value for name, tunable in known.items()}
        combined = product_tiles(sizes, names, setting, extents, products, read, tiles)
    elif dots and {"BLOCK_M", "BLOCK_N"} <= role.keys():
        for m, n, w, s, blocks, gain in _ATTENTION:
            tile = {role["BLOCK_M"]: m, role["BLOCK_N"]: n, "num_warps": w, "num_stages": s}
            combined.append((tile | ({"maxnreg": registers_for(w, blocks)} if blocks else {}), gain))
    where = {} if len(launches_of(module.tree, kernel)) == 1 else {"launch": position}
    offers = [
        Offer({"kernel": kernel, **where, "values": values}, f"tiles for {kernel}: {_shown(values)}", gain)
        for values, gain in combined
        if any(name not in known or known[name].value != value for name, value in values.items())
    ]
    return offers + [
        Offer({"kernel": kernel, **where, "values": values}, f"{kernel}: {_shown(values)}", gain)
        for values, gain in _single(known, dots, function)
        if not dots or _fits({**{name: t.value for name, t in known.items()}, **values}, setting)
    ]


def programs_of(module: Module, kernel: str, values: Mapping[str, int]) -> int:
    """The programs of a kernel's first launch with other values of its parameters; 0 where its grid has more than
    numbers and quotients of them."""
    launch = launches_of(module.tree, kernel)[0]
    named = {
        name.id: values[key] for key, name in launch.keywords.items() if isinstance(name, ast.Name) and key in values
    }
    constants = {name: node.value for name, node in module.constants.items() if isinstance(node, ast.Constant)}
    numbers = {name: value for name, value in constants.items() if isinstance(value, int)} | named
    try:
        return math.prod(_evaluated(extent, numbers) for extent in grid_of(module.tree, launch))
    except (NotApplicable, KeyError):
        return 0


def _evaluated(node: ast.expr, numbers: Mapping[str, int]) -> int:
    """The value of a product or quotient of numbers. Raises KeyError for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _evaluated(node.left, numbers) * _evaluated(node.right, numbers)
    if isinstance(node, ast.Call) and dotted(node.func) == "triton.cdiv":
        over, by = (_evaluated(argument, numbers) for argument in node.args)
        return -(-over // by)
    return numbers[text_of(node)]


def registers_for(warps: int, blocks: int) -> int:
    """Registers that a thread may have where `blocks` blocks of `warps` warps share a multiprocessor: a multiple of 8,
    the unit of allocation."""
    return min(MOST_REGISTERS, REGISTERS // (32 * warps * blocks) // 8 * 8)


def _fits(values: Mapping[str, int], setting: Setting) -> bool:
    """True if a tile's operands fit into shared memory, and its results into registers."""
    role = roles_of(set(values))
    if not {"BLOCK_M", "BLOCK_N"} <= role.keys():
        return True
    m, n = values[role["BLOCK_M"]], values[role["BLOCK_N"]]
    depth = values[role["BLOCK_K"]] if "BLOCK_K" in role else 0
    if depth == SCALE_BLOCK and setting.element_bytes == 1 and n > SCALE_BLOCK:
        return False  # a tile would need the scales of several blocks of columns
    shared = (m + n) * depth * setting.element_bytes * values["num_stages"]
    return shared <= setting.shared_bytes and m * n <= (MOST_REGISTERS - 32) * 32 * values["num_warps"]


def _extents(module: Module, kernel: str, position: int) -> tuple[int, int]:
    """The rows and columns of a product, where its launch gives them as numbers M and N."""
    launch = launches_of(module.tree, kernel)[position]
    given = bound_arguments(launch, function_of(module.tree, kernel))

    def number(name: str) -> int:
        node = given.get(name)
        return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else MANY

    return number("M"), number("N")


def _single(known: Mapping[str, Tunable], dots: bool, function: ast.FunctionDef) -> list[tuple[dict[str, int], float]]:
    """One number changed at a time: twice and half of what it is."""
    settings: list[tuple[dict[str, int], float]] = []
    warps, stages = known["num_warps"].value, known["num_stages"].value
    for value in (2 * warps, warps // 2, *(() if dots else (4 * warps,))):
        if 1 <= value <= (16 if dots else 32):
            settings.append(({"num_warps": value}, 0.04 if value != 4 * warps else 0.02))
    for blocks in (2, 3) if dots and "maxnreg" not in known else ():
        settings.append(({"maxnreg": registers_for(warps, blocks)}, 0.03))
    if any(isinstance(node, ast.For) for node in ast.walk(function)):
        for value in (stages + 1, stages - 1):
            if 1 <= value <= 7:
                settings.append(({"num_stages": value}, 0.03))
    depth = roles_of({name for name, tunable in known.items() if not tunable.option}).get("BLOCK_K")
    for name, tunable in known.items():
        if tunable.option or tunable.value < 2 or (name == depth and tunable.value == SCALE_BLOCK):
            continue
        limit = (16, 256) if dots else (1, 16384)
        for value in (2 * tunable.value, tunable.value // 2):
            if limit[0] <= value <= limit[1] or name.startswith("GROUP"):
                settings.append(({name: value}, 0.03))
    return settings


def _shown(values: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())
