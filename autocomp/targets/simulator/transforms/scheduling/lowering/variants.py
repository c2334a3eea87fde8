"""Other ways to multiply: the same product started anew or added, or with an operand that stays in the array."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.isa.derived.meaning import Transfer
from autocomp.targets.simulator.isa.tree import Number
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.lifting.forms import Form, Registers, form_of, registers_after
from autocomp.targets.simulator.transforms.scheduling.lowering.leaves import Numbers, Part


def final_transfer(form: Form) -> Transfer:
    """The final transfer of a compute: a product whose target is not a register."""
    registers = {memory.name for memory in form.accelerator.memories if memory.kind == "register"}
    return next(t for t in form.transfers if t.product is not None and t.target.memory not in registers)


def _run(
    accelerator: m.Accelerator, sequence: Sequence[tuple[m.Instruction, Numbers]], registers: Registers
) -> tuple[list[Form], Registers]:
    """The forms of commands, one after another, and the registers after them."""
    forms: list[Form] = []
    for instruction, operands in sequence:
        form = form_of(accelerator, instruction, operands, registers)
        if not form.requires(operands):
            raise NotApplicable(f"{instruction.name} forbids these operands")
        forms.append(form)
        registers = registers_after(accelerator, instruction, operands, registers)
    return forms, registers


def _choices(form: Form) -> Iterator[tuple[str, int]]:
    """Operands with other values: those of few values, and addresses with another bit that is not of the row."""
    for parameter in form.instruction.parameters:
        given = form.operands[parameter.name]
        if parameter.kind == "address":
            space = form.space(parameter.name)
            for name, high, low in space.fields:
                if high == low and name != space.row_field and int(given) != space.none:
                    yield parameter.name, int(given) ^ (1 << low)
            if space.none is not None and int(given) != space.none:
                yield parameter.name, space.none
        else:
            yield from ((parameter.name, value) for value in _values(parameter) if value != given)


def _values(parameter: m.Parameter) -> range:
    """The values of a number that has few."""
    low, high = parameter.low, parameter.high
    few = parameter.kind == "integer" and low is not None and high is not None and high - low < 4
    return range(low or 0, (high or 0) + 1) if few else range(0)


def other_product(
    accelerator: m.Accelerator, sequence: Sequence[Form], registers: Registers, adds: bool
) -> tuple[Numbers, ...]:
    """The operands of the same product that overwrites its result where this one adds to it, or the other way round;
    empty if the machine has none."""
    wanted = replace(final_transfer(sequence[-1]), adds=not adds)
    for number, form in enumerate(sequence):
        for name, value in _choices(form):
            operands = [dict(f.operands) for f in sequence]
            operands[number][name] = value
            try:
                forms, _ = _run(
                    accelerator, [(f.instruction, o) for f, o in zip(sequence, operands, strict=True)], registers
                )
                if final_transfer(forms[-1]) == wanted:
                    return tuple(operands)
            except (NotApplicable, StopIteration):
                continue
    return ()


def kept_product(
    accelerator: m.Accelerator, sequence: Sequence[Form], registers: Registers, right: str | None
) -> tuple[Numbers, ...]:
    """The operands of the same product, directly after it, that reads the right operand from registers as they are;
    empty if the machine has none. `right` is the first command's operand that names the rows of the right one."""
    if len(sequence) < 2:
        return ()
    forms, after = _run(accelerator, [(f.instruction, f.operands) for f in sequence], registers)
    first = final_transfer(forms[-1])
    assert first.product is not None
    slot = forms[-1].number(first.product.right.base)
    space = sequence[0].space(right) if right is not None else None
    if right is None or space is None or space.none is None:
        return ()
    absent = {**sequence[0].operands, right: space.none}
    compute = sequence[-1]
    for name, value in ((("", 0)), *_choices(compute)):
        operands = {**compute.operands, **({name: value} if name else {})}
        try:
            again, _ = _run(accelerator, [(sequence[0].instruction, absent), (compute.instruction, operands)], after)
            last = final_transfer(again[-1])
        except (NotApplicable, StopIteration):
            continue
        assert last.product is not None
        memory = last.product.right.memory
        touched = [again[0].number(t.target.base) for t in again[0].transfers if t.target.memory == memory]
        same = replace(last, product=replace(last.product, right=first.product.right)) == first
        if same and again[-1].number(last.product.right.base) == slot and slot not in touched:
            return absent, operands
    return ()


def once_more(form: Form) -> Numbers:
    """The operand that makes a product, directly after one that took a tile from a queue, multiply by the same tile:
    the queue and all registers stay as they are. Empty if the machine has none."""
    accelerator, instruction = form.accelerator, form.instruction
    after = registers_after(accelerator, instruction, form.operands, form.registers)
    for name, value in _choices(form):
        operands = {**form.operands, name: value}
        try:
            again = form_of(accelerator, instruction, operands, after)
            alike = _with_known_places(final_transfer(again), again) == _with_known_places(final_transfer(form), form)
        except (NotApplicable, StopIteration):
            continue
        words = [again.evaluate(instruction.timing[w]) for w in ("pops", "pushes") if w in instruction.timing]
        still = registers_after(accelerator, instruction, operands, after) == after
        if alike and still and words and all(word == Number(0) for word in words):
            return {name: value}
    return {}


def _with_known_places(transfer: Transfer, form: Form) -> Transfer:
    """A product's meaning with the rows that registers say as numbers."""
    assert transfer.product is not None
    left, right = (replace(s, base=form.evaluate(s.base)) for s in (transfer.product.left, transfer.product.right))
    return replace(transfer, product=replace(transfer.product, left=left, right=right))


def changed_operands(sequence: Sequence[Form], operands: Sequence[Numbers]) -> list[frozenset[str]]:
    """The operands that a variant changes, by command."""
    pairs = zip(sequence, operands, strict=True)
    return (
        [frozenset(n for n, v in given.items() if form.operands[n] != v) for form, given in pairs] if operands else []
    )


def with_operands(
    parts: Sequence[Part], operands: Sequence[Numbers], only: Sequence[frozenset[str]] = ()
) -> tuple[Part, ...]:
    """The commands with other numbers. Operands that a variant fixes lose their meaning."""
    if not operands:
        return ()
    shared: list[Part] = []
    for number, part in enumerate(parts):
        given = operands[number]
        if only:
            given = {n: (v if n in only[number] else part.operands[n]) for n, v in given.items()}
        gone = only[number] if only else frozenset()
        addresses = {n: w for n, w in part.addresses.items() if n not in gone}
        shared.append(replace(part, operands=given, addresses=addresses))
    return tuple(shared)
