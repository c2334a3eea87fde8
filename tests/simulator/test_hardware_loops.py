"""Hardware loops over matrix multiplications compute what NumPy computes, for every flag and any padding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
from autocomp.simulator import SimulationOptions, SimulationResult, run_program
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autocomp.errors import KernelError
from autocomp.targets.simulator import isa, kernel

DIM = 4
MACHINE = {"DIM": DIM, "SPAD_KB": 2, "ACC_KB": 4, "MAX_BYTES": 16}
SPAD_TILES = 2048 // DIM // 2 // DIM  # in half of the scratchpad
ACC_TILES = 4096 // (4 * DIM) // 2 // DIM
PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}
Array = npt.NDArray[np.int64]


@cache
def machine(generation: int = 0) -> tuple[isa.Accelerator, isa.MachineTables]:
    accelerator = isa.load("gemmini", {**MACHINE, "GENERATION": generation})
    return accelerator, isa.lower(accelerator)


def run(text: str, tensors: Mapping[str, np.ndarray], generation: int = 0, **options: bool | int) -> SimulationResult:
    accelerator, tables = machine(generation)
    program = kernel.link(kernel.compile(kernel.parse(text), accelerator), tables)
    return run_program(tables.machine, program, tensors, SimulationOptions(discipline=True, **options))


def outputs(text: str, tensors: Mapping[str, np.ndarray], **options: bool | int) -> dict[str, np.ndarray]:
    result = run(text, tensors, **options)
    assert result.error is None, result.error
    assert not result.violations
    return dict(result.outputs)


def scaled(sums: Array, relu: bool, scale: float) -> npt.NDArray[np.int8]:
    """The way out of the accumulator: activation, binary32 scale, nearest integer (ties to even), saturation."""
    activated = np.maximum(sums, 0) if relu else sums
    return np.clip(np.rint(activated.astype(np.float32) * np.float32(scale)), -128, 127).astype(np.int8)


@dataclass(frozen=True)
class Product:
    """C = A * B + D with matrices of any size, that are parts of wider ones."""

    rows: int
    columns: int
    depth: int
    transpose: str  # of the operand that is stored transposed, or nothing
    bias: str  # none, full or low
    full_c: bool
    relu: bool
    extra: int  # elements behind the rows of each matrix
    seed: int

    @property
    def tiles(self) -> tuple[int, int, int]:
        return -(-self.rows // DIM), -(-self.columns // DIM), -(-self.depth // DIM)

    @property
    def fits(self) -> bool:
        i, j, k = self.tiles
        return i * k + k * j <= SPAD_TILES and i * j <= ACC_TILES

    def tensors(self) -> dict[str, np.ndarray]:
        random = np.random.default_rng(self.seed)

        def matrix(rows: int, columns: int, kind: type[np.generic] = np.int8) -> np.ndarray:
            return random.integers(-100, 100, (rows, columns + self.extra)).astype(kind)

        a = (self.depth, self.rows) if self.transpose == "A" else (self.rows, self.depth)
        b = (self.columns, self.depth) if self.transpose == "B" else (self.depth, self.columns)
        return {
            "A": matrix(*a),
            "B": matrix(*b),
            "D": matrix(self.rows, self.columns, np.int8 if self.bias == "low" else np.int32),
            "C": matrix(self.rows, self.columns, np.int32 if self.full_c else np.int8),
        }

    def expected(self, tensors: Mapping[str, np.ndarray]) -> np.ndarray:
        a, b, d = (tensors[name].astype(np.int64) for name in "ABD")
        left = a[:, : self.rows].T if self.transpose == "A" else a[:, : self.depth]
        right = b[:, : self.depth].T if self.transpose == "B" else b[:, : self.columns]
        sums = left @ right + (0 if self.bias == "none" else d[:, : self.columns])
        c = tensors["C"].copy()
        c[:, : self.columns] = sums if self.full_c else scaled(sums, self.relu, 0.05)
        return c

    def text(self, tensors: Mapping[str, np.ndarray], runs: int = 1) -> str:
        i, j, k = self.tiles
        types = {name: "int32_t" if t.dtype == np.int32 else "int8_t" for name, t in tensors.items()}
        shapes = {name: "".join(f"[{n}]" for n in t.shape) for name, t in tensors.items()}
        width = {name: t.shape[1] for name, t in tensors.items()}
        at, bt = int(self.transpose == "A"), int(self.transpose == "B")
        bias = "0" if self.bias == "none" else "D"
        low = int(self.bias == "low")
        call = (
            f"gemmini_loop_ws({i}, {j}, {k}, {i * DIM - self.rows}, {j * DIM - self.columns}, {k * DIM - self.depth}, "
            f"A, B, {bias}, C, {width['A']}, {width['B']}, {width['D']}, {width['C']}, {at}, {bt}, "
            f"{int(self.full_c)}, {low}, {int(self.bias != 'none')}, {int(self.relu)}, 0, 0, 0);"
        )
        return f"""
void solution({", ".join(f"{types[n]} {n}{shapes[n]}" for n in tensors)}) {{
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, {at}, {bt});
  gemmini_extended_config_st({width["C"] * tensors["C"].itemsize}, {int(self.relu)}, 0.05f);
  config_ld({width["A"]}, 1.0f, DIM, 0);
  config_ld({width["B"]}, 1.0f, DIM, 1);
  gemmini_extended4_config_ld({width["D"] * tensors["D"].itemsize}, 1.0f, {low}, DIM, 2);
  {"fence(); ".join([call] * runs)}
  fence();
}}"""


products = st.builds(
    Product,
    rows=st.integers(1, 23),
    columns=st.integers(1, 23),
    depth=st.integers(1, 23),
    transpose=st.sampled_from(["", "A", "B"]),
    bias=st.sampled_from(["none", "full", "low"]),
    full_c=st.booleans(),
    relu=st.booleans(),
    extra=st.integers(0, 5),
    seed=st.integers(0, 1000),
).filter(lambda product: product.fits)


@settings(max_examples=40, **PATIENT)
@given(product=products, runs=st.integers(1, 3))
def test_a_loop_multiplies_matrices_of_any_size(product: Product, runs: int) -> None:
    tensors = product.tensors()
    found = outputs(product.text(tensors, runs), tensors)["C"]
    np.testing.assert_array_equal(found, product.expected(tensors))


def test_the_generic_interpreter_agrees() -> None:
    product = Product(9, 13, 10, "B", "full", False, True, 3, 5)
    tensors = product.tensors()
    found = outputs(product.text(tensors), tensors, generic=True, timing=False)["C"]
    np.testing.assert_array_equal(found, product.expected(tensors))


@settings(max_examples=10, **PATIENT)
@given(product=products.filter(lambda product: product.bias != "low"))
def test_the_last_tile_of_b_takes_its_time_wherever_the_tensor_ends(product: Product) -> None:
    """The machine moves in all of its rows, and knows nothing of tensors."""
    tensors = product.tensors()
    longer = {**tensors, "B": np.pad(tensors["B"], ((0, DIM), (0, 0)))}
    text = product.text(tensors)
    inside = text.replace(f"B[{len(tensors['B'])}]", f"B[{len(longer['B'])}]")
    results = [run(text, tensors), run(inside, longer)]
    assert [result.error for result in results] == [None, None]
    assert results[0].timing is not None
    assert results[1].timing is not None
    assert results[0].timing.cycles == results[1].timing.cycles


def test_kernels_cannot_call_what_loops_alone_send() -> None:
    text = "void solution(int8_t A[4][4]) { move_in_tile(A, 0, 4, 2); fence(); }"
    with pytest.raises(KernelError, match="move_in_tile"):
        kernel.compile(kernel.parse(text), machine()[0])


def test_loops_over_k_accumulate_in_their_half_until_one_moves_out() -> None:
    """Without a destination the sums stay where they are, and the next loop adds to them."""
    text = """
void solution(int8_t A[8][24], int8_t B[24][8], int32_t C[8][8]) {
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, 0, 0);
  config_st(32);
  config_ld(24, 1.0f, DIM, 0);
  config_ld(8, 1.0f, DIM, 1);
  for (int k = 0; k < 3; k++)
    gemmini_loop_ws(2, 2, 2, 0, 0, 0, &A[0][k * 8], &B[k * 8][0], 0, k == 2 ? C : 0,
                    24, 8, 0, 8, 0, 0, 1, 0, k > 0, 0, 0, 0, 0);
  fence();
}"""
    random = np.random.default_rng(3)
    a, b = (random.integers(-128, 128, shape).astype(np.int8) for shape in ((8, 24), (24, 8)))
    found = outputs(text, {"A": a, "B": b, "C": np.zeros((8, 8), np.int32)})["C"]
    np.testing.assert_array_equal(found, a.astype(np.int32) @ b.astype(np.int32))


def test_operands_stay_in_a_half_of_the_scratchpad_that_the_call_names() -> None:
    """The second loop moves in no A: the first has put it into half 1 and B into half 2."""
    text = """
void solution(int8_t A[4][8], int8_t B[8][4], int8_t E[8][4], int32_t C[4][4], int32_t F[4][4]) {
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, 0, 0);
  config_st(16);
  config_ld(8, 1.0f, DIM, 0);
  config_ld(4, 1.0f, DIM, 1);
  gemmini_loop_ws(1, 1, 2, 0, 0, 0, A, B, 0, C, 8, 4, 0, 4, 0, 0, 1, 0, 0, 0, 1, 1, 0);
  gemmini_loop_ws(1, 1, 2, 0, 0, 0, 0, E, 0, F, 8, 4, 0, 4, 0, 0, 1, 0, 0, 0, 1, 2, 0);
  fence();
}"""
    random = np.random.default_rng(4)
    a, b, e = (random.integers(-128, 128, shape).astype(np.int8) for shape in ((4, 8), (8, 4), (8, 4)))
    zeros = np.zeros((4, 4), np.int32)
    found = outputs(text, {"A": a, "B": b, "E": e, "C": zeros, "F": zeros})
    np.testing.assert_array_equal(found["C"], a.astype(np.int32) @ b.astype(np.int32))
    np.testing.assert_array_equal(found["F"], a.astype(np.int32) @ e.astype(np.int32))


BESIDE_EACH_OTHER = """
void solution(int8_t A[4][8], int8_t B[8][4], int8_t E[8][4], int32_t C[4][4], int32_t F[4][4]) {
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, 0, 0);
  config_st(16);
  config_ld(8, 1.0f, DIM, 0);
  config_ld(4, 1.0f, DIM, 1);
  gemmini_loop_ws(1, 1, 2, 0, 0, 0, A, B, 0, C, 8, 4, 0, 4, 0, 0, 1, 0, 0, 0, 1, 2, 0);
  between
  gemmini_loop_ws(1, 1, 2, 0, 0, 0, A, E, 0, F, 8, 4, 0, 4, 0, 0, 1, 0, 0, 0, 2, second, 0);
  fence();
}"""


@pytest.mark.parametrize(
    ("between", "half", "legal"), [("", 2, False), ("", 0, False), ("", 1, True), ("config_st(16);", 2, True)]
)
def test_a_loop_may_not_move_into_rows_that_the_loop_before_still_reads(between: str, half: int, legal: bool) -> None:
    """The moves of a loop begin while the array still works on the one before; another command waits for that one."""
    text = BESIDE_EACH_OTHER.replace("between", between).replace("second", str(half))
    zeros = {name: np.zeros(shape, np.int8) for name, shape in (("A", (4, 8)), ("B", (8, 4)), ("E", (8, 4)))}
    violations = run(text, {**zeros, "C": np.zeros((4, 4), np.int32), "F": np.zeros((4, 4), np.int32)}).violations
    assert not violations if legal else "'load_b' does not wait for the older one's 'execute'" in violations[0].message


def test_parts_of_a_loop_can_be_left_out() -> None:
    """The first loop only moves in, 8 + 16 skipped; the second only computes and moves out, 1 + 2 + 4."""
    text = """
void solution(int8_t A[4][8], int8_t B[8][4], int32_t D[4][4], int32_t C[4][4]) {
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, 0, 0);
  config_st(16);
  config_ld(8, 1.0f, DIM, 0);
  config_ld(4, 1.0f, DIM, 1);
  config_ld(16, 1.0f, DIM, 2);
  for (int part = 0; part < 2; part++) {
    loop_ws_config_bounds(1, 1, 2, 0, 0, 0);
    loop_ws_config_addrs_ab(A, B);
    loop_ws_config_addrs_dc(D, part == 0 ? 0 : C);
    loop_ws_config_strides_ab(8, 4);
    loop_ws_config_strides_dc(4, 4);
    loop_ws_run(1, 1, 0, NO_ACTIVATION, 1, 1, 0, 0, 0, part == 0 ? 24 : 7);
  }
  fence();
}"""
    random = np.random.default_rng(5)
    a, b = (random.integers(-128, 128, shape).astype(np.int8) for shape in ((4, 8), (8, 4)))
    d = random.integers(-1000, 1000, (4, 4)).astype(np.int32)
    tensors = {"A": a, "B": b, "D": d, "C": np.zeros((4, 4), np.int32)}
    result = run(text, tensors, generation=1)
    assert result.error is None, result.error
    np.testing.assert_array_equal(result.outputs["C"], a.astype(np.int32) @ b.astype(np.int32) + d)
    assert result.dram_bytes_read == a.nbytes + b.nbytes + d.nbytes
    refused = run(text, tensors, generation=0)
    assert refused.error is not None
    assert "cannot leave out a part of a loop" in refused.error.message


@pytest.mark.parametrize(("rows", "columns"), [(8, 8), (7, 13), (13, 6)])
def test_a_residual_addition_adds_two_matrices(rows: int, columns: int) -> None:
    i, j = -(-rows // DIM), -(-columns // DIM)
    text = f"""
void solution(int8_t A[{i * DIM}][{columns}], int8_t B[{i * DIM}][{columns}], int8_t C[{rows}][{columns}]) {{
  gemmini_extended_config_st({columns}, RELU, 1.0f);
  gemmini_extended4_config_ld({columns}, 1.0f, 1, DIM, 0);
  gemmini_extended4_config_ld({columns}, 1.0f, 1, DIM, 1);
  gemmini_loop_ws({i}, {j}, 0, {i * DIM - rows}, {j * DIM - columns}, 0, A, B, 0, C,
                  {columns}, {columns}, 0, {columns}, 0, 0, 0, 0, 0, RELU, 0, 0, 1);
  fence();
}}"""
    random = np.random.default_rng(rows)
    a, b = (random.integers(-128, 128, (i * DIM, columns)).astype(np.int8) for _ in range(2))
    found = outputs(text, {"A": a, "B": b, "C": np.zeros((rows, columns), np.int8)})["C"]
    np.testing.assert_array_equal(found, scaled(a.astype(np.int64) + b, True, 1.0)[:rows])


def test_ordinary_commands_behind_a_loop_see_its_results() -> None:
    """The first loop leaves its sums in the first half of the accumulator."""
    text = """
void solution(int8_t A[4][4], int8_t B[4][4], int8_t C[4][4]) {
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, 0, 0);
  config_st(4);
  config_ld(4, 1.0f, DIM, 0);
  config_ld(4, 1.0f, DIM, 1);
  gemmini_loop_ws(1, 1, 1, 0, 0, 0, A, B, 0, 0, 4, 4, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  mvout(C, 0x80000000, 4, 4);
  fence();
}"""
    random = np.random.default_rng(6)
    a, b = (random.integers(-9, 10, (4, 4)).astype(np.int8) for _ in range(2))
    found = outputs(text, {"A": a, "B": b, "C": np.zeros((4, 4), np.int8)})["C"]
    np.testing.assert_array_equal(found, scaled(a.astype(np.int64) @ b, False, 1.0))


def refused(bounds: str, pads: str = "0, 0, 0", flags: str = "0, 0, 0, 0, 0, 0, 0, 0, 0") -> str:
    text = f"""
void solution(int8_t A[4][4], int8_t C[4][4]) {{
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, 0, 0);
  config_st(4);
  config_ld(4, 1.0f, DIM, 0);
  config_ld(4, 1.0f, DIM, 1);
  int64_t n = 65535;
  gemmini_loop_ws({bounds}, {pads}, A, A, 0, C, 4, 4, 4, 4, {flags});
  fence();
}}"""
    result = run(text, {"A": np.zeros((4, 4), np.int8), "C": np.zeros((4, 4), np.int8)}, max_steps=100_000)
    assert result.error is not None
    return result.error.message


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ("n, n, n", "must fit half of the scratchpad"),
        ("1, 1, n", "must fit half of the scratchpad"),
        ("8, 8, 1", "must fit half of the accumulator"),
        ("1, 1, n - n", "at least one tile in K"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(bounds: str, message: str) -> None:
    assert message in refused(bounds)


def test_transposes_that_the_array_is_not_configured_for_are_refused() -> None:
    assert "with the loop's transposes" in refused("1, 1, 1", flags="1, 0, 0, 0, 0, 0, 0, 0, 0")


def test_an_error_of_a_sent_command_names_the_loop_that_sent_it() -> None:
    message = refused("2, 1, 1")
    assert message.startswith("loop_ws_run(")
    assert "move_in(" in message
    assert "outside the tensor" in message
