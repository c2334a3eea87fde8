"""Command words for machines whose descriptions state none: enough to record commands, and to read them back."""

from __future__ import annotations

from dataclasses import replace

from autocomp.remember import remembered
from autocomp.targets.simulator.isa.language.encoding import MAX_WORD_BITS, SECTION, command_words
from autocomp.targets.simulator.isa.model import Accelerator, EncodedField, Instruction
from autocomp.targets.simulator.isa.tree import Name, Number

CODE, OPERAND = "code", "operand"  # words: the instruction's number, and its operands, each with its place
TOP = MAX_WORD_BITS - 1  # a word's highest bit


@remembered
def encoded(accelerator: Accelerator) -> Accelerator:
    """The accelerator as it is described, if it states an encoding; else with a word for each instruction's number and
    one for each operand. No hardware takes such commands."""
    if command_words(accelerator):
        return accelerator
    most = max((len(instruction.parameters) for instruction in accelerator.instructions), default=0)
    words = [CODE, *(f"{OPERAND}{place}" for place in range(most))]
    sizes = {f"{SECTION}.{word}": MAX_WORD_BITS for word in words}
    instructions = tuple(_encoded(number, i) for number, i in enumerate(accelerator.instructions))
    return replace(accelerator, settings={**accelerator.settings, **sizes}, instructions=instructions)


def _encoded(number: int, instruction: Instruction) -> Instruction:
    if instruction.words.get("role") == "fence" and not instruction.parameters:
        return instruction  # programs wait instead of sending it
    operands = (
        EncodedField(f"{OPERAND}{place}", TOP, 0, Name(parameter.name))
        for place, parameter in enumerate(instruction.parameters)
    )
    return replace(instruction, encoding=(EncodedField(CODE, TOP, 0, Number(number)), *operands))
