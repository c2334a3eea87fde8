"""A linter of our prose, and its readability: `python docs/prose.py` prints the figures, `--check` the mistakes.

Vale's package fetches its binary from another host when it first runs, and proselint knows neither word lists of a
project nor lengths of sentences; hence these rules. They are those of CONTRIBUTING.md: sentences of 18 words on average
and 35 at most, and no phrase of `PHRASES`. In docstrings, no sentence begins with a word of `QUESTION`. `--check` holds
pages, docstrings and messages to these rules; only the length of messages is free.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LONGEST = 35  # words of a sentence
TOO_LONG = "words in a sentence"
MEAN = 18.0  # words of all sentences of the pages together
PHRASES = {
    r"(?<![Tt]here )\b(?:is|are|was|were) no (?!longer|more\b|less\b|better|worse|later|earlier|other\b)": "is not a",
    r"\b(?:is|are) none\b(?! of)": "say it in full",
    r"\bbehind\b": "after",
    r"\b(?:tell|told|tells) (?:\w+ )?apart\b": "distinguish",
    r"\bso many\b": "state the number",
    r"\bproven\b|\bproved\b": "validated, or checked",
    r"\bstands? (?:in|at|on|for|behind|between|twice)\b": "is",
    r"\bfile called\b": "named",
}
QUESTION = re.compile(r"(?:What|Whether|How|Why|Which)\b")
SOURCES = ("autocomp/*.py", "simulator/*.py", "benchmarks/*.py", "integrations/*.py")
OTHERS = ("docs/reference/machines/", "docs/reference/isa-timing.md", "CHANGELOG.md", "benchmarks/rtl/", "tests/")
ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|vs|cf|etc|no)\.$")


@dataclass(frozen=True)
class Sentence:
    """A sentence of a file, with the line that it begins on."""

    file: str
    line: int
    text: str

    @property
    def words(self) -> int:
        return len(re.findall(r"[\w'’/%.-]*\w[\w'’/%.-]*", self.text))


def page_sentences(file: str, text: str) -> Iterator[Sentence]:
    """The sentences of a Markdown page: prose and list items, without code, tables and headings."""
    block: list[str] = []
    start, fenced = 0, False
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        fence = line.lstrip().startswith("```")
        item = re.match(r"\s*(?:[-*]|\d+\.)\s+", line)
        marked = line.lstrip().startswith(("#", "|", "<", "!")) or (line.startswith("    ") and not block)
        prose = not (fence or fenced or marked) and line.strip()
        if not prose or item:
            yield from sentences(file, start, " ".join(block))
            block = []
        if fence:
            fenced = not fenced
        elif prose:
            start = start if block else number
            block.append(line[item.end() :] if item else line.strip())


def source_sentences(file: str, text: str) -> Iterator[Sentence]:
    """The sentences of a module's docstrings; indented lines are commands, not prose."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node)
            if docstring:
                line = node.body[0].lineno
                for part in re.split(r"\n\s*\n|\n(?=- )", docstring):
                    if not part.startswith("    "):
                        yield from sentences(file, line, part)


def sentences(file: str, line: int, text: str) -> Iterator[Sentence]:
    """The sentences of a paragraph; code counts as one word and may begin a sentence, a link as its text."""
    text = re.sub(r"`[^`]*`", "Code", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(text.split()))
    begin = 0
    for end in re.finditer(r"[.!?][\"')*]*(?=\s+[A-Z(\"*`]|\s*$)", text):
        if not ABBREVIATION.search(text[begin : end.end()]):
            yield Sentence(file, line, text[begin : end.end()].strip())
            begin = end.end()
    if text[begin:].strip():
        yield Sentence(file, line, text[begin:].strip())


def messages(file: str, text: str) -> Iterator[Sentence]:
    """The texts of a module that a user may read: strings of several words outside of docstrings."""
    tree = ast.parse(text)
    documented = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        if node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) and id(node) not in documented else None
        if isinstance(text, str) and text.count(" ") >= 2:
            yield Sentence(file, node.lineno, " ".join(text.split()))


def mistakes(found: Sentence, *, docstring: bool = False) -> Iterator[str]:
    if found.words > LONGEST:
        yield f"{found.words} {TOO_LONG}, at most {LONGEST}: {found.text[:70]}..."
    for pattern, better in PHRASES.items():
        match = re.search(pattern, found.text)
        if match:
            yield f"{match.group()!r}: write {better!r}"
    if docstring and QUESTION.match(found.text):
        yield f"a sentence of a docstring begins with {found.text.split()[0]!r}: name the thing"


def tracked(*patterns: str) -> list[str]:
    listed = subprocess.run(["git", "ls-files", *patterns], capture_output=True, text=True, check=True).stdout.split()
    return [file for file in listed if not file.startswith(OTHERS) and Path(file).is_file()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="print mistakes, and exit with 1 if there are any")
    parser.add_argument("--pages", action="store_true", help="print the figures of each page too")
    arguments = parser.parse_args()
    pages = {file: list(page_sentences(file, Path(file).read_text(encoding="utf-8"))) for file in tracked("*.md")}
    sources = {file: Path(file).read_text(encoding="utf-8") for file in tracked(*SOURCES)}
    docstrings = [found for file, text in sources.items() for found in source_sentences(file, text)]
    everything = [found for page in pages.values() for found in page]
    for name, group in [*(pages.items() if arguments.pages else ()), ("pages", everything), ("docstrings", docstrings)]:
        lengths = [found.words for found in group] or [0]
        mean, most = sum(lengths) / len(lengths), max(lengths)
        long = sum(length > LONGEST for length in lengths)
        print(
            f"{name:<45} {len(lengths):>5} sentences, mean {mean:4.1f} words, longest {most:>3}, {long} over {LONGEST}"
        )
    if not arguments.check:
        return
    wrong = [(found, text) for found in everything for text in mistakes(found)]
    wrong += [(found, text) for found in docstrings for text in mistakes(found, docstring=True)]
    texts = [found for file, text in sources.items() for found in messages(file, text)]
    wrong += [(found, text) for found in texts for text in mistakes(found) if TOO_LONG not in text]
    for found, text in wrong:
        print(f"{found.file}:{found.line}: {text}")
    if wrong:
        print(f"{len(wrong)} mistakes")
        sys.exit(1)


if __name__ == "__main__":
    main()
