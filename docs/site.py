"""Hooks of the documentation site: pages that live outside of `docs/` are shown beside those inside."""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "menus/README.md")
LINK = re.compile(r"\]\((?:\.\./)+((?:[\w-]+/)*[\w-]+\.md)(#[\w-]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of `OUTSIDE`, each under its path from the root of the repository."""
    for name in OUTSIDE:
        files.append(File.generated(config, name, content=(ROOT / name).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links that leave `docs/` at the added pages, and those of the added pages back into `docs/`."""
    name = page.file.src_uri
    up = "../" * name.count("/")
    if name in OUTSIDE:
        return markdown.replace("](docs/", f"]({up}").replace("](../docs/", f"]({up}")

    def moved(match: re.Match[str]) -> str:
        target = match.group(1)
        return f"]({up}{target}{match.group(2) or ''})" if target in OUTSIDE else match.group(0)

    return LINK.sub(moved, markdown)
