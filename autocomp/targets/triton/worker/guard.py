"""The PyTorch operations allowed to a running candidate unless its host may compute: memory and views of it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

ALLOWED = frozenset(
    f"aten.{name}"
    for name in (
        "empty",
        "empty_like",
        "empty_strided",
        "new_empty",
        "zeros",
        "zero_",
        "new_zeros",
        "fill_",
        "view",
        "_unsafe_view",
        "as_strided",
        "alias",
        "t",
        "transpose",
        "permute",
        "unsqueeze",
        "squeeze",
        "expand",
        "slice",
        "select",
        "detach",
    )
)


class Refused(Exception):
    """A candidate asked for an operator that computes on elements."""


class OnlyMemory(TorchDispatchMode):  # type: ignore[misc]
    """While active, operators of PyTorch outside of a list raise `Refused`. The language's check has refused them by
    name before; this catches what no name shows, such as arithmetic between tensors."""

    def __init__(self, extra: Sequence[str] = ()) -> None:
        super().__init__()
        self._allowed = ALLOWED | frozenset(extra)

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        name = str(func).rsplit(".", 1)[0]
        if name not in self._allowed:
            raise Refused(f"the kernel called PyTorch's operator {name}; only its Triton functions may compute")
        return func(*args, **(kwargs or {}))


def let_interpreter_pass() -> None:
    """Triton's interpreter uses PyTorch's operators to carry out a launch; those are not the candidate's."""
    from triton.runtime.interpreter import GridExecutor

    launch = GridExecutor.__call__

    @functools.wraps(launch)
    def unguarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        with _disable_current_modes():
            return launch(self, *args, **kwargs)

    GridExecutor.__call__ = unguarded
