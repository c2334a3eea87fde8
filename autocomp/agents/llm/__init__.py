"""Agents that ask a language model behind any OpenAI-compatible endpoint."""

from autocomp.agents.llm.client import Client, Options
from autocomp.agents.llm.coder import LlmCoder
from autocomp.agents.llm.endpoint import Endpoint, parse_spec
from autocomp.agents.llm.planner import LlmPlanner
from autocomp.agents.llm.prompts import Message, render_prompt

__all__ = ["Client", "Endpoint", "LlmCoder", "LlmPlanner", "Message", "Options", "parse_spec", "render_prompt"]
