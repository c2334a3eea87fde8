"""The session's tools and resources over the Model Context Protocol, with the official SDK."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError, create_model

from autocomp.errors import AutocompError, ConfigError
from autocomp.workbench.calling import wrong_arguments
from autocomp.workbench.session import Session
from autocomp.workbench.tools import ADVICE, NAMES, Tools

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.tools import Tool

INSTRUCTIONS = f"""You make one kernel as fast as it can be, and an impartial judge measures it.

Read the resources autocomp://machine, autocomp://language and autocomp://workload first. {ADVICE}"""
RESOURCES = {"machine": "text/markdown", "language": "text/markdown", "workload": "text/plain"}


def require_sdk() -> None:
    """Raise ConfigError where the SDK is not installed."""
    try:
        import mcp.server.mcpserver  # noqa: F401
    except ImportError:
        raise ConfigError(
            "autocomp mcp needs the SDK of the Model Context Protocol, version 2",
            hint="install it with: pip install 'autocomp[mcp]'",
        ) from None


def make_server(session: Session) -> MCPServer[Any]:
    """The server of a session. Raises ConfigError where the SDK is not installed."""
    require_sdk()
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ResourceError, ToolError

    tools, lock = Tools(session), threading.Lock()
    offered = [_strict(_guarded(getattr(tools, name), lock, ToolError)) for name in NAMES]
    server: MCPServer[Any] = MCPServer("autocomp", instructions=INSTRUCTIONS, tools=offered, log_level="WARNING")
    for name, kind in RESOURCES.items():
        server.resource(f"autocomp://{name}", mime_type=kind)(_guarded(getattr(tools, name), lock, ResourceError))
    return server


def _strict(method: Callable[..., Any]) -> Tool:
    """The tool of a method, which refuses unknown arguments. The SDK ignores them: a kernel given to `submit` under
    another name would end the session with the best one. It refuses wrong ones in our words."""
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.server.mcpserver.tools import Tool

    class Strict(Tool):
        async def run(self, arguments: dict[str, Any], *context: Any, **options: Any) -> Any:
            try:
                self.fn_metadata.validate_arguments(arguments)
            except ValidationError as error:
                model = self.fn_metadata.arg_model
                raise ToolError(wrong_arguments(self.name, model, arguments, error)) from error
            return await super().run(arguments, *context, **options)

    tool = Strict.from_function(method)
    given = tool.fn_metadata.arg_model
    tool.fn_metadata.arg_model = create_model(given.__name__, __base__=given, __cls_kwargs__={"extra": "forbid"})
    tool.parameters = tool.fn_metadata.arg_model.model_json_schema(by_alias=True)
    return tool


def _guarded(method: Callable[..., Any], lock: threading.Lock, kind: type[Exception]) -> Callable[..., Any]:
    """The method, one call of the session at a time; the text of an error reaches the agent."""

    @functools.wraps(method)
    def call(*arguments: Any, **named: Any) -> Any:
        with lock:
            try:
                return method(*arguments, **named)
            except AutocompError as fault:
                raise kind(str(fault)) from fault

    call.__doc__ = inspect.cleandoc(method.__doc__ or "")
    return call


def serve(session: Session, say: Callable[[str], None], host: str = "127.0.0.1", port: int | None = None) -> None:
    """Serve until the client leaves (standard input and output), or until interrupted (streamable HTTP on a port)."""
    server = make_server(session)
    if port is None:
        server.run("stdio")
        return
    say(f"serving http://{host}:{port}/mcp")
    server.run("streamable-http", host=host, port=port)
