"""The rules that a program must keep to, in words, derived from ranges, requirements and memory sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autocomp.targets.simulator.isa.model import Accelerator, AddressSpace, Alias, Instruction, Memory, Parameter
from autocomp.targets.simulator.isa.tree import Name, Require, Statement, When


def rules(accelerator: Accelerator) -> tuple[str, ...]:
    """Constraints as sentences: memory sizes first, then one line of operand ranges and requirements a call."""
    sentences = [memory_rule(accelerator, memory) for memory in accelerator.local_memories]
    for instruction in accelerator.instructions:
        if instruction.sent:
            continue
        forms = spellings(accelerator, instruction)
        parts = [*_ranges(instruction, forms), *dict.fromkeys(requirements(instruction.body))]
        if parts:
            names = list(dict.fromkeys(form.name for form in forms)) or [instruction.name]
            sentences.append(f"{', '.join(names)}: {'; '.join(parts)}.")
    return tuple(sentences)


def spellings(accelerator: Accelerator, instruction: Instruction) -> tuple[Alias, ...]:
    """The call forms by which kernels issue an instruction, without those whose names only decorate a shorter one.

    Empty when the instruction's own name is the plainest.
    """
    forms = [alias for alias in accelerator.aliases if not alias.trace and _target(alias) == instruction.name]
    if any(form.name.endswith(f"_{instruction.name}") for form in forms):
        return ()
    names = {form.name for form in forms}
    return tuple(form for form in forms if not any(form.name.endswith(f"_{n}") for n in names))


def _target(alias: Alias) -> str | None:
    return alias.expansion[0][0] if len(alias.expansion) == 1 else None


def requirements(body: Sequence[Statement]) -> Iterator[str]:
    """Messages of all requirements, nested ones included."""
    for statement in body:
        if isinstance(statement, Require):
            yield statement.message
        elif isinstance(statement, When):
            yield from requirements(statement.then)
            yield from requirements(statement.otherwise)


def memory_rule(accelerator: Accelerator, memory: Memory) -> str:
    """The size of a local memory, and how its rows are addressed; of a view, what it shows."""
    if memory.shown:
        return f"{memory.name}: the rows of {memory.shown}, each as {memory.cols} {memory.element} elements."
    spelled = [example for space in accelerator.spaces if (example := _example(space, memory.name))]
    banks = f", in {memory.banks} banks of {memory.rows // memory.banks} rows" if memory.banks > 1 else ""
    return f"{memory.name} has {memory.rows} rows of {memory.cols} {memory.element} elements{banks}" + (
        f"; {spelled[0]}." if spelled else "."
    )


def _example(space: AddressSpace, memory: str) -> str:
    match = next((match for name, _, match in space.memories if name == memory), None)
    if match is None:
        return ""
    return f"the address of its row r is 0x{match:08X} | r" if match else "the address of its row r is r"


def _ranges(instruction: Instruction, forms: Sequence[Alias]) -> Iterator[str]:
    """Ranges of those operands that the call forms leave open."""
    passed = {
        parameter.name
        for form in forms
        for parameter, value in zip(instruction.parameters, form.expansion[0][1], strict=True)
        if isinstance(value, Name)
    }
    for parameter in instruction.parameters:
        if parameter.low is not None and (not forms or parameter.name in passed):
            yield _range(parameter)


def _range(parameter: Parameter) -> str:
    if parameter.choices:
        return f"{parameter.name} is {' or '.join(parameter.choices)}"
    if parameter.low == 0 and parameter.high == 1:
        return f"{parameter.name} is 0 or 1"
    return f"{parameter.name} is {parameter.low} to {parameter.high}"
