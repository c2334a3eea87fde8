"""A coder that has a model write the kernel, and mend it when a stage has failed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from autocomp.agents.llm.client import Client, EndpointRefusalError, Options
from autocomp.agents.llm.endpoint import parse_spec
from autocomp.agents.llm.parsing import extract_kernel
from autocomp.agents.llm.prompts import Message, render_prompt
from autocomp.agents.protocol import Context, Implementation, Plan, Usage
from autocomp.agents.rules import RulesCoder
from autocomp.errors import ModelError


class LlmCoder:
    """Kernels from the model that `spec` names (`openai:MODEL` or `openai:MODEL@BASE_URL`).

    A plan that names a transformation is carried out exactly, without the model; the model is asked where that does not
    fit the kernel. Raises EndpointRefusalError where no request can succeed; an answer without a kernel is an
    `Implementation` that says so.
    """

    def __init__(
        self,
        spec: str,
        *,
        cache_dir: Path | None = None,
        options: Options | None = None,
        templates: Path | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.name = spec
        self.client = Client(parse_spec(spec), options, cache_dir=cache_dir, sleep=sleep)
        self.templates = templates

    def implement(self, context: Context, plan: Plan) -> Implementation:
        if plan.transformation is not None:
            applied = RulesCoder().implement(context, plan)
            if applied.kernel is not None:
                return applied
            plan = replace(plan, text=f"{plan.text}\n(Not applicable mechanically: {applied.message})")
        prompt = render_prompt("implement", context, plan=plan, templates=self.templates)
        return self._kernel(context, prompt)

    def repair(self, context: Context, plan: Plan, kernel: str, failure: str) -> Implementation:
        prompt = render_prompt("repair", context, plan=plan, kernel=kernel, failure=failure, templates=self.templates)
        return self._kernel(context, prompt)

    def _kernel(self, context: Context, prompt: Sequence[Message]) -> Implementation:
        usage = Usage()
        try:
            answer = self.client.complete(prompt, sample=context.random.getrandbits(32))
            usage = answer.usage
            kernel = extract_kernel(answer.require(self.name))
        except EndpointRefusalError:
            raise
        except ModelError as error:
            return Implementation(None, str(error), usage)
        if kernel is None:
            return Implementation(None, f"{self.name}'s answer holds no function, fenced or bare", usage)
        return Implementation(kernel, "", usage)
