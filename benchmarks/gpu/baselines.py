"""The baselines: PyTorch as it is, its fused operators, its compiler, and AutoKernel's starter kernels."""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812

Call = Callable[..., Any]
Tensors = Mapping[str, torch.Tensor]
AUTOKERNEL = {
    "matmul": "matmul",
    "softmax": "softmax",
    "layernorm": "layernorm",
    "rmsnorm": "rmsnorm",
    "sum": "reduce",
    "cross_entropy": "cross_entropy",
    "attention": "flash_attention",
    "rotary": "rotary_embedding",
    "fused_mlp": "fused_mlp",
}


def eager(operation: str) -> Call:
    """The operation in plain PyTorch, as AutoKernel's references and the public task have it."""
    return {
        "matmul": lambda a, b: a @ b,
        "softmax": lambda x: F.softmax(x, dim=-1),
        "layernorm": lambda x, weight, bias: F.layer_norm(x, x.shape[-1:], weight, bias),
        "rmsnorm": lambda x, weight: x / torch.sqrt(torch.mean(x**2, dim=-1, keepdim=True) + 1e-6) * weight,
        "sum": lambda x: x.sum(dim=-1),
        "cross_entropy": lambda logits, targets: F.cross_entropy(logits, targets),
        "attention": _attention,
        "rotary": _rotary,
        "fused_mlp": lambda x, gate, up, down: (F.silu(x @ gate.T) * (x @ up.T)) @ down.T,
        "scaled_matmul": _scaled,
    }[operation]


def fused(operation: str) -> Call | None:
    """The library's own fused operator where the reference is a chain of several."""
    return {
        "rmsnorm": lambda x, weight: F.rms_norm(x, x.shape[-1:], weight, 1e-6),
        "attention": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        "scaled_matmul": _scaled_library,
    }.get(operation)


def _attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
    hidden = torch.triu(torch.ones(scores.shape[-2:], device=q.device, dtype=torch.bool), diagonal=1)
    return torch.matmul(F.softmax(scores.masked_fill(hidden, float("-inf")), dim=-1), v)


def _rotary(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    even, odd = x[..., ::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


def _scaled(a: torch.Tensor, b: torch.Tensor, a_scale: torch.Tensor, b_scale: torch.Tensor) -> torch.Tensor:
    """Dequantise to float32, then multiply: the public task's reference."""
    left = a.to(torch.float32) * a_scale.repeat_interleave(128, 1)
    rows = b_scale.repeat_interleave(128, 0)[: b.shape[0]]
    right = b.to(torch.float32) * rows.repeat_interleave(128, 1)
    return (left @ right.T).to(torch.bfloat16)


def _scaled_library(a: torch.Tensor, b: torch.Tensor, a_scale: torch.Tensor, b_scale: torch.Tensor) -> torch.Tensor:
    """PyTorch's operator with scales for blocks; raises where this version or device does not have it."""
    left = a_scale.t().contiguous().t()
    return torch._scaled_mm(a, b.t(), left, b_scale.t(), out_dtype=torch.bfloat16)


def autokernel(checkout: Path | None, operation: str) -> Call | None:
    """AutoKernel's starter kernel, from a checkout of its repository; None without one."""
    if checkout is None or operation not in AUTOKERNEL:
        return None
    path = checkout / "kernels" / f"{AUTOKERNEL[operation]}.py"
    spec = importlib.util.spec_from_file_location(f"autokernel_{operation}", path)
    if spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    kernel: Call = module.kernel_fn
    return kernel
