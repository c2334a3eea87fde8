"""The driver over pyverilator, an optional extra: slower, and with pyverilator's own object at hand (`simulator`).

pyverilator 0.7.0 does not work as it is. It imports a wrapper of Tcl, for a waveform viewer, that fails since Python
3.11; and its `build` takes .v files only, asks for C++11, and misreads the port declarations of Verilator 5. So the
wrapper is left out where it cannot be imported, and the model is built by `build.py` around pyverilator's C++.
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from autocomp.errors import ConfigError
from autocomp.targets.simulator.rtl.model.build import PREFIX, Face, build
from autocomp.targets.simulator.rtl.model.driver import CLOCK, checked_port
from autocomp.targets.simulator.rtl.model.ports import Port

_VIEWER = "tclwrapper"


class PyverilatorDriver:
    """A model in this process, driven by pyverilator."""

    def __init__(self, library: Path) -> None:
        self.simulator: Any = _pyverilator("pyverilator").PyVerilator(str(library), auto_eval=False)
        self.ports: Mapping[str, Port] = {
            name: Port(name, bits, is_input)
            for signals, is_input in ((self.simulator.inputs, True), (self.simulator.outputs, False))
            for name, bits in signals
        }

    def poke(self, port: str, value: int) -> None:
        checked_port(self.ports, port, value)
        self.simulator[port] = value

    def peek(self, port: str) -> int:
        checked_port(self.ports, port)
        self.simulator.eval()
        return int(self.simulator[port])

    def step(self, cycles: int = 1) -> None:
        for _ in range(cycles):
            self.simulator.eval()
            for level in (1, 0):
                self.simulator[CLOCK] = level
                self.simulator.eval()

    def run_until(self, port: str, value: int, limit: int) -> int | None:
        for cycle in range(limit + 1):
            if cycle:
                self.step()
            if self.peek(port) & ((1 << 64) - 1) == value:
                return cycle
        return None

    def close(self) -> None:
        self.simulator = None


def open_pyverilator(verilog: Path, top: str, jobs: int = 1) -> PyverilatorDriver:
    """Build (or take from the cache) and load a model. Raises ConfigError as `build`, and if the extra is missing."""
    template = _pyverilator("pyverilator.verilatorcpp").template_cpp

    def wrapper(ports: Sequence[Port]) -> str:
        inputs, outputs = ([(p.name, p.bits) for p in ports if p.is_input == side] for side in (True, False))
        return str(template(PREFIX.removeprefix("V"), inputs, outputs, [], '"null"'))

    face = Face("pyverilator", (), "wrapper.cpp", wrapper, ("--trace",), "-DVL_USER_FINISH")
    return PyverilatorDriver(build(verilog, top, jobs, face).library)


def _pyverilator(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if error.name not in (_VIEWER, "tkinter", "_tkinter"):
            raise ConfigError("pyverilator is not installed", hint="pip install 'autocomp[rtl]'") from None
    except AttributeError:
        pass  # the wrapper of Tcl calls what Python 3.11 no longer has
    for name in [name for name in sys.modules if name.partition(".")[0] in (_VIEWER, "pyverilator")]:
        del sys.modules[name]
    sys.modules[_VIEWER] = types.ModuleType(_VIEWER, "replaces the wrapper of a waveform viewer")
    return importlib.import_module(module)
