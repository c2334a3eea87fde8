"""The spelling, on a command line, of a field of a model whose fields become options."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Flag:
    """Part of a field's annotation: an option name that differs from the field's, and the placeholder of its value in
    help texts.

    A field called `seeds` with `Flag("seed", "N")` is the option `--seed N`. Dashes take the place of underscores.
    """

    name: str = ""
    metavar: str | None = None
