"""The roles of a design's ports, as generators name them: a RoCC command port, a TileLink-UL master, a busy signal.

Configurations differ in prefixes, in widths and in which optional ports exist, so all is found by the ports' names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from autocomp.errors import ConfigError
from autocomp.targets.simulator.isa.language.encoding import SECTION, command_words
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.rtl.model.driver import CLOCK, RESET, Driver, reset
from autocomp.targets.simulator.rtl.model.ports import Port

# Inputs that keep one value, by the end of their names: the host is in machine mode, so that addresses are physical,
# gives both operands with every command, and always takes responses. All others are 0.
HELD = {
    "_cmd_bits_inst_xs1": 1,
    "_cmd_bits_inst_xs2": 1,
    "_cmd_bits_inst_opcode": 0x7B,  # custom-3
    "_cmd_bits_status_prv": 3,
    "_cmd_bits_status_dprv": 3,
    "_resp_ready": 1,
}
# The channels' fields: role -> end of the port's name, and whether it is an input of the design; in the order that
# harness/run.hpp has them in.
CHANNELS = {
    "a_valid": ("_a_valid", False),
    "a_ready": ("_a_ready", True),
    "a_opcode": ("_a_bits_opcode", False),
    "a_size": ("_a_bits_size", False),
    "a_source": ("_a_bits_source", False),
    "a_address": ("_a_bits_address", False),
    "a_mask": ("_a_bits_mask", False),
    "a_data": ("_a_bits_data", False),
    "d_valid": ("_d_valid", True),
    "d_ready": ("_d_ready", False),
    "d_opcode": ("_d_bits_opcode", True),
    "d_size": ("_d_bits_size", True),
    "d_source": ("_d_bits_source", True),
    "d_data": ("_d_bits_data", True),
}


@dataclass(frozen=True)
class Interface:
    """`roles` names a port for each role, `words` one for each word of a command, `held` inputs with their values."""

    roles: Mapping[str, str]
    words: Mapping[str, str]
    held: Mapping[str, int] = field(default_factory=dict)
    bus_bytes: int = 0


def find_interface(ports: Sequence[Port], accelerator: Accelerator) -> Interface:
    """The roles of a design's ports for the commands of an accelerator.

    Raises ConfigError that names what is missing, there twice, or too narrow.
    """
    by_name = {port.name: port for port in ports}
    for name in (CLOCK, RESET):
        _require_input(by_name, name)
    roles = {CLOCK: CLOCK}
    roles["command_valid"] = _one(by_name, "_cmd_valid", True)
    roles["command_ready"] = _one(by_name, "_cmd_ready", False)
    roles["busy"] = _one(by_name, "_busy", False)
    master = _one(by_name, CHANNELS["a_valid"][0], False).removesuffix(CHANNELS["a_valid"][0])
    for role, (suffix, is_input) in CHANNELS.items():
        roles[role] = _one(by_name, master + suffix, is_input)
    data, mask, answer = (by_name[roles[role]].bits for role in ("a_data", "a_mask", "d_data"))
    if data % 8 or data != answer or mask * 8 != data:
        raise ConfigError(f"the TileLink data are {data} and {answer} bits with a mask of {mask}; expected N, N, N / 8")
    command = roles["command_valid"].removesuffix("_valid")
    words = {name: _word(by_name, command, name, accelerator) for name in command_words(accelerator)}
    if not words:
        raise ConfigError(
            f"{accelerator.full_name} declares no encoding of commands",
            hint="docs/reference/isa-language.md says how a description states the bits of its commands",
        )
    return Interface(
        roles=roles,
        words=words,
        held={
            name: value
            for end, value in HELD.items()
            for name in by_name
            if name.endswith(end) and name not in words.values() and by_name[name].is_input
        },
        bus_bytes=data // 8,
    )


def begin(driver: Driver, interface: Interface) -> None:
    """Reset a design, and set the inputs that keep their values."""
    reset(driver)
    for name, value in interface.held.items():
        driver.poke(name, value & ((1 << driver.ports[name].bits) - 1))


def _require_input(ports: Mapping[str, Port], name: str) -> None:
    """The drivers know the clock and the reset by these names, without a prefix."""
    if name not in ports or not ports[name].is_input:
        like = [port.name for port in ports.values() if port.is_input and name in port.name]
        raise ConfigError(
            f"the design needs an input named {name}; it has {', '.join(like) or 'none'}",
            hint=f"give a top module whose {name} has that name",
        )


def _one(ports: Mapping[str, Port], end: str, is_input: bool) -> str:
    """The port of that name, else the one whose name ends so."""
    direction = "input" if is_input else "output"
    names = [name for name, port in ports.items() if port.is_input == is_input and name.endswith(end)]
    exact = [name for name in names if name == end]
    if len(exact or names) != 1:
        which = f"several: {', '.join(names)}" if names else "none"
        raise ConfigError(f"the design needs one {direction} whose name ends in {end}; it has {which}")
    return (exact or names)[0]


def _word(ports: Mapping[str, Port], command: str, word: str, accelerator: Accelerator) -> str:
    """The port of a command word: beside the instruction's fields, or one of them, if it is wide enough."""
    bits = int(accelerator.settings[f"{SECTION}.{word}"])
    names = [f"{command}_bits_{word}", f"{command}_bits_inst_{word}"]
    fitting = [name for name in names if name in ports and ports[name].is_input and ports[name].bits >= bits]
    if not fitting:
        raise ConfigError(
            f"the design has no input for the command word {word} of {bits} bits",
            hint=f"expected {' or '.join(names)}; the description's encoding section declares the words",
        )
    return fitting[0]
