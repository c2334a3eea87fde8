"""Kernels written out: what each command touches is exact, and what is done with that leaves the results alone."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.evaluate import SimulatorEvaluator
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.targets.simulator.transforms import Facts, NotApplicable, analyse, candidates_of, transformation
from autocomp.targets.simulator.transforms.straight.command_by_command import STEPS
from autocomp.targets.simulator.transforms.straight.dependences import dependences
from autocomp.targets.simulator.transforms.straight.footprint import Access
from autocomp.targets.simulator.transforms.straight.program import Program, ProgramStep, program_of
from autocomp.targets.simulator.transforms.straight.write_out import in_sequence
from autocomp.workload import load
from autocomp.workload import parse as parse_workload

from .conftest import PROOF, apply, gemm, machine, naive, stepped, with_best

MACHINE = "gemmini:fp32"
KERNELS = Path(__file__).parents[2] / "benchmarks" / "kernels"
PRODUCT = "preload(4, 0x80000000, 1, 4, 1, 4); compute_preloaded(0, -1, 4, 4, 1, 4);"
OTHER = "preload(4, 0x80000008, 1, 4, 1, 4); compute_preloaded(0, -1, 4, 4, 1, 4);"
HEAD = "void solution(float A[8][4], float x[4][1], float y[4][1]) {"
SETTINGS = (
    "config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false); config_ld(16, 1.0f, 4, 0); config_ld(4, 1.0f, 4, 1);"
)


@cache
def evaluator(name: str) -> SimulatorEvaluator:
    workload = load(name)
    return SimulatorEvaluator(machine(workload.accelerator), workload)


def given_kernel(name: str) -> Facts:
    judge = evaluator(name)
    text = starting_kernel(judge.workload, judge.accelerator)
    return analyse(kernel.parse(text), judge.accelerator, judge.workload.constants)


def cycles(name: str, facts: Facts | str) -> int:
    text = facts if isinstance(facts, str) else kernel.print_kernel(facts.given)
    found = evaluator(name).evaluate(text, stages=PROOF)
    assert found.correct, f"{found.failure}\n{text}"
    assert found.value is not None
    return int(found.value)


def facts_of(body: str) -> Facts:
    return analyse(kernel.parse(f"{HEAD} {SETTINGS} {body} }}"), machine(MACHINE))


def lines(facts: Facts, *names: str) -> list[str]:
    """The statements of a kernel that is written out after steps on it, configuration left out."""
    found = kernel.print_kernel(stepped(facts, *names).given).splitlines()[1:-1]
    return [line.strip() for line in found if "config" not in line]


def test_loops_helpers_and_scalars_are_executed() -> None:
    text = "void move(float *from, int row) { mvin(from + 4, row, 4, 4); }"
    body = "int row = 8; for (int i = 0; i < 4; i += 4) { if (i == 0) move(A[i], row + i); row++; } fence();"
    facts = analyse(kernel.parse(f"{text} {HEAD} {SETTINGS} {body} }}"), machine(MACHINE))
    assert lines(facts) == ["mvin(&A[1][0], 8, 4, 4);", "fence();"]


@pytest.mark.parametrize(
    ("body", "statement"),
    [
        ("unsigned short n = -1; n /= 21845; mvin(A[0], n, 4, 4);", "mvin(&A[0][0], 3, 4, 4);"),
        ("int_fast32_t n = 1; n <<= 33; mvin(A[0], n >> 30, 4, 4);", "mvin(&A[0][0], 8, 4, 4);"),
        ("int n = -7; mvin(A[0], n % 4 + 7 / 2, 4, 4);", "mvin(&A[0][0], 0, 4, 4);"),
        ("int8_t* p = (int8_t*)A; mvin(p + 20, 0, 4, 4);", "mvin(&A[1][1], 0, 4, 4);"),
        ("uint64_t p = (uint64_t)A; mvin(p + 20, 0, 4, 4);", "mvin(&A[1][1], 0, 4, 4);"),
        ("float* p = NULL; preload(p == NULL ? 4 : 8, 0, 1, 4, 1, 4);", "preload(4, 0, 1, 4, 1, 4);"),
        ("x[0][0] = y[0][0] * (1 / 3.0f);", "x[0][0] = y[0][0] * 0.33333334f;"),
        ("x[0][0] = y[0][0] * (0.1 + 0.2);", "x[0][0] = y[0][0] * 0.30000000000000004;"),
        ("size_t n = 2; x[0][0] = (int)y[0][0] / n;", "x[0][0] = (int)y[0][0] / 2ul;"),
    ],
)
def test_numbers_and_addresses_are_those_of_c(body: str, statement: str) -> None:
    assert lines(facts_of(body + " if (true) fence();")) == [statement, "fence();"]


def test_a_null_pointer_stays_one() -> None:
    text = "void move(float *from) { mvin(from, 0, 4, 4); }"
    facts = analyse(kernel.parse(f"{text} {HEAD} move(NULL); }}"), machine(MACHINE))
    assert lines(facts) == ["mvin(NULL, 0, 4, 4);"]


def test_control_that_depends_on_data_is_not_executed() -> None:
    with pytest.raises(NotApplicable, match="depends on data"):
        in_sequence(facts_of("if (x[0][0] > 0) fence();"))


def test_what_a_command_touches_is_exact() -> None:
    (step, _) = program_of(facts_of("mvin2(&x[1][0], 7, 1, 3); fence();")).steps
    (read,), (written,) = step.dram(write=False), step.local(write=True)
    assert read.cells() == {(0, byte) for byte in range(4, 16)}
    assert written.cells() == {(7, 0), (8, 0), (9, 0)}


def test_a_number_of_another_type_is_converted() -> None:
    program = program_of(facts_of("mvin(A[0], 4, 2.9f, 3); fence();"))
    assert program.steps[0].local(write=True)[0].cells() == {(row, column) for row in (4, 5, 6) for column in (0, 1)}


def test_a_value_that_is_overwritten_moves_to_other_rows_of_the_banks_in_turn() -> None:
    body = "".join(f"mvin(&A[0][0], 0, 4, {rows}); mvout(&A[4][0], 0, 4, {rows});" for rows in (4, 2, 1, 3, 4))
    moves = [line for line in lines(facts_of(f"config_st(16); {body} fence();"), "own_rows") if "mv" in line]
    assert [line for line in moves if line.startswith("mvin")] == [
        "mvin(&A[0][0], 0, 4, 4);",
        "mvin(&A[0][0], 4096, 4, 2);",
        "mvin(&A[0][0], 8192, 4, 1);",
        "mvin(&A[0][0], 12288, 4, 3);",
        "mvin(&A[0][0], 4, 4, 4);",
    ]
    assert moves[1::2] == [line.replace("mvin(&A[0]", "mvout(&A[4]") for line in moves[::2]]


def test_values_that_moves_and_products_add_to_lie_in_one_bank_where_banks_share_their_adders() -> None:
    body = "config_ex(1, 0, 1, 0, 0); config_ld(16, 1.0f, 16, 0); config_ld(64, 1.0f, 16, 1); config_st(16);"
    for row in (0, 16):
        body += f"mvin(A[{row}], 0, 16, 16); mvin(A[{row}], 64, 16, 16); preload(0, 0x80000000, 16, 16, 16, 16);"
        body += "compute_preloaded(64, 0xFFFFFFFF, 16, 16, 16, 16); preload(0, 0xC0000000, 16, 16, 16, 16);"
        body += "compute_preloaded(64, 0xFFFFFFFF, 16, 16, 16, 16); mvin2(D[0], 0xC0000000, 16, 16);"
        body += f"mvout(C[{row}], 0x80000000, 16, 16);"
    text = f"void solution(int8_t A[32][16], int32_t D[16][16], int8_t C[32][16]) {{ {body} fence(); }}"
    facts = analyse(kernel.parse(text), machine("gemmini"))
    stores = [line for line in lines(facts, "own_rows") if "mvout" in line]
    assert stores == ["mvout(C[0], 0x80000000, 16, 16);", "mvout(C[16], 0x80000010, 16, 16);"]


def test_a_short_kernel_of_loops_is_written_out_on_the_way() -> None:
    facts, order = given_kernel("tinympc_forward"), ("order_commands", {"switch": 24})
    assert apply(facts, order).digest == apply(in_sequence(facts), order).digest


def test_where_the_host_takes_time_the_commands_alone_are_measured() -> None:
    ahead = {"block": {"i": 2, "j": 2, "k": 2}, "ahead": ["left", "right"], "deferred": True}
    text = kernel.print_kernel(apply(naive(64, 64, 64), ("schedule", ahead)).written)
    slow = isa.load("gemmini", {"HOST": 1})
    facts = analyse(kernel.parse(text), slow)
    (proposal,) = candidates_of(transformation("command_by_command"), facts)
    judge = SimulatorEvaluator(slow, gemm(64, 64, 64))
    changed = apply(facts, ("command_by_command", {}))
    loops, alone = (judge.evaluate(kernel.print_kernel(f.written), stages=PROOF) for f in (facts, changed))
    assert loops.value
    assert proposal.result == alone.value == loops.value - proposal.gain < 0.5 * loops.value


def test_of_what_may_start_at_once_the_given_order_or_the_longest_chain_decides() -> None:
    loads = "mvin(A[0], 64, 4, 4); mvin2(x[0], 68, 1, 4); mvin(A[0], 0, 4, 4); mvin2(x[0], 4, 1, 4);"
    facts = facts_of(f"config_st(4); {loads} {PRODUCT} mvout(y[0], 0x80000000, 1, 4); fence();")

    with pytest.raises(NotApplicable, match="in this order"):
        apply(facts, ("order_commands", {"first": "given"}))
    first = next(line for line in lines(apply(facts, ("order_commands", {"first": "chain"}))) if "mvin" in line)
    assert first == "mvin(A[0], 0, 4, 4);"


def test_a_value_that_is_overwritten_in_part_stays_together() -> None:
    body = "mvin(&A[0][0], 0, 4, 4); mvin2(&x[0][0], 0, 1, 4); mvout(&A[4][0], 0, 4, 4); fence();"
    facts = facts_of("config_st(16); " + body)
    assert lines(facts, "own_rows") == lines(facts)


def test_what_was_written_since_is_loaded_again() -> None:
    body = "config_st(16); mvin(A[0], 0, 4, 4); mvout(A[4], 0, 4, 4); {} mvin(A[0], 4, 4, 4); mvout(A[4], 4, 4, 4);"
    assert sum("mvin" in line for line in lines(facts_of(body.format("")), "load_once")) == 1
    changed = facts_of(body.format("A[0][0] = 1.0f;"))
    assert sum("mvin" in line for line in lines(changed, "load_once")) == 2


@pytest.mark.parametrize(
    "name",
    ["tinympc_control", *(pytest.param(f"tinympc_{part}", marks=pytest.mark.long) for part in ("forward", "backward"))],
)
def test_the_host_and_dram_leave_the_loop(name: str) -> None:
    facts = with_best(given_kernel(name), "command_by_command")
    assert cycles(name, facts) < cycles(name, (KERNELS / f"{name}.c").read_text())
    text = kernel.print_kernel(facts.given)
    assert text.count("fence") == 1
    assert "=" not in text


def test_a_result_is_used_where_it_lies() -> None:
    body = "config_st(4); mvin(A[0], 0, 4, 4); mvin2(x[0], 4, 1, 4); {} mvout(y[0], 0x80000000, 1, 4); fence();"
    body += "mvin2(y[0], 8, 1, 4); preload(8, 0x80000008, 1, 4, 1, 4); compute_preloaded(0, -1, 4, 4, 1, 4);"
    found = lines(facts_of(body.format(PRODUCT)), "keep_results")
    assert "preload(0x80000000, 0x80000008, 1, 4, 1, 4);" in found
    assert not any("y[0]" in line for line in found if "mvin" in line)
    changed = body.format(PRODUCT).replace("mvin2(y[0]", "y[1][0] = 1.0f; mvin2(y[0]")
    assert any("y[0]" in line for line in lines(facts_of(changed), "keep_results") if "mvin" in line)


def test_what_the_host_adds_up_for_nobody_else_grows_in_place() -> None:
    body = "config_st(4); float t[4][1]; mvin(A[0], 0, 4, 4); mvin2(x[0], 4, 1, 4);"
    body += f"{PRODUCT} mvout(y[0], 0x80000000, 1, 4); {OTHER} mvout(t[0], 0x80000008, 1, 4);"
    body += "mvin2(x[0], 0xc0000010, 1, 4);"
    body += "fence(); {} for (int i = 0; i < 4; i++) y[i][0] = t[i][0] - y[i][0];"
    found = lines(facts_of(body.replace("{}", "")), "own_rows", "add_in_place")
    assert not any("y[0][0] =" in line for line in found)
    assert sum("mvout" in line for line in found) == 1
    seen = lines(facts_of(body.replace("{}", "x[0][0] = t[0][0];")), "own_rows", "add_in_place")
    assert any("y[0][0] =" in line for line in seen)


def test_what_the_host_adds_to_results_through_arrays_of_its_own_is_loaded_first() -> None:
    body = "config_st(4); static float p[4][1], q[4][1], s[4][1], t[4][1], v[4][1];"
    body += f"mvin(A[0], 0, 4, 4); mvin2(x[0], 4, 1, 4); {PRODUCT} mvout(p[0], 0x80000000, 1, 4);"
    body += f"{OTHER} mvout(q[0], 0x80000008, 1, 4); mvin2(x[0], 0xc0000010, 1, 4); fence();"
    body += "negate_matrix(p, s, 4, 1); negate_matrix(d, t, 4, 1); {} add_matrix(s, t, v, 4, 1);"
    body += "for (int i = 0; i < 4; i++) y[i][0] = v[i][0] - q[i][0];"
    head = HEAD.replace(") {", ", float d[4][1]) {")

    def found(between: str) -> list[str]:
        facts = analyse(kernel.parse(f"{head} {SETTINGS} {body.replace('{}', between)} }}"), machine(MACHINE))
        return lines(facts, "own_rows", "add_in_place")

    assert [line for line in found("") if "mv" in line or "=" in line] == [
        "mvin(&A[0][0], 0, 4, 4);",
        "mvin2(&x[0][0], 4, 1, 4);",
        "mvin2(&d[0][0], 0x80000008, 1, 4);",
        "mvout(&y[0][0], 0x80000008, 1, 4);",
        "mvin2(&x[0][0], 0xc0000010, 1, 4);",
    ]
    assert any("- q[0][0]" in line for line in found("d[0][0] = 1.0f;"))


@pytest.mark.parametrize(("scale", "load"), [("1.0f", "mvin2(x[0], 4, 1, 4);"), ("-1.0f", "config_ld(4, -1.0f")])
def test_what_is_added_to_a_result_that_was_loaded_again_is_added_where_it_lies(scale: str, load: str) -> None:
    body = (
        f"config_st(4); config_ld(4, {scale}, 4, 2); static float t[4][1]; mvin(A[0], 0, 4, 4); mvin2(x[0], 4, 1, 4);"
    )
    body += f"{PRODUCT} mvout(t, 0x80000000, 1, 4); fence(); mvin3(t, 0x80000008, 1, 4);"
    body += OTHER.replace("0x80000008", "0xc0000008") + " mvout(y[0], 0x80000008, 1, 4); %s fence();"

    def found(between: str) -> list[str]:
        facts = stepped(facts_of(body % between), "keep_results", "drop_unused")
        return [line.strip() for line in kernel.print_kernel(facts.given).splitlines()]

    kept = found("")
    assert not any("(t, " in line for line in kept)
    assert "mvout(y[0], 0x80000000, 1, 4);" in kept
    assert any(line.startswith(load) for line in kept)
    assert "mvin3(t, 0x80000008, 1, 4);" in found("mvout(A[4], 0x80000000, 1, 4);")


def test_what_is_overwritten_unread_is_not_stored() -> None:
    body = "config_st(4); mvin2(x[0], 4, 1, 4); mvout(y[0], 4, 1, 4); {} mvout(y[0], 4, 1, 4); fence();"
    assert sum("mvout" in line for line in lines(facts_of(body.format("")), "drop_unused")) == 1
    seen = body.format("fence(); mvin2(y[0], 8, 1, 4); mvout(A[0], 8, 1, 4);")
    assert sum("mvout" in line for line in lines(facts_of(seen), "drop_unused")) == 3


def test_loads_go_before_the_computation_that_does_not_wait_for_them() -> None:
    body = "config_st(4); mvin(A[0], 0, 4, 4); mvin2(x[0], 4, 1, 4); {} mvin2(y[0], 8, 1, 4); {}"
    after = PRODUCT.replace("preload(4, 0x80000000", "preload(8, 0x80000008")
    found = lines(facts_of(body.format(PRODUCT, after)), "order_commands")
    assert [line.split("(")[0] for line in found][:4] == ["mvin", "mvin2", "mvin2", "preload"]


def _with_two_operands(between: str = "") -> list[str]:
    """Products of three tiles, of which the first and the last have the same right operand."""
    loads = "mvin(A[0], 0, 4, 4); mvin(A[4], 8, 4, 4); mvin2(x[0], 4, 1, 4); mvin2(y[0], 12, 1, 4);"
    other = PRODUCT.replace("preload(4, 0x80000000", "preload(12, 0x80000010")
    last = OTHER.replace("compute_preloaded(0", "compute_preloaded(8")
    stores = "mvout(y[0], 0x80000000, 1, 4); mvout(x[0], 0x80000008, 1, 4); fence();"
    facts = facts_of(f"config_st(4); {loads} {PRODUCT} {other} {between} {last} {stores}")
    found = lines(apply(facts, ("order_commands", {"first": "given", "together": 3})))
    return [line for line in found if "preload" in line or "compute" in line]


def test_computations_of_one_operand_go_side_by_side_and_bring_it_once() -> None:
    assert _with_two_operands() == [
        "preload(4, 0x80000000, 1, 4, 1, 4);",
        "compute_preloaded(0, -1, 4, 4, 1, 4);",
        "gemmini_extended_preload(0xffffffff, 0x80000008, 1, 4, 1, 4);",
        "compute_accumulated(8, -1, 4, 4, 1, 4);",
        "preload(12, 0x80000010, 1, 4, 1, 4);",
        "compute_preloaded(0, -1, 4, 4, 1, 4);",
    ]


def test_an_operand_that_was_overwritten_is_brought_again() -> None:
    found = _with_two_operands("mvin2(y[0], 4, 1, 4);")
    assert not any("accumulated" in line for line in found)


def test_the_hidden_layer_of_two_stays_on_the_accelerator() -> None:
    facts = given_kernel("mlp")
    before = cycles("mlp", facts)
    facts = with_best(facts, "command_by_command")
    text = kernel.print_kernel(facts.given)
    assert "hidden" not in text
    assert "config_ex(WEIGHT_STATIONARY, RELU" in text
    assert cycles("mlp", facts) < before / 4


@pytest.mark.long
def test_a_chain_through_the_host_stays_right() -> None:
    facts = stepped(given_kernel("attention"), "own_rows", "load_once")
    assert cycles("attention", facts) < 11_000


@settings(max_examples=4, deadline=None)
@given(st.integers(1, 10), st.integers(1, 10), st.integers(1, 10), st.booleans(), st.integers(1, len(STEPS)))
def test_results_are_unchanged(rows: int, cols: int, depth: int, transposed: bool, count: int) -> None:
    dims = (
        f"dims: {{I: {rows}, J: {cols}, K: {depth}}}\ntranspose_a: {str(transposed).lower()}\nbias: row\nscale: -0.5\n"
    )
    text = f"operation: gemm\naccelerator: {MACHINE}\ndtype: float32\n{dims}"
    judge = SimulatorEvaluator(machine(MACHINE), parse_workload(text, Path("gemm.yaml")))
    facts = analyse(kernel.parse(starting_kernel(judge.workload, judge.accelerator)), judge.accelerator)
    facts = stepped(facts, *list(STEPS)[:count])
    found = judge.evaluate(kernel.print_kernel(facts.given), stages=PROOF)
    assert found.correct, found.failure


@pytest.mark.parametrize(
    "body",
    [
        "mvout(x[0], 0, 1, 4); fence(); mvout(y[0], 0, 1, 4); mvin2(x[0], 0, 1, 4); fence(); mvin2(y[0], 4, 1, 4);",
        "mvin2(x[0], 0, 1, 4); fence(); y[0][0] = x[0][0]; mvout(x[0], 4, 1, 4);",
    ],
    ids=["before a fence that is kept", "before an access that needs none"],
)
def test_a_fence_stays_that_orders_what_came_some_time_before(body: str) -> None:
    facts = facts_of(f"config_st(4); {body} fence();")
    assert lines(facts, "drop_fences") == lines(facts)


def test_a_fence_keeps_no_load_of_what_is_only_read_behind_it() -> None:
    loads = "mvin2(x[0], 4, 1, 4); mvin(A[0], 0, 4, 4);"
    facts = facts_of(
        f"config_st(4); mvout(x[0], 8, 1, 4); fence(); {loads} {PRODUCT} mvout(y[0], 0x80000000, 1, 4); fence();"
    )
    ordered = lines(facts, "order_commands")
    place = {part: next(n for n, line in enumerate(ordered) if part in line) for part in ("A[0]", "fence", "mvin2")}
    assert place["A[0]"] < place["fence"] < place["mvin2"]


accesses = st.builds(
    lambda memory, row, first, count, kind: Access(memory, ((row, first, first + count),), kind > 0, kind > 1, None),
    st.sampled_from(("scratchpad", "&A")),
    st.integers(0, 1),
    st.integers(250, 259),
    st.integers(1, 4),
    st.integers(0, 2),
)


@given(st.lists(st.lists(accesses, max_size=3), max_size=12))
def test_steps_stay_before_all_that_touch_the_same_elements_later(touched: list[list[Access]]) -> None:
    program = Program(facts_of(""), (), tuple(ProgramStep("load", "", (), tuple(accesses)) for accesses in touched), {})
    before: list[set[int]] = []  # directly or by way of others
    for direct in dependences(program):
        before.append(set(direct).union(*(before[number] for number in direct)))
    for later, own in enumerate(touched):
        for earlier, others in enumerate(touched[:later]):
            pairs = [(one, other) for one in own for other in others if one.meets(other)]
            if any((one.write or other.write) and not (one.adds and other.adds) for one, other in pairs):
                assert earlier in before[later]


def test_a_kernel_that_cannot_be_followed_stays_as_it_is() -> None:
    facts = facts_of("fence(); x[0][0] = -x[0][0]; y[(int)A[0][0]][0] = 1.0f; fence();")
    assert not transformation("command_by_command").candidates(facts)
