"""A coder that has models write kernels, whole or as edits, and mend them when a stage has failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from autocomp.agents.config import Agents
from autocomp.agents.llm.edits import EditError, apply_edits, parse_edits
from autocomp.agents.llm.endpoints.ensemble import Ensemble, Reply
from autocomp.agents.llm.feedback import unnumbered
from autocomp.agents.llm.moves import moves
from autocomp.agents.llm.parsing import parse_plans
from autocomp.agents.llm.planner import TRANSLATE, templates_of
from autocomp.agents.llm.prompts import Asked, Phase, render_prompt
from autocomp.errors import KernelError
from autocomp.targets.menu import Menu
from autocomp.targets.planning import Context, Implementation, Plan, Usage
from autocomp.targets.protocol import Language
from autocomp.targets.rewriting import RewritingCoder


@dataclass(frozen=True)
class _Job:
    """One kernel to be written: the question, and the text that edits refer to."""

    phase: Phase
    asked: Asked
    base: str


class LlmCoder:
    """Kernels from an ensemble, in the form that `agents.codes` says.

    A plan that names a transformation is carried out exactly, without a model; a model is asked where that does not
    fit the kernel. Raises EndpointRefusalError where no request can succeed; an answer without a kernel is an
    `Implementation` that says so.
    """

    def __init__(self, ensemble: Ensemble, agents: Agents) -> None:
        self.name = ensemble.name
        self.ensemble = ensemble
        self.agents = agents

    def implement(self, context: Context, plan: Plan) -> Implementation:
        if plan.transformation is not None:
            applied = RewritingCoder().implement(context, plan)
            if applied.kernel is not None:
                return applied
            plan = replace(plan, text=f"{plan.text}\n(Not applicable mechanically: {applied.message})")
        peer = context.peers[0] if plan.partner is not None and context.peers else None
        asked = Asked(plan=plan, peer=peer)
        if plan.option == TRANSLATE:
            return self._best(context, _Job("translate", asked, context.kernel))
        if not plan.text:
            return self._solve(context, plan)
        return self._best(context, _Job("edit" if self.agents.codes == "edits" else "code", asked, context.kernel))

    def repair(self, context: Context, plan: Plan, kernel: str, failure: str) -> Implementation:
        asked = Asked(plan=plan, kernel=kernel, failure=failure)
        return self._best(context, _Job("repair_edit" if self.agents.codes == "edits" else "repair", asked, kernel))

    def _solve(self, context: Context, plan: Plan) -> Implementation:
        """Plan and kernel in one answer, with the options that the blank plan allows."""
        allowed = plan.parameters.get("options", ())
        menu = Menu(tuple(o for o in context.menu.options if o.id in allowed), context.menu.name)
        shown = replace(context, menu=menu)

        def read(reply: Reply) -> Implementation:
            located = context.target.language.locate(reply.text or "")
            plans = parse_plans(reply.text or "", menu, reply.author)
            made = (
                replace(plans[0], transformation=None, parameters={})
                if plans
                else replace(plan, text="(no plan given)", parameters={})
            )
            return self._implementation(located, reply, replace(made, author=reply.author))

        return self._sampled(shown, _Job("single", Asked(moves=moves(shown)), context.kernel), read)

    def _best(self, context: Context, job: _Job) -> Implementation:
        edits = job.phase in ("edit", "repair_edit")

        def read(reply: Reply) -> Implementation:
            if edits:
                return self._edited(context, job, reply)
            return self._implementation(context.target.language.locate(reply.text or ""), reply)

        return self._sampled(context, job, read)

    def _sampled(self, context: Context, job: _Job, read: Callable[[Reply], Implementation]) -> Implementation:
        """The first of a model's samples that parses and checks, else the last that is a kernel at all."""
        messages = render_prompt(job.phase, context, job.asked, templates_of(self.agents))
        client = self.ensemble.pick(context.random, context.credit if self.agents.shares == "gain" else None)
        usage = Usage()
        best: Implementation | None = None
        for _ in range(client.member.samples):
            reply = self.ensemble.ask(messages, context.random, first=client)
            made = (
                read(reply) if reply.text is not None else Implementation(None, "; ".join(reply.messages), reply.usage)
            )
            usage += made.usage
            if best is None or made.kernel is not None:
                best = made
            if made.usage.unsent or (made.kernel is not None and _checks(context, made.kernel)):
                break
        return replace(best or Implementation(None), usage=usage)

    def _edited(self, context: Context, job: _Job, reply: Reply) -> Implementation:
        """The kernel with the answer's blocks applied; blocks that do not fit are asked for once more."""
        try:
            return _edited(context.target.language, job.base, reply)
        except EditError as error:
            fault = str(error)
        answer = reply.text or ""
        asked = replace(job.asked, answer=answer, failure=fault)
        # Of a repair, the kernel to edit is the one that failed.
        parent = replace(context, kernel=job.base)
        again = self.ensemble.ask(render_prompt("mend", parent, asked, templates_of(self.agents)), context.random)
        both = replace(again, usage=reply.usage + again.usage)
        if again.text is None:
            return Implementation(None, "; ".join((fault, *again.messages)), both.usage)
        try:
            return _edited(context.target.language, job.base, both)
        except EditError as error:
            return Implementation(
                None, f"{again.author}'s edits do not fit, and neither did those before: {error}", both.usage
            )

    def _implementation(self, kernel: str | None, reply: Reply, plan: Plan | None = None) -> Implementation:
        if kernel is None:
            message = f"{reply.author}'s answer holds no function, fenced or bare"
            return Implementation(None, message, reply.usage, plan)
        return Implementation(unnumbered(kernel), "", reply.usage, plan)


def _edited(language: Language, base: str, reply: Reply) -> Implementation:
    """The base with the reply's edits, or the whole kernel that it gives instead. Raises EditError."""
    answer = reply.text or ""
    edits = parse_edits(answer)
    if edits:
        return Implementation(apply_edits(base, edits), "", reply.usage)
    whole = language.locate(answer)
    if whole is None:
        raise EditError("the answer holds no block")
    return Implementation(whole, "", reply.usage)


def _checks(context: Context, text: str) -> bool:
    try:
        context.target.language.check(text, context.workload)
    except KernelError:
        return False
    return True
