"""The definition of one operation: its operands, its result in float64, the error it allows and the work it takes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from autocomp.errors import ConfigError

Array = Any  # a NumPy array or a PyTorch tensor, of float64 or of integers
Dims = Mapping[str, int]
OptionValues = Mapping[str, Any]
Fill = Literal["normal", "unit", "indices", "scales"]


@dataclass(frozen=True)
class Operand:
    """A tensor of an operation. `fill` says which values suit an input: `normal` numbers times `scale`, around `centre`
    in the cases that are not centred at 0; `unit` numbers from -1 to 1; `indices` below `below`; positive `scales`."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    role: Literal["input", "output"] = "input"
    fill: Fill = "normal"
    scale: float = 1.0
    centre: float = 2.0
    below: int = 0


@dataclass(frozen=True)
class Expected:
    """The right result in float64, and by how much a correct kernel may miss it, element by element."""

    value: Array
    tolerance: Array


@dataclass(frozen=True)
class Work:
    """Floating-point operations of the definition. `tensor` ones are products of matrices, which tensor cores do in the
    data type `multiplied`; `vector` ones are all others, in float32."""

    tensor: int = 0
    vector: int = 0
    multiplied: str = "float16"


class Operation(ABC):
    """One operation. `dims` names its sizes; `choices` gives the values that each option may have, the usual one first.
    A single number means any number."""

    name: ClassVar[str]
    doc: ClassVar[str]
    dims: ClassVar[tuple[str, ...]]
    choices: ClassVar[Mapping[str, tuple[Any, ...]]] = {}
    dtypes: ClassVar[tuple[str, ...]] = ("float16", "bfloat16", "float32")

    @abstractmethod
    def operands(self, dims: Dims, dtype: str, options: OptionValues) -> tuple[Operand, ...]:
        """The tensors, inputs first, as the kernel's entry function gets them."""

    @abstractmethod
    def expected(
        self, xp: Any, given: Mapping[str, Array], dims: Dims, dtype: str, options: OptionValues
    ) -> dict[str, Expected]:
        """The results for inputs in float64 (indices: int64), by name of the output. `xp` is numpy or torch."""

    @abstractmethod
    def work(self, dims: Dims, dtype: str, options: OptionValues) -> Work:
        """The work of the definition; padding and masked elements do not count."""

    @abstractmethod
    def edges(self, dims: Dims, options: OptionValues) -> tuple[Dims, ...]:
        """Small sizes that no tile divides, to judge a kernel at besides the workload's own."""

    def check(self, dims: Dims, options: OptionValues) -> None:
        """Raise ConfigError for sizes or options that the operation does not have."""
        missing = [name for name in self.dims if name not in dims]
        unknown = [name for name in dims if name not in self.dims]
        if missing or unknown:
            said = f"lacks {', '.join(missing)}" if missing else f"does not have {', '.join(unknown)}"
            raise ConfigError(f"operation {self.name!r} {said}", hint=f"its dims: {', '.join(self.dims)}")
        for name, value in options.items():
            allowed = self.choices.get(name)
            if allowed is None:
                hint = f"its options: {', '.join(self.choices) or 'none'}"
                raise ConfigError(f"operation {self.name!r} has no option {name!r}", hint=hint)
            number = len(allowed) == 1 and isinstance(allowed[0], float) and isinstance(value, (int, float))
            if value not in allowed and not number:
                expected = ", ".join(str(choice) for choice in allowed)
                raise ConfigError(f"option {name!r} of {self.name!r}: found {value!r}, expected one of: {expected}")

    def with_defaults(self, options: OptionValues) -> dict[str, Any]:
        """All options, those that were left out with their usual values."""
        return {name: options.get(name, allowed[0]) for name, allowed in self.choices.items()}
