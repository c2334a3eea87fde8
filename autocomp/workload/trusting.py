"""Permission to run a workload's reference, which is Python code."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from autocomp import trust
from autocomp.errors import TrustError
from autocomp.workload import parsing
from autocomp.workload.model import Workload


def as_trusted(workload: Workload, say: bool = False) -> Workload:
    """The workload with its reference trusted only if it ships with the package, or the user said so earlier for the
    same content; with `say` they do now."""
    text = workload.reference_text
    if text is None:
        return workload
    if say:
        trust.trust("code", text.encode(), str(workload.reference_source))
    return replace(workload, trusted=trust.is_trusted("code", text.encode()))


def reference_that_runs(file: Path, say: bool) -> str:
    """The text of a Python file that the user trusts; with `say` they do now. Raises TrustError."""
    text = parsing.read(file)
    if say:
        trust.trust("code", text.encode(), str(file))
    if not trust.is_trusted("code", text.encode()):
        raise untrusted(str(file))
    return text


def untrusted(file: str) -> TrustError:
    return TrustError(
        f"{file} is Python code that would run on this computer, and you have not allowed it",
        hint="read it first; --trust allows it, once for its content",
    )


def require_trusted(workload: Workload) -> None:
    """Raises TrustError where the reference may not run."""
    if not workload.trusted:
        raise untrusted(str(workload.reference_source).rsplit(":", 1)[0])
