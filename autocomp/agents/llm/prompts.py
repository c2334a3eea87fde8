"""Prompts from templates: a pure function of the context. A user's folder may override any template by its name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import jinja2

from autocomp import isa
from autocomp.agents.llm.moves import moves
from autocomp.agents.protocol import Context, Plan
from autocomp.errors import ConfigError
from autocomp.evaluate.model import Evaluation
from autocomp.workload.model import Workload

Phase = Literal["plan", "implement", "repair"]
SHIPPED = Path(__file__).parent / "templates"
HOTTEST_LINES = 8


@dataclass(frozen=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str


def render_prompt(
    phase: Phase,
    context: Context,
    *,
    count: int = 1,
    plan: Plan | None = None,
    kernel: str | None = None,
    failure: str | None = None,
    templates: Path | None = None,
) -> tuple[Message, ...]:
    """The messages that a phase sends. `plan` asks for `count` plans; `implement` needs the plan; `repair` needs the
    plan, the kernel that failed and its failure.

    Raises ConfigError for a template that does not render.
    """
    environment = _environment(templates)
    values = {**_facts(context, phase), "count": count, "plan": plan, "failure": failure, "failed_kernel": kernel}

    def render(name: str) -> str:
        try:
            return environment.get_template(f"{name}.j2").render(values).strip() + "\n"
        except jinja2.TemplateError as error:
            raise _template_error(error, name, templates) from error

    system = Message("system", render("system"))
    if phase == "plan":
        return system, Message("user", render("plan"))
    if plan is None:
        raise ValueError(f"the phase {phase!r} needs a plan")
    implement = Message("user", render("implement"))
    if phase == "implement":
        return system, implement
    if kernel is None or failure is None:
        raise ValueError("the phase 'repair' needs the kernel and its failure")
    failed = Message("assistant", f"```c\n{kernel.strip()}\n```\n")
    return system, implement, failed, Message("user", render("repair"))


def numbered(kernel: str) -> str:
    """The kernel's lines with their numbers, as messages and profiles count them."""
    lines = kernel.rstrip("\n").splitlines()
    width = len(str(len(lines)))
    return "\n".join(f"{number:>{width}} | {line}".rstrip() for number, line in enumerate(lines, 1))


def _facts(context: Context, phase: Phase) -> Mapping[str, Any]:
    evaluation = context.evaluation
    return {
        "accelerator": context.accelerator,
        "reference": isa.reference(context.accelerator, markdown=True),
        "rules": list(context.rules),
        "workload": context.workload,
        "signature": _signature(context.workload),
        "reference_function": _reference_function(context.workload),
        "kernel": context.kernel.strip(),
        "numbered_kernel": numbered(context.kernel),
        "evaluation": evaluation,
        "stalls": _stalls(evaluation),
        "hottest": evaluation.lines[:HOTTEST_LINES],
        "lineage": _lineage(context),
        "menu": context.menu.options,
        "moves": moves(context) if phase == "plan" else (),
    }


def _signature(workload: Workload) -> str:
    parameters = (f"{_c_type(t.dtype)} {t.name}{''.join(f'[{n}]' for n in t.shape)}" for t in workload.tensors)
    return f"void solution({', '.join(parameters)})"


def _c_type(dtype: str) -> str:
    return {"float32": "float", "float64": "double"}.get(dtype, f"{dtype}_t")


def _reference_function(workload: Workload) -> str | None:
    """The text of the user's reference file, which defines a custom operation."""
    if workload.reference_source is None:
        return None
    path = Path(workload.reference_source.rsplit(":", 1)[0])
    return path.read_text(encoding="utf-8").strip()


def _stalls(evaluation: Evaluation) -> list[tuple[str, list[tuple[str, int, float]]]]:
    """For each unit its causes with cycles and the share of all cycles, largest first."""
    total = evaluation.cycles or 1
    return [
        (
            unit,
            [
                (cause, cycles, cycles / total)
                for cause, cycles in sorted(causes.items(), key=lambda item: (-item[1], item[0]))
                if cycles
            ],
        )
        for unit, causes in evaluation.unit_cycles.items()
    ]


def _lineage(context: Context) -> list[Mapping[str, Any]]:
    """The steps so far with the speed-up of each over the step before it; the first has none to compare with."""
    steps: list[Mapping[str, Any]] = []
    before: int | None = None
    for step in context.lineage:
        gain = before / step.cycles if before and step.cycles else None
        steps.append({"plan": step.plan, "cycles": step.cycles, "gain": gain})
        before = step.cycles
    return steps


def _environment(templates: Path | None) -> jinja2.Environment:
    folders = [str(folder) for folder in (templates, SHIPPED) if folder is not None]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["thousands"] = lambda number: f"{number:,}"
    environment.filters["json"] = lambda value: json.dumps(value, default=str)
    environment.filters["percent"] = lambda share: f"{100 * share:.1f} %"
    return environment


def _template_error(error: jinja2.TemplateError, name: str, templates: Path | None) -> ConfigError:
    if isinstance(error, jinja2.TemplateNotFound):
        return ConfigError(f"there is no prompt template {error.name!r}", hint=f"looked in {templates or SHIPPED}")
    where = f"{error.filename}:{error.lineno}" if isinstance(error, jinja2.TemplateSyntaxError) else f"{name}.j2"
    return ConfigError(f"prompt template {where}: {error.message}", hint=f"the shipped templates are in {SHIPPED}")
