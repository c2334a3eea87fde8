"""Kernels as other projects have them, whose entry returns its result, as kernels that write into a tensor they get.

AutoKernel's starters (RightNow-AI, 2026) are of this form: `kernel_fn(x, ..., eps=1e-5)` allocates the result, launches
and returns it.
"""

from __future__ import annotations

import ast

from autocomp.errors import KernelError
from autocomp.targets.triton.language.module import ENTRY, Module, dotted, launches_in, parse

RESULT = "result"  # the name of the tensor that the entry gets, last
MAKERS = ("torch.empty", "torch.empty_like", "torch.zeros")
VIEWED = ("view", "reshape", "to")  # of what is returned: the result has its shape, and stores convert to its type


def adopted(text: str, computes: bool = False) -> str:
    """The module of a text with an entry that writes its result, if the only function that launches something returns
    a tensor that it allocated; of a host that `computes`, any tensor. Other texts stay. Parameters with defaults become
    assignments. Tests of the arguments are left out, and so is `contiguous()`, as all tensors are."""
    try:
        module = parse(text)
    except KernelError:
        return text
    launching = [name for name, host in module.hosts.items() if any(True for _ in launches_in(host, name))]
    if ENTRY in module.functions or len(launching) != 1:
        return text
    return _written(module, launching[0]) or (_copied(module, launching[0]) if computes else "") or text


def _written(module: Module, name: str) -> str:
    """The module with kernels that write into the result in place of the tensor that the entry allocated; empty where
    it is not of the form."""
    tree, entry = _entry_of(module, name)
    returned = [node for node in ast.walk(entry) if isinstance(node, ast.Return)]
    held = _held(returned[-1].value) if returned else ""
    stored = [n for n in ast.walk(entry) if isinstance(n, ast.Name) and n.id == held and isinstance(n.ctx, ast.Store)]
    made = [n for n in entry.body if isinstance(n, ast.Assign) and dotted(n.targets[0]) == held]
    if len(returned) != 1 or entry.body[-1] is not returned[0] or len(made) != 1 or len(stored) != 1:
        return ""
    call = made[0].value
    if not isinstance(call, ast.Call) or dotted(call.func) not in MAKERS:
        return ""
    made[0].value = ast.parse(f"{RESULT}.view({_shape(call)})", mode="eval").body
    entry.body.remove(returned[0])
    _LeaveOutContiguous().visit(entry)
    return _with_result(tree, entry)


def _copied(module: Module, name: str) -> str:
    """The module with an entry that copies what it returned into the result; empty where it returns nothing."""
    tree, entry = _entry_of(module, name)
    if not any(isinstance(node, ast.Return) and node.value is not None for node in ast.walk(entry)):
        return ""
    _CopyReturned().visit(entry)
    return _with_result(tree, entry)


def _entry_of(module: Module, name: str) -> tuple[ast.Module, ast.FunctionDef]:
    """A fresh tree of the module, and its function of a name."""
    tree = ast.parse(module.text)
    return tree, next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)


def _with_result(tree: ast.Module, entry: ast.FunctionDef) -> str:
    """The module's text with the entry under its name, given the inputs and the result."""
    names = [argument.arg for argument in entry.args.args]
    given = len(names) - len(entry.args.defaults)
    defaults = [
        ast.Assign([ast.Name(name, ast.Store())], value)
        for name, value in zip(names[given:], entry.args.defaults, strict=True)
    ]
    entry.body = [*defaults, *(node for node in entry.body if not isinstance(node, ast.Assert))]
    entry.name, entry.returns = ENTRY, None
    entry.args = ast.arguments([], [ast.arg(name) for name in (*names[:given], RESULT)], None, [], [], None, [])
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _held(value: ast.expr | None) -> str:
    """The name of the tensor that is returned, as it is or viewed."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in VIEWED:
        value = value.func.value
    return value.id if isinstance(value, ast.Name) else ""


def _shape(call: ast.Call) -> str:
    """The shape of an allocated tensor, as an argument of `view`."""
    shape = ast.unparse(call.args[0])
    return f"{shape}.shape" if dotted(call.func).endswith("_like") else shape


class _LeaveOutContiguous(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        is_one = isinstance(node.func, ast.Attribute) and node.func.attr == "contiguous" and not node.args
        return node.func.value if is_one and isinstance(node.func, ast.Attribute) else node


class _CopyReturned(ast.NodeTransformer):
    """Writes `result.copy_(x)` and `return` in place of `return x`."""

    def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
        if node.value is None:
            return [node]
        copy = ast.Call(ast.Attribute(ast.Name(RESULT, ast.Load()), "copy_", ast.Load()), [node.value], [])
        return [ast.Expr(copy), ast.Return(None)]
