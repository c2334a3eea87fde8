"""Starting kernels of operations on rows: one program a row, one pass over it for each quantity that is needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autocomp.targets.triton.start.text import HEAD, module

_SOFTMAX = """
BLOCK = 1024


@triton.jit
def softmax_kernel(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    largest = -float("inf")
    for start in range(0, cols, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * cols + offs, mask=offs < cols, other=-float("inf")).to(tl.float32)
        largest = tl.maximum(largest, tl.max(x, axis=0))
    total = 0.0
    for start in range(0, cols, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * cols + offs, mask=offs < cols, other=-float("inf")).to(tl.float32)
        total += tl.sum(tl.exp(x - largest), axis=0)
    for start in range(0, cols, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * cols + offs, mask=offs < cols, other=-float("inf")).to(tl.float32)
        y = tl.exp(x - largest) / total
        tl.store(y_ptr + row * cols + offs, y.to(y_ptr.dtype.element_ty), mask=offs < cols)


def solution(x, y):
    rows, cols = x.shape
    softmax_kernel[(rows,)](x, y, cols, BLOCK=BLOCK)
"""

_LAYERNORM = """
BLOCK = 1024


@triton.jit
def layernorm_kernel(x_ptr, weight_ptr, bias_ptr, y_ptr, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    total = 0.0
    for start in range(0, cols, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * cols + offs, mask=offs < cols, other=0.0).to(tl.float32)
        total += tl.sum(x, axis=0)
    mean = total / cols
    squares = 0.0
    for start in range(0, cols, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * cols + offs, mask=offs < cols, other=0.0).to(tl.float32)
        centred = tl.where(offs < cols, x - mean, 0.0)
        squares += tl.sum(centred * centred, axis=0)
    scale = 1.0 / tl.sqrt(squares / cols + eps)
    for start in range(0, cols, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * cols + offs, mask=offs < cols, other=0.0).to(tl.float32)
        weight = tl.load(weight_ptr + offs, mask=offs < cols, other=0.0).to(tl.float32)
        bias = tl.load(bias_ptr + offs, mask=offs < cols, other=0.0).to(tl.float32)
        y = (x - mean) * scale * weight + bias
        tl.store(y_ptr + row * cols + offs, y.to(y_ptr.dtype.element_ty), mask=offs < cols)


def solution(x, weight, bias, y):
    rows, cols = x.shape
    layernorm_kernel[(rows,)](x, weight, bias, y, cols, EPS, BLOCK=BLOCK)
"""

_RMSNORM = """
BLOCK = 1024


@triton.jit
def rmsnorm_kernel(x_ptr, weight_ptr, y_ptr, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    squares = 0.0
    for start in range(0, cols, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * cols + offs, mask=offs < cols, other=0.0).to(tl.float32)
        squares += tl.sum(x * x, axis=0)
    scale = 1.0 / tl.sqrt(squares / cols + eps)
    for start in range(0, cols, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * cols + offs, mask=offs < cols, other=0.0).to(tl.float32)
        weight = tl.load(weight_ptr + offs, mask=offs < cols, other=0.0).to(tl.float32)
        y = x * scale * weight
        tl.store(y_ptr + row * cols + offs, y.to(y_ptr.dtype.element_ty), mask=offs < cols)


def solution(x, weight, y):
    rows, cols = x.shape
    rmsnorm_kernel[(rows,)](x, weight, y, cols, EPS, BLOCK=BLOCK)
"""

_SUM = """
BLOCK = 1024


@triton.jit
def sum_kernel(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    total = 0.0
    for start in range(0, cols, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * cols + offs, mask=offs < cols, other=0.0).to(tl.float32)
        total += tl.sum(x, axis=0)
    tl.store(y_ptr + row, total.to(y_ptr.dtype.element_ty))


def solution(x, y):
    rows, cols = x.shape
    sum_kernel[(rows,)](x, y, cols, BLOCK=BLOCK)
"""

_CROSS_ENTROPY = """
BLOCK = 1024


@triton.jit
def loss_kernel(logits_ptr, targets_ptr, losses_ptr, classes, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    largest = -float("inf")
    for start in range(0, classes, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + row * classes + offs, mask=offs < classes, other=-float("inf")).to(tl.float32)
        largest = tl.maximum(largest, tl.max(x, axis=0))
    total = 0.0
    for start in range(0, classes, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + row * classes + offs, mask=offs < classes, other=-float("inf")).to(tl.float32)
        total += tl.sum(tl.exp(x - largest), axis=0)
    target = tl.load(targets_ptr + row)
    chosen = tl.load(logits_ptr + row * classes + target).to(tl.float32)
    tl.store(losses_ptr + row, largest + tl.log(total) - chosen)


@triton.jit
def mean_kernel(losses_ptr, loss_ptr, rows, BLOCK: tl.constexpr):
    total = 0.0
    for start in range(0, rows, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(losses_ptr + offs, mask=offs < rows, other=0.0), axis=0)
    tl.store(loss_ptr, (total / rows).to(loss_ptr.dtype.element_ty))


def solution(logits, targets, loss):
    rows, classes = logits.shape
    losses = torch.empty((rows,), dtype=torch.float32, device=logits.device)
    loss_kernel[(rows,)](logits, targets, losses, classes, BLOCK=BLOCK)
    mean_kernel[(1,)](losses, loss, rows, BLOCK=BLOCK)
"""


def softmax(dims: Mapping[str, int], options: Mapping[str, Any]) -> str:
    return module(_SOFTMAX)


def layernorm(dims: Mapping[str, int], options: Mapping[str, Any]) -> str:
    return module(f"EPS = {options['eps']!r}\n" + _LAYERNORM.lstrip())


def rmsnorm(dims: Mapping[str, int], options: Mapping[str, Any]) -> str:
    return module(f"EPS = {options['eps']!r}\n" + _RMSNORM.lstrip())


def sum_of_rows(dims: Mapping[str, int], options: Mapping[str, Any]) -> str:
    return module(_SUM)


def cross_entropy(dims: Mapping[str, int], options: Mapping[str, Any]) -> str:
    return HEAD + "\n" + _CROSS_ENTROPY.lstrip()
