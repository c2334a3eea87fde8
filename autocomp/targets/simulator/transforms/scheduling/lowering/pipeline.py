"""The loop of a scheduled contraction in which moves go beside computation.

A *step* multiplies one block's tiles for one block of the reduction. Loads that are made ahead bring the tiles of the
next step, or of the next panel, between the products of this one. Stores that are deferred move out the block before. A
running count gives the number of moves before each product: any number of moves is spread evenly over any number of
products, at the edges too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from autocomp.targets.simulator.transforms.analysis.requests import reading_cycles, unit_settings
from autocomp.targets.simulator.transforms.scheduling.lowering.nest import Nest
from autocomp.targets.simulator.transforms.scheduling.lowering.order import Order
from autocomp.targets.simulator.transforms.scheduling.lowering.text import LAST, NEXT, NOW, THEN, Lines
from autocomp.targets.simulator.transforms.scheduling.schedule import OPERANDS

_TRAIL = 3  # products of the last step after which a store follows the one that completes its results


@dataclass(frozen=True)
class Stream:
    """Moves that are spread over products: `total` moves over `over` products, without the last `early` ones. `begins`:
    the condition, at the head of a step, that the counting starts anew. `fewer`: there may be more products than
    `over`. `at_once`: the first move comes before the first product."""

    name: str
    total: str
    over: str
    begins: str
    inside: Lines
    early: int = 0
    fewer: bool = False
    at_once: bool = False


class Pipeline:
    """One loop over steps, with moves between the products of each."""

    def __init__(self, nest: Nest) -> None:
        self._nest = nest
        self._grid = nest.grid
        self._schedule = nest.schedule
        self._trails = Order(nest.leaves.accelerator).trails(nest.schedule)
        self._beside = self._grid.defers or self._trails  # moves of results go beside products

    def lines(self) -> Lines:
        nest, grid = self._nest, self._grid
        steps = grid.steps
        streams = self._streams()
        phases = {operand: nest.phase(operand, "step") for operand in (*OPERANDS, "result")}
        lines: Lines = []
        for stream in streams:
            if stream.begins != "1":
                lines.append(f"int {stream.name}s = 0;")
                lines.append(f"int {stream.name}_due = 0;")
        loop = nest.coordinates("step", NOW)
        ahead = [o for o in OPERANDS if o in self._schedule.ahead]
        if ahead and steps > 1:
            loop += nest.coordinates("step + 1", NEXT)
            loop += [line for operand in ahead if grid.spreads(operand) for line in self._of_next_panel(operand)]
        if self._grid.defers:
            loop += nest.coordinates(
                f"(step < {grid.steps_of_result} ? 0 : step - {grid.steps_of_result})", LAST, grid.outer
            )
            if nest.started:
                loop += nest.coordinates(f"step + {grid.steps_of_result}", THEN, grid.outer)
        loop += self._in_order(phases)
        before = self._guarded("step == 0", self._first_uses()) if steps > 1 else self._first_uses()
        if self._leads:
            lines.append("int led = 0;")
            loop.append("int done = 0;")
            before.append("done++;")
        last = f"step == {steps - 1}" if steps > 1 else "1"
        if self._trails:
            lines.append("int trailed = 0;")
            before += self._guarded(last, self._completed(f"trailed < done - {_TRAIL}"))
        for stream in streams:
            due = f"{stream.over} - ({stream.total})" if stream.at_once else "0"
            begin = [f"{stream.name}s = 0;", f"{stream.name}_due = {due};"]
            if stream.begins == "1":
                loop += [f"int {line}" for line in begin]
            else:
                loop += self._guarded(stream.begins, begin)
            loop.append(f"const int {stream.name}_moves = {stream.total};")
            over = (
                f"({stream.over}) > {2 * stream.early} ? ({stream.over}) - {stream.early} : (({stream.over}) + 1) / 2"
            )
            loop.append(f"const int {stream.name}_over = {over if stream.early else stream.over};")
            name = stream.name
            ends = stream.early or stream.fewer
            more = f"{name}_due >= {name}_over && {name}s < {name}_moves" if ends else f"{name}_due >= {name}_over"
            head = f"for ({name}_due += {name}_moves; {more}; {name}_due -= {name}_over) {{"
            before += [head, *stream.inside, f"{name}s++;", "}"]
        loop += nest.products(NOW, phases, before)
        if self._trails:
            loop += self._guarded(last, self._completed("trailed < done"))
        elif not self._grid.defers:
            stored = [*nest.ordered("product", "store"), *nest.all_stores(NOW, phases["result"])]
            stored += nest.ordered("store", "load" if nest.started else "product")
            loop += self._guarded(self._last_of_result(), stored)
        lines += [f"for (int step = 0; step < {steps}; step++) {{", *loop, "}"]
        if self._grid.defers and not self._trails:
            lines += [
                "{",
                *nest.coordinates(str(steps - 1), LAST, grid.outer),
                *nest.ordered("product", "store"),
                *nest.all_stores(LAST, nest.phase("result", str(steps - 1))),
                "}",
            ]
        return lines

    def _in_order(self, phases: Mapping[str, str]) -> Lines:
        """The order between units at the head of a step, and the moves there. Units signal before they wait, so that
        none waits for another that could have gone on. Loads on time are the exception: they wait for the products
        before them, and products for these."""
        nest = self._nest
        freed, loaded = nest.ordered("product", "load"), nest.ordered("load", "product")
        moves = [(nest.first_visit(o, NOW), self._on_time(o)) for o in OPERANDS if o not in self._schedule.ahead]
        if nest.started and not self._beside:
            starts = nest.all_starts(NOW, phases["result"])
            moves.append((self._first_of_result(), self._guarded(self._first_of_result(), starts)))
        on_time = [*self._guarded("step > 0", freed), *(line for _, lines in moves for line in lines), *loaded]
        ahead = self._guarded("step > 0", _at_once(freed, loaded))
        if not moves:
            lines = ahead
        elif not freed or any(condition == "1" for condition, _ in moves):
            lines = on_time
        else:
            some = " || ".join(f"({condition})" for condition, _ in moves)
            lines = [f"if ({some}) {{", *on_time, "} else {", *ahead, "}"]
        if not self._grid.defers:
            return lines
        stored = _at_once(nest.ordered("product", "store"), [] if nest.started else nest.ordered("store", "product"))
        return [*lines, *self._guarded(f"step > 0 && {self._first_of_result()}", stored)]

    @staticmethod
    def _guarded(condition: str, lines: Lines) -> Lines:
        if not lines or condition == "1":
            return lines
        return [f"if ({condition}) {{", *lines, "}"]

    def _first_of_result(self) -> str:
        return (
            " && ".join(f"{self._nest.block_name(d)} == 0" for d in self._grid.order if d not in self._grid.outer)
            or "1"
        )

    def _last_of_result(self) -> str:
        dims = [d for d in self._grid.order if d not in self._grid.outer]
        return " && ".join(f"{self._nest.block_name(d)} == {self._grid.blocks[d] - 1}" for d in dims) or "1"

    @property
    def _leads(self) -> bool:
        """True if loads of the first step are issued for later products."""
        return bool(self._schedule.lead and self._schedule.ahead)

    def _first_uses(self) -> Lines:
        """Loads for the products of the first step, each in front of the first product that needs it, or of one that is
        some products before that. Where programs order units, a signal waits for all loads before it: so the loads of
        some products go together, two such groups ahead. Where products come with loads of their own, loads get ahead
        step by step: those of the first product come first."""
        nest, group = self._nest, self._schedule.lead
        ordered = nest.ordered("load", "product")
        signals, waits = ordered[::2], ordered[1::2]
        if not self._leads:
            loads = self._first_loads(nest.counters(), nest.inner_tile())
            return [*loads, *ordered] if loads else []
        unravel, counters, total = nest.product_number("led", self._grid.first)
        loads = self._first_loads(counters, nest.tile_at(counters, self._grid.first))
        if not loads:
            return []
        if not signals:
            near = "led <= done * 2 && " if nest.leaves.flowing else ""
            return [f"for (; {near}led <= done + {group} && led < {total}; led++) {{", *unravel, *loads, "}"]
        together = [f"for (; led < done + {2 * group} && led < {total};) {{", *unravel, *loads, "led++;"]
        together += [f"if (led % {group} == 0 || led == {total}) {{", *signals, "}", "}"]
        return [f"if (done % {group} == 0) {{", *together, *waits, "}"]

    def _first_loads(self, counters: Mapping[str, str], tile: Mapping[str, str]) -> Lines:
        """The loads for a product that is the first to need them."""
        nest = self._nest
        lines: Lines = []
        for operand in OPERANDS:
            if operand in self._schedule.ahead:
                lines += self._guarded(nest.first_use(operand, counters), nest.first_load(operand, tile))
        if nest.started and self._beside:
            reduced = [d for d in nest.inner if d in nest.computation.reduction]
            first = " && ".join(f"{counters[d]} == 0" for d in reduced) or "1"
            lines += self._guarded(first, nest.start(tile, NOW, "0"))
        return lines

    def _completed(self, condition: str) -> Lines:
        """The stores of results that products of the last step completed, product by product."""
        nest, block = self._nest, self._grid.last
        unravel, counters, _ = nest.product_number("trailed", block)
        complete, first = nest.completes(counters, block)
        stores = nest.store(nest.tile_at(first, block), NOW, nest.phase("result", "step"))
        return [f"for (; {condition}; trailed++) {{", *unravel, *self._guarded(complete, stores), "}"]

    def _on_time(self, operand: str) -> Lines:
        """The loads of an operand that is not loaded ahead, at the head of the step that needs them first."""
        nest = self._nest
        return self._guarded(nest.first_visit(operand, NOW), nest.all_loads(operand, NOW, nest.phase(operand, "step")))

    def _streams(self) -> list[Stream]:
        streams: list[Stream] = []
        if self._grid.defers:
            streams.append(self._results())
        for operand in OPERANDS:
            if operand in self._schedule.ahead and self._grid.steps > 1:
                streams += self._loads(operand)
        return streams

    def _loads(self, operand: str) -> list[Stream]:
        """The loads of an operand beside products: of the next step's tiles or, where several steps use a panel, of the
        next panel. The tiles of the first panel that other steps than the first begin with come step by step too."""
        grid = self._grid
        if not grid.spreads(operand):
            return [self._next_tiles(operand, grid.steps)]
        first = [self._next_tiles(operand, grid.inside(operand))] if grid.slots(operand) else []
        return [*first, self._next_panel(operand)]

    def _next_tiles(self, operand: str, steps: int) -> Stream:
        """The loads of the next step's tiles, where it is the first to use them, and one of the first `steps`."""
        nest = self._nest
        name = f"{operand}_load"
        unravel, tile = nest.unravelled(operand, f"{name}s", NEXT, "_moved")
        inside = [*unravel, *nest.load(operand, tile, NEXT, nest.phase(operand, "step + 1"))]
        needed = nest.first_visit(operand, NEXT)
        total = f"(step < {steps - 1} && ({needed})) ? {nest.total(operand, NEXT)} : 0"
        return Stream(name, total, self._in_step(), "1", inside, self._schedule.early)

    def _next_panel(self, operand: str) -> Stream:
        """The loads of the next panel, beside all steps that use this one: the tiles that one step is the first to use
        beside as many steps as use them."""
        nest, grid = self._nest, self._grid
        steps, name, at = grid.inside(operand), f"{operand}_panel", f"_{operand}"
        unravel, tile = nest.unravelled(operand, f"{name}s", at, "_moved")
        inside = [*unravel, *nest.load(operand, tile, at, f"step / {steps} + 1")]
        total = f"step < {grid.steps - steps} ? {nest.total(operand, at)} : 0"
        begins = f"step % {grid.uses(operand)} == 0"
        return Stream(name, total, self._beside_panel(operand), begins, inside, self._schedule.early, fewer=True)

    def _beside_panel(self, operand: str) -> str:
        """The fewest products of the steps beside which the tiles go that a step of the next panel is first to use."""
        grid = self._grid
        own = grid.order[grid.level(operand) :]
        least = prod(min(grid.first[d], grid.block[d], grid.last[d]) for d in own) * grid.uses(operand)
        exact = prod(grid.worked[d] for d in own)
        counts = (f"({self._nest.count(d, NOW)})" for d in self._nest.inner if d not in own)
        return " * ".join([*counts, str(least if grid.slots(operand) else exact)])

    def _of_next_panel(self, operand: str) -> Lines:
        """The coordinates of the step of the next panel that is the first to use what comes beside this step."""
        grid, slots = self._grid, self._grid.slots(operand)
        steps = grid.inside(operand)
        first = f"(step / {steps} + 1) * {steps}"
        place, stride = grid.uses(operand), 1
        for dim in reversed(grid.order[grid.level(operand) :]):
            if dim in slots:
                first += f" + step % {steps} / {place} % {grid.blocks[dim]} * {stride}"
                place *= grid.blocks[dim]
            stride *= grid.blocks[dim]
        return self._nest.coordinates(first, f"_{operand}")

    def _in_step(self) -> str:
        return " * ".join(f"({self._nest.count(d, NOW)})" for d in self._nest.inner) or "1"

    def _in_block(self) -> str:
        """Products in all steps of a block of results."""
        counts = [self._nest.count(d, NOW) for d in self._nest.inner if d not in self._nest.computation.reduction]
        reduced = prod(self._grid.tiles[d] for d in self._nest.computation.reduction)
        return " * ".join([*(f"({count})" for count in counts), str(reduced)])

    def _results(self) -> Stream:
        """The stores of the block before. After each comes what starts the results of the block to come, in the rows of
        the store before it. So stores are far apart, and starts side by side share their latency. Where these rows are
        others, starts come first."""
        nest, grid = self._nest, self._grid
        block, turns = grid.steps_of_result, grid.phases("result")
        phase = nest.phase("result", f"step + {block}")
        if nest.computation.windows:
            return self._images(phase)
        before = nest.phase("result", f"step + {block * (turns - 1)}")
        if not nest.started:
            unravel, tile = nest.unravelled("result", "results", LAST, "_moved")
            inside = [*unravel, *nest.store(tile, LAST, before)]
            total = f"(step >= {block} ? {nest.total('result', LAST)} : 0)"
            return Stream("result", total, self._in_block(), self._first_of_result(), inside)
        moved, stored, moves = nest.of_whole_block("result", "results", "_moved")
        after = turns == 2  # starts, in the rows of stores
        begun, started, _ = nest.of_whole_block("result", "results - 1" if after else "results", "_begun")
        leaves = [f"step >= {block}", f"results < {moves}", *nest.within(stored, LAST)]
        starts = [*nest.ordered("store", "load"), *nest.starts(started, THEN, phase)]
        follows = [*begun, *self._guarded(" && ".join(nest.within(started, THEN)) or "1", starts)]
        inside = [*moved, *self._guarded(" && ".join(leaves), nest.store(stored, LAST, before))]
        if after:
            inside += self._guarded(f"step < {grid.steps - block} && results > 0", follows)
        else:
            inside = [*self._guarded(f"step < {grid.steps - block}", follows), *inside]
        total = str(moves + 1 if after else moves)
        return Stream("result", total, self._in_block(), self._first_of_result(), inside, at_once=not after)

    def _images(self, phase: str) -> Stream:
        """The same for results that are pooled: after the store of an image what starts the results of the one to come
        in its rows, one tile after another. In between is a pause in which the store reads the image: loads that wait
        for it hold up those after them."""
        nest, grid = self._nest, self._grid
        block = grid.steps_of_result
        dims = [d for d in nest.tile_order("result") if d in nest.computation.windows]
        tiles = prod(grid.block[d] for d in dims)
        pause = self._pause(tiles)
        pieces = 1 + pause + tiles
        image, stored, images = nest.of_whole_block("result", f"results / {pieces}", "_moved")
        tile, inside = dict(stored), 1
        begun: Lines = []
        for dim in reversed(dims):
            begun.append(f"const int {dim}_begun = (results % {pieces} - {1 + pause}) / {inside} % {grid.block[dim]};")
            tile[dim] = f"{dim}_begun"
            inside *= grid.block[dim]
        leaves = [f"step >= {block}", f"results % {pieces} == 0", *nest.within(stored, LAST)]
        lines = [*image, *self._guarded(" && ".join(leaves), nest.store(stored, LAST, phase))]
        if nest.started:
            starts = [*nest.ordered("store", "load"), *nest.start(tile, THEN, phase)]
            begun += self._guarded(" && ".join(nest.within(tile, THEN)) or "1", starts)
            lines += self._guarded(f"step < {grid.steps - block} && results % {pieces} > {pause}", begun)
        return Stream("result", str(images * pieces), self._in_block(), self._first_of_result(), lines)

    def _pause(self, tiles: int) -> int:
        """Starts of tiles that are left out while a store reads an image. Products take a cycle for each row of a
        result and each tile of its reduction."""
        grid, leaves = self._grid, self._nest.leaves
        rows = prod(grid.size[dim] * windows.size for dim, windows in grid.computation.windows.items())
        read = rows * reading_cycles(unit_settings(leaves.accelerator, leaves.store.instruction))
        computed = grid.image * prod(grid.tiles[d] for d in grid.computation.reduction)
        return min(round(tiles * read / computed), tiles)


def _at_once(*orders: Lines) -> Lines:
    """Pairs of a signal and a wait side by side: all signals, then all waits, each once."""
    signals, waits = ([line for order in orders for line in order[half::2] if line] for half in (0, 1))
    return list(dict.fromkeys([*signals, *waits]))
