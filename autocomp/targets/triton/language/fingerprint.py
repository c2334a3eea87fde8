"""The structure of a module without names and comments."""

from __future__ import annotations

import ast
import hashlib

from autocomp.targets.triton.language.module import ENTRY, Module, parameters


def fingerprint(module: Module) -> str:
    """A digest that is equal for modules that differ in the names of their own functions, parameters and variables, in
    comments, docstrings, annotations of host functions and layout alone. Functions that nothing uses do not count."""
    order = _reached(module)
    names: dict[str, str] = {}
    parts: list[str] = []
    for name in order:
        names[name] = f"f{len(names)}"
    for name in order:
        own = dict(names)
        parts.append(_dump(module.functions[name], own, module))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _reached(module: Module) -> list[str]:
    """The functions that the entry reaches, in the order of their first use."""
    order: list[str] = []
    waiting = [ENTRY] if ENTRY in module.functions else list(module.functions)
    while waiting:
        name = waiting.pop(0)
        if name in order or name not in module.functions:
            continue
        order.append(name)
        used = [node for node in ast.walk(module.functions[name]) if isinstance(node, ast.Name)]
        used.sort(key=lambda node: (node.lineno, node.col_offset))
        waiting += [node.id for node in used]
    return order


def _dump(function: ast.FunctionDef, names: dict[str, str], module: Module) -> str:
    local = {argument.arg for argument in ast.walk(function) if isinstance(argument, ast.arg)}
    local |= {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    numbers: dict[str, str] = {}

    def called(name: str) -> str:
        if name in local:
            return numbers.setdefault(name, f"v{len(numbers)}")
        if name in names:
            return names[name]
        if name in module.constants:
            return f"({show(module.constants[name])})"
        return name

    def keyword(call: ast.Call, word: ast.keyword) -> str:
        """A keyword names a parameter of one of the module's own functions, or an option of others."""
        callee = call.func.value if isinstance(call.func, ast.Subscript) else call.func
        known = module.functions.get(callee.id) if isinstance(callee, ast.Name) else None
        own_parameters = parameters(known) if known is not None else []
        name = str(own_parameters.index(word.arg)) if word.arg in own_parameters else word.arg
        return f"{name}={show(word.value)}"

    def show(node: object) -> str:
        if isinstance(node, ast.Name):
            return called(node.id)
        if isinstance(node, ast.arg):
            constant = node.annotation is not None and "constexpr" in ast.dump(node.annotation)
            return called(node.arg) + (":c" if constant else "")
        if isinstance(node, ast.Call):
            return f"Call({show(node.func)},{show(node.args)},{[keyword(node, word) for word in node.keywords]})"
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            parts = [show(node.args), *map(show, body), *map(show, node.decorator_list)]
            return f"def({','.join(parts)})"
        if isinstance(node, ast.AST):
            fields = ((f, v) for f, v in ast.iter_fields(node) if f not in ("ctx", "type_comment", "kind", "returns"))
            return f"{type(node).__name__}({','.join(f'{f}={show(v)}' for f, v in fields)})"
        if isinstance(node, list):
            return f"[{','.join(show(item) for item in node)}]"
        return repr(node)

    return show(function)
