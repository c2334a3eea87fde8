"""The lines that every starting kernel begins with."""

from __future__ import annotations

HEAD = """\
import torch
import triton
import triton.language as tl
"""
DESCRIPTOR = "from triton.tools.tensor_descriptor import TensorDescriptor\n"
_WITHOUT_TORCH = HEAD.replace("import torch\n", "")


def module(body: str) -> str:
    """A module: imports as far as the body needs them, then the body."""
    head = HEAD if "torch." in body else _WITHOUT_TORCH
    head += DESCRIPTOR if "TensorDescriptor(" in body else ""
    return head + "\n" + body.lstrip("\n")
