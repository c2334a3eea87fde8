"""Types of the native core. Enumerators (DType, ExprOp, …) are exposed as nanobind enums with the C++ names."""

from collections.abc import Sequence
from typing import Any, TypedDict

import numpy as np

class TimingSchema(TypedDict):
    numbers: dict[tuple[str, str], tuple[int, int]]  # (place, key): (default, least)
    kinds: list[str]  # of units
    roles: list[str]  # of instructions
    causes: list[str]  # of stalls

def timing_schema() -> TimingSchema: ...

class DType:
    I8: DType
    U8: DType
    I16: DType
    U16: DType
    I32: DType
    U32: DType
    I64: DType
    U64: DType
    F32: DType
    F64: DType

class MachineBuilder:
    """Collects the tables of machine.hpp; every method checks its indices and raises ValueError."""

    def __init__(self) -> None: ...
    def memory(
        self, name: str, kind: str, rows: int, cols: int, dtype: str, banks: int = 1, shown: int = -1
    ) -> int: ...
    def state(self, name: str, initial: float, is_float: bool = False) -> int: ...
    def expr(
        self, op: str, a: int = -1, b: int = -1, c: int = -1, imm: int = 0, fimm: float = 0.0, is_float: bool = False
    ) -> int: ...
    def require(self, condition: int, message: str) -> int: ...
    def store(self, memory: int, row: int, col: int, value: int) -> int: ...
    def store_dram(self, pointer: int, offset: int, value: int, dtype: str) -> int: ...
    def set_state(self, slot: int, index: int, value: int) -> int: ...
    def loop(self, count: int, body: Sequence[int], step: int = -1, ordered: bool = False) -> int: ...
    def emit(self, instruction: int, arguments: Sequence[int], awaits: Sequence[int]) -> int: ...  # in streams
    def when(self, condition: int, body: Sequence[int], otherwise: Sequence[int] = ()) -> int: ...
    def unit(self, name: str, settings: dict[str, int], choices: dict[str, str]) -> int: ...
    def instruction(
        self,
        name: str,
        unit: int,
        parameters: Sequence[tuple[str, bool]],  # (name, is_float)
        body: Sequence[int],
        accesses: Sequence[dict[str, Any]],  # keys as struct Access; dims: [(count, stride)]
        properties: Sequence[tuple[str, int]],
        pointers: Sequence[int] = (),  # parameters that are addresses of tensors
    ) -> int: ...
    def stream(self, instruction: int, name: str, priority: int, after: Sequence[int], body: Sequence[int]) -> None: ...
    def home(self, instruction: int, pointer: int, memory: int) -> None: ...  # another memory than the first
    def word(self, instruction: int, key: str, word: str) -> None: ...  # a timing property that is a word
    def setting(self, key: str, value: int | str) -> None: ...
    def build(self) -> Machine: ...

class Machine:
    """Frozen tables; safe to share between threads."""

class Program:
    def __init__(
        self,
        machine: Machine,
        code: np.ndarray,  # int64 [n, 5]: code, a, b, c, imm
        lines: np.ndarray,  # int32 [n]
        tensors: Sequence[
            tuple[str, str, tuple[int, ...], bytes | None, bool]
        ],  # name, dtype, shape, initial, parameter
        frame_size: int,
        stack_size: int,
        host_cycles: np.ndarray | None = None,  # int64 [n, 2]: cycles of the host, and more if it jumps
        messages: Sequence[str] = (),  # of program errors
    ) -> None: ...
    @property
    def parameters(self) -> list[tuple[str, str, tuple[int, ...]]]: ...

class Trace:
    """Commands without a kernel: instruction indices and their arguments, one number for each parameter."""

    def __init__(
        self,
        machine: Machine,
        instructions: np.ndarray,  # int32 [n]
        arguments: Sequence[Sequence[float | int]],
        host_cycles: np.ndarray,  # int64 [n], idle host cycles before each
        lines: np.ndarray | None = None,  # int32 [n], source lines
    ) -> None: ...
    def commands(self, machine: Machine) -> list[tuple[int, list[int | float], int, int]]: ...
    def columns(self, machine: Machine) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]: ...
    def __len__(self) -> int: ...

# Both release the GIL and return plain dictionaries that simulator/results.py turns into dataclasses.
def run(
    machine: Machine,
    program: Program,
    tensors: Sequence[np.ndarray],
    before: Sequence[np.ndarray],
    options: dict[str, Any],
) -> dict[str, Any]: ...
def replay(machine: Machine, trace: Trace, options: dict[str, Any]) -> dict[str, Any]: ...
def machine_codes() -> list[str]: ...  # that this processor can run, the fastest last
def choose_machine_code(wanted: str, avx2: bool, avx512: bool) -> str: ...
def operator_names() -> list[str]: ...
def code_names() -> list[str]: ...
