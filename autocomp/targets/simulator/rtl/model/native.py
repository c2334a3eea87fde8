"""The default driver: ctypes over the C ABI that is compiled with a model (harness/abi.cpp)."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from autocomp.errors import ConfigError
from autocomp.targets.simulator.rtl.model.driver import CLOCK, checked_port
from autocomp.targets.simulator.rtl.model.interface import CHANNELS, Interface
from autocomp.targets.simulator.rtl.model.ports import Port

ABI_VERSION = 3
MOST_WORDS = 8
STATUSES = ("done", "cycles", "memory", "finished")


class _Roles(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int32) for name in ("clock", "busy", "command_valid", "command_ready")),
        ("word_count", ctypes.c_int32),
        ("words", ctypes.c_int32 * MOST_WORDS),
        *((name, ctypes.c_int32) for name in CHANNELS),
    )


class _Region(ctypes.Structure):
    _fields_ = (
        ("base", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
        ("content", ctypes.c_void_p),
        ("guard", ctypes.c_uint64),
    )


class _Commands(ctypes.Structure):
    _fields_ = (
        ("words", ctypes.c_void_p),
        ("gaps", ctypes.c_void_p),
        ("fences", ctypes.c_void_p),
        ("count", ctypes.c_int64),
    )


class _Conditions(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_int64) for name in ("latency", "bandwidth", "most_cycles"))


class _Report(ctypes.Structure):
    _fields_ = (
        ("status", ctypes.c_int32),
        *((name, ctypes.c_int64) for name in ("cycles", "steps", "accepted", "segments")),
        *((name, ctypes.c_int64) for name in ("stray_reads", "stray_writes")),
        *((name, ctypes.c_uint64) for name in ("first_read", "first_write")),
        ("message", ctypes.c_char * 256),
    )


@dataclass(frozen=True)
class EncodedCommands:
    """Commands as the hardware takes them, in order. `words` uint64 [n][words of a command]; `gaps` int64 [n], idle
    cycles of the host before each; `fences` uint8 [n], 1 for a wait until the design is idle, which has no words."""

    words: npt.NDArray[np.uint64]
    gaps: npt.NDArray[np.int64]
    fences: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.gaps)


@dataclass(frozen=True)
class MemoryConditions:
    """The memory at the port: cycles from a request to its first data, bytes a cycle, cycles before giving up, and
    bytes of guard memory before and after each tensor."""

    latency: int
    bandwidth: int
    most_cycles: int
    guard: int = 0


@dataclass(frozen=True)
class Strays:
    """Accesses of guard memory: how many, and the address of the first. Reads are requests that touch no tensor;
    writes are bytes."""

    count: int = 0
    first: int = 0


@dataclass(frozen=True)
class RtlRun:
    """The result of a batch. `status`: done; cycles (too many); memory (an access that it refuses); finished (the
    design stopped itself). `cycles` from the first command's offer to the one that finds the design idle, both
    counted. `segment_cycles` from the first offer of a segment to idle; `steps` of the clock; `reads` and `writes`
    beyond the tensors."""

    status: str
    message: str
    cycles: int
    segment_cycles: tuple[int, ...]
    accepted: int
    steps: int
    reads: Strays = Strays()
    writes: Strays = Strays()


class NativeDriver:
    """A model in this process. Not to be shared between threads."""

    def __init__(self, library: Path) -> None:
        self._model: int | None = None
        try:
            self._lib = _load(library)
        except (OSError, AttributeError) as error:
            raise ConfigError(
                f"{library} cannot be loaded: {error}", hint="build it again: autocomp rtl build"
            ) from None
        self._model = self._lib.rtl_open()
        if not self._model:
            raise ConfigError(f"{library}: out of memory for the model")
        ports = [self._port(index) for index in range(self._lib.rtl_port_count(self._model))]
        self.ports: Mapping[str, Port] = {port.name: port for port in ports}
        self._index = {port.name: index for index, port in enumerate(ports)}
        self._bytes = [self._lib.rtl_port_bytes(self._model, index) for index in range(len(ports))]

    def poke(self, port: str, value: int) -> None:
        checked_port(self.ports, port, value)
        index = self._index[port]
        self._lib.rtl_poke(self._model, index, value.to_bytes(self._bytes[index], "little"))

    def peek(self, port: str) -> int:
        checked_port(self.ports, port)
        index = self._index[port]
        buffer = ctypes.create_string_buffer(self._bytes[index])
        self._lib.rtl_peek(self._model, index, buffer)
        return int.from_bytes(buffer.raw, "little")

    def step(self, cycles: int = 1) -> None:
        self._lib.rtl_step(self._model, self._index[CLOCK], cycles)

    def run_until(self, port: str, value: int, limit: int) -> int | None:
        checked_port(self.ports, port)
        taken = self._lib.rtl_run_until(self._model, self._index[CLOCK], self._index[port], value, limit)
        return None if taken < 0 else int(taken)

    def run(
        self,
        interface: Interface,
        commands: EncodedCommands,
        tensors: Sequence[tuple[int, npt.NDArray[Any]]],
        conditions: MemoryConditions,
    ) -> RtlRun:
        """Feed the commands to a design that was reset, its held inputs set. `tensors` are (address, array): writes go
        into the arrays, which must be contiguous. Without tensors every access is allowed, and reads give zeros."""
        regions = (_Region * max(1, len(tensors)))(
            *(_Region(address, array.nbytes, array.ctypes.data, conditions.guard) for address, array in tensors)
        )
        words = np.ascontiguousarray(commands.words, np.uint64)
        gaps = np.ascontiguousarray(commands.gaps, np.int64)
        fences = np.ascontiguousarray(commands.fences, np.uint8)
        batch = _Commands(words.ctypes.data, gaps.ctypes.data, fences.ctypes.data, len(commands))
        segments = np.zeros(int(fences.sum()) + 1, np.int64)
        report = _Report()
        self._lib.rtl_run(
            self._model,
            ctypes.byref(self._roles(interface)),
            ctypes.byref(batch),
            regions,
            len(tensors),
            ctypes.byref(_Conditions(conditions.latency, conditions.bandwidth, conditions.most_cycles)),
            ctypes.byref(report),
            ctypes.c_void_p(segments.ctypes.data),
        )
        return RtlRun(
            status=STATUSES[report.status],
            message=report.message.decode(errors="replace"),
            cycles=report.cycles,
            segment_cycles=tuple(int(cycles) for cycles in segments[: report.segments]),
            accepted=report.accepted,
            steps=report.steps,
            reads=Strays(report.stray_reads, report.first_read),
            writes=Strays(report.stray_writes, report.first_write),
        )

    def close(self) -> None:
        if self._model is not None:
            self._lib.rtl_close(self._model)
            self._model = None

    def __del__(self) -> None:
        self.close()

    def _port(self, index: int) -> Port:
        name = self._lib.rtl_port_name(self._model, index).decode()
        bits, is_input = (read(self._model, index) for read in (self._lib.rtl_port_bits, self._lib.rtl_port_is_input))
        return Port(name, bits, bool(is_input))

    def _roles(self, interface: Interface) -> _Roles:
        roles = _Roles(word_count=len(interface.words))
        for field, name in interface.roles.items():
            setattr(roles, field, self._index[name])
        for position, name in enumerate(interface.words.values()):
            roles.words[position] = self._index[name]
        return roles


def _load(library: Path) -> ctypes.CDLL:
    lib = ctypes.CDLL(str(library))
    pointer, number, wide = ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64
    signatures: dict[str, tuple[Any, tuple[Any, ...]]] = {
        "rtl_abi_version": (number, ()),
        "rtl_open": (pointer, ()),
        "rtl_close": (None, (pointer,)),
        "rtl_port_count": (number, (pointer,)),
        "rtl_port_name": (ctypes.c_char_p, (pointer, number)),
        "rtl_port_bits": (number, (pointer, number)),
        "rtl_port_is_input": (number, (pointer, number)),
        "rtl_port_bytes": (number, (pointer, number)),
        "rtl_poke": (None, (pointer, number, ctypes.c_char_p)),
        "rtl_peek": (None, (pointer, number, ctypes.c_char_p)),
        "rtl_step": (None, (pointer, number, wide)),
        "rtl_run_until": (wide, (pointer, number, number, ctypes.c_uint64, wide)),
        "rtl_run": (None, (pointer, pointer, pointer, pointer, wide, pointer, pointer, pointer)),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    if lib.rtl_abi_version() != ABI_VERSION:
        raise OSError("it was made by another version")
    return lib
