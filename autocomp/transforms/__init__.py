"""Transformations of kernels: named, parameterised, composable rewritings of the syntax tree."""

from autocomp.transforms.facts import Facts, analyse
from autocomp.transforms.protocol import NotApplicable, Parameters, Proposal, Transformation, applied
from autocomp.transforms.registry import TRANSFORMATIONS, transformation

__all__ = [
    "TRANSFORMATIONS",
    "Facts",
    "NotApplicable",
    "Parameters",
    "Proposal",
    "Transformation",
    "analyse",
    "applied",
    "transformation",
]
