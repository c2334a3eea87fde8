"""The accelerator of a command trace."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from autocomp.cli.listing import named_files
from autocomp.errors import AutocompError, ConfigError
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.trace import read_trace


def accelerator_of(trace: Path, paths: Sequence[Path]) -> str:
    """The file of the one accelerator found by name that has all commands of a trace. Raises ConfigError if it is
    not just one."""
    known = named_files("isa", ".isa", paths)
    fitting = [name for name, file in known.items() if _fits(file, trace)]
    if len(fitting) == 1:
        return str(known[fitting[0]])
    if not os.path.getsize(trace):
        raise ConfigError(f"the trace {trace} is empty: it has no commands")
    beginning = "several accelerators have" if fitting else "no accelerator has"
    raise ConfigError(
        f"{beginning} all commands of {trace}",
        hint=f"name one with --accelerator; known: {', '.join(fitting or known)}",
    )


def _fits(file: Path, trace: Path) -> bool:
    try:
        machine = isa.load(file)
        return not read_trace(trace, machine, isa.lower(machine)).unsupported
    except AutocompError:
        return False
