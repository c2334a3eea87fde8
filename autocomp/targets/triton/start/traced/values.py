"""The value of a node at a place, as a line of a kernel: views move the place, elementwise operators join values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from autocomp.errors import ConfigError
from autocomp.targets.triton.start.traced.elementwise import HELPERS, TEMPLATES, number
from autocomp.targets.triton.start.traced.graph import KEEP, VIEWS, Graph, Node, Ref
from autocomp.targets.triton.start.traced.index import Index, join, split, symbol

Coordinates = tuple[Index, ...]
MADE = frozenset({"full", "full_like", "zeros", "zeros_like", "ones", "ones_like", "scalar_tensor", "arange", "iota"})
PLACED = frozenset({"cat", "constant_pad_nd", "gather", "index"})  # elements of tensors at places that are computed
NAME = re.compile(r"\b[a-z_]\w*")  # of a variable
AXIS = re.compile(r"\[:, None\]|\[None, :\]")  # that a vector has in a tile
LONGEST = (1 << 31) - (1 << 20)  # elements whose places fit into 32 bits, those of the last block with them
SIZES = ("M", "N", "K", "cols", "count", "length")  # parameters of kernels, whose names a tensor may have too
WORDS = {  # names in use
    "abs": "size",
    "pow": "power",
    "expm1": "growth",
    "log1p": "logarithm",
    "tanh": "tangent",
    "tanh_softplus": "soft",
    "rounded": "nearest",
    "rounded_to_even": "nearest",
    "rounded_to_zero": "nearest",
}


class NotHere(Exception):
    """A value that the kernel under construction does not hold at this place."""


def unsupported(what: str) -> ConfigError:
    return ConfigError(
        f"no starting kernel can be generated: {what}", hint="name one in the workload file: `kernel: FILE.py`"
    )


def is_inline(node: Node) -> bool:
    """True where a value can be computed wherever it is needed."""
    return (node.op in VIEWS or node.op in MADE or node.op in TEMPLATES or node.op in PLACED) and node.op != KEEP


@dataclass
class Scope:
    """A stretch of a kernel's lines in which places have names. `held` are results that the kernel keeps in variables,
    with the place at which they are; `stored` those that lie in memory. Values whose places do not use the symbol
    `inner` belong to the `outer` scope. With `raw`, loads keep their data type."""

    graph: Graph
    stored: Mapping[str, str]
    names: Mapping[int, str]
    mask: str = ""
    outer: Scope | None = None
    inner: str = ""
    raw: bool = False
    held: dict[str, tuple[str, Coordinates]] = field(default_factory=dict)
    loaded: set[str] = field(default_factory=set)
    helpers: set[str] = field(default_factory=set)
    lines: list[str] = field(default_factory=list)
    known: dict[tuple[str, Coordinates, str, str], str] = field(default_factory=dict)
    taken: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SIZES, 1))

    def fresh(self, word: str) -> str:
        count = self.taken.get(word, 0)
        self.taken[word] = count + 1
        return word if not count else f"{word}_{count + 1}"

    def _given(self, mask: str) -> str | None:
        """None for the scope's own mask, so that values of the outer scope are found there."""
        return None if mask == self.mask else mask

    def child(self, inner: str, mask: str) -> Scope:
        """A scope inside of this one, such as a loop's body; it shares what the kernel as a whole has."""
        return Scope(
            self.graph,
            self.stored,
            self.names,
            mask,
            self,
            inner,
            self.raw,
            self.held,
            self.loaded,
            self.helpers,
            taken=self.taken,
        )

    def name(self, word: str, text: str) -> str:
        """A variable with a value."""
        fresh_name = self.fresh(word)
        self.lines.append(f"{fresh_name} = {text}")
        return fresh_name

    def value(self, name: str, place: Coordinates, other: str = "0.0", mask: str | None = None) -> str:
        """The variable that holds a node's element at a place; masked elements are `other` where they are loaded."""
        if self.outer is not None and mask is None and not any(uses(index, self.inner) for index in place):
            return self.outer.value(name, place, other)
        mask = self.mask if mask is None else mask
        key = (name, place, mask, other)
        if key not in self.known:
            self.known[key] = self._value(self.graph[name], place, other, mask)
        return self.known[key]

    def _value(self, node: Node, place: Coordinates, other: str, mask: str) -> str:
        if node.name in self.held:
            text, where = self.held[node.name]
            if where != place:
                raise NotHere(node.name)
            return text
        if node.name in self.stored:
            return self._load(node, place, other, mask)
        if node.op in VIEWS:
            return self.value(_source(node).name, moved(self.graph, node, place), other, self._given(mask))
        if node.op in MADE:
            return self._made(node, place)
        if node.op == "cat":
            return self._cat(node, place, mask)
        if node.op == "constant_pad_nd":
            return self._padded(node, place, mask)
        if node.op in ("gather", "index"):
            return self._gathered(node, place, mask)
        if node.op not in TEMPLATES:
            raise NotHere(node.name)
        return self._computed(node, place, other, mask)

    def _load(self, node: Node, place: Coordinates, other: str, mask: str) -> str:
        pointer = f"{self.stored[node.name]}_ptr"
        self.loaded.add(node.name)
        where = join(place, node.shape).text(self.names)
        address = pointer if where == "0" else f"{pointer} + {where}"
        mask = bearing(mask, where)
        masked = f", mask={mask}, other={other if node.is_float else '0'}" if mask else ""
        text = f"tl.load({address}{masked})"
        cast = (
            ".to(tl.float32)"
            if node.is_float and not self.raw
            else ""
            if node.is_float
            else " != 0"
            if node.dtype == "bool"
            else ""
        )
        return self.name(self.stored[node.name], text + cast)

    def _made(self, node: Node, place: Coordinates) -> str:
        if node.op in ("arange", "iota"):
            start, step = _arange(node)
            return f"({place[0].times(step).plus(start).text(self.names)})"
        value = {"zeros": 0, "zeros_like": 0, "ones": 1, "ones_like": 1}.get(node.op)
        if value is None:
            value = node.args[0] if node.op == "scalar_tensor" else node.option("fill_value", 1)
        return number(float(value) if node.is_float else value)

    def _computed(self, node: Node, place: Coordinates, other: str, mask: str) -> str:
        values = [
            self.value(argument.name, broadcast(place, self.graph[argument].shape), other, self._given(mask))
            if isinstance(argument, Ref)
            else number(argument)
            for argument in node.args
            if isinstance(argument, (Ref, int, float))
        ]
        text = TEMPLATES[node.op](node, values)
        self.helpers |= {word for word in HELPERS if f"{word}(" in text.replace("tl.", "tl_")}
        return text if text in values else self.name(WORDS.get(node.op, node.op.strip("_")), text)

    def _cat(self, node: Node, place: Coordinates, mask: str) -> str:
        axis = int(node.option("dim", 1, 0)) % len(node.shape)
        start, text = 0, ""
        for ref in node.args[0]:
            part = self.graph[ref]
            if part.elements == 0:
                continue
            at = place[axis].plus(-start)
            here = f"({at.text(self.names)} >= 0) & ({at.text(self.names)} < {part.shape[axis]})"
            inner = self.value(part.name, (*place[:axis], at, *place[axis + 1 :]), "0.0", both(mask, here))
            text = inner if not text else f"tl.where({here}, {inner}, {text})"
            start += part.shape[axis]
        return self.name("joined", text)

    def _padded(self, node: Node, place: Coordinates, mask: str) -> str:
        source = self.graph[node.args[0]]
        fronts = [0] * len(place)
        fronts[len(place) - len(node.args[1]) // 2 :] = reversed(node.args[1][::2])
        at = tuple(index.plus(-front) for index, front in zip(place, fronts, strict=True))
        conditions = [
            f"({index.text(self.names)} >= 0) & ({index.text(self.names)} < {extent})"
            for index, extent, whole in zip(at, source.shape, node.shape, strict=True)
            if extent != whole
        ]
        here = " & ".join(conditions)
        inner = self.value(source.name, at, "0.0", both(mask, here) if here else mask)
        around = number(node.option("value", 2, 0.0))
        return self.name("padded", f"tl.where({here}, {inner}, {around})") if here else inner

    def _gathered(self, node: Node, place: Coordinates, mask: str) -> str:
        """Elements whose places along some axes are those of other tensors, counted from the end where negative."""
        source = self.graph[node.args[0]]
        if node.op == "gather":
            axis = int(node.args[1]) % len(source.shape)
            chosen = {axis: (node.args[2], place)}
        else:
            given = {axis: ref for axis, ref in enumerate(node.args[1]) if ref is not None}
            first, rank = _of_chosen(given, self.graph)
            chosen = {
                axis: (ref, broadcast(place[first : first + rank], self.graph[ref].shape))
                for axis, ref in given.items()
            }
            rest = iter((*place[:first], *place[first + rank :]))
            place = tuple(Index() if axis in given else next(rest) for axis in range(len(source.shape)))
        at = list(place)
        for axis, (ref, where) in chosen.items():
            if "int" not in self.graph[ref].dtype:
                raise unsupported("it indexes by truth values")
            value = self.value(ref.name, where, "0", self._given(mask))
            extent = source.shape[axis]
            if node.op == "index":
                value = self.name("chosen", f"tl.where({value} < 0, {value} + {extent}, {value})")
            at[axis] = symbol(value, extent)
        return self.value(source.name, tuple(at), "0.0", mask)


def _of_chosen(given: Mapping[int, Ref], graph: Graph) -> tuple[int, int]:
    """The first axis that tensors of places give a result, and their number of axes: in front, unless the axes that
    they index are neighbours."""
    axes = sorted(given)
    neighbours = axes[-1] - axes[0] == len(axes) - 1
    return axes[0] if neighbours else 0, max(len(graph[ref].shape) for ref in given.values())


def uses(index: Index, name: str) -> bool:
    return any(name in part.symbol.text for part, _ in index.terms)


def broadcast(place: Coordinates, shape: Sequence[int]) -> Coordinates:
    """The place in an operand that is stretched to a larger shape."""
    inner = place[len(place) - len(shape) :]
    return tuple(index if extent > 1 else Index() for index, extent in zip(inner, shape, strict=True))


def moved(graph: Graph, node: Node, place: Coordinates) -> Coordinates:
    """The place in a view's source of the element at a place of the view."""
    source = graph[_source(node)]
    shape, op = source.shape, node.op
    if op in ("view", "_unsafe_view", "reshape"):
        return split(join(place, node.shape), shape)
    if op in ("permute", "transpose", "t"):
        order = _order(node, len(shape))
        indices = [Index()] * len(shape)
        for axis, origin in enumerate(order):
            indices[origin] = place[axis]
        return tuple(indices)
    if op in ("unsqueeze", "squeeze"):
        kept = iter(index for index, extent in zip(place, node.shape, strict=True) if extent > 1)
        return tuple(next(kept) if extent > 1 else Index() for extent in shape)
    if op == "expand":
        return broadcast(place, shape)
    if op == "unfold":
        axis, step = int(node.args[1]) % len(shape), int(node.args[3])
        return (*place[:axis], place[axis].times(step) + place[-1], *place[axis + 1 : -1])
    if op == "broadcast_in_dim":
        axes = node.args[2]
        return tuple(place[axis] if extent > 1 else Index() for axis, extent in zip(axes, shape, strict=True))
    axis = int(node.option("dim", 1, 0) if op != "flip" else 0) % max(len(shape), 1)
    if op == "select":
        chosen = int(node.args[2]) % shape[axis]
        return (*place[:axis], Index(chosen), *place[axis:])
    if op == "slice":
        start = int(node.option("start", 2, 0) or 0)
        start = max(start + shape[axis], 0) if start < 0 else min(start, shape[axis])
        step = int(node.option("step", 4, 1))
        return (*place[:axis], place[axis].times(step).plus(start), *place[axis + 1 :])
    axes = {int(flipped) % len(shape) for flipped in node.args[1]}
    return tuple(
        index.times(-1).plus(extent - 1) if axis in axes else index
        for axis, (index, extent) in enumerate(zip(place, shape, strict=True))
    )


def _source(node: Node) -> Ref:
    ref = node.args[0]
    assert isinstance(ref, Ref)
    return ref


def _order(node: Node, rank: int) -> list[int]:
    if node.op == "permute":
        return [int(axis) % rank for axis in node.args[1]]
    order = list(range(rank))
    first, second = (0, 1) if node.op == "t" else (int(node.args[1]) % rank, int(node.args[2]) % rank)
    if rank > 1:
        order[first], order[second] = order[second], order[first]
    return order


def _arange(node: Node) -> tuple[int, int]:
    numbers: list[Any] = [argument for argument in node.args if isinstance(argument, (int, float))]
    if node.op == "iota":
        return int(node.options.get("start", 0)), int(node.options.get("step", 1))
    if any(isinstance(one, float) and one != int(one) for one in numbers):
        raise unsupported("it counts in steps that are not integers")
    start = int(numbers[0]) if len(numbers) > 1 else 0
    return start, int(numbers[2]) if len(numbers) > 2 else 1


def both(mask: str, other: str) -> str:
    """Two conditions, of which the first is a comparison or several in parentheses."""
    if not mask:
        return other
    return f"{mask} & {other}" if mask.startswith("(") else f"({mask}) & {other}"


def bearing(mask: str, where: str) -> str:
    """The part of a mask that bears on a place: none for one that is the same wherever the mask holds. A place along
    one axis of a tile needs no condition along the other, so that a vector is loaded and not a tile."""
    if not set(NAME.findall(mask)) & set(NAME.findall(where)):
        return ""
    axes, conditions = set(AXIS.findall(where)), _conditions(mask)
    kept = [one for one in conditions if not axes or not AXIS.search(one) or axes & set(AXIS.findall(one))]
    return mask if kept == conditions else " & ".join(kept)


def _conditions(mask: str) -> list[str]:
    """The conditions that a mask joins, in parentheses or not."""
    depth, parts = 0, [""]
    for letter in mask:
        depth += (letter == "(") - (letter == ")")
        if letter == "&" and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    if len(parts) > 1:
        return [one for part in parts for one in _conditions(part.strip())]
    inner = mask[1:-1]
    return _conditions(inner) if mask.startswith("(") and _joins(inner) else [mask]


def _joins(text: str) -> bool:
    """True for conditions that were all in one pair of parentheses."""
    depths = [0]
    for letter in text:
        depths.append(depths[-1] + (letter == "(") - (letter == ")"))
    return min(depths) == 0 and any(one == "&" and not depth for one, depth in zip(text, depths[1:], strict=True))
