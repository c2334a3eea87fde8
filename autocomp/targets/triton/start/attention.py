"""Starting kernels of attention, with the scores kept in registers, and of rotary embedding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autocomp.errors import ConfigError
from autocomp.targets.triton.start.text import module

ATTENTION_KERNEL = "attention_kernel"
_ATTENTION = """
BLOCK_M = 64
BLOCK_N = 32


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, scale, length, WIDTH: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    block = tl.program_id(0)
    head = tl.program_id(1).to(tl.int64)
    base = head * length * WIDTH
    offs_m = block * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, WIDTH)
    q = tl.load(q_ptr + base + offs_m[:, None] * WIDTH + offs_d[None, :], mask=offs_m[:, None] < length, other=0.0)
    largest = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((BLOCK_M,), dtype=tl.float32)
    acc = tl.zeros((BLOCK_M, WIDTH), dtype=tl.float32)
    for start in range(0, length, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + base + offs_n[:, None] * WIDTH + offs_d[None, :], mask=offs_n[:, None] < length, other=0.0)
        scores = tl.dot(q, tl.trans(k)) * scale
        scores = tl.where(MASK, scores, -float("inf"))
        new = tl.maximum(largest, tl.max(scores, axis=1))
        weights = tl.exp(scores - new[:, None])
        shrink = tl.exp(largest - new)
        total = total * shrink + tl.sum(weights, axis=1)
        acc = acc * shrink[:, None]
        v = tl.load(v_ptr + base + offs_n[:, None] * WIDTH + offs_d[None, :], mask=offs_n[:, None] < length, other=0.0)
        acc = tl.dot(weights.to(v.dtype), v, acc)
        largest = new
    acc = acc / total[:, None]
    tl.store(
        o_ptr + base + offs_m[:, None] * WIDTH + offs_d[None, :],
        acc.to(o_ptr.dtype.element_ty),
        mask=offs_m[:, None] < length,
    )


def solution(q, k, v, o):
    batch, heads, length, width = q.shape
    attention_kernel[(triton.cdiv(length, BLOCK_M), batch * heads)](
        q, k, v, o, width**-0.5, length, WIDTH=width, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N
    )
"""

_ROTARY = """
@triton.jit
def rotary_kernel(x_ptr, cos_ptr, sin_ptr, y_ptr, length, HALF: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    position = row % length
    offs = tl.arange(0, HALF)
    even = tl.load(x_ptr + row * (2 * HALF) + 2 * offs).to(tl.float32)
    odd = tl.load(x_ptr + row * (2 * HALF) + 2 * offs + 1).to(tl.float32)
    cos = tl.load(cos_ptr + position * HALF + offs).to(tl.float32)
    sin = tl.load(sin_ptr + position * HALF + offs).to(tl.float32)
    tl.store(y_ptr + row * (2 * HALF) + 2 * offs, (even * cos - odd * sin).to(y_ptr.dtype.element_ty))
    tl.store(y_ptr + row * (2 * HALF) + 2 * offs + 1, (even * sin + odd * cos).to(y_ptr.dtype.element_ty))


def solution(x, cos, sin, y):
    batch, heads, length, width = x.shape
    rotary_kernel[(batch * heads * length,)](x, cos, sin, y, length, HALF=width // 2)
"""


def attention(dims: Mapping[str, int], options: Mapping[str, Any]) -> str:
    _power_of_two(dims["width"], 16)
    inside = "offs_n[None, :] < length"
    mask = f"(offs_m[:, None] >= offs_n[None, :]) & ({inside})" if options["causal"] else inside
    return module(_ATTENTION.replace("MASK", mask))


def rotary(dims: Mapping[str, int], options: Mapping[str, Any]) -> str:
    _power_of_two(dims["width"], 2)
    return module(_ROTARY)


def _power_of_two(width: int, least: int) -> None:
    if width < least or width & (width - 1):
        raise ConfigError(
            f"the starting kernel needs a width that is a power of two from {least}, got {width}",
            hint="name a kernel of your own in the workload file: `kernel: FILE.py`",
        )
