"""Operations on tensors of floats, each with its reference in float64 and the error that its arithmetic allows.

A reference is written in the operators that NumPy and PyTorch share, so that it runs on either; `xp` is the module.
"""

from __future__ import annotations

from autocomp.workload.tensor.operation import Expected as Expected
from autocomp.workload.tensor.operation import Operand as Operand
from autocomp.workload.tensor.operation import Operation as Operation
from autocomp.workload.tensor.registry import OPERATIONS as OPERATIONS
from autocomp.workload.tensor.registry import operation as operation

__all__ = ["OPERATIONS", "Expected", "Operand", "Operation", "operation"]
