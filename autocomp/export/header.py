"""A C header for an accelerator, made from its description: what the vendor's header offers kernels, on any machine.

Each instruction becomes a function that packs its operands into command words, as the description encodes them or
else in a form of our own, and hands them to one function. The user defines it: for the hardware the instruction that
sends a command, for a computer without it a recorder, which `recorder` makes.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import replace

from autocomp.export.encoding import encoded
from autocomp.export.forms import c_number, commands_of, header_forms, in_c, issue_name, narrow_types
from autocomp.export.lower import lower
from autocomp.targets.simulator.isa.language.encoding import command_words
from autocomp.targets.simulator.isa.model import Accelerator, Alias, EncodedField, Instruction, Library, Parameter
from autocomp.targets.simulator.isa.show import show
from autocomp.targets.simulator.isa.tree import Name, Number
from autocomp.targets.simulator.kernel import call_forms, print_expression, print_kernel
from autocomp.targets.simulator.kernel.code.types import BY_ELEMENT
from autocomp.targets.simulator.kernel.procedures import with_callees
from autocomp.targets.simulator.kernel.syntax import ast

_HEAD = """// {title}, made from its description by autocomp.
{parameters}
// A command is sent by {name}_command(), which the program defines, and waited for by {name}_wait().
#pragma once
#pragma GCC system_header  // pointers change their type in the library's routines as they do in the dialect
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

void {name}_command({words});
void {name}_wait(void);

// Called for every array of a kernel that commands may name.
void autocomp_memory(const void *array, size_t bytes);
#define AUTOCOMP_MEMORY(array) autocomp_memory(array, sizeof(array))

static inline uint64_t {name}_field(uint64_t value, unsigned high, unsigned low) {{
    return (value & (~UINT64_C(0) >> (63 - high + low))) << low;
}}

static inline uint32_t {name}_float_bits(float value) {{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}}
"""
_RECORDER = """// Records the commands of {name} until a reader takes them; made by autocomp.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define WORDS {count}
#define ARRAYS 256

static uint64_t *recorded;
static size_t length, room;
static struct {{
    const void *array;
    size_t bytes;
}} memories[ARRAYS];
static size_t memory_count;
static void (*when_waiting)(void);

// The function to call when a kernel waits: it reads the commands, runs them, and forgets them.
void autocomp_when_waiting(void (*function)(void)) {{ when_waiting = function; }}

const uint64_t *autocomp_commands(void) {{ return recorded; }}

size_t autocomp_command_count(void) {{ return length / WORDS; }}

void autocomp_forget(void) {{ length = 0; }}

void autocomp_forget_memory(void) {{ memory_count = 0; }}

// Stores a pointer to the n-th array that kernels announced, and returns its bytes; 0 after the last.
size_t autocomp_memory_at(size_t n, const void **array) {{
    if (n >= memory_count) return 0;
    *array = memories[n].array;
    return memories[n].bytes;
}}

void autocomp_memory(const void *array, size_t bytes) {{
    for (size_t n = 0; n < memory_count; n++) {{
        if (memories[n].array == array && memories[n].bytes >= bytes) return;
    }}
    if (memory_count == ARRAYS) abort();
    memories[memory_count].array = array;
    memories[memory_count++].bytes = bytes;
}}

void {name}_command({words}) {{
    if (length + WORDS > room) {{
        room = room ? 2 * room : 1024 * WORDS;
        recorded = realloc(recorded, room * sizeof *recorded);
        if (!recorded) abort();
    }}
{stores}
}}

void {name}_wait(void) {{
    if (when_waiting) when_waiting();
}}
"""


def accelerator_header(accelerator: Accelerator) -> str:
    """The header. Where the description states an encoding, instructions without one are left out, but for the fence: a
    kernel that uses them does not compile. Where it states none, commands are as `encoded` has them.
    """
    accelerator = encoded(accelerator)
    parameters = ", ".join(f"{name} = {value}" for name, value in accelerator.parameters.items())
    parts = [
        _HEAD.format(
            title=accelerator.full_name,
            name=accelerator.name,
            words=_word_parameters(accelerator),
            parameters=textwrap.fill(parameters, 100, initial_indent="// ", subsequent_indent="// "),
        ),
        narrow_types(str(BY_ELEMENT[element]) for element in accelerator.types.values()),
        "".join(f"typedef {BY_ELEMENT[element]} {name};\n" for name, element in accelerator.types.items()),
        "".join(f"#define {name} {c_number(value)}\n" for name, value in accelerator.constants.items()),
        *(text for i in accelerator.instructions if (text := _issue(accelerator, i)) is not None),
        "".join(_macro(accelerator, form) for form in header_forms(accelerator).values()),
        *_procedures(accelerator),
    ]
    return "\n".join(parts)


def recorder(accelerator: Accelerator) -> str:
    """C that keeps the commands of kernels compiled with `accelerator_header`, for a host without the hardware."""
    accelerator = encoded(accelerator)
    words = command_words(accelerator)
    return _RECORDER.format(
        name=accelerator.name,
        count=len(words),
        words=_word_parameters(accelerator),
        stores="\n".join(f"    recorded[length++] = {word};" for word in words),
    )


def _word_parameters(accelerator: Accelerator) -> str:
    return ", ".join(f"uint64_t {word}" for word in command_words(accelerator))


def _issue(accelerator: Accelerator, instruction: Instruction) -> str | None:
    name = issue_name(accelerator, instruction.name)
    if not instruction.encoding:
        is_fence = instruction.words.get("role") == "fence" and not instruction.parameters
        return f"static inline void {name}(void) {{ {accelerator.name}_wait(); }}\n" if is_fence else None
    parameters = {p.name: p for p in instruction.parameters}
    values: dict[str, list[str]] = {word: [] for word in command_words(accelerator)}
    for field in instruction.encoding:
        values[field.word].append(
            f"{accelerator.name}_field({_packed(accelerator, field, parameters)}, {field.high}, {field.low})"
        )
    arguments = ", ".join(" | ".join(fields) or "0" for fields in values.values())
    signature = ", ".join(f"{_operand_type(p)} {p.name}" for p in instruction.parameters) or "void"
    unused = "".join(f"    (void){operand};\n" for operand in instruction.implied)
    text = f"static inline void {name}({signature}) {{\n{unused}    {accelerator.name}_command({arguments});\n}}\n"
    if any(p.kind == "pointer" for p in instruction.parameters):  # any pointer, or a number that is one
        names = ", ".join(p.name for p in instruction.parameters)
        cast = ", ".join(f"(uintptr_t)({p.name})" if p.kind == "pointer" else p.name for p in instruction.parameters)
        text += f"#define {name}({names}) {name}({cast})\n"
    return text


def _packed(accelerator: Accelerator, field: EncodedField, parameters: dict[str, Parameter]) -> str:
    if isinstance(field.value, Number):
        return str(field.value.value)
    if isinstance(field.value, Name) and parameters[field.value.name].kind == "float":
        return f"{accelerator.name}_float_bits({field.value.name})"
    return f"(uint64_t)({show(field.value)})"


def _operand_type(parameter: Parameter) -> str:
    return {"integer": "int64_t", "float": "float", "address": "uint32_t", "pointer": "uintptr_t"}[parameter.kind]


def _macro(accelerator: Accelerator, form: Alias) -> str:
    bound = {name: ast.Name(f"({name})") for name in form.parameters}
    calls = [
        f"{issue_name(accelerator, instruction)}({', '.join(print_expression(in_c(a, bound)) for a in arguments)})"
        for instruction, arguments in commands_of(form, call_forms(accelerator))
    ]
    body = calls[0] if len(calls) == 1 else f"do {{ {'; '.join(calls)}; }} while (0)"
    return f"#define {form.name}({', '.join(form.parameters)}) {body}\n"


def _procedures(accelerator: Accelerator) -> Iterator[str]:
    """The vendor library's routines, callees first, without what its headers offer to programs alone."""
    for procedure in with_callees([p.name for p in accelerator.procedures], replace(accelerator, library=Library())):
        lowered = lower(procedure, accelerator, {}, fenced=False)
        yield "static inline " + print_kernel(lowered.kernel)
