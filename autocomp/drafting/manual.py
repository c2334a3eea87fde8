"""Manuals as text: PDF, Markdown, HTML and header files, page by page, and whether a citation occurs in them."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

from autocomp.data import decode, read_bytes, reason
from autocomp.errors import ConfigError

MOST_BYTES = 1 << 26  # of one manual
MOST_CHARACTERS = 400_000  # of all text that a model is shown
SHORTEST_QUOTE = 8  # characters, without white space, that a citation needs to say something
LONGEST_QUOTE = 200
_CITATION = re.compile(r"(?P<file>[^:]+?)(?:\s+p\.\s*(?P<page>\d{1,5}))?\s*:\s*(?P<quote>.+)", re.DOTALL)
_SILENT = ("script", "style", "template")  # elements whose text nobody reads


@dataclass(frozen=True)
class Page:
    """One page of a PDF, counted from 1, or the whole of another file, with number 0."""

    file: str
    number: int
    text: str

    @property
    def name(self) -> str:
        return f"{self.file} p. {self.number}" if self.number else self.file


def read_manual(path: Path) -> tuple[Page, ...]:
    """The pages of a manual that have text. Raises ConfigError for what cannot be read."""
    try:
        data = read_bytes(path, MOST_BYTES)
    except OSError as error:
        raise ConfigError(f"cannot read the manual {path}: {reason(error)}") from error
    if path.suffix.lower() == ".pdf" or data.startswith(b"%PDF-"):
        texts = list(enumerate(_pdf(data, path), start=1))
    else:
        text = decode(data, str(path), ConfigError)
        texts = [(0, _html(text) if path.suffix.lower() in (".html", ".htm") else text)]
    pages = tuple(Page(path.name, number, text) for number, text in texts if text.strip())
    if not pages:
        raise ConfigError(f"the manual {path} holds no text", hint="are its pages images? recognise their text first")
    return pages


def check_size(pages: Sequence[Page]) -> None:
    """Raises ConfigError where there is more text than a model is shown."""
    size = sum(len(page.text) for page in pages)
    if size > MOST_CHARACTERS:
        raise ConfigError(
            f"the manuals hold {size:,} characters, a model is shown at most {MOST_CHARACTERS:,}",
            hint="give the chapters on instructions, memories and timing alone",
        )


def citation_fault(citation: str, pages: Sequence[Page]) -> str | None:
    """The fault of a citation `FILE: WORDS` or `FILE p. N: WORDS`; None if the file has these words on that page."""
    match = _CITATION.fullmatch(citation.strip())
    if match is None:
        return f'the citation {citation[:80]!r} is not of the form "FILE: WORDS" or "FILE p. N: WORDS"'
    file, quote = match["file"].strip(), match["quote"]
    number = None if match["page"] is None else int(match["page"])
    of_file = [page for page in pages if page.file == file]
    if not of_file:
        return f"the citation names {file!r}, and the manuals are {', '.join(dict.fromkeys(p.file for p in pages))}"
    words = _plain(quote)
    if not len(words) >= SHORTEST_QUOTE or len(quote) > LONGEST_QUOTE:
        return f"the cited words {quote[:80]!r} must be {SHORTEST_QUOTE} to {LONGEST_QUOTE} characters"
    where = [page for page in of_file if number is None or page.number in (number, 0)]
    if any(words in _plain(page.text) for page in where):
        return None
    elsewhere = next((page for page in of_file if words in _plain(page.text)), None)
    there = f"; they are on p. {elsewhere.number}" if elsewhere else ""
    return f"the cited words {quote[:80]!r} do not occur in {file}{f' p. {number}' if number else ''}{there}"


def _plain(text: str) -> str:
    """Text without white space, marks of Markdown and case, and with words whole that lines cut."""
    joined = re.sub(r"(?<=\w)-[^\S\n]*\n\s*(?=\w)", "", text)  # linear in any white space
    return re.sub(r"[\s`*_|]+", "", joined).casefold()


def _pdf(data: bytes, path: Path) -> list[str]:
    try:
        from pypdf import PdfReader
    except ImportError:
        raise ConfigError(
            f"{path} is a PDF, and reading one needs the package pypdf",
            hint="install it with: pip install 'autocomp[manuals]', or give the manual as Markdown, HTML or text",
        ) from None
    try:
        return [page.extract_text() for page in PdfReader(io.BytesIO(data)).pages]
    except Exception as error:  # of another package, which a hostile file may lead anywhere
        raise ConfigError(f"{path} cannot be read as a PDF: {error}") from error


def _html(text: str) -> str:
    reader = _Reader()
    reader.feed(text)
    reader.close()
    return "".join(reader.parts)


class _Reader(HTMLParser):
    """The text of a page of HTML."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._silent += tag in _SILENT

    def handle_endtag(self, tag: str) -> None:
        self._silent = max(0, self._silent - (tag in _SILENT))

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.parts.append(data)
