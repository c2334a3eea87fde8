"""Kernels that hold all elements of a block of results in registers, and read each once for several passes."""

from __future__ import annotations

from autocomp.targets.triton.start.traced.graph import Graph
from autocomp.targets.triton.start.traced.index import symbol
from autocomp.targets.triton.start.traced.loops import MULTIPLY, Loops, Space
from autocomp.targets.triton.start.traced.values import Scope, both

LONGEST_HELD = 256  # elements of a result
FEW_HELD = 1 << 16  # results up to which a loop has too few programs to hide how long loads take
MANY_HELD = 1 << 20  # elements of short rows from which tiles of several rows keep a device busy
HANDFUL, LONGEST_OF_HANDFUL = 4096, 2048  # results of which a tile may be longer, and narrower: a loop would have a few
NARROWEST_OF_HANDFUL = 8  # programs, each of which waits for one load after the other
HELD, NARROWEST = 4096, 32  # elements of a tile, and its results at least
FUNCTIONS = {"sum": "sum", "amax": "max", "amin": "min", "any": "max", "all": "min", "argmax": "argmax"}
FUNCTIONS |= {"argmin": "argmin"}


def is_held(space: Space, passes: int) -> bool:
    """True where a tile is expected to be faster than a loop. Of rows that are short, one would be too little for a
    program."""
    if space.rows:
        return 1 < space.length <= LONGEST_HELD and space.results * space.length >= MANY_HELD
    if space.length > LONGEST_HELD:
        return space.results <= HANDFUL and space.length <= LONGEST_OF_HANDFUL
    return passes > 1 or space.results <= FEW_HELD


class Tile(Loops):
    """Results and their elements as the axes of a tile: neighbours in memory along its last one."""

    def __init__(self, graph: Graph, space: Space, stored: dict[str, str]) -> None:
        super().__init__(graph, space, stored)
        self.axis = 1 if space.rows else 0  # along which the elements are
        results, elements = ("[:, None]", "[None, :]") if space.rows else ("[None, :]", "[:, None]")
        self.outer, self.inner = symbol(f"offs{results}", space.results), symbol(f"step{elements}", space.length)
        self._place = space.place(self.outer, self.inner)
        self.inner_name = "step"
        self.length = 1 << (space.length - 1).bit_length()
        self.masked = self.length > space.length
        self.scope.names, self.scope.mask = {}, f"offs{results} < count"
        mask = both(self.scope.mask, f"(step{elements} < {space.length})") if self.masked else self.scope.mask
        self._held = self.scope.child(self.inner_name, mask)

    @property
    def size(self) -> str:
        """The name of the constant that says how many results a tile has."""
        return "ROWS" if self.space.rows else "COLUMNS"

    @property
    def results(self) -> int:
        """The results of a tile."""
        if self.length > LONGEST_HELD:
            return max(NARROWEST_OF_HANDFUL, 4 * HELD // self.length)
        return max(1 if self.space.rows else NARROWEST, HELD // self.length)

    def head(self) -> list[str]:
        return [
            f"offs = tl.program_id(0).to(tl.int64) * {self.size} + tl.arange(0, {self.size})",
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
            return body.name("product", f"tl.reduce({value}, {self.axis}, multiply, keep_dims=True)")
        return body.name(
            "total" if op == "sum" else "found", f"tl.{FUNCTIONS[op]}({value}, axis={self.axis}, keep_dims=True)"
        )

    def _search(self, body: Scope, op: str, value: str) -> str:
        return self._accumulate(body, op, value, True)

    def _spread(self, body: Scope, value: str, mask: str, after: list[str]) -> str:
        length = self.space.length
        kept = body.name("kept", f"tl.where({mask}, {value}, 0.0)")
        mean = body.name("mean", f"tl.sum({kept}, axis={self.axis}, keep_dims=True) / {length}")
        away = body.name("away", f"tl.where({mask}, {value} - {mean}, 0.0)")
        return body.name("spread", f"tl.sum({away} * {away}, axis={self.axis}, keep_dims=True)")
