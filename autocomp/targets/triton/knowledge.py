"""The parts of prompts about Triton and about a device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autocomp.targets.protocol import Focus, Knowledge
from autocomp.targets.triton.language.allowed import COMPUTING
from autocomp.targets.triton.rewrites.registry import REWRITES
from autocomp.targets.triton.roofline import Peaks
from autocomp.workload.model import Workload
from autocomp.workload.tensor import OPERATIONS

_ROLE = """\
You write GPU kernels in Triton. A kernel is judged in this order: it is parsed and checked; compiled; run on fresh
random inputs and compared with a reference in float64 within the error that its data types allow; timed on the device
with the second-level cache cleared before each run. The best kernels are then judged at other sizes, data types and
values, and must give the same bits for the same inputs. Lower times are better; differences
within the noise do not count.
"""

_COMPUTING = f"""\
- This workload lets the host compute: it may also call PyTorch on tensors, and its time counts. Allowed are arithmetic,
  `@`, and as functions of `torch` or methods: {", ".join(sorted(COMPUTING))}.
"""

_LANGUAGE = """\
One Python module. `{signature}` gets the inputs, then the outputs, all contiguous tensors on the device; it writes the
outputs and returns nothing. All arithmetic on elements happens in functions with `@triton.jit` that it launches.
- Imports: `torch`, `triton`, `triton.language as tl`, `math`, `TensorDescriptor` from
  `triton.tools.tensor_descriptor`. At module level only imports, functions, and constants.
- The host may ask for shapes and strides, allocate with `torch.empty` or `torch.zeros`, make views and descriptors, and
  launch. It may not compute on elements, keep anything between calls, catch exceptions, or assign to attributes.
{computing}- The module must be right for all sizes, also those that no tile divides: mask loads and stores, or
  launch another kernel for shapes that a fast one does not fit."""


def knowledge(workload: Workload, greeting: Mapping[str, Any], peaks: Peaks | None, focus: Focus) -> Knowledge:
    """The sections of a prompt."""
    names = ", ".join(tensor.name for tensor in workload.tensors)
    computing = _COMPUTING if workload.host == "compute" else ""
    language = _LANGUAGE.format(signature=f"def solution({names})", computing=computing)
    operation = OPERATIONS.get(workload.operation)
    if operation is not None:
        language += f"\n\nThe operation: {operation.doc}."
    elif workload.reference_text is not None:
        language += f"\n\nThe operation, in PyTorch:\n```python\n{workload.reference_text.strip()}\n```"
    if focus.everything or focus.kernels:
        language += "\n\nRewrites that can be asked for by name:\n" + "\n".join(
            f"- `{r.name}`: {r.doc}" for r in REWRITES
        )
    return Knowledge(
        role=_ROLE,
        language=language,
        machine=_machine(greeting, peaks),
        subject="a Triton kernel for a GPU",
        plans="the kernels, loops and launch parameters by name",
        coding="Work out the bytes that must move and the operations that must be done before you write.",
    )


def _machine(greeting: Mapping[str, Any], peaks: Peaks | None) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in greeting["versions"].items())
    if peaks is None:
        return f"{greeting['name']} ({versions}): no GPU, kernels are judged and not timed."
    capability = ".".join(str(part) for part in greeting.get("capability", ()))
    shared, cache = greeting["shared_bytes"], greeting["cache_bytes"]
    lines = [
        f"{greeting['name']} ({versions}), compute capability {capability}:",
        f"- {greeting['multiprocessors']} multiprocessors",
        f"- {shared:,} bytes of shared memory for a block, {cache:,} bytes of second-level cache",
        f"- measured bandwidth {peaks.bandwidth / 1e9:,.0f} GB/s",
        f"- an empty launch takes {peaks.launch_us:.1f} us",
    ]
    lines += [f"- measured products in {dtype}: {peak / 1e12:,.0f} TFLOP/s" for dtype, peak in peaks.products.items()]
    return "\n".join(lines)
