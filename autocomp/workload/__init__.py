"""The computation to optimise: a workload file in, tensors, inputs, the reference result and a starting kernel out."""

from __future__ import annotations

from autocomp.workload.inputs import derived_seed as derived_seed
from autocomp.workload.inputs import fresh_seed as fresh_seed
from autocomp.workload.inputs import input_sets as input_sets
from autocomp.workload.inputs import make_inputs as make_inputs
from autocomp.workload.load import load as load
from autocomp.workload.load import parse as parse
from autocomp.workload.load import stated as stated
from autocomp.workload.load import with_constants as with_constants
from autocomp.workload.model import InputSet as InputSet
from autocomp.workload.model import TensorSpec as TensorSpec
from autocomp.workload.model import Workload as Workload
from autocomp.workload.reference import Case as Case
from autocomp.workload.reference import compute as compute
from autocomp.workload.reference import make_case as make_case
from autocomp.workload.trusting import as_trusted as as_trusted
from autocomp.workload.trusting import reference_that_runs as reference_that_runs
from autocomp.workload.trusting import require_trusted as require_trusted

__all__ = [
    "Case",
    "InputSet",
    "TensorSpec",
    "Workload",
    "as_trusted",
    "compute",
    "derived_seed",
    "fresh_seed",
    "input_sets",
    "load",
    "make_case",
    "make_inputs",
    "parse",
    "reference_that_runs",
    "require_trusted",
    "stated",
    "with_constants",
]
