"""The bytecode that the compiler makes: the codes of the native interpreter, and a program before it is linked."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


class Code(enum.IntEnum):
    """The interpreter's codes in its own order; a test compares them with the native list."""

    Halt = 0
    LoadInt = enum.auto()
    LoadFloat = enum.auto()
    Move = enum.auto()
    Add = enum.auto()
    Sub = enum.auto()
    Mul = enum.auto()
    Div = enum.auto()
    Mod = enum.auto()
    DivU = enum.auto()
    ModU = enum.auto()
    And = enum.auto()
    Or = enum.auto()
    Xor = enum.auto()
    Shl = enum.auto()
    Shr = enum.auto()
    ShrU = enum.auto()
    Neg = enum.auto()
    BitNot = enum.auto()
    LogicalNot = enum.auto()
    Eq = enum.auto()
    Ne = enum.auto()
    Lt = enum.auto()
    Le = enum.auto()
    LtU = enum.auto()
    LeU = enum.auto()
    FAdd = enum.auto()
    FSub = enum.auto()
    FMul = enum.auto()
    FDiv = enum.auto()
    FNeg = enum.auto()
    FEq = enum.auto()
    FNe = enum.auto()
    FLt = enum.auto()
    FLe = enum.auto()
    Extend = enum.auto()
    ToBool = enum.auto()
    IntToFloat = enum.auto()
    UIntToFloat = enum.auto()
    FloatToInt = enum.auto()
    ToF32 = enum.auto()
    Jump = enum.auto()
    JumpIfZero = enum.auto()
    JumpIfNotZero = enum.auto()
    Load = enum.auto()
    Store = enum.auto()
    Call = enum.auto()
    Return = enum.auto()
    Issue = enum.auto()
    HostCall = enum.auto()
    Assigned = enum.auto()
    Undefine = enum.auto()
    Service = enum.auto()


class Service(enum.IntEnum):
    """Services of the host's system that a whole program may ask for, a kernel not; in the interpreter's order."""

    Print = 0
    Exit = 1
    Clock = 2


DTYPES = (
    "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64", "f16", "bf16", "f8e5m2", "f8e4m3"
)  # fmt: skip
DTYPE_INDEX = {name: index for index, name in enumerate(DTYPES)}

MAX_SLOTS = 60_000  # of one frame; operands are 16 bits wide
MAX_STACK = 1 << 20  # slots
POINTER_SHIFT = 48


def tensor_number(address: int) -> int:
    """The number from 1 on of the tensor that an address names, also some bytes before its start; 0: none."""
    return (address + (1 << (POINTER_SHIFT - 1))) >> POINTER_SHIFT


@dataclass(frozen=True)
class CompiledTensor:
    """A tensor the program reaches: a parameter, or an array of the kernel with its initial bytes (None: zeros)."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    initial: bytes | None
    parameter: bool


@dataclass(frozen=True)
class CompiledProgram:
    """Bytecode for one accelerator. An Issue's immediate is an index into `instructions`, names in use."""

    code: npt.NDArray[np.int64]  # [n, 5]: code, a, b, c, imm
    lines: npt.NDArray[np.int32]  # [n], source lines; 0: that of the call into this code
    tensors: tuple[CompiledTensor, ...]
    instructions: tuple[str, ...]
    frame_size: int  # slots of the entry function
    stack_size: int  # slots over the deepest chain of calls
    host_cycles: npt.NDArray[np.int64] | None  # [n, 2] as in `host_time`; None: the host's code takes no time
    messages: tuple[str, ...] = ()  # an Assigned's immediate is an index

    @property
    def parameters(self) -> tuple[CompiledTensor, ...]:
        return tuple(tensor for tensor in self.tensors if tensor.parameter)
