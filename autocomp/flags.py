"""The spelling, on a command line, of a field of a model whose fields become options."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Flag:
    """In a field's annotation: another name than its own, and the word that stands for its value in help texts.

    A field called `seeds` with `Flag("seed", "N")` is the option `--seed N`. Dashes take the place of underscores.
    """

    name: str = ""
    metavar: str | None = None
