"""Schedules of kernels whose commands are taken as they are: machines whose operands are not plain rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import pytest
import yaml

from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.evaluate import SimulatorEvaluator
from autocomp.targets.simulator.isa.derived.advice import advice
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.targets.simulator.transforms import NotApplicable, analyse, applied, candidates_of, transformation
from autocomp.targets.simulator.transforms.nests.schedule import raised_of
from autocomp.targets.simulator.transforms.scheduling.choose import ranked
from autocomp.targets.simulator.transforms.scheduling.lifting.commands import commands_of
from autocomp.targets.simulator.transforms.scheduling.lowering.tasks import Tasks
from autocomp.targets.simulator.transforms.scheduling.neighbours import neighbours
from autocomp.targets.simulator.transforms.scheduling.schedule import Grid
from autocomp.workload import Workload, parse

VTA = {"accelerator": "vta", "layout": {"B": "J/16 K/16 J%16 K%16"}}
AMX = {"accelerator": "amx", "result": "int32", "layout": {"B": "K/4 J K%4"}, "set": {"RENAMED": 4}}
TPU = {"accelerator": "tpu_v1", "scale": 0.0078125, "set": {"DIM": 16, "UB_KB": 64, "ACC_KB": 64}}
RVV = {"accelerator": "rvv", "dtype": "float32"}
CUBE = {
    "accelerator": "cube",
    "scale": 0.0078125,
    "layout": {"B": "J/16 K/32 J%16 K%32"},
}  # of the file beside this one
BUFFERED = {**CUBE, "accelerator": "buffered"}
OUTER = {"accelerator": "outer", "dtype": "float32", "layout": {"A": "K I"}}
ROWWISE = {"accelerator": "rowwise", "scale": 0.0078125}
AXPY = {"accelerator": "axpy", "dtype": "float32"}
FIXED = {"accelerator": "fixed", "dtype": "bfloat16", "layout": {"A": "I/8 K/8 I%8 K%8", "B": "K/8 J/8 K%8 J%8"}}
STATIONARY = {"accelerator": "stationary", "scale": 0.0078125}
DRAINED = {"accelerator": "drained", "scale": 0.0078125}
FLAGGED = {"accelerator": "flagged", "scale": 0.0078125}
CIRCULAR = {"accelerator": "circular", "result": "int32"}
BIASED = {"accelerator": "biased", "bias": "row"}
TWINS = {"accelerator": "twins", "scale": 0.0078125}
RESIZED = {"accelerator": "resized", "result": "int32", "layout": {"B": "J K"}}
KEPT = {"accelerator": "kept", "scale": 0.0078125, "layout": {"A": "K I"}}


def gemm(given: Mapping[str, Any], rows: int, columns: int, depth: int) -> Workload:
    document = {"operation": "gemm", "dims": {"I": rows, "J": columns, "K": depth}, **given}
    return parse(yaml.safe_dump(document), Path("gemm.yaml"))


def cycles(workload: Workload, accelerator: isa.Accelerator, text: str) -> float:
    evaluation = SimulatorEvaluator(accelerator, workload, "kernel.c").evaluate(text)
    assert evaluation.measurement is not None, [(s.name, s.message) for s in evaluation.stages if not s.passed]
    return evaluation.measurement.value


@pytest.mark.parametrize(
    ("given", "shape", "share"),
    [
        pytest.param(VTA, (64, 64, 128), 0.8, id="packed blocks and tokens"),
        pytest.param(AMX, (64, 64, 128), 0.9, id="tile registers"),
        pytest.param(TPU, (64, 48, 64), 0.95, id="a queue and a relay"),
        pytest.param(TPU, (16, 16, 16), 1.01, id="one tile of each operand"),
        pytest.param(TPU, (40, 20, 28), 0.95, id="two tiles of depth, the second a short one", marks=pytest.mark.long),
        pytest.param(CUBE, (72, 64, 96), 0.5, id="a vector unit"),
        pytest.param(BUFFERED, (72, 64, 96), 0.6, id="a buffer before those of the factors", marks=pytest.mark.long),
        pytest.param(STATIONARY, (96, 40, 40), 0.5, id="weights that move on in turn, by semaphores"),
        pytest.param(STATIONARY, (72, 24, 24), 0.5, id="an odd number of weights", marks=pytest.mark.long),
        pytest.param(
            DRAINED,
            (64, 24, 24),
            0.5,
            id="weights in the array, results in a queue, strides in the front end",
            marks=pytest.mark.long,
        ),
        pytest.param(
            FLAGGED, (64, 24, 20), 0.5, id="tokens by flags of commands, and products that read more than a short tile"
        ),
        pytest.param(KEPT, (32, 32, 128), 0.6, id="sums that no operand names, and units that fences order"),
        pytest.param(CIRCULAR, (22, 16, 24), 0.6, id="rows that wrap round, and sums in every fourth row"),
        pytest.param({**RESIZED, "bias": "row"}, (7, 6, 20), 0.8, id="sizes that are set again at each edge"),
        pytest.param(RVV, (16, 128, 32), 0.6, id="vectors"),
        pytest.param(RVV, (9, 72, 17), 0.6, id="short vectors", marks=pytest.mark.long),
        pytest.param({**RVV, "bias": "row"}, (8, 160, 12), 0.6, id="a bias", marks=pytest.mark.long),
        pytest.param(AXPY, (6, 40, 9), 0.4, id="vectors whose elements lie one below another"),
        pytest.param(ROWWISE, (40, 16, 20), 0.5, id="products of one row each, which a store takes together"),
        pytest.param(OUTER, (32, 32, 24), 0.5, id="tiles that are stored row by row"),
        pytest.param(OUTER, (21, 27, 10), 0.7, id="a last tile of fewer rows", marks=pytest.mark.long),
        pytest.param(FIXED, (32, 32, 32), 0.5, id="five units that pass tiles of one size on, by semaphores"),
        pytest.param(BIASED, (24, 19, 16), 0.6, id="sums that start from biases in a memory of their own"),
        pytest.param({**BIASED, "set": {"READER": 1}}, (24, 19, 16), 0.6, id="products that add such biases"),
        pytest.param({**BIASED, "set": {"READER": 2}}, (24, 19, 16), 0.6, id="results that get them as they leave"),
    ],
)
def test_a_schedule_of_whole_tiles_is_right_and_faster(
    given: Mapping[str, Any], shape: tuple[int, int, int], share: float
) -> None:
    workload = gemm(given, *shape)
    accelerator = isa.load(str(given["accelerator"]), workload.overrides, [Path(__file__).parent])
    text = starting_kernel(workload, accelerator)
    assert fewest_cycles(workload, accelerator) < share * cycles(workload, accelerator, text)


def fewest_cycles(workload: Workload, accelerator: isa.Accelerator) -> float:
    """The cycles of the best of a few schedules, all of which are seen again in their kernels."""
    text = starting_kernel(workload, accelerator)
    raised = raised_of(analyse(kernel.parse(text, "kernel.c"), accelerator, workload.constants))
    found = []
    for item in ranked(raised.model)[:4]:
        try:
            lowered = raised.lowered(item.schedule)
        except NotApplicable:
            continue
        again = raised_of(analyse(lowered, accelerator, workload.constants))
        assert again.given
        assert again.schedule == item.schedule
        found.append(cycles(workload, accelerator, kernel.print_kernel(lowered)))
    return min(found)


@pytest.mark.long
def test_engines_of_one_kind_multiply_beside_one_another(tmp_path: Path) -> None:
    """The host sends a command a cycle: products of four cycles let it keep up with both."""
    text = (Path(__file__).parent / "rowwise.isa").read_text().replace("busy: 1; latency: 8;", "busy: 4; latency: 8;")
    multiply = text[text.index("  instruction multiply(") : text.index("  instruction store(")]
    second = multiply.replace("multiply(", "multiply_too(").replace("on mma ", "on mma_too ")
    unit = "  unit mma { kind: serial; entries: 16; }"
    twins = text.replace(unit, f"{unit}\n{unit.replace('mma', 'mma_too')}").replace(multiply, multiply + second)
    fewest = []
    for name, given in (("one", text), ("twins", twins)):
        (tmp_path / f"{name}.isa").write_text(given.replace("accelerator rowwise", f"accelerator {name}"))
        workload = gemm({**ROWWISE, "accelerator": name}, 32, 64, 64)
        fewest.append(fewest_cycles(workload, isa.load(name, {}, [tmp_path])))
    assert fewest[1] < 0.75 * fewest[0]


@pytest.mark.parametrize(
    ("dim", "shape"), [("i", (27, 24, 16)), pytest.param("j", (16, 29, 20), marks=pytest.mark.long)]
)
def test_equal_cores_take_tiles_in_turn(dim: str, shape: tuple[int, int, int]) -> None:
    """Each has memories of its own; the same schedule takes longer on one of them. It is seen again in its kernel."""
    workload = gemm(TWINS, *shape)
    accelerator = isa.load("twins", {}, [Path(__file__).parent])
    facts = analyse(kernel.parse(starting_kernel(workload, accelerator)), accelerator, workload.constants)
    taken = []
    for cores in ({}, {dim: 2}):
        given = {"inner": ["k", "j", "i"], "block": {"i": 2, "j": 2}, "ahead": ["left", "right"], "deferred": True}
        lowered = applied(transformation("schedule"), facts, {**given, "cores": cores})
        assert raised_of(lowered).given
        assert raised_of(lowered).schedule.cores == cores
        taken.append(cycles(workload, accelerator, kernel.print_kernel(lowered.given)))
    assert taken[1] < 0.8 * taken[0]


def test_cores_of_unlike_memories_are_not_equal() -> None:
    accelerator = isa.load("twins", {"MORE": 8}, [Path(__file__).parent])
    assert ["is not equal to unit mac0" in warning.message for warning in advice(accelerator)] == [True]


def test_an_instruction_of_its_own_may_begin_results(tmp_path: Path) -> None:
    text = (Path(__file__).parent / "circular.isa").read_text().replace("accelerator circular", "accelerator begun")
    mac = text[text.index("  instruction mac(") : text.index("  instruction store(")]
    begun = mac.replace("instruction mac(", "instruction multiply(").replace(
        "wrap<i32>(sums[d.row + 4 * r][c]\n", "wrap<i32>(0\n"
    )
    text = text.replace(mac, mac + begun).replace("  idiom gemm_begin(c_tile) { ``` clear($c_tile); ``` }\n", "")
    tile = "mac($c_tile, $a_tile, $b_tile, $rows, $depth);"
    text = text.replace("stride_a, stride_b) {", "stride_a, stride_b, first) {")
    (tmp_path / "begun.isa").write_text(
        text.replace(tile, f"if ($first) {tile.replace('mac', 'multiply')} else {tile}")
    )
    workload = gemm({**CIRCULAR, "accelerator": "begun"}, 22, 16, 24)
    accelerator = isa.load("begun", {}, [tmp_path])
    assert fewest_cycles(workload, accelerator) < 0.6 * cycles(
        workload, accelerator, starting_kernel(workload, accelerator)
    )


def lowered(given: Mapping[str, Any], shape: tuple[int, int, int], schedule: Mapping[str, Any]) -> str:
    """The kernel of a schedule, which is judged as correct, and is seen as that schedule again."""
    workload = gemm(given, *shape)
    accelerator = isa.load(str(given["accelerator"]), workload.overrides, [Path(__file__).parent])
    facts = analyse(kernel.parse(starting_kernel(workload, accelerator), "kernel.c"), accelerator, workload.constants)
    found = applied(transformation("schedule"), facts, schedule).given
    assert raised_of(analyse(found, accelerator, workload.constants)).given
    text = kernel.print_kernel(found)
    cycles(workload, accelerator, text)
    return text


def test_a_tile_from_a_queue_multiplies_several_blocks_of_rows() -> None:
    rows = {"tile": {"i": 16}, "block": {"i": 4, "j": 1, "k": 1}, "inner": ["k", "j", "i"], "kept": True}
    text = lowered(TPU, (64, 32, 32), rows)
    assert "if (i == 0)" in text
    assert text.count("read_weights") == 1


def test_the_first_tile_from_a_queue_may_come_alone() -> None:
    rows = {"tile": {"i": 16}, "block": {"i": 4, "j": 1, "k": 1}, "inner": ["k", "j", "i"], "kept": True, "lead": 8}
    text = lowered(TPU, (64, 32, 16), {**rows, "ahead": ["left"], "alone": True})
    assert text.index("read_weights") < text.index("fence();") < text.index("read_host_memory")
    assert text.count("read_weights") == 2
    with pytest.raises(NotApplicable, match="no operand comes through a queue"):
        lowered(VTA, (64, 32, 32), {"alone": True})


def test_the_last_columns_and_rows_may_be_two_halves() -> None:
    halves = {"tile": {"i": 16, "j": 16}, "block": {"i": 4, "j": 1, "k": 1}, "inner": ["k", "j", "i"], "kept": True}
    text = lowered(TPU, (48, 32, 32), {**halves, "halves": ["i", "j"], "ahead": ["left"], "deferred": True})
    assert "j_block == 2 ? 8 : 0" in text
    assert "i >= 2 ? 8 : 16" in text
    for given, shape in ((TPU, (48, 40, 32)), (AMX, (32, 32, 64))):
        with pytest.raises(NotApplicable, match="cannot be two halves"):
            lowered(given, shape, {"halves": ["j"]})


def test_three_tiles_take_turns_in_two_places_on_their_way_out() -> None:
    one_by_one = {"tile": {"i": 16}, "block": {"i": 1, "j": 1, "k": 1}, "inner": ["k", "j", "i"], "deferred": True}
    lowered(TPU, (48, 32, 32), one_by_one)


def test_columns_that_lie_along_local_rows_may_be_fewer() -> None:
    shape = {"accelerator": "neuroncore", "dtype": "bfloat16", "transpose_a": True, "set": {"PARTITIONS": 16}}
    text = lowered(shape, (32, 96, 32), {"tile": {"j": 48}, "inner": ["k", "j", "i"], "width": {"left": 1, "right": 1}})
    assert text.count(", 48, 16") >= 1


def test_products_that_leave_half_the_array_empty_count_twice_where_energy_does() -> None:
    workload = gemm(TPU, 64, 32, 32)
    accelerator = isa.load("tpu_v1", workload.overrides)
    text = starting_kernel(workload, accelerator)
    raised = raised_of(analyse(kernel.parse(text, "kernel.c"), accelerator, workload.constants))
    model = replace(raised.model, weight=10.0)
    grids = [Grid(raised.computation, replace(raised.schedule, tile={"i": 16, "j": columns})) for columns in (16, 8)]
    whole, half = (model.weighed(grid, {}, model.products(grid)) for grid in grids)
    assert half == 2 * whole > 0


@pytest.mark.parametrize(("columns", "sizes"), [(48, {24, 32}), (32, {16, 64})])
def test_tiles_of_two_thirds_are_tried_where_these_are_whole(columns: int, sizes: set[int]) -> None:
    shape = {"accelerator": "neuroncore", "dtype": "bfloat16", "transpose_a": True, "set": {"PARTITIONS": 16}}
    workload = gemm(shape, 32, 64, 32)
    accelerator = isa.load("neuroncore", workload.overrides)
    text = starting_kernel(workload, accelerator)
    raised = raised_of(analyse(kernel.parse(text, "kernel.c"), accelerator, workload.constants))
    schedule = replace(raised.schedule, tile={**raised.schedule.tile, "j": columns})
    tried = {one.tile["j"] for one in neighbours(replace(raised, schedule=schedule))}
    assert tried == {columns, *sizes}


def test_tiles_of_one_line_may_be_shorter_and_then_more_fit() -> None:
    short = {"tile": {"j": 64}, "block": {"i": 6, "j": 1, "k": 1}, "inner": ["k", "j", "i"], "ahead": ["right"]}
    text = lowered({**RVV, "bias": "row"}, (8, 150, 5), short)
    assert "j_block == 2 ? 22 : 64" in text
    assert "i * 4 + 8" in text


def test_products_from_the_last_one_on_and_loads_of_several_blocks_are_scheduled() -> None:
    text = """void solution(int8_t A[32][48], int8_t B[2][3][16][16], int8_t C[32][32]) {
        for (int k = 0; k < 3; k++) load_input(&A[0][16 * k], 32 * k, 32, 1, 3);
        for (int j = 0; j < 2; j++) {
            load_weight(&B[j][0][0][0], 0, 1, 3, 3);
            load_signal(LOAD_TO_COMPUTE);
            compute_depend(LOAD_TO_COMPUTE);
            for (int k = 3; k-- > 0;) gemm_rows(0, 32 * k, k, 32, 1, k < 2);
            alu_min(0, 32, 127);
            alu_max(0, 32, -128);
            compute_signal(COMPUTE_TO_STORE);
            store_depend(COMPUTE_TO_STORE);
            store_result(&C[0][16 * j], 0, 32, 1, 2);
            store_signal(STORE_TO_COMPUTE);
            compute_depend(STORE_TO_COMPUTE);
            compute_signal(COMPUTE_TO_LOAD);
            load_depend(COMPUTE_TO_LOAD);
        }
        fence();
    }"""
    workload, accelerator = gemm(VTA, 32, 32, 48), isa.load("vta")
    facts = analyse(kernel.parse(text), accelerator, workload.constants)
    found = applied(transformation("schedule"), facts, {"block": {"i": 32, "j": 1, "k": 1}})
    assert cycles(workload, accelerator, kernel.print_kernel(found.given)) > 0


def test_a_tile_whose_configuration_changes_is_configured_as_it_comes() -> None:
    text = lowered(AMX, (40, 16, 64), {"block": {"i": 1, "j": 1, "k": 1}, "deferred": True, "ahead": ["left"]})
    assert "tile_configure((step + 1) % 2, i_block_next == 2 ? 8 : 16, 64);" in text


@pytest.mark.parametrize(
    ("given", "share"),
    [
        ({"accelerator": "vta", "layout": {"weights": "R S K/16 C/16 K%16 C%16"}}, 0.4),
        ({**AMX, "layout": {"weights": "R S C/4 K C%4"}}, 0.9),
        pytest.param(TPU, 0.8, marks=pytest.mark.long),
        pytest.param(
            {"accelerator": "neuroncore", "dtype": "bfloat16", "layout": {"inp": "N C H W"}},
            0.7,
            marks=pytest.mark.long,
        ),
        pytest.param(ROWWISE, 0.2, marks=pytest.mark.long),
    ],
    ids=[
        "packed blocks and tokens",
        "tile registers",
        "a queue and a relay",
        "rows of the result along local rows",
        "pixels that taps share",
    ],
)
def test_convolutions_of_whole_tiles_are_scheduled(given: Mapping[str, Any], share: float) -> None:
    dims = {"N": 1, "H": 6, "W": 6, "C": 32, "K": 32, "R": 3, "S": 3}
    workload = parse(yaml.safe_dump({"operation": "conv2d", "dims": dims, **given}), Path("conv.yaml"))
    accelerator = isa.load(workload.accelerator, workload.overrides, [Path(__file__).parent])
    text = starting_kernel(workload, accelerator)
    raised = raised_of(analyse(kernel.parse(text, "kernel.c"), accelerator, workload.constants))
    best = kernel.print_kernel(raised.lowered(next(iter(ranked(raised.model))).schedule))
    assert SimulatorEvaluator(accelerator, workload, "kernel.c").evaluate(best).correct
    assert cycles(workload, accelerator, best) < share * cycles(workload, accelerator, text)


def test_blocks_lie_in_the_larger_buffer_and_tiles_move_on_from_there() -> None:
    """Operands come from memory once for each block of results. Of two depths of four by four tiles, each reaches the
    small buffers once for all products that read it."""
    workload = gemm(BUFFERED, 64, 64, 64)
    accelerator = isa.load("buffered", workload.overrides, [Path(__file__).parent])
    text = starting_kernel(workload, accelerator)
    facts = analyse(kernel.parse(text, "kernel.c"), accelerator, workload.constants)
    raised = raised_of(facts)
    assert isinstance(raised.leaves, Tasks)
    assert {name: room.memory for name, room in raised.leaves.rooms.items() if name.startswith(("left", "right"))} == {
        "left": "l1",
        "leftnear": "l0a",
        "right": "l1",
        "rightnear": "l0b",
    }
    schedule = {"tile": {"i": 16}, "block": {"i": 4, "j": 4, "k": 2}, "inner": ["k", "j", "i"]}
    found = applied(transformation("schedule"), facts, schedule).given
    commands = commands_of(found, accelerator, workload.constants)
    counts = Counter(commands.forms[form].name for form in commands.form.tolist())
    assert (counts["mmad"], counts["load_a"], counts["load_b"]) == (32, 8, 8)
    assert cycles(workload, accelerator, kernel.print_kernel(found)) < 0.5 * cycles(workload, accelerator, text)


@pytest.mark.parametrize("width", [{}, {"left": 1}])
def test_a_short_tile_is_filled_where_whole_ones_are_read(width: Mapping[str, int]) -> None:
    """A move from L1 reads all 32 columns of a tile, also of one of 16: nothing else would have written the rest."""
    workload = gemm(BUFFERED, 24, 48, 80)
    accelerator = isa.load("buffered", workload.overrides, [Path(__file__).parent])
    text = starting_kernel(workload, accelerator)
    facts = analyse(kernel.parse(text, "kernel.c"), accelerator, workload.constants)
    schedule = {"block": {"j": 2, "k": 3}, "width": width, "ahead": ["left", "right"]}
    changed = applied(transformation("schedule"), facts, schedule).given
    assert raised_of(analyse(changed, accelerator, workload.constants)).given
    found = kernel.print_kernel(changed)
    assert ", &A[0][0], 80, 24, 32)" in found
    assert cycles(workload, accelerator, found) < 0.6 * cycles(workload, accelerator, text)


@pytest.mark.parametrize(("depth", "filled"), [(3, False), (1, True)])
def test_a_short_tile_lies_in_front_of_a_whole_one_or_the_rows_that_it_lacks_are_filled(
    depth: int, filled: bool
) -> None:
    """Of 20 rows of B, the last tile of 8 has 4."""
    schedule = {"block": {"i": 1, "j": 1, "k": depth}, "width": {"right": 1}, "ahead": ["left", "right"]}
    assert (", 24, 1, 5, 0, 0)" in lowered(FLAGGED, (64, 24, 20), schedule)) == filled


NEURON = {"accelerator": "neuroncore", "dtype": "bfloat16", "transpose_a": True}
OF_128 = {"tile": {"i": 128, "j": 128}, "block": {"i": 2, "j": 2, "k": 1}}


@pytest.mark.parametrize(
    ("given", "size", "schedule", "wide", "narrow"),
    [
        pytest.param(NEURON, 256, OF_128, "[left_loads * 256]", "[left_loads * 128]", id="columns in a row"),
        pytest.param(
            BUFFERED,
            128,
            {"block": {"j": 2, "k": 2}},
            "+ left_loads * 64]",
            "+ left_loads * 32]",
            id="blocks of columns",
        ),
    ],
)
def test_a_load_brings_as_many_tiles_as_fill_a_request_and_is_seen_again(
    given: Mapping[str, Any], size: int, schedule: Mapping[str, Any], wide: str, narrow: str
) -> None:
    """Requests of 512 bytes are 256 elements of bfloat16, of two tiles of 128; the left operand is stored as
    [depth][rows]. Where a move lays out its columns in blocks, each is a tile."""
    workload = gemm(given, size, size, size)
    accelerator = isa.load(str(given["accelerator"]), workload.overrides, [Path(__file__).parent])
    facts = analyse(kernel.parse(starting_kernel(workload, accelerator), "kernel.c"), accelerator, workload.constants)
    for width, expected in (({}, wide), ({"left": 1, "right": 1}, narrow)):
        decisions = {**schedule, "ahead": ["left", "right"], "width": width}
        changed = applied(transformation("schedule"), facts, decisions).given
        assert raised_of(analyse(changed, accelerator, workload.constants)).given
        found = kernel.print_kernel(changed)
        assert expected in found
        cycles(workload, accelerator, found)


BLOCK_BY_BLOCK = ("c < columns: l1[dst.row + c / 32 * rows + r][c % 32]", "l1[dst.row + b * rows + r][c]")
COUNTED = (
    ("columns: int 1..128", "blocks: int 1..4"),
    (BLOCK_BY_BLOCK[0], f"b < blocks, c < 32: {BLOCK_BY_BLOCK[1]}"),
    ("src.i8[r * stride + c]; }", "src.i8[r * stride + 32 * b + c]; }"),
    ("$rows, $depth);", "$rows, 1);"),
    ("$B, 32, 16, 32);", "$B, 32, 16, 1);"),
)
NUMBERED = (
    (BLOCK_BY_BLOCK[0], f"b < ceil_div(columns, 32), c < 32: {BLOCK_BY_BLOCK[1]}"),
    ("src.i8[r * stride + c]; }", "32 * b + c < columns ? src.i8[r * stride + 32 * b + c] : 0; }"),
)


@pytest.mark.parametrize(
    ("changes", "wide"),
    [
        pytest.param(COUNTED, "&A[0][k * 32], 128, 64, 4 - k)", id="an operand counts the blocks"),
        pytest.param(NUMBERED, "&A[0][k * 32], 128, 64, 128 - k * 32)", id="a condition bounds the columns"),
    ],
)
def test_a_load_whose_blocks_of_columns_have_an_axis_brings_several_tiles(
    changes: tuple[tuple[str, str], ...], wide: str
) -> None:
    text = (Path(__file__).parent / "buffered.isa").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    accelerator, workload = isa.parse(text), gemm(BUFFERED, 64, 64, 128)
    facts = analyse(kernel.parse(starting_kernel(workload, accelerator), "kernel.c"), accelerator, workload.constants)
    decisions = {"block": {"j": 2, "k": 4}, "ahead": ["left", "right"]}
    changed = applied(transformation("schedule"), facts, decisions).given
    assert raised_of(analyse(changed, accelerator, workload.constants)).given
    found = kernel.print_kernel(changed)
    assert wide in found
    cycles(workload, accelerator, found)


@pytest.mark.parametrize("order", [["i", "j"], ["j", "i"]])
def test_a_store_takes_tiles_that_lie_row_by_row_in_fewer_requests(order: list[str]) -> None:
    """A row of 40 columns is five groups of eight, of which stores take four and one, or each by itself."""
    accelerator = isa.load("woven", {}, [Path(__file__).parent])
    workload = gemm({"accelerator": "woven", "scale": 0.0078125, "layout": {"B": "J/8 K/8 J%8 K%8"}}, 48, 40, 16)
    facts = analyse(kernel.parse(starting_kernel(workload, accelerator), "kernel.c"), accelerator, workload.constants)
    taken = []
    for width in (4, 1):
        decisions = {"block": {"i": 1, "j": 5}, "order": [*order, "k"], "deferred": True, "width": {"result": width}}
        changed = applied(transformation("schedule"), facts, decisions).given
        assert raised_of(analyse(changed, accelerator, workload.constants)).given
        taken.append(cycles(workload, accelerator, kernel.print_kernel(changed)))
    assert taken[0] < taken[1]


def test_a_store_that_counts_rows_takes_several_tiles_of_one_row() -> None:
    workload = gemm(ROWWISE, 24, 8, 16)
    accelerator = isa.load("rowwise", {}, [Path(__file__).parent])
    facts = analyse(kernel.parse(starting_kernel(workload, accelerator), "kernel.c"), accelerator, workload.constants)
    changed = applied(transformation("schedule"), facts, {"block": {"j": 1, "k": 1}, "width": {"result": 16}}).given
    assert raised_of(analyse(changed, accelerator, workload.constants)).given
    assert kernel.print_kernel(changed).count("store(") == 1
    cycles(workload, accelerator, kernel.print_kernel(changed))


def test_results_whose_place_no_address_names_leave_before_others_begin() -> None:
    text = (Path(__file__).parent / "drained.isa").read_text()
    for old, new in (
        ("dst: sum,", "set: int 0..31,"),
        ("sums[dst.row + r]", "sums[set * N + r]"),
        ("src: sum,", "set: int 0..31,"),
        ("sums[src.row + r]", "sums[set * N + r]"),
        ("multiply($c_tile", "multiply(0"),
        ("push($c_tile", "push(0"),
        ("b_tile, c_tile,", "b_tile,"),
        ("gemm_store(C, c_tile,", "gemm_store(C,"),
    ):
        assert old in text
        text = text.replace(old, new)
    accelerator, workload = isa.parse(text), gemm(DRAINED, 32, 16, 24)
    facts = analyse(kernel.parse(starting_kernel(workload, accelerator), "kernel.c"), accelerator, workload.constants)
    best, *_ = candidates_of(transformation("schedule"), facts)
    assert prod(best.parameters["block"].values()) == best.parameters["block"]["k"]
    faster = kernel.print_kernel(applied(transformation("schedule"), facts, best.parameters).given)
    assert cycles(workload, accelerator, faster) < cycles(workload, accelerator, starting_kernel(workload, accelerator))


def test_sums_may_stay_in_a_register_of_the_array() -> None:
    text = (Path(__file__).parent / "kept.isa").read_text()
    accelerator, workload = isa.parse(text.replace("memory sums {", "register sums {")), gemm(KEPT, 16, 16, 64)
    start = starting_kernel(workload, accelerator)
    assert fewest_cycles(workload, accelerator) < 0.9 * cycles(workload, accelerator, start)
