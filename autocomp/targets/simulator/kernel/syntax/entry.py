"""Entries whose tensors are pointers, as C programmers write them, called from one that states the shapes.

void solution(int8_t* A) { … }
becomes
void solution_(int8_t* A) { … }   void solution(int8_t A[16][16]) { solution_(A); }
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from autocomp.targets.simulator.kernel.syntax import ast


class Shaped(Protocol):
    """A tensor whose shape a kernel is for."""

    @property
    def shape(self) -> tuple[int, ...]: ...


def with_shapes(kernel: ast.Kernel, tensors: Sequence[Shaped]) -> ast.Kernel:
    """The kernel with an entry for the tensors, where it has one with pointers in their places; else the kernel."""
    entry = kernel.entry
    flat = [parameter.type.pointer == 1 and not parameter.type.extents for parameter in entry.parameters]
    if kernel.is_program or not any(flat) or len(flat) != len(tensors):
        return kernel
    own = entry.name + "_"
    while any(function.name == own for function in kernel.functions):
        own += "_"
    shaped = (
        replace(p, type=ast.Type(p.type.name, extents=tuple(map(ast.IntLiteral, tensor.shape)))) if is_flat else p
        for p, tensor, is_flat in zip(entry.parameters, tensors, flat, strict=True)
    )
    names = tuple(ast.Name(p.name, p.line, p.column) for p in entry.parameters)
    call = ast.ExpressionStatement(ast.Call(own, names, entry.line, entry.column), entry.line)
    outer = replace(entry, parameters=tuple(shaped), body=ast.Block((call,), entry.line, entry.body.end_line))
    return replace(kernel, functions=(*kernel.functions[:-1], replace(entry, name=own), outer))
