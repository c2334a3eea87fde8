"""The definition of a rewrite."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from autocomp.errors import NotApplicable
from autocomp.targets.triton.language.module import Module


@dataclass(frozen=True)
class Setting:
    """The inputs of proposals besides the kernel: the workload's sizes and the device."""

    dims: Mapping[str, int] = field(default_factory=dict)
    element_bytes: int = 2
    multiprocessors: int = 132
    shared_bytes: int = 232_448
    capability: tuple[int, int] = (9, 0)


@dataclass(frozen=True)
class Offer:
    """Parameters worth trying, with the reason. `gain` is the share of the time that it may save, a guess from what the
    literature and measurements say, not a promise."""

    parameters: Mapping[str, Any]
    reason: str
    gain: float = 0.02


class Rewrite(ABC):
    """One rewrite. `doc` is what menus and prompts say of it: what it does, when it pays, and where that is known
    from."""

    name: ClassVar[str]
    doc: ClassVar[str]

    @abstractmethod
    def offers(self, module: Module, setting: Setting) -> Sequence[Offer]:
        """Parameters that suit this module, best first. Empty where it does not apply."""

    @abstractmethod
    def apply(self, module: Module, parameters: Mapping[str, Any]) -> Module:
        """The rewritten module. Raises NotApplicable with the reason."""

    def applies(self, module: Module, parameters: Mapping[str, Any]) -> bool:
        """True if `apply` accepts these parameters."""
        try:
            self.apply(module, parameters)
        except NotApplicable:
            return False
        return True


def refuse(reason: str, hint: str | None = None) -> NotApplicable:
    """The exception to raise."""
    return NotApplicable(reason, hint=hint)


def wanted(parameters: Mapping[str, Any], name: str, kind: type, default: Any = None) -> Any:
    """A parameter of a rewrite. Raises NotApplicable where it is missing or of another type."""
    value = parameters.get(name, default)
    if value is None:
        raise refuse(f"the parameter {name!r} is missing")
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise refuse(f"the parameter {name!r} is {value!r}, expected {kind.__name__}")
    return value
