"""The parts that kernels by groups of warps share: how groups are started in Gluon, barriers, layouts and names.

Triton's compiler keeps all warps of a program in step. In Gluon the loading warp runs ahead through barriers in shared
memory, and the groups drift apart, so that one adds scaled products while another one keeps the tensor cores busy.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence

from autocomp.targets.triton.language.module import Launch, dotted
from autocomp.targets.triton.rewrites.rewrite import refuse
from autocomp.targets.triton.rewrites.syntax.tree import (
    block_of,
    expression,
    launch_statement,
    replace_calls,
    statements,
    text_of,
)

HOPPER = 9  # warp-group products are of this generation alone
DESCRIPTOR = "GroupDescriptor"
IMPORTS = (
    "from triton.experimental import gluon",
    "from triton.experimental.gluon import language as gl",
    "from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma, warpgroup_mma, warpgroup_mma_wait, "
    "fence_async_shared",
    f"from triton.experimental.gluon.nvidia.hopper import TensorDescriptor as {DESCRIPTOR}",
)
GROUP_THREADS, REGISTERS = 128, 65_536  # of a group of warps; of a multiprocessor (CUDA programming guide)
MOST_REGISTERS = 240  # of a thread in a group that multiplies


def registers(groups: int) -> list[int]:
    """Registers a thread of each worker: of the multiplying groups after the first, then of the one that loads. The
    first group gets what is left."""
    loading = 40 if groups < 3 else 32
    pool = REGISTERS // (GROUP_THREADS * (groups + 1)) // 8 * 8 * (groups + 1)
    each = min((pool - loading) // groups // 8 * 8, MOST_REGISTERS)
    return [each] * (groups - 1) + [loading]


def specialised(first: str, others: Sequence[str]) -> str:
    """The call that starts the groups: each argument is a function and its arguments."""
    entries = ", ".join((first, *others))
    return f"gl.warp_specialize([{entries}], {[4] * (len(others) - 1) + [1]}, {registers(len(others))})"


def barriers(names: Sequence[str], depth: str) -> str:
    """Shared memory for rows of barriers."""
    lines = [
        f"    {name} = gl.allocate_shared_memory(gl.int64, [{depth}, 1], mbarrier.MBarrierLayout())" for name in names
    ]
    return "\n".join(lines)


def layout(tensor: str) -> str:
    """The layout of a tensor's tiles in shared memory, on the host."""
    return f"gl.NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth={tensor}.element_size() * 8, rank=2)"


def import_gluon(tree: ast.Module) -> None:
    present = {text_of(node) for node in tree.body}
    last = max((i for i, n in enumerate(tree.body) if isinstance(n, (ast.Import, ast.ImportFrom))), default=-1)
    added = [node for text in IMPORTS for node in statements(text) if text_of(node) not in present]
    tree.body[last + 1 : last + 1] = added


def in_gluon(node: ast.AST | str) -> str:
    """A statement or an expression in Gluon's names."""
    nodes: list[ast.AST] = list(statements(node)) if isinstance(node, str) else [copy.deepcopy(node)]

    def minimum(call: ast.Call) -> ast.expr | None:
        if isinstance(call.func, ast.Name) and call.func.id in ("min", "max"):
            call.func = expression(f"gl.{call.func.id}imum")
        return None

    replace_calls(nodes, minimum)
    for part in (n for item in nodes for n in ast.walk(item)):
        if isinstance(part, ast.Name) and part.id == "tl":
            part.id = "gl"
    return "\n".join(text_of(item) for item in nodes)


def indented(text: str, depth: int) -> str:
    """A text some levels deeper."""
    return "\n".join("    " * depth + line for line in text.splitlines())


def describe_for_groups(launch: Launch, halved: set[str], groups: int) -> None:
    """Make a launch's descriptors Gluon's, those of rows that groups share with as many rows as one group has."""
    for keyword in launch.node.keywords:
        value = keyword.value
        if not (isinstance(value, ast.Call) and dotted(value.func) == "TensorDescriptor"):
            continue
        value.func = ast.Name(DESCRIPTOR, ast.Load())
        block = value.args[3]
        if not isinstance(block, ast.List) or len(block.elts) != 2:
            raise refuse("a tile has other than two dimensions")
        if keyword.arg in halved:
            block.elts[0] = expression(f"({text_of(block.elts[0])}) // {groups}")
        value.args.append(expression(layout(text_of(value.args[0]))))


def only_on_device(host: ast.FunctionDef, launch: Launch) -> None:
    """Add to the test before a launch that its tensors are on a device: the interpreter has no groups."""
    place, _ = block_of(host, launch_statement(host, launch))
    tensor = next(
        text_of(k.value.args[0])
        for k in launch.node.keywords
        if isinstance(k.value, ast.Call) and len(k.value.args) == 5
    )
    for node in ast.walk(host):
        if isinstance(node, ast.If) and place is node.body:
            node.test = expression(f"{tensor}.is_cuda and {text_of(node.test)}")
            return
    raise refuse("no other kernel is kept for tensors that descriptors cannot describe")
