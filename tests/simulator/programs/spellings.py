"""The ways in which C kernels may write an instruction of the systolic array: the header's macros and the short forms.

Written from the macros' definitions: what a form leaves out has the value that its macro fills in.
"""

from __future__ import annotations

from collections.abc import Callable

Spelling = tuple[str, tuple[float, ...]]
Arguments = tuple[float, ...]
MOVES = ("mvin", "mvin2", "mvin3")


def spellings(name: str, arguments: Arguments, dim: int) -> list[Spelling]:
    """Every call that means instruction `name` with `arguments` on a machine of `dim` lanes."""
    return FORMS[name](arguments, dim)


def configure_execute(given: Arguments, dim: int) -> list[Spelling]:
    dataflow, act, shift, scale, a_stride, c_stride, at, bt, only = given
    found: list[Spelling] = [
        ("configure_execute", given),
        ("gemmini_extended3_config_ex", (dataflow, act, shift, scale, c_stride, a_stride, at, bt, only)),
    ]
    if scale == 1.0 and c_stride == 1:
        found.append(("gemmini_extended2_config_ex", (dataflow, act, shift, a_stride, at, bt, only)))
        if not only:
            found.append(("gemmini_extended_config_ex", (dataflow, act, shift, a_stride, at, bt)))
            if shift == 0:
                found.append(("config_ex", (dataflow, act, a_stride, at, bt)))
            if (a_stride, at, bt) == (1, 0, 0):
                found.append(("gemmini_config_ex", (dataflow, act, shift)))
    return found


def configure_load(given: Arguments, dim: int) -> list[Spelling]:
    index, stride, scale, shrunk, block, repeats = given
    found: list[Spelling] = [
        ("configure_load", given),
        ("gemmini_extended5_config_ld", (stride, scale, shrunk, block, repeats, index)),
    ]
    if repeats != 1:
        return found
    found.append(("gemmini_extended4_config_ld", (stride, scale, shrunk, block, index)))
    if not shrunk:
        found.append(("config_ld", (stride, scale, block, index)))
    if block != dim:
        return found
    found.append(("gemmini_extended3_config_ld", (stride, scale, shrunk, index)))
    if not shrunk:
        found.append(("config_ld", (stride, scale, index)))
    if index == 0:
        found.append(("gemmini_extended2_config_ld", (stride, scale, shrunk)))
        if not shrunk:
            found.append(("gemmini_extended_config_ld", (stride, scale)))
            if scale == 1.0:
                found.append(("gemmini_config_ld", (stride,)))
    return found


def configure_store(given: Arguments, dim: int) -> list[Spelling]:
    stride, act, scale, *pool = given
    found: list[Spelling] = [("configure_store", given), ("gemmini_extended2_config_st", given)]
    if not any(pool):
        found.append(("gemmini_extended_config_st", (stride, act, scale)))
        if act == 0:
            found.append(("config_st", (stride, scale)))
            if scale == 1.0:
                found += [("config_st", (stride,)), ("gemmini_config_st", (stride,))]
    return found


def move_in(given: Arguments, dim: int) -> list[Spelling]:
    index, src, dst, cols, rows = given
    name = MOVES[int(index)]
    found: list[Spelling] = [
        ("move_in", given),
        (name, (src, dst, cols, rows)),
        (f"gemmini_extended_{name}", (src, dst, cols, rows)),
    ]
    if rows == dim and cols == dim:
        found.append((f"gemmini_{name}", (src, dst)))
    if rows == dim and cols % dim == 0:
        found.append((f"gemmini_block_{name}", (src, dst, cols // dim)))
    return found


def move_out(given: Arguments, dim: int) -> list[Spelling]:
    found: list[Spelling] = [(name, given) for name in ("move_out", "mvout", "gemmini_extended_mvout")]
    if given[2:] == (dim, dim):
        found.append(("gemmini_mvout", given[:2]))
    return found


def preload(given: Arguments, dim: int) -> list[Spelling]:
    found: list[Spelling] = [("preload", given), ("gemmini_extended_preload", given)]
    if given[2:] == (dim,) * 4:
        found.append(("gemmini_preload", given[:2]))
        if given[0] == 0xFFFFFFFF:
            found += [("preload_zeros", given[1:2]), ("gemmini_preload_zeros", given[1:2])]
    return found


def compute(given: Arguments, dim: int) -> list[Spelling]:
    flip, *operands = given
    name = "compute_preloaded" if flip else "compute_accumulated"
    found: list[Spelling] = [
        ("compute", given),
        (name, tuple(operands)),
        (f"gemmini_extended_{name}", tuple(operands)),
    ]
    if operands[2:] == [dim] * 4:
        found.append((f"gemmini_{name}", tuple(operands[:2])))
    return found


def plain(name: str) -> Callable[[Arguments, int], list[Spelling]]:
    return lambda given, dim: [(name, given), (f"gemmini_{name}", given)]


def undecorated(name: str) -> Callable[[Arguments, int], list[Spelling]]:
    return lambda given, dim: [(name, given)]


def loop_run(given: Arguments, dim: int) -> list[Spelling]:
    """A whole loop: the macro configures it as well."""
    return [("loop_ws_run", given), ("gemmini_loop_ws", (0,) * 23)]


def convolution_run(given: Arguments, dim: int) -> list[Spelling]:
    """A whole loop over convolutions: the macro configures it as well."""
    return [("loop_conv_ws_run", given), ("gemmini_loop_conv_ws", (0,) * 54)]


FORMS: dict[str, Callable[[Arguments, int], list[Spelling]]] = {
    "configure_execute": configure_execute,
    "configure_load": configure_load,
    "configure_store": configure_store,
    "move_in": move_in,
    "move_out": move_out,
    "preload": preload,
    "compute": compute,
    "loop_ws_config_bounds": undecorated("loop_ws_config_bounds"),
    "loop_ws_config_addrs_ab": undecorated("loop_ws_config_addrs_ab"),
    "loop_ws_config_addrs_dc": undecorated("loop_ws_config_addrs_dc"),
    "loop_ws_config_strides_ab": undecorated("loop_ws_config_strides_ab"),
    "loop_ws_config_strides_dc": undecorated("loop_ws_config_strides_dc"),
    "loop_ws_run": loop_run,
    **{name: undecorated(name) for name in (f"loop_conv_ws_config_{part}" for part in range(1, 7))},
    "loop_conv_ws_run": convolution_run,
    "fence": plain("fence"),
    "flush": plain("flush"),
}
