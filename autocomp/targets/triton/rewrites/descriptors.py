"""Tiles moved by the tensor memory accelerator, through descriptors made on the host."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autocomp.errors import NotApplicable
from autocomp.targets.triton.language.module import Launch, Module, parameters
from autocomp.targets.triton.rewrites.rewrite import Offer, Rewrite, Setting, refuse, wanted
from autocomp.targets.triton.rewrites.syntax.access import Access, Accesses, offset_text
from autocomp.targets.triton.rewrites.syntax.cleaning import drop_unused, drop_unused_parameters
from autocomp.targets.triton.rewrites.syntax.tree import (
    block_of,
    bound_arguments,
    calls_in,
    constexprs,
    edited,
    expression,
    fresh,
    function_of,
    has_dot,
    launch_statement,
    launches_of,
    main_kernels,
    name_arguments,
    names_in,
    replace_calls,
    statement,
    substituted,
    text_of,
)

IMPORT = "from triton.tools.tensor_descriptor import TensorDescriptor"
ALIGNMENT = 16  # bytes that strides must be multiples of (CUDA driver API, cuTensorMapEncodeTiled)
OUTER = "1 << 30"  # extent of a dimension that an index is never out of


@dataclass(frozen=True)
class Tile:
    """An access that a descriptor can serve. `order` lists its axes from the outer to the contiguous one; `indices` are
    those of the dimensions outside of the tile, with their strides; `extents` bound the tile's own, in `order`."""

    access: Access
    order: tuple[int, int]
    indices: tuple[tuple[str, str], ...]
    extents: tuple[str, str]

    @property
    def transposed(self) -> bool:
        return self.order == (1, 0)

    def strides(self) -> list[str]:
        """Of all dimensions, the last one left out: it is 1."""
        outer, _ = self.order
        own = [" * ".join(self.access.stride(outer)) or "1"]
        return [stride for _, stride in self.indices] + own

    def shape(self) -> list[str]:
        return [OUTER for _ in self.indices] + list(self.extents)

    def block(self) -> list[str]:
        return ["1" for _ in self.indices] + [self.access.extent(axis) for axis in self.order]

    def coordinates(self) -> list[str]:
        own = [offset_text(self.access.offsets[axis], self.access.stride(axis)) for axis in self.order]
        return [f"tl.cast({index}, tl.int32)" for index, _ in self.indices] + [_plain(text) for text in own]


class TensorDescriptors(Rewrite):
    name = "tensor_descriptors"
    doc = (
        "Load and store tiles through tensor descriptors: one thread starts a copy by the tensor memory accelerator, "
        "which bounds-checks and fills with zeros, so that registers and address arithmetic fall away. Pays for "
        "products on Hopper and later, with few large tiles (CUDA programming guide; Triton's tutorial 09). Shapes "
        "that a descriptor cannot describe keep the kernel that there was."
    )

    def offers(self, module: Module, setting: Setting) -> Sequence[Offer]:
        if setting.capability < (9, 0):
            return ()
        choices = []
        for kernel in main_kernels(module):
            if not has_dot([module.kernels[kernel]]):
                continue
            for stores in (False, True):
                if not self.applies(module, {"kernel": kernel, "stores": stores}):
                    continue
                what = "loads and stores" if stores else "loads"
                choices.append(Offer({"kernel": kernel, "stores": stores}, f"{what} of {kernel} by descriptors", 0.3))
        return choices

    def apply(self, module: Module, parameters: Mapping[str, Any]) -> Module:
        kernel = wanted(parameters, "kernel", str)
        stores = wanted(parameters, "stores", bool, False)

        def edit(tree: ast.Module) -> None:
            _Conversion(tree, kernel, stores).convert()

        return edited(module, edit)


class _Conversion:
    def __init__(self, tree: ast.Module, kernel: str, stores: bool) -> None:
        self._tree = tree
        self._stores = stores
        self._kernel = function_of(tree, kernel)
        self._launches = launches_of(tree, kernel)
        if not self._launches:
            raise refuse(f"the kernel {kernel!r} is not launched")
        self._name_constants()
        self._tiles = self._find_tiles()

    def convert(self) -> None:
        fast = copy.deepcopy(self._kernel)
        fast.name = fresh(f"{self._kernel.name}_descriptors", names_in([self._tree]))
        # The copy's accesses are found again: nodes of the copy are not those of the original.
        tiles = {_key(tile.access): tile for tile in self._tiles}
        names = self._descriptor_names(fast, tiles)
        self._replace_accesses(fast, tiles, names)
        whole = [pointer for pointer in names if pointer not in _uses(fast)]
        for argument in fast.args.args:
            if argument.arg in whole:
                argument.arg = names[argument.arg]
        added = [names[pointer] for pointer in names if pointer not in whole]
        position = next((i for i, a in enumerate(fast.args.args) if a.annotation is not None), len(fast.args.args))
        fast.args.args[position:position] = [ast.arg(name) for name in added]
        drop_unused(fast)
        self._tree.body.insert(self._tree.body.index(self._kernel) + 1, fast)
        for launch in self._launches:
            self._dispatch(launch, fast, tiles, names, whole)
        drop_unused_parameters(self._tree, fast)
        _import_descriptor(self._tree)

    # --- which tiles ---------------------------------------------------------------------------------------------

    def _find_tiles(self) -> list[Tile]:
        tiles, reasons = [], []
        in_products = multiplied_loads(self._kernel)
        for access in Accesses(self._kernel).tiles():
            if not (_key(access) in in_products if access.is_load else self._stores):
                continue
            try:
                tiles.append(self._tile(access))
            except NotApplicable as reason:
                reasons.append(reason.message)
        converted = {tile.access.pointer for tile in tiles}
        if not any(tile.access.is_load for tile in tiles):
            why = "; ".join(dict.fromkeys(reasons)) or "no load is of a tile of rows and columns"
            raise refuse(f"no load of {self._kernel.name!r} can go through a descriptor: {why}")
        if self._stores and not any(not tile.access.is_load for tile in tiles):
            raise refuse(f"no store of {self._kernel.name!r} can go through a descriptor")
        per_pointer = {p: {_description(t) for t in tiles if t.access.pointer == p} for p in converted}
        if any(len(descriptions) > 1 for descriptions in per_pointer.values()):
            raise refuse(f"{self._kernel.name!r} reads tiles of different kinds through one pointer")
        return tiles

    def _tile(self, access: Access) -> Tile:
        where = f"{'load' if access.is_load else 'store'} of {access.pointer}"
        if access.is_load and access.other not in ("", "0", "0.0"):
            raise refuse(f"the {where} puts {access.other} where its mask is false, a descriptor puts 0")
        if access.rest_of_mask:
            raise refuse(f"the mask of the {where} says more than where the tensor ends")
        order = self._order(access)
        return Tile(
            access, order, self._indices(access), (self._extent(access, order, 0), self._extent(access, order, 1))
        )

    def _order(self, access: Access) -> tuple[int, int]:
        """The axes with the contiguous one last."""
        texts = [self._on_host(" * ".join(access.stride(axis)) or "1") for axis in (0, 1)]
        for axis in (1, 0):
            if texts[axis] == "1":
                return (1 - axis, axis)
        places = [re.fullmatch(r".*\.stride\((-?\d+)\)", text) for text in texts]
        if places[0] is None or places[1] is None:
            raise refuse(f"which axis of {access.pointer} is contiguous cannot be seen")
        numbers = [int(place.group(1)) for place in places if place is not None]
        last = 1 if numbers[1] == -1 or numbers[1] > numbers[0] else 0
        return (1 - last, last)

    def _extent(self, access: Access, order: tuple[int, int], position: int) -> str:
        """The extent of the tensor along an axis, in the kernel's names."""
        axis = order[position]
        limit = access.limits[axis]
        if limit is not None:
            return limit
        if not access.offsets[axis]:
            return access.extent(axis)
        if position == 1:  # a row is not longer than the distance between rows
            return " * ".join(access.stride(order[0]))
        raise refuse(f"the load of {access.pointer} does not say where the tensor ends")

    def _indices(self, access: Access) -> tuple[tuple[str, str], ...]:
        """Scalars added to the pointer, as indices into further dimensions and their strides."""
        given = set(parameters(self._kernel))
        indices = []
        for term in access.base:
            strides = [f for f in term.factors if f in given or f.isdigit()]
            index = [f for f in term.factors if f not in strides]
            if not index or not strides:
                raise refuse(f"{' * '.join(term.factors)}, added to {access.pointer}, is not an index times a stride")
            indices.append((" * ".join(index), " * ".join(strides)))
        if len(indices) > 2:
            raise refuse(f"{access.pointer} has more than four dimensions")
        return tuple(indices)

    # --- on the host ---------------------------------------------------------------------------------------------

    def _on_host(self, text: str, launch: Launch | None = None) -> str:
        """An expression of the kernel's parameters in the host's terms."""
        values = bound_arguments(launch or self._launches[0], self._kernel)
        return text_of(substituted(expression(text), values))

    def _name_constants(self) -> None:
        """Give constants that a launch writes as numbers a name, so that a descriptor's block follows them."""
        for launch in self._launches:
            for keyword in launch.node.keywords:
                if keyword.arg in constexprs(self._kernel) and isinstance(keyword.value, ast.Constant):
                    if not isinstance(keyword.value.value, int) or isinstance(keyword.value.value, bool):
                        continue
                    name = fresh(str(keyword.arg), names_in([self._tree]))
                    position = next(i for i, n in enumerate(self._tree.body) if isinstance(n, ast.FunctionDef))
                    self._tree.body.insert(position, statement(f"{name} = {keyword.value.value}"))
                    keyword.value = ast.Name(name, ast.Load())

    def _dispatch(
        self,
        launch: Launch,
        fast: ast.FunctionDef,
        tiles: Mapping[str, Tile],
        names: Mapping[str, str],
        whole: Sequence[str],
    ) -> None:
        """Launch the rewritten kernel where descriptors can describe the tensors, else the one that there was."""
        host = function_of(self._tree, launch.host)
        place, position = block_of(host, launch_statement(host, launch))
        old = place[position]
        new = copy.deepcopy(old)
        assert isinstance(new, ast.Expr)
        assert isinstance(new.value, ast.Call)
        assert isinstance(new.value.func, ast.Subscript)
        new.value.func.value = ast.Name(fast.name, ast.Load())
        call = Launch(fast.name, launch.host, new.value, new.value.func.slice)
        name_arguments(call, self._kernel)
        tests: dict[str, None] = {}
        by_pointer = {tile.access.pointer: tile for tile in tiles.values()}
        given = bound_arguments(launch, self._kernel)
        for pointer, name in names.items():
            tile, tensor = by_pointer[pointer], text_of(given[pointer])
            descriptor = expression(
                f"TensorDescriptor({tensor}, [{self._listed(tile.shape(), launch)}], "
                f"[{self._listed([*tile.strides(), '1'], launch)}], [{self._listed(tile.block(), launch)}])"
            )
            if pointer in whole:
                for keyword in call.node.keywords:
                    if keyword.arg == pointer:
                        keyword.arg, keyword.value = name, descriptor
            else:
                call.node.keywords.append(ast.keyword(name, descriptor))
            tests.update(dict.fromkeys(self._tests(tile, tensor, launch)))
        test = expression(" and ".join(tests))
        place[position] = ast.If(test, [new], [old])

    def _tests(self, tile: Tile, tensor: str, launch: Launch) -> list[str]:
        """The conditions that a tensor must meet for a descriptor to describe it."""
        inner = self._on_host(" * ".join(tile.access.stride(tile.order[1])) or "1", launch)
        contiguous = [] if inner == "1" else [f"{inner} == 1"]
        strides = [_grouped(self._on_host(stride, launch)) for stride in tile.strides()]
        return contiguous + [f"{stride} * {tensor}.element_size() % {ALIGNMENT} == 0" for stride in strides]

    def _listed(self, texts: Sequence[str], launch: Launch) -> str:
        return ", ".join(self._on_host(text, launch) for text in texts)

    # --- on the device -------------------------------------------------------------------------------------------

    def _descriptor_names(self, fast: ast.FunctionDef, tiles: Mapping[str, Tile]) -> dict[str, str]:
        taken = names_in([fast])
        names: dict[str, str] = {}
        for tile in tiles.values():
            pointer = tile.access.pointer
            if pointer not in names:
                names[pointer] = fresh(f"{pointer.removesuffix('_ptr')}_desc", taken | set(names.values()))
        return names

    @staticmethod
    def _replace_accesses(fast: ast.FunctionDef, tiles: Mapping[str, Tile], names: Mapping[str, str]) -> None:
        def replaced(call: ast.Call) -> ast.expr | None:
            tile = tiles.get(text_of(call))
            if tile is None:
                return None
            name, place = names[tile.access.pointer], ", ".join(tile.coordinates())
            if tile.access.is_load:
                text = f"{name}.load([{place}])"
                if tile.indices:
                    text += f".reshape({', '.join(tile.block()[len(tile.indices) :])})"
                return expression(f"{text}.T" if tile.transposed else text)
            value = text_of(call.args[1])
            value = value.replace(f"{tile.access.pointer}.dtype.element_ty", f"{name}.dtype")
            if tile.transposed:
                value = f"({value}).T"
            if tile.indices:
                value = f"({value}).reshape({', '.join(tile.block())})"
            return expression(f"{name}.store([{place}], {value})")

        replace_calls(fast.body, replaced)


def multiplied_loads(function: ast.FunctionDef) -> set[str]:
    """Loads whose tiles are operands of products: others gain nothing, and would take shared memory."""
    operands = {
        n.id
        for dot in calls_in([function], "dot")
        for arg in dot.args[:2]
        for n in ast.walk(arg)
        if isinstance(n, ast.Name)
    }
    loads = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and text_of(node.targets[0]) in operands:
            loads |= {text_of(load) for load in calls_in([node.value], "load")}
    return loads


def _uses(function: ast.FunctionDef) -> set[str]:
    """Parameters that the body still reads."""
    return {n.id for node in function.body for n in ast.walk(node) if isinstance(n, ast.Name)}


def _key(access: Access) -> str:
    return text_of(access.call)


def _description(tile: Tile) -> tuple[Any, ...]:
    return (tuple(tile.strides()), tuple(tile.shape()), tuple(tile.block()), tile.order)


def _plain(text: str) -> str:
    return text.replace("(advance)", "")


def _grouped(text: str) -> str:
    return text if isinstance(expression(text), (ast.Name, ast.Call, ast.Constant, ast.Attribute)) else f"({text})"


def _import_descriptor(tree: ast.Module) -> None:
    if any(text_of(node) == IMPORT for node in tree.body):
        return
    last = max((i for i, n in enumerate(tree.body) if isinstance(n, (ast.Import, ast.ImportFrom))), default=-1)
    tree.body.insert(last + 1, statement(IMPORT))
