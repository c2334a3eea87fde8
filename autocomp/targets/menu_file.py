"""Menus read from `menus/*.yaml`.

A later menu's option replaces an earlier one of the same id; other options are added; `extends` names menus to start
from and `remove` takes ids away. `transformations` adds the options that the target's transformations state
themselves. So a user's own menu extends or replaces a shipped one without touching it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from autocomp.data import closest, find, search_path
from autocomp.documents import problems, read_mapping
from autocomp.errors import ConfigError
from autocomp.targets.menu import USUAL, Applies, Menu, MenuOption
from autocomp.targets.protocol import Target
from autocomp.targets.registry import kind_of
from autocomp.workload.model import Workload


def load(names: Sequence[str], extra_paths: Sequence[Path] = ()) -> Menu:
    """The menus of these names or paths, merged in order. Raises ConfigError naming the file and the key at fault."""
    merged: dict[str, MenuOption] = {}
    kinds = {kind: path for name in names for kind, path in _merge(name, extra_paths, merged, ()).items()}
    if not merged:
        raise ConfigError(f"the menu {'+'.join(names)!r} has no options", hint="name at least one menu, e.g. 'general'")
    if len(kinds) > 1:
        told = "; ".join(f"{path} is for {kind!r}" for kind, path in kinds.items())
        raise ConfigError(f"these menus are for different kinds of targets: {told}", hint="name menus of one kind")
    return Menu(tuple(merged.values()), "+".join(Path(name).stem for name in names), next(iter(kinds)))


def for_target(names: Sequence[str], workload: Workload, target: Target, paths: Sequence[Path] = ()) -> Menu:
    """The options for a workload on a target, from the menus of these names, or from the first that there is of those
    that the target names. Raises ConfigError for menus of another kind of target."""
    chosen = tuple(names) or _usual(workload, target, paths)
    loaded = load(chosen, paths) if chosen else Menu((), kind=target.kind)
    if loaded.kind != target.kind:
        raise ConfigError(
            f"the menu {loaded.name!r} is for targets of the kind {loaded.kind!r}, and {target.name!r} is one of "
            f"{target.kind!r}",
            hint="name a menu that says `target: " + target.kind + "`",
        )
    return loaded.for_operation(workload.operation)


def _usual(workload: Workload, target: Target, paths: Sequence[Path]) -> tuple[str, ...]:
    for name in target.menus(workload.operation):
        folders = [folder for folder in search_path("menus", paths) if folder.name == "menus"]  # others hold anything
        places = [Path(name)] if Path(name).is_absolute() else [folder / f"{name}.yaml" for folder in folders]
        for file in places:
            if file.is_file():
                return (str(file),)
    return ()


def _merge(
    name: str, extra_paths: Sequence[Path], merged: dict[str, MenuOption], opened: tuple[Path, ...]
) -> dict[str, Path]:
    """Add the menu called `name` to `merged`; `opened` are the files that are being extended, outermost first. The
    result says for which kinds of targets it and what it extends are, with a file for each."""
    path = find("menus", name, ".yaml", extra_paths).resolve()
    if path in opened:
        chain = " -> ".join(p.name for p in (*opened[opened.index(path) :], path))
        raise ConfigError(f"{path}: menus extend each other in a circle: {chain}")
    document = _read(path)
    kinds = {document.target: path}
    for base in document.extends:
        kinds |= _merge(base, extra_paths, merged, (*opened, path))
    for unwanted in document.remove:
        if unwanted not in merged:
            near = closest(unwanted, list(merged))
            raise ConfigError(
                f"{path}: 'remove' names {unwanted!r}, which no earlier menu has",
                hint=f"did you mean {near!r}?" if near else "name the menu that has it in 'extends'",
            )
        del merged[unwanted]
    if document.transformations:
        merged.update({option.id: option for option in kind_of(document.target).options()})
    merged.update({option.id: option.frozen() for option in document.options})
    return kinds


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)


def _known_cause(word: str, info: ValidationInfo) -> str:
    return _one_of(word, _context(info).causes)


def _known_use(word: str, info: ValidationInfo) -> str:
    return _one_of(word, _context(info).uses)


def _context(info: ValidationInfo) -> type[Target]:
    """The kind of target that a menu is checked for."""
    kind: type[Target] = info.context  # type: ignore[assignment]
    return kind


def _one_of(word: str, known: Sequence[str]) -> str:
    """The word. Raises ValueError where it is not one of those known."""
    if word not in known:
        raise ValueError(f"expected one of {', '.join(known) or 'none: this kind of target has no such words'}")
    return word


class _Applies(_Strict):
    causes: tuple[Annotated[str, AfterValidator(_known_cause)], ...] = ()
    operations: tuple[str, ...] = ()
    unless: dict[str, Any] = {}


class _Option(_Strict):
    id: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    title: str = Field(min_length=1)
    guidance: str = Field(min_length=1)
    transformation: str | None = None
    applies: _Applies = _Applies()
    example: str | None = None
    uses: tuple[Annotated[str, AfterValidator(_known_use)], ...] = ()

    def frozen(self) -> MenuOption:
        applies = Applies(self.applies.causes, self.applies.operations, tuple(self.applies.unless.items()))
        return MenuOption(self.id, self.title, self.guidance, self.transformation, applies, self.example, self.uses)


class _Document(_Strict):
    target: str = USUAL
    extends: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    transformations: bool = False
    options: tuple[_Option, ...] = ()

    @field_validator("options")
    @classmethod
    def _unique(cls, options: tuple[_Option, ...]) -> tuple[_Option, ...]:
        seen: set[str] = set()
        for option in options:
            if option.id in seen:
                raise ValueError(f"option {option.id!r} is defined twice")
            seen.add(option.id)
        return options

    @model_validator(mode="after")
    def _says_something(self) -> _Document:
        if not (self.options or self.remove or self.extends or self.transformations):
            raise ValueError("a menu needs 'options' (or 'extends', 'remove' or 'transformations')")
        return self


def _read(path: Path) -> _Document:
    content = read_mapping(path, "a menu")
    stated = content.get("target", USUAL)
    try:
        return _Document.model_validate(content, context=kind_of(stated if isinstance(stated, str) else USUAL))
    except ValidationError as error:
        raise ConfigError(f"{path}: " + "; ".join(problems(error, content, _known_keys))) from error


def parse_option(entry: Mapping[str, object], kind: str) -> MenuOption:
    """One option from a document, as a menu file for a kind of target holds it. Raises ConfigError naming what is
    wrong."""
    try:
        return _Option.model_validate(entry, context=kind_of(kind)).frozen()
    except ValidationError as error:
        faults = problems(error, dict(entry), lambda parents: list(_Option.model_fields))
        raise ConfigError(f"option {entry.get('id')!r}: " + "; ".join(faults)) from error


def _known_keys(parents: Sequence[int | str]) -> list[str]:
    if "applies" in parents:
        return list(_Applies.model_fields)
    return list((_Option if parents else _Document).model_fields)
