"""Transformations of kernels: named, parameterised, composable rewritings of the syntax tree."""

from autocomp.targets.simulator.transforms.analysis.facts import Facts, analyse
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.protocol import (
    Parameters,
    Proposal,
    Transformation,
    applied,
    candidates_of,
    faults_of,
)
from autocomp.targets.simulator.transforms.registry import TRANSFORMATIONS, is_known, transformation

__all__ = [
    "TRANSFORMATIONS",
    "Facts",
    "NotApplicable",
    "Parameters",
    "Proposal",
    "Transformation",
    "analyse",
    "applied",
    "candidates_of",
    "faults_of",
    "is_known",
    "transformation",
]
