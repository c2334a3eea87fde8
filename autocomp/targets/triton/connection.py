"""Workers as seen from the search: started by a command, asked in JSON lines, shared by the threads of a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from autocomp import trust
from autocomp.errors import ConfigError, DeviceError, TrustError

MODULE = "autocomp.targets.triton.worker"
LAST_WORDS = 2000  # characters of a dead worker's standard error that are shown


@dataclass(frozen=True)
class Host:
    """Where a device is. `command` is put in front of the worker's own: nothing for this machine, `ssh HOST` or a job
    runner for another. `python` is the interpreter there, ours if empty; `device` is the worker's choice if empty."""

    command: tuple[str, ...] = ()
    python: str = ""
    device: str = ""

    def line(self, module: str = MODULE) -> tuple[str, ...]:
        """The command that runs one of our modules. Raises TrustError for one that names programs of its own and that
        the user has not allowed: it may come from a stranger's run folder or workload."""
        if self._names_programs and not trust.is_trusted("code", self._programs):
            named = " ".join((*self.command, self.python))
            raise TrustError(
                f"{named!r} would run on this computer, and you have not allowed it",
                hint="it is the `command` of a host's file; --trust allows it, once for its content",
            )
        return (*self.command, self.python or sys.executable, "-m", module)

    @property
    def environment(self) -> dict[str, str] | None:
        """That of our own interpreter finds the modules that this process finds, and none in the folder that the user
        is in; None for the usual one."""
        path = os.pathsep.join(part for part in sys.path if part)
        return None if self._names_programs else {**os.environ, "PYTHONSAFEPATH": "1", "PYTHONPATH": path}

    def allow(self, source: str) -> None:
        """Remember that the user lets these programs run; `source` is where they are named."""
        if self._names_programs:
            trust.trust("code", self._programs, source)

    @property
    def _names_programs(self) -> bool:
        return bool(self.command) or self.python not in ("", sys.executable)

    @property
    def _programs(self) -> bytes:
        return json.dumps([*self.command, self.python]).encode()


class Connection:
    """One worker process. Not to be used by two threads at a time."""

    def __init__(self, host: Host) -> None:
        self._line = host.line()
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(
                self._line, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=host.environment
            )
        except OSError as error:
            raise ConfigError(
                f"the worker cannot be started: {error}", hint=f"its command is: {' '.join(self._line)}"
            ) from None
        self._words: list[str] = []
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self._count = 0
        self.greeting = self.ask("hello", device=host.device)

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a request. Raises ConfigError for a request that the worker refuses, DeviceError where the
        worker fails or is gone."""
        self._count += 1
        request = json.dumps({"id": self._count, "method": method, "params": params})
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(request + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:  # it ended before it read the request
            line = ""
        except OSError as error:
            raise self._lost(str(error)) from None
        if not line:
            raise self._lost("it ended")
        try:
            answer = json.loads(line)
        except ValueError:
            raise self._lost(f"it answered {line[:200]!r}, which is not JSON") from None
        if "error" in answer:
            kind = ConfigError if answer["error"].get("kind") == "config" else DeviceError
            raise kind(f"the worker: {answer['error'].get('message', 'failed')}")
        result: dict[str, Any] = answer["result"]
        return result

    def close(self) -> None:
        """End the worker: it ends when its input does."""
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._listener.join(1)

    def _listen(self) -> None:
        """Keep the last of what the worker writes to its standard error, for when it dies."""
        assert self._process.stderr is not None
        with self._process.stderr as lines:
            for line in lines:
                self._words = [*self._words[-50:], line]

    def _lost(self, reason: str) -> DeviceError:
        self.close()
        words = "".join(self._words)[-LAST_WORDS:].strip()
        command = f"its command is: {' '.join(self._line)}"
        if words and self._count == 1:
            return DeviceError(f"the worker did not start: {words}", hint=command)
        hint = f"{command}\nit said: {words}" if words else command
        return DeviceError(f"the worker is lost: {reason}", hint=hint)


class Pool:
    """The workers of one host in this process: as many as are asked at the same time."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._idle: list[Connection] = []
        self._lock = threading.Lock()

    @contextmanager
    def worker(self) -> Iterator[Connection]:
        """A worker that nobody else uses meanwhile. One that is lost is not used again."""
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        connection = connection or Connection(self._host)
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        with self._lock:
            self._idle.append(connection)

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


@cache
def pool_of(host: Host) -> Pool:
    """The pool of a host, one for each process."""
    return Pool(host)


def ask(host: Host, method: str, **params: Any) -> dict[str, Any]:
    with pool_of(host).worker() as worker:
        return worker.ask(method, **params)
