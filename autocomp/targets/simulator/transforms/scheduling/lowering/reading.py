"""Reads the commands that a computation is made of from a kernel that carries it out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from autocomp.targets.simulator.isa import algebra
from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.isa.derived.meaning import Side, Transfer, decided
from autocomp.targets.simulator.isa.derived.roles import instruction_roles
from autocomp.targets.simulator.isa.tree import AddressField, Call, Expression, Name, Number, StateField
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.lifting.commands import Commands
from autocomp.targets.simulator.transforms.scheduling.lifting.contractions import Lifted
from autocomp.targets.simulator.transforms.scheduling.lifting.flow import Products, Tiles
from autocomp.targets.simulator.transforms.scheduling.lifting.forms import Form, Registers, effects_of, form_of
from autocomp.targets.simulator.transforms.scheduling.lowering.leaves import (
    Configure,
    Leaves,
    MoveLeaf,
    Numbers,
    Part,
    ProductLeaf,
    Setting,
)
from autocomp.targets.simulator.transforms.scheduling.lowering.variants import (
    changed_operands,
    final_transfer,
    kept_product,
    other_product,
    with_operands,
)


def leaves_of(lifted: Lifted, commands: Commands) -> Leaves:
    """The commands that a kernel carries out a contraction with. Raises NotApplicable where they cannot be told."""
    return _Reader(lifted, commands).leaves()


@dataclass
class _Reader:
    lifted: Lifted
    commands: Commands
    _forms: Sequence[Form] = field(init=False)

    def __post_init__(self) -> None:
        self._forms = self.commands.forms

    def leaves(self) -> Leaves:
        largest = max(self.lifted.products, key=lambda p: tuple(p.axes.values()))
        sources = tuple(dict.fromkeys(a.source.tensor for a in self.lifted.added if a.source is not None))
        zeros = [a for a in self.lifted.added if a.source is None]
        stored = self.lifted.stored[0]
        return Leaves(
            self.commands.accelerator,
            self._product(),
            self._move_of(largest.left),
            self._move_of(largest.right),
            tuple(self._added(tensor) for tensor in sources),
            self._move(zeros[0].form, int(zeros[0].commands[0])) if zeros else self._zero(sources),
            self._move(stored.form, int(stored.commands[0])),
            self._fence(),
        )

    def _fence(self) -> tuple[m.Instruction, Numbers] | None:
        fence = next((form for form in self._forms if form.role == "fence"), None)
        return None if fence is None else (fence.instruction, fence.operands)

    # --- moves

    def _move_of(self, tiles: Tiles) -> MoveLeaf:
        """The move that brings tiles of an operand."""
        return self._move(tiles.form, int(self.commands.of(tiles.form)[0]))

    def _added(self, tensor: int) -> MoveLeaf:
        addition = next(a for a in self.lifted.added if a.source is not None and a.source.tensor == tensor)
        return self._move(addition.form, int(addition.commands[0]))

    def _zero(self, sources: Sequence[int]) -> MoveLeaf | None:
        """A move that writes zeros, from one that loads what results start from, if a null pointer does that."""
        if not sources:
            return None
        leaf = self._added(sources[0])
        number = next(a.form for a in self.lifted.added if a.source is not None)
        form = self._forms[number]
        try:
            other = form_of(form.accelerator, form.instruction, {**form.operands, leaf.pointer: 0}, form.registers)
        except NotApplicable:
            return None
        final = [t for t in other.transfers if t.target.memory == leaf.memory]
        blank = len(final) == 1 and not final[0].moved and final[0].product is None and not final[0].adds
        return replace(leaf, operands=other.operands) if blank else None

    def _move(self, number: int, command: int) -> MoveLeaf:
        form = self._forms[number]
        return move_leaf(form, self._settings(form, command))

    # --- configuration

    def _settings(self, form: Form, command: int) -> tuple[Configure, ...]:
        """The configuring commands that a command relies on, as they are in force there."""
        used = _records_read(form)
        settings: list[Configure] = []
        for instruction in self.commands.accelerator.instructions:
            effects = effects_of(self.commands.accelerator, instruction)
            records = {name for name, _, _ in effects}
            if not _is_configuration(instruction, self.commands.accelerator) or not records & {r for r, _ in used}:
                continue
            selector = next((i.name for _, i, _ in effects if isinstance(i, Name)), "")
            last = self._last(instruction, selector, {index for name, index in used if name in records}, command)
            if last is not None:
                values = {part: decided(value, last.evaluate) for (_, _, part), value in effects.items()}
                sets = {part: _name_in(value) for part, value in values.items() if _name_in(value)}
                settings.append(Configure(instruction, last.operands, selector, sets))
        return tuple(settings)

    def _last(self, instruction: m.Instruction, selector: str, indices: set[int | None], command: int) -> Form | None:
        alike = [
            n
            for n, form in enumerate(self._forms)
            if form.instruction is instruction and (not selector or form.operands[selector] in indices)
        ]
        before = [int(c[c < command].max()) for n in alike if (c := self.commands.of(n))[:1].size and c[0] < command]
        return self._forms[int(self.commands.form[max(before)])] if before else None

    # --- products

    def _product(self) -> ProductLeaf:
        parts = self.lifted.products
        adding = next((p for p in parts if p.adds), None)
        starting = next((p for p in parts if not p.adds), None)
        known = adding or starting
        assert known is not None
        sequence = self._sequence(known)
        registers = self._registers(known)
        others = other_product(self.commands.accelerator, sequence, registers, known.adds)
        given = tuple(self._parts(known, sequence))
        if adding is not None and starting is not None:
            second = tuple(self._parts(starting, self._sequence(starting)))
        else:
            second = with_operands(given, others)
        right = next((name for name, word in given[0].addresses.items() if word == "right"), None)
        kept = kept_product(self.commands.accelerator, sequence, registers, right)
        first_kept = with_operands(second, kept, only=changed_operands(sequence, kept)) if kept else ()
        final = final_transfer(self._forms[known.form])
        assert final.product is not None
        dims = {known.row: "row", known.column: "column", known.depth: "depth"}
        spaces, memories = self._places(known, given)
        two = (given, second) if known.adds else (second, given)
        keeping = with_operands(given, kept, only=changed_operands(sequence, kept)) if kept else ()
        both = (keeping, first_kept) if known.adds else (first_kept, keeping)
        return ProductLeaf(
            *two,
            *both,
            spaces,
            memories,
            {"left": dims[known.left.rows], "right": dims[known.right.rows]},
            self._most(given),
            self._settings_of(known),
        )

    def _settings_of(self, part: Products) -> tuple[Configure, ...]:
        settings: dict[str, Configure] = {}
        for number, command in ((part.preload, part.preloads[0]), (part.form, part.commands[0])):
            if number >= 0:
                settings.update({c.instruction.name: c for c in self._settings(self._forms[number], int(command))})
        return tuple(settings.values())

    def _most(self, parts: Sequence[Part]) -> Mapping[str, int]:
        """The largest tile: what all operands that say its extents allow."""
        most: dict[str, int] = {}
        for part in parts:
            for parameter in part.instruction.parameters:
                word = part.extents.get(parameter.name)
                if word is not None and parameter.high is not None:
                    most[word] = min(most.get(word, parameter.high), parameter.high)
        missing = {"row", "column", "depth"} - most.keys()
        if missing:
            raise NotApplicable(f"no operand says how many {min(missing)}s a product has")
        return most

    def _sequence(self, part: Products) -> tuple[Form, ...]:
        forms = (part.preload, part.form) if part.preload >= 0 else (part.form,)
        return tuple(self._forms[number] for number in forms)

    def _registers(self, part: Products) -> Registers:
        return self._sequence(part)[0].registers

    def _places(self, part: Products, parts: Sequence[Part]) -> tuple[Mapping[str, m.AddressSpace], Mapping[str, str]]:
        spaces: dict[str, m.AddressSpace] = {}
        for one in parts:
            for parameter, word in one.addresses.items():
                name = next(p.space for p in one.instruction.parameters if p.name == parameter)
                assert name is not None
                spaces[word] = self.commands.accelerator.space(name)
        if spaces.keys() != {"left", "right", "result"}:
            raise NotApplicable("where a product reads and writes is not given by operands of its own")
        final = final_transfer(self._forms[part.form])
        assert final.product is not None
        right = final.product.right.memory
        if part.preload >= 0:
            right = _loaded(self._forms[part.preload]).moved[0].source.memory
        return spaces, {"left": final.product.left.memory, "right": right, "result": final.target.memory}

    def _parts(self, part: Products, sequence: Sequence[Form]) -> Iterator[Part]:
        """The commands of a product, with the meaning of each operand."""
        dims = {part.row: "row", part.column: "column", part.depth: "depth"}
        compute = sequence[-1]
        final = final_transfer(compute)
        assert final.product is not None
        addresses: list[dict[str, str]] = [{} for _ in sequence]
        extents: list[dict[str, str]] = [{} for _ in sequence]
        sides = [("left", final.product.left, len(sequence) - 1), ("result", final.target, len(sequence) - 1)]
        bounds = [(axis, bound, len(sequence) - 1) for axis, values in final.bounds.items() for bound in values]
        if part.preload >= 0:
            loaded = _loaded(sequence[0])
            sides.append(("right", loaded.moved[0].source, 0))
            names = _axes(loaded, final.product.right)
            bounds += [(names[axis], bound, 0) for axis, values in loaded.bounds.items() for bound in values]
        else:
            sides.append(("right", final.product.right, 0))
        for word, side, number in sides:
            at, parameter = _named_by(sequence, number, side)
            addresses[at][parameter] = word
        for axis, bound, number in bounds:
            for at, parameter in _counted_by(sequence, number, bound):
                extents[at][parameter] = dims[axis]
        for number, form in enumerate(sequence):
            yield Part(form.instruction, form.operands, addresses[number], extents[number], form)


def move_leaf(form: Form, settings: tuple[Configure, ...]) -> MoveLeaf:
    """A move of a form between a tensor and local memory, which relies on `settings`. Raises NotApplicable where its
    operands do not say where and how much."""
    transfer = _moving(form)
    store = transfer.target.pointer
    local = transfer.moved[0].source if store else transfer.target
    dram = transfer.target if store else transfer.moved[0].source if transfer.moved else None
    row = next(axis for axis, step in local.steps.items() if not step.columns)
    column = next(axis for axis, step in local.steps.items() if step.columns)
    address = _address(form, local)
    rows, columns = (_operands(transfer.bounds[axis]) for axis in (row, column))
    pointers = [p.name for p in form.instruction.parameters if p.kind == "pointer"]
    along = _rows_along(transfer, row)
    stride = Setting() if dram is None or along not in dram.steps else _setting(form, dram.steps[along].rows)
    step = local.steps[column]
    memory = form.accelerator.memory(local.memory)
    width = step.width or memory.cols
    return MoveLeaf(
        form.instruction,
        form.operands,
        local.memory,
        form.space(address),
        pointers[0],
        address,
        rows,
        columns,
        _widest(form, columns, width) if step.width else min(_most(form, columns), width),
        width,
        stride,
        _setting(form, step.rows) if step.width else Setting(),
        _selector(form, transfer),
        settings,
        {word: _setting(form, value) for word, value in transfer.windows.items()},
        form if transfer.windows else None,
    )


def _loaded(form: Form) -> Transfer:
    return next(t for t in form.transfers if len(t.moved) == 1)


def _moving(form: Form) -> Transfer:
    """The transfer of a move that is not into registers on the way."""
    registers = {m.name for m in form.accelerator.memories if m.kind == "register"}
    (transfer,) = (t for t in form.transfers if t.product is None and t.target.memory not in registers)
    return transfer


def _rows_along(transfer: Transfer, row: str) -> str:
    """The axis of DRAM along the local rows; where windows of these are stored, that of the windows of one line."""
    windows = transfer.windows
    return next(axis for axis, bound in transfer.bounds.items() if bound == (windows["line_rows"],)) if windows else row


def _axes(loaded: Transfer, register: Side) -> Mapping[str, str]:
    """A product's axes, by those of the command that filled the registers."""
    axes: dict[str, str] = {}
    for axis, step in loaded.target.steps.items():
        axes[axis] = next(a for a, other in register.steps.items() if other.columns == step.columns)
    return axes


def _address(form: Form, side: Side) -> str:
    fields = {p.parameter for p in algebra.walk(side.base) if isinstance(p, AddressField)}
    if len(fields) != 1:
        raise NotApplicable(f"no one operand of {form.name} says where it moves rows")
    return fields.pop()


def _named_by(sequence: Sequence[Form], number: int, side: Side) -> tuple[int, str]:
    """The command of a sequence, and its operand, that say where a side begins."""
    for part in algebra.walk(side.base):
        if isinstance(part, AddressField):
            return number, part.parameter
        if isinstance(part, StateField):
            register = (part.state, None, part.field)
            for at in reversed(range(number)):
                if register in sequence[at].sets:
                    return at, sequence[at].sets[register]
    raise NotApplicable(f"where {sequence[number].name} reads or writes is not given by an operand")


def _counted_by(sequence: Sequence[Form], number: int, bound: Expression) -> Iterator[tuple[int, str]]:
    """The commands and operands that a bound follows from."""
    if isinstance(bound, Name):
        yield number, bound.name
    elif isinstance(bound, StateField):
        for at in reversed(range(number)):
            effects = effects_of(sequence[at].accelerator, sequence[at].instruction)
            value = effects.get((bound.state, None, bound.field))
            if value is not None and _name_in(value):
                yield at, _name_in(value)
                return
    elif isinstance(bound, Call) and bound.function == "min":
        for argument in bound.arguments:
            yield from _counted_by(sequence, number, argument)
    elif not isinstance(bound, Number):
        raise NotApplicable(f"how much {sequence[number].name} covers is not given by operands")


def _name_in(value: Expression) -> str:
    """The only operand that a value follows from; empty for a value of no operand, or of several."""
    names = {part.name for part in algebra.walk(value) if isinstance(part, Name)}
    return names.pop() if len(names) == 1 and isinstance(value, Name | Call) else ""


def _operands(bounds: Sequence[Expression]) -> tuple[str, ...]:
    return tuple(bound.name for bound in bounds if isinstance(bound, Name))


def _most(form: Form, operands: Sequence[str]) -> int:
    highs = [p.high for p in form.instruction.parameters if p.name in operands and p.high is not None]
    return min(highs, default=1)


def _widest(form: Form, operands: Sequence[str], width: int) -> int:
    """The most columns of one move, by the operands' ranges and what the instruction requires."""
    most = _most(form, operands)
    while most > width:
        try:
            wider = {**form.operands, **dict.fromkeys(operands, most)}
            if form.requires(wider):
                return most
        except NotApplicable:
            pass
        most -= width
    return min(most, width)


def _setting(form: Form, expression: Expression) -> Setting:
    if isinstance(expression, Name):
        return Setting(operand=expression.name)
    if isinstance(expression, StateField):
        index = None if expression.index is None else form.number(expression.index)
        return Setting(register=(expression.state, index, expression.field))
    if isinstance(expression, Number):
        return Setting(constant=int(expression.value))
    raise NotApplicable(f"{form.name} makes a stride of several numbers")


def _selector(form: Form, transfer: Transfer) -> str:
    """The operand that chooses the record of configuration."""
    for side in (transfer.target, *(moved.source for moved in transfer.moved)):
        for step in side.steps.values():
            for part in algebra.walk(step.rows):
                if isinstance(part, StateField) and isinstance(part.index, Name):
                    return part.index.name
    return ""


def _records_read(form: Form) -> set[tuple[str, int | None]]:
    """The records of configuration that a form's semantics mention."""
    records: set[tuple[str, int | None]] = set()
    for part in form.mentioned():
        index = None if part.index is None else form.evaluate(part.index)
        if index is None or isinstance(index, Number):
            records.add((part.state, None if index is None else int(index.value)))
    return records


def _is_configuration(instruction: m.Instruction, accelerator: m.Accelerator) -> bool:
    return instruction_roles(accelerator)[instruction.name].kind == "configuration" and not instruction.streams
