"""Starting kernels whose entry returns its result, as other projects have them."""

from __future__ import annotations

import pytest

from autocomp.errors import KernelError
from autocomp.targets.triton.language import check_module, parse
from autocomp.targets.triton.start import starting_kernel
from autocomp.targets.triton.start.adopted import adopted

RETURNING = """\
import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, y_ptr, count, factor, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < count)
    tl.store(y_ptr + offs, x * factor, mask=offs < count)


def run(x: torch.Tensor, factor: float = -2.0) -> torch.Tensor:
    assert x.is_cuda
    flat = x.contiguous().view(-1)
    y = torch.empty_like(flat, dtype=torch.float32)
    double_kernel[(triton.cdiv(flat.numel(), 64),)](flat, y, flat.numel(), factor, BLOCK=64)
    return y.to(x.dtype).view(x.shape)
"""


def test_a_tensor_that_is_returned_becomes_the_one_that_is_written() -> None:
    text = adopted(RETURNING)
    entry = text[text.index("def solution") :].splitlines()
    assert entry == [
        "def solution(x, result):",
        "    factor = -2.0",
        "    flat = x.view(-1)",
        "    y = result.view(flat.shape)",
        "    double_kernel[triton.cdiv(flat.numel(), 64),](flat, y, flat.numel(), factor, BLOCK=64)",
    ]
    check_module(parse(text), ["x", "y"])


def test_what_a_computing_host_returns_is_copied() -> None:
    text = adopted(
        RETURNING.replace("    return y", "    if flat.numel() > 9:\n        return y.sum()\n    return y"), True
    )
    assert text.splitlines()[-5:] == [
        "    if flat.numel() > 9:",
        "        result.copy_(y.sum())",
        "        return",
        "    result.copy_(y.to(x.dtype).view(x.shape))",
        "    return",
    ]
    check_module(parse(text), ["x", "y"], computes=True)


@pytest.mark.parametrize(
    "text",
    [
        starting_kernel("softmax", {"rows": 4, "cols": 8}, {}),  # has the entry already
        RETURNING.replace("return y.to(x.dtype)", "return y.mean()"),
        RETURNING.replace("y = torch.empty_like(flat, dtype=torch.float32)", "y = flat * 1.0"),
        RETURNING.replace("    assert x.is_cuda\n", "    if x.ndim == 0:\n        return x\n"),
        "def broken(:\n",
    ],
)
def test_other_texts_stay(text: str) -> None:
    assert adopted(text) == text


def test_what_the_host_computes_is_refused_with_its_place() -> None:
    repeated = RETURNING.replace("x.contiguous()", "x.repeat(1)")
    with pytest.raises(KernelError, match=r"call of 'x.repeat' on the host: it may compute the answer"):
        check_module(parse(adopted(repeated)))
