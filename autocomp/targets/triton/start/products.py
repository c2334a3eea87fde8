"""Starting kernels of products of matrices: one program a tile of the result, pointers, no order of the programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autocomp.targets.triton.start.text import module

_MATMUL = """
BLOCK_M = 64
BLOCK_N = 64
BLOCK_K = 32


@triton.jit
def matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        offs_k = k + tl.arange(0, BLOCK_K)
        a = tl.load(
            a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak,
            mask=(offs_m[:, None] < M) & (offs_k[None, :] < K),
            other=0.0,
        )
        b = tl.load(
            b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn,
            mask=(offs_k[:, None] < K) & (offs_n[None, :] < N),
            other=0.0,
        )
        acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.store(
        c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn,
        acc.to(c_ptr.dtype.element_ty),
        mask=(offs_m[:, None] < M) & (offs_n[None, :] < N),
    )
"""

_LAUNCH = """\
    matmul_kernel[(triton.cdiv({m}, BLOCK_M), triton.cdiv({n}, BLOCK_N))](
        {a},
        {b},
        {c},
        {m},
        {n},
        {k},
        {a}.stride(0),
        {a}.stride(1),
        {b}.stride({outer}),
        {b}.stride({inner}),
        {c}.stride(0),
        {c}.stride(1),
        BLOCK_M=BLOCK_M,
        BLOCK_N=BLOCK_N,
        BLOCK_K=BLOCK_K,
    )
"""

_ACTIVATIONS = {
    "none": "x",
    "relu": "tl.maximum(x, 0.0)",
    "silu": "x / (1.0 + tl.exp(-x))",
    "gelu": "x / (1.0 + tl.exp(-1.5957691216057308 * (x + 0.044715 * x * x * x)))",
}

_EPILOGUE = """

@triton.jit
def epilogue_kernel(product_ptr, {bias_parameter}c_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    x = tl.load(product_ptr + offs_m[:, None] * N + offs_n[None, :], mask=mask, other=0.0)
{bias}    y = {activation}
    tl.store(c_ptr + offs_m[:, None] * N + offs_n[None, :], y.to(c_ptr.dtype.element_ty), mask=mask)
"""


def _launch(a: str, b: str, c: str, m: str, n: str, k: str, transposed: bool) -> str:
    outer, inner = ("1", "0") if transposed else ("0", "1")
    return _LAUNCH.format(a=a, b=b, c=c, m=m, n=n, k=k, outer=outer, inner=inner)


def matmul(dims: Mapping[str, int], options: Mapping[str, Any]) -> str:
    transposed = bool(options["transpose_b"])
    biased, activation = options["bias"] == "row", str(options["activation"])
    head = f"    M, K = a.shape\n    N = b.shape[{0 if transposed else 1}]\n"
    if not biased and activation == "none":
        body = "\n\ndef solution(a, b, c):\n" + head + _launch("a", "b", "c", "M", "N", "K", transposed)
        return module(_MATMUL + body)
    epilogue = _EPILOGUE.format(
        bias_parameter="bias_ptr, " if biased else "",
        bias="    x = x + tl.load(bias_ptr + offs_n, mask=offs_n < N, other=0.0).to(tl.float32)[None, :]\n"
        if biased
        else "",
        activation=_ACTIVATIONS[activation],
    )
    bias = "bias, " if biased else ""
    body = (
        f"\n\ndef solution(a, b, {bias}c):\n{head}"
        "    product = torch.empty((M, N), dtype=torch.float32, device=a.device)\n"
        + _launch("a", "b", "product", "M", "N", "K", transposed)
        + "    epilogue_kernel[(triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))](\n"
        f"        product, {bias}c, M, N, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N\n    )\n"
    )
    return module(_MATMUL + epilogue + body)


_GATE = """

@triton.jit
def gate_kernel(gates_ptr, ups_ptr, products_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    x = tl.load(ups_ptr + offs_m[:, None] * N + offs_n[None, :], mask=mask, other=0.0).to(tl.float32)
    gate = tl.load(gates_ptr + offs_m[:, None] * N + offs_n[None, :], mask=mask, other=0.0).to(tl.float32)
    y = gate / (1.0 + tl.exp(-gate)) * x
    tl.store(products_ptr + offs_m[:, None] * N + offs_n[None, :], y.to(products_ptr.dtype.element_ty), mask=mask)
"""


def fused_mlp(dims: Mapping[str, int], options: Mapping[str, Any]) -> str:
    body = (
        "\n\ndef solution(x, gate, up, down, y):\n"
        "    M, K = x.shape\n"
        "    N = gate.shape[0]\n"
        "    gates = torch.empty((M, N), dtype=x.dtype, device=x.device)\n"
        "    ups = torch.empty((M, N), dtype=x.dtype, device=x.device)\n"
        "    hidden = torch.empty((M, N), dtype=x.dtype, device=x.device)\n"
        + _launch("x", "gate", "gates", "M", "N", "K", True)
        + _launch("x", "up", "ups", "M", "N", "K", True)
        + "    gate_kernel[(triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))](\n"
        "        gates, ups, hidden, M, N, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N\n    )\n"
        + _launch("hidden", "down", "y", "M", "K", "N", True)
    )
    return module(_MATMUL + _GATE + body)


_SCALED = """
BLOCK_M = 64
BLOCK_N = 64
BLOCK_K = 128


@triton.jit
def scaled_matmul_kernel(
    a_ptr,
    b_ptr,
    a_scale_ptr,
    b_scale_ptr,
    c_ptr,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    blocks = K // BLOCK_K
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for block in range(0, blocks):
        offs_k = block * BLOCK_K + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + offs_m[:, None] * K + offs_k[None, :], mask=offs_m[:, None] < M, other=0.0)
        b = tl.load(b_ptr + offs_n[:, None] * K + offs_k[None, :], mask=offs_n[:, None] < N, other=0.0)
        a_scale = tl.load(a_scale_ptr + offs_m * blocks + block, mask=offs_m < M, other=0.0)
        b_scale = tl.load(b_scale_ptr + offs_n // 128 * blocks + block, mask=offs_n < N, other=0.0)
        acc += tl.dot(a, tl.trans(b)) * a_scale[:, None] * b_scale[None, :]
    tl.store(
        c_ptr + offs_m[:, None] * N + offs_n[None, :],
        acc.to(c_ptr.dtype.element_ty),
        mask=(offs_m[:, None] < M) & (offs_n[None, :] < N),
    )


def solution(a, b, a_scale, b_scale, c):
    M, K = a.shape
    N = b.shape[0]
    scaled_matmul_kernel[(triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))](
        a, b, a_scale, b_scale, c, M, N, K, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K
    )
"""


def scaled_matmul(dims: Mapping[str, int], options: Mapping[str, Any]) -> str:
    return module(_SCALED)
