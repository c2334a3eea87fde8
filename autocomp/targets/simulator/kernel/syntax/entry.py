"""Entries whose tensors are pointers or leave out extents, as C programmers write them, with all shapes.

void solution(int8_t* A) { … }
becomes
void solution_(int8_t* A) { … }   void solution(int8_t A[16][16]) { solution_(A); }

void solution(int8_t A[][16], int8_t (*B)[16]) { … }
becomes
void solution(int8_t A[16][16], int8_t B[16][16]) { … }
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
    """The kernel with an entry for the tensors, where it has one with pointers or any number of rows in their places;
    else the kernel."""
    if kernel.is_program or len(kernel.entry.parameters) != len(tensors):
        return kernel
    counted = tuple(map(_with_rows, kernel.entry.parameters, tensors))
    if counted != kernel.entry.parameters:
        kernel = replace(kernel, functions=(*kernel.functions[:-1], replace(kernel.entry, parameters=counted)))
    return _called_with_arrays(kernel, tensors)


def _with_rows(parameter: ast.KernelParameter, tensor: Shaped) -> ast.KernelParameter:
    """The parameter with the tensor's number of rows, where it leaves that open."""
    extents = parameter.type.extents
    if len(extents) != len(tensor.shape) or extents[0] is not ast.ANY_ROWS:
        return parameter
    return replace(parameter, type=replace(parameter.type, extents=(ast.IntLiteral(tensor.shape[0]), *extents[1:])))


def _called_with_arrays(kernel: ast.Kernel, tensors: Sequence[Shaped]) -> ast.Kernel:
    """The kernel with a second entry that takes arrays and calls the one with pointers, if there is such."""
    entry = kernel.entry
    flat = [parameter.type.pointer == 1 and not parameter.type.extents for parameter in entry.parameters]
    if not any(flat):
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
