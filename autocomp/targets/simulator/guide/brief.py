"""The machine in a prompt: what the author of a kernel needs, each fact once and in few words.

The pages of `autocomp isa show` say the same at length, for all instructions.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from autocomp.remember import remember
from autocomp.targets.simulator.guide.forms import Told, constant_fields, told_forms
from autocomp.targets.simulator.guide.measured import measured
from autocomp.targets.simulator.guide.memories import memory_times
from autocomp.targets.simulator.guide.narrowed import narrowed
from autocomp.targets.simulator.guide.page import (
    advice,
    examples,
    headless,
    limits,
    overlap,
    pairs,
    times,
    units,
)
from autocomp.targets.simulator.guide.semantics import copied_records, fields_read, shortened
from autocomp.targets.simulator.isa.derived.roles import instruction_roles
from autocomp.targets.simulator.isa.model import Accelerator, Alias, Instruction, Memory, Parameter
from autocomp.targets.simulator.isa.rules import memory_rule, requirements
from autocomp.targets.simulator.isa.show import show, show_number, show_pointer, show_streams
from autocomp.targets.simulator.isa.timing import ROLES
from autocomp.targets.simulator.isa.tree import Number, Statement

USUAL = frozenset({"load", "store", "contraction", "preload", "synchronisation", "front end"})
MOST_NAMED = 4  # operands of an instruction that are left out
_WORD = re.compile(r"\w+")


def brief(
    accelerator: Accelerator,
    only: Collection[str],
    called: Collection[str],
    operation: str,
    kernels: Collection[str] = (),
) -> str:
    """The page as Markdown. `only` names the instructions and procedures to describe, `called` the call forms that
    kernels use, `operation` the class of workloads of which an example is shown. Names for numbers that the texts
    `kernels` use are told."""
    return "\n".join(_page(accelerator, only, called, operation, " ".join(kernels))) + "\n"


def _page(
    accelerator: Accelerator, only: Collection[str], called: Collection[str], operation: str, kernels: str
) -> Iterator[str]:
    named, calls = tuple(only), tuple(called)
    instructions = remember(
        accelerator,
        "instructions of pages",
        (named, calls),
        lambda: "\n".join(_instructions(accelerator, named, calls)),
    )
    times = remember(
        accelerator, "times of pages", (named, operation), lambda: "\n".join(_times(accelerator, named, operation))
    )
    words = set(_WORD.findall(f"{accelerator.doc} {instructions} {times} {kernels}"))
    yield from (f"# The machine: {accelerator.full_name}", "", accelerator.doc, "")
    yield from _names(accelerator, words)
    yield from (_memory(accelerator, memory) for memory in accelerator.memories if memory.kind != "register")
    yield from _registers(accelerator, set(re.findall(r"(\w+)\[", instructions)))
    yield from _addresses(accelerator)
    yield from ("", instructions, "", times)


def _instructions(accelerator: Accelerator, only: Collection[str], called: Collection[str]) -> Iterator[str]:
    yield "# Instructions"
    chosen = _chosen(accelerator, only)
    told = {i.name: told_forms(accelerator, i, called) for i in chosen}
    fields = constant_fields(chosen, {i.name: narrowed(i.body, told[i.name].constant, {}) for i in chosen})
    bodies = {i.name: narrowed(i.body, told[i.name].constant, fields) for i in chosen}
    read = frozenset(field for body in bodies.values() for field in fields_read(body))
    for instruction in chosen:
        yield from _instruction(accelerator, instruction, told[instruction.name], bodies[instruction.name], read)
    for procedure in accelerator.procedures:
        if procedure.name in only:
            head = " ".join(procedure.text.partition("{")[0].split())
            yield from ("", f"Procedure `{head}`" + (f": {procedure.doc}" if procedure.doc else ""))
    others = [name for forms in told.values() for name in forms.others]
    left = [i.name for i in accelerator.instructions if i not in chosen and not i.sent]
    if left:
        count = "is an instruction" if len(left) == 1 else f"are {len(left)} instructions"
        yield from ("", f"Left out {count} that this kernel does not need, such as `{left[-1]}`.")
    if others:
        yield from ("", f"The vendor's other names for these calls are known too, as is `{others[-1]}`.")


def _chosen(accelerator: Accelerator, only: Collection[str]) -> list[Instruction]:
    """The instructions named in `only`; those that hardware loops alone send, if one of them is."""
    named = [i for i in accelerator.instructions if i.name in only]
    loops = any(i.streams for i in named)
    return [i for i in named if loops or not i.sent]


def _times(accelerator: Accelerator, only: Collection[str], operation: str) -> Iterator[str]:
    yield from ("# How long things take", "", *overlap(accelerator), *units(accelerator, only), *pairs(accelerator))
    yield from memory_times(accelerator, banks=False)
    yield from ("", *limits(accelerator), "", "A fast kernel:", *advice(accelerator))
    for name, text in examples(accelerator, operation).items():
        yield from ("", f"A fast {name} of other sizes:", "", "```c", headless(text.strip()), "```")


def _names(accelerator: Accelerator, words: Collection[str]) -> Iterator[str]:
    """The parameters and constants that the page names, with their values and what they mean."""
    notes = accelerator.notes
    values = {**accelerator.parameters, **accelerator.constants}
    stated = [
        f"`{name}` = {show_number(value)}" + (f" ({notes[name]})" if name in notes else "")
        for name, value in values.items()
        if name in words
    ]
    if stated:
        yield f"Names for numbers: {', '.join(stated)}."
    if accelerator.types:
        yield f"Types: {', '.join(f'`{name}` is {element}' for name, element in accelerator.types.items())}."


def _registers(accelerator: Accelerator, words: Collection[str]) -> Iterator[str]:
    told = [
        f"`{m.name}`, {m.rows} rows of {m.cols} {m.element}" + (f" ({m.doc.rstrip('.')})" if m.doc else "")
        for m in accelerator.memories
        if m.kind == "register" and m.name in words
    ]
    if told:
        yield f"- Registers: {'; '.join(told)}."


def _memory(accelerator: Accelerator, memory: Memory) -> str:
    doc = f" {memory.doc}" if memory.doc else ""
    if memory.kind == "dram":
        return f"- `{memory.name}`: main memory, addressed in bytes.{doc}"
    return f"- {memory_rule(accelerator, memory)}{doc}"


def _addresses(accelerator: Accelerator) -> Iterator[str]:
    for space in accelerator.spaces:
        bits = ", ".join(
            f"`{name}` bit{f' {high}' if high == low else f's {high} to {low}'}" for name, high, low in space.fields
        )
        absent = "" if space.none is None else f"; absent operand: {show_number(space.none)}"
        yield f"- An address `{space.name}` is 32 bits: {bits}{absent}. {space.doc}".rstrip()


# --- instructions ------------------------------------------------------------------------------------------------


def _instruction(
    accelerator: Accelerator,
    instruction: Instruction,
    told: Told,
    body: Sequence[Statement],
    read: Collection[tuple[str, str]],
) -> Iterator[str]:
    open_ones = [p for p in instruction.parameters if p.name not in told.constant]
    names = "" if told.constant else f"({', '.join(p.name for p in open_ones)})"
    runs = "" if instruction.unit is None else f", on unit {instruction.unit}"
    yield from ("", f"## {instruction.name}{names}{runs}", "")
    meaning = instruction.doc or _meaning(instruction)
    if meaning:
        yield meaning
    if open_ones:
        yield f"Operands: {_operands(open_ones)}."
    if told.forms:
        yield f"Calls: {'; '.join(_forms(accelerator, told))}."
    if told.constant:
        some, more = list(told.constant)[:MOST_NAMED], len(told.constant) - MOST_NAMED
        yield f"Left out: {', '.join(some)}{f' and {more} more' if more > 0 else ''}."
    needs = list(dict.fromkeys(requirements(body)))
    if needs:
        yield "Rules: " + " ".join(_sentence(need) for need in needs)
    time = times(accelerator, instruction, measured(accelerator).get(instruction.name, ()))
    if time:
        yield time
    copied = copied_records(body)
    if copied:
        yield f"Sets {', '.join(copied)}, by operand names."
    code = shortened(body, read)
    if code:
        yield from ("```", code, "```")
    if instruction.streams:
        yield from ("Sends, in place of itself:", "```", *show_streams(instruction.streams), "```")


def _meaning(instruction: Instruction) -> str:
    """The meaning of the role that an instruction states; empty where it states none."""
    word = ROLES.get(str(instruction.words.get("role", "")), "")
    return f"{word[0].upper()}{word[1:]}." if word else ""


def _operands(parameters: Sequence[Parameter]) -> str:
    """Those of one kind, range and meaning together."""
    groups: dict[str, list[str]] = {}
    for parameter in parameters:
        groups.setdefault(_operand(parameter), []).append(f"`{parameter.name}`")
    return "; ".join(f"{', '.join(names)} {words}" for words, names in groups.items())


def _operand(parameter: Parameter) -> str:
    kind = {"pointer": show_pointer(parameter), "address": f"address `{parameter.space}`"}.get(
        parameter.kind, parameter.kind
    )
    if parameter.choices:
        kind = " or ".join(parameter.choices)
    elif parameter.low is not None:
        kind = f"{show_number(parameter.low)}..{show_number(parameter.high or 0)}"
    return f"{kind} ({parameter.doc})" if parameter.doc else kind


def _forms(accelerator: Accelerator, told: Told) -> Iterator[str]:
    """The call forms; of those with the same operands in a row, the first alone names them."""
    before: tuple[str, ...] | None = None
    for alias in told.forms:
        form = _form(accelerator, alias, told.constant)
        call = f"`{alias.name}({', '.join(alias.parameters)})` with "
        shared = alias.parameters and alias.parameters == before and form.startswith(call)
        yield f"`{alias.name}`, the same with {form.removeprefix(call)}" if shared else form
        before = alias.parameters


def _form(accelerator: Accelerator, alias: Alias, constant: Collection[str]) -> str:
    """A call form by what it sets of what is not constant, or, where it is more than one instruction with its operands,
    in full."""
    doc = f" ({alias.doc})" if alias.doc else ""
    call = f"`{alias.name}({', '.join(alias.parameters)})`"
    name, arguments = alias.expansion[0]
    inner = accelerator.instruction(name)
    if len(alias.expansion) == 1 and inner is not None:
        pairs = [(p.name, a) for p, a in zip(inner.parameters, arguments, strict=True)]
        pairs = [(name, argument) for name, argument in pairs if name not in constant]
        if all(isinstance(a, Number) or show(a) == p for p, a in pairs):
            fixed = [(p, a.value) for p, a in pairs if isinstance(a, Number)]
            stated = [f"{p} = {show_number(value)}" for p, value in fixed if value or len(fixed) < 3]
            rest = ["all else 0"] if len(stated) < len(fixed) else []
            return f"{call}{' with ' if fixed else ''}{', '.join([*stated, *rest])}{doc}"
    calls = "; ".join(f"{name}({', '.join(show(a) for a in arguments)})" for name, arguments in alias.expansion)
    return f"{call} = `{calls}`{doc}"


def _sentence(message: str) -> str:
    first = message.split()[0]
    return (message if "_" in first else message[0].upper() + message[1:]).rstrip(".") + "."


def used_instructions(accelerator: Accelerator, called: Collection[str], uses: Collection[str]) -> frozenset[str]:
    """Names of the instructions and procedures that the calls come to, of the usual kinds and those in `uses`, and of
    what configures them."""
    used = issued_instructions(accelerator, called)
    kinds = (USUAL | frozenset(uses)) - {"configuration"}
    roles = instruction_roles(accelerator)
    rare = {i.name for i in accelerator.instructions if i.words.get("role") == "forget"}  # of operating systems
    used |= {name for name, role in roles.items() if role.kind in kinds} - rare
    needed = {state for name, role in roles.items() if name in used for state in role.states_read}
    return frozenset(used | {name for name, role in roles.items() if role.states_written & needed})


def issued_instructions(accelerator: Accelerator, calls: Collection[str]) -> set[str]:
    """The instructions and procedures that calls of these names come to; an alias may expand into aliases."""
    names = {i.name for i in accelerator.instructions} | {p.name for p in accelerator.procedures}
    issued: set[str] = set()
    seen: set[str] = set()
    open_calls = set(calls)
    while open_calls:
        name = open_calls.pop()
        seen.add(name)
        if name in names:
            issued.add(name)
        inner = {n for alias in accelerator.aliases if alias.name == name for n, _ in alias.expansion}
        open_calls |= inner - seen
    return issued
