"""The rewrites as transformations of a target: text in, text out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autocomp.errors import NotApplicable
from autocomp.targets.protocol import Proposal, Transformations
from autocomp.targets.triton.language import Module, parse
from autocomp.targets.triton.rewrites import Setting
from autocomp.targets.triton.rewrites.registry import REWRITES, rewrite, rewritten

if TYPE_CHECKING:
    from autocomp.workload.model import Workload

SEQUENCE = "sequence"


@dataclass(frozen=True)
class Device:
    """The facts about the device that rewrites are told."""

    multiprocessors: int = 132
    shared_bytes: int = 232_448
    capability: tuple[int, int] = (9, 0)

    def setting(self, workload: Workload) -> Setting:
        widths = [data_bytes for t in workload.tensors if (data_bytes := _element_bytes(t.dtype))]
        own = {f"{t.name}.{axis}": extent for t in workload.tensors for axis, extent in enumerate(t.shape)}
        return Setting(
            dict(own if workload.operation == "custom" else workload.dims),
            min(widths, default=2),
            self.multiprocessors,
            self.shared_bytes,
            self.capability,
        )


def _element_bytes(dtype: str) -> int:
    from autocomp.workload.datatypes import DATA_TYPES

    known = DATA_TYPES.get(dtype)
    return known.bits // 8 if known is not None and known.is_float else 0


@dataclass(frozen=True)
class TritonTransformations(Transformations):
    """The rewrites, and `sequence`: several of them, one after the other, as one change."""

    device: Device
    names = (*(known.name for known in REWRITES), SEQUENCE)

    def proposals(self, name: str, kernel: str, workload: Workload) -> Sequence[Proposal]:
        if name == SEQUENCE:
            from autocomp.targets.triton.routes import routes

            return [
                Proposal({"steps": [list(step) for step in route.steps]}, route.reason, route.gain)
                for route in routes(parse(kernel), self.device.setting(workload))
            ]
        offers = rewrite(name).offers(parse(kernel), self.device.setting(workload))
        return [Proposal(offer.parameters, offer.reason, offer.gain) for offer in offers]

    def apply(self, name: str, kernel: str, workload: Workload, parameters: Mapping[str, Any]) -> str:
        return applied(parse(kernel), name, parameters).text


def applied(module: Module, name: str, parameters: Mapping[str, Any]) -> Module:
    """A module after a rewrite, or a sequence of them. Raises NotApplicable, also where nothing changes."""
    before = module.text
    if name == SEQUENCE:
        steps = parameters.get("steps")
        if not isinstance(steps, Sequence) or not steps:
            raise NotApplicable("a sequence needs 'steps', each a name and its parameters")
        for step in steps:
            if not isinstance(step, Sequence) or len(step) != 2 or not isinstance(step[1], Mapping):
                raise NotApplicable(f"a step is a name and its parameters, got {step!r}")
            module = rewritten(module, str(step[0]), step[1])
    else:
        module = rewritten(module, name, parameters)
    if module.text == before:
        raise NotApplicable("nothing changes")
    return module
