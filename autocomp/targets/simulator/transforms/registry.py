"""The transformations that there are: each in a module of `nests/` or `straight/`, found there."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from inspect import isabstract
from pkgutil import iter_modules

from autocomp.data import closest
from autocomp.targets.simulator.transforms import nests, straight
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.protocol import Transformation


def _shipped() -> Iterator[Transformation]:
    for package in (nests, straight):
        for entry in iter_modules(package.__path__, f"{package.__name__}."):
            for kind in vars(import_module(entry.name)).values():
                if isinstance(kind, type) and issubclass(kind, Transformation) and kind.__module__ == entry.name:
                    yield from () if isabstract(kind) else (kind(),)


TRANSFORMATIONS: tuple[Transformation, ...] = tuple(sorted(_shipped(), key=lambda item: item.order))


def is_known(name: str) -> bool:
    """True if there is a transformation of a name."""
    return any(item.name == name for item in TRANSFORMATIONS)


def transformation(name: str) -> Transformation:
    """The transformation of a name. Raises NotApplicable, with the closest name, for an unknown name."""
    for item in TRANSFORMATIONS:
        if item.name == name:
            return item
    known = [item.name for item in TRANSFORMATIONS]
    near = closest(name, known)
    raise NotApplicable(
        f"unknown transformation {name!r}",
        hint=(f"did you mean {near!r}? " if near else "") + f"known: {', '.join(known)}",
    )
