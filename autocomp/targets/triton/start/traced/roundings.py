"""Roundings of a convolution's operands to tf32, as the library does them."""

from __future__ import annotations

import math

from autocomp.targets.triton.start.traced.elementwise import AWAY, TO_EVEN, TO_ZERO
from autocomp.targets.triton.start.traced.graph import Graph, Node

KEPT = "no"  # an operand that is not rounded
ROUNDED = {"away": ("rounded", AWAY), "even": ("rounded_to_even", TO_EVEN), "zero": ("rounded_to_zero", TO_ZERO)}


def roundings_of(graph: Graph, node: Node, tf32: bool) -> tuple[str, str]:
    """The roundings of the operands of a convolution: those that the library was seen to do on the device, else its
    usual one, which leaves operands of several groups as they are."""
    if not tf32:
        return (KEPT, KEPT)
    pointwise = math.prod(graph[node.args[1]].shape[2:]) == 1
    usual = "even" if node.args[6] or pointwise else "away"
    usual = usual if int(node.args[8]) == 1 else KEPT
    image, filters = node.options.get("roundings", (usual, usual))
    return (str(image), str(filters))
