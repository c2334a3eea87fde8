"""The transformations that ship."""

from __future__ import annotations

from autocomp.data import closest
from autocomp.transforms.errors import NotApplicable
from autocomp.transforms.nests.block_diagonal import BlockDiagonal
from autocomp.transforms.nests.collapse import Collapse
from autocomp.transforms.nests.defer_stores import DeferStores
from autocomp.transforms.nests.double_buffer import DoubleBuffer
from autocomp.transforms.nests.drop_fence import DropFence
from autocomp.transforms.nests.fuse import Fuse
from autocomp.transforms.nests.hoist import Hoist
from autocomp.transforms.nests.keep_accumulator import KeepAccumulator
from autocomp.transforms.nests.load_at_first_use import LoadAtFirstUse
from autocomp.transforms.nests.merge_depth import MergeDepth
from autocomp.transforms.nests.negate_on_store import NegateOnStore
from autocomp.transforms.nests.pad_input import PadInput
from autocomp.transforms.nests.place_in_banks import PlaceInBanks
from autocomp.transforms.nests.prefetch import Prefetch
from autocomp.transforms.nests.reorder import Reorder
from autocomp.transforms.nests.reuse_weights import ReuseWeights
from autocomp.transforms.nests.simplify import Simplify
from autocomp.transforms.nests.split import Split
from autocomp.transforms.nests.stage_operand import StageOperand
from autocomp.transforms.nests.stage_window import StageWindow
from autocomp.transforms.nests.tile import Tile
from autocomp.transforms.nests.unroll import Unroll
from autocomp.transforms.nests.widen_moves import WidenMoves
from autocomp.transforms.protocol import Transformation
from autocomp.transforms.straight.add_in_place import AddInPlace
from autocomp.transforms.straight.drop_unused import DropUnused
from autocomp.transforms.straight.keep_results import KeepResults
from autocomp.transforms.straight.load_once import LoadOnce
from autocomp.transforms.straight.order_commands import OrderCommands
from autocomp.transforms.straight.own_rows import OwnRows
from autocomp.transforms.straight.write_out import WriteOut

TRANSFORMATIONS: tuple[Transformation, ...] = (
    BlockDiagonal(),
    PadInput(),
    MergeDepth(),
    KeepAccumulator(),
    StageOperand(),
    StageWindow(),
    WidenMoves(),
    PlaceInBanks(),
    DoubleBuffer(),
    Prefetch(),
    LoadAtFirstUse(),
    DeferStores(),
    ReuseWeights(),
    Tile(),
    Reorder(),
    Collapse(),
    Split(),
    Fuse(),
    Unroll(),
    NegateOnStore(),
    DropFence(),
    WriteOut(),
    OwnRows(),
    LoadOnce(),
    KeepResults(),
    AddInPlace(),
    DropUnused(),
    OrderCommands(),
    Hoist(),
    Simplify(),
)


def transformation(name: str) -> Transformation:
    """The transformation of a name. Raises NotApplicable, with the closest name, where there is none."""
    for item in TRANSFORMATIONS:
        if item.name == name:
            return item
    known = [item.name for item in TRANSFORMATIONS]
    near = closest(name, known)
    raise NotApplicable(
        f"no transformation is called {name!r}",
        hint=(f"did you mean {near!r}? " if near else "") + f"known: {', '.join(known)}",
    )
