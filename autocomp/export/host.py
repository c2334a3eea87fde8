"""Exported kernels on this computer: compiled against the header made from the description, their commands recorded and
run by the simulator, wherever the kernel waits for them.

The computer's memory is the machine's: a kernel's own arithmetic on tensors happens in C, between the commands.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from autocomp.errors import ConfigError, KernelError
from autocomp.export.encoding import encoded
from autocomp.simulator import SimulationOptions, SimulationResult, _core, run_program
from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.isa.language.encoding import command_words
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.kernel.code.bytecode import DTYPE_INDEX, POINTER_SHIFT, Code
from autocomp.targets.simulator.kernel.code.types import NUMPY_NAMES
from autocomp.workload import TensorSpec
from autocomp.workload.datatypes import array_type, data_type

FLAGS = ("-O1", "-std=gnu11", "-fwrapv", "-ffp-contract=off", "-Wall", "-shared", "-fPIC")
Arrays = Mapping[str, npt.NDArray[Any]]
Step = tuple[int, int, int, int, int]  # of bytecode
STEP = 5  # numbers


def compiler() -> str:
    """The C compiler: CC, else cc, gcc or clang. Raises ConfigError if none of them is installed."""
    names = [os.environ.get("CC", "cc"), "gcc", "clang"]
    path_of_compiler = next((path for name in names if (path := shutil.which(name))), None)
    if path_of_compiler is None:
        raise ConfigError("no C compiler found", hint="install gcc or clang, or set CC")
    return path_of_compiler


def knows_flags(flags: Sequence[str]) -> bool:
    """True if the compiler makes a loadable shared library with these flags."""
    with tempfile.TemporaryDirectory() as name:
        source, library = Path(name) / "flags.c", Path(name) / "flags.so"
        source.write_text("int shifted(int by) { return 1 << by; }\n", encoding="utf-8")
        command = [compiler(), *FLAGS, *flags, "-Werror", "-Wl,--no-undefined", "-o", str(library), str(source)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


def compile_library(sources: Sequence[Path], include: Sequence[Path], library: Path, flags: Sequence[str] = ()) -> None:
    """A shared library of C files. Raises KernelError with what the compiler says."""
    folders = [f"-I{folder}" for folder in include]
    command = [compiler(), *FLAGS, *flags, *folders, "-o", str(library), *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise KernelError(f"the C compiler refuses the exported kernels:\n{done.stderr.strip()}")


class Host:
    """Functions of a library that was compiled with the recorder."""

    def __init__(self, library: Path, accelerator: Accelerator) -> None:
        self._library = ctypes.CDLL(str(library))
        self._library.autocomp_commands.restype = ctypes.POINTER(ctypes.c_uint64)
        self._library.autocomp_command_count.restype = ctypes.c_size_t
        self._library.autocomp_memory_at.restype = ctypes.c_size_t
        self._accelerator = encoded(accelerator)

    def call(
        self,
        function: str,
        tensors: Sequence[TensorSpec],
        arrays: Arrays,
        sizes: Sequence[int] = (),
        numbers: Sequence[float] = (),
        strides: Mapping[str, int] | None = None,
        others: Sequence[Any] = (),
    ) -> int:
        """Call a function, which changes the arrays as it does the memory; what a dispatch function returns. `numbers`
        are its arguments of type float; each of the `strides` follows the tensor of its name. `others` are arguments
        after these, as `ctypes` has them.

        `arrays` are by the tensors' names, contiguous and writable. Raises KernelError where the simulator refuses
        what the kernel does.
        """
        given = [arrays[tensor.name] for tensor in tensors]
        addresses = {name: int(array.ctypes.data) for name, array in arrays.items()}
        recorded = Replay(self._accelerator, {t.name: arrays[t.name] for t in tensors}, addresses)
        failed: list[Exception] = []

        def wait() -> None:
            try:
                if not failed:
                    words = self._library.autocomp_command_count() * len(command_words(self._accelerator))
                    recorded.run(self._library.autocomp_commands()[:words], self._memories())
            except Exception as error:  # would otherwise be lost on its way through C
                failed.append(error)
            self._library.autocomp_forget()

        callback = ctypes.CFUNCTYPE(None)(wait)
        self._library.autocomp_forget()
        self._library.autocomp_forget_memory()
        self._library.autocomp_when_waiting(callback)
        values: list[Any] = [*map(ctypes.c_size_t, sizes)]
        for tensor, array in zip(tensors, given, strict=True):
            values.append(ctypes.c_void_p(array.ctypes.data))
            values += [ctypes.c_size_t(stride) for name, stride in (strides or {}).items() if name == tensor.name]
        result = int(getattr(self._library, function)(*values, *map(ctypes.c_float, numbers), *others))
        self._library.autocomp_when_waiting(None)
        if failed:
            raise failed[0]
        return result

    def _memories(self) -> Iterator[npt.NDArray[Any]]:
        """The arrays that the kernel told of, as bytes."""
        address = ctypes.c_void_p()
        for number in count():
            size = self._library.autocomp_memory_at(ctypes.c_size_t(number), ctypes.byref(address))
            if size == 0:
                return
            yield np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address.value or 0))


@dataclass(frozen=True)
class _Tensor:
    name: str
    array: npt.NDArray[Any]
    dtype: str  # as bytecode names it
    first: int  # its address where the commands were recorded


class Replay:
    """Recorded command words, run on the simulator: what was done since a call began, as a program that does it once
    more from the memory as it was then.

    The arrays change as they do the memory. `addresses` are theirs where the commands were recorded.
    """

    def __init__(self, accelerator: Accelerator, arrays: Arrays, addresses: Mapping[str, int]) -> None:
        self._accelerator = accelerator
        self._tables = isa.lower(accelerator)
        self._words = command_words(accelerator)
        self._tensors: list[_Tensor] = []
        self._initial: dict[str, npt.NDArray[Any]] = {}
        self._seen: dict[str, npt.NDArray[Any]] = {}  # memory as the program so far leaves it
        for name, array in arrays.items():
            self._add(name, array, addresses[name])
        self._code: list[npt.NDArray[np.int64]] = []  # of the program so far, in parts
        self._slots = 1

    def _add(self, name: str, array: npt.NDArray[Any], address: int) -> None:
        tensor = _Tensor(name, array, NUMPY_NAMES[array.dtype.name], address)
        self._tensors.append(tensor)
        self._initial[name] = array.copy()
        self._seen[name] = array.copy()

    def run(self, words: Sequence[int], memories: Iterable[npt.NDArray[Any]] = ()) -> None:
        """Issue the host's writes since the last wait, then these commands; memory is then as the machine leaves it.
        `memories` are arrays of the kernel, which stay where they are. Raises KernelError for what the simulator
        refuses."""
        known = {tensor.first for tensor in self._tensors}
        for array in memories:
            if int(array.ctypes.data) not in known:
                self._add(f"array {len(self._tensors)}", array, int(array.ctypes.data))
        commands = np.array(words, np.uint64).reshape(-1, len(self._words))
        distinct, places = np.unique(commands, axis=0, return_inverse=True)  # loops send most commands often
        issues = [_code(self._issue(dict(zip(self._words, map(int, one), strict=True)))) for one in distinct]
        sent = (issues[place] for place in places.reshape(-1))
        self._code += [_code(self._host_writes()), *sent, _code(self._wait())]
        tensors = [(t.name, t.dtype, t.array.shape, None, True) for t in self._tensors]
        code = np.concatenate([*self._code, _code([(Code.Halt, 0, 0, 0, 0)])])
        lines = np.zeros(len(code), np.int32)
        program = _core.Program(self._tables.machine, code, lines, tensors, self._slots, self._slots)
        result = run_program(self._tables.machine, program, self._initial, SimulationOptions(timing=False))
        if result.error is not None:
            raise KernelError(f"the simulator refuses the recorded commands: {result.error.message}")
        for tensor in self._tensors:
            output = result.outputs[tensor.name]
            changed = output.view(_bits(output)) != tensor.array.view(_bits(output))
            if changed.any():  # constant arrays cannot be written
                tensor.array[changed] = output[changed]
            self._seen[tensor.name] = output

    def _host_writes(self) -> Iterator[Step]:
        for number, tensor in enumerate(self._tensors):
            now, before = tensor.array.reshape(-1), self._seen[tensor.name].reshape(-1)
            for place in np.flatnonzero(now.view(_bits(now)) != before.view(_bits(now))):
                floating = now.dtype.kind not in "iub"
                bits = np.float64(now[place]).view(np.int64) if floating else int(now[place].astype(np.int64))
                yield Code.LoadFloat if floating else Code.LoadInt, 0, 0, 0, int(bits)
                yield Code.LoadInt, 1, 0, 0, ((number + 1) << POINTER_SHIFT) + int(place) * tensor.array.itemsize
                yield Code.Store, 0, 1, DTYPE_INDEX[tensor.dtype], 0
                self._slots = max(self._slots, 2)

    def _issue(self, words: Mapping[str, int]) -> Iterator[Step]:
        name, operands = isa.decode_command(self._accelerator, words)
        instruction = self._accelerator.instruction(name)
        assert instruction is not None  # it was decoded
        for slot, parameter in enumerate(instruction.parameters):
            value = operands[parameter.name]
            if parameter.kind == "float":
                yield Code.LoadFloat, slot, 0, 0, int(np.float64(value).view(np.int64))
            else:
                number = self._address(int(value)) if parameter.kind == "pointer" else int(value)
                yield Code.LoadInt, slot, 0, 0, number
        yield Code.Issue, 0, 0, 0, self._tables.instructions[name]
        self._slots = max(self._slots, len(instruction.parameters) + 1)

    def _wait(self) -> Iterator[Step]:
        """The fence at which the kernel waited; it is not among the recorded commands."""
        for instruction in self._accelerator.instructions:
            if instruction.words.get("role") == "fence" and not instruction.parameters:
                yield Code.Issue, 0, 0, 0, self._tables.instructions[instruction.name]
                return

    def _address(self, address: int) -> int:
        """The simulator's pointer for an address of this computer."""
        if address == 0:
            return 0
        for number, tensor in enumerate(self._tensors, 1):
            if 0 <= address - tensor.first < tensor.array.nbytes:
                return (number << POINTER_SHIFT) + address - tensor.first
        raise KernelError(f"a command has the address {address:#x}, which is outside all tensors of the function")


def _code(steps: Iterable[Step]) -> npt.NDArray[np.int64]:
    return np.array([*steps], np.int64).reshape(-1, STEP)


def _bits(array: npt.NDArray[Any]) -> Any:
    return np.dtype(f"u{array.itemsize}")


def run_on_simulator(
    text: str,
    source: str,
    tensors: Sequence[TensorSpec],
    constants: Mapping[str, int],
    accelerator: Accelerator,
    arrays: Arrays,
) -> dict[str, npt.NDArray[Any]]:
    """The memory after a kernel of the dialect ran on it, by the tensors' names. Raises KernelError where it fails."""
    result, names = _run(text, source, tensors, constants, accelerator, arrays, SimulationOptions(timing=False))
    return {t.name: result.outputs[name] for name, t in zip(names, tensors, strict=True)}


def cycles_on_simulator(
    text: str, source: str, tensors: Sequence[TensorSpec], accelerator: Accelerator, arrays: Arrays
) -> int:
    """The cycles of a kernel of the dialect. Raises KernelError where it fails."""
    result, _ = _run(text, source, tensors, {}, accelerator, arrays, SimulationOptions())
    assert result.timing is not None  # the options ask for it
    return result.timing.cycles


def _run(
    text: str,
    source: str,
    tensors: Sequence[TensorSpec],
    constants: Mapping[str, int],
    accelerator: Accelerator,
    arrays: Arrays,
    options: SimulationOptions,
) -> tuple[SimulationResult, list[str]]:
    """The result, and the kernel's names of the tensors."""
    tables = isa.lower(accelerator)
    tree = kernel.parse(text, source, {**accelerator.all_constants, **constants})
    checked = kernel.check(tree, accelerator, constants, tensors)
    program = kernel.link(checked.program, tables)
    names = [parameter.name for parameter in checked.parameters]
    given = {name: arrays[t.name] for name, t in zip(names, tensors, strict=True)}
    result = run_program(tables.machine, program, given, options)
    if result.error is not None:
        raise KernelError(f"{source}: {result.error.message}")
    return result, names


def random_array(tensor: TensorSpec, generator: np.random.Generator) -> npt.NDArray[Any]:
    kind = array_type(tensor.dtype)
    if data_type(tensor.dtype).is_float:
        return generator.standard_normal(tensor.shape).astype(kind)
    limits = np.iinfo(kind)
    low, high = max(limits.min, -1000), min(limits.max, 1000)
    return generator.integers(low, high, tensor.shape, kind, endpoint=True)
