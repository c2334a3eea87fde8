"""The Verilog of a design: of all the files in a folder, those that its top module needs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from autocomp.data import closest, decode
from autocomp.errors import ConfigError
from autocomp.targets.simulator.rtl.model.macros import macro_module, read_macros

SUFFIXES = (".v", ".sv")
HEADERS = (".vh", ".svh")
MACROS = ".mems.conf"

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
_MODULE = re.compile(r"\b(?:module|package|interface)\s+(?:automatic\s+|static\s+)?([A-Za-z_]\w*)")
_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Sources:
    """`files` in the order for a compiler: packages first. `generated` is the text of the memory macros that no file
    defines, `macros` their names. `headers` may be included by any file."""

    folder: Path
    top: str
    files: tuple[Path, ...]
    headers: tuple[Path, ...]
    generated: str
    macros: tuple[str, ...]


@dataclass(frozen=True)
class _File:
    path: Path
    defines: frozenset[str]
    names: frozenset[str]  # every identifier in it
    is_package: bool


def find_sources(folder: Path, top: str) -> Sources:
    """The files that define `top` and, transitively, whatever they mention.

    Raises ConfigError when the folder has no Verilog, no such module, or two files that define one that is needed.
    """
    if not folder.is_dir():
        raise ConfigError(f"{folder} is not a folder", hint="give the folder of the generated Verilog with --verilog")
    files = [_read(path) for path in sorted(folder.rglob("*")) if path.suffix in SUFFIXES and path.is_file()]
    if not files:
        raise ConfigError(f"{folder} has no Verilog", hint=f"files whose names end in {' or '.join(SUFFIXES)}")
    defined: dict[str, list[_File]] = {}
    for file in files:
        for name in file.defines:
            defined.setdefault(name, []).append(file)
    if top not in defined:
        hint = closest(top, list(defined))
        raise ConfigError(f"{folder} has no module {top}", hint=f"did you mean {hint!r}?" if hint else None)
    listed = {}
    for path in sorted(folder.rglob(f"*{MACROS}")):
        for macro in read_macros(decode(path.read_bytes(), str(path), ConfigError), str(path)):
            listed[macro.name] = macro
    needed, macros = _closure(top, defined, frozenset(listed) - frozenset(defined))
    return Sources(
        folder=folder.resolve(),
        top=top,
        files=tuple(f.path.resolve() for f in sorted(needed, key=lambda f: (not f.is_package, f.path))),
        headers=tuple(path for path in sorted(folder.resolve().rglob("*")) if path.suffix in HEADERS),
        generated="\n".join(macro_module(listed[name]) for name in macros),
        macros=macros,
    )


def _read(path: Path) -> _File:
    text = _COMMENT.sub(" ", decode(path.read_bytes(), str(path), ConfigError))
    return _File(
        path,
        frozenset(_MODULE.findall(text)),
        frozenset(_NAME.findall(text)),
        re.search(r"\bpackage\s+\w+", text) is not None,
    )


def _closure(top: str, defined: dict[str, list[_File]], macros: frozenset[str]) -> tuple[list[_File], tuple[str, ...]]:
    needed: dict[Path, _File] = {}
    wanted, seen, missing = [top], {top}, set()
    while wanted:
        name = wanted.pop()
        if name in macros:
            missing.add(name)
            continue
        if len(defined[name]) > 1:
            several = ", ".join(str(file.path) for file in defined[name])
            raise ConfigError(f"the module {name} is defined in {several}", hint="leave one of them in the folder")
        file = defined[name][0]
        if file.path in needed:
            continue
        needed[file.path] = file
        for mentioned in file.names:
            if mentioned not in seen and (mentioned in defined or mentioned in macros):
                seen.add(mentioned)
                wanted.append(mentioned)
    return list(needed.values()), tuple(sorted(missing))
