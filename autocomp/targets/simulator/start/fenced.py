"""A user's kernel with the fence that its harness has instead: results must have arrived when a kernel returns."""

from __future__ import annotations

from collections.abc import Mapping

from autocomp.errors import AutocompError
from autocomp.targets.simulator.isa.model import Accelerator, Alias, Instruction
from autocomp.targets.simulator.kernel import call_forms, parse
from autocomp.targets.simulator.kernel.procedures import with_callees
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.kernel.syntax.walk import walk

_NOTE = "added: a kernel waits for its own results"
_Forms = Mapping[str, Mapping[int, Instruction | Alias]]


def fenced(text: str, accelerator: Accelerator) -> str:
    """The text with a fence at the end of its entry, unless it ends with one. A text that cannot be parsed, and one for
    a machine without a fence, stays as it is."""
    forms: _Forms = call_forms(accelerator)
    name = next((name for name in ("fence", *forms) if _is_fence(name, forms)), None)
    at = text.rfind("}")
    if name is None or at < 0 or _waits(text, accelerator, forms) is not False:
        return text
    longer = f"{text[:at]}    {name}();  // {_NOTE}\n{text[at:]}"
    return longer if _waits(longer, accelerator, forms) else text


def _waits(text: str, accelerator: Accelerator, forms: _Forms) -> bool | None:
    """True if the entry ends with a fence; None for a text that is not a kernel."""
    try:
        kernel = parse(text)
    except AutocompError:
        return None
    called = [node.function for node in walk(kernel) if isinstance(node, ast.Call)]
    functions = [f for library in with_callees(called, accelerator) for f in library.functions]
    bodies = {function.name: function.body for function in (*functions, *kernel.functions)}
    return _ends(kernel.entry.body, bodies, forms, depth=len(bodies))


def _ends(body: ast.Block, bodies: Mapping[str, ast.Block], forms: _Forms, depth: int) -> bool:
    last = body.statements[-1] if body.statements else None
    if isinstance(last, ast.Block):
        return _ends(last, bodies, forms, depth)
    if not isinstance(last, ast.ExpressionStatement) or not isinstance(last.expression, ast.Call):
        return False
    name = last.expression.function
    called = bodies.get(name)
    if called is not None:
        return depth > 0 and _ends(called, bodies, forms, depth - 1)
    return _is_fence(name, forms)


def _is_fence(name: str, forms: _Forms) -> bool:
    form = forms.get(name, {}).get(0)
    if isinstance(form, Alias):
        return len(form.expansion) == 1 and _is_fence(form.expansion[0][0], forms)
    return form is not None and form.words.get("role") == "fence"
