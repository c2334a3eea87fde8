"""Cost of the installation: the wheel in an empty environment, the start of commands, and a demo from a fresh clone.

    python -m benchmarks.installation            # wheel and commands: two minutes
    python -m benchmarks.installation --demo     # also `git clone` and `make demo`

Downloads come from pip's cache where it has them. Times are of the processor;
those of commands are the fastest of `ROUNDS`.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 5
MEGABYTE = 1e6


def seconds(*command: str | Path, folder: Path | None = None) -> float:
    """Processor time of a command and its children, which has to succeed: other load does not change it much."""
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    started = _children()
    done = subprocess.run([str(part) for part in command], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return _children() - started


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def size(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and not file.is_symlink())


def wheel(folder: Path) -> None:
    """The built wheel, and its installation into an environment that has pip alone."""
    took = seconds(sys.executable, "-m", "pip", "wheel", "--no-deps", "-w", folder, ROOT)
    built = next(folder.glob("autocomp-*.whl"))
    print(f"build the wheel            {took:6.1f} s   {built.stat().st_size / MEGABYTE:6.2f} MB")
    environment = folder / "environment"
    seconds(sys.executable, "-m", "venv", environment)
    before = size(environment)
    python = environment / "bin" / "python"
    took = seconds(python, "-m", "pip", "install", "--disable-pip-version-check", built)
    print(f"pip install WHEEL          {took:6.1f} s   {(size(environment) - before) / MEGABYTE:6.1f} MB in all")
    for package in sorted((environment / "lib").glob("python*/site-packages/*")):
        if package.is_dir() and size(package) > MEGABYTE and package.name != "pip":
            print(f"  {package.name:<40}{size(package) / MEGABYTE:6.1f} MB")
    commands(environment / "bin" / "autocomp", folder)


def commands(autocomp: Path, folder: Path) -> None:
    """Time commands that do next to nothing, import included."""
    kernel, workload = folder / "kernel.c", ROOT / "workloads" / "tiny_gemm.yaml"
    for name, command in {
        "autocomp --help": (autocomp, "--help"),
        "autocomp workloads": (autocomp, "workloads"),
        "autocomp run": (autocomp, "run", kernel, "--workload", workload),
    }.items():
        if kernel in command:
            seconds(autocomp, "search", workload, "--evaluations", "1", "--run-dir", folder / "run", "--reuse", "0")
            shutil.copy(folder / "run" / "best.c", kernel)
        fastest = min(repeated(lambda command=command: seconds(*command, folder=folder)))
        print(f"{name:<27}{fastest:6.2f} s")


def repeated(measure: Callable[[], float]) -> list[float]:
    return [measure() for _ in range(ROUNDS)]


def demo(folder: Path) -> None:
    """From `git clone` to the result of `make demo`."""
    clone = folder / "clone"
    cloned = seconds("git", "clone", "--quiet", "--no-hardlinks", ROOT, clone)
    made = seconds("make", "demo", folder=clone)
    print(f"git clone and make demo    {cloned + made:6.1f} s   {size(clone) / MEGABYTE:6.1f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--demo", action="store_true", help="also clone, and run the demo")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        wheel(Path(name))
        if arguments.demo:
            demo(Path(name))


if __name__ == "__main__":
    main()
