"""What a program must keep to, in words, derived from ranges, requirements and memory sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autocomp.isa.model import Accelerator, AddressSpace, Alias, Instruction, Parameter, Require, Statement, When


def rules(accelerator: Accelerator) -> tuple[str, ...]:
    """Constraints as sentences: memory sizes, operand ranges and requirements of every instruction."""
    found = [*_memory_rules(accelerator)]
    for instruction in accelerator.instructions:
        names = spellings(accelerator, instruction)
        found.extend(f"{names}: {rule}" for rule in _range_rules(instruction))
        found.extend(f"{names}: {message}." for message in requirements(instruction.body))
    return tuple(dict.fromkeys(found))


def spellings(accelerator: Accelerator, instruction: Instruction) -> str:
    """The names by which kernels issue an instruction: its shortest call forms, else its own name."""
    forms = [alias for alias in accelerator.aliases if not alias.trace and _target(alias) == instruction.name]
    names = list(
        dict.fromkeys(alias.name for alias in forms if "_".join(alias.name.split("_")[1:]) not in _names(forms))
    )
    return ", ".join(names) or instruction.name


def _names(forms: Sequence[Alias]) -> frozenset[str]:
    return frozenset(alias.name for alias in forms)


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


def _memory_rules(accelerator: Accelerator) -> Iterator[str]:
    for memory in accelerator.local_memories:
        spelled = [example for space in accelerator.spaces if (example := _example(space, memory.name))]
        banks = f", in {memory.banks} banks of {memory.rows // memory.banks} rows" if memory.banks > 1 else ""
        yield (
            f"{memory.name} has {memory.rows} rows of {memory.cols} {memory.element} elements{banks}"
            + (f"; {spelled[0]}." if spelled else ".")
        )


def _example(space: AddressSpace, memory: str) -> str:
    match = next((match for name, _, match in space.memories if name == memory), None)
    if match is None:
        return ""
    return f"the address of its row r is 0x{match:08X} | r" if match else "the address of its row r is r"


def _range_rules(instruction: Instruction) -> Iterator[str]:
    ranged = [p for p in instruction.parameters if p.low is not None]
    if ranged:
        yield ", ".join(_range(p) for p in ranged) + "."


def _range(parameter: Parameter) -> str:
    if parameter.choices:
        return f"{parameter.name} is {' or '.join(parameter.choices)}"
    if parameter.low == 0 and parameter.high == 1:
        return f"{parameter.name} is 0 or 1"
    return f"{parameter.name} is {parameter.low} to {parameter.high}"
