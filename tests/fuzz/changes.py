"""Random changes of honest files: of values in JSON and YAML, of lines in logs, of bytes."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import yaml

from .texts import changed

VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 2**31, 2**63, 10**30, -(10**30), 0.5, 1e308, float("nan"), float("inf")),
    *("", "x", "../../x", "a\nb", "\x00", "\x1b[2J", "\ud800", "openai:m@http://h/v1", "gemmini", "0" * 64),
    *([], [[]], {}, {"a": 1}, [1] * 50, {"kind": "stop"}),
)


def value(chance: random.Random) -> Any:
    return copy.deepcopy(chance.choice(VALUES))


def changed_value(document: Any, chance: random.Random) -> Any:
    """The document with another value, or none, at a place drawn at random."""
    places: list[tuple[Any, Any]] = []
    open_nodes = [document]
    while open_nodes:
        node = open_nodes.pop()
        if isinstance(node, dict | list):
            keys = list(node) if isinstance(node, dict) else range(len(node))
            places += [(node, key) for key in keys]
            open_nodes += [node[key] for key in keys]
    if not places:
        return value(chance)
    node, key = chance.choice(places)
    action = chance.randrange(6)
    if action == 0:
        del node[key]
    elif action == 1 and isinstance(node, dict):
        node[chance.choice(["x", "kind", "key", str(key) + "s"])] = value(chance)
    elif action == 2:
        other, place = chance.choice(places)
        node[key] = copy.deepcopy(other[place])
    else:
        node[key] = value(chance)
    return document


def changed_json(honest: list[bytes], chance: random.Random) -> bytes:
    document = json.loads(chance.choice(honest))
    for _ in range(chance.randint(1, 3)):
        document = changed_value(document, chance)
    return json.dumps(document).encode()


def changed_lines(honest: list[bytes], chance: random.Random) -> bytes:
    """Another value in some lines of a log, or lines that are lost, doubled, moved or cut."""
    lines = chance.choice(honest).splitlines()
    for _ in range(chance.randint(1, 3)):
        place = chance.randrange(len(lines))
        action = chance.randrange(8)
        if action == 0:
            del lines[place]
        elif action == 1:
            lines.insert(chance.randrange(len(lines)), lines[place])
        elif action == 2:
            lines[place] = changed_bytes([lines[place]], chance)
        else:
            try:
                lines[place] = json.dumps(changed_value(json.loads(lines[place]), chance)).encode()
            except ValueError:
                continue
        if not lines:
            break
    return b"\n".join(lines) + chance.choice([b"\n", b"", b"\n\0\0"])


def changed_yaml(honest: list[bytes], chance: random.Random) -> bytes:
    if chance.randrange(3) == 0:
        return changed([text.decode() for text in honest], chance).encode("utf-8", "surrogatepass")
    document = changed_value(yaml.safe_load(chance.choice(honest)), chance)
    return yaml.safe_dump(document, allow_unicode=False).encode("utf-8", "replace")


def changed_bytes(honest: list[bytes], chance: random.Random) -> bytes:
    data = bytearray(chance.choice(honest))
    for _ in range(chance.randint(1, 8)):
        place = chance.randrange(len(data) + 1)
        action = chance.randrange(5)
        if action == 0:
            del data[place : place + chance.randint(1, 64)]
        elif action == 1:
            data[place:place] = chance.randbytes(chance.randint(1, 16))
        elif action == 2:
            other = chance.choice(honest)
            start = chance.randrange(max(1, len(other)))
            data[place : place + chance.randint(0, 32)] = other[start : start + chance.randint(1, 64)]
        elif place < len(data):
            data[place] = chance.choice([0, 0xFF, 0x7F, 0x80, data[place] ^ (1 << chance.randrange(8))])
    return bytes(data)


def changed_text(honest: list[bytes], chance: random.Random) -> bytes:
    return changed([text.decode() for text in honest], chance).encode("utf-8", "surrogatepass")
