"""The cycles that a machine's host takes for a class of operations, from the `host { }` block of its description."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from autocomp.errors import IsaError
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.isa.timing import SECTION_KEYS
from autocomp.targets.simulator.kernel.code.bytecode import DTYPE_INDEX, Code

MOST = 10_000  # cycles of one operation


@dataclass(frozen=True)
class HostCosts:
    """Cycles per class of operation; the keys of a description's `host { }` block."""

    integer: int
    multiply: int
    divide: int
    load: int
    store: int
    branch: int
    mispredict: int
    call: int
    fence: int
    float_add: int
    float_multiply: int
    float_divide: int
    float_compare: int
    float_move: int

    def operation(self, code: Code, immediate: int) -> int:
        """Cycles of one bytecode without known operands."""
        return self._by_code().get(code, 0) if code is not Code.Extend else self._extension(immediate)

    def _by_code(self) -> Mapping[Code, int]:
        integer, two = self.integer, 2 * self.integer
        return {
            **dict.fromkeys((Code.And, Code.Or, Code.Xor, Code.Shl, Code.Shr, Code.ShrU, Code.BitNot), integer),
            **dict.fromkeys((Code.Add, Code.Sub, Code.Neg, Code.Lt, Code.LtU, Code.LogicalNot, Code.ToBool), integer),
            **dict.fromkeys((Code.Le, Code.LeU, Code.Eq, Code.Ne), two),
            Code.Mul: self.multiply,
            **dict.fromkeys((Code.Div, Code.Mod, Code.DivU, Code.ModU), self.divide),
            Code.FAdd: self.float_add,
            Code.FSub: self.float_add,
            Code.FMul: self.float_multiply,
            Code.FDiv: self.float_divide,
            **dict.fromkeys((Code.FEq, Code.FNe, Code.FLt, Code.FLe), self.float_compare),
            **dict.fromkeys((Code.FNeg, Code.IntToFloat, Code.UIntToFloat, Code.FloatToInt), self.float_move),
        }

    def _extension(self, dtype: int) -> int:
        """A byte is masked, other narrow integers are shifted up and down; 32 bits are what instructions leave."""
        if dtype >= DTYPE_INDEX["i32"]:
            return 0
        return self.integer if dtype == DTYPE_INDEX["u8"] else 2 * self.integer

    def scale(self, factor: int) -> int:
        """A multiplication by a constant: shifts and adds where they take fewer cycles."""
        ones = abs(factor).bit_count()
        return 0 if factor == 1 else min(self.multiply, max(1, 2 * ones - 1) * self.integer)

    def divide_by(self, code: Code, divisor: int, *, natural: bool) -> int:
        """A division by a constant; `natural` if the dividend is never negative."""
        remainder = code in (Code.Mod, Code.ModU)
        if divisor > 0 and divisor.bit_count() == 1:
            return self.integer * (1 if natural or code in (Code.DivU, Code.ModU) else 4)
        by_reciprocal = self.multiply + 3 * self.integer
        return min(self.divide, by_reciprocal + (self.multiply + self.integer if remainder else 0))

    def element(self, builtin: int) -> int:
        """One element of add_matrix (0) or negate_matrix (1), with its share of the loop."""
        work = 2 * self.load + self.float_add if builtin == 0 else self.load + self.float_move
        return work + self.store + (3 if builtin == 0 else 2) * self.integer + self.branch


def host_costs(accelerator: Accelerator, counted: bool | None = None) -> HostCosts | None:
    """The costs that a description states, or None where the host's code takes no time. `counted` says whether it does,
    None that the description says it."""
    settings, keys = accelerator.settings, SECTION_KEYS["host"]
    if not (settings.get("host.code", keys["code"].default) if counted is None else counted):
        return None
    cycles = {f.name: int(settings.get(f"host.{f.name}", keys[f.name].default)) for f in fields(HostCosts)}
    for name, count in cycles.items():
        if not 0 <= count <= MOST:
            where = accelerator.path or accelerator.name
            raise IsaError(f"{where}: host.{name} is {count}; expected 0 to {MOST} cycles")
    return HostCosts(**cycles)
