"""Macros, conditions, includes, and the names that `typedef` and `enum` give."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from autocomp.errors import KernelError
from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.dialect import Dialect
from autocomp.targets.simulator.kernel.syntax.preprocessor import preprocess

Value = Callable[..., int]

# Each macro is four of the next one.
BOMB = "".join(f"#define M{n} {f'M{n + 1} ' * 4}\n" for n in range(20)) + "M0"


def expanded(text: str, **names: int) -> str:
    return " ".join(preprocess(text, "k.c", names).text.split())


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("#define N 4\nN + N1", "4 + N1"),
        ("#define N M\n#define M N + 1\nN", "N + 1"),
        ("#define TWICE(x) ((x) * 2)\nTWICE(TWICE(3)) TWICE", "((((3) * 2)) * 2) TWICE"),
        ("#define PAIR(a, b) a ## b #a\nPAIR(x, 1)", 'x1 "x"'),
        ("#define F() 7\nF() F( )", "7 7"),
        ("#define F(a, ...) a[__VA_ARGS__]\nF(x) F(x, 1) F(x, 1, (2, 3))", "x[] x[1] x[1,(2, 3)]"),
        ("#define F(a, ...) g(a, ##__VA_ARGS__)\nF(x) F(x, 1)", "g(x) g(x,1)"),
        ("#define LONG 1 + \\\n  2\nLONG", "1 + 2"),
        ("#define N 1 // one\nN /* N */ // N", "1 /* N */ // N"),
        ("#define N 1\n#undef N\nN", "N"),
        ("typedef unsigned char byte;\nbyte x; byte* p;", "unsigned char x; unsigned char* p;"),
        ("enum mode { OFF, ON = 4, AUTO };\nenum mode m = AUTO;", "int m = 5;"),
        ("typedef enum { LOW = -1, HIGH } level;\nlevel x = LOW;", "int x = (-1);"),
        ("enum { ALL = 0x" + "f" * 5000 + " };\nint x = ALL;", "int x = (-1);"),
        ("typedef void (*load)(int, char*);\nload f = g;", "function_of_2_t f = g;"),
        ("typedef const char lines[2][4];\nlines x;", "const char typedef ([2][4]) x;"),
        ("__attribute__((aligned(16))) int x;", "int x;"),
    ],
)
def test_what_a_text_becomes(text: str, result: str) -> None:
    assert expanded(text) == result


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("#if 1 + 2 * 3 == 7 && !(4 > 5)", True),
        ("#if defined(SIZE) && SIZE % 2", False),
        ("#if defined SIZE || 0", True),
        ("#ifdef SIZE", True),
        ("#ifndef SIZE", False),
        ("#if -7 / 2 == -3 && -7 % 2 == -1", True),
        ("#if SIZE >= 8 ? 0 : 1", False),
        ("#if (1 << 3 | 0x10) == 24u", True),
        ("#if 1 >> -1 == 0 && 1 << -1 < 0", True),  # as on a machine of 64 bits
    ],
)
def test_conditions_choose_with_names_from_outside(condition: str, holds: bool) -> None:
    assert expanded(f"{condition}\nyes\n#else\nno\n#endif", SIZE=8) == ("yes" if holds else "no")


def test_the_first_group_that_holds_counts() -> None:
    text = "#if 0\na\n#elif 1\nb\n#if 0\nc\n#endif\n#elif 1\nd\n#else\ne\n#endif"
    assert expanded(text) == "b"


def test_lines_stay_where_they_were() -> None:
    text = "#define SUM(a, b) \\\n  (a + b)\n#if 0\nx\n#endif\nSUM(1,\n  2) y\nz"
    lines = preprocess(text, "k.c", {}).text.split("\n")
    assert [lines.index(line) for line in lines if line.strip() in ("y", "z")] == [6, 7]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#if N > 1\n#endif", "'N' has no value here"),
        ("#if 1 / 0\n#endif", "division by zero"),
        ("#ifdef A", "no #endif"),
        ("#endif", "#endif without an #if"),
        ("#error too small", "#error too small"),
        ("#define F(x) x\nF(1, 2)", "has 2 arguments"),
        ("#define F(x) x\nF(1", "have no end"),
        ("#include <windows.h>", "unknown system header"),
        ("#wrong", "unknown directive"),
        ("typedef union { int a; } s;", "'union' is not part"),
        (BOMB, "too much"),
    ],
)
def test_mistakes_have_their_place(text: str, message: str) -> None:
    with pytest.raises(KernelError, match=r"k\.c") as caught:
        preprocess(text, "k.c", {})
    assert message in str(caught.value)


def test_constants_outside_of_functions_belong_to_those_that_use_them() -> None:
    text = "#define N 2\nconst int A = N, B = 3;\nvoid solution(int8_t x[B]) { int y = A; }\n"
    tree = kernel.parse(text)
    assert tree.globals == ()
    assert kernel.print_kernel(tree) == (
        "void solution(int8_t x[3]) {\n    const int A = 2, B = 3;\n    int y = A;\n}\n"
    )


@pytest.mark.parametrize(("number", "result"), [(0, 1), (1, 1), (2, 22), (3, 5), (9, 100)])
def test_switch_goes_to_its_case(value: Value, number: int, result: int) -> None:
    text = "int r = 0; switch ({n}) {{ case 0: case 1: r = 1; break; case 2: r = 20; r += 2; break;"
    rest = " case 3: {{ r = 5; break; }} default: r = 100; }}"
    assert value("r", (text + rest).format(n=number)) == result


@pytest.mark.parametrize(("number", "result"), [(0, 111), (1, 110), (2, 100), (7, 11)])
def test_cases_run_into_the_next(value: Value, number: int, result: int) -> None:
    text = f"int r = 0; switch ({number}) {{ case 0: r += 1; case 1: r += 10; case 2: r += 100; break; "
    assert value("r", text + "default: r += 4; r += 7; }") == result


def test_a_variable_with_an_address_can_be_changed_through_it(value: Value) -> None:
    assert value("x + y", "int x = 3; int* p = &x; *p = 40; int y; int* q = &y; *q = 2;") == 42


def test_characters_are_numbers(value: Value) -> None:
    assert value("'a' + '\\n' + '\\''") == 97 + 10 + 39


def test_extents_may_be_other_parameters(value: Value) -> None:
    helper = "int at(int h, int w, int32_t x[h][w], int i) { return x[i][w - 1] + *(x[i] + 1); }"
    text = "int32_t t[2][3] = {{1, 2, 3}, {4, 5, 6}}; "
    source = f"{helper} void solution(int64_t out[1]) {{ {text} out[0] = at(2, 3, t, 1); }}"
    assert "x[i * w + (w - 1)]" in kernel.print_kernel(kernel.parse(source))


@pytest.mark.parametrize(
    "text",
    [
        "#ifdef STEPS\n@\n#endif\nvoid solution(int8_t x[4]) { }",
        "#\\\nifdef STEPS\n@\n#endif\nvoid solution(int8_t x[4]) { }",
        "#if defined(STEPS)\n@\n#endif\nvoid solution(int8_t x[4]) { }",
        "enum { n = DIM };\nvoid solution(int8_t x[4]) { for (int i = 0; i < n @; i++) fence(); }",
    ],
)
def test_kernels_that_a_workloads_names_tell_apart_are_not_taken_for_one(text: str) -> None:
    fingerprint = Dialect(isa.load("gemmini")).fingerprint
    assert fingerprint(text.replace("@", "+ 1")) != fingerprint(text.replace("@", "+ 2"))
    plain = "#define N 4\n#include <stdint.h>\nvoid solution(int8_t x[N]) { }"
    assert fingerprint(plain) == fingerprint(plain.replace("x", "y").replace("N", "M"))
