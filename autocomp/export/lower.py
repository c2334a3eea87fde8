"""A kernel of the dialect as a syntax tree with the same meaning to a C compiler.

The dialect is C but for what its tools take care of: calls have several arities and issue commands. A run starts with
fresh `static` variables and ends with a fence. Arrays live as long as the commands that name them, a name of the
machine may be declared anew, and pointers change their type freely.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from autocomp.errors import KernelError, Place
from autocomp.export.arguments import guarded, variables_of
from autocomp.export.conversions import explicit, signature, signature_of_issue
from autocomp.export.forms import Forms, issue_name
from autocomp.export.subscripts import flattened
from autocomp.schedules.arguments import binary32
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.kernel.checking.calls import BUILTINS
from autocomp.targets.simulator.kernel.procedures import called_by, with_callees
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.kernel.syntax.walk import walk
from autocomp.targets.simulator.transforms.syntax.rewrite import map_expressions, rewrite_statements

MEMORY = "AUTOCOMP_MEMORY"  # the macro that is told of an array which the machine may access
_VOID_POINTER = ast.Type("void", 1)


@dataclass(frozen=True)
class Lowered:
    """`kernel` for C. `constants` are the names of the machine and the workload that it uses, `builtins` the host's
    functions; `has_arrays` of its own, which it tells to the header."""

    kernel: ast.Kernel
    constants: Mapping[str, int | float]
    builtins: tuple[str, ...]
    has_arrays: bool


def lower(
    kernel: ast.Kernel,
    accelerator: Accelerator,
    constants: Mapping[str, int],
    arguments: Mapping[str, float] | None = None,
    *,
    fenced: bool = True,
) -> Lowered:
    """The kernel, which must be a checked one, for C; `fenced`: it returns when the machine is done. The numbers of its
    entry that have the values of `arguments` become parameters of these names.

    Raises KernelError for what C cannot say, with its line.
    """
    known: dict[str, int | float] = {**accelerator.constants, **constants}
    forms = Forms(accelerator, known)
    procedures = {procedure.name for procedure in accelerator.procedures}
    arguments = arguments or {}
    taken = {
        **dict.fromkeys(arguments),
        **dict.fromkeys(known),
        **dict.fromkeys(accelerator.types),
        **dict.fromkeys(procedures),
    }
    helpers = {f.name: f"{f.name}_" for f in kernel.functions[:-1] if f.name in taken or forms.knows(f.name)}
    routines = [procedure.entry for procedure in with_callees(called_by(kernel), accelerator)]
    functions = []
    pointers = {routine.name: _pointers(routine) for routine in routines}
    for function in kernel.functions:
        lowered = _renamed(function, taken.keys() & _declared(function))
        if function is kernel.entry:
            lowered = _with_arguments(lowered, arguments)
        lowered = _calls(_storage(lowered, kernel, function is kernel.entry), forms, helpers, pointers)
        if function is kernel.entry and fenced:
            lowered = _fenced(lowered, forms.fence())
        functions.append(replace(lowered, name=helpers.get(function.name, function.name)))
        pointers[function.name] = _pointers(function)
    signatures = {issue_name(accelerator, i.name): signature_of_issue(i) for i in accelerator.instructions}
    signatures |= {function.name: signature(function, accelerator.types) for function in [*routines, *functions]}
    functions = [flattened(function, known) for function in functions]
    functions = [explicit(function, known, accelerator.types, signatures) for function in functions]
    result = replace(kernel, functions=tuple(functions), source="")
    names = {node.name for node in walk(result) if isinstance(node, ast.Name)}
    called = {node.function for node in walk(result) if isinstance(node, ast.Call)}
    return Lowered(
        result,
        {name: value for name, value in known.items() if name in names},
        tuple(name for name, _, _ in BUILTINS if name in called),
        MEMORY in called,
    )


def _pointers(function: ast.Function) -> tuple[bool, ...]:
    """For each parameter, true if it is a pointer."""
    return tuple(bool(p.type.pointer or p.type.extents) for p in function.parameters)


def _declared(function: ast.Function) -> set[str]:
    locals_ = {node.name for node in walk(function.body) if isinstance(node, ast.Declarator)}
    return locals_ | {parameter.name for parameter in function.parameters}


def _renamed(function: ast.Function, names: set[str]) -> ast.Function:
    """The function's own variables under other names, where the header may have a macro of the name. A use before the
    declaration means the header's and no longer compiles."""
    if not names:
        return function
    new = {name: f"{name}_" for name in names}

    def use(node: ast.Expression) -> ast.Expression:
        return replace(node, name=new.get(node.name, node.name)) if isinstance(node, ast.Name) else node

    def declare(declaration: ast.Declaration) -> ast.Declaration:
        renamed = tuple(replace(d, name=new.get(d.name, d.name)) for d in declaration.declarators)
        return replace(declaration, declarators=renamed)

    def change(statement: ast.Statement, _: object) -> ast.Statement | None:
        if isinstance(statement, ast.Declaration):
            return declare(statement)
        if isinstance(statement, ast.For) and isinstance(statement.initial, ast.Declaration):
            return replace(statement, initial=declare(statement.initial))
        return None

    parameters = tuple(replace(p, name=new.get(p.name, p.name)) for p in function.parameters)
    body = rewrite_statements(map_expressions(function.body, use), change)
    return replace(function, parameters=parameters, body=body)


def _with_arguments(function: ast.Function, arguments: Mapping[str, float]) -> ast.Function:
    names = {binary32(value): name for name, value in arguments.items()}

    def use(node: ast.Expression) -> ast.Expression:
        name = names.get(binary32(node.value)) if isinstance(node, ast.FloatLiteral) else None
        return node if name is None else ast.Name(name)

    added = tuple(ast.KernelParameter(name, ast.Type("float")) for name in arguments)
    parameters = (*function.parameters, *added)
    return replace(function, parameters=parameters, body=map_expressions(function.body, use))


def _storage(function: ast.Function, kernel: ast.Kernel, entry: bool) -> ast.Function:
    """Variables with the lifetime that they have in a run of the dialect. `static` ones start afresh with each run:
    those of the entry's outermost block can be ordinary variables, others must never change. Arrays outlive their
    block, since the machine may read them later; each is told to the header. Those without values, which may be as
    large as a tensor, never lie on the stack."""

    def change(statement: ast.Statement, path: tuple[int, ...]) -> tuple[ast.Statement, ...] | None:
        if not isinstance(statement, ast.Declaration):
            return None
        arrays = [d for d in statement.declarators if d.type.extents]
        outermost = entry and len(path) == 1
        storage_alone = arrays == list(statement.declarators) and not any(d.initializer for d in arrays)
        cleared: list[ast.Statement] = []
        if outermost and storage_alone:
            cleared = [_clear(d) for d in arrays if statement.static]
            statement = replace(statement, static=True)
        elif outermost:
            statement = _automatic(statement)
        elif arrays or statement.static:
            if not statement.const and (statement.static or any(d.initializer for d in arrays)):
                message = (
                    "a variable of a block or a helper that is static, or an array with values, starts afresh in C"
                )
                place = Place(kernel.source_name, statement.line, 1) if statement.line else None
                raise KernelError(message, place=place, hint="declare it in the entry's outermost block, or const")
            statement = replace(statement, static=True)
        told = (ast.ExpressionStatement(ast.Call(MEMORY, (ast.Name(d.name),))) for d in arrays)
        return (statement, *cleared, *told)

    return replace(function, body=rewrite_statements(function.body, change))


def _clear(array: ast.Declarator) -> ast.Statement:
    name = ast.Name(array.name)
    return ast.ExpressionStatement(ast.Call("memset", (name, ast.IntLiteral(0), ast.SizeOf(name))))


def _automatic(statement: ast.Declaration) -> ast.Declaration:
    if not statement.static or statement.const:
        return statement
    zero = ast.InitializerList((ast.IntLiteral(0),))
    declarators = tuple(replace(d, initializer=d.initializer or zero) for d in statement.declarators)
    return replace(statement, static=False, declarators=declarators)


def _fenced(function: ast.Function, fence: ast.Call) -> ast.Function:
    """The entry with a fence before it returns, at its end and elsewhere."""
    statement = ast.ExpressionStatement(fence)

    def change(calls: ast.Statement, _: object) -> tuple[ast.Statement, ...] | None:
        return (statement, calls) if isinstance(calls, ast.Return) else None

    body = rewrite_statements(function.body, change)
    last = body.statements[-1] if body.statements else None
    if last == statement or isinstance(last, ast.Return):
        return replace(function, body=body)
    return replace(function, body=replace(body, statements=(*body.statements, statement)))


def _calls(
    function: ast.Function, forms: Forms, helpers: Mapping[str, str], pointers: Mapping[str, tuple[bool, ...]]
) -> ast.Function:
    """Calls in the header's spelling. A macro is a statement, so that a choice between two becomes one as well."""
    variables = variables_of(function)

    def stated(node: ast.Expression) -> tuple[ast.Statement, ...] | None:
        """The statements of an expression that is nothing but calls of the machine, or None."""
        if isinstance(node, ast.Conditional):
            then, otherwise = stated(node.then), stated(node.otherwise)
            if then is None or otherwise is None:
                return None
            return (ast.If(node.condition, ast.Block(then), ast.Block(otherwise)),)
        if not isinstance(node, ast.Call) or node.function in pointers or not forms.knows(node.function):
            return None
        return tuple(
            ast.ExpressionStatement(guarded(call, forms.operands(call), variables)) for call in forms.spelled(node)
        )

    def split(statement: ast.Statement, _: object) -> tuple[ast.Statement, ...] | None:
        return stated(statement.expression) if isinstance(statement, ast.ExpressionStatement) else None

    def spell(node: ast.Expression) -> ast.Expression:
        if not isinstance(node, ast.Call) or node.function not in pointers:
            return node
        arguments = tuple(
            ast.Cast(_VOID_POINTER, argument) if pointer and not isinstance(argument, ast.Cast) else argument
            for pointer, argument in zip(pointers[node.function], node.arguments, strict=True)
        )
        return replace(node, function=helpers.get(node.function, node.function), arguments=arguments)

    body = map_expressions(rewrite_statements(function.body, split), spell)
    _refuse_calls_in_expressions(body, forms, pointers)
    return replace(function, body=body)


def _refuse_calls_in_expressions(body: ast.Block, forms: Forms, pointers: Mapping[str, tuple[bool, ...]]) -> None:
    stands = {id(node.expression) for node in walk(body) if isinstance(node, ast.ExpressionStatement)}
    for node in walk(body):
        if not isinstance(node, ast.Call) or id(node) in stands or node.function in pointers:
            continue
        if forms.knows(node.function):
            raise KernelError(f"{node.function!r} is part of an expression; in C it must be a statement of its own")
