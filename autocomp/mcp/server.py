"""The session's tools and resources over the Model Context Protocol, with the official SDK."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from autocomp.errors import AutocompError, ConfigError
from autocomp.mcp.session import Session
from autocomp.mcp.tools import Tools

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

INSTRUCTIONS = """You make one kernel as fast as it can be, and an impartial judge measures it.

Read the resources autocomp://machine, autocomp://language and autocomp://workload first. Kernel 0 is the slow, correct
starting kernel. Work in rounds: `profile` or `explain` the best kernel to see what limits it, change one thing, by hand
or with `transform`, `check` it, then `evaluate` it with the idea in a sentence. Only `evaluate` costs of the budget. A
wrong kernel counts for nothing. When you cannot make it faster, or the budget is spent, `submit`.

Wherever a kernel is asked for, give its text or the number that `evaluate` gave it."""


def make_server(session: Session) -> MCPServer[Any]:
    """The server of a session. Raises ConfigError where the SDK is not installed."""
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ResourceError, ToolError
    except ImportError:
        raise ConfigError(
            "autocomp mcp needs the SDK of the Model Context Protocol, version 2",
            hint="install it with: pip install 'autocomp[mcp]'",
        ) from None
    server: MCPServer[Any] = MCPServer("autocomp", instructions=INSTRUCTIONS, log_level="WARNING")
    tools, lock = Tools(session), threading.Lock()
    _add_tools(server, _Guarded(tools, lock, ToolError))
    _add_resources(server, _Guarded(tools, lock, ResourceError))
    return server


class _Guarded:
    """The tools, one call at a time; the text of what goes wrong reaches the agent."""

    def __init__(self, tools: Tools, lock: threading.Lock, error: type[Exception]) -> None:
        self._tools = tools
        self._lock = lock
        self._error = error

    @contextmanager
    def use(self) -> Iterator[Tools]:
        with self._lock:
            try:
                yield self._tools
            except AutocompError as fault:
                raise self._error(str(fault)) from fault


def _add_tools(server: MCPServer[Any], guarded: _Guarded) -> None:
    @server.tool()
    def check(kernel: str) -> str:
        """Parse and check a kernel without running it. Free."""
        with guarded.use() as tools:
            return tools.check(kernel)

    @server.tool()
    def evaluate(kernel: str, idea: str, parent: int | None = None) -> dict[str, Any]:
        """Judge a kernel: is it right, how fast is it, where does its time go. Costs one evaluation, unless the same
        kernel was judged before. `idea` says in a sentence what was changed and why; `parent` is the number of the
        kernel that it was made from, by default the best."""
        with guarded.use() as tools:
            return tools.evaluate(kernel, idea, parent)

    @server.tool()
    def profile(kernel: str) -> str:
        """Where the time of a kernel goes: its critical path in words, what-ifs, units, memories, lines. Free."""
        with guarded.use() as tools:
            return tools.profile(kernel)

    @server.tool()
    def explain(kernel: str, line: int) -> str:
        """Why the commands of one line of a kernel wait, what that costs, and what usually helps. Free."""
        with guarded.use() as tools:
            return tools.explain(kernel, line)

    @server.tool()
    def diff(first: str, second: str) -> str:
        """How two kernels differ: their texts, and why one is faster than the other. Free."""
        with guarded.use() as tools:
            return tools.diff(first, second)

    @server.tool()
    def transformations(kernel: str) -> list[dict[str, Any]]:
        """Exact rewrites that apply to a kernel, with parameters and the estimated saving. Free."""
        with guarded.use() as tools:
            return tools.transformations(kernel)

    @server.tool()
    def transform(kernel: str, name: str, parameters: dict[str, Any]) -> str:
        """The text of a kernel with one of the rewrites that `transformations` lists applied. Free."""
        with guarded.use() as tools:
            return tools.transform(kernel, name, parameters)

    @server.tool()
    def schedules() -> list[dict[str, Any]]:
        """What made the most similar operations fast, step by step. Free."""
        with guarded.use() as tools:
            return tools.schedules()

    @server.tool()
    def history() -> dict[str, Any]:
        """All kernels of the session with their outcomes, and what is left of the budget. Free."""
        with guarded.use() as tools:
            return tools.history()

    @server.tool()
    def read_kernel(number: int) -> str:
        """The text of a kernel of the session by its number; 0 is the starting kernel. Free."""
        with guarded.use() as tools:
            return tools.kernel(number)

    @server.tool()
    def submit(number: int | None = None) -> dict[str, Any]:
        """End the session with a kernel, by default the best: it is validated in full and kept as a schedule."""
        with guarded.use() as tools:
            return tools.submit(number)


def _add_resources(server: MCPServer[Any], guarded: _Guarded) -> None:
    @server.resource("autocomp://machine", mime_type="text/markdown")
    def machine() -> str:
        """The machine: instructions, memories, rules, and how long things take."""
        with guarded.use() as tools:
            return tools.machine()

    @server.resource("autocomp://language", mime_type="text/markdown")
    def language() -> str:
        """The language that kernels are written in, and how they are judged."""
        with guarded.use() as tools:
            return tools.language()

    @server.resource("autocomp://workload", mime_type="text/plain")
    def workload() -> str:
        """What the kernel computes, its signature, and the bound that no kernel can beat."""
        with guarded.use() as tools:
            return tools.workload()


def serve(session: Session, say: Callable[[str], None], host: str = "127.0.0.1", port: int | None = None) -> None:
    """Serve until the client leaves (standard input and output), or until interrupted (streamable HTTP on a port)."""
    server = make_server(session)
    if port is None:
        server.run("stdio")
        return
    say(f"serving http://{host}:{port}/mcp")
    server.run("streamable-http", host=host, port=port)
