"""The messages for wrong kernels, word for word; and no input crashes the checker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Mistake = Callable[..., str]
Golden = Callable[..., None]

BODIES = """
int x = yy;
printf("hi");
malloc(3);
move_im(A, 0, 4, 4);
move_in(A, 0, 4);
config(1, 2, 3);
move_in(0, A, 4, 4);
move_in(A, 0, 5, 4);
move_in(3, 0, 4, 4);
copy(A, B, B);
config(2000000);
int x = 3
x = ;
for (i = 0, j = 1;;) {}
int x; int x;
A = B;
5 = 3;
uint32_t a = (uint32_t)&A;
return 1;
break;
goto x;
foo_t x = 3;
int a[0];
int n = A[0][0]; int a[n];
int8_t h[1000][1000][1000];
int x = 99999999999999999999999;
int x = 1.0 % 2;
A[0][0][0] = 1;
const int x = 3; x = 4;
int x = 3 / 0;
/* never
#if X
int x = 0x1g;
int x = 09;
int *p = &3;
static int q = A[0][0];
int a[2] = {1, 2, 3};
int *p = 5;
int x = copy(A, B, 1);
unsigned float x;
switch (1) { A; }
A + B;
add_matrix(A, B, A, 4, 4);
if (fence()) {}
""".strip().split("\n")

FILES = """
int x;
void solution(int x) {}
void solution(int8_t *A) {}
void solution(int8_t A[]) {}
void solution(int8_t A[N]) {}
void solution(int8_t A[4], int8_t A[4]) {}
int solution(int8_t A[4]) { return 1; }
void solution(int8_t A[4]) {} void g() {}
void f() { f(); } void solution(int8_t A[4]) { f(); }
int f(int a) { return a; } void solution(int8_t A[4]) { f(); }
void solution(int8_t A[4]) {
""".strip().split("\n")

STRUCTURES = """
struct t a;
struct s a = {1, {2}, 3};
struct s a = {.c = 3};
struct s a = {1, 2};
struct s a; a.c = 1;
struct s a[2]; a.x = 1;
struct s a; a.x.y = 1;
struct s a; int n = a;
struct s* p = A;
struct s a, b; a = b;
struct s a[2]; int i = 0; struct s* p = &a[i++];
struct s a; g(a);
struct s a; move_in(&a, 0, 4, 4);
int n = sizeof(struct m);
int n = ((struct s){1, {fence(), 3}}).x;
int n = A.x;
for (struct s a; ;) {}
struct s { int x; }; struct s a;
int (*f)(int); f(3);
""".strip().split("\n")


def test_messages_for_wrong_uses_of_structures(mistake: Mistake, golden: Golden) -> None:
    text = "struct s {{ int x; int y[2]; }}; struct m {{ int a; float b; }}; void g(struct m a) {{}}"
    text += "\nvoid solution(int8_t A[4][4]) {{\n    {}\n}}"
    wrong = ["struct s { struct s* next; } a; void solution(int8_t A[4]) {}"]
    wrong += ["struct s { int x; }; struct s f() { fence(); } void solution(int8_t A[4]) {}"]
    wrong += ["struct s { int x[2]; }; struct s f() {} void solution(int8_t A[4]) {}"]
    wrong += [
        "struct s { int x; }; struct s f(int n) {} void solution(int8_t A[4]) { int i = 0; struct s a = f(i++); }"
    ]
    wrong += ["struct s { int x[2]; }; void f(struct s a) {} void solution(int8_t A[4]) {}"]
    golden("\n\n".join(mistake(one) for one in [*(text.format(body) for body in STRUCTURES), *wrong]) + "\n")


POINTERS = """
int8_t* p[2] = {A, A}; g(p);
int8_t* p[2] = {A, A}; mvin(p[2], 0, 4, 4);
int8_t* p[2] = {A, A}; int i = 0; mvin(p[i++], 0, 4, 4);
int8_t* p[65];
int n = 2; int8_t* p[n];
int8_t* p[1] = {A}; { int p = 3; }
tile_t* p = A;
""".strip().split("\n")


def test_messages_for_wrong_uses_of_arrays_of_pointers(mistake: Mistake, golden: Golden) -> None:
    text = "typedef int8_t tile_t[4];\nvoid g(int8_t* p) {{}}\nvoid solution(tile_t A) {{\n    {}\n}}"
    wrong = ["void g(int8_t* p[2]) {} void solution(int8_t A[4]) {}", "typedef int8_t f_t(int);"]
    golden("\n\n".join(mistake(one) for one in [*(text.format(body) for body in POINTERS), *wrong]) + "\n")


def test_messages_for_wrong_statements(mistake: Mistake, golden: Golden) -> None:
    text = "void solution(int8_t A[4][4], int8_t B[4][4]) {{\n    {}\n}}"
    golden("\n\n".join(mistake(text.format(body)) for body in BODIES) + "\n")


def test_messages_for_wrong_files(mistake: Mistake, golden: Golden) -> None:
    golden("\n\n".join(mistake(text) for text in FILES) + "\n")


HOSTILE: dict[str, tuple[str, str]] = {
    "parentheses": ("(" * 100_000, "nested more than"),
    "blocks": ("{" * 100_000, "nested more than"),
    "sum": ("int x = " + "1+" * 20_000 + "1;", "nested more than"),
    "steps": ("int x = " + "--" * 10_000 + "x;", "nested more than"),
    "negations": ("int x = " + "!" * 20_000 + "1;", "nested more than"),
    "choices": ("int x = 1" + "?1:1" * 10_000 + ";", "nested more than"),
    "assignments": ("int a; a" + "=a" * 10_000 + ";", "nested more than"),
    "indices": ("A" + "[0]" * 20_000 + ";", "nested more than"),
    "ifs": ("if (1) " * 10_000 + ";", "nested more than"),
    "else ifs": ("if (1) ; else " * 5_000 + ";", "nested more than"),
    "casts": ("(int)" * 10_000 + "1;", "nested more than"),
    "pointers": ("int " + "*" * 10_000 + "p;", "at most 8 dimensions"),
    "dimensions": ("int p" + "[1]" * 10_000 + ";", "at most 8 dimensions"),
    "digits": ("int x = " + "9" * 200_000 + ";", "64 bits"),
    "characters": ("x" * 2_000_000, "at most 262144 characters"),
    "array": ("int8_t h[1 << 30];", "256 MiB"),
    "extent": ("int8_t h[0xffffffffffffffff];", "2^40 bytes"),
    "initial": ("static int8_t h[100000000] = {1};", "16 MiB"),
    "comments on a line": ("/**/" * 50_000 + "\0", "does not belong"),
    "comments at the end": ("/**/" * 50_000 + "x;", "unknown name 'x'"),
    "zero byte": ("\0", "does not belong"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_input_ends_in_a_clear_error(mistake: Mistake, name: str) -> None:
    body, message = HOSTILE[name]
    assert message in mistake(f"void solution(int8_t A[4]) {{ {body} }}")


def test_registers_run_out_with_an_error(mistake: Mistake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autocomp.targets.simulator.kernel.code.emitter.MAX_SLOTS", 100)
    assert "at most 100 registers" in mistake(f"void solution(int8_t A[4]) {{ {'{int v = A[0];}' * 101} }}")


@pytest.mark.parametrize(
    "body",
    [
        "int x = A[0]; int y = x" + " / x" * 100 + ";",
        "int x = A[0]; int y = " + "(uint8_t)(x + " * 30 + "1" + ")" * 30 + ";",
        "for (int i = 0; i < 2; i++) " * 55 + "A[0]++;",
        "int x = A[0]; int y = " + "x ? " * 100 + "1" + " : 2" * 100 + ";",
    ],
    ids=["divisions", "casts", "loops", "choices"],
)
def test_what_is_just_not_too_deep_compiles(compiled: Callable[..., Any], body: str) -> None:
    assert compiled(f"void solution(int8_t A[4]) {{ {body} }}").frame_size > 0
