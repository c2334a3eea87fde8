"""The command line."""


def main() -> None:
    """Entry point of the `autocomp` command."""
