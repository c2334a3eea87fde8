"""From a StableHLO module, as text, to the operations that an accelerator takes over and those that stay on the host.

The text is MLIR's, as JAX writes it: one operation a line, with the types of its operands.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from autocomp.data import decode, read_regular
from autocomp.errors import ConfigError
from autocomp.models.graph import HostOperation, Model
from autocomp.models.operations import Operation, Shape, convolution, gemm

SUFFIXES = (".mlir", ".stablehlo")
MOST_BYTES = 1 << 26
MOST_OPERATIONS = 1 << 16  # with those of called functions; a network of a hundred layers has some 10,000
# These say how tensors are seen, and touch no element when the program runs.
_FREE = ("constant", "reshape", "broadcast_in_dim", "iota", "return", "optimization_barrier")
_LOOPS = ("while", "if", "case", "composite")
_FUNCTION = re.compile(r"func\.func\s+(?:\w+\s+)?@(?P<name>[\w$.-]+)\((?P<parameters>.*?)\)\s*(?:->|attributes|\{)")
_RESULTS = r"(?:(?P<results>%[\w#]+(?::\d+)?(?:\s*,\s*%[\w#]+)*)\s*=\s*)?"
_LINE = re.compile(rf'^\s*{_RESULTS}"?(?P<name>[a-z_]+(?:\.[\w.]+)?)"?(?P<rest>.*)$')
_ZERO = re.compile(r"dense<-?0(\.0+e\+00)?>")
_TYPES = re.compile(r" : (?P<given>\((?:[^()]|\([^()]*\))*\) -> .*|tensor<.*)$")
_TENSOR = re.compile(r"tensor<((?:[0-9?]+x)*)([^<>]*(?:<[^<>]*>)?[^<>]*)>")
_VALUE = re.compile(r"%[\w]+(?:#\d+)?")


@dataclass(frozen=True)
class _Line:
    """One operation: `inputs` and `outputs` are the shapes of operands and results, `text` is what follows its name."""

    name: str
    results: tuple[str, ...]
    operands: tuple[str, ...]
    inputs: tuple[Shape, ...]
    outputs: tuple[Shape, ...]
    text: str


@dataclass(frozen=True)
class _Function:
    parameters: tuple[str, ...]
    lines: tuple[_Line, ...]


def import_stablehlo(path: Path) -> Model:
    """Read a module. Raises ConfigError for a file that is none, sizes that are not known, and loops."""
    text = decode(read_regular(path, MOST_BYTES), str(path), ConfigError)
    functions = _functions(text, path)
    entry = functions.get("main") or next(iter(functions.values()), None)
    if entry is None:
        raise ConfigError(
            f"{path}: a StableHLO module has functions; this has none", hint="jax.jit(f).lower(…).as_text()"
        )
    lines = list(islice(_written_out(entry, functions, path), MOST_OPERATIONS + 1))
    if len(lines) > MOST_OPERATIONS:
        raise ConfigError(f"{path}: more than {MOST_OPERATIONS:,} operations, with those of called functions")
    return _Program(lines, path).model()


def _functions(text: str, path: Path) -> dict[str, _Function]:
    parameters: dict[str, tuple[str, ...]] = {}
    lines: dict[str, list[_Line]] = {}
    name = ""
    for number, line in enumerate(text.splitlines(), 1):
        head = _FUNCTION.search(line)
        if head is not None:
            name = head["name"]
            parameters[name], lines[name] = tuple(_VALUE.findall(head["parameters"])), []
        elif name and (parsed := _line(line, f"{path}:{number}")) is not None:
            lines[name].append(parsed)
    return {name: _Function(parameters[name], tuple(lines[name])) for name in lines}


def _line(text: str, where: str) -> _Line | None:
    match = _LINE.match(text.split(" loc(")[0])
    if match is None:
        return None
    types = _TYPES.search(match["rest"])
    rest = match["rest"][: types.start()] if types else match["rest"]
    given, _, made = (types["given"] if types else "").partition(" -> ")
    inputs = _shapes(given, where)
    operands = tuple(_VALUE.findall(rest))
    outputs = _shapes(made, where) if made else inputs
    if not made:
        inputs = inputs * len(operands)
    name = match["name"].rpartition(".")[2]
    return _Line(name, tuple(_VALUE.findall(match["results"] or "")), operands, inputs, outputs, rest)


def _shapes(text: str, where: str) -> tuple[Shape, ...]:
    shapes = []
    for extents, _ in _TENSOR.findall(text):
        if "?" in extents:
            raise ConfigError(f"{where}: the size of a tensor is not known", hint="lower the program for fixed sizes")
        shapes.append(tuple(int(extent) for extent in extents.split("x") if extent))
    return tuple(shapes)


def _written_out(
    function: _Function, functions: Mapping[str, _Function], path: Path, callers: tuple[int, ...] = ()
) -> Iterator[_Line]:
    """The operations with those of called functions in the place of calls, under names of their own."""
    prefix = "/".join(map(str, callers))
    names: dict[str, str] = {}
    for number, line in enumerate(function.lines):
        if line.name in _LOOPS:
            raise ConfigError(f"{path}: how often stablehlo.{line.name} runs its operations is not known")
        renamed = replace(
            line,
            results=tuple(f"{prefix}{name}" for name in line.results),
            operands=tuple(names.get(name, f"{prefix}{name}") for name in line.operands),
        )
        callee = re.search(r"@([\w$.-]+)", line.text) if line.name == "call" else None
        called = None if callee is None else functions.get(callee[1])
        if called is None:
            yield renamed
            continue
        if len(callers) > len(functions):
            raise ConfigError(f"{path}: @{callee[1] if callee else ''} calls itself")
        own = "/".join(map(str, (*callers, number)))
        given = {f"{own}{name}": value for name, value in zip(called.parameters, renamed.operands, strict=False)}
        for item in _written_out(called, functions, path, (*callers, number)):
            if item.name == "return":
                returned = [given.get(value, value) for value in item.operands]
                names |= dict(zip(line.results, returned, strict=False))
            else:
                yield replace(item, operands=tuple(given.get(value, value) for value in item.operands))


class _Program:
    """The operations with the users of their results."""

    def __init__(self, lines: Sequence[_Line], path: Path) -> None:
        self._lines, self._path = lines, path
        self._maker = {name: line for line in lines for name in line.results}
        self._users: dict[str, list[_Line]] = {}
        for line in lines:
            for name in line.operands:
                self._users.setdefault(name, []).append(line)

    def model(self) -> Model:
        operations: Counter[Operation] = Counter()
        host: dict[str, tuple[int, int]] = {}
        folded: set[str] = set()
        for line in self._lines:
            if line.name in _FREE or not line.results or line.results[0] in folded:
                continue
            options, followers = self._followers(line)
            found = self._operation(line, options)
            if found is not None:
                operations[found[0]] += found[1]
                folded |= followers
                continue
            nodes, work = host.get(line.name, (0, 0))
            host[line.name] = (nodes + 1, work + _work(line))
        stay = sorted((HostOperation(name, *cost) for name, cost in host.items()), key=lambda h: -h.work)
        return Model(self._path.stem, operations, tuple(stay), len(folded))

    def _operation(self, line: _Line, options: Mapping[str, str]) -> tuple[Operation, int] | None:
        if line.name == "dot_general" and len(line.inputs) == 2:
            return _product(line, options)
        if line.name == "convolution" and len(line.inputs) == 2:
            single = _convolution(line, options)
            return None if single is None else (single, 1)
        return None

    def _followers(self, line: _Line) -> tuple[dict[str, str], set[str]]:
        """The options for what a kernel does with the results on their way out: biases, then ReLU."""
        options: dict[str, str] = {}
        folded: set[str] = set()
        end = line
        for name, option in (("add", {"bias": "row"}), ("maximum", {"activation": "relu"})):
            users = self._users.get(end.results[0], []) if line.name in ("dot_general", "convolution") else []
            if len(users) != 1 or users[0].name != name:
                continue
            others = [self._origin(value) for value in users[0].operands if value != end.results[0]]
            fits = self._is_row if name == "add" else self._is_zero
            if len(others) == 1 and fits(others[0], line):
                end = users[0]
                options |= option
                folded.add(end.results[0])
        return options, folded

    def _origin(self, value: str) -> str:
        """The value that is only repeated."""
        line = self._maker.get(value)
        while line is not None and line.name in ("broadcast_in_dim", "reshape") and line.operands:
            value = line.operands[0]
            line = self._maker.get(value)
        return value

    def _is_row(self, value: str, line: _Line) -> bool:
        """True if a value is a vector with one element for each channel of the results."""
        users = [user for user in self._users.get(value, []) if user.name in ("broadcast_in_dim", "reshape")]
        shapes = {user.inputs[0] for user in users if user.inputs}
        return shapes == {(line.outputs[0][_channel(line)],)}

    def _is_zero(self, value: str, _: _Line) -> bool:
        maker = self._maker.get(value)
        return maker is not None and maker.name == "constant" and _ZERO.search(maker.text) is not None


def _product(line: _Line, options: Mapping[str, str]) -> tuple[Operation, int] | None:
    left, right = line.inputs
    batches = _pairs(line.text, "batching_dims")
    summed = _pairs(line.text, "contracting_dims")
    outermost = list(range(len(batches[0])))
    if len(summed[0]) != 1 or len(summed[1]) != 1 or batches != (outermost, outermost):
        return None
    many = math.prod(left[: len(batches[0])])
    rows, columns = left[len(batches[0]) :], right[len(batches[1]) :]
    at, other = summed[0][0] - len(batches[0]), summed[1][0] - len(batches[1])
    if len(columns) != 2 or (len(rows) != 2 and at != len(rows) - 1) or not rows:
        return None
    stored = {**({"transpose_a": True} if at != len(rows) - 1 else {}), **({"transpose_b": True} if other == 1 else {})}
    matrix = rows if "transpose_a" in stored else (math.prod(rows[:-1]), rows[-1])
    found = gemm(matrix, columns, {**options, **stored})
    return None if found is None else (found[0], many)


def _convolution(line: _Line, options: Mapping[str, str]) -> Operation | None:
    image, filters = line.inputs
    layouts = re.search(r"dim_numbers = \[(.*?)\]x\[(.*?)\]->\[(.*?)\]", line.text)
    if layouts is None or len(image) != 4 or set(_numbers(line.text, "lhs_dilate") or [1]) != {1}:
        return None
    seen, weights = (part.split(", ") for part in layouts.groups()[:2])
    groups = re.search(r"feature_group_count = (\d+)", line.text)
    if not re.search(r"batch_group_count = 1\b", line.text) and "batch_group_count" in line.text:
        return None
    attributes = {
        "strides": _numbers(line.text, "stride") or [1, 1],
        "dilations": _numbers(line.text, "rhs_dilate") or [1, 1],
        "pads": _numbers(line.text, "pad") or [0, 0, 0, 0],
        "group": int(groups[1]) if groups else 1,
    }
    as_image = tuple(image[seen.index(axis)] for axis in ("b", "f", "0", "1"))
    as_filters = tuple(filters[weights.index(axis)] for axis in ("o", "i", "0", "1"))
    return convolution(as_image, as_filters, attributes, options)


def _channel(line: _Line) -> int:
    """The axis of the results that has the channels."""
    layouts = re.search(r"->\[(.*?)\]", line.text)
    return layouts[1].split(", ").index("f") if layouts and "f" in layouts[1] else -1


def _numbers(text: str, name: str) -> list[int]:
    found = re.search(rf"\b{name} = (\[\[.*?\]\]|\[.*?\])", text)
    return [int(number) for number in re.findall(r"-?\d+", found[1])] if found else []


def _pairs(text: str, name: str) -> tuple[list[int], list[int]]:
    found = re.search(rf"\b{name} = \[(.*?)\] x \[(.*?)\]", text)
    if found is None:
        return [], []
    left, right = ([int(number) for number in part.split(", ") if number] for part in found.groups())
    return left, right


def _work(line: _Line) -> int:
    """Elements read and written; for products on the host their multiply-accumulates, where these are more."""
    elements = sum(math.prod(shape) for shape in (*line.inputs, *line.outputs))
    if line.name == "dot_general":
        depth = math.prod(line.inputs[0][axis] for axis in _pairs(line.text, "contracting_dims")[0])
        return max(elements, math.prod(line.outputs[0]) * depth)
    if line.name == "convolution":
        taps = math.prod(line.inputs[1]) // max(1, line.outputs[0][_channel(line)])
        return max(elements, math.prod(line.outputs[0]) * taps)
    return elements
