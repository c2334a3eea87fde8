"""From the model to the tables of the native core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autocomp.errors import IsaError
from autocomp.remember import remembered
from autocomp.simulator import _core
from autocomp.targets.simulator.isa.derived.regions import Region, derive
from autocomp.targets.simulator.isa.lowering.nodes import Environment, Nodes
from autocomp.targets.simulator.isa.model import Accelerator, Instruction, Parameter, Track
from autocomp.targets.simulator.isa.tree import (
    Assign,
    Await,
    Binary,
    Choose,
    Expression,
    For,
    Iterate,
    Let,
    Name,
    Number,
    Require,
    StateField,
    Statement,
    StreamStatement,
    When,
    element_bits,
    is_float,
)


@dataclass(frozen=True)
class MachineTables:
    """A native machine and the indices of its parts. `slots` has one entry per state value, e.g. `ld[1].stride`."""

    machine: _core.Machine
    instructions: Mapping[str, int]
    memories: Mapping[str, int]
    units: Mapping[str, int]
    slots: Mapping[str, int]
    parameters: Mapping[str, tuple[Parameter, ...]]


@remembered
def lower(accelerator: Accelerator) -> MachineTables:
    """The accelerator as tables for the native core.

    Raises IsaError for descriptions that parse but that the core cannot run.
    """
    lowering = _Lowering(accelerator)
    try:
        return lowering.tables()
    except ValueError as error:
        raise IsaError(f"{accelerator.path or accelerator.name}: {error}") from None


class _Lowering:
    def __init__(self, accelerator: Accelerator) -> None:
        self.accelerator = accelerator
        self.builder = _core.MachineBuilder()
        self.memories: dict[str, int] = {}
        for m in accelerator.memories:
            shown = self.memories[m.shown] if m.shown else -1
            index = self.builder.memory(m.name, m.kind, m.rows, m.cols, m.element, m.banks, shown)
            self.memories[m.name] = index
        self.instructions: dict[str, int] = {}
        self.slots: dict[str, int] = {}
        self.first_slot: dict[tuple[str, str], int] = {}
        self._add_state()
        self.units = {u.name: self._add_unit(u.name, u.settings) for u in accelerator.units}

    def tables(self) -> MachineTables:
        self._add_settings()
        for instruction in self.accelerator.instructions:
            self._add_instruction(instruction)
        parameters = {i.name: i.parameters for i in self.accelerator.instructions}
        return MachineTables(self.builder.build(), self.instructions, self.memories, self.units, self.slots, parameters)

    # --- declarations

    def _add_state(self) -> None:
        for record in self.accelerator.states:
            for field, element, initial in record.fields:
                for index in range(max(1, record.count)):
                    name = f"{record.name}[{index}].{field}" if record.count else f"{record.name}.{field}"
                    slot = self.builder.state(name, float(initial), is_float(element))
                    self.slots[name] = slot
                    self.first_slot.setdefault((record.name, field), slot)

    def _add_unit(self, name: str, settings: Mapping[str, int | float | str]) -> int:
        numbers = {k: self._whole(f"{name}.{k}", v) for k, v in settings.items() if not isinstance(v, str)}
        return self.builder.unit(name, numbers, {k: v for k, v in settings.items() if isinstance(v, str)})

    def _add_settings(self) -> None:
        settings = dict(self.accelerator.settings)
        for memory in self.accelerator.memories:
            settings.update({f"{memory.name}.{key}": value for key, value in memory.settings.items()})
        for key, value in settings.items():
            self.builder.setting(key, value if isinstance(value, str) else self._whole(key, value))

    def _whole(self, key: str, value: int | float) -> int:
        if isinstance(value, float) and not value.is_integer():
            raise IsaError(f"{self.accelerator.path}: setting {key} is {value}; an integer is needed")
        return int(value)

    # --- instructions

    def _add_instruction(self, instruction: Instruction) -> int:
        nodes = Nodes(self.builder, self.accelerator, instruction, self.memories, self.first_slot)
        body = [self._range_check(nodes, p) for p in instruction.parameters if p.low is not None]
        homes = {memory.name: memory.shown for memory in self.accelerator.memories if memory.shown}
        statements, environment = self._block(nodes, instruction.body, Environment(homes=homes))
        index = self.builder.instruction(
            instruction.name,
            -1 if instruction.unit is None else self.units[instruction.unit],
            [(p.name, p.kind == "float") for p in instruction.parameters],
            body + statements,
            [
                *(self._access(nodes, region) for region in derive(self.accelerator, instruction)),
                *(self._track(nodes, track, environment) for track in instruction.tracks),
            ],
            [(key, nodes.build(value, environment)) for key, value in instruction.timing.items()],
            [position for position, p in enumerate(instruction.parameters) if p.kind == "pointer"],
        )
        for key, word in instruction.words.items():
            self.builder.word(index, key, word)
        for position, parameter in enumerate(instruction.parameters):
            if parameter.memory:
                self.builder.home(index, position, self.memories[parameter.memory])
        self.instructions[instruction.name] = index
        self._add_streams(nodes, index, instruction)
        return index

    # --- streams

    def _add_streams(self, nodes: Nodes, index: int, instruction: Instruction) -> None:
        environment = Environment()  # lets, with the state before the instruction
        for statement in instruction.body:
            if isinstance(statement, Let):
                value = nodes.build(statement.value, environment)
                environment = environment.let(statement.name, value, statement.value)
        names = [stream.name for stream in instruction.streams]
        for stream in instruction.streams:
            body = self._stream_block(nodes, stream.body, environment, ())
            self.builder.stream(index, stream.name, stream.priority, [names.index(name) for name in stream.after], body)

    def _stream_block(
        self, nodes: Nodes, body: Sequence[StreamStatement], environment: Environment, awaits: tuple[int, ...]
    ) -> list[int]:
        statements: list[int] = []
        for statement in body:
            if isinstance(statement, Let):
                value = nodes.build(statement.value, environment)
                environment = environment.let(statement.name, value, statement.value)
            elif isinstance(statement, Await):
                awaits = (*awaits, nodes.build(statement.condition, environment))
            elif isinstance(statement, Iterate):
                count, step = (nodes.build(part, environment) for part in (statement.bound, statement.step))
                inner = environment.loop(statement.variable, nodes.loop(environment.depth))
                block = self._stream_block(nodes, statement.body, inner, awaits)
                statements.append(self.builder.loop(count, block, step))
            elif isinstance(statement, Choose):
                condition = nodes.build(statement.condition, environment)
                then = self._stream_block(nodes, statement.then, environment, awaits)
                otherwise = self._stream_block(nodes, statement.otherwise, environment, awaits)
                statements.append(self.builder.when(condition, then, otherwise))
            else:
                arguments = [nodes.build(argument, environment) for argument in statement.arguments]
                statements.append(self.builder.emit(self.instructions[statement.instruction], arguments, awaits))
        return statements

    def _range_check(self, nodes: Nodes, parameter: Parameter) -> int:
        low, high = parameter.low, parameter.high
        assert low is not None
        assert high is not None
        name = Name(parameter.name)
        condition = Binary("&&", Binary(">=", name, Number(low)), Binary("<=", name, Number(high)))
        allowed = f"must be {low}" if low == high else f"must be {low} to {high}"
        message = f"{parameter.name} {allowed}{self.accelerator.elsewhere(parameter)}"
        return self.builder.require(nodes.build(condition, Environment()), message)

    def _block(
        self, nodes: Nodes, body: Sequence[Statement], environment: Environment
    ) -> tuple[list[int], Environment]:
        statements = []
        for statement in body:
            if isinstance(statement, Let):
                environment = environment.let(
                    statement.name, nodes.build(statement.value, environment), statement.value
                )
                continue
            statements.append(self._statement(nodes, statement, environment))
            environment = environment.after(statement)
        return statements, environment

    def _statement(self, nodes: Nodes, statement: Statement, environment: Environment) -> int:
        if isinstance(statement, Require):
            return self.builder.require(nodes.build(statement.condition, environment), statement.message)
        if isinstance(statement, For):
            counts = []
            if statement.ordered:  # a later iteration sees what an earlier one changed
                environment = environment.after(statement)
            for variable, bound in statement.variables:
                counts.append(nodes.build(bound, environment))
                environment = environment.loop(variable, nodes.loop(environment.depth))
            body, _ = self._block(nodes, statement.body, environment)
            for count in reversed(counts):
                body = [self.builder.loop(count, body, ordered=statement.ordered)]
            return body[0]
        if isinstance(statement, When):
            condition = nodes.build(statement.condition, environment)
            then, _ = self._block(nodes, statement.then, environment)
            otherwise, _ = self._block(nodes, statement.otherwise, environment)
            return self.builder.when(condition, then, otherwise)
        assert isinstance(statement, Assign)
        return self._assign(nodes, statement, environment)

    def _assign(self, nodes: Nodes, statement: Assign, environment: Environment) -> int:
        target = statement.target
        if isinstance(target, StateField):
            value = nodes.build(nodes.fit_state(target, statement.value), environment)
            index = -1 if target.index is None else nodes.build(target.index, environment)
            return self.builder.set_state(self.first_slot[target.state, target.field], index, value)
        value = nodes.build(statement.value, environment)
        indices = [nodes.build(index, environment) for index in target.indices]
        if target.element is not None:
            pointer = nodes.build(Name(target.memory), environment)
            return self.builder.store_dram(pointer, indices[0], value, target.element)
        return self.builder.store(self.memories[target.memory], indices[0], indices[1], value)

    def _track(self, nodes: Nodes, track: Track, environment: Environment) -> dict[str, object]:
        return {
            "memory": self.memories[track.memory],
            "write": track.write,
            "guard": -1 if track.guard is None else nodes.build(track.guard, environment),
            "base": nodes.build(track.first, environment),
            "dims": [(nodes.build(track.rows, environment), nodes.build(Number(1), environment))],
            "first_col": nodes.build(Number(0), environment),
            "cols": nodes.build(Number(1), environment),
            "tracked": True,
        }

    def _access(self, nodes: Nodes, region: Region) -> dict[str, object]:
        def build(expression: Expression | None) -> int:
            return -1 if expression is None else nodes.build(expression, Environment())

        names = [p.name for p in nodes.instruction.parameters]
        return {
            "memory": self.memories[region.memory],
            "write": region.write,
            "guard": build(region.guard),
            "pointer": -1 if region.pointer is None else build(Name(region.pointer)),
            "base": build(region.base),
            "dims": [(build(dim.count), build(dim.stride)) for dim in region.dims],
            "first_col": build(region.first_col),
            "cols": build(region.cols),
            "bytes": build(region.bytes),
            "parameter": -1 if region.parameter is None else names.index(region.parameter),
            "accumulate_read": region.accumulate_read,
            **self._points(nodes, region),
        }

    def _points(self, nodes: Nodes, region: Region) -> dict[str, object]:
        """The loops and the index of a region whose rows memory contents decide."""
        if region.point is None:
            return {}
        environment = Environment()
        counts = []
        for variable, bound in region.loops:
            counts.append(nodes.build(bound, environment))
            environment = environment.loop(variable, nodes.loop(environment.depth))
        size = element_bits(region.element) // 8 if region.element else 0
        return {"point": nodes.build(region.point, environment), "loops": counts, "point_bytes": size}
