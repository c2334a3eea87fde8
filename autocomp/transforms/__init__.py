"""Transformations of kernels: named, parameterised, composable rewritings of the syntax tree."""

from autocomp.transforms.analysis.facts import Facts, analyse
from autocomp.transforms.errors import NotApplicable
from autocomp.transforms.protocol import Parameters, Proposal, Transformation, applied
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
