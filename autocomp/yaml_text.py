"""YAML documents from users, read within bounds: a small file cannot expand to a huge or endlessly nested document."""

from __future__ import annotations

import re
from typing import Any

import yaml

from autocomp.errors import ConfigError, Place

MAX_CHARACTERS = 1 << 20
MAX_DEPTH = 50
MAX_NODES = 100_000  # with the node behind an alias counted as often as it is named
_HALVES = re.compile("[\ud800-\udfff]")


def read_yaml(text: str, source: str) -> tuple[object, yaml.Node | None]:
    """The value of a YAML document and its tree of nodes, which has their places; (None, None) for an empty one.

    `source` is its name in messages. Raises ConfigError with the place of what is not YAML or exceeds the bounds.
    """
    if len(text) > MAX_CHARACTERS:
        raise ConfigError(f"{source}: a file may have at most {MAX_CHARACTERS:,} characters; this has {len(text):,}")
    try:
        loader = _Loader(text)
        tree = loader.get_single_node()
        return (None if tree is None else loader.construct_document(tree)), tree
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = _place(text, source, mark.line, mark.column) if mark else Place(source, 1, 1)
        hint = "indent with spaces: YAML has no tabs there" if "'\\t'" in str(error.problem) else None
        raise ConfigError(f"not valid YAML: {error.problem or error.context}", place=place, hint=hint) from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{source}: not valid YAML: {' '.join(str(error).split())}") from None
    except (ValueError, OverflowError) as error:  # of a number or a date
        raise ConfigError(f"{source}: a value cannot be read: {str(error)[:200]}") from None


def _place(text: str, source: str, line: int, column: int) -> Place:
    lines = text.splitlines()
    return Place(source, line + 1, column + 1, lines[line] if line < len(lines) else "")


class _Loader(yaml.SafeLoader):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.depth = 0
        self.nodes = 0
        self.sizes: dict[int, int] = {}  # by identity of the nodes read in full

    def compose_node(self, parent: Any, index: Any) -> Any:
        before, mark = self.nodes, self.peek_event().start_mark  # type: ignore[no-untyped-call]
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise yaml.MarkedYAMLError(problem=f"nested more than {MAX_DEPTH} deep", problem_mark=mark)
        named = self.check_event(yaml.AliasEvent)
        node = super().compose_node(parent, index)
        self.depth -= 1
        if isinstance(node, yaml.ScalarNode) and _HALVES.search(node.value):
            raise yaml.MarkedYAMLError(problem="half of a surrogate pair, which no file can hold", problem_mark=mark)
        if named and id(node) not in self.sizes:
            raise yaml.MarkedYAMLError(problem="an alias is inside of what it names", problem_mark=mark)
        self.nodes += self.sizes[id(node)] if named else 1
        self.sizes[id(node)] = self.nodes - before
        if self.nodes > MAX_NODES:
            raise yaml.MarkedYAMLError(
                problem=f"more than {MAX_NODES:,} values, aliases written out", problem_mark=mark
            )
        return node
