"""KernelBench's problems as workloads: `kernelbench:level1/23` names a file of a checkout on this machine."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import yaml

from autocomp.errors import ConfigError
from autocomp.targets.triton.connection import Host, ask

PREFIX = "kernelbench:"
VARIABLE = "AUTOCOMP_KERNELBENCH"
ROOTS = ("KernelBench", "")  # of a checkout, where the levels are
MODEL = "Model"


def problem_file(spec: str, paths: Sequence[Path] = ()) -> Path:
    """The file of `kernelbench:LEVEL/NUMBER` in the checkout that AUTOCOMP_KERNELBENCH names, or in one of `paths`.
    Raises ConfigError."""
    match = re.fullmatch(r"(level\d+)/(\d+)", spec.removeprefix(PREFIX))
    if match is None:
        raise ConfigError(f"{spec!r} does not name a problem", hint="expected `kernelbench:level1/23`")
    named = os.environ.get(VARIABLE)
    folders = [Path(named)] if named else [place for path in paths for place in (path, path / "KernelBench")]
    for folder in folders:
        for root in ROOTS:
            files = sorted((folder / root / match[1]).glob(f"{match[2]}_*.py"))
            if files:
                return files[0].resolve()
    where = ", ".join(str(folder) for folder in folders) or "nowhere"
    raise ConfigError(
        f"no problem {match[2]} of {match[1]} was found; looked in: {where}",
        hint=f"{VARIABLE} names a checkout of KernelBench",
    )


def workload_text(file: Path, text: str) -> str:
    """A problem as the text of a workload file. Runs the problem's code in a worker on this machine, which finds the
    sizes of its tensors without making any. The benchmark runs PyTorch with its defaults, so that convolutions may be
    rounded to tf32. Raises ConfigError for what is not in KernelBench's format."""
    described = ask(Host(device="cpu"), "describe", reference=text, name=MODEL)
    document = {
        "name": f"{file.parent.name}_{file.stem.strip('_').lower()}",
        "operation": "custom",
        "target": "triton",
        "reference": f"{file.name}:{MODEL}",
        **described,
    }
    return yaml.safe_dump(document, sort_keys=False)
