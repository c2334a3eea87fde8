"""Statements that print or read the clock are no part of a kernel, and what depends on a time is refused."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from autocomp.errors import KernelError
from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.kernel.judged import for_tensors

MACHINE = isa.load("gemmini")


@dataclass(frozen=True)
class Tensor:
    name: str = "A"
    dtype: str = "int8"
    shape: tuple[int, ...] = (16, 16)


def left(body: str, helpers: str = "") -> tuple[str, tuple[int, ...]]:
    """The body that is left, in one line, and the numbers of the lines left out."""
    tree = kernel.parse(f"{helpers}void solution(int8_t A[16][16]) {{\n{body}\n}}")
    result = for_tensors(tree, [Tensor()], MACHINE)
    text = kernel.print_kernel(result)
    return " ".join(text.partition("void solution")[2].partition("{")[2].split())[:-2].strip(), result.left_out


@pytest.mark.parametrize(
    ("body", "rest", "lines"),
    [
        ('printf("begin\\n");\nfence();', "fence();", (2,)),
        ("uint64_t t = read_cycles();\nfence();\nt = read_cycles() - t;", "fence();", (2, 4)),
        ('uint64_t t = read_cycles();\nfence();\nprintf("%lu", read_cycles() - t);', "fence();", (2, 4)),
        ('for (int i = 0; i < 3; i++)\n  printf("%d", i);', "for (int i = 0; i < 3; i++) { }", (3,)),
        ('if (A != NULL) {\n  puts("there");\n  fence();\n}', "if (A != NULL) { fence(); }", (3,)),
    ],
)
def test_what_only_observes_is_left_out(body: str, rest: str, lines: tuple[int, ...]) -> None:
    assert left(body) == (rest, lines)


def test_what_else_a_statement_does_stays() -> None:
    body = 'int n = 0;\nprintf("%d", n++);'
    assert left(body) == ('int n = 0; printf("%d", n++);', ())


def test_a_function_of_the_kernels_own_is_called_whatever_its_name() -> None:
    assert left("puts(1);", "void puts(int n) { fence(); }\n") == ("puts(1);", ())


@pytest.mark.parametrize(
    "body",
    [
        "if (read_cycles() > 9) fence();",
        "uint64_t t = read_cycles();\nconfig_ld(t, 1.0f, 0);",
        'int n = 0; printf("%d", n++);',
    ],
)
def test_a_kernel_cannot_depend_on_them(body: str) -> None:
    with pytest.raises(KernelError, match=r"main\(\)|does not exist here"):
        kernel.check(kernel.parse(f"void solution(int8_t A[16][16]) {{ {body} }}"), MACHINE, {}, [Tensor()])


def test_the_first_extent_of_an_array_is_the_tensors() -> None:
    tree = kernel.parse("void solution(int8_t A[][16]) { fence(); }")
    assert "int8_t A[16][16]" in kernel.print_kernel(for_tensors(tree, [Tensor()], MACHINE))
