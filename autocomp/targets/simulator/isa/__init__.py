"""Accelerators as data: the language that describes them, its model, and its lowering to the native core."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from autocomp.data import decode, find, read_bytes
from autocomp.errors import IsaError
from autocomp.targets.simulator.isa.language.declarations import parse
from autocomp.targets.simulator.isa.language.encoding import decode as decode_command
from autocomp.targets.simulator.isa.language.encoding import encode as encode_command
from autocomp.targets.simulator.isa.lowering.lower import MachineTables, lower
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.isa.reference import reference
from autocomp.targets.simulator.isa.rules import rules

__all__ = [
    "Accelerator",
    "MachineTables",
    "decode_command",
    "encode_command",
    "load",
    "lower",
    "parse",
    "reference",
    "rules",
]


def load(
    name_or_path: str | Path, overrides: Mapping[str, int | float] | None = None, extra_paths: Sequence[Path] = ()
) -> Accelerator:
    """The accelerator of a file, or of a name on the search path, with parameters overridden.

    `name:configuration` selects a set of parameter values; overrides win over it. Raises ConfigError when there is no
    such file, IsaError when it does not parse or check, or has no such configuration.
    """
    name, configuration = _split(str(name_or_path))
    path = find("isa", name, ".isa", extra_paths)
    try:
        data = read_bytes(path)
    except OSError as error:
        raise IsaError(f"{path} cannot be read: {error}", hint="a description is a text file in UTF-8") from None
    return parse(decode(data, str(path), IsaError), str(path), overrides, configuration)


def _split(name: str) -> tuple[str, str]:
    """The file's name and the configuration's; a file may have a colon in its own name."""
    if ":" not in name or os.path.isfile(os.path.expanduser(name)):
        return name, ""
    file, _, configuration = name.rpartition(":")
    return file, configuration
