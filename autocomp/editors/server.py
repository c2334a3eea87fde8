"""The language server for `.isa` files, on standard input and output; needs `pygls`."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote, urlsplit

from autocomp.editors.language import Description
from autocomp.errors import ConfigError

KINDS = {"keyword": "Keyword", "key": "Property", "value": "EnumMember", "name": "Variable"}


def make_server() -> Any:
    """A server that knows documents as they are opened and changed. Raises ConfigError without the package `pygls`."""
    try:
        from lsprotocol import types
        from pygls.lsp.server import LanguageServer
    except ImportError as error:
        raise ConfigError("the package 'pygls' is not installed", hint="pip install 'autocomp[editors]'") from error
    server = LanguageServer("autocomp-isa", "1")
    opened: dict[str, Description] = {}

    def read(uri: str) -> None:
        text = server.workspace.get_text_document(uri).source
        name = unquote(urlsplit(uri).path)
        mistakes = opened.setdefault(uri, Description(name)).update(text)
        diagnostics = [
            types.Diagnostic(
                range=types.Range(
                    types.Position(one.line, one.column), types.Position(one.line, one.column + one.width)
                ),
                message=one.message,
                source="autocomp",
                severity=types.DiagnosticSeverity.Error,
            )
            for one in mistakes
        ]
        server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri=uri, diagnostics=diagnostics))

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(parameters: types.DidOpenTextDocumentParams) -> None:
        read(parameters.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(parameters: types.DidChangeTextDocumentParams) -> None:
        read(parameters.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(parameters: types.DidCloseTextDocumentParams) -> None:
        opened.pop(parameters.text_document.uri, None)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(parameters: types.HoverParams) -> types.Hover | None:
        known = opened.get(parameters.text_document.uri)
        said = known.hover(parameters.position.line, parameters.position.character) if known else None
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, said)) if said else None

    @server.feature(types.TEXT_DOCUMENT_COMPLETION)
    def completion(parameters: types.CompletionParams) -> list[types.CompletionItem]:
        known = opened.get(parameters.text_document.uri)
        words = known.completion(parameters.position.line, parameters.position.character) if known else []
        return [
            types.CompletionItem(
                label=word.text, kind=getattr(types.CompletionItemKind, KINDS[word.kind]), documentation=word.meaning
            )
            for word in words
        ]

    return server
