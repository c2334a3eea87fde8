"""The agent that needs no model: routes on a plain kernel, then single rewrites, the most promising first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from autocomp.errors import KernelError, NotApplicable, TransformationFault, transforming
from autocomp.targets.planning import Context, Plan, Planning
from autocomp.targets.triton.language import Module, fingerprint, parse
from autocomp.targets.triton.profile import Advised
from autocomp.targets.triton.rewrites import Setting
from autocomp.targets.triton.rewrites.registry import REWRITES
from autocomp.targets.triton.routes import routes
from autocomp.targets.triton.transformations import SEQUENCE, Device, applied

AUTHOR = "rules"
AGAIN = 0.85  # factor on the promise of each further proposal of the same rewrite
ADVISED = 1.5  # factor where the profile says that a rewrite removes what limits the kernel
SET = "set_parameters"
CHANCE = 0.1  # most that chance adds to or takes from a promise, relative


@dataclass(frozen=True)
class _Move:
    promise: float
    name: str
    parameters: dict[str, object]
    reason: str


@dataclass(frozen=True)
class TritonPlanner:
    """Deterministic for equal contexts with equally seeded `context.random`."""

    device: Device
    name = AUTHOR

    def plan(self, context: Context, count: int) -> Planning:
        """The `count` most promising rewrites that apply and give a kernel not yet tried."""
        try:
            module = parse(context.kernel)
        except KernelError as error:
            return Planning((), messages=(f"the kernel cannot be analysed: {error}",))
        plans: list[Plan] = []
        faults: list[str] = []
        seen = set(context.tried)
        for move in sorted(self._moves(context, module, faults), key=lambda move: -move.promise):
            if len(plans) == count:
                break
            try:
                with transforming(move.name, KernelError):
                    changed = fingerprint(applied(module, move.name, move.parameters))
            except TransformationFault as fault:
                faults.append(fault.message)
                continue
            except (NotApplicable, KernelError):
                continue
            if changed not in seen:
                seen.add(changed)
                plans.append(self._plan(context, move))
        messages = () if plans else ("no rewrite in the menu gives a kernel that was not tried",)
        return Planning(tuple(plans), messages=(*messages, *faults))

    def _plan(self, context: Context, move: _Move) -> Plan:
        options = [option for option in context.menu.options if option.transformation == move.name]
        option = options[0].id if options else move.name
        return Plan(option, move.reason, move.name, move.parameters, AUTHOR, _gain(min(move.promise, 0.95)))

    def _moves(self, context: Context, module: Module, faults: list[str]) -> Iterator[_Move]:
        allowed = {option.transformation for option in context.menu.options}
        setting = self.device.setting(context.workload)
        advised = _advised(context)
        yield from _stated(context, allowed)
        if SEQUENCE in allowed:
            for route in routes(module, setting):
                yield _Move(route.gain, SEQUENCE, {"steps": [list(step) for step in route.steps]}, route.reason)
        for name, offers in _offers(module, setting, allowed, faults):
            factor = ADVISED if name in advised else 1.0
            for reason, parameters, gain in offers:
                if advised.get(name):
                    reason = f"{reason}; profile: {advised[name]}"
                chance = 1.0 + CHANCE * (2.0 * context.random.random() - 1.0)
                yield _Move(gain * factor * chance, name, parameters, reason)
                factor *= AGAIN


def _offers(
    module: Module, setting: Setting, allowed: set[str | None], faults: list[str]
) -> Iterator[tuple[str, list[tuple[str, dict[str, object], float]]]]:
    for known in REWRITES:
        if known.name not in allowed:
            continue
        try:
            with transforming(known.name):
                offers = known.offers(module, setting)
        except TransformationFault as fault:
            faults.append(fault.message)
            continue
        yield known.name, [(offer.reason, dict(offer.parameters), offer.gain) for offer in offers]


def _advised(context: Context) -> Mapping[str, str]:
    """Rewrites against what limits the kernel, each with the reason: those that a recording of the kernel calls for,
    else those that the menu names against the causes that weigh most in the kernel's profile."""
    if isinstance(context.diagnosis, Advised):
        return {name: advice.text for advice in reversed(context.diagnosis.advice) for name in advice.rewrites}
    weights = context.target.weights(context.evaluation, context.diagnosis)
    heavy = {cause for cause, weight in weights.items() if weight >= 0.15}
    return {o.transformation: "" for o in context.menu.options if heavy & set(o.applies.causes) and o.transformation}


def _stated(context: Context, allowed: set[str | None]) -> Iterator[_Move]:
    """Numbers of launches that a recording of the kernel states."""
    for advice in context.diagnosis.advice if isinstance(context.diagnosis, Advised) else ():
        if advice.values and SET in allowed:
            given: dict[str, object] = {"kernel": advice.kernel, "values": dict(advice.values)}
            yield _Move(advice.gain, SET, given, f"profile: {advice.text}")


def _gain(share: float) -> tuple[float, float]:
    """The speed-up expected of saving a share of the time: between nothing and all of it."""
    return 1.0, round(1 / (1 - share), 3)
