"""Options that say which agents are asked, shared by the commands that ask them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from autocomp.cli.folding import folded

if TYPE_CHECKING:
    from autocomp.agents.config import Agents

_MODEL = "openai:MODEL[@BASE_URL]"


def chosen_agents(
    agent: str | None, planner_models: tuple[str, ...], coder_models: tuple[str, ...], agents_file: Path | None
) -> Agents:
    """The agents that these options ask for. Raises ConfigError."""
    from autocomp.agents import config

    loaded = config.load(agents_file) if agents_file is not None else None
    return config.from_words(agent, planner_models, coder_models, loaded)


agent_options = folded(
    "agents",
    chosen_agents,
    click.option(
        "--agent",
        type=str,
        default=None,
        help="Kind of agent: rules, llm or llm+rules (default: llm if a model is named, else rules).",
    ),
    click.option(
        "--planner-model",
        "--planner",
        "planner_models",
        multiple=True,
        metavar="SPEC",
        help=f"Agent that plans: {_MODEL}, or rules; repeatable.",
    ),
    click.option(
        "--coder-model",
        "--coder",
        "coder_models",
        multiple=True,
        metavar="SPEC",
        help="Agent that writes kernels, in the same form (default: the planner); repeatable.",
    ),
    click.option(
        "--agents",
        "agents_file",
        type=click.Path(path_type=Path, dir_okay=False),
        default=None,
        help="YAML file with ensembles, prices, limits and modes.",
    ),
)
