"""Running a reader on many inputs: what counts as a finding, and the count of executions."""

from __future__ import annotations

import random
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from autocomp.errors import AutocompError

SLOW = 20.0  # seconds of processor time for one input
MEMORY = 2 << 30  # bytes of data, of the whole process
FOUND = Path("build") / "fuzz"


class Finding(Exception):
    """An input that ended in something else than a located error, or took too long."""


def attempt(read: Callable[[], object]) -> None:
    """Raises Finding unless a reader takes the input, or refuses it, in time."""
    start = time.process_time()
    try:
        read()
    except AutocompError as error:
        str(error).encode()  # what is said of it can be written
    except Finding:
        raise
    except Exception as error:
        raise Finding(f"{type(error).__name__}: {error}") from error
    seconds = time.process_time() - start
    if seconds > SLOW:
        raise Finding(f"took {seconds:.1f} s")


def hunt(
    target: str,
    honest: list[bytes],
    read: Callable[[bytes], object],
    change: Callable[[random.Random], bytes],
    seconds: float,
    seed: int,
) -> None:
    """Read the honest inputs, then changed ones until the time is over. Prints the count; keeps the input of a finding,
    and the present one, should the process die."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    FOUND.mkdir(parents=True, exist_ok=True)
    present = FOUND / f"present-{target}"
    chance = random.Random(seed)
    executions, start = 0, time.monotonic()
    inputs = iter(honest)
    signal.signal(signal.SIGPROF, _too_slow)
    while time.monotonic() - start < seconds:
        data = next(inputs, None)
        data = change(chance) if data is None else data
        present.write_bytes(data)
        signal.setitimer(signal.ITIMER_PROF, 2 * SLOW)
        try:
            attempt(lambda data=data: read(data))  # type: ignore[misc]
        except Finding as finding:
            crash = FOUND / f"crash-{target}"
            crash.write_bytes(data)
            traceback.print_exception(finding.__cause__ or finding)
            print(f"{target}: {finding!s:.300}\nthe input is in {crash}", flush=True)
            sys.exit(1)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        executions += 1
    present.unlink()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"{target}: {executions} executions, no finding, at most {peak} MiB", flush=True)


def _too_slow(number: int, frame: FrameType | None) -> None:
    raise Finding(f"takes more than {2 * SLOW:g} s")
