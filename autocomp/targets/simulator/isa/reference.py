"""The reference page of an accelerator: everything a kernel's author needs, from the description alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from autocomp.targets.simulator.isa.model import Accelerator, Alias, Instruction, Memory, Parameter, Procedure
from autocomp.targets.simulator.isa.rules import requirements
from autocomp.targets.simulator.isa.show import show, show_number, show_pointer, show_statements, show_streams


def reference(accelerator: Accelerator, markdown: bool = False) -> str:
    """The page as Markdown, or as plain text for a terminal."""
    page = "\n".join(_page(accelerator)) + "\n"
    return page if markdown else plain(page)


def _page(accelerator: Accelerator) -> Iterator[str]:
    yield f"# {accelerator.full_name}"
    yield from ("", accelerator.doc)
    yield from _configurations(accelerator)
    yield from _numbers("Parameters", accelerator.parameters, accelerator.notes)
    constants = {k: v for k, v in accelerator.constants.items() if k not in accelerator.parameters}
    yield from _numbers("Constants", constants, accelerator.notes)
    if accelerator.types:
        yield from ("", "## Types", "")
        yield from (f"- `{name}`: {element}" for name, element in accelerator.types.items())
    yield from ("", "## Memories", "")
    yield from (_memory(memory) for memory in accelerator.memories)
    yield from _addresses(accelerator)
    yield from ("", "## Instructions")
    for instruction in accelerator.instructions:
        yield from _instruction(accelerator, instruction)
    procedures = accelerator.procedures
    if procedures:
        yield from ("", "## Procedures", "")
        yield from (_procedure(procedure) for procedure in procedures)


def _configurations(accelerator: Accelerator) -> Iterator[str]:
    if accelerator.configurations:
        yield from ("", "## Configurations", "")
        for configuration in accelerator.configurations:
            values = ", ".join(f"{name} = {show_number(value)}" for name, value in configuration.values.items())
            doc = f" {configuration.doc}" if configuration.doc else ""
            yield f"- `{accelerator.name}:{configuration.name}`: {values or 'the defaults'}.{doc}"


def _numbers(title: str, values: Mapping[str, int | float], notes: Mapping[str, str]) -> Iterator[str]:
    if values:
        yield from ("", f"## {title}", "")
        for name, value in values.items():
            yield f"- `{name}` = {show_number(value)}" + (f": {notes[name]}" if name in notes else "")


def _memory(memory: Memory) -> str:
    doc = f" {memory.doc}" if memory.doc else ""
    if memory.kind == "dram":
        return f"- `{memory.name}`: main memory, addressed in bytes.{doc}"
    banks = f", {memory.banks} banks" if memory.banks > 1 else ""
    kind = "register, " if memory.kind == "register" else ""
    return f"- `{memory.name}`: {kind}{memory.rows} rows of {memory.cols} {memory.element}{banks}.{doc}"


def _addresses(accelerator: Accelerator) -> Iterator[str]:
    for space in accelerator.spaces:
        yield from ("", f"## Address `{space.name}`", "")
        if space.doc:
            yield from (space.doc, "")
        for name, high, low in space.fields:
            yield f"- `{name}`: bit{'' if high == low else 's'} {high if high == low else f'{high} to {low}'}"
        if space.none is not None:
            yield f"- absent operand: {show_number(space.none)}"


def _instruction(accelerator: Accelerator, instruction: Instruction) -> Iterator[str]:
    names = ", ".join(p.name for p in instruction.parameters)
    yield from ("", f"### {instruction.name}({names})", "")
    runs = "the front end" if instruction.unit is None else f"unit {instruction.unit}"
    sent = " Only hardware loops send it." if instruction.sent else ""
    yield f"{instruction.doc} Runs on {runs}.{sent}".strip()
    if instruction.parameters:
        yield ""
        yield from (_operand(p) for p in instruction.parameters)
    needs = list(requirements(instruction.body))
    if needs:
        yield from ("", "Required:", "")
        yield from (f"- {message}" for message in needs)
    forms = [a for a in accelerator.aliases if not a.trace and any(c == instruction.name for c, _ in a.expansion)]
    if forms:
        yield from ("", "Call forms:", "")
        yield from (_form(alias) for alias in forms)
    if instruction.body:
        yield from ("", "```")
        yield from (line for line in show_statements(instruction.body) if not line.startswith("require "))
        yield "```"
    if instruction.streams:
        yield from ("", "Sends, in place of itself:", "", "```")
        yield from show_streams(instruction.streams)
        yield "```"


def _procedure(procedure: Procedure) -> str:
    head = " ".join(procedure.text.partition("{")[0].split())
    return f"- `{head}`" + (f": {procedure.doc}" if procedure.doc else "")


def _operand(parameter: Parameter) -> str:
    kinds = {
        "pointer": show_pointer(parameter),
        "address": f"address `{parameter.space}`",
        "float": "float",
        "integer": "integer",
    }
    text = f"- `{parameter.name}`: {kinds[parameter.kind]}"
    if parameter.low is not None:
        text += f", {show_number(parameter.low)} to {show_number(parameter.high or 0)}"
    if parameter.choices:
        text += f" ({', '.join(parameter.choices)})"
    return text + (f"; {parameter.doc}" if parameter.doc else "")


def _form(alias: Alias) -> str:
    calls = "; ".join(f"{name}({', '.join(show(a) for a in arguments)})" for name, arguments in alias.expansion)
    return f"- `{alias.name}({', '.join(alias.parameters)})` = `{calls}`" + (f": {alias.doc}" if alias.doc else "")


def plain(page: str) -> str:
    """The page without Markdown's marks: headings underlined, code indented."""
    lines: list[str] = []
    code = False
    for line in page.splitlines():
        if line.startswith("```"):
            code = not code
        elif code:
            lines.append("    " + line)
        elif line.startswith("#"):
            title = line.lstrip("#").strip().replace("`", "")
            lines.extend([title, ("=" if line.startswith("# ") else "-") * len(title)])
        else:
            lines.append(line.replace("`", ""))
    return "\n".join(lines) + "\n"
