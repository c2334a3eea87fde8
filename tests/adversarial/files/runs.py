"""A reference that acts as soon as it is read."""

from pathlib import Path

Path("owned").touch()


def f(**tensors: object) -> object:
    """The tensors that it is given."""
    return tensors
