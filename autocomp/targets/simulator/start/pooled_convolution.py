"""Pooling after a convolution: by a store of the machine, a block of sums at a time, or by a host that may compute."""

from __future__ import annotations

from dataclasses import dataclass

from autocomp.errors import KernelError
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.kernel.compiler import check
from autocomp.targets.simulator.kernel.syntax.parser import parse
from autocomp.targets.simulator.start.convolution_tiles import Shape, Tiles, finished, loop, times
from autocomp.targets.simulator.start.idioms import c_type, fill, signature, tile_extent
from autocomp.targets.simulator.start.stored import elements
from autocomp.workload.convolution import Axis, Convolution, Pooling
from autocomp.workload.model import Workload

RESULT = "result"  # the unpooled results
POOLING_STORE = "conv_pool_store"
LEAST = {"int8": "-128", "int32": "-2147483647 - 1"}  # of the types that a host pools


def pooled_by_the_machine(
    workload: Workload, accelerator: Accelerator, shape: Convolution, pooling: Pooling
) -> str | None:
    """As many sums as fit into local memory, and a store that pools them; None where the machine cannot."""
    if accelerator.idiom(POOLING_STORE) is None:
        return None
    tiles = Tiles.of(workload, accelerator, Shape.of(shape), "output", elements(workload, accelerator), {})
    cols = _Block.within(shape.cols, pooling, "w", ("left", "right"), tiles.room // pooling.size)
    rows = _Block.within(shape.rows, pooling, "o", ("top", "bottom"), tiles.room // max(1, cols.most))
    if cols.most < pooling.size or rows.most < pooling.size:
        return None
    image = f"[{'0' if rows.whole else 'o'}][{'0' if cols.whole else 'w'}]"
    holes = tiles.holes | {
        "C": tiles.holes["C"].replace("[p][q]", image),
        "pool_size": str(pooling.size),
        "pool_stride": str(pooling.stride),
        "pool_rows": rows.pooled,
        "pool_cols": cols.pooled,
        "pool_width": str(shape.cols.pooled),
        "image_rows": rows.extent,
        "image_cols": cols.extent,
        "above": rows.before,
        "before": cols.before,
    }
    place = f"({_offset('p', rows.low)} * {cols.extent} + {_offset('q', cols.low)})"
    lines = [
        signature(workload.tensors) + " {",
        *tiles.begin,
        loop("n", shape.images),
        rows.head,
        cols.head,
        tiles.filters,
        f"for (int p = {rows.low}; p < {rows.high}; p++) {{",
        f"for (int q = {cols.low}; q < {cols.high}; q += {tiles.size[0]}) {{",
        tiles.pixels_declared(None if cols.whole else cols.high),
        f"const uint32_t tile = c_tile + {times(place, tiles.step)};",
        *tiles.sums("tile", cols.whole),
        "} }",
        fill(accelerator, POOLING_STORE, holes),
        "} }" + rows.tail + cols.tail + (" }" if shape.groups > 1 else ""),
        fill(accelerator, "gemm_finish", tiles.holes),
        "}",
    ]
    text = finished(workload, lines)
    try:
        check(parse(text), accelerator, workload.constants, workload.tensors)
    except KernelError:  # a window or an image beyond what the store takes
        return None
    return text


def _offset(variable: str, low: str) -> str:
    return variable if low == "0" else f"({variable} - {low})"


@dataclass(frozen=True)
class _Block:
    """A part of an axis that one pooling store covers: `size` pooled results, counted by `variable`, and the sums that
    they compare, at most `most` of them, between the expressions `low` and `high`."""

    axis: Axis
    pooling: Pooling
    variable: str
    bounds: tuple[str, str]
    size: int
    most: int

    @classmethod
    def within(cls, axis: Axis, pooling: Pooling, variable: str, bounds: tuple[str, str], room: int) -> _Block:
        """The largest block of at most `room` sums."""
        if axis.results <= room:
            return cls(axis, pooling, variable, bounds, axis.pooled, axis.results)
        size = max(1, (room - pooling.size) // pooling.stride + 1)
        return cls(axis, pooling, variable, bounds, size, min(room, (size - 1) * pooling.stride + pooling.size))

    @property
    def whole(self) -> bool:
        """True if all sums of the axis fit; a block of all pooled results may leave out sums between windows."""
        return self.most == self.axis.results

    @property
    def low(self) -> str:
        return "0" if self.whole else self.bounds[0]

    @property
    def high(self) -> str:
        return str(self.axis.results) if self.whole else self.bounds[1]

    @property
    def extent(self) -> str:
        return self.high if self.whole else f"({self.high} - {self.low})"

    @property
    def pooled(self) -> str:
        return str(self.size) if self.whole else tile_extent("pooled_" + self.variable, self.variable, *self._steps)[0]

    @property
    def before(self) -> str:
        """Zeros in front of the first sum."""
        if not self.pooling.padding:
            return "0"
        return str(self.pooling.padding) if self.whole else f"{self.low} - {self._first}"

    @property
    def tail(self) -> str:
        return "" if self.whole else " }"

    @property
    def head(self) -> str:
        """The loop over blocks, and which sums each needs: those of its windows that lie inside the image."""
        if self.whole:
            return ""
        counted = tile_extent("pooled_" + self.variable, self.variable, *self._steps)[1]
        low = f"{self._first} < 0 ? 0 : {self._first}" if self.pooling.padding else self._first
        count = int(self.pooled) if self.pooled.isdigit() else 0
        reach = (
            str((count - 1) * self.pooling.stride + self.pooling.size)
            if count
            else (f"({self.pooled} - 1) * {self.pooling.stride} + {self.pooling.size}")
        )
        end = f"{self._first} + {reach}"
        last = (self.axis.pooled - 1) * self.pooling.stride - self.pooling.padding + self.pooling.size
        high = end if last <= self.axis.results else f"{end} < {self.axis.results} ? {end} : {self.axis.results}"
        blocks = loop(self.variable, self.axis.pooled, self.size)
        return f"{blocks}{counted} const int {self.low} = {low}; const int {self.high} = {high};"

    @property
    def _steps(self) -> tuple[int, int]:
        return self.axis.pooled, self.size

    @property
    def _first(self) -> str:
        """The first sum that the block's first window compares, negative in the padding."""
        first = times(self.variable, self.pooling.stride)
        return f"({first} - {self.pooling.padding})" if self.pooling.padding else first


def result_buffer(shape: Convolution, dtype: str) -> str:
    extents = (shape.images, shape.rows.results, shape.cols.results, shape.filters)
    return f"static {c_type(dtype)} {RESULT}{''.join(f'[{extent}]' for extent in extents)};"


def host_pooling(shape: Convolution, pooling: Pooling, dtype: str) -> str:
    """The host takes the maxima; the kernel's last fence stands before."""
    rows, cols = shape.rows, shape.cols
    value = f"{RESULT}[n][y][x][k]"
    if pooling.padding:
        value = f"y >= 0 && y < {rows.results} && x >= 0 && x < {cols.results} ? {value} : 0"
    margin = f" - {pooling.padding}" if pooling.padding else ""
    return "\n".join(
        [
            loop("n", shape.images) + loop("p", rows.pooled) + loop("q", cols.pooled) + loop("k", shape.filters),
            f"int most = {LEAST[dtype]};",
            loop("i", pooling.size) + loop("j", pooling.size),
            f"const int y = {times('p', pooling.stride)} + i{margin};",
            f"const int x = {times('q', pooling.stride)} + j{margin};",
            f"const int value = {value};",
            "if (value > most) most = value;",
            "} }",
            "output[n][p][q][k] = most;",
            "} } } }",
        ]
    )
