"""Two products of the same rows, made by one kernel: what the second kernel reads back of the first stays in
registers."""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence
from typing import Any

from autocomp.targets.triton.language.module import Launch, Module, parameters
from autocomp.targets.triton.rewrites.chains.fusion import put, result_of
from autocomp.targets.triton.rewrites.rewrite import Offer, Rewrite, Setting, refuse, wanted
from autocomp.targets.triton.rewrites.syntax.access import Accesses
from autocomp.targets.triton.rewrites.syntax.cleaning import drop_unused, drop_unused_parameters
from autocomp.targets.triton.rewrites.syntax.tree import (
    block_of,
    blocks,
    bound_arguments,
    calls_in,
    constexprs,
    edited,
    fresh,
    function_of,
    has_dot,
    insert_parameters,
    launch_statement,
    launches_of,
    loads_of,
    main_kernels,
    name_arguments,
    names_in,
    rename,
    set_keyword,
    stores_of,
    text_of,
)


class JoinProducts(Rewrite):
    name = "join_products"
    doc = (
        "Make two products of the same left operand in one loop, where the kernel that makes the second reads the "
        "first one back: rows are loaded once for both, and the first product need not go to memory and back (the "
        "gated products of SwiGLU, as in fused MLP kernels). Tiles of both share the registers: each is half as wide. "
        "Apply it after the second product has its epilogue, and before the order of programs is changed."
    )

    def offers(self, module: Module, setting: Setting) -> Sequence[Offer]:
        choices = []
        kernels = [kernel for kernel in main_kernels(module) if has_dot([module.kernels[kernel]])]
        for kernel in kernels:
            for producer in kernels:
                given = {"kernel": kernel, "producer": producer}
                if kernel != producer and self.applies(module, given):
                    choices.append(Offer(given, f"{kernel} makes what it reads of {producer} itself", 0.15))
        return choices

    def apply(self, module: Module, parameters: Mapping[str, Any]) -> Module:
        kernel, producer = wanted(parameters, "kernel", str), wanted(parameters, "producer", str)

        def edit(tree: ast.Module) -> None:
            _Join(tree, kernel, producer).join()

        return edited(module, edit)


class _Join:
    """`second` is the launch of the kernel that reads, `first` the one in front of it, whose product it reads."""

    def __init__(self, tree: ast.Module, kernel: str, producer: str) -> None:
        self._tree = tree
        self._kernel, self._producer = function_of(tree, kernel), function_of(tree, producer)
        launches = launches_of(tree, kernel)
        if len(launches) != 1 or not (has_dot([self._kernel]) and has_dot([self._producer])):
            raise refuse(f"{kernel!r} is not a product that is launched once, after another of {producer!r}")
        self._second = launches[0]
        self._host = function_of(tree, self._second.host)
        self._first = self._in_front()

    def join(self) -> None:
        merged = copy.deepcopy(self._kernel)
        merged.name = fresh(f"{self._kernel.name}_joined", names_in([self._tree]))
        read = self._read_back()
        value = self._take_in(merged)
        merged.body = [put(node, text_of(read), value) for node in merged.body]
        drop_unused(merged)
        self._tree.body.insert(self._tree.body.index(self._kernel) + 1, merged)
        self._launch(merged)
        drop_unused_parameters(self._tree, merged)
        self._forget()

    # --- what fits together --------------------------------------------------------------------------------------

    def _in_front(self) -> Launch:
        place, position = block_of(self._host, launch_statement(self._host, self._second))
        for launch in launches_of(self._tree, self._producer.name):
            same_host = launch.host == self._host.name
            if position and same_host and launch_statement(self._host, launch) is place[position - 1]:
                if text_of(launch.grid) != text_of(self._second.grid):
                    raise refuse("the two products are launched on different grids")
                return launch
        raise refuse(f"{self._producer.name!r} is not what is launched in front of {self._kernel.name!r}")

    def _read_back(self) -> ast.Call:
        """The kernel's load of what the producer stores, and nothing else does read."""
        stores = list(calls_in([self._producer], "store"))
        if len(stores) != 1:
            raise refuse(f"{self._producer.name!r} has {len(stores)} stores, expected 1")
        stored = Accesses(self._producer).tile(stores[0])
        tensor = text_of(bound_arguments(self._first, self._producer)[stored.pointer])
        given = bound_arguments(self._second, self._kernel)
        reads = [
            access.call
            for access in Accesses(self._kernel).tiles()
            if access.is_load and text_of(given.get(access.pointer, ast.Constant(None))) == tensor
        ]
        if len(reads) != 1:
            raise refuse(f"{self._kernel.name!r} does not load once what {self._producer.name!r} stores")
        self._tensor = tensor
        return reads[0]

    # --- the merged kernel ---------------------------------------------------------------------------------------

    def _take_in(self, merged: ast.FunctionDef) -> ast.expr:
        """Make the producer's sum in the merged kernel's loop; the expression of its result."""
        body = copy.deepcopy(self._producer.body)
        names = self._parameters(merged)
        own, other = _loop(merged), _loop(self._producer)
        at, split = merged.body.index(own), self._producer.body.index(other)
        taken = names_in([merged]) | set(names.values())
        for name in stores_of(body[:split]) & stores_of([body[split]]):  # sums: each product has its own
            names[name] = fresh(name, taken)
            taken.add(names[name])
        before = _new(body[:split], merged.body[:at], names, taken)
        loop = body[split]
        assert isinstance(loop, ast.For)
        inside = _new(loop.body, own.body, names, taken)
        header = ast.For(loop.target, loop.iter, [], [])
        rename([header], names)
        if text_of(header.iter) != text_of(own.iter) or text_of(header.target) != text_of(own.target):
            raise refuse("the loops of the two products differ")
        store = next(calls_in(body[split + 1 :], "store"))
        after = [node for node in body[split + 1 :] if not (isinstance(node, ast.Expr) and node.value is store)]
        result = ast.Expr(result_of(store))
        after = _new(after, merged.body[at + 1 :], names, taken)
        rename([result], names)
        merged.body[at + 1 : at + 1] = after
        own.body += inside
        merged.body[at:at] = before
        return result.value

    def _parameters(self, merged: ast.FunctionDef) -> dict[str, str]:
        """The names of the producer's parameters in the merged kernel, which gets those that it lacks."""
        second = bound_arguments(self._second, self._kernel)
        known = {text_of(value): name for name, value in second.items()}
        first = bound_arguments(self._first, self._producer)
        taken = names_in([merged])
        names: dict[str, str] = {}
        self._added: dict[str, ast.expr] = {}
        for name in parameters(self._producer):
            if name not in first or text_of(first[name]) == self._tensor:
                continue
            text = text_of(first[name])
            shared = name if name in second and text_of(second[name]) == text else known.get(text)
            constant = name in constexprs(self._producer)
            if shared is not None and constant == (shared in constexprs(self._kernel)):
                names[name] = shared
            elif constant:
                raise refuse(f"{self._kernel.name!r} does not have the constant {name!r}")
            else:
                names[name] = fresh(name, taken | set(names.values()))
                self._added[names[name]] = first[name]
        insert_parameters(merged, list(self._added))
        return names

    # --- the launch ----------------------------------------------------------------------------------------------

    def _launch(self, merged: ast.FunctionDef) -> None:
        name_arguments(self._second, self._kernel)
        assert isinstance(self._second.node.func, ast.Subscript)
        self._second.node.func.value = ast.Name(merged.name, ast.Load())
        for name, value in self._added.items():
            set_keyword(self._second.node, name, value)
        place, position = block_of(self._host, launch_statement(self._host, self._first))
        del place[position]

    def _forget(self) -> None:
        """Remove the first product's memory, and kernels that nothing launches any more."""
        if loads_of(self._host.body)[self._tensor]:
            raise refuse(f"{self._tensor!r} is read elsewhere too")
        for block in blocks(self._host):
            block[:] = [n for n in block if not (isinstance(n, ast.Assign) and text_of(n.targets[0]) == self._tensor)]
        for function in (self._producer, self._kernel):
            if not launches_of(self._tree, function.name, main=False) and function in self._tree.body:
                self._tree.body.remove(function)


def _loop(function: ast.FunctionDef) -> ast.For:
    """The only loop of a kernel, at its top level."""
    loops = [node for node in ast.walk(function) if isinstance(node, (ast.For, ast.While))]
    if len(loops) != 1 or not isinstance(loops[0], ast.For) or loops[0] not in function.body:
        raise refuse(f"{function.name!r} has not one loop at its top level")
    return loops[0]


def _new(body: Sequence[ast.stmt], known: Sequence[ast.stmt], names: dict[str, str], taken: set[str]) -> list[ast.stmt]:
    """The statements that `known` lacks, under names of their own. `names` gets what was renamed."""
    texts = {text_of(node) for node in known}
    statements = []
    for node in body:
        rename([node], names)
        if text_of(node) in texts:
            continue
        own = {name: fresh(name, taken) for name in stores_of([node]) if name in taken and name not in names.values()}
        rename([node], own)
        names.update(own)
        taken |= set(own.values()) | set(stores_of([node]))
        statements.append(node)
    return statements
