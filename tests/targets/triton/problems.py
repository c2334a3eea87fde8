"""Problems in KernelBench's format, and references as a workload file names them: small ones of our own."""

from __future__ import annotations

HEAD = """\
import torch
import torch.nn as nn
import torch.nn.functional as F
"""

MODULES = {
    "row_norm": (
        "self.norm = nn.LayerNorm(size)",
        "return torch.tanh(self.norm(x)) * 2.0",
        "torch.rand(6, 2100)",
        "2100",
    ),
    "columns": (
        "self.axis = size",
        "return (x - x.mean(self.axis, keepdim=True)) / x.std(self.axis, keepdim=True)",
        "torch.rand(4, 5, 37)",
        "1",
    ),
    "scores": ("pass", "return F.log_softmax(x @ x.mT, dim=-1)", "torch.rand(3, 20, 8)", "0"),
    "convolved": (
        "self.conv, self.norm = nn.Conv2d(3, 8, size, stride=2, padding=1), nn.BatchNorm2d(8)",
        "return self.norm(F.mish(F.gelu(self.conv(x))))",
        "torch.rand(2, 3, 11, 9)",
        "3",
    ),
    "averaged": (
        "self.conv = nn.Conv2d(4, 64, size)",
        "return self.conv(x).mean((2, 3))",
        "torch.rand(4, 4, 12, 12)",
        "3",
    ),
    "pressed": (
        "self.conv = nn.ConvTranspose3d(6, 16, size, stride=(1, 2, 1), padding=(1, 1, 0))",
        "return (self.conv(x) * 0.5).sum((2, 3), keepdim=True).relu()",
        "torch.rand(2, 6, 14, 9, 5)",
        "3",
    ),
    "sparse": (
        "self.conv = nn.Conv2d(4, 8, size, stride=2)",
        "return self.conv(x).mean((2, 3))",
        "torch.rand(3, 4, 25, 26)",
        "3",
    ),
    "grown": (
        "self.conv = nn.ConvTranspose1d(4, 6, size, stride=2, dilation=2)",
        "return self.conv(x)",
        "torch.rand(2, 4, 10)",
        "3",
    ),
    "widened": (
        "self.conv = nn.ConvTranspose2d(16, 16, size, stride=(2, 3), padding=1, dilation=(2, 1), groups=2)",
        "return self.conv(x)",
        "torch.rand(2, 16, 4, 5)",
        "3",
    ),
    "deep": (
        "self.conv = nn.Conv3d(72, 16, (1, 2, size), dilation=(1, 2, 1), padding=(0, 1, 1), groups=2)",
        "return self.conv(x.exp())",
        "torch.rand(1, 72, 2, 4, 5)",
        "3",
    ),
    "channels": (
        "self.conv, self.bias = nn.ConvTranspose2d(8, 20, size, stride=2), nn.Parameter(torch.rand(20, 1, 1))",
        "return torch.sigmoid(F.softmax(self.conv(x), 1) + self.bias)",
        "torch.rand(2, 8, 5, 7)",
        "3",
    ),
    "least": (
        "self.conv = nn.Conv2d(8, 24, size, padding=1)",
        "return F.gelu(self.conv(x).min(1, keepdim=True)[0].sum(2, keepdim=True))",
        "torch.rand(2, 8, 6, 9)",
        "3",
    ),
    "levels": (
        "self.conv = nn.Conv3d(8, 16, size)",
        "return F.max_pool3d(torch.log_softmax(self.conv(x), 1) * 2.0, 2)",
        "torch.rand(2, 8, 5, 6, 9)",
        "2",
    ),
    "grouped": (
        "self.conv, self.norm = nn.Conv2d(4, 16, size), nn.GroupNorm(4, 16)",
        "return self.norm(self.conv(x).sigmoid() * 3.0)",
        "torch.rand(2, 4, 12, 12)",
        "3",
    ),
    "spread out": (
        "self.conv, self.norm = nn.ConvTranspose2d(4, 8, size, stride=(2, 1), bias=False), nn.BatchNorm2d(8)",
        "return F.relu(self.norm(self.conv(x)))",
        "torch.rand(3, 4, 7, 6)",
        "3",
    ),
    "pooled away": (
        "self.conv = nn.Conv2d(4, 8, size)",
        "return F.gelu(self.conv(x)).mean((2, 3))",
        "torch.rand(2, 4, 8, 8)",
        "3",
    ),
    "gated": (
        "self.axis = size",
        "return torch.cumsum(x * gate, self.axis)",
        "torch.rand(5, 40), torch.rand(5, 40) > 0.5",
        "1",
    ),
    "product": (
        "self.weight = nn.Parameter(torch.rand(size, 20))",
        "return x @ self.weight",
        "torch.rand(17, 30)",
        "30",
    ),
    "pooled": ("self.pool = nn.MaxPool2d(size, padding=1)", "return self.pool(x)", "torch.rand(2, 3, 9, 10)", "3"),
    "far apart": (
        "self.pool = nn.AvgPool2d((2, size), stride=(1, 8), padding=(1, 4), count_include_pad=False)",
        "return torch.cat([self.pool(x), F.max_pool2d(x, (2, 9), (1, 8), (1, 4))], 1).relu()",
        "torch.randn(2, 3, 9, 70)",
        "9",
    ),
    "running": ("self.axis = size", "return torch.cumsum(x.flip(1), dim=self.axis)", "torch.rand(5, 40)", "1"),
    "exclusive": (
        "self.axis = size",
        "return torch.cat([torch.zeros_like(x[:, :1]), torch.cumsum(x[:, :-1], self.axis)], self.axis)",
        "torch.rand(5, 40)",
        "1",
    ),
    "largest": ("self.axis = size", "return torch.argmax(x, dim=self.axis)", "torch.rand(3, 300, 4)", "1"),
    "multiplied": ("self.axis = size", "return torch.cumprod(x, dim=self.axis)", "torch.rand(3, 400)", "1"),
    "numbers": (
        "self.bias = nn.Parameter(torch.tensor(float(size)))",
        "return torch.min(x.sum(1, keepdim=True) + self.bias, torch.tensor(4.0)).amax(1)",
        "torch.rand(6, 4, 30)",
        "2",
    ),
    "placed": (
        "self.register_buffer('order', torch.randperm(12) - size)",
        "return F.pad(x[:, self.order], (2, 0, 1, 2), value=0.5).unfold(1, 3, 2).split([1, 3, 3], 2)[1].fmod(0.4)",
        "torch.rand(3, 12, 5)",
        "3",
    ),
    "chosen": (
        "self.register_buffer('rows', torch.arange(20) % size)",
        "values, _ = torch.topk(x, 3)\n"
        "        return torch.zeros(7, 3, dtype=x.dtype, device=x.device).index_add(0, self.rows, values)",
        "torch.rand(20, 50)",
        "7",
    ),
    "loss": ("pass", "return F.smooth_l1_loss(x, x.sum(0, keepdim=True))", "torch.rand(16, 30)", "0"),
}


def module_text(name: str) -> str:
    """A problem: `Model`, `get_inputs` and `get_init_inputs`."""
    init, forward, inputs, size = MODULES[name]
    given = "self, x, gate" if "gate" in forward else "self, x"
    return f"""{HEAD}

class Model(nn.Module):
    def __init__(self, size):
        super().__init__()
        {init}

    def forward({given}):
        {forward}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return [{size}]
"""
