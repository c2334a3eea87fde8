"""Reads of commands besides the tiles that they work on, such as biases in a memory of their own."""

from __future__ import annotations

import numpy as np

from autocomp.targets.simulator.isa import algebra
from autocomp.targets.simulator.isa.derived.regions import writes
from autocomp.targets.simulator.isa.tree import AddressField, Element, Expression, Sum
from autocomp.targets.simulator.transforms.scheduling.lifting.forms import Form
from autocomp.targets.simulator.transforms.scheduling.lifting.touches import Touch, Touches

EXTRA = "extra"  # the buffer of what loads bring for starts, products or `finish`


def extra_of_product(product: Form, reads: list[Touch]) -> Touch | None:
    """The one of three places a product reads that its factors do not lie in; None where that does not tell one."""
    factors = [e for write in writes(product.accelerator, product.instruction) for e in _factors(write.value)]
    others = [touch for touch in reads if not any(_is_at(element, touch) for element in factors)]
    return others[0] if len(reads) == 3 and len(others) == 1 else None


def extra_of_result(touches: Touches, reads: tuple[Touch, ...]) -> Touch | None:
    """The one of two places that a command on results reads which loads alone have written; None where that does not
    tell one."""
    loaded = [touch for touch in reads if is_loaded(touches, touch)]
    return loaded[0] if len(reads) == 2 and len(loaded) == 1 else None


def is_loaded(touches: Touches, touch: Touch) -> bool:
    """True if commands that read no local memory wrote all that others read at a place."""
    commands = touches.commands
    writers = touches.parts(touch.accesses)
    forms = np.unique(commands.form[writers[writers >= 0]])
    return not any(touches.local(int(number), write=False) for number in forms)


def _factors(value: Expression) -> list[Element]:
    """The elements inside of sums."""
    sums = [part for part in algebra.walk(value) if isinstance(part, Sum)]
    return [e for one in sums for e in algebra.walk(one.body) if isinstance(e, Element)]


def _is_at(element: Element, touch: Touch) -> bool:
    named = {p.parameter for index in element.indices for p in algebra.walk(index) if isinstance(p, AddressField)}
    return element.memory == touch.memory and (not touch.operand or touch.operand in named)
