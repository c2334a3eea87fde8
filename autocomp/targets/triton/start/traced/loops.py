"""Kernels that go over some axes for each result: reductions and scans.

Along the last axes of a tensor one program has a row, and its loop goes over blocks of it. Along other axes one program
has a block of results, and its loop goes over the elements of each; or it holds all of these in a tile.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from autocomp.targets.triton.start.traced.graph import Graph, Node, Ref
from autocomp.targets.triton.start.traced.index import Index, join, split, symbol
from autocomp.targets.triton.start.traced.values import Coordinates, NotHere, Scope

SPREAD = "spread"  # the sum of squared distances to the mean
REDUCTIONS = frozenset({"sum", "amax", "amin", "argmax", "argmin", "any", "all", "prod", SPREAD})
SCANS = frozenset({"cumsum", "cumprod"})
NEUTRAL = {
    "sum": "0.0",
    SPREAD: "0.0",
    "prod": "1.0",
    "amax": '-float("inf")',
    "amin": 'float("inf")',
    "argmax": '-float("inf")',
    "argmin": 'float("inf")',
    "any": "0",
    "all": "1",
    "cumsum": "0.0",
    "cumprod": "1.0",
}
LEAST, LARGEST = -(2**63), 2**63 - 1  # of integers, which are accumulated in 64 bits
NEUTRAL_INTEGERS = NEUTRAL | {"sum": "0", "prod": "1", "amax": str(LEAST), "amin": str(LARGEST)}
ACCUMULATORS = {"sum": "total", "prod": "product", "amax": "largest", "amin": "least", "any": "some", "all": "every"}
MULTIPLY = """
@triton.jit
def multiply(a, b):
    return a * b
"""


@dataclass(frozen=True)
class Space:
    """Results and, for each, the elements that it is made of. `rows` is True where these are neighbours in memory."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]

    @property
    def rows(self) -> bool:
        kept = [axis for axis in range(len(self.shape)) if axis not in self.axes and self.shape[axis] > 1]
        return not kept or not self.axes or max(kept) < min(self.axes, default=0) or self.length == 1

    @property
    def length(self) -> int:
        return math.prod(self.shape[axis] for axis in self.axes)

    @property
    def results(self) -> int:
        return math.prod(self.shape) // self.length

    def place(self, outer: Index, inner: Index) -> Coordinates:
        """Where element `inner` of result `outer` is."""
        kept = [axis for axis in range(len(self.shape)) if axis not in self.axes]
        indices = [Index()] * len(self.shape)
        for axes, index in ((kept, outer), (list(self.axes), inner)):
            for axis, part in zip(axes, split(index, [self.shape[axis] for axis in axes]), strict=True):
                indices[axis] = part
        return tuple(indices)


def space_of(graph: Graph, node: Node) -> Space:
    source = graph[node.args[0]]
    axes = node.option("dim", 1)
    if axes is None or axes == ():
        axes = tuple(range(len(source.shape)))
    given = axes if isinstance(axes, tuple) else (axes,)
    return Space(source.shape, tuple(sorted(int(axis) % max(len(source.shape), 1) for axis in given)))


class Loops:
    """One kernel over a space. Results stay in variables until they are stored."""

    def __init__(self, graph: Graph, space: Space, stored: dict[str, str]) -> None:
        self.graph, self.space = graph, space
        self.rows = space.rows
        outer, inner = ("row", "offs") if self.rows else ("offs", "step")
        self.outer, self.inner = symbol(outer, space.results), symbol(inner, space.length)
        self._place = space.place(self.outer, self.inner)
        # a name for the length of a row, as long as nothing else has the same size
        names = {space.length: "cols"} if self.rows and space.length > 1 else {}
        self.scope = Scope(graph, stored, names, "" if self.rows else "offs < count")
        self.inner_name = inner
        self.masked = self.rows
        self.functions: set[str] = set()

    @property
    def helpers(self) -> set[str]:
        return self.scope.helpers

    def head(self) -> list[str]:
        if self.rows:
            return ["row = tl.program_id(0).to(tl.int64)"]
        return ["offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)"]

    def reduce(self, nodes: Sequence[Node]) -> None:
        """Lines that give variables the results of reductions, none of which needs another: they share one loop."""
        body, mask = self._body()
        results: list[str] = []
        after: list[str] = []
        for node in nodes:
            source = self.graph[node.args[0]]
            value = self._neutral(body, source, node.op, mask)
            if node.op in ("argmax", "argmin"):
                results.append(self._search(body, node.op, value))
            elif node.op == SPREAD:
                results.append(self._spread(body, value, mask, after))
            else:
                results.append(self._accumulate(body, node.op, value, source.is_float))
        self._loop(body)
        self.scope.lines += after
        for node, result in zip(nodes, results, strict=True):
            any_found = self.scope.name("found", f"{result} != 0") if node.op in ("any", "all") else result
            self.scope.held[node.name] = (any_found, self._of_result(node.shape))

    def scan(self, node: Node, output: str) -> None:
        """Lines that store sums or products of all elements up to each."""
        source = self.graph[node.args[0]]
        body, mask = self._body()
        value = self._neutral(body, source, node.op, mask)
        operator = "+" if node.op == "cumsum" else "*"
        carry = self._initial("carry", NEUTRAL[node.op], True)
        if self.rows:
            running = body.name("running", f"tl.{node.op}({value}, axis=0) {operator} {carry}")
            whole = f"tl.sum({value}, axis=0)" if node.op == "cumsum" else f"tl.reduce({value}, 0, multiply)"
            self.functions |= set() if node.op == "cumsum" else {MULTIPLY}
            body.lines.append(f"{carry} {operator}= {whole}")
        else:
            body.lines.append(f"{carry} {operator}= {value}")
            running = carry
        self._store(body, output, running, join(self._of_element(node.shape), node.shape))
        self._loop(body)

    def store(self, node: Node, output: str) -> None:
        """Lines that store a node that has an element for each result, or for each element of the space."""
        if node.elements == self.space.results:
            place = self._of_result(node.shape)
            self._store(self.scope, output, self.scope.value(node.name, place), join(place, node.shape))
            return
        if node.elements != math.prod(self.space.shape):
            raise NotHere(node.name)
        body, _ = self._body()
        place = self._of_element(node.shape)
        self._store(body, output, body.value(node.name, place), join(place, node.shape))
        self._loop(body)

    def _of_result(self, shape: tuple[int, ...]) -> Coordinates:
        """The place of the result in a tensor with one element for each."""
        return split(self.outer, shape)

    def _of_element(self, shape: tuple[int, ...]) -> Coordinates:
        """The place of the element in a tensor with as many as the space has."""
        return self._place if shape == self.space.shape else split(join(self._place, self.space.shape), shape)

    def _body(self) -> tuple[Scope, str]:
        mask = "offs < cols" if self.rows else self.scope.mask
        return self.scope.child(self.inner_name, mask), mask

    def _neutral(self, body: Scope, source: Node, op: str, mask: str) -> str:
        """The element that a loop adds: a neutral one where the mask does not hold."""
        place = self._place
        if not self.masked or op == SPREAD:
            return body.value(source.name, place)
        if not source.is_float and op in ("amax", "amin"):
            wide = f"{body.value(source.name, place, '0')}.to(tl.int64)"
            return body.name("kept", f"tl.where({mask}, {wide}, {NEUTRAL_INTEGERS[op]})")
        direct = source.name in body.stored
        other = NEUTRAL[op] if direct or not source.is_float else "0.0"
        lowered = op == "sum" and source.op == "exp" and self._falls(body, self.graph[source.args[0]])
        value = body.value(source.name, place, '-float("inf")' if lowered else other)
        if direct or lowered:
            return value
        return body.name("kept", f"tl.where({mask}, {value}, {NEUTRAL[op]})")

    def _falls(self, body: Scope, node: Node) -> bool:
        """True for what is -inf where elements loaded as -inf are: its exponential is neutral in a sum. That is an
        element itself, less something of its row, or times something positive."""
        while node.name not in body.stored:
            other = node.args[1] if len(node.args) > 1 else None
            of_row = isinstance(other, Ref) and self.graph[other].elements == self.space.results
            positive = isinstance(other, (int, float)) and other > 0
            if not ((node.op == "sub" and (of_row or positive)) or (node.op in ("mul", "div") and positive)):
                return False
            node = self.graph[node.args[0]]
        return True

    def _accumulate(self, body: Scope, op: str, value: str, is_float: bool) -> str:
        name = self._initial(ACCUMULATORS[op], (NEUTRAL if is_float else NEUTRAL_INTEGERS)[op], is_float)
        value = value if is_float else f"{value}.to(tl.int64)"
        whole = {
            "sum": f"tl.sum({value}, axis=0)",
            "amax": f"tl.max({value}, axis=0)",
            "amin": f"tl.min({value}, axis=0)",
            "prod": f"tl.reduce({value}, 0, multiply)",
            "any": f"tl.max({value}, axis=0)",
            "all": f"tl.min({value}, axis=0)",
        }
        part = whole[op] if self.rows else value
        self.functions |= {MULTIPLY} if op == "prod" and self.rows else set()
        if op in ("sum", "prod"):
            body.lines.append(f"{name} {'+' if op == 'sum' else '*'}= {part}")
        else:
            function = "tl.maximum" if op in ("amax", "any") else "tl.minimum"
            body.lines.append(f"{name} = {function}({name}, {part})")
        return name

    def _spread(self, body: Scope, value: str, mask: str, after: list[str]) -> str:
        """Squared distances to a running mean (Welford, 1962); those of a row by lanes, joined `after` the loop."""
        lanes = "tl.zeros((BLOCK,), dtype=tl.float32)"
        mean, spread = self.scope.name("mean", lanes), self.scope.name("spread", lanes)
        before = "start // BLOCK" if self.rows else self.inner_name
        part = body.name("part", f"1.0 / ({before} + 1)")
        kept = body.name("kept", f"tl.where({mask}, {value}, {mean})") if self.rows else value
        away = body.name("away", f"{kept} - {mean}")
        body.lines += [f"{mean} += {away} * {part}", f"{spread} += {away} * ({kept} - {mean})"]
        if not self.rows:
            return spread
        names = {word: self.scope.fresh(word) for word in ("seen", "middle", "within")}
        apart = f"({mean} - {names['middle']})"
        after += [
            f"{names['seen']} = (cols - tl.arange(0, BLOCK) + BLOCK - 1) // BLOCK",
            f"{names['middle']} = tl.sum({mean} * {names['seen']}, axis=0) / cols",
            f"{names['within']} = tl.sum({spread} + {names['seen']} * {apart} * {apart}, axis=0)",
        ]
        return names["within"]

    def _search(self, body: Scope, op: str, value: str) -> str:
        """The first place of the largest or the least element."""
        best, chosen = self._initial("best", NEUTRAL[op], True), self._initial("chosen", "0", False)
        sign = ">" if op == "argmax" else "<"
        if self.rows:
            word = op[3:]
            place = body.name("place", f"start + tl.{op}({value}, axis=0)")
            value = body.name("leader", f"tl.{word}({value}, axis=0)")
        else:
            place = self.inner_name
        body.lines.append(f"{chosen} = tl.where({value} {sign} {best}, {place}, {chosen})")
        body.lines.append(f"{best} = tl.where({value} {sign} {best}, {value}, {best})")
        return chosen

    def _initial(self, word: str, value: str, is_float: bool) -> str:
        """A variable that a loop carries: one for a row, or one for each of a block of results."""
        if is_float and self.rows:
            return self.scope.name(word, value)
        shape = "()" if self.rows else "(BLOCK,)"
        return self.scope.name(word, f"tl.full({shape}, {value}, dtype={'tl.float32' if is_float else 'tl.int64'})")

    def _loop(self, body: Scope) -> None:
        """The loop with a body's lines."""
        if self.rows:
            head = ["for start in range(0, cols, BLOCK):", "    offs = start + tl.arange(0, BLOCK)"]
        else:
            head = ["for step in tl.range(0, length, loop_unroll_factor=1):"]  # loads wait less in rounds not unrolled
        self.scope.lines += head + [f"    {line}" for line in body.lines]

    def _store(self, scope: Scope, output: str, value: str, where: Index) -> None:
        masked = f", mask={scope.mask}" if scope.mask else ""
        address = f"{output}_ptr + {where.text(scope.names)}"
        text = value if _is_number(value) else f"{value}.to({output}_ptr.dtype.element_ty)"
        scope.lines.append(f"tl.store({address}, {text}{masked})")


def _is_number(text: str) -> bool:
    return text.lstrip("(-").rstrip(")").replace(".", "").isdigit()
