"""The command line."""

from __future__ import annotations


def main() -> None:
    """Entry point of the `autocomp` command."""
    from autocomp.cli.entry import autocomp
    from autocomp.collector import collect_rarely

    collect_rarely()
    autocomp(prog_name="autocomp")
