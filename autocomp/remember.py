"""Caches of results. Those of immutable objects, such as machines and nodes of syntax trees, lie in the objects. Most
nodes are shared by versions of a kernel."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from copy import copy
from dataclasses import dataclass, field
from functools import lru_cache, wraps
from typing import Generic, TypeVar, cast

Owner = TypeVar("Owner")
Result = TypeVar("Result")
Raised = TypeVar("Raised", bound=Exception)


def remembered(function: Callable[[Owner], Result]) -> Callable[[Owner], Result]:
    """A pure function of one immutable object that computes each result once in the life of the object.

    The result lies in the object's own dictionary, under a name that is not a field. Equality, hash and `replace` do
    not see it, and it goes when the object goes.
    """
    name = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def recall(owner: Owner) -> Result:
        memory = owner.__dict__
        try:
            result: Result = memory[name]
        except KeyError:
            result = memory[name] = function(owner)
        return result

    return recall


def remembered_with(
    keeper: Callable[[Owner], Owner],
) -> Callable[[Callable[[Owner], Result]], Callable[[Owner], Result]]:
    """The same where several objects have equal results: these are computed of the object that is their `keeper`."""

    def decorate(function: Callable[[Owner], Result]) -> Callable[[Owner], Result]:
        recall = remembered(function)
        return wraps(function)(lambda owner: recall(keeper(owner)))

    return decorate


def remember(owner: object, name: str, given: Hashable, compute: Callable[[], Result]) -> Result:
    """The same for a function that depends on more than the object: what else is `given` tells its results apart."""
    memory = owner.__dict__.setdefault(name, {})
    if given not in memory:
        memory[given] = compute()
    result: Result = memory[given]
    return result


def remember_or_raise(
    owner: object, name: str, given: Hashable, compute: Callable[[], Result], refusal: type[Exception]
) -> Result:
    """The same for a function that may raise `refusal`, which is remembered too and raised anew each time.

    A traceback would keep all frames that led to it, with their variables.
    """

    def outcome() -> Result | Exception:
        try:
            return compute()
        except refusal as error:
            return bare(error)

    result = remember(owner, name, given, outcome)
    if isinstance(result, refusal):
        raise bare(result)
    return cast(Result, result)


@dataclass(frozen=True)
class _Asked(Generic[Result]):
    given: Hashable
    compute: Callable[[], Result] = field(compare=False)


class Recent(Generic[Result]):
    """The last `size` results of a pure function. `given` tells its results apart; an exception is not kept."""

    def __init__(self, size: int) -> None:
        @lru_cache(maxsize=size)
        def result(asked: _Asked[Result]) -> Result:
            return asked.compute()

        self._result = result

    def of(self, given: Hashable, compute: Callable[[], Result]) -> Result:
        """The result for `given`, computed unless it is among the last ones."""
        return self._result(_Asked(given, compute))


def bare(error: Raised) -> Raised:
    """A copy without a traceback, which Dask has copies keep, and without the exceptions that led to it."""
    bare = copy(error).with_traceback(None)
    bare.__context__ = bare.__cause__ = None
    return bare
