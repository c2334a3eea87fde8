"""Kernels that follow one another: merged into one, or started early."""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence
from typing import Any

from autocomp.targets.triton.language.module import Launch, Module, parameters
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
    statement,
    stores_of,
    text_of,
)

PRODUCT = "product of the first kernel"  # no name of a variable


class FuseEpilogue(Rewrite):
    name = "fuse_epilogue"
    doc = (
        "Do what a second kernel does to the elements of a product where the product is made: its result need not go "
        "to memory and back, and one launch is saved (CUTLASS, epilogue fusion). Both kernels must be launched on "
        "the same grid of tiles; apply it before the order of programs is changed."
    )

    def offers(self, module: Module, setting: Setting) -> Sequence[Offer]:
        choices = []
        kernels = main_kernels(module)
        for follower in kernels:
            if has_dot([module.kernels[follower]]):
                continue
            for producer in kernels:
                if not self.applies(module, {"kernel": follower, "producer": producer}):
                    continue
                given = {"kernel": follower, "producer": producer}
                choices.append(Offer(given, f"{follower} becomes the end of {producer}", 0.15))
        return choices

    def apply(self, module: Module, parameters: Mapping[str, Any]) -> Module:
        follower, producer = wanted(parameters, "kernel", str), wanted(parameters, "producer", str)

        def edit(tree: ast.Module) -> None:
            _Fusion(tree, producer, follower).fuse()

        return edited(module, edit)


class _Fusion:
    def __init__(self, tree: ast.Module, producer: str, follower: str) -> None:
        self._tree = tree
        self._producer = function_of(tree, producer)
        self._follower = function_of(tree, follower)
        second = launches_of(tree, follower)
        if len(second) != 1 or not has_dot([self._producer]) or has_dot([self._follower]):
            raise refuse(f"{follower!r} is not launched once, after a product that {producer!r} makes")
        self._second = second[0]
        self._first = self._made_before(launches_of(tree, producer))

    def fuse(self) -> None:
        store = self._store()
        read = self._read_back(store)
        merged = copy.deepcopy(self._producer)
        merged.name = fresh(f"{self._producer.name}_{self._follower.name}", names_in([self._tree]))
        tail = self._tail(merged, store, read)
        self._replace_store(merged, text_of(store), tail)
        drop_unused(merged)
        self._tree.body.insert(self._tree.body.index(self._follower) + 1, merged)
        self._launch(merged)
        self._forget(self._producer)
        self._forget(self._follower)
        drop_unused_parameters(self._tree, merged)

    # --- what fits together --------------------------------------------------------------------------------------

    def _made_before(self, launches: Sequence[Launch]) -> Launch:
        """The launch in front of the follower's whose result the follower reads, on the same grid."""
        host = function_of(self._tree, self._second.host)
        place, position = block_of(host, launch_statement(host, self._second))
        if position == 0:
            raise refuse(f"nothing is launched in front of {self._follower.name!r}")
        for launch in launches:
            if launch.host == host.name and launch_statement(host, launch) is place[position - 1]:
                if text_of(launch.grid) != text_of(self._second.grid):
                    raise refuse("the two kernels are launched on different grids")
                return launch
        raise refuse(f"{self._producer.name!r} is not what is launched in front of {self._follower.name!r}")

    def _store(self) -> ast.Call:
        stores = list(calls_in([self._producer], "store"))
        if len(stores) != 1:
            raise refuse(f"{self._producer.name!r} has {len(stores)} stores, expected 1")
        Accesses(self._producer).tile(stores[0])
        return stores[0]

    def _read_back(self, store: ast.Call) -> ast.Call:
        """The follower's load of what the producer stored."""
        tensor = self._argument(self._first, self._producer, Accesses(self._producer).tile(store).pointer)
        for access in Accesses(self._follower).tiles():
            if access.is_load and self._argument(self._second, self._follower, access.pointer) == tensor:
                self._tensor = tensor
                return access.call
        raise refuse(f"{self._follower.name!r} does not load what {self._producer.name!r} stores")

    @staticmethod
    def _argument(launch: Launch, function: ast.FunctionDef, name: str) -> str:
        given = bound_arguments(launch, function)
        return text_of(given[name]) if name in given else ""

    # --- the merged kernel ---------------------------------------------------------------------------------------

    def _tail(self, merged: ast.FunctionDef, store: ast.Call, read: ast.Call) -> list[ast.stmt]:
        """The follower's body, with the product in place of its load; parameters that both have are shared."""
        product = result_of(store)
        body = [put(node, text_of(read), ast.Name(PRODUCT, ast.Load())) for node in copy.deepcopy(self._follower.body)]
        names = self._parameters_of_follower(merged)
        known = {text_of(node) for node in merged.body}
        taken = names_in([merged]) | set(names.values())
        tail = []
        for node in body:
            same = copy.deepcopy(node)
            rename([same], names)
            if text_of(same) in known:  # both kernels compute this in the same way
                continue
            for name in stores_of([node]):
                names.setdefault(name, fresh(name, taken))
                taken.add(names[name])
            tail.append(node)
        rename(tail, names)
        return [_substituted(node, PRODUCT, product) for node in tail]

    def _parameters_of_follower(self, merged: ast.FunctionDef) -> dict[str, str]:
        """The names of the follower's parameters in the merged kernel, which gets those that it lacks."""
        known = {text_of(value): name for name, value in bound_arguments(self._first, self._producer).items()}
        second = bound_arguments(self._second, self._follower)
        taken = names_in([merged])
        names: dict[str, str] = {}
        self._added: dict[str, ast.expr] = {}
        for name in parameters(self._follower):
            shared = known.get(text_of(second[name])) if name in second else None
            constant = name in constexprs(self._follower)
            if shared is not None and constant == (shared in constexprs(self._producer)):
                names[name] = shared
            elif constant:
                raise refuse(f"{self._producer.name!r} does not have the constant {name!r}")
            elif text_of(second[name]) != self._tensor:
                names[name] = fresh(name, taken | set(names.values()))
                self._added[names[name]] = second[name]
        insert_parameters(merged, list(self._added))
        return names

    def _replace_store(self, merged: ast.FunctionDef, text: str, tail: list[ast.stmt]) -> None:
        for block in blocks(merged):
            for position, node in enumerate(block):
                if isinstance(node, ast.Expr) and text_of(node.value) == text:
                    block[position : position + 1] = tail
                    return
        raise refuse(f"the store of {self._producer.name!r} is not a statement of its own")

    def _launch(self, merged: ast.FunctionDef) -> None:
        host = function_of(self._tree, self._first.host)
        name_arguments(self._first, self._producer)
        assert isinstance(self._first.node.func, ast.Subscript)
        self._first.node.func.value = ast.Name(merged.name, ast.Load())
        for name, value in self._added.items():
            set_keyword(self._first.node, name, value)
        place, position = block_of(host, launch_statement(host, self._second))
        del place[position]
        self._drop_allocation(host)

    def _drop_allocation(self, host: ast.FunctionDef) -> None:
        """Memory for the product is not needed any more if nothing else reads it."""
        launch, tensor = self._first, self._tensor
        merged = function_of(self._tree, _called(launch))
        read = loads_of(merged.body)
        for keyword in [k for k in launch.node.keywords if tensor in names_in([k.value])]:
            if keyword.arg is not None and not read[keyword.arg]:
                launch.node.keywords.remove(keyword)
                merged.args.args = [a for a in merged.args.args if a.arg != keyword.arg]
        if loads_of(host.body)[tensor] == 0:
            for block in blocks(host):
                block[:] = [n for n in block if not (isinstance(n, ast.Assign) and text_of(n.targets[0]) == tensor)]

    def _forget(self, function: ast.FunctionDef) -> None:
        """Remove a kernel that nothing launches any more."""
        if not launches_of(self._tree, function.name, main=False) and function in self._tree.body:
            self._tree.body.remove(function)


def _called(launch: Launch) -> str:
    assert isinstance(launch.node.func, ast.Subscript)
    assert isinstance(launch.node.func.value, ast.Name)
    return launch.node.func.value.id


def result_of(store: ast.Call) -> ast.expr:
    """The tile that a kernel stores, before it is converted to the type of the tensor."""
    value = store.args[1]
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "to":
        return value.func.value
    return value


def put(node: ast.stmt, target: str, new: ast.expr) -> ast.stmt:
    """A statement with an expression in place of a call of that text."""

    class Put(ast.NodeTransformer):
        def visit_Call(self, call: ast.Call) -> ast.AST:
            return copy.deepcopy(new) if text_of(call) == target else self.generic_visit(call)

    result: ast.stmt = Put().visit(node)
    return result


def _substituted(node: ast.stmt, name: str, value: ast.expr) -> ast.stmt:
    class Substitute(ast.NodeTransformer):
        def visit_Name(self, values: ast.Name) -> ast.AST:
            return copy.deepcopy(value) if values.id == name else values

    result: ast.stmt = Substitute().visit(node)
    return result


class OverlapLaunches(Rewrite):
    name = "overlap_launches"
    doc = (
        "Start a kernel before the one in front of it ends, and let it wait where it reads what that one wrote: its "
        "launch costs nothing then (programmatic dependent launch, CUDA programming guide). Pays where kernels are "
        "short."
    )

    def offers(self, module: Module, setting: Setting) -> Sequence[Offer]:
        if setting.capability < (9, 0):
            return ()
        if not self.applies(module, {}):
            return ()
        return (Offer({}, "each kernel starts while the one in front of it ends", 0.02),)

    def apply(self, module: Module, parameters: Mapping[str, Any]) -> Module:
        kernels = main_kernels(module)
        if len(kernels) < 2 or "gdc_wait" in module.text:
            raise refuse("the module does not launch several kernels, or they overlap already")

        def edit(tree: ast.Module) -> None:
            for position, kernel in enumerate(kernels):
                function = function_of(tree, kernel)
                if position > 0:
                    function.body.insert(0, statement("tl.extra.cuda.gdc_wait()"))
                    for launch in launches_of(tree, kernel):
                        set_keyword(launch.node, "launch_pdl", ast.Constant(True))
                else:
                    function.body.insert(0, statement("tl.extra.cuda.gdc_launch_dependents()"))

        return edited(module, edit)
