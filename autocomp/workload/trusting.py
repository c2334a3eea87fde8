"""Whether a workload's reference, which is Python code, may run here."""

from __future__ import annotations

from dataclasses import replace

from autocomp import trust
from autocomp.errors import TrustError
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


def require_trusted(workload: Workload) -> None:
    """Raises TrustError where the reference may not run."""
    if not workload.trusted:
        file = str(workload.reference_source).rsplit(":", 1)[0]
        raise TrustError(
            f"{file} is Python code that would run on this computer, and you have not said that it may",
            hint="read it first; --trust allows it, once for its content",
        )
