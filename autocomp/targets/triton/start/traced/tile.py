"""Kernels that hold all elements of a block of results in registers, and read each once for several passes."""

from __future__ import annotations

from autocomp.targets.triton.start.traced.graph import Graph
from autocomp.targets.triton.start.traced.index import symbol
from autocomp.targets.triton.start.traced.loops import MULTIPLY, Loops, Space
from autocomp.targets.triton.start.traced.values import Scope, both

LONGEST_HELD = 256  # elements of a result
FEW_HELD = 1 << 16  # results up to which a loop has too few programs to hide how long loads take
HELD, NARROWEST = 4096, 32  # elements of a tile, and its results at least
FUNCTIONS = {"sum": "sum", "amax": "max", "amin": "min", "any": "max", "all": "min", "argmax": "argmax"}
FUNCTIONS |= {"argmin": "argmin"}


class Tile(Loops):
    """Results as columns of a tile, and their elements along it."""

    def __init__(self, graph: Graph, space: Space, stored: dict[str, str]) -> None:
        super().__init__(graph, space, stored)
        self.outer, self.inner = symbol("offs[None, :]", space.results), symbol("step[:, None]", space.length)
        self.length = 1 << (space.length - 1).bit_length()
        self.masked = self.length > space.length
        self.scope.mask = "offs[None, :] < count"
        mask = both(self.scope.mask, f"(step[:, None] < {space.length})") if self.masked else self.scope.mask
        self._held = self.scope.child(self.inner_name, mask)

    @property
    def columns(self) -> int:
        return max(NARROWEST, HELD // self.length)

    def head(self) -> list[str]:
        return [
            "offs = tl.program_id(0).to(tl.int64) * COLUMNS + tl.arange(0, COLUMNS)",
            f"step = tl.arange(0, {self.length})",
        ]

    def _body(self) -> tuple[Scope, str]:
        return self._held, self._held.mask

    def _loop(self, body: Scope) -> None:
        self.scope.lines += body.lines
        body.lines.clear()

    def _accumulate(self, body: Scope, op: str, value: str, is_float: bool) -> str:
        value = value if is_float else f"{value}.to(tl.int64)"
        if op == "prod":
            self.functions.add(MULTIPLY)
            return body.name("product", f"tl.reduce({value}, 0, multiply, keep_dims=True)")
        return body.name("total" if op == "sum" else "found", f"tl.{FUNCTIONS[op]}({value}, axis=0, keep_dims=True)")

    def _search(self, body: Scope, op: str, value: str) -> str:
        return self._accumulate(body, op, value, True)

    def _spread(self, body: Scope, value: str, mask: str, after: list[str]) -> str:
        length = self.space.length
        kept = body.name("kept", f"tl.where({mask}, {value}, 0.0)")
        mean = body.name("mean", f"tl.sum({kept}, axis=0, keep_dims=True) / {length}")
        away = body.name("away", f"tl.where({mask}, {value} - {mean}, 0.0)")
        return body.name("spread", f"tl.sum({away} * {away}, axis=0, keep_dims=True)")
