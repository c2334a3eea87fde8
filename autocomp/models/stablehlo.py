"""From a StableHLO module, as text, to the operations that an accelerator takes over and those that stay on the host.

The text is MLIR's, as JAX writes it: one operation a line, with the types of its operands.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path

from autocomp.data import decode, read_regular
from autocomp.errors import ConfigError
from autocomp.models.graph import HostOperation, Model
from autocomp.models.operations import Layer, Operation, Shape, convolution, gemm
from autocomp.models.shapes import MOST_ELEMENTS

SUFFIXES = (".mlir", ".stablehlo")
MOST_BYTES = 1 << 26
MOST_OPERATIONS = 1 << 16  # with those of called functions; a network of a hundred layers has some 10,000
MOST_LINES = 1 << 18  # of all functions
MOST_CALLS = 100  # of functions within functions
MOST_EXTENTS = 32  # of a tensor
MOST_DIGITS = 18  # of an extent
# No pattern below reads a character more than a few times, whatever the text.
# These say how tensors are seen, and touch no element when the program runs.
_FREE = ("constant", "reshape", "broadcast_in_dim", "iota", "return", "optimization_barrier")
_LOOPS = ("while", "if", "case", "composite")
_REPEATS = ("broadcast_in_dim", "reshape")
_LIST = r"\[([^\[\]]*)\]"
_FUNCTION = re.compile(r"\s*func\.func\s+(?:\w+\s+)?@(?P<name>[\w$.-]+)\((?P<parameters>.*?)\)\s*(?:->|attributes|\{)")
_RESULTS = r"(?:(?P<results>%[\w#]+(?::\d+)?(?:\s*,\s*%[\w#]+)*)\s*=\s*)?"
_LINE = re.compile(rf'^\s*{_RESULTS}"?(?P<name>[a-z_]+(?:\.[\w.]+)?)"?(?P<rest>.*)$')
_ZERO = re.compile(r"dense<-?0(\.0+e\+00)?>")
# Where a line of several operations, as MLIR also allows it, is cut.
_NEXT = re.compile(r"(?<=[^\s,(])[ \t]+(?=func\.func\s|%\S+(?:\s*,\s*%\S+)*\s=\s|(?:func\.|stablehlo\.)?return\s)")
_TYPES = re.compile(r" : (?P<given>\((?:[^()]|\([^()]*\))*\) -> .*|tensor<.*)$")
_TENSOR = re.compile(r"tensor<([^<>]*)(?:<[^<>]*>[^<>]*)?>")
_ELEMENT = re.compile(r"(?:^|x)([a-z]+)(\d+)$")
_TYPES_OF_NUMPY = {"i": "int", "ui": "uint", "f": "float", "bf": "bfloat"}
_EXTENT = re.compile(r"\d+|\?")
_VALUE = re.compile(r"%[\w]+(?:#\d+)?")


@dataclass(frozen=True)
class _Line:
    """One operation: `inputs` and `outputs` are the shapes of operands and results, `dtype` is the type of the first
    one's elements, `text` is what follows its name."""

    name: str
    results: tuple[str, ...]
    operands: tuple[str, ...]
    inputs: tuple[Shape, ...]
    outputs: tuple[Shape, ...]
    text: str
    dtype: str = ""


@dataclass(frozen=True)
class _Function:
    parameters: tuple[str, ...]
    lines: tuple[_Line, ...]


def import_stablehlo(path: Path) -> Model:
    """Read a module. Raises ConfigError for another kind of file, for unknown sizes, and for loops."""
    text = decode(read_regular(path, MOST_BYTES), str(path), ConfigError)
    try:
        return _model(text, path)
    except (IndexError, TypeError, ValueError) as error:
        raise ConfigError(f"{path}: an operation does not suit its tensors: {error}") from error


def _model(text: str, path: Path) -> Model:
    functions = _functions(text, path)
    entry = "main" if "main" in functions else next(iter(functions), None)
    if entry is None:
        raise ConfigError(
            f"{path}: a StableHLO module has functions; this has none",
            hint="write one with jax.jit(f).lower(…).as_text()",
        )
    if _operations(entry, functions, path, {}) > MOST_OPERATIONS:
        raise ConfigError(f"{path}: more than {MOST_OPERATIONS:,} operations after inlining")
    return _Program(list(_written_out(functions[entry], functions)), path).model()


def _functions(text: str, path: Path) -> dict[str, _Function]:
    parameters: dict[str, tuple[str, ...]] = {}
    lines: dict[str, list[_Line]] = {}
    name, count = "", 0
    written = enumerate(text.splitlines(), 1)
    for number, line in ((number, line) for number, several in written for line in _NEXT.split(several)):
        head = _FUNCTION.match(line)
        if head is not None:
            name = head["name"]
            parameters[name], lines[name] = tuple(_VALUE.findall(head["parameters"])), []
        elif name and (parsed := _line(line, f"{path}:{number}")) is not None:
            lines[name].append(parsed)
            count += 1
            if count > MOST_LINES:
                raise ConfigError(f"{path}:{number}: more than {MOST_LINES:,} operations in one file")
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
    if not made and len(inputs) == 1:  # the type of all operands
        inputs = inputs * len(operands)
    name = match["name"].rpartition(".")[2]
    results = tuple(_VALUE.findall(match["results"] or ""))
    return _Line(name, results, operands, inputs, outputs, rest, _dtype(given))


def _dtype(types: str) -> str:
    """The type of the elements of the first tensor, as NumPy calls it."""
    first = _TENSOR.search(types)
    element = _ELEMENT.search(first[1]) if first is not None else None
    return "" if element is None else f"{_TYPES_OF_NUMPY.get(element[1], element[1])}{element[2]}"


def _shapes(text: str, where: str) -> tuple[Shape, ...]:
    shapes = []
    for written in _TENSOR.findall(text):
        words = list(takewhile(_EXTENT.fullmatch, written.split("x", MOST_EXTENTS + 1)))
        if "?" in words:
            raise ConfigError(f"{where}: the size of a tensor is not known", hint="lower the program for fixed sizes")
        if len(words) > MOST_EXTENTS or any(len(word) > MOST_DIGITS for word in words):
            digits = max(map(len, words))
            raise ConfigError(
                f"{where}: a tensor has {len(words)} extents of up to {digits} digits; "
                f"expected at most {MOST_EXTENTS} extents of {MOST_DIGITS} digits"
            )
        shape = tuple(map(int, words))
        if math.prod(shape) > MOST_ELEMENTS:
            elements = math.prod(shape)
            raise ConfigError(f"{where}: a tensor has {elements:,} elements; expected at most {MOST_ELEMENTS:,}")
        shapes.append(shape)
    return tuple(shapes)


def _callee(line: _Line, functions: Mapping[str, _Function]) -> str | None:
    """The function that a line calls, if it is in the module."""
    named = re.search(r"@([\w$.-]+)", line.text) if line.name == "call" else None
    return named[1] if named is not None and named[1] in functions else None


def _operations(
    name: str, functions: Mapping[str, _Function], path: Path, known: dict[str, int], depth: int = 0
) -> int:
    """The number of operations of a function after inlining; calls count too. Raises ConfigError for functions that
    call themselves, and for loops. `known` remembers the counts."""
    if depth > MOST_CALLS:
        raise ConfigError(f"{path}: @{name} calls itself, or calls nest more than {MOST_CALLS} deep")
    if name not in known:
        count = 0
        for line in functions[name].lines:
            if line.name in _LOOPS:
                raise ConfigError(f"{path}: how often stablehlo.{line.name} runs its operations is not known")
            called = _callee(line, functions)
            count += 1 if called is None else 1 + _operations(called, functions, path, known, depth + 1)
        known[name] = count
    return known[name]


def _written_out(
    function: _Function, functions: Mapping[str, _Function], callers: tuple[int, ...] = ()
) -> Iterator[_Line]:
    """The operations with those of called functions in the place of calls, under names of their own."""
    prefix = "/".join(map(str, callers))
    names: dict[str, str] = {}
    for number, line in enumerate(function.lines):
        renamed = replace(
            line,
            results=tuple(f"{prefix}{name}" for name in line.results),
            operands=tuple(names.get(name, f"{prefix}{name}") for name in line.operands),
        )
        callee = _callee(line, functions)
        if callee is None:
            yield renamed
            continue
        called = functions[callee]
        own = "/".join(map(str, (*callers, number)))
        given = {f"{own}{name}": value for name, value in zip(called.parameters, renamed.operands, strict=False)}
        for item in _written_out(called, functions, (*callers, number)):
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
        self._origins: dict[str, str] = {}  # of values that are only repeated: the value that they repeat
        self._repeated: dict[str, set[Shape]] = {}  # the shapes of values that others repeat
        for line in lines:
            for name in line.operands:
                self._users.setdefault(name, []).append(line)
            if line.name in _REPEATS and line.operands and line.inputs:
                origin = self._origins.get(line.operands[0], line.operands[0])
                self._origins |= dict.fromkeys(line.results, origin)
                self._repeated.setdefault(line.operands[0], set()).add(line.inputs[0])

    def model(self) -> Model:
        operations: Counter[Operation] = Counter()
        layers: dict[Operation, list[Layer]] = {}
        host: dict[str, tuple[int, int]] = {}
        folded: set[str] = set()
        for line in self._lines:
            if line.name in _FREE or not line.results or line.results[0] in folded:
                continue
            options, followers = self._followers(line)
            operation = self._operation(line, options)
            if operation is not None:
                operations[operation[0]] += operation[1]
                layers.setdefault(operation[0], []).append(Layer(line.results[0], line.dtype))
                folded |= followers
                continue
            nodes, work = host.get(line.name, (0, 0))
            host[line.name] = (nodes + 1, work + _work(line))
        stay = sorted((HostOperation(name, *cost) for name, cost in host.items()), key=lambda h: -h.work)
        named = {operation: tuple(of_it) for operation, of_it in layers.items()}
        return Model(self._path.stem, operations, tuple(stay), len(folded), named)

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
            others = [self._origins.get(value, value) for value in users[0].operands if value != end.results[0]]
            fits = self._is_row if name == "add" else self._is_zero
            if len(others) == 1 and fits(others[0], line):
                end = users[0]
                options |= option
                folded.add(end.results[0])
        return options, folded

    def _is_row(self, value: str, line: _Line) -> bool:
        """True if a value is a vector with one element for each channel of the results."""
        return self._repeated.get(value) == {(line.outputs[0][_channel(line)],)}

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
    if not (0 <= at < len(rows) and 0 <= other < len(columns)):
        raise ValueError(f"it sums over the axes {summed[0][0]} of {left} and {summed[1][0]} of {right}")
    if len(columns) != 2 or (len(rows) != 2 and at != len(rows) - 1) or not rows:
        return None
    stored = {**({"transpose_a": True} if at != len(rows) - 1 else {}), **({"transpose_b": True} if other == 1 else {})}
    matrix = rows if "transpose_a" in stored else (math.prod(rows[:-1]), rows[-1])
    product = gemm(matrix, columns, {**options, **stored})
    return None if product is None else (product[0], many)


def _convolution(line: _Line, options: Mapping[str, str]) -> Operation | None:
    image, filters = line.inputs
    layouts = re.search(rf"dim_numbers = {_LIST}x{_LIST}->{_LIST}", line.text)
    if layouts is None or len(image) != 4 or set(_numbers(line.text, "lhs_dilate") or [1]) != {1}:
        return None
    seen, weights = (part.split(", ") for part in layouts.groups()[:2])
    groups = re.search(r"feature_group_count = (\d+)", line.text)
    if not re.search(r"batch_group_count = 1\b", line.text) and "batch_group_count" in line.text:
        return None
    sides = _numbers(line.text, "pad") or [0, 0, 0, 0]  # before and after the rows, then the columns
    attributes = {
        "strides": _numbers(line.text, "stride") or [1, 1],
        "dilations": _numbers(line.text, "rhs_dilate") or [1, 1],
        "pads": [*sides[::2], *sides[1::2]],
        "group": int(groups[1]) if groups else 1,
    }
    as_image = tuple(image[seen.index(axis)] for axis in ("b", "f", "0", "1"))
    as_filters = tuple(filters[weights.index(axis)] for axis in ("o", "i", "0", "1"))
    return convolution(as_image, as_filters, attributes, options)


def _channel(line: _Line) -> int:
    """The axis of the results that has the channels."""
    layouts = re.search(rf"->{_LIST}", line.text)
    return layouts[1].split(", ").index("f") if layouts and "f" in layouts[1] else -1


def _numbers(text: str, name: str) -> list[int]:
    match = re.search(rf"\b{name} = (\[(?:[^\[\]]|{_LIST})*\])", text)
    return [int(number) for number in re.findall(r"-?\d+", match[1])] if match else []


def _pairs(text: str, name: str) -> tuple[list[int], list[int]]:
    match = re.search(rf"\b{name} = {_LIST} x {_LIST}", text)
    if match is None:
        return [], []
    left, right = ([int(number) for number in part.split(", ") if number] for part in match.groups())
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
