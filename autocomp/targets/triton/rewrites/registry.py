"""The rewrites that ship."""

from __future__ import annotations

from autocomp.data import closest
from autocomp.errors import NotApplicable
from autocomp.targets.triton.rewrites.arithmetic import DeferScale, Exp2, Reciprocal, UniformIndex
from autocomp.targets.triton.rewrites.causal import ImpliedMask, SkipMasked, SplitMasked
from autocomp.targets.triton.rewrites.descriptors import TensorDescriptors
from autocomp.targets.triton.rewrites.fusion import FuseEpilogue, OverlapLaunches
from autocomp.targets.triton.rewrites.group_attention import AttentionGroups
from autocomp.targets.triton.rewrites.group_products import WarpGroups
from autocomp.targets.triton.rewrites.joining import JoinProducts
from autocomp.targets.triton.rewrites.loops import LoopOptions, SplitStore, WarpSpecialise
from autocomp.targets.triton.rewrites.parameters import SetParameters
from autocomp.targets.triton.rewrites.precision import ProductPrecision
from autocomp.targets.triton.rewrites.programs import GroupPrograms, Persistent, ReversePrograms
from autocomp.targets.triton.rewrites.rewrite import Rewrite
from autocomp.targets.triton.rewrites.rows import CacheHints, JoinPairs, OneBlock, OnlineSoftmax, RowsPerProgram
from autocomp.targets.triton.rewrites.waves import FinishWave

REWRITES: tuple[Rewrite, ...] = (
    SetParameters(),
    TensorDescriptors(),
    GroupPrograms(),
    FinishWave(),
    Persistent(),
    ReversePrograms(),
    LoopOptions(),
    SplitStore(),
    WarpSpecialise(),
    WarpGroups(),
    AttentionGroups(),
    OneBlock(),
    OnlineSoftmax(),
    RowsPerProgram(),
    JoinPairs(),
    CacheHints(),
    Exp2(),
    Reciprocal(),
    DeferScale(),
    ProductPrecision(),
    UniformIndex(),
    SkipMasked(),
    SplitMasked(),
    ImpliedMask(),
    FuseEpilogue(),
    JoinProducts(),
    OverlapLaunches(),
)


def rewrite(name: str) -> Rewrite:
    """The rewrite of a name. Raises NotApplicable, with the closest name, for an unknown name."""
    for known in REWRITES:
        if known.name == name:
            return known
    names = [known.name for known in REWRITES]
    near = closest(name, names)
    hint = (f"did you mean {near!r}? " if near else "") + f"known: {', '.join(names)}"
    raise NotApplicable(f"no rewrite named {name!r}", hint=hint)
