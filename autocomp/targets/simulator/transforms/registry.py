"""The transformations that ship."""

from __future__ import annotations

from autocomp.data import closest
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.nests.block_diagonal import BlockDiagonal
from autocomp.targets.simulator.transforms.nests.collapse import Collapse
from autocomp.targets.simulator.transforms.nests.defer_stores import DeferStores
from autocomp.targets.simulator.transforms.nests.double_buffer import DoubleBuffer
from autocomp.targets.simulator.transforms.nests.drop_fence import DropFence
from autocomp.targets.simulator.transforms.nests.fuse import Fuse
from autocomp.targets.simulator.transforms.nests.hoist import Hoist
from autocomp.targets.simulator.transforms.nests.keep_accumulator import KeepAccumulator
from autocomp.targets.simulator.transforms.nests.load_at_first_use import LoadAtFirstUse
from autocomp.targets.simulator.transforms.nests.merge_depth import MergeDepth
from autocomp.targets.simulator.transforms.nests.move_products import MoveProducts
from autocomp.targets.simulator.transforms.nests.negate_on_store import NegateOnStore
from autocomp.targets.simulator.transforms.nests.pad_input import PadInput
from autocomp.targets.simulator.transforms.nests.place_in_banks import PlaceInBanks
from autocomp.targets.simulator.transforms.nests.prefetch import Prefetch
from autocomp.targets.simulator.transforms.nests.reorder import Reorder
from autocomp.targets.simulator.transforms.nests.reuse_weights import ReuseWeights
from autocomp.targets.simulator.transforms.nests.schedule import ChooseSchedule
from autocomp.targets.simulator.transforms.nests.simplify import Simplify
from autocomp.targets.simulator.transforms.nests.split import Split
from autocomp.targets.simulator.transforms.nests.stage_operand import StageOperand
from autocomp.targets.simulator.transforms.nests.stage_window import StageWindow
from autocomp.targets.simulator.transforms.nests.tile import Tile
from autocomp.targets.simulator.transforms.nests.unroll import Unroll
from autocomp.targets.simulator.transforms.nests.widen_moves import WidenMoves
from autocomp.targets.simulator.transforms.protocol import Transformation
from autocomp.targets.simulator.transforms.straight.add_in_place import AddInPlace
from autocomp.targets.simulator.transforms.straight.drop_unused import DropUnused
from autocomp.targets.simulator.transforms.straight.keep_results import KeepResults
from autocomp.targets.simulator.transforms.straight.load_once import LoadOnce
from autocomp.targets.simulator.transforms.straight.order_commands import OrderCommands
from autocomp.targets.simulator.transforms.straight.own_rows import OwnRows
from autocomp.targets.simulator.transforms.straight.write_out import WriteOut

TRANSFORMATIONS: tuple[Transformation, ...] = (
    MoveProducts(),
    ChooseSchedule(),
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
        f"unknown transformation {name!r}",
        hint=(f"did you mean {near!r}? " if near else "") + f"known: {', '.join(known)}",
    )
