"""The page of a run as a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from autocomp.data import write_output
from autocomp.report.page.document import Profiles, profiles_of, run_document, worth_a_profile
from autocomp.report.page.html import render
from autocomp.report.runs.run import RunView
from autocomp.search.log.folder import RunFolder
from autocomp.search.log.snapshot import restore


def write_page(folder: RunFolder, output: Path, profiles: int = 4, wanted: Sequence[int] = ()) -> None:
    """Write the page, with profiles of the best and the starting kernel, the `profiles` fastest, and those wanted.

    Raises RunFolderError for a damaged run or an id that it does not have, ConfigError if the file cannot be written.
    """
    request = restore(folder)
    document = run_document(folder, request)
    view = RunView.of(folder.events) if folder.events.exists() else RunView()
    worth = worth_a_profile(view, profiles) if profiles and request.target.records else ()
    ids = dict.fromkeys([*worth, *wanted])
    document["profiles"] = profiles_of(Profiles(folder, request), view, ids)
    write_output(output, render(document))
