"""The rewrites that ship, and what they make of modules."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from autocomp.data import closest
from autocomp.errors import NotApplicable
from autocomp.remember import bare
from autocomp.targets.triton.language.module import Module
from autocomp.targets.triton.rewrites.arithmetic import DeferScale, Exp2, Reciprocal, UniformIndex
from autocomp.targets.triton.rewrites.causal import ImpliedMask, SkipMasked, SplitMasked
from autocomp.targets.triton.rewrites.chains.fusion import FuseEpilogue, OverlapLaunches
from autocomp.targets.triton.rewrites.chains.joining import JoinProducts
from autocomp.targets.triton.rewrites.descriptors import TensorDescriptors
from autocomp.targets.triton.rewrites.groups.attention import AttentionGroups
from autocomp.targets.triton.rewrites.groups.products import WarpGroups
from autocomp.targets.triton.rewrites.loops import LoopOptions, SplitStore, WarpSpecialise
from autocomp.targets.triton.rewrites.parameters import SetParameters
from autocomp.targets.triton.rewrites.precision import ProductPrecision
from autocomp.targets.triton.rewrites.programs import GroupPrograms, Persistent, ReversePrograms
from autocomp.targets.triton.rewrites.rewrite import Rewrite
from autocomp.targets.triton.rewrites.rows.early import EarlyLoads
from autocomp.targets.triton.rewrites.rows.reductions import (
    CacheHints,
    JoinPairs,
    OneBlock,
    OnlineSoftmax,
    RowsPerProgram,
)
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
    EarlyLoads(),
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

_KEPT = 1024  # texts: routes of one kernel have hundreds of steps in common


def rewritten(module: Module, name: str, parameters: Mapping[str, Any]) -> Module:
    """The module after a rewrite, worked out once for the same text. Raises NotApplicable."""
    outcome = _rewritten(module.text, name, json.dumps(parameters, default=list))
    if isinstance(outcome, NotApplicable):
        raise bare(outcome)
    return Module(outcome)


@lru_cache(maxsize=_KEPT)
def _rewritten(text: str, name: str, parameters: str) -> str | NotApplicable:
    """The text, not the tree, which is thirty times as large; or the refusal."""
    try:
        return rewrite(name).apply(Module(text), json.loads(parameters)).text
    except NotApplicable as error:
        return bare(error)


def rewrite(name: str) -> Rewrite:
    """The rewrite of a name. Raises NotApplicable, with the closest name, for an unknown name."""
    for known in REWRITES:
        if known.name == name:
            return known
    names = [known.name for known in REWRITES]
    near = closest(name, names)
    hint = (f"did you mean {near!r}? " if near else "") + f"known: {', '.join(names)}"
    raise NotApplicable(f"no rewrite named {name!r}", hint=hint)
