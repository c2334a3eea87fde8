"""The command line."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Entry point of the `autocomp` command."""
    from autocomp.process import prepare

    prepare()
    from autocomp.cli.entry import autocomp

    accept_all_text()
    autocomp(prog_name="autocomp")


def accept_all_text() -> None:
    """Let standard output and error take any text: characters that their encoding lacks are written as escapes, and
    where a shell has closed one of them nothing is written."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (for as long as the process runs)
        else:
            stream.reconfigure(errors="backslashreplace")
