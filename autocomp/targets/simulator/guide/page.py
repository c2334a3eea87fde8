"""The page as Markdown, from the description and from short runs on the simulator."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from autocomp.data import decode, read_regular
from autocomp.errors import ConfigError
from autocomp.targets.simulator.evaluate.bounds import bus_rates
from autocomp.targets.simulator.guide.measured import Measured, measured
from autocomp.targets.simulator.guide.memories import memory_times
from autocomp.targets.simulator.isa.algebra import ONE
from autocomp.targets.simulator.isa.derived.contractions import contraction_tile, peak
from autocomp.targets.simulator.isa.derived.roles import has_sized_moves, instruction_roles
from autocomp.targets.simulator.isa.model import Accelerator, Instruction, Unit
from autocomp.targets.simulator.isa.rules import spellings
from autocomp.targets.simulator.isa.show import show
from autocomp.targets.simulator.isa.timing import (
    KINDS,
    POOLED,
    PROPERTY_KEYS,
    SECTION_KEYS,
    UNIT_KEYS,
    memory_number,
    unit_number,
)
from autocomp.targets.simulator.stalls import STALLS, glossary_lines

TOLD = {  # properties that a kernel's author plans with
    "busy": "until the unit takes its next command",
    "latency": "more until completion",
    "passes": "times that the pair runs",
    "drain": "1: waits until the array is empty",
    "deferred": "1: results leave with the next operation",
    "semaphore": "its number",
}
SHORT = ("entries", "in_flight", "requests", "operations", "loops")  # settings that a kernel's author plans with
EXAMPLES = "examples"  # folder beside descriptions: MACHINE_OPERATION.c


def timing_page(accelerator: Accelerator) -> str:
    """The page, of all instructions, with all examples that there are."""
    return "\n".join(_page(accelerator)) + "\n"


def _page(accelerator: Accelerator) -> Iterator[str]:
    yield from ("# How long things take", "", "### Units", "")
    yield from overlap(accelerator)
    yield ""
    yield from units(accelerator)
    yield from pairs(accelerator)
    yield from _instructions(accelerator)
    if accelerator.memories:
        yield from ("", "### Memories", "", *memory_times(accelerator))
    yield from ("", "### Why commands wait", "", *glossary_lines(_possible(accelerator)))
    bounds = list(limits(accelerator))
    if bounds:
        yield from ("", "### What limits a kernel", "", *bounds)
    yield from ("", "### What a fast kernel does", "", *advice(accelerator))
    for name, text in examples(accelerator).items():
        yield from ("", f"### A fast kernel: {name}", "", "```c", text.strip(), "```")


# --- units -------------------------------------------------------------------------------------------------------


def _kind(unit: Unit) -> str:
    return str(unit.settings.get("kind", "serial"))


def _section(accelerator: Accelerator, name: str) -> int:
    section, _, key = name.partition(".")
    return int(accelerator.settings.get(name, SECTION_KEYS[section][key].default))


def overlap(accelerator: Accelerator) -> Iterator[str]:
    """Sentences on how commands reach their units, and on what works at the same time."""
    pooled = [unit.name for unit in accelerator.units if _kind(unit) in POOLED]
    issue, queue = _section(accelerator, "host.issue"), _section(accelerator, "front.queue")
    width = _section(accelerator, "front.width")
    yield (
        f"The host issues {_rate(issue, width)}, in program order, into a queue of {queue}, from which they go to the "
        "pools of their units, in that order too: a command whose pool is full holds up all after it."
    )
    if len(pooled) > 1:
        order = f"each on its own commands in program order{_passing(accelerator)}"
        yield f"The units {', '.join(pooled)} work at the same time, {order}."
    if _section(accelerator, "hazards.tracked"):
        yield (
            "The machine itself orders commands of different units that use the same local rows, as the program does: "
            "a load that comes before a product writes its rows before the product reads them."
        )
    else:
        yield "The machine orders nothing between units: a kernel does that with semaphores or fences."
    if "Semaphore" in _possible(accelerator):
        yield " ".join(_signals(accelerator))
    if _section(accelerator, "host.code"):
        yield _code(accelerator)
    else:
        yield "Loops and address arithmetic of the kernel take no time."


def _signals(accelerator: Accelerator) -> Iterator[str]:
    """Sentences on semaphores; on who uses them where no command of their own does."""
    depth = _section(accelerator, "semaphores.depth")
    if not any(i.words.get("role") in ("wait", "signal") for i in accelerator.instructions):
        gives, takes = (
            ", ".join(f"`{i.name}`" for i in accelerator.instructions if key in i.timing) for key in ("pushes", "pops")
        )
        yield f"When complete, {gives} leaves a signal; {takes} waits for one and takes it."
    if depth:
        yield f"{depth} signals of a kind may be left at most: one more waits for room."
    yield "A kernel has to take all its signals: the next kernel would take one that is left for its own."


def _passing(accelerator: Accelerator) -> str:
    """Units in which commands pass others, as a clause; empty where all of them keep the order."""
    names = [unit.name for unit in accelerator.units if unit_number(unit.settings, "reorder")]
    return f"; in {', '.join(names)} a command passes those that wait for rows" if names else ""


def _code(accelerator: Accelerator) -> str:
    cycles = {
        key: _section(accelerator, f"host.{key}") for key in ("integer", "multiply", "load", "branch", "mispredict")
    }
    return (
        "Code of the kernel takes time on the host as well. Constant operands are built once, in front of all loops, "
        "so that commands written out with constants cost their issue alone; nothing is unrolled or inlined. In "
        f"cycles: an addition or shift {cycles['integer']}, a product {cycles['multiply']}, a load {cycles['load']}, "
        f"a turn of a loop {cycles['branch']}, leaving it {cycles['mispredict']} more."
    )


def _rate(issue: int, width: int) -> str:
    commands = f"{width} commands" if width > 1 else "a command"
    return f"{commands} {'every cycle' if issue <= 1 else f'every {issue} cycles'} at most"


def units(accelerator: Accelerator, only: Collection[str] | None = None) -> Iterator[str]:
    """The units with all their settings; of the instructions named in `only`, with those that one plans with."""
    used = _used(accelerator, only)
    if only is None:
        yield from (_unit(unit, None) for unit in used)
        return
    yield from (_unit(unit, SHORT) for unit in used)
    told = [key for key in SHORT if any(_kind(unit) in UNIT_KEYS[key].kinds for unit in used)]
    if told:
        yield f"- {'; '.join(f'`{key}`: {UNIT_KEYS[key].doc}' for key in told)}."


def pairs(accelerator: Accelerator) -> Iterator[str]:
    """The cycles of a product and the preload in front of it in a row of them, for the units that pair the two."""
    paired = {i.unit for i in accelerator.instructions if i.words.get("role") == "preload"}
    for unit in accelerator.units:
        if unit.name in paired and not unit.settings.get("instant"):
            least, latency, side = (unit_number(unit.settings, key) for key in ("min_rows", "latency", "side"))
            shifted = f"the {side} rows" if _kind(unit) == "systolic" else "the rows"
            yield (
                f"- A preload and its product on `{unit.name}` take the larger of {shifted} that an operand of the "
                f"preload shifts in, if it has one, and the rows that pass the array, {least} at least; sums are there "
                f"{latency} cycles later."
            )


def _used(accelerator: Accelerator, only: Collection[str] | None) -> list[Unit]:
    """The units of the instructions, of those that procedures come to, and those that their hardware loops send
    commands to."""
    if only is None:
        return list(accelerator.units)
    reached = _reached(accelerator, only)
    chosen = [i for i in accelerator.instructions if i.name in reached]
    named = {i.unit for i in chosen}
    expands = any(i.streams for i in chosen)
    return [unit for unit in accelerator.units if unit.name in named or (expands and _kind(unit) in POOLED)]


def _reached(accelerator: Accelerator, names: Collection[str]) -> set[str]:
    """Names of instructions and procedures with all that these procedures call, through others and call forms."""
    calls: dict[str, set[str]] = {p.name: set(re.findall(r"\w+(?=\()", p.text)) for p in accelerator.procedures}
    for alias in accelerator.aliases:
        calls.setdefault(alias.name, set()).update(inner for inner, _ in alias.expansion)
    reached: set[str] = set()
    left = set(names)
    while left:
        reached |= left
        left = {inner for name in left for inner in calls.get(name, ())} - reached
    return reached


def _unit(unit: Unit, keys: Collection[str] | None) -> str:
    """The unit with those of `keys` that mean something to it. Or with all that it states and what they mean, what it
    consists of, and what the description says of it."""
    stated = [key for key in unit.settings if key in UNIT_KEYS and key != "kind"]
    if keys is not None:
        stated = [key for key in keys if _kind(unit) in UNIT_KEYS[key].kinds]
    values = [f"{key} {unit.settings.get(key, UNIT_KEYS[key].default)}" for key in stated]
    work = KINDS[_kind(unit)]
    if keys is not None:
        work = re.sub(r" [(][^()]*[)]", "", work)
    elif unit.doc:
        work = f"{unit.doc} {work[0].upper()}{work[1:]}"
    what = f"- `{unit.name}` ({_kind(unit)}): {work}."
    if keys is None:
        values = [f"{value} ({UNIT_KEYS[key].doc})" for key, value in zip(stated, values, strict=True)]
    return what + (f" {'; '.join(values)}." if values else "")


def _possible(accelerator: Accelerator) -> set[str]:
    """The causes that this machine can show."""
    timing = [(i.words.get("role"), i.timing) for i in accelerator.instructions]
    causes = set(STALLS)
    if not any(role in ("wait", "signal") or {"pops", "pushes"} & set(keys) for role, keys in timing):
        causes.discard("Semaphore")
    if not any(role == "preload" for role, _ in timing):
        causes.discard("Pairing")
    if not any("drain" in keys for _, keys in timing):
        causes.discard("Drain")
    return causes


# --- instructions ------------------------------------------------------------------------------------------------


def _instructions(accelerator: Accelerator) -> Iterator[str]:
    kinds = {unit.name: _kind(unit) for unit in accelerator.units}
    chosen = [i for i in accelerator.instructions if i.unit and not i.sent]
    timed = [i for i in chosen if i.timing or kinds[i.unit or ""] in POOLED]
    if not timed:
        return
    yield from ("", "### Cycles of commands", "")
    yield (
        "By the description; then measured: cycles of one command alone, and what each further one in a row adds. "
        + "Properties: "
        + "; ".join(f"`{key}` is {PROPERTY_KEYS[key].doc}" for key in _properties(timed))
        + "."
    )
    yield ""
    figures = measured(accelerator)
    roles = instruction_roles(accelerator)
    for instruction in timed:
        if roles[instruction.name].kind != "configuration" or instruction.words.get("role") == "configure":
            yield _instruction(accelerator, instruction, figures.get(instruction.name, ()))


def _properties(instructions: Collection[Instruction]) -> list[str]:
    used = {key for instruction in instructions for key in instruction.timing}
    return [key for key in PROPERTY_KEYS if key in used]


def _instruction(accelerator: Accelerator, instruction: Instruction, figures: tuple[Measured, ...]) -> str:
    forms = list(dict.fromkeys(form.name for form in spellings(accelerator, instruction)))
    called = f" ({', '.join(forms)})" if forms else ""
    role = instruction.words.get("role")
    parts = [f"role {role}"] if role else []
    parts += [f"{key} = `{show(value)}`" for key, value in instruction.timing.items()]
    text = f"- `{instruction.name}`{called}: {'; '.join(parts) or 'a cycle'}."
    return f"{text} Measured{_paired(accelerator, instruction)}: {_listed(figures)}." if figures else text


def times(accelerator: Accelerator, instruction: Instruction, figures: Sequence[Measured]) -> str:
    """The cost of a command of an instruction, in short; empty where nothing is known, and of a preload, which its
    multiply tells."""
    if instruction.words.get("role") == "preload":
        return ""
    told = [
        meaning.removeprefix("1: ")
        if value == ONE and meaning.startswith("1: ")
        else f"{key} = `{show(value)}` ({meaning})"
        for key, value in instruction.timing.items()
        if (meaning := TOLD.get(key)) and key != "semaphore"  # an operand says which
    ]
    known = [f"{_listed(figures)} in a row{_paired(accelerator, instruction)}"] if figures else []
    return f"Cycles: {'; '.join([*known, *told])}." if known or told else ""


def _listed(figures: Sequence[Measured]) -> str:
    """The figures, each without what the one before it says as well."""
    before = (Measured({}, 0, 0), *figures)
    return "; ".join(_figures(one, earlier.otherwise) for earlier, one in zip(before, figures, strict=False))


def _paired(accelerator: Accelerator, instruction: Instruction) -> str:
    multiplies = instruction.words.get("role") == "multiply"
    return " with its preload" if multiplies and _has_preload(accelerator, instruction) else ""


def _has_preload(accelerator: Accelerator, multiply: Instruction) -> bool:
    return any(i.words.get("role") == "preload" and i.unit == multiply.unit for i in accelerator.instructions)


def _figures(figures: Measured, known: Mapping[str, float]) -> str:
    values = set(figures.sizes.values())
    sizes = ", ".join(f"{name} {value}" for name, value in figures.sizes.items())
    if len(figures.sizes) > 2 and len(values) == 1:
        sizes = f"all sizes {values.pop()}"
    news = {words: cycles for words, cycles in figures.otherwise.items() if known.get(words) != cycles}
    others = ", ".join(f"{cycles:.4g} {words}" for words, cycles in news.items())
    beginning = f"{sizes}: " if sizes else ""
    return f"{beginning}{figures.alone} alone, {figures.each:.4g} each{f' ({others})' if others else ''}"


# --- what is fast ------------------------------------------------------------------------------------------------


def limits(accelerator: Accelerator) -> Iterator[str]:
    """The limits that no kernel can beat."""
    rate = peak(accelerator)
    into, out = bus_rates(accelerator)
    if rate or into:
        yield "No kernel takes fewer cycles than the larger of:"
    if rate:
        host = ", besides what the host computes" if _section(accelerator, "host.code") else ""
        yield f"- multiply-accumulates / {rate}, the most that the machine does in a cycle{host};"
    if into and out:
        yield f"- bytes of inputs / {into:.4g} and bytes of outputs / {out:.4g}, each moved once."
    if rate and into:
        yield f"\nMultiply-accumulates for each byte moved in: {rate / into:.4g} at least, or the bus is the limit."
    tile = contraction_tile(accelerator)
    if tile is not None:
        yield f"One contraction does {tile[0]} x {tile[1]} x {tile[2]} at most; smaller ones may cost as much."


def advice(accelerator: Accelerator) -> Iterator[str]:
    """Advice for fast kernels on a machine with these instructions."""
    kinds = {role.kind for role in instruction_roles(accelerator).values()}
    tracked = bool(_section(accelerator, "hazards.tracked"))
    if {"load", "contraction"} <= kinds:
        if all(memory_number(memory.settings, "renamed") for memory in accelerator.local_memories):
            yield "- Loads ahead: it loads the next tiles before the products with these, into the same, renamed rows."
        else:
            yield (
                "- Double buffering: it loads the next tiles into a second set of rows while it computes on the first, "
                "and alternates between the two."
            )
        yield (
            "- Reuse: it moves an operand in once where it fits into local memory, or keeps a block of results there "
            "and passes over the operands block by block. "
            + ", ".join(f"`{m.name}` holds {m.rows * m.row_bytes:,} bytes" for m in accelerator.local_memories)
            + "."
        )
    if has_sized_moves(accelerator):
        yield (
            "- Wide moves: it moves as many columns and rows with one command as its operands allow, where that makes "
            "each cheaper."
        )
    if "store" in kinds:
        yield (
            "- Late stores: it stores the results of a block after the loads for the next, so that the next "
            "computation does not wait."
        )
    yield (
        "- Order of issue: it alternates commands of different units as they are needed, so that "
        "none fills its queue and holds up the others."
    )
    if not tracked:
        yield (
            "- Semaphores: it counts free and filled buffers, so that units run ahead by as many buffers as there are."
        )
    yield "- One fence, at the end."


def examples(accelerator: Accelerator, operation: str | None = None) -> Mapping[str, str]:
    """Kernels that lie beside the machine's description, by what they compute, without those for other values of its
    parameters than it has; none for a machine in memory."""
    folder = Path(accelerator.path).parent / EXAMPLES
    if not accelerator.path or not folder.is_dir():
        return {}
    texts: dict[str, str] = {}
    prefix = accelerator.full_name.replace(":", "_")
    for file in sorted(folder.glob(f"{prefix}_*.c")):
        name = file.stem.removeprefix(f"{prefix}_")
        text = decode(read_regular(file), str(file), ConfigError) if operation in (None, name) else ""
        if text and _fits(accelerator, text):
            texts[name] = text
    return texts


def headless(example: str) -> str:
    """An example without the parameters that it is for, which the machine has."""
    return re.sub(r";\s+(?://\s+)?for a machine(?:\s+//)?[^.]*?\.(?=\s)", ".", example, count=1)


def _fits(accelerator: Accelerator, text: str) -> bool:
    """True if the machine's parameters are those that the comment at the kernel's head names."""
    head = text[: text.find("void ")]
    stated = {name: int(value) for name, value in re.findall(r"(\w+) = (\d+)", head)}
    return all(accelerator.parameters.get(name, value) == value for name, value in stated.items())
