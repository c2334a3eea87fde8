"""What is found out about a syntax tree is kept with its nodes: they never change, and versions of a kernel share
most of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import TypeVar

Node = TypeVar("Node")
Result = TypeVar("Result")


def remembered(function: Callable[[Node], Result]) -> Callable[[Node], Result]:
    """A pure function of one immutable object that computes each result once in the life of the object.

    The result lies in the object's own dictionary, under a name that is no field: equality, hash and `replace` do not
    see it, and it goes when the object goes.
    """
    name = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def recall(node: Node) -> Result:
        memory = node.__dict__
        try:
            found: Result = memory[name]
        except KeyError:
            found = memory[name] = function(node)
        return found

    return recall


def remember(node: object, name: str, given: Hashable, compute: Callable[[], Result]) -> Result:
    """The same for a function that depends on more than the object: what else is `given` tells its results apart."""
    memory = node.__dict__.setdefault(name, {})
    if given not in memory:
        memory[given] = compute()
    found: Result = memory[given]
    return found
