"""Kernels in styles of other people and programs: what they say in other words is raised, or named."""

from __future__ import annotations

from pathlib import Path

import pytest

from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.evaluate import SimulatorEvaluator
from autocomp.targets.simulator.kernel.syntax.entry import with_shapes
from autocomp.targets.simulator.transforms import analyse, transformation
from autocomp.targets.simulator.transforms.raising.evolution import evolved
from autocomp.targets.simulator.transforms.raising.inline import inlined
from autocomp.targets.simulator.transforms.raising.normal import normalise
from autocomp.targets.simulator.transforms.raising.unraised import unraised
from autocomp.workload import parse
from autocomp.workload.model import Workload

MACHINE = isa.load("gemmini")
SIZES = "operation: gemm\naccelerator: gemmini\ndims: {I: 64, J: 48, K: 80}\n"
CONFIGURED = """
    config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
    config_ld(80, 1.0f, 0);
    config_ld(48, 1.0f, 1);
    config_st(48);
"""
HELPERS_AND_WHILE = f"""
void multiply(uint32_t a, uint32_t b, uint32_t c) {{
    preload(b, c, DIM, DIM, DIM, DIM);
    compute_preloaded(a, 0xffffffff, DIM, DIM, DIM, DIM);
}}
void solution(int8_t A[64][80], int8_t B[80][48], int8_t C[64][48]) {{
    const int TILE = DIM;
    {CONFIGURED}
    static const uint32_t a_base = 0x0, b_base = 0x1000;
    int i = 0;
    while (i < 64) {{
        int j = 0;
        while (j < 48) {{
            uint32_t c = 0x80000000;
            for (int k = 0; k < 80; k += TILE) {{
                int row = i, column = k;
                mvin(&A[row][column], a_base, TILE, TILE);
                {{
                    int row = k, column = j;
                    mvin2(&B[row][column], b_base, TILE, TILE);
                }}
                multiply(a_base, b_base, c);
                c = 0xC0000000;
            }}
            mvout(&C[i][j], 0x80000000, TILE, TILE);
            j += TILE;
        }}
        i = i + TILE;
    }}
    fence();
}}
"""
GENERATED = f"""
void solution(int8_t A[][80], int8_t (*B)[48], int8_t C[][48]) {{
    {CONFIGURED}
    for (int_fast32_t io = 0; io < 4; io++)
        for (int_fast32_t jo = 0; jo < 3; jo++) {{
            for (int_fast32_t ko = 0; ko < 5; ko++) {{
                mvin(&A[16 * io][16 * ko], 0, 16 + 0, 16 + 0);
                mvin2(&B[16 * ko][16 * jo], (1 * 16) / 1, (16 + 0), 16);
                if (ko == 0) {{
                    preload((uint32_t)16, (uint32_t)(1 << 31), 16, 16, 16, 16);
                }} else {{
                    preload((uint32_t)16, ((uint32_t)(1 << 31)) | 0x40000000, 16, 16, 16, 16);
                }}
                compute_preloaded((uint32_t)0, ~((uint32_t)0), 16, 16, 16, 16);
            }}
            mvout(&C[16 * io][16 * jo], (uint32_t)(1 << 31), (16 + 0), (16 + 0));
        }}
    fence();
}}
"""
TABLES = f"""
typedef struct {{ int row, column; }} place_t;
typedef void (*load_t)(const int8_t*, uint32_t);
static place_t place_of(int row, int column) {{ return (place_t){{16 * row, 16 * column}}; }}
static void load_left(const int8_t* from, uint32_t to) {{ mvin(from, to, 16, 16); }}
static void load_right(const int8_t* from, uint32_t to) {{ mvin2(from, to, 16, 16); }}
void solution(const int8_t* A, const int8_t* B, int8_t* C) {{
    {CONFIGURED}
    const load_t loads[2] = {{load_left, load_right}};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 3; j++) {{
            for (int k = 0; k < 5; k++) {{
                const place_t left = place_of(i, k), right = place_of(k, j);
                const int8_t* from[2] = {{A + left.row * 80 + left.column, &B[right.row * 48 + right.column]}};
                const uint32_t to[2] = {{0, 4096}};
                for (int n = 0; n < 2; n++) loads[n](from[n], to[n]);
                preload(to[1], k ? 0xC0000000 : 0x80000000, 16, 16, 16, 16);
                compute_preloaded(to[0], 0xffffffff, 16, 16, 16, 16);
            }}
            mvout(C + 16 * i * 48 + 16 * j, 0x80000000, 16, 16);
        }}
    fence();
}}
"""


def workload() -> Workload:
    return parse(SIZES, Path("w.yaml"))


def normal(text: str) -> kernel.syntax.ast.Kernel:
    return normalise(kernel.parse(text), {"DIM": 16})


STYLES = {"helpers and while": HELPERS_AND_WHILE, "generated": GENERATED, "tables and pointers": TABLES}


@pytest.mark.parametrize("text", STYLES.values(), ids=STYLES)
def test_kernels_in_unseen_styles_are_raised_and_scheduled(text: str) -> None:
    evaluator = SimulatorEvaluator(MACHINE, workload())
    facts = analyse(with_shapes(kernel.parse(text), workload().tensors), MACHINE, {"DIM": 16})
    assert unraised(facts.kernel) == ()
    better = facts.with_kernel(transformation("schedule").apply(facts, {}))
    before, after = evaluator.evaluate(text), evaluator.evaluate(kernel.print_kernel(better.written))
    assert before.correct
    assert after.correct, after.failure
    assert (after.value or 0) < (before.value or 0)


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("int n = 3; while (n < 40) n *= 2; f(n);", "a `while` loop"),
        ("int n = 0; while (n < 4) { if (n == 2) { break; } n++; }", "a `while` loop"),
        ("for (int i = 1; i < 64; i *= 2) f(i);", "a `for` loop"),
        ("int n = A[0][0]; f(n); n = n + 1; f(n);", "the variable `n`"),
        ("int n = 1; for (int i = 0; i < 9; i++) { f(n); n = n * 3; }", "the variable `n`"),
        ("g(1);", "the helper function `g`"),
    ],
)
def test_what_cannot_be_raised_is_named_with_its_line(body: str, named: str) -> None:
    leaving = "void g(int n) { for (int i = 0; i < n; i++) { if (i == 2) return; } f(n); }"
    text = f"{leaving}\nvoid solution(int8_t A[64][64]) {{\n{body}\n}}"
    found = unraised(normal(text))
    assert found[0].startswith(named)
    assert found[0].endswith("in line 3")


# What is written, and what is left of it.
RAISED = {
    "int p = 0; for (int i = 0; i < 6; i++) { f(p); p ^= 1; }": "f(i % 2);",
    "int p = 16; for (int i = 0; i < 6; i++) { f(p); p = 80 - p; }": "f(i % 2 * 48 + 16);",
    "int p = 0; for (int i = 0; i < 7; i++) { f(p); p = (p + 1) % 3; }": "f(i % 3);",
    "int p = 8; for (int i = 0; i < 3; i++) { for (int j = 0; j < 4; j++) { f(p); p += 2; } }": "f(i * 8 + j * 2 + 8);",
    "int i, j; for (i = 5; i > 0; i -= 2) { j = i; f(j, i); }": "f(5 - i * 2, 5 - i * 2);",
    "int i = 2; do { f(i); i += 3; } while (i < 10); f(i);": "f(i * 3 + 2); } f(11);",
    "for (int i = 0; i < 8; i += 4) for (int k = i; k < i + 4; k++) f(k);": "f(i * 4 + k);",
    "uint32_t c = 9; for (int i = 0; i < 4; i++) { f(c); c = 5; }": "f(i == 0 ? 9 : 5);",
    "for (int i = 0; i < 4; i++) { int c = 5; if (i > 2) c |= 8; f(c); }": "f(i > 2 ? 13 : 5);",
    "int8_t *a = (int8_t *)A; for (int i = 0; i < 4; i++) { f(a + 3); a += 128; }": "f(&A[i * 2][3]);",
    "static uint32_t base = 1 << 31; f(base + 16);": "f(0x80000010);",
    "f(chosen(0), chosen(1));": "f(7, 4);",
}


@pytest.mark.parametrize("body", RAISED)
def test_what_a_variable_holds_takes_its_place(body: str) -> None:
    chosen = "int chosen(int n) { if (n == 0) return 7; return n + 3; }"
    printed = kernel.print_kernel(normal(f"{chosen} void solution(int8_t A[64][64]) {{ {body} }}"))
    assert RAISED[body] in " ".join(printed.split())


def test_a_helper_that_writes_its_parameter_leaves_the_argument_alone() -> None:
    text = "void g(int n) { n += 1; f(n); } void solution(int8_t A[4]) { for (int n = 0; n < 4; n++) { g(n); f(n); } }"
    printed = " ".join(kernel.print_kernel(normal(text)).split())
    assert "f(n + 1); f(n);" in printed


def test_a_name_of_the_machine_that_the_caller_hides_keeps_its_meaning_in_the_helper() -> None:
    text = "void g(int n) { f(n, DIM); } void solution(int8_t A[4]) { int DIM = 3; g(DIM); }"
    assert "f(3, DIM);" in kernel.print_kernel(normal(text))


@pytest.mark.parametrize("text", [HELPERS_AND_WHILE, GENERATED], ids=["helpers and while", "generated"])
def test_what_is_raised_already_stays_the_same_tree_with_what_is_remembered_of_it(text: str) -> None:
    found = normal(text)
    assert inlined(found) is found
    assert evolved(found) is found
