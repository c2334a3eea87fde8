"""Routes: sequences of rewrites that pay together and hardly one by one, tried as one change on a plain kernel.

A descriptor without large tiles, or large tiles without descriptors, gains nothing; both together do. A route is a list
of rewrites, each left out where it does not apply.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from autocomp.targets.triton.language import Module
from autocomp.targets.triton.rewrites import Setting
from autocomp.targets.triton.rewrites.groups.common import HOPPER
from autocomp.targets.triton.rewrites.parameters import SetParameters, programs_of
from autocomp.targets.triton.rewrites.syntax.tree import calls_in, has_dot, launches_of, main_kernels, text_of
from autocomp.targets.triton.rewrites.tiles import SCALE_BLOCK, sums_of_products
from autocomp.targets.triton.row_routes import row_routes, settle, states_sizes
from autocomp.targets.triton.way import Route, Way

LATER = 0.25  # gain that persistent programs lose for float32, whose products take three passes: stores matter less
UNSURE = 0.5  # gain of warp specialisation, whose kernels leave a tile unwritten now and then (docs/gpu-results.md)
APART = 0.2  # gain that products lose which are made one by one where one kernel could make both
SELECTS = 0.04  # gain that flattened loops over several sums lose: they select zeros or sums, and wait for products
LAST_WAVE = ", the last wave in small tiles"
REST = {"num_warps": 4, "num_stages": 5}  # of the small tiles that finish a wave
SHORT_SUM = 4  # rounds of a loop over products up to which storing the results takes longer
SEVERAL = 10  # kernels of a module from which each is looked at by itself
CLEANING = ("uniform_index", "skip_masked", "implied_mask", "exp2", "defer_scale", "reciprocal")


def routes(module: Module, setting: Setting) -> list[Route]:
    """The routes that a module has, the most promising first. None for a module that has taken one."""
    if any(trace in module.text for trace in ("_descriptors", "eviction_policy", "gluon")):
        return []
    kernels = main_kernels(module)
    if len(kernels) > SEVERAL:
        return [_each_by_itself(module, setting)]
    dots = [kernel for kernel in kernels if has_dot([module.kernels[kernel]])]
    settings = list(_products(module, setting) if dots else row_routes(module, setting))
    return sorted((route for route in settings if route.steps), key=lambda route: -route.gain)


def _each_by_itself(module: Module, setting: Setting) -> Route:
    """The sizes that suit each of many kernels, as a network has them: pairs of them are too many to look at. Tiles
    are only as large as leaves no multiprocessor without one."""
    way = Way(module, setting)
    if setting.element_bytes == 4 and setting.capability >= (8, 0):
        way.each("product_precision", dots=True)
    settle(way, 0)
    for kernel in main_kernels(way.module):
        if has_dot([way.module.kernels[kernel]]):
            offers = SetParameters().offers_of(way.module, kernel, setting)
            suited = (offer.parameters["values"] for offer in offers if len(offer.parameters["values"]) >= 4)
            busy = (v for v in suited if programs_of(way.module, kernel, v) >= setting.multiprocessors)
            way.take("set_parameters", kernel=kernel, values=next(busy, {"num_warps": 4}))
    return way.done("the sizes that suit each kernel", 0.95)


# --- kernels that multiply matrices ----------------------------------------------------------------------------------


def _products(module: Module, setting: Setting) -> Iterator[Route]:
    groups = Way(module, setting)
    if setting.capability[0] == HOPPER and groups.each("attention_groups", programs=setting.multiprocessors):
        yield groups.done("groups of warps load or multiply, the next scores beside this softmax", 0.97)
    start = Way(module, setting)
    for follower in main_kernels(module):
        for producer in main_kernels(module):
            start.take("fuse_epilogue", kernel=follower, producer=producer)
    for name in CLEANING:
        start.each(name)
    if states_sizes(module):
        settle(start, 0)
    if setting.element_bytes == 4 and setting.capability >= (8, 0):
        start.each("product_precision", dots=True)
    if any(_chains(start.module.kernels[kernel]) for kernel in main_kernels(start.module)):
        yield from _attention(start)
        return
    joined = start.copy()
    for kernel in main_kernels(start.module):
        for producer in main_kernels(start.module):
            joined.take("join_products", kernel=kernel, producer=producer)
    if len(joined.steps) > len(start.steps):
        yield from _joined_groups(joined)
        yield from _tiles(joined)
    yield from _tiles(start, APART if len(joined.steps) > len(start.steps) else 0.0)


def _chains(function: ast.FunctionDef) -> bool:
    """True for a kernel with a product whose left operand another product gives, but not for parts of a sum."""
    return len({text_of(call.args[0]) for call in calls_in([function], "dot")}) > 1 < sums_of_products(function)


def _tile_offers(way: Way, kernel: str = "") -> list[Mapping[str, int]]:
    """The tiles that suit a kernel with products, else the first one, best first."""
    kernel = kernel or next(k for k in main_kernels(way.module) if has_dot([way.module.kernels[k]]))
    settings: list[Mapping[str, int]] = []
    for offer in SetParameters().offers(way.module, way.setting):
        values = offer.parameters["values"]
        if offer.parameters["kernel"] == kernel and len(values) >= 4 and values not in settings:
            settings.append(values)
    return settings


def _set_tiles(way: Way, position: int, values: Mapping[str, int]) -> None:
    """Give kernels with products tiles of one place in the order of those that suit each; the first has `values`."""
    kernels = [k for k in main_kernels(way.module) if has_dot([way.module.kernels[k]])]
    suited = {kernel: _tile_offers(way, kernel) for kernel in kernels[1:]}
    way.set(True, values)
    for kernel, offers in suited.items():
        if offers and position < len(offers) and offers[position] != values:
            for launch in range(len(launches_of(way.module.tree, kernel))):
                way.take("set_parameters", kernel=kernel, launch=launch, values=dict(offers[position]))


def _tiles(start: Way, below: float = 0.0) -> Iterator[Route]:
    """Products: descriptors for loads or for stores too, groups, large tiles; persistent, with split stores."""
    modern = start.setting.capability >= (9, 0)
    later = LATER if start.setting.element_bytes == 4 else 0.0
    several = any(sums_of_products(start.module.kernels[kernel]) > 1 for kernel in main_kernels(start.module))
    if modern and any(_promotes(function) for function in start.module.kernels.values()):
        yield from _promoted(start)
    for position, values in enumerate(_tile_offers(start)[:6]):
        gain = 0.9 - 0.03 * position - below
        shown = " x ".join(str(v) for v in list(values.values())[:-2])
        for stores in (True, False) if modern else (False,):
            way = start.copy()
            _described(way, stores)
            _set_tiles(way, position, values)
            what = f"tiles of {shown}" + (", loads and stores by descriptors" if stores else ", loads by descriptors")
            less = 0.02 if stores else later
            yield way.done(what if modern else f"tiles of {shown} in groups", gain - less)
            if stores and position < 3:
                for flatten in (True, False):
                    far = way.copy()
                    far.each("persistent", dots=True, programs=start.setting.multiprocessors, flatten=flatten)
                    far.each("split_store", dots=True)
                    how = "flattened" if flatten else "nested"
                    less = later + (SELECTS if flatten and several else 0.0)
                    yield far.done(f"{what}, persistent in {how} loops, stores in halves", gain + 0.01 - less)
                    if flatten != several and far.take("overlap_launches"):
                        yield far.done(f"{what}, persistent, stores in halves, launches overlap", gain + 0.02 - less)
                if position < 2:
                    whole = way.copy()
                    if _in_whole_waves(whole, not several):
                        yield whole.done(f"{what}, persistent{LAST_WAVE}", gain + 0.005 - later)
                halves = way.copy()
                halves.each("split_store", dots=True)
                yield halves.done(f"{what}, stores in halves", gain - 0.01 - later)


def _in_whole_waves(way: Way, flatten: bool) -> bool:
    """Whole waves of tiles in persistent programs, and small tiles for the rest; False where that does not apply."""
    taken = False
    for kernel in main_kernels(way.module):
        taken |= _finish(way, kernel)
        way.take("persistent", kernel=kernel, programs=way.setting.multiprocessors, flatten=flatten)
        way.take("split_store", kernel=kernel)
    way.take("overlap_launches")
    return taken


def _finish(way: Way, kernel: str) -> bool:
    """The tiles of a kernel's last wave in quarters, by a kernel of their own."""
    before = main_kernels(way.module)
    if not way.take("finish_wave", kernel=kernel, programs=way.setting.multiprocessors, rows=2, columns=2):
        return False
    for rest in set(main_kernels(way.module)) - set(before):
        way.take("set_parameters", kernel=rest, values=REST)
    return True


def _joined_groups(joined: Way) -> Iterator[Route]:
    """Two products of the same rows, made as one by groups of warps; other products in persistent programs."""
    programs = joined.setting.multiprocessors
    for position, (order, finishes) in enumerate(((16, True), (8, True), (16, False))):
        way, taken = joined.copy(), False
        _described(way, True, order)
        _set_tiles(way, 0, _tile_offers(way)[0])
        for kernel in main_kernels(way.module):
            if sums_of_products(way.module.kernels[kernel]) > 1:
                if finishes:
                    _finish(way, kernel)
                taken |= way.take("warp_groups", kernel=kernel, groups=2, chain=1, stages=4, programs=programs)
            else:
                way.take("persistent", kernel=kernel, programs=programs, flatten=True)
                way.take("split_store", kernel=kernel)
        way.take("overlap_launches")
        if taken:
            rest = LAST_WAVE if finishes else ""
            reason = f"groups of warps make both products as one, in groups of {order}{rest}"
            yield way.done(reason, 0.97 - 0.01 * position)


def _described(way: Way, stores: bool, group: int = 8) -> None:
    """Descriptors where the device has them, and tiles in groups of rows."""
    modern = way.setting.capability >= (9, 0)
    if modern and not way.each("tensor_descriptors", dots=True, stores=stores):
        way.each("tensor_descriptors", dots=True, stores=False)
    way.each("group_programs", dots=True, group=group)


def _promotes(function: ast.FunctionDef) -> bool:
    """True where a loop scales each product before it is added to the sum, which keeps tensor cores waiting."""
    sums = [node.value for node in ast.walk(function) if isinstance(node, ast.AugAssign)]
    scaled = [part for value in sums for part in ast.walk(value) if isinstance(part, ast.BinOp)]
    return any(isinstance(part.op, ast.Mult) and has_dot([ast.Expr(part)]) for part in scaled)


def _promoted(start: Way) -> Iterator[Route]:
    """Products that are scaled one by one. Short sums: results are most of the traffic, and two programs a
    multiprocessor store them beside each other's products. Long ones: groups of warps add and multiply in turns."""
    long = start.setting.dims.get("K", 0) // SCALE_BLOCK > SHORT_SUM
    names = list(_tile_offers(start)[0])[:2]
    yield from _grouped(start, names)
    for position, (rows, cols, stages, group) in enumerate(((128, 128, 4, 8), (128, 128, 4, 4), (128, 128, 3, 8))):
        way = start.copy()
        _described(way, False, group)
        way.set(True, {**dict(zip(names, (rows, cols), strict=True)), "num_stages": stages})
        way.each("persistent", dots=True, programs=start.setting.multiprocessors, flatten=False)
        if way.each("warp_specialise", dots=True):
            reason = (
                f"tiles of {rows} x {cols}, {stages} stages in groups of {group}, warps load or multiply, persistent"
            )
            yield way.done(reason, UNSURE - 0.02 * position)
    for position, (rows, cols, stages, group) in enumerate(
        ((64, 128, 3, 8), (64, 128, 3, 16), (128, 64, 3, 8), (64, 128, 4, 8))
    ):
        way = start.copy()
        _described(way, True, group)
        way.set(True, {**dict(zip(names, (rows, cols), strict=True)), "num_warps": 4, "num_stages": stages})
        way.each("persistent", dots=True, programs=2 * start.setting.multiprocessors, flatten=True)
        reason = f"tiles of {rows} x {cols}, {stages} stages in groups of {group}, two programs each, persistent"
        yield way.done(reason, (0.75 if long else 0.95) - 0.02 * position)


def _grouped(start: Way, names: Sequence[str]) -> Iterator[Route]:
    """Groups of warps that multiply, and one warp that loads: two groups with two products each in flight, or three
    groups with one."""
    if start.setting.capability[0] != HOPPER:
        return
    ways = (
        *((2, 2, 5, 8, False), (3, 1, 4, 4, False), (2, 2, 6, 8, True), (3, 1, 4, 8, False), (2, 2, 6, 4, False)),
        *((2, 2, 6, 8, False), (3, 1, 4, 2, False), (2, 2, 5, 16, False)),
    )
    for position, (groups, chain, stages, order, finishes) in enumerate(ways):
        way = start.copy()
        _described(way, True, order)
        rows, columns = 64 * groups, 128
        way.set(True, dict(zip(names, (rows, columns), strict=True)))
        given = {"groups": groups, "chain": chain, "stages": stages, "programs": start.setting.multiprocessors}
        taken = False
        for kernel in main_kernels(way.module):
            if not finishes or _finish(way, kernel):
                taken |= way.take("warp_groups", kernel=kernel, **given)
        if taken:
            reason = f"{groups} groups of warps on tiles of {rows} x {columns}, {stages} stages, in groups of {order}"
            reason += LAST_WAVE if finishes else ""
            yield way.done(reason, 0.97 - 0.005 * position)


def _attention(start: Way) -> Iterator[Route]:
    """Two products in one loop: descriptors, the longest programs first; warps that load or multiply; split masks."""
    start.each("reverse_programs", dots=True, axis=0)
    offers = _tile_offers(start)
    for position, values in enumerate(offers[:6]):
        gain = 0.85 - 0.03 * position
        shown = " x ".join(str(v) for v in list(values.values())[:2])
        way = start.copy()
        split = way.each("split_masked", dots=True)
        way.each("tensor_descriptors", dots=True, stores=False)
        way.set(True, values)
        yield way.done(
            f"tiles of {shown}, descriptors" + (", unmasked blocks in a loop of their own" if split else ""), gain
        )
        plain = start.copy()
        plain.set(True, values)
        yield plain.done(f"tiles of {shown}", gain - 0.2)
    names = list(offers[0])[:2] if offers else []
    for rows, cols, stages, options in ((128, 128, 2, {"maxnreg": 168}), (128, 128, 2, {}), (128, 64, 2, {})):
        way = start.copy()
        way.each("tensor_descriptors", dots=True, stores=False)
        if names and way.each("warp_specialise", dots=True):
            way.set(True, {**dict(zip(names, (rows, cols), strict=True)), "num_stages": stages, **options})
            limit = ", 168 registers" if options else ""
            yield way.done(
                f"tiles of {rows} x {cols}, warps load or multiply{limit}", 0.9 - (0.02 if not options else 0)
            )
