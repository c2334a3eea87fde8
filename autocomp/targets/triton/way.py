"""A route in the making: rewrites taken one after the other, each left out where it does not apply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from autocomp.errors import NotApplicable
from autocomp.targets.triton.language import Module
from autocomp.targets.triton.rewrites import Setting
from autocomp.targets.triton.rewrites.registry import rewritten
from autocomp.targets.triton.rewrites.syntax.tree import has_dot, launches_of, main_kernels

Step = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Route:
    """Steps from a kernel to a better one; `gain` is the share of the time that it may save."""

    steps: tuple[Step, ...]
    reason: str
    gain: float


@dataclass
class Way:
    """A route in the making."""

    module: Module
    setting: Setting
    steps: list[Step] = field(default_factory=list)

    def copy(self) -> Way:
        return Way(self.module, self.setting, list(self.steps))

    def take(self, name: str, **parameters: Any) -> bool:
        """Apply a rewrite if it applies and changes something."""
        try:
            changed = rewritten(self.module, name, parameters)
        except NotApplicable:
            return False
        if changed.text == self.module.text:
            return False
        self.module = changed
        self.steps.append((name, parameters))
        return True

    def each(self, name: str, dots: bool | None = None, **parameters: Any) -> bool:
        """Apply a rewrite to every main kernel that it applies to; with `dots`, to those that multiply matrices, or
        not."""
        taken = False
        for kernel in main_kernels(self.module):
            function = self.module.kernels.get(kernel)
            if function is None or (dots is not None and has_dot([function]) != dots):
                continue
            taken |= self.take(name, kernel=kernel, **parameters)
        return taken

    def set(self, dots: bool, values: Mapping[str, int]) -> None:
        """Give kernels numbers, those that each has."""
        for kernel in main_kernels(self.module):
            if has_dot([self.module.kernels[kernel]]) == dots:
                for position in range(len(launches_of(self.module.tree, kernel))):
                    self.take("set_parameters", kernel=kernel, launch=position, values=dict(values))

    def done(self, reason: str, gain: float) -> Route:
        return Route(tuple(self.steps), reason, gain)
