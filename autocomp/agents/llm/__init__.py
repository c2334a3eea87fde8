"""Agents that ask language models through any OpenAI-compatible endpoint."""

from autocomp.agents.llm.coder import LlmCoder
from autocomp.agents.llm.endpoints.client import Client
from autocomp.agents.llm.endpoints.endpoint import Endpoint, parse_spec
from autocomp.agents.llm.endpoints.ensemble import Ensemble
from autocomp.agents.llm.endpoints.forms.message import Message
from autocomp.agents.llm.endpoints.ledger import Ledger
from autocomp.agents.llm.planner import LlmPlanner, OpenPlanner
from autocomp.agents.llm.prompts import Asked, render_prompt

__all__ = [
    "Asked",
    "Client",
    "Endpoint",
    "Ensemble",
    "Ledger",
    "LlmCoder",
    "LlmPlanner",
    "Message",
    "OpenPlanner",
    "parse_spec",
    "render_prompt",
]
