"""The requests to models in a run and their answers, word for word: a compressed file each in its folder.

Requests hold no key: that is sent in a header.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from autocomp.data import read_regular, write_atomically
from autocomp.errors import RunFolderError
from autocomp.targets.planning import Usage

MOST_BYTES = 1 << 24  # of one file, unpacked
_NAME = re.compile(r"[a-z]+(-\d+)*(-again)?-[0-9a-f]{12}\.json\.gz")


class Exchange(TypedDict):
    """One request to a model and its answer. `call` is the key of the event that it was made for; `outcome` says
    whether the answer is whole; `kept` that it came from the cache, for nothing."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)  # type: ignore[misc]
    call: str
    model: str
    request: dict[str, Any]
    outcome: str
    text: str
    usage: dict[str, float]


_EXCHANGE: TypeAdapter[Exchange] = TypeAdapter(Exchange)


class Exchanges:
    """The exchanges of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def keep(
        self, call: str, model: str, key: str, request: Mapping[str, Any], outcome: str, text: str, usage: Usage
    ) -> None:
        """Write one, if it is not there yet; `key` is the digest of the whole request. Raises RunFolderError."""
        file = self.folder / f"{re.sub(r'[^a-z0-9]', '-', call or 'other')}-{key[:12]}.json.gz"
        if file.exists():
            return
        document = {"call": call, "model": model, "request": request, "outcome": outcome, "text": text}
        stated = json.dumps({**document, "usage": asdict(usage)}, ensure_ascii=False).encode("utf-8", "replace")
        try:
            write_atomically(file, gzip.compress(stated, mtime=0))
        except OSError as error:
            raise RunFolderError(f"cannot write {file}: {error.strerror}") from error

    def __iter__(self) -> Iterator[Exchange]:
        """All of them, by call. Raises RunFolderError for a file that is not as `keep` writes it."""
        if not self.folder.is_dir():
            return
        for file in sorted(self.folder.iterdir(), key=lambda file: _order(file.name)):
            if _NAME.fullmatch(file.name):
                yield _read(file)


def _order(name: str) -> list[tuple[int, str]]:
    """Numbers by value."""
    return [(int(part), "") if part.isdigit() and len(part) < 12 else (0, part) for part in name.split("-")]


def _read(file: Path) -> Exchange:
    try:
        unpacked = zlib.decompressobj(wbits=31).decompress(read_regular(file, MOST_BYTES), MOST_BYTES)
        return _EXCHANGE.validate_json(unpacked)
    except (OSError, zlib.error, ValidationError) as error:
        raise RunFolderError(f"{file} is not an exchange with a model: {str(error).splitlines()[0]}") from None
