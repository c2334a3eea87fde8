"""The one narrow way to drive a design cycle by cycle: poke inputs, peek outputs, step the clock, run until."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from autocomp.targets.simulator.rtl.model.ports import Port

CLOCK = "clock"
RESET = "reset"
RESET_CYCLES = 16


class Driver(Protocol):
    """A design under simulation. Names and values of ports are checked: ValueError tells of wrong use.

    Values are unsigned. `peek` sees the values poked before in the same cycle. `step` is a number of rising edges of
    the clock; the first one samples the present inputs.
    """

    @property
    def ports(self) -> Mapping[str, Port]: ...

    def poke(self, port: str, value: int) -> None: ...

    def peek(self, port: str) -> int: ...

    def step(self, cycles: int = 1) -> None: ...

    def run_until(self, port: str, value: int, limit: int) -> int | None:
        """Steps until an output has a value: how many it took, None if more than `limit`."""
        ...

    def close(self) -> None: ...


def reset(driver: Driver) -> None:
    """All inputs 0, and the design reset."""
    for port in driver.ports.values():
        if port.is_input:
            driver.poke(port.name, 0)
    if RESET not in driver.ports:
        return
    driver.poke(RESET, 1)
    driver.step(RESET_CYCLES)
    driver.poke(RESET, 0)


def checked_port(ports: Mapping[str, Port], name: str, value: int | None = None) -> Port:
    """The port of that name; one with a value must be an input that holds it. Raises ValueError."""
    port = ports.get(name)
    if port is None:
        raise ValueError(f"no port {name!r}; there are {', '.join(ports)}")
    if value is not None and not port.is_input:
        raise ValueError(f"{name} is an output")
    if value is not None and not 0 <= value < 1 << port.bits:
        raise ValueError(f"{value} does not fit in the {port.bits} bits of {name}")
    return port
