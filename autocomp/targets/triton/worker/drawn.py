"""The tensors of a case: drawn, shared with a candidate, and what they must become."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from autocomp.targets.triton.worker.cases import Case, Task, bytes_of, operands
from autocomp.targets.triton.worker.compare import difference, wrong_share
from autocomp.targets.triton.worker.custom import custom_operation
from autocomp.targets.triton.worker.draw import exact, fill
from autocomp.targets.triton.worker.memory import Arena, SharedTensor, inside
from autocomp.targets.triton.worker.timing import poison
from autocomp.workload.datatypes import data_type
from autocomp.workload.tensor import Expected

FEW = 1e-4  # share of wrong elements up to which errors are estimated again, from more runs
LARGE_BYTES = 2 << 30  # of inputs and outputs, of which there is one set: its results in float64 are large too


@dataclass
class Drawn:
    """The tensors of a case, shared with a candidate, and what they must become."""

    case: Case
    tensors: list[SharedTensor]
    pristine: list[torch.Tensor]  # contents of the inputs' buffers, guards included
    expected: dict[str, Expected]
    outputs: list[tuple[str, str]]  # names and data types, in the order of the last tensors
    closer: Callable[[], dict[str, Expected]] | None = None  # what they must become, by a better estimate

    @property
    def handles(self) -> list[dict[str, Any]]:
        return [tensor.handle for tensor in self.tensors]

    def poison(self) -> None:
        for shared in self.tensors[-len(self.outputs) :]:
            poison(shared.tensor)

    def leave(self) -> None:
        """Leave results in the outputs, in other places than theirs; zeros where all are alike."""
        for result in self.results():
            flat = result.view(-1)
            turned = flat.flip(0)
            flat.copy_(torch.zeros_like(flat) if torch.equal(turned, flat) else turned)

    def results(self) -> list[torch.Tensor]:
        return [shared.tensor for shared in self.tensors[-len(self.outputs) :]]

    def forget(self) -> None:
        """Free what the tensors are compared with."""
        self.pristine.clear()
        self.expected.clear()
        self.closer = None

    def fault(self) -> str | None:
        """The fault found after a run, or None."""
        for shared, before in zip(self.tensors, self.pristine, strict=False):
            if not torch.equal(shared.buffer, before):
                return "an input was changed"
        for (name, dtype), shared in zip(self.outputs, self.tensors[-len(self.outputs) :], strict=True):
            if not shared.guards_hold():
                return f"elements outside of {name!r} were written"
            fault_in_values = self._difference(name, dtype, shared.tensor)
            if fault_in_values:
                return f"{name}: {fault_in_values}"
        return None

    def _difference(self, name: str, dtype: str, result: torch.Tensor) -> str | None:
        """The wrong elements. A few runs take some of many elements for more exact than they are: where few miss the
        bound, it is estimated again before they count."""
        found = difference(torch, result, self.expected[name], dtype, float("nan"))
        if found and self.closer and wrong_share(torch, result, self.expected[name], dtype) <= FEW:
            self.expected.clear()
            self.expected |= self.closer()
            self.closer = None
            found = difference(torch, result, self.expected[name], dtype, float("nan"))
        return found


def draw(
    device: str,
    task: Task,
    case: Case,
    seed: int,
    arena: Arena,
    truncates: bool,
    within: Sequence[SharedTensor] = (),
) -> Drawn:
    """Tensors of a case with inputs drawn from a seed, and the exact results. `truncates` where conversions to bfloat16
    do, as those of Triton's interpreter. Tensors of an earlier draw are taken anew if they are given as `within`."""
    described = operands(task, case)
    generator = torch.Generator(device).manual_seed(seed)
    tensors = list(within) or [arena.tensor(operand.shape, operand.dtype) for operand in described]
    given, pristine = {}, []
    custom = custom_operation(task.custom) if task.custom else None
    own = custom.draw(case.kind, seed, device) if custom else None
    for operand, shared in zip(described, tensors, strict=True):
        if operand.role == "input":
            if own is None:
                fill(shared.tensor, operand, case.kind, generator)
            else:
                shared.tensor.copy_(own.pop(operand.name))
            pristine.append(shared.buffer.clone())
            own_copy = inside(pristine[-1], operand.shape, shared.tensor.dtype)  # which no kernel can change
            given[operand.name] = own_copy if custom else exact(own_copy)
    expected = task.definition.expected(torch, given, case.dims, case.dtype, task.options)
    outputs = [(operand.name, operand.dtype) for operand in described if operand.role == "output"]
    if truncates:
        expected = {name: _truncated(expected[name], dtype) for name, dtype in outputs}
    closer = partial(custom.expected_of, given, closer=True) if custom and not truncates else None
    return Drawn(case, tensors, pristine, expected, outputs, closer)


def own_case(task: Task) -> Case:
    """The case that is timed."""
    return Case(task.dims, task.dtype, "random")


def is_large(task: Task) -> bool:
    """True for a task whose tensors are so large that a device holds one set of them and of their results."""
    return sum(bytes_of(task, own_case(task))) > LARGE_BYTES


def _truncated(expected: Expected, dtype: str) -> Expected:
    """Triton's interpreter truncates when it converts to bfloat16, which errs twice as much as rounding."""
    if dtype != "bfloat16":
        return expected
    return Expected(expected.value, expected.tolerance + abs(expected.value) * data_type(dtype).roundoff)
