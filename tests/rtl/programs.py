"""Random programs for the design in simulator/rtl: all its commands, on few rows, so that most wait for others."""

from __future__ import annotations

from hypothesis import strategies as st

BYTES = 2048  # of the tensor that programs read, and of the one that they write
ACC, ADDING, RAW = 0x8000_0000, 0xC000_0000, 0xA000_0000
NONE = 0xFFFF_FFFF
A_STRIDE, C_STRIDE, DRAM_STRIDE = 5, 4, 40  # the largest


def programs(dim: int, most: int = 40) -> st.SearchStrategy[str]:
    """Kernels of at most `most` groups of commands for a `dim` x `dim` design."""
    return st.lists(_groups(dim), min_size=1, max_size=most).map(
        lambda groups: "\n".join(
            [
                f"void solution(const int8_t A[{BYTES}], int8_t C[{BYTES}]) {{",
                *(f"config_ld({4 * kind + 3}, {kind});" for kind in range(3)),
                "config_st(16);",
                *groups,
                "fence();",
                "}",
            ]
        )
    )


def _groups(dim: int) -> st.SearchStrategy[str]:
    """Commands that belong together: a preload is followed by its multiply."""
    counts = st.integers(1, dim)
    spad = st.integers(0, 12) | st.integers(0, 255 - A_STRIDE * (dim - 1))
    acc = st.integers(0, 8) | st.integers(0, 63 - C_STRIDE * (dim - 1))
    furthest = BYTES - DRAM_STRIDE * (dim - 1) - 4 * dim
    places = st.integers(0, furthest) | st.integers(0, furthest // 16).map(lambda beat: 16 * beat)
    strides = st.sampled_from([4, 16]) | st.integers(1, DRAM_STRIDE)
    scales = st.sampled_from([1.0, 0.5, -0.25, 3.7, 1e-40, 3e38]) | st.floats(-(2.0**-20), 2.0**-20, width=32)

    def call(name: str, *operands: st.SearchStrategy[object]) -> st.SearchStrategy[str]:
        return st.tuples(*operands).map(lambda values: f"{name}({', '.join(str(value) for value in values)});")

    def tensor(name: str) -> st.SearchStrategy[str]:
        return places.map(lambda place: f"&{name}[{place}]")

    moves_in = st.sampled_from(["mvin", "mvin2", "mvin3"]).flatmap(
        lambda name: call(name, tensor("A"), spad | acc.map(lambda row: ACC | row), counts, counts)
    )
    sources = spad | st.tuples(st.sampled_from([ACC, RAW]), acc).map(lambda pair: pair[0] | pair[1])
    return st.one_of(
        moves_in,
        _multiplies(dim, spad, acc),
        _multiplies(dim, spad, acc),
        call("mvout", tensor("C"), sources, counts, counts),
        call("config_ex", st.integers(1, A_STRIDE), st.integers(1, C_STRIDE)),
        call("config_ld", st.just(0) | strides, st.integers(0, 2)),
        call("config_st", strides, st.integers(0, 1), scales.map(lambda scale: f"{scale!r}f")),
        st.sampled_from(["fence();", "flush();"]),
    )


@st.composite
def _multiplies(draw: st.DrawFn, dim: int, spad: st.SearchStrategy[int], acc: st.SearchStrategy[int]) -> str:
    counts = st.integers(1, dim)
    rows, depth, cols = draw(counts), draw(counts), draw(counts)
    weights = draw(spad | st.just(NONE))
    name = (
        "compute_accumulated"
        if weights == NONE
        else draw(st.sampled_from(["compute_preloaded", "compute_accumulated"]))
    )
    result = draw(st.sampled_from([ACC, ADDING])) | draw(acc)
    return (
        f"preload({weights}, {result}, {cols}, {depth}, {draw(st.integers(1, dim))}, {draw(st.integers(1, rows))});\n"
        f"{name}({draw(spad)}, {depth}, {rows});"
    )
