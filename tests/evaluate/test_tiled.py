"""No tiled kernel beats the bound of tiled kernels: each step of the bound, and kernels that are tiled."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autocomp.targets.simulator import isa
from autocomp.targets.simulator.evaluate import SimulatorEvaluator, bound
from autocomp.targets.simulator.evaluate.chain import chain
from autocomp.targets.simulator.evaluate.cutting import Requests, Rows, Share
from autocomp.targets.simulator.evaluate.stored import stored
from autocomp.targets.simulator.evaluate.tiled import tiled_bound
from autocomp.targets.simulator.isa.derived.blocks import Block, Blocks, blocks, stores
from autocomp.targets.simulator.isa.requests import beats, requests
from autocomp.targets.simulator.profile.build import profile_kernel
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.workload import Workload, parse

SMALL = Requests(smallest=4, largest=8, beat=4, ways=1, open=3, waiting=5, commands=2, completing=9, local=3)
TURNS = replace(SMALL, paced=True)
SHARES = (Share(1, 0, 0), Share(0.4, 0.6, 0), Share(0.3, 0.2, 0.5), Share(0, 0, 1))
GAPS = Share(1, 0, 0, gaps=1)


@cache
def far(name: str, latency: int) -> isa.Accelerator:
    return isa.load(name, {"MEM_LATENCY": latency})


def product(rows: int, columns: int, depth: int, rest: str = "", machine: str = "gemmini") -> Workload:
    dims = f"dims: {{I: {rows}, J: {columns}, K: {depth}}}"
    return parse(f"operation: gemm\naccelerator: {machine}\nscale: 0.01\n{dims}\n{rest}", Path("product.yaml"))


def test_blocks_are_what_the_requirements_of_moves_allow() -> None:
    """A move to sums spans 64 bytes, although its operand for columns would allow 256."""
    assert blocks(isa.load("gemmini")) == Blocks(Block(16, 64), Block(16, 64))
    assert blocks(isa.load("quad")) == Blocks(Block(4, 4), Block(4, 16))


@pytest.mark.parametrize("name", ["tiny", "vta", "tpu_v1"])
def test_where_another_unit_writes_sums_biases_may_come_from_there(name: str) -> None:
    found = blocks(isa.load(name))
    assert found is not None
    assert found.biases is None


def test_stores_find_a_row_of_the_array_in_a_local_row() -> None:
    found = stores(isa.load("gemmini"), 1)
    assert (found.block.bytes, found.columns) == (64, 16)
    assert stores(isa.load("quad"), 1).columns == 4


def every_cut(way: Requests, rows: Rows, block: Block, share: Share) -> float:
    """The least cost of all ways to cut rows into blocks, one after the other."""

    def cuts(length: int, most: int) -> list[tuple[int, ...]]:
        ways = itertools.product((False, True), repeat=length - 1)
        ends = [[n + 1 for n, cut in enumerate(way) if cut] + [length] for way in ways]
        sizes = [tuple(b - a for a, b in itertools.pairwise([0, *each])) for each in ends]
        return [each for each in sizes if max(each) <= most]

    def cost(first: int, number: int, widths: tuple[int, ...]) -> float:
        total, at = 0.0, 0
        for width in widths:
            count = 0
            for row in range(first, first + number):
                sizes = requests(row * rows.stride + at, width, way.smallest, way.largest)
                total += way.cost(len(sizes), beats(sizes, way.beat), share)
                total, count = total + share.bus * (math.ceil(width / way.local) - 1), count + len(sizes)
            total, at = total + way.command(share) + share.gaps * way.lost[min(count, way.open)], at + width
        return total

    least = math.inf
    for heights in cuts(rows.count, int(block.rows)):
        begins = itertools.accumulate((0, *heights[:-1]))
        each = (
            min(cost(begin, height, widths) for widths in cuts(rows.bytes, int(block.bytes)))
            for begin, height in zip(begins, heights, strict=True)
        )
        least = min(least, sum(each))
    return least


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 3), st.integers(1, 7), st.integers(0, 4), st.integers(1, 3), st.integers(2, 8))
def test_no_cut_into_blocks_needs_fewer_cycles(count: int, size: int, gap: int, high: int, wide: int) -> None:
    rows, block = Rows(count, size, size + gap), Block(high, wide)
    for way, share in [(TURNS, GAPS), *((SMALL, share) for share in SHARES)]:
        assert way.least(rows, block, share) <= every_cut(way, rows, block, share) + 1e-9


def test_rows_that_begin_differently_are_cut_into_more_requests() -> None:
    """Rows of 12 bytes, of which blocks take 8: where all begin alike, a cut suits all rows; where not, none does."""
    share = Share(0.9, 0.1, 0)
    alike, apart = (SMALL.least(Rows(16, 12, stride), Block(16, 8), share) for stride in (16, 12))
    assert alike == pytest.approx(16 * SMALL.cost(2, 3, share) + 2 * SMALL.command(share))
    assert apart > alike


def test_a_local_row_is_read_a_cycle_before_its_beats_leave() -> None:
    """Eight bytes are two beats. They lie in three local rows, or come as twice four bytes in two of them."""
    bus = Share(0, 0, 1)
    assert SMALL.least(Rows(1, 8, 8), Block(1, 8), bus) == min(2 + 2, 2 * (1 + 1))


def test_a_command_of_few_requests_leaves_the_others_unused() -> None:
    """Of three that may be under way, two are free for three cycles; they begin one after the other, and end so."""
    assert list(TURNS.lost) == sorted(TURNS.lost, reverse=True)
    assert TURNS.lost[TURNS.open] == 0
    assert TURNS.lost[1] == pytest.approx((3 * 2 + 2 * 1) / 3 / 2)


def test_a_bias_for_all_rows_comes_once_for_the_local_rows_of_a_command() -> None:
    """Six rows by commands of four take two commands, of two parts each; eight of their rows come after the beats."""
    share = Share(0, 1, 0)
    one = SMALL.least_of_copies(Rows(1, 8, 8), 6, Block(4, 4), share)
    beats_of_all, further = 2 * 2, 2 * (6 - 2)
    assert one == 2 * 2 * SMALL.command(share) + (beats_of_all + further) / 2


def test_partial_tiles_pass_an_array_whole() -> None:
    """17 columns are two tiles, and 33 products of each sum three parts."""
    tensors = stored(product(5, 17, 33))
    assert tensors is not None
    assert tensors.passes(16, 16) == 5 * 2 * 3


@pytest.mark.parametrize(
    ("rest", "passes"),
    [
        pytest.param("", 2 * 3 * 2, id="two pixels of a row of a filter follow one another: 18 elements"),
        pytest.param("dilation: [1, 2]\n", 2 * 2 * 2, id="two with one between them"),
        pytest.param("groups: 9\n", 2 * 3 * 1, id="a channel of each of two pixels lies within 16 elements"),
        pytest.param("padding: 1\n", (1 + 2 + 1) * (1 + 2 + 2 + 2 + 1), id="taps outside of the image need none"),
    ],
)
def test_convolutions_pass_runs_of_neighbouring_elements(rest: str, passes: int) -> None:
    text = "operation: conv2d\naccelerator: gemmini\nscale: 0.01\ndims: {N: 1, H: 2, W: 4, C: 9, K: 9, R: 2, S: 2}\n"
    tensors = stored(parse(text + rest, Path("image.yaml")))
    assert tensors is not None
    assert tensors.passes(16, 16) == passes


@settings(max_examples=4, deadline=None)
@given(st.tuples(*(st.integers(1, 40),) * 3), st.sampled_from((1, 40, 300)), st.randoms(use_true_random=False))
def test_no_order_of_loads_by_blocks_beats_the_bound(
    dims: tuple[int, int, int], latency: int, numbers: random.Random
) -> None:
    """Operands by blocks of any size, and a bias for each tile of sums, in any order."""
    machine = far("gemmini", latency)
    workload = product(*dims, "bias: row\n")
    rows, columns, depth = dims

    def moves(call: str, tensor: str, high: int, wide: int, widest: int, base: str) -> Iterator[str]:
        height, width = numbers.choice((16, 16, 16, 5)), numbers.choice((widest, widest, 16, 7))
        for r, c in itertools.product(range(0, high, height), range(0, wide, width)):
            row = "0" if tensor == "bias" else str(r)
            size = f"{min(width, wide - c)}, {min(height, high - r)}"
            yield f"{call}(&{tensor}[{row}][{c}], {base} + {numbers.randrange(0, 900)}, {size});"

    lines = [
        *moves("mvin", "A", rows, depth, 64, "0"),
        *moves("mvin2", "B", depth, columns, 64, "8192"),
        *moves("mvin3", "bias", rows, columns, 16, "0x80000000"),
    ]
    numbers.shuffle(lines)
    configured = f"config_ld({depth}, 1.0f, 0); config_ld({columns}, 1.0f, 1); config_ld(0, 1.0f, 2);"
    shapes = f"int8_t A[{rows}][{depth}], int8_t B[{depth}][{columns}], int32_t bias[1][{columns}]"
    text = f"void solution({shapes}, int8_t C[{rows}][{columns}]) {{ {configured} {' '.join(lines)} gemmini_fence(); }}"
    least = tiled_bound(workload, machine).parts["loads"] - chain(machine).stored
    assert least <= profile_kernel(text, workload, machine).cycles


@settings(max_examples=4, deadline=None)
@given(st.integers(1, 40), st.integers(1, 150), st.sampled_from((1, 40, 300)), st.randoms(use_true_random=False))
def test_no_order_of_stores_by_blocks_beats_the_bound(
    rows: int, columns: int, latency: int, numbers: random.Random
) -> None:
    machine = far("gemmini", latency)
    workload = product(rows, columns, 1)
    height, width = numbers.choice((16, 16, 5, 1)), numbers.choice((64, 64, 32, 16, 7))
    lines = [
        f"mvout(&C[{r}][{c}], 0x80000000, {min(width, columns - c)}, {min(height, rows - r)});"
        for r, c in itertools.product(range(0, rows, height), range(0, columns, width))
    ]
    numbers.shuffle(lines)
    shapes = f"int8_t A[{rows}][1], int8_t B[1][{columns}], int8_t C[{rows}][{columns}]"
    configured = f"gemmini_extended_config_st({columns}, NO_ACTIVATION, 1.0f);"
    text = f"void solution({shapes}) {{ {configured} {' '.join(lines)} gemmini_fence(); }}"
    links = chain(machine)
    least = tiled_bound(workload, machine).parts["a product and stores"] - links.loaded - links.product
    assert least <= profile_kernel(text, workload, machine).cycles


@settings(max_examples=4, deadline=None)
@given(
    st.tuples(*(st.integers(1, 24),) * 3),
    st.sampled_from(["", "bias: row\n", "bias: full\n"]),
    st.sampled_from(["gemmini", "quad", "tiny"]),
    st.sampled_from((1, 40, 300)),
)
def test_starting_kernels_do_not_beat_the_bound(dims: tuple[int, int, int], bias: str, name: str, latency: int) -> None:
    machine = far(name, latency)
    workload = product(*dims, bias, name)
    measured = SimulatorEvaluator(machine, workload).evaluate(starting_kernel(workload, machine))
    least = tiled_bound(workload, machine).value
    assert measured.value is not None
    assert bound(workload, machine).value <= least <= measured.value


def test_operations_without_rows_of_their_own_have_the_bound_of_all() -> None:
    workload = product(16, 16, 16, "layout: {B: J K}\n")
    machine = isa.load("rvv")
    known = tiled_bound(workload, machine)
    assert known.value == bound(workload, machine).value
    assert "have the bound of all kernels" in known.explanation
