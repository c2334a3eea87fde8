"""From plans to kernels: agents are asked for plans, for the kernels that carry them out, and to mend what failed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from autocomp.search.candidate import ERROR, NO_PLAN, NOT_IMPLEMENTED, PENDING, SKIPPED, Candidate, History
from autocomp.search.effects import OUT_OF_TIME, Effects
from autocomp.search.log.folder import RunFolder
from autocomp.search.log.keys import key_of
from autocomp.search.strategy import Expand
from autocomp.search.targets import AgentCall
from autocomp.search.verdict import failure_text
from autocomp.targets.planning import Peer, Plan
from autocomp.targets.serial import from_document

KNOWN = "(An answer to this plan gave a kernel that is known already: carry it out in another way, or go further.)"


@dataclass(frozen=True)
class Drafts:
    """Candidates before they are judged. Where agents write kernels themselves (`writes`), a plan whose kernel is known
    already is asked once more. Chance follows from the search's `seed` and from what is asked."""

    effects: Effects
    folder: RunFolder
    seed: int
    writes: bool

    def planned(self, history: History, request: Expand, number: int) -> list[Candidate]:
        """One draft for each kernel to be written; a parent without plans gets a draft that says why."""
        calls: dict[str, AgentCall] = {}
        for parent in request.parents:
            call = self._call(history, parent, key_of("plan", number, parent.kernel))
            others = request.parents if request.peers is None else request.peers
            peers = tuple(self.peer(history, other) for other in others if other.id != parent.id)
            if request.avenues:
                call = replace(call, avenues=request.avenues, findings=request.findings, attempts=history.attempts())
            calls[key_of("plan", number, parent.id)] = replace(
                call, count=request.plans, whole_menu=request.whole_menu, peers=peers
            )
        self.effects.ask("plan", "plan", calls)
        first = max(candidate.id for candidate in history) + 1
        drafts: list[Candidate] = []
        for parent in request.parents:
            answer = self.effects.answer(key_of("plan", number, parent.id))
            blank = Candidate(0, number, parent.id, None, "", "", PENDING)
            plans = [from_document(Plan, document) for document in answer.get("plans", ())]
            chosen = request.choose(parent, plans)
            drafts += [replace(blank, plan=plan) for plan in chosen for _ in range(request.codes)]
            if answer and not plans:
                message = "; ".join(answer["messages"]) or "the planner has no plan for this kernel"
                drafts.append(replace(blank, outcome=ERROR if answer.get("error") else NO_PLAN, message=message))
        return [replace(draft, id=first + position) for position, draft in enumerate(drafts)]

    def implemented(self, history: History, number: int, drafts: Sequence[Candidate]) -> list[Candidate]:
        """The drafts of a step, those with a plan with the kernel that carries it out."""
        calls: dict[str, AgentCall] = {}
        for draft in drafts:
            if draft.plan is not None:
                call = self._call(history, history[draft.parent or 0], key_of("code", number, draft.id))
                partner = draft.plan.partner
                peers = () if partner is None else (self.peer(history, history[partner]),)
                calls[key_of("code", number, draft.id)] = replace(call, plan=draft.plan, peers=peers)
        self.effects.ask("code", "implement", calls)
        made = [
            self._filled(d, self.effects.answer(key_of("code", number, d.id))) if d.plan is not None else d
            for d in drafts
        ]
        return self._asked_again(history, number, made, calls) if self.writes else made

    def _asked_again(
        self, history: History, number: int, made: Sequence[Candidate], calls: Mapping[str, AgentCall]
    ) -> list[Candidate]:
        """The drafts with another kernel where a written one is known already: its plan is asked once more, and says
        so. A transformation is not repeated, since it would give the same kernel."""
        seen = set(history.hashes)
        known: dict[int, AgentCall] = {}
        for draft in made:
            if draft.plan is not None and draft.plan.transformation is None and draft.hash in seen:
                call = calls[key_of("code", number, draft.id)]
                plan = replace(draft.plan, text=f"{draft.plan.text}\n{KNOWN}")
                known[draft.id] = replace(call, plan=plan, chance=f"{call.chance}/again")
            seen.add(draft.hash)
        again = {key_of("code", number, f"{i}/again"): call for i, call in known.items()}
        self.effects.ask("code", "implement", again)
        return [
            self._otherwise(draft, self.effects.answer(key_of("code", number, f"{draft.id}/again")))
            if draft.id in known
            else draft
            for draft in made
        ]

    def _otherwise(self, draft: Candidate, answer: Mapping[str, Any]) -> Candidate:
        return replace(draft, kernel=answer["kernel"], hash=answer["hash"]) if answer.get("kernel") else draft

    def mended(self, history: History, failed: Collection[Candidate]) -> list[Candidate]:
        """A draft for each kernel that failed a stage and that an agent has mended."""
        calls: dict[str, AgentCall] = {}
        for candidate in failed:
            call = self._call(
                history, history[candidate.parent or 0], key_of("repair", candidate.step, candidate.kernel)
            )
            broken = self.folder.kernel(candidate.kernel)
            calls[key_of("repair", candidate.step, candidate.id)] = replace(
                call,
                plan=candidate.plan,
                broken=broken,
                failure=failure_text(candidate),
                verdict=candidate.evaluation,
            )
        self.effects.ask("repair", "repair", calls)
        drafts: list[Candidate] = []
        for candidate in failed:
            answer = self.effects.answer(key_of("repair", candidate.step, candidate.id))
            if answer.get("kernel"):
                drafts.append(self._filled(replace(candidate, outcome=PENDING, repaired=True, evaluation=None), answer))
        return drafts

    def peer(self, history: History, candidate: Candidate) -> Peer:
        """A kernel as agents see it beside the parent. Raises ValueError if it was not evaluated."""
        if candidate.evaluation is None:
            raise ValueError(f"candidate {candidate.id} was not evaluated and cannot be a peer")
        return Peer(
            candidate.id, self.folder.kernel(candidate.kernel), candidate.evaluation, history.lineage(candidate)
        )

    def _call(self, history: History, parent: Candidate, label: str) -> AgentCall:
        if parent.evaluation is None:
            raise ValueError(f"candidate {parent.id} was not evaluated and cannot be a parent")
        return AgentCall(
            kernel=self.folder.kernel(parent.kernel),
            evaluation=parent.evaluation,
            lineage=history.lineage(parent),
            tried=history.hashes,
            chance=f"{self.seed}/{label}",
            attempts=history.attempts(parent),
            lessons=history.lessons(parent),
            credit=history.credit(),
        )

    def _filled(self, candidate: Candidate, answer: Mapping[str, Any]) -> Candidate:
        """The candidate with what its coder answered; no answer means that time ran out."""
        if not answer:
            return replace(candidate, outcome=SKIPPED, message=OUT_OF_TIME)
        if answer.get("plan"):
            candidate = replace(candidate, plan=from_document(Plan, answer["plan"]))
        if not answer["kernel"]:
            outcome = ERROR if answer.get("error") else NOT_IMPLEMENTED
            return replace(candidate, outcome=outcome, message=answer.get("message", ""))
        return replace(candidate, kernel=answer["kernel"], hash=answer["hash"])
