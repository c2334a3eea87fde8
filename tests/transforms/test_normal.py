"""The normal form: loops from 0, constants propagated, nothing that never runs."""

from __future__ import annotations

from autocomp.targets.simulator import kernel
from autocomp.targets.simulator.transforms.raising.normal import normalise


def normal(body: str, **constants: int) -> str:
    text = f"void solution(int8_t A[64][64]) {{ {body} }}"
    printed = kernel.print_kernel(normalise(kernel.parse(text), constants))
    again = kernel.print_kernel(normalise(kernel.parse(printed), constants))
    assert again == printed, "the normal form of a normal form is itself"
    return " ".join(printed.split()).removeprefix("void solution(int8_t A[64][64]) { ").removesuffix(" }")


def test_loops_count_from_zero_in_steps_of_one() -> None:
    assert normal("for (int i = 16; i <= 48; i += 16) f(i);") == "for (int i = 0; i < 3; i++) { f(i * 16 + 16); }"


def test_downward_loops_count_up() -> None:
    assert normal("for (int i = 8; i >= 0; i--) f(i);") == "for (int i = 0; i < 9; i++) { f(8 - i); }"


def test_scalar_constants_take_the_place_of_their_names() -> None:
    assert normal("const uint32_t a = 16; int n = a + 4; f(a, n);") == "f(16, 20);"


def test_variables_whose_values_are_not_known_stay() -> None:
    assert normal("int n = A[1][0]; n += 1; f(n);") == "int n = A[1][0]; n += 1; f(n);"


def test_indices_split_off_by_division_keep_their_names() -> None:
    text = "for (int s = 0; s < 12; s++) { const int i = s / 4; f(i); }"
    assert normal(text) == "for (int s = 0; s < 12; s++) { const int i = s / 4; f(i); }"


def test_named_constants_fold_in_arithmetic_and_stay_where_they_stand_alone() -> None:
    assert normal("f(DIM, DIM * 2);", DIM=16) == "f(DIM, 32);"


def test_what_never_runs_goes() -> None:
    assert (
        normal("for (int i = 0; i < 4; i++) { if (i < 4) f(i); else g(i); }") == "for (int i = 0; i < 4; i++) { f(i); }"
    )


def test_loops_of_one_iteration_go() -> None:
    assert normal("for (int i = 0; i < 1; i++) f(i);") == "f(0);"


def test_a_variable_that_hides_another_gets_a_name_of_its_own() -> None:
    printed = normal("for (int i = 0; i < 2; i++) { for (int i = 0; i < 3; i++) f(i); g(i); }")
    assert printed == "for (int i = 0; i < 2; i++) { for (int i2 = 0; i2 < 3; i2++) { f(i2); } g(i); }"


def test_loops_that_may_end_early_are_left_alone() -> None:
    text = "for (int i = 2; i < 4; i++) { if (i == 3) { break; } }"
    assert normal(text) == text
