"""Errors a user can cause, each with its place, its advice and its exit code."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """A position in a text; lines and columns count from 1."""

    source: str
    line: int
    column: int
    text: str = ""
    width: int = 1

    def render(self) -> str:
        """The place as `file:line:column`, then the line with a caret under the spot."""
        head = f"{self.source}:{self.line}:{self.column}"
        if not self.text:
            return head
        shown = self.text.expandtabs(1)[:400]
        return f"{head}\n    {shown}\n    {' ' * (min(self.column, 400) - 1)}{'^' * max(1, min(self.width, 400))}"


class AutocompError(Exception):
    """Base of every error that is the input's and not ours. docs/reference/exit-codes.md lists the exit codes.

    `others` are further mistakes that were found in the same text.
    """

    exit_code = 1

    def __init__(
        self,
        message: str,
        *,
        place: Place | None = None,
        hint: str | None = None,
        others: tuple[AutocompError, ...] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.hint = hint
        self.others = others

    @property
    def all(self) -> tuple[AutocompError, ...]:
        """This error and the others that were found with it."""
        return (self, *self.others)

    def __str__(self) -> str:
        return "\n".join(error._text() for error in self.all)

    def document(self) -> dict[str, str | int | None]:
        """The error as plain data, with file, line and column where it has a place."""
        place = self.place
        where = (None, None, None) if place is None else (place.source, place.line, place.column)
        return {
            "file": where[0],
            "line": where[1],
            "column": where[2],
            "message": self.message,
            "hint": self.hint,
        }

    def _text(self) -> str:
        lines = [self.message]
        if self.place is not None:
            lines = [f"{self.place.render()}\n{self.message}"]
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


class ConfigError(AutocompError):
    """A workload, menu or option is not as it should be."""

    exit_code = 3


class TrustError(ConfigError):
    """A file from somebody else would run code, or send something away, and this user has not said that it may."""

    exit_code = 12


class IsaError(AutocompError):
    """An accelerator description does not parse or check."""

    exit_code = 4


class KernelError(AutocompError):
    """A kernel does not parse, check or compile."""

    exit_code = 5


class CandidateFailure(AutocompError):
    """A kernel compiles and fails a correctness stage."""

    exit_code = 6


class RunFolderError(AutocompError):
    """A run folder is damaged, in use, or not one."""

    exit_code = 7


class FidelityError(AutocompError):
    """The simulator and the hardware description do not agree."""

    exit_code = 9


class ModelError(AutocompError):
    """A language model or its endpoint did not give what was asked for."""

    exit_code = 8


class DeviceError(AutocompError):
    """The device that measures kernels failed, or is not there: no verdict on the kernel that it was given."""

    exit_code = 10


class NotApplicable(AutocompError):
    """A transformation does not fit a kernel, or not with these parameters; the message says why."""


class TransformationFault(NotApplicable):
    """A transformation failed by a mistake of its own. Searches go on with the other ones."""


class FaultWarning(RuntimeWarning):
    """A fault of ours that the work went on without."""


def describe(error: BaseException) -> str:
    """A user's error as it is; any other with its type and the place it came from."""
    if isinstance(error, AutocompError):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    where = f" (in {frames[-1].name}, {frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno})" if frames else ""
    return f"internal error: {type(error).__name__}: {error}{where}"


@contextmanager
def transforming(name: str, *passed: type[Exception]) -> Iterator[None]:
    """Work of a transformation. NotApplicable and the errors of types that are `passed` on stay as they are; any other
    is raised as a TransformationFault, after a FaultWarning."""
    try:
        yield
    except Exception as error:
        if isinstance(error, (NotApplicable, *passed)):
            raise
        fault = TransformationFault(f"transformation {name!r} failed: {describe(error)}")
        warnings.warn(fault.message, FaultWarning, stacklevel=4)
        raise fault from error
