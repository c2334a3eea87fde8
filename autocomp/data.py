"""Where the data that ships with the package lies (accelerators, menus, workloads, schedules), where caches do, and how
files are read and written.

Search order for a name: the path as given, the folders of `--path` and `AUTOCOMP_PATH`, the working directory,
then the package's own data.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from autocomp.errors import AutocompError, ConfigError, Place

MAX_TEXT = 1 << 22  # bytes of any text; what reads them has bounds of its own, below
KINDS = ("isa", "menus", "workloads", "schedules")
NOUNS = {"isa": "accelerator", "menus": "menu", "workloads": "workload", "schedules": "schedule"}
MOST_LISTED = 12  # names in a message


def read_bytes(path: Path, limit: int = MAX_TEXT) -> bytes:
    """The content of a file, of at most `limit` bytes, be it a pipe or a device. Raises OSError."""
    check_name(path)
    with path.open("rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"it is larger than {limit:,} bytes")
    return data


def reason(error: OSError) -> str:
    """The cause of a failed read or write, without the system's number and the path, which messages name anyway."""
    text = error.strerror or str(error)
    return text[:1].lower() + text[1:]


def check_name(path: Path) -> None:
    """Raises OSError for a name that no file can have, which Python does not report as one."""
    if "\0" in str(path):
        raise OSError(errno.EINVAL, "a file name cannot contain a zero byte")


def read_regular(path: Path, limit: int = MAX_TEXT) -> bytes:
    """The content of a file that came in somebody else's folder: at most `limit` bytes, and neither a link out of the
    folder nor a pipe or device, which never end. Raises OSError."""
    check_regular(path)
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"it is larger than {limit:,} bytes")
    return data


def check_regular(path: Path, *, writes: bool = False) -> None:
    """Raises OSError unless `path` is a regular file. One to be written may be missing, and has no second name, under
    which it could lie outside of its folder."""
    check_name(path)
    try:
        status = path.lstat()
    except FileNotFoundError:
        if writes:
            return
        raise
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is a link, a folder, a pipe or a device, not a regular file", str(path))
    if writes and status.st_nlink > 1:
        raise OSError(errno.EINVAL, "it has several hard links, so another name may change it too", str(path))


def decode(data: bytes, name: str, error: type[AutocompError]) -> str:
    """The text of a file: UTF-8, with or without a byte order mark, with any line ends.

    Raises `error` with the place of the first byte that is not UTF-8.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        before = data[: problem.start].decode("utf-8", "replace")
        place = Place(name, before.count("\n") + 1, len(before) - before.rfind("\n"))
        message = f"byte 0x{data[problem.start]:02x} is not UTF-8 ({problem.reason})"
        raise error(message, place=place, hint="save the file as UTF-8 text") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def write_atomically(path: Path, content: str | bytes, *, durable: bool = True) -> None:
    """Replace a file's content, so that a reader sees either the old or the new, whoever else writes at the same time;
    if `durable`, after a power cut too."""
    import tempfile

    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_output(path: Path, content: str) -> None:
    """Write a file that the user named. Raises ConfigError where that cannot be."""
    try:
        write_atomically(path, content)
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}") from error


def cache_folder(kind: str) -> Path:
    """Where what can be made again is kept: below the folder AUTOCOMP_CACHE, else the user's cache folder."""
    from platformdirs import user_cache_path

    chosen = os.environ.get("AUTOCOMP_CACHE")
    return (Path(chosen) if chosen else user_cache_path("autocomp")) / kind


def config_folder() -> Path:
    """Where what the user decided is kept: the folder AUTOCOMP_CONFIG, else the user's configuration folder."""
    from platformdirs import user_config_path

    chosen = os.environ.get("AUTOCOMP_CONFIG")
    return Path(chosen) if chosen else user_config_path("autocomp")


def defaults_file() -> Path:
    """The user's own defaults of options."""
    return config_folder() / "defaults.yaml"


def data_dir(kind: str) -> Path:
    """Folder of the shipped data of one kind; works in a wheel, an editable install and a plain checkout."""
    here = Path(__file__).resolve().parent
    installed = here / "data" / kind
    return installed if installed.is_dir() else here.parent / kind


def search_path(kind: str, extra: Sequence[Path] = ()) -> list[Path]:
    """Folders looked through for one kind of data, first one first."""
    listed = [Path(p) for p in os.environ.get("AUTOCOMP_PATH", "").split(os.pathsep) if p]
    roots = [*extra, *listed, Path.cwd()]
    return [folder for root in roots for folder in (root, root / kind)] + [data_dir(kind)]


def find(kind: str, name: str, suffix: str, extra: Sequence[Path] = ()) -> Path:
    """The file a user means by `name`: a path, or a bare name with or without the suffix.

    Raises ConfigError naming the closest shipped names.
    """
    given = Path(os.path.expanduser(name))  # an unknown user's home stays as it is written
    if os.path.isfile(given):  # False for names that the system cannot have, too
        return given
    file_names = [name] if name.endswith(suffix) else [name + suffix]
    if os.sep in name or given.is_absolute():
        tail = Path(file_names[0]).name if given.parts[:1] == (kind,) else None
        file_names = [tail] if tail else []
    for folder in search_path(kind, extra):
        for file_name in file_names:
            candidate = folder / file_name
            if os.path.isfile(candidate):
                return candidate
    known = sorted({p.stem for folder in search_path(kind, extra)[-1:] for p in folder.glob(f"*{suffix}")})
    hint = closest(Path(name).stem, known)
    raise ConfigError(
        f"no {NOUNS[kind]} named {name!r}{_no_file(given)}",
        hint=(f"did you mean {hint!r}? " if hint else "") + f"known: {listing(known)}",
    )


def _no_file(given: Path) -> str:
    """The reason why what lies at a path is not a file to read; "" if nothing lies there."""
    if not os.path.lexists(given):
        return ""
    if os.path.isdir(given):
        return ": that is a folder"
    return ": that is not a regular file" if os.path.exists(given) else ": that is a link to a file that does not exist"


def listing(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = len(names) - MOST_LISTED
    return ", ".join(names[:MOST_LISTED] or ("none",)) + (f" and {more} more" if more > 0 else "")


def closest(word: str, known: Sequence[str]) -> str | None:
    """The known word most like `word`, in whatever case, or None when none is near."""
    import difflib

    folded = {name.casefold(): name for name in reversed(known)}
    matches = difflib.get_close_matches(word.casefold(), folded, n=1, cutoff=0.6)
    return folded[matches[0]] if matches else None
