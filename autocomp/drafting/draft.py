"""The loop of a draft: a model writes a description from manuals, we check it, and the model mends what is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from autocomp.agents.llm import Ensemble, Message
from autocomp.agents.llm.prompts import render_template
from autocomp.data import data_dir, decode, read_bytes
from autocomp.drafting.check import Checked, check_draft
from autocomp.drafting.manual import Page, check_size
from autocomp.errors import IsaError, ModelError
from autocomp.targets.fences import without_thoughts
from autocomp.targets.planning import Usage
from autocomp.targets.simulator.isa.timing import KINDS, ROLES, reference_table
from autocomp.targets.simulator.start.idioms import GEMM_HOLES

SHOWN = ("idiom ", "role: wait")  # what the description that a model is shown has to have
MOST_FAULTS = 20  # that one question tells of
_DESCRIPTION = re.compile(r"^(?://[^\n]*\n)*accelerator\s+\w+\s*\{.*?^\}", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Draft:
    """The last description that a model wrote, what the checks found, and how often it was asked."""

    text: str
    checked: Checked
    rounds: int
    usage: Usage


def draft(
    ensemble: Ensemble,
    manuals: Sequence[Page],
    name: str,
    rounds: int,
    note: Callable[[str], None],
    seed: int = 0,
    templates: Path | None = None,
) -> Draft:
    """A description of the machine `name` after at most `rounds` answers. `note` hears what each round found.

    Raises ModelError where no answer holds a description, ConfigError for manuals that are too long.
    """
    check_size(manuals)
    messages = _opening(manuals, name, templates)
    text, checked, usage, made = "", Checked(), Usage(), 0
    for made in range(1, rounds + 1):
        reply = ensemble.ask(messages, Random(f"{seed}/draft/{made}"))
        usage += reply.usage
        description = None if reply.text is None else located(reply.text)
        if reply.text is None or description is None:
            note(f"round {made}: no description; {'; '.join(reply.messages) or 'the answer holds none'}")
            if reply.usage.unsent:
                break
            continue
        text, checked = description, check_draft(description, manuals, name)
        note(f"round {made}: {_said(checked)}")
        if not checked.faults:
            break
        again = render_template("draft_again", {"faults": checked.faults[:MOST_FAULTS]}, templates)
        # The latest answer alone: earlier ones would fill a context with what is wrong.
        messages = [*messages[:2], Message("assistant", f"````isa\n{text}````\n"), Message("user", again)]
    if not text:
        raise ModelError(f"the model gave {made} answers, and none contains a description")
    return Draft(text, checked, made, usage)


def located(answer: str) -> str | None:
    """The longest description in an answer, with the comments above it, to the first brace that begins a line.

    Fences do not bound it: idioms have fences of their own.
    """
    matches = [match[0] for match in _DESCRIPTION.finditer(without_thoughts(answer))]
    return max(matches, key=len) + "\n" if matches else None


def _opening(manuals: Sequence[Page], name: str, templates: Path | None) -> list[Message]:
    values = {
        "example": _example(),
        "timing": list(reference_table()),
        "kinds": KINDS,
        "roles": ROLES,
        "holes": GEMM_HOLES,
        "name": name,
        "pages": manuals,
    }
    return [
        Message("system", render_template("draft_system", values, templates)),
        Message("user", render_template("draft", values, templates)),
    ]


def _example() -> str:
    """The shortest shipped description that shows how units are ordered."""
    files = sorted(data_dir("isa").glob("*.isa"))
    texts = (decode(read_bytes(file), str(file), IsaError) for file in files)
    return min((text for text in texts if all(part in text for part in SHOWN)), key=len).strip()


def _said(checked: Checked) -> str:
    if checked.faults:
        first = checked.faults[0].splitlines()[0]
        return f"{len(checked.faults)} faults, the first: {first}"
    return f"it holds; its naive multiplication needs {checked.cycles:,} cycles"
