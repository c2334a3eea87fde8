"""The bits of commands: an instruction and its operands into the words that the hardware takes, and back.

An instruction's `encoding` fills bit fields of the machine's command words. A field holds a number, an operand (a float
as the bits of its binary32, a pointer as its byte address), or a function of one operand, which decoding inverts by
trying the operand's values. An operand without a field of its own may be implied by one that has the same value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from lark import Token

from autocomp.errors import IsaError
from autocomp.remember import remembered
from autocomp.targets.simulator.isa.algebra import bits_to_float, float_to_bits, names_in, substitute, wrap
from autocomp.targets.simulator.isa.language.expressions import build_int, evaluate_int, fail, unknown
from autocomp.targets.simulator.isa.language.scope import Scope
from autocomp.targets.simulator.isa.language.syntax import SyntaxTree
from autocomp.targets.simulator.isa.model import Accelerator, EncodedField, Instruction, Parameter
from autocomp.targets.simulator.isa.tree import Expression, Name, Number

SECTION = "encoding"  # the section that declares the command words: name -> bits
MAX_WORD_BITS = 64
MAX_TABLE = 256  # values of an operand that a function of it may have to be inverted over

Operand = int | float
_Fixed = tuple[tuple[str, int, int], ...]  # bits that an instruction fixes: word, mask, value


def build_encoding(
    scope: Scope, node: SyntaxTree, parameters: Sequence[Parameter], settings: Mapping[str, int | float | str]
) -> tuple[tuple[EncodedField, ...], Mapping[str, str]]:
    """The fields of one instruction, and the operands that are implied, each with the one that it equals.

    `settings` has the command words' sizes. Every operand must be in one field or implied by one that is.
    """
    words = {name.removeprefix(f"{SECTION}."): n for name, n in settings.items() if name.startswith(f"{SECTION}.")}
    operands = {p.name: p for p in parameters}
    fields: list[EncodedField] = []
    implied: dict[str, str] = {}
    for item in cast(list[SyntaxTree], node.children):
        name = str(item.children[0])
        if name in operands and name not in words:
            implied[name] = _carrier(scope, item, operands)
            continue
        built = _field(scope, item, words, operands)
        if any(f.word == built.word and f.low <= built.high and built.low <= f.high for f in fields):
            fail(scope, item, f"bits {built.high}..{built.low} of {built.word} overlap with an earlier field")
        fields.append(built)
    carried = [name for field in fields for name in names_in(field.value)]
    for name in operands:
        count = carried.count(implied[name]) - carried.count(name) if name in implied else carried.count(name)
        if count != 1:
            fail(scope, node, f"the operand {name!r} is in {carried.count(name)} fields; expected exactly one")
    return tuple(fields), implied


def _carrier(scope: Scope, node: SyntaxTree, operands: Mapping[str, Parameter]) -> str:
    """The operand by which another is implied."""
    name, value = str(node.children[0]), build_int(scope, cast(SyntaxTree, node.children[-1]))
    if len(node.children) != 2 or not isinstance(value, Name) or value.name not in operands or value.name == name:
        fail(scope, node, f"{name} is an operand: it is implied by the name of another operand")
    return value.name


def _field(
    scope: Scope, node: SyntaxTree, words: Mapping[str, int | float | str], operands: Mapping[str, Parameter]
) -> EncodedField:
    token, *bounds, value_node = node.children
    word = str(token)
    if word not in words:
        unknown(scope, cast(Token, token), "command word", word, list(words))
    size = words[word]
    if not isinstance(size, int) or not 1 <= size <= MAX_WORD_BITS:
        fail(scope, cast(Token, token), f"the command word {word} has {size} bits; expected 1 to {MAX_WORD_BITS}")
    limits = [evaluate_int(scope, cast(SyntaxTree, bound), 0, size - 1) for bound in bounds] or [size - 1, 0]
    high, low = limits[0], limits[-1]
    if low > high:
        fail(scope, node, f"found bits {high}..{low}, expected the high bit first: {low}..{high}")
    value = _value(scope, cast(SyntaxTree, value_node), operands)
    if isinstance(value, Number) and not 0 <= int(value.value) < 1 << (high - low + 1):
        fail(scope, node, f"{value.value} does not fit in bits {high}..{low} of {word}")
    return EncodedField(word, high, low, value)


def _value(scope: Scope, node: SyntaxTree, operands: Mapping[str, Parameter]) -> Expression:
    if str(node.data) == "name" and str(node.children[0]) in operands:
        return Name(str(node.children[0]))
    value = build_int(scope, node)
    if isinstance(value, Number):
        return value
    names = sorted(names_in(value))
    if len(names) != 1 or names[0] not in operands:
        fail(scope, node, "a field is a number, an operand, or a function of one operand")
    parameter = operands[names[0]]
    if parameter.low is None or parameter.high is None or parameter.high - parameter.low >= MAX_TABLE:
        fail(scope, node, f"a function of {parameter.name} needs an integer of at most {MAX_TABLE} values")
    images = [_image(value, parameter, v) for v in range(parameter.low, parameter.high + 1)]
    if None in images or len(set(images)) < len(images):
        fail(scope, node, f"different values of {parameter.name} need different numbers")
    return value


def encode(accelerator: Accelerator, name: str, operands: Mapping[str, Operand]) -> dict[str, int]:
    """The command words of an instruction, unsigned; bits that no field fills are 0. Pointers are byte addresses.

    Raises IsaError when it has no encoding, or an operand is missing, unknown, out of range or too large for its field.
    """
    instruction = accelerator.instruction(name)
    if instruction is None or not instruction.encoding:
        known = ", ".join(i.name for i in accelerator.instructions if i.encoding) or "none"
        raise IsaError(f"{accelerator.full_name} has no encoding of {name!r}", hint=f"encoded instructions: {known}")
    expected = [p.name for p in instruction.parameters]
    if set(operands) != set(expected):
        raise IsaError(f"{name} has the operands {', '.join(expected)}; given: {', '.join(operands)}")
    for parameter in instruction.parameters:
        _check_range(instruction, parameter, operands[parameter.name])
    for other, carrier in instruction.implied.items():
        if operands[other] != operands[carrier]:
            raise IsaError(f"{name}: {other} and {carrier} share their bits and must be equal")
    words = dict.fromkeys(command_words(accelerator), 0)
    for field in instruction.encoding:
        bits = field.high - field.low + 1
        number = _number(instruction, field, operands)
        signed = isinstance(field.value, Name) and _is_signed(_parameter(instruction, field.value.name))
        if wrap(number, bits, signed) != number:
            where = f"bits {field.high}..{field.low} of {field.word}"
            raise IsaError(f"{name}: {number} does not fit in {where}", hint=f"the field has {bits} bits")
        words[field.word] |= (number & ((1 << bits) - 1)) << field.low
    return words


def decode(accelerator: Accelerator, words: Mapping[str, int]) -> tuple[str, dict[str, Operand]]:
    """The instruction and the operands of command words; bits that no field fills are ignored, as by the hardware.

    Raises IsaError when no instruction or several have these bits, or an operand is out of its range.
    """
    if set(words) != set(command_words(accelerator)):
        raise IsaError(f"a command of {accelerator.full_name} has the words {', '.join(command_words(accelerator))}")
    shared, mask, instructions = _by_shared_bits(accelerator)
    candidates = [
        (instruction, operands)
        for instruction, fixed in instructions.get(words.get(shared, 0) & mask, ())
        if all(words[word] & mask == value for word, mask, value in fixed)
        and (operands := _operands(instruction, words)) is not None
    ]
    if len(candidates) != 1:
        spelled = ", ".join(f"{word}={value:#x}" for word, value in words.items())
        several = " and ".join(i.name for i, _ in candidates) or "no instruction"
        raise IsaError(f"{several} of {accelerator.full_name} has the bits {spelled}", hint="expected exactly one")
    instruction, operands = candidates[0]
    for parameter in instruction.parameters:
        _check_range(instruction, parameter, operands[parameter.name])
    return instruction.name, {p.name: operands[p.name] for p in instruction.parameters}


@remembered
def command_words(accelerator: Accelerator) -> tuple[str, ...]:
    """Names of the words of a command, in the order of the description; none if it declares no encoding."""
    return tuple(name.partition(".")[2] for name in accelerator.settings if name.startswith(f"{SECTION}."))


@dataclass(frozen=True)
class _Bits:
    """The bits of a field that holds a value of `parameter`. Where it holds a function of it, `table` has the values by
    their bits."""

    word: str
    low: int
    size: int
    parameter: Parameter
    table: Mapping[int, int] | None = None

    def operand(self, words: Mapping[str, int]) -> Operand | None:
        """The operand in these words, or None if no value of it has these bits."""
        raw = (words[self.word] >> self.low) & ((1 << self.size) - 1)
        if self.table is not None:
            return self.table.get(raw)
        is_float = self.parameter.kind == "float"
        return bits_to_float(raw) if is_float else wrap(raw, self.size, _is_signed(self.parameter))


@remembered
def _by_shared_bits(accelerator: Accelerator) -> tuple[str, int, Mapping[int, Sequence[tuple[Instruction, _Fixed]]]]:
    """A word and a mask of bits that all encodings fix, most of them if there are several; and by these bits the
    instructions, each with all bits that it fixes. The mask is 0 where they share none."""
    encoded = [(i, tuple(_fixed(i))) for i in accelerator.instructions if i.encoding]
    places = [{(word, mask) for word, mask, _ in fixed} for _, fixed in encoded]
    shared = set.intersection(*places) if places else set()
    word, mask = max(shared, key=lambda place: (place[1].bit_count(), place), default=("", 0))
    by_bits: dict[int, list[tuple[Instruction, _Fixed]]] = {}
    for instruction, fixed in encoded:
        here = next((value for name, bits, value in fixed if (name, bits) == (word, mask)), 0)
        by_bits.setdefault(here, []).append((instruction, fixed))
    return word, mask, by_bits


def _fixed(instruction: Instruction) -> Iterator[tuple[str, int, int]]:
    for field in instruction.encoding:
        if isinstance(field.value, Number):
            mask = ((1 << (field.high - field.low + 1)) - 1) << field.low
            yield field.word, mask, int(field.value.value) << field.low


@remembered
def _bits(instruction: Instruction) -> tuple[_Bits, ...]:
    """The fields of operands."""
    return tuple(_bits_of(instruction, field) for field in instruction.encoding if not isinstance(field.value, Number))


def _bits_of(instruction: Instruction, field: EncodedField) -> _Bits:
    size = field.high - field.low + 1
    parameter = _parameter(instruction, next(iter(names_in(field.value))))
    if isinstance(field.value, Name):
        return _Bits(field.word, field.low, size, parameter)
    images = {cast(int, _image(field.value, parameter, value)): value for value in _values(parameter)}
    return _Bits(field.word, field.low, size, parameter, images)


def _operands(instruction: Instruction, words: Mapping[str, int]) -> dict[str, Operand] | None:
    """The operands that an instruction's words hold, or None if one has no value with these bits."""
    operands: dict[str, Operand] = {}
    for bits in _bits(instruction):
        operand = bits.operand(words)
        if operand is None:
            return None
        operands[bits.parameter.name] = operand
    return operands | {name: operands[carrier] for name, carrier in instruction.implied.items()}


def _number(instruction: Instruction, field: EncodedField, operands: Mapping[str, Operand]) -> int:
    if isinstance(field.value, Number):
        return int(field.value.value)
    parameter = _parameter(instruction, next(iter(names_in(field.value))))
    operand = operands[parameter.name]
    if isinstance(field.value, Name):
        return float_to_bits(operand) & 0xFFFFFFFF if parameter.kind == "float" else int(operand)
    return cast(int, _image(field.value, parameter, int(operand)))


def _image(value: Expression, parameter: Parameter, operand: int) -> int | None:
    """The value of a function of an operand for one value of that operand; None if it depends on more."""
    name = Name(parameter.name)
    folded = substitute(value, lambda part: Number(operand) if part == name else None)
    return int(folded.value) if isinstance(folded, Number) else None


def _check_range(instruction: Instruction, parameter: Parameter, operand: Operand) -> None:
    if parameter.kind != "float" and not isinstance(operand, int):
        raise IsaError(f"{instruction.name}: {parameter.name} is {operand!r}; expected an integer")
    low, high = parameter.low, parameter.high
    if low is not None and high is not None and not low <= operand <= high:
        raise IsaError(f"{instruction.name}: {parameter.name} is {operand}; expected {low} to {high}")


def _values(parameter: Parameter) -> Iterator[int]:
    assert parameter.low is not None
    assert parameter.high is not None
    yield from range(parameter.low, parameter.high + 1)


def _is_signed(parameter: Parameter) -> bool:
    return parameter.low is not None and parameter.low < 0


def _parameter(instruction: Instruction, name: str) -> Parameter:
    return next(p for p in instruction.parameters if p.name == name)
