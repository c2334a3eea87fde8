"""A planner that asks a model for several plans at once, until it has as many as the search wants."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path

from autocomp.agents.llm.client import Client, EndpointRefusalError, Options
from autocomp.agents.llm.endpoint import parse_spec
from autocomp.agents.llm.parsing import parse_plans
from autocomp.agents.llm.prompts import render_prompt
from autocomp.agents.protocol import Context, Plan, Planning, Usage
from autocomp.errors import ModelError


class LlmPlanner:
    """Plans from the model that `spec` names (`openai:MODEL` or `openai:MODEL@BASE_URL`).

    Each request asks for at most `plans_per_request`. Raises EndpointRefusalError where no request can succeed; what
    goes wrong with a single answer is a message beside the plans of the others.
    """

    def __init__(
        self,
        spec: str,
        *,
        cache_dir: Path | None = None,
        options: Options | None = None,
        plans_per_request: int = 4,
        templates: Path | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.name = spec
        self.client = Client(parse_spec(spec), options, cache_dir=cache_dir, sleep=sleep)
        self.plans_per_request = plans_per_request
        self.templates = templates

    def plan(self, context: Context, count: int) -> Planning:
        plans: list[Plan] = []
        messages: list[str] = []
        usage = Usage()
        for _ in range(math.ceil(count / self.plans_per_request)):
            wanted = min(self.plans_per_request, count - len(plans))
            if wanted <= 0:
                break
            prompt = render_prompt("plan", context, count=wanted, templates=self.templates)
            try:
                answer = self.client.complete(prompt, sample=context.random.getrandbits(32))
                usage += answer.usage
                found = parse_plans(answer.require(self.name), context.menu, self.name)
            except EndpointRefusalError:
                raise
            except ModelError as error:
                messages.append(str(error))
                continue
            if not found:
                messages.append(f"{self.name} proposed no plan that can be read")
            plans.extend(found[:wanted])
        return Planning(tuple(plans), usage, tuple(messages))
