"""The file of a user's own defaults: a section for each command, checked like the command line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import yaml

from autocomp.data import closest, decode, defaults_file, read_bytes, reason
from autocomp.errors import ConfigError, Place
from autocomp.yaml_text import read_yaml

NEVER = ("trust", "help", "version")  # said anew each time: they let code run, or do something else


@dataclass(frozen=True)
class Default:
    """The value of one option in the file: `words` as on a command line, or a truth value for a flag."""

    command: tuple[str, ...]
    option: str
    parameter: str
    words: str | bool | tuple[str, ...]
    line: int

    @property
    def text(self) -> str:
        """The option as one would type it."""
        if isinstance(self.words, bool):
            return f"--{self.option}" if self.words else f"--no-{self.option}"
        words = (self.words,) if isinstance(self.words, str) else self.words
        return " ".join(f"--{self.option} {word}" for word in words)


def load(group: click.Group) -> tuple[Default, ...]:
    """The defaults in the user's file, () without one. Raises ConfigError with the place of what no command has, or
    what an option refuses."""
    file = defaults_file()
    try:
        text = decode(read_bytes(file), str(file), ConfigError)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise ConfigError(f"cannot read the defaults in {file}: {reason(error)}") from error
    tree = read_yaml(text, str(file))[1]
    return () if tree is None else tuple(_Reader(file, text).sections(group, tree, ()))


class _Reader:
    """Checks the sections of a file against the commands."""

    def __init__(self, file: Path, text: str) -> None:
        self._file = file
        self._lines = text.splitlines()

    def sections(self, command: click.Command, node: yaml.Node, names: tuple[str, ...]) -> Iterator[Default]:
        for key, value in self._pairs(node, "a section for each command" if not names else "options with their values"):
            word = str(key.value)
            if isinstance(command, click.Group):
                if word not in command.commands:
                    raise self._error(key, f"unknown command {word!r}", word, list(command.commands))
                yield from self.sections(command.commands[word], value, (*names, word))
            else:
                yield self._default(command, key, value, names)

    def _default(
        self, command: click.Command, key: yaml.ScalarNode, node: yaml.Node, names: tuple[str, ...]
    ) -> Default:
        options = {o.removeprefix("--"): p for p in command.params for o in p.opts if o.startswith("--")}
        known = [name for name in options if name not in NEVER]
        option = str(key.value)
        if option in NEVER:
            raise self._error(key, f"{option!r} has no default: it is for one command at a time")
        if option not in known:
            raise self._error(key, f"autocomp {' '.join(names)} has no option --{option}", option, known)
        parameter = options[option]
        words = self._words(parameter, node)
        try:
            parameter.process_value(click.Context(command), words)
        except click.UsageError as error:
            raise self._error(node, f"{option}: {error.message}") from None
        return Default(names, option, parameter.name or "", words, node.start_mark.line + 1)

    def _words(self, parameter: click.Parameter, node: yaml.Node) -> str | bool | tuple[str, ...]:
        if getattr(parameter, "is_flag", False):
            if isinstance(node, yaml.ScalarNode) and node.tag.endswith(":bool"):
                return str(node.value).lower() in ("true", "yes", "on")
            raise self._error(node, "expected true or false")
        if isinstance(node, yaml.SequenceNode) and parameter.multiple:
            return tuple(self._word(item) for item in node.value)
        word = self._word(node)
        return (word,) if parameter.multiple else word

    def _word(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode) or node.tag.endswith(":null"):
            raise self._error(node, "expected one value")
        return str(node.value)

    def _pairs(self, node: yaml.Node, expected: str) -> list[tuple[yaml.ScalarNode, yaml.Node]]:
        if not isinstance(node, yaml.MappingNode):
            raise self._error(node, f"expected {expected}")
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.value in seen:
                raise self._error(key, "expected each name once")
            seen.add(key.value)
        return list(node.value)

    def _error(self, node: yaml.Node, message: str, word: str = "", known: list[str] | None = None) -> ConfigError:
        mark = node.start_mark
        line = self._lines[mark.line] if mark.line < len(self._lines) else ""
        near = closest(word, known) if known else None
        hint = None if known is None else f"did you mean {near!r}?" if near else f"known: {', '.join(sorted(known))}"
        return ConfigError(message, place=Place(str(self._file), mark.line + 1, mark.column + 1, line), hint=hint)
