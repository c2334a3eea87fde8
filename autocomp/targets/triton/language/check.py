"""The rules of the language, checked on the syntax tree alone: what a module may contain, and what it may call.

The rules allow by name. A module has imports, constants, functions, and nothing that runs when it is imported. Host
functions size, allocate and launch; they do not compute on elements, keep state between calls, or reach into anything.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from typing import NoReturn

from autocomp.errors import KernelError
from autocomp.targets.triton.language import allowed
from autocomp.targets.triton.language.module import ENTRY, OPTIONS, Module, decorators, dotted, parameters, place_of

_STATEMENTS = (
    ast.Assign,
    ast.AnnAssign,
    ast.AugAssign,
    ast.Expr,
    ast.If,
    ast.For,
    ast.Return,
    ast.Assert,
    ast.Pass,
    ast.Break,
    ast.Continue,
)
_IN_KERNELS = (*_STATEMENTS, ast.While)
_EXPRESSIONS = (
    ast.BoolOp,
    ast.BinOp,
    ast.UnaryOp,
    ast.IfExp,
    ast.Compare,
    ast.Call,
    ast.Constant,
    ast.Attribute,
    ast.Subscript,
    ast.Name,
    ast.List,
    ast.Tuple,
    ast.Slice,
    ast.keyword,
    ast.Starred,
)
_ON_THE_HOST = (ast.Lambda, ast.ListComp, ast.GeneratorExp)
_REASONS: dict[type[ast.AST], str] = {
    ast.Try: "exceptions hide failures",
    ast.With: "contexts change the state of others",
    ast.Global: "no state may outlive a call",
    ast.Nonlocal: "no state may outlive a call",
    ast.ClassDef: "classes can imitate tensors",
    ast.Delete: "nothing needs to be deleted",
    ast.Import: "imports belong at the top of the module",
    ast.ImportFrom: "imports belong at the top of the module",
    ast.Raise: "exceptions hide failures",
    ast.AsyncFunctionDef: "nothing may run besides the kernel",
}


def check_module(
    module: Module, tensors: Sequence[str] | None = None, source: str = "kernel", computes: bool = False
) -> None:
    """Raise KernelError, with the place in `source`, for the first thing that the language does not have. With
    `tensors`, the entry function must have as many parameters. With `computes` the host may compute on elements."""
    _Checker(module, source, computes).check(tensors)


class _Checker:
    def __init__(self, module: Module, source: str, computes: bool) -> None:
        self._module = module
        self._source = source
        self._computes = computes
        self._imported: dict[str, str] = {}  # a name, and the dotted name that it stands for

    def check(self, tensors: Sequence[str] | None) -> None:
        for node in self._module.tree.body:
            self._top(node)
        self._unique()
        entry = self._module.hosts.get(ENTRY)
        if entry is None:
            raise KernelError(
                f"{self._source}: no function is named {ENTRY!r}",
                hint=f"define `def {ENTRY}(...)` with the tensors as parameters, outputs last. A search also starts "
                "from a function that launches kernels and returns a tensor that it allocated",
            )
        if tensors is not None and len(parameters(entry)) != len(tensors):
            self._refuse(entry, f"{ENTRY} has {len(parameters(entry))} parameters, expected {', '.join(tensors)}")
        for function in self._module.hosts.values():
            self._host(function)
        for function in self._module.kernels.values():
            self._kernel(function)
        if not any(launch.host in self._module.hosts for launch in self._module.launches):
            self._refuse(entry, "the module launches none of its Triton functions")

    # --- the module's own level ----------------------------------------------------------------------------------

    def _top(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.name not in allowed.IMPORTS:
                    self._refuse(node, f"import of {name.name!r} is not allowed", _listed(allowed.IMPORTS))
                self._imported[name.asname or name.name.split(".")[0]] = name.name if name.asname else ""
        elif isinstance(node, ast.ImportFrom):
            self._import_from(node)
        elif isinstance(node, ast.FunctionDef):
            self._signature(node)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            self._constant(node)
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            self._refuse(node, f"{_words(node)} at module level: importing a module must not run anything")

    def _import_from(self, node: ast.ImportFrom) -> None:
        known = allowed.IMPORTED_FROM.get(node.module or "", frozenset())
        for name in node.names:
            if node.level or name.name not in known:
                self._refuse(node, f"import of {name.name!r} from {node.module!r} is not allowed")
            self._imported[name.asname or name.name] = f"{node.module}.{name.name}"

    def _constant(self, node: ast.Assign | ast.AnnAssign) -> None:
        self._annotation(node.annotation if isinstance(node, ast.AnnAssign) else None)
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        value = node.value
        if len(targets) != 1 or not isinstance(targets[0], ast.Name) or value is None:
            self._refuse(node, "only names can be assigned at module level")
        name = targets[0].id
        if name in self._imported or name.startswith("__"):
            self._refuse(node, f"{name!r} must not be assigned")
        if isinstance(value, ast.Call) and dotted(value.func).endswith("constexpr") and len(value.args) == 1:
            value = value.args[0]
        for part in ast.walk(value):
            plain = (ast.Constant, ast.UnaryOp, ast.BinOp, ast.Tuple, ast.operator, ast.unaryop, ast.expr_context)
            if not isinstance(part, (*plain, ast.Name)):
                self._refuse(node, "a module-level value must be a constant: no state may outlive a call")

    def _unique(self) -> None:
        seen: set[str] = set()
        for node in self._module.tree.body:
            if isinstance(node, ast.FunctionDef):
                if node.name in seen or node.name in self._imported or node.name in self._module.constants:
                    self._refuse(node, f"the name {node.name!r} is defined twice")
                seen.add(node.name)

    def _signature(self, node: ast.FunctionDef) -> None:
        for name, decorator in zip(decorators(node), node.decorator_list, strict=True):
            if name not in allowed.DECORATORS:
                self._refuse(decorator, f"decorator {name or ast.unparse(decorator)!r} is not allowed")
            if isinstance(decorator, ast.Call):
                self._decorator_arguments(decorator)
        if node.args.vararg or node.args.kwarg:
            self._refuse(node, "parameters must be named")
        arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        for annotation in (node.returns, *(argument.annotation for argument in arguments)):
            self._annotation(annotation)
        for default in (*node.args.defaults, *node.args.kw_defaults):
            number = default.operand if isinstance(default, ast.UnaryOp) else default
            if number is not None and not isinstance(number, ast.Constant):
                self._refuse(number, "a default must be a constant: no state may outlive a call")

    def _annotation(self, annotation: ast.expr | None) -> None:
        """Annotations are evaluated when the module is imported."""
        parts = [] if annotation is None else list(ast.walk(annotation))
        plain = (ast.Name, ast.Attribute, ast.Constant, ast.Subscript, ast.Tuple, ast.BinOp, ast.BitOr)
        for part in parts:
            if not isinstance(part, (*plain, ast.expr_context)):
                self._refuse(part, f"{_words(part)} in an annotation: importing a module must not run anything")

    def _decorator_arguments(self, decorator: ast.Call) -> None:
        for node in ast.walk(decorator):
            fine = (ast.Call, ast.keyword, ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Name, ast.Attribute)
            if not isinstance(node, (*fine, ast.expr_context, ast.UnaryOp, ast.unaryop)):
                self._refuse(decorator, f"{_words(node)} in a decorator is not allowed")
            if isinstance(node, ast.Call):
                known = allowed.IN_DECORATORS.get(dotted(node.func))
                if known is None:
                    self._refuse(node, f"call of {ast.unparse(node.func)!r} in a decorator is not allowed")
                for keyword in node.keywords:
                    if keyword.arg not in known:
                        self._refuse(keyword.value, f"{keyword.arg!r} in a decorator is not allowed", _listed(known))

    # --- functions on the host -----------------------------------------------------------------------------------

    def _host(self, function: ast.FunctionDef) -> None:
        self._names(function)
        tensors = _tensors_of(function)
        for node in _body(function):
            if isinstance(node, ast.stmt) and not isinstance(node, _STATEMENTS):
                self._refuse(node, f"{_words(node)} in a host function: {_REASONS.get(type(node), 'not allowed')}")
            if isinstance(node, ast.Lambda):
                continue  # a grid as a function of launch parameters
            if isinstance(node, ast.expr) and not isinstance(node, (*_EXPRESSIONS, *_ON_THE_HOST)):
                self._refuse(node, f"{_words(node)} in a host function is not allowed")
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For)):
                self._targets(node)
            if isinstance(node, ast.Call):
                self._host_call(node)
            elif isinstance(node, ast.Attribute):
                self._host_attribute(node)
            elif isinstance(node, (ast.BinOp, ast.AugAssign, ast.UnaryOp, ast.Compare)) and not self._computes:
                self._arithmetic(node, tensors)

    def _targets(self, node: ast.Assign | ast.AugAssign | ast.AnnAssign | ast.For) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            for part in ast.walk(target):
                if isinstance(part, ast.Attribute):
                    self._refuse(part, f"assignment to {ast.unparse(part)!r}: what others own must not be changed")
                if isinstance(part, ast.Subscript):
                    self._refuse(part, f"assignment to {ast.unparse(part)!r} copies elements: only kernels may")
                reserved = isinstance(part, ast.Name) and (
                    part.id in self._imported or part.id in self._module.functions or part.id in self._module.constants
                )
                if reserved:
                    self._refuse(part, f"assignment to {ast.unparse(part)!r} hides a name of the module")

    def _host_call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Subscript):
            kernel = node.func.value
            if isinstance(kernel, ast.Name) and kernel.id in self._module.kernels:
                self._options(node, self._module.kernels[kernel.id])
                return
            self._refuse(node, f"{ast.unparse(node.func)!r} is not a launch of one of the module's Triton functions")
        name = dotted(node.func)
        if name in self._module.hosts or name in allowed.HOST_FUNCTIONS or name in allowed.HOST_BUILTINS:
            return
        if self._imported.get(name, "").rsplit(".", 1)[-1] in allowed.HOST_FUNCTIONS:
            return
        if name.rsplit(".", 1)[-1] in allowed.GLUON_HOST and name.split(".")[0] in self._imported:
            return
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        root = dotted(node.func).split(".")[0]
        if method in allowed.VIEWS | allowed.METADATA | allowed.LISTS and root not in self._imported:
            return
        if self._is_computing(node.func):
            return
        called = ast.unparse(node.func)
        why = "it may compute the answer" if root == "torch" or method else "the language does not have it"
        if not self._computes and (method or name) in allowed.COMPUTING:
            why += " (`host: compute` in the workload lets it)"
        self._refuse(node, f"call of {called!r} on the host: {why}", _listed(allowed.HOST_FUNCTIONS))

    def _options(self, launch: ast.Call, kernel: ast.FunctionDef) -> None:
        """A launch names parameters of its kernel, and options that bring no code from elsewhere."""
        known = {*parameters(kernel), *OPTIONS}
        for keyword in launch.keywords:
            if keyword.arg not in known:
                given = f"**{ast.unparse(keyword.value)}" if keyword.arg is None else repr(keyword.arg)
                hint = f"{_listed(OPTIONS)}, and its parameters"
                self._refuse(keyword.value, f"{given} is not an option of the launch of {kernel.name!r}", hint)

    def _host_attribute(self, node: ast.Attribute) -> None:
        name = dotted(node)
        if name.split(".")[0] in self._imported:
            prefixes = {known.rsplit(".", 1)[0] for known in allowed.HOST_FUNCTIONS}
            if name in allowed.HOST_FUNCTIONS | allowed.TORCH_TYPES | prefixes or name in ("math.pi", "math.inf"):
                return
            if name.split(".")[-1] in allowed.GLUON_HOST or self._is_language(name) or self._is_computing(node):
                return
            self._refuse(node, f"{name!r} is not allowed on the host", _listed(allowed.HOST_FUNCTIONS))
        known = allowed.ATTRIBUTES | allowed.VIEWS | allowed.METADATA | allowed.LISTS
        if node.attr not in known and not self._is_computing(node):
            self._refuse(node, f"attribute {node.attr!r} is not allowed on the host", _listed(allowed.ATTRIBUTES))

    def _is_computing(self, function: ast.expr) -> bool:
        """True for PyTorch's functions and methods on elements, if the host may compute."""
        if not (self._computes and isinstance(function, ast.Attribute) and function.attr in allowed.COMPUTING):
            return False
        name = dotted(function)
        return name == f"torch.{function.attr}" or name.split(".")[0] not in self._imported

    def _arithmetic(
        self, node: ast.BinOp | ast.AugAssign | ast.UnaryOp | ast.Compare, tensors: Collection[str]
    ) -> None:
        if isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, ast.MatMult):
            self._refuse(node, "'@' on the host computes the answer outside of the kernel")
        operands: list[ast.expr]
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
        elif isinstance(node, ast.BinOp):
            operands = [node.left, node.right]
        else:
            operands = [node.operand] if isinstance(node, ast.UnaryOp) else [node.value, node.target]
        for operand in operands:
            inner = operand.value if isinstance(operand, ast.Subscript) else operand
            if isinstance(inner, ast.Name) and inner.id in tensors:
                self._refuse(node, f"arithmetic on the tensor {inner.id!r} on the host: only kernels may compute")

    # --- functions on the device ---------------------------------------------------------------------------------

    def _kernel(self, function: ast.FunctionDef) -> None:
        self._names(function)
        for node in _body(function):
            if isinstance(node, ast.stmt) and not isinstance(node, _IN_KERNELS):
                self._refuse(node, f"{_words(node)} in a Triton function: {_REASONS.get(type(node), 'not allowed')}")
            if isinstance(node, ast.expr) and not isinstance(node, (*_EXPRESSIONS, ast.Lambda)):
                self._refuse(node, f"{_words(node)} in a Triton function is not allowed")
            if isinstance(node, ast.Call):
                self._kernel_call(node)
            elif isinstance(node, ast.Attribute):
                self._kernel_attribute(node)

    def _kernel_call(self, node: ast.Call) -> None:
        name = dotted(node.func)
        if isinstance(node.func, ast.Attribute):
            return  # of the language, or a method of a value: _kernel_attribute looks at the name
        if name in self._module.kernels or name in allowed.KERNEL_BUILTINS or name in self._imported:
            return
        self._refuse(node, f"call of {ast.unparse(node.func)!r} in a Triton function: the language does not have it")

    def _kernel_attribute(self, node: ast.Attribute) -> None:
        root = dotted(node).split(".")[0]
        if root in self._imported and not self._is_language(dotted(node)):
            self._refuse(node, f"{dotted(node)!r} is not of Triton's language")
        if node.attr in allowed.REFUSED_OF_LANGUAGE:
            self._refuse(node, f"{node.attr!r} is not allowed: it reaches out of the kernel")

    def _is_language(self, name: str) -> bool:
        """True if a dotted name belongs to one of Triton's languages, under any name that it was imported as."""
        root = name.split(".")[0]
        stands_for = self._imported.get(root, "")
        return root in allowed.LANGUAGES or stands_for.startswith("triton.language") or ".gluon.language" in stands_for

    # --- both ----------------------------------------------------------------------------------------------------

    def _names(self, function: ast.FunctionDef) -> None:
        """Names with two leading underscores reach into Python; unknown ones could be anything."""
        known = set(self._imported) | set(self._module.functions) | set(self._module.constants)
        known |= allowed.HOST_BUILTINS | allowed.KERNEL_BUILTINS
        known |= {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
        known |= {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        for node in _body(function):
            if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
                self._refuse(node, f"attribute {node.attr!r}: private names are not allowed")
            if isinstance(node, ast.Name) and node.id not in known:
                self._refuse(node, f"the name {node.id!r} is not defined in this module")
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and "__" in node.value:
                self._refuse(node, "text with two underscores: private names are not allowed")

    def _refuse(self, node: ast.AST, message: str, hint: str | None = None) -> NoReturn:
        raise KernelError(message, place=place_of(node, self._module.text, self._source), hint=hint)


def _body(function: ast.FunctionDef) -> list[ast.AST]:
    """All nodes of a function's body without its docstring, in the order of the text as far as that matters."""
    return [node for statement in function.body for node in ast.walk(statement)]


def _tensors_of(function: ast.FunctionDef) -> set[str]:
    """Names that hold tensors for all that can be seen: parameters of the entry, and what was allocated or viewed."""
    held = set(parameters(function)) if function.name == ENTRY else set()
    makers = {"empty", "empty_like", "empty_strided", "zeros", *allowed.VIEWS}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            called = node.value.func
            if isinstance(called, ast.Attribute) and called.attr in makers:
                held |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return held


def _listed(names: Collection[str]) -> str:
    return f"allowed: {', '.join(sorted(names))}"


def _words(node: ast.AST) -> str:
    """A kind of node in words: `FunctionDef` is 'function def'."""
    name = type(node).__name__
    return "".join(f" {c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(name))
