"""The starting kernel of a convolution: pixels of a row, filters and channels in tiles, one pair of taps at a time."""

from __future__ import annotations

from collections.abc import Mapping

from autocomp.errors import ConfigError
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.start.convolution_tiles import Shape, Tiles, finished, loop
from autocomp.targets.simulator.start.idioms import fill, signature
from autocomp.targets.simulator.start.pooled_convolution import (
    LEAST,
    POOLING_STORE,
    RESULT,
    host_pooling,
    pooled_by_the_machine,
    result_buffer,
)
from autocomp.targets.simulator.start.results import address_of_results
from autocomp.targets.simulator.start.stored import At, elements
from autocomp.workload.convolution import Convolution, convolution
from autocomp.workload.model import Workload


def naive_convolution(workload: Workload, accelerator: Accelerator) -> str:
    """The plain loops. Pooled by the machine where its description says how, else by a host that may compute.

    Raises ConfigError where nothing pools.
    """
    shape = convolution(workload.dims, workload.options)
    pooling = shape.rows.pooling
    if pooling is None:
        return finished(workload, _plain(workload, accelerator, shape, "output"))
    dtype = workload.outputs[0].dtype
    text = pooled_by_the_machine(workload, accelerator, shape, pooling) if dtype == "int8" else None
    if text is not None:
        return text
    if workload.host != "control" and dtype in LEAST:
        lines = _plain(workload, accelerator, shape, RESULT)
        return finished(
            workload, [lines[0], result_buffer(shape, dtype), *lines[1:-1], host_pooling(shape, pooling, dtype), "}"]
        )
    raise ConfigError(
        f"{accelerator.full_name} has no store that pools {pooling.size} x {pooling.size} windows like those of "
        f"{workload.name!r}, so no starting kernel can be made",
        hint=f"describe one for int8 as idiom {POOLING_STORE!r} in the .isa file, or let the host pool "
        f"{' or '.join(LEAST)} with `host: compute`",
    )


def _plain(workload: Workload, accelerator: Accelerator, shape: Convolution, result: str) -> list[str]:
    """The convolution without pooling, line by line from its head to its last brace."""
    loops = convolution_loops(workload, accelerator, Shape.of(shape), result, elements(workload, accelerator))
    return [signature(workload.tensors) + " {", *loops, "}"]


def convolution_loops(
    workload: Workload,
    accelerator: Accelerator,
    shape: Shape,
    result: str,
    at: At,
    given: Mapping[str, str] | None = None,
) -> list[str]:
    """The loops over tiles of a convolution without pooling, line by line, with what comes before and after them. They
    write the tensor `result`; `at` addresses elements, the sizes are those of `shape`, and `given` fills holes of the
    idioms otherwise than the workload."""
    tiles = Tiles.of(workload, accelerator, shape, result, at, given or {})
    return [
        *tiles.begin,
        loop("n", shape.images),
        loop("p", shape.rows.results),
        loop("q", shape.cols.results, tiles.size[0]) + tiles.pixels_declared(),
        tiles.filters,
        *tiles.sums("c_tile"),
        fill(accelerator, "gemm_store", tiles.holes | {"c_tile": address_of_results(workload, accelerator, "c_tile")}),
        "} } } }" + (" }" if shape.groups > 1 else ""),
        fill(accelerator, "gemm_finish", tiles.holes),
    ]
