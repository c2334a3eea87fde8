"""The transformations that ship."""

from __future__ import annotations

from autocomp.data import closest
from autocomp.transforms.block_diagonal import BlockDiagonal
from autocomp.transforms.collapse import Collapse
from autocomp.transforms.defer_stores import DeferStores
from autocomp.transforms.double_buffer import DoubleBuffer
from autocomp.transforms.drop_fence import DropFence
from autocomp.transforms.fuse import Fuse
from autocomp.transforms.hoist import Hoist
from autocomp.transforms.keep_accumulator import KeepAccumulator
from autocomp.transforms.load_at_first_use import LoadAtFirstUse
from autocomp.transforms.merge_depth import MergeDepth
from autocomp.transforms.negate_on_store import NegateOnStore
from autocomp.transforms.pad_input import PadInput
from autocomp.transforms.place_in_banks import PlaceInBanks
from autocomp.transforms.prefetch import Prefetch
from autocomp.transforms.protocol import NotApplicable, Transformation
from autocomp.transforms.reorder import Reorder
from autocomp.transforms.reuse_weights import ReuseWeights
from autocomp.transforms.simplify import Simplify
from autocomp.transforms.split import Split
from autocomp.transforms.stage_operand import StageOperand
from autocomp.transforms.stage_window import StageWindow
from autocomp.transforms.straight.add_in_place import AddInPlace
from autocomp.transforms.straight.drop_unused import DropUnused
from autocomp.transforms.straight.keep_results import KeepResults
from autocomp.transforms.straight.load_once import LoadOnce
from autocomp.transforms.straight.order_commands import OrderCommands
from autocomp.transforms.straight.own_rows import OwnRows
from autocomp.transforms.straight.write_out import WriteOut
from autocomp.transforms.tile import Tile
from autocomp.transforms.unroll import Unroll
from autocomp.transforms.widen_moves import WidenMoves

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
