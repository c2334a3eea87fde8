"""A log may come from anyone: an event that is not as a search writes it is one error with its line and field."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_search import WORDS, Toy

from autocomp.errors import RunFolderError
from autocomp.report import RunView
from autocomp.search import Options, RunFolder
from autocomp.search.log.journal import Journal, read_events

Events = list[dict[str, Any]]
Edit = Callable[[Events], object]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    small = Options(seed=3, beam=2, plans_per_parent=3, patience=3, max_steps=2)
    toy = Toy(tmp_path_factory.mktemp("honest") / "run", small, words=("lucky", *WORDS), mends=True)
    toy.run()
    return toy


@pytest.fixture(scope="module")
def events(run: Toy) -> Events:
    return read_events(run.folder / "events.jsonl")[0]


def written(folder: Path, events: Events) -> Path:
    folder.mkdir(exist_ok=True)
    log = folder / "events.jsonl"
    log.write_text("".join(json.dumps(event) + "\n" for event in events))
    return log


def of_kind(events: Events, kind: str, number: int = 0) -> dict[str, Any]:
    return [event for event in events if event["kind"] == kind][number]


def its_own_parent(events: Events) -> None:
    of_kind(events, "candidate", 1)["parent"] = 1


def each_others_parents(events: Events) -> None:
    of_kind(events, "candidate", 1)["parent"] = 2
    of_kind(events, "candidate", 2)["parent"] = 1


EDITS: dict[str, tuple[Edit, str]] = {
    "a candidate is its own parent": (its_own_parent, "'parent': no candidate 1 came before"),
    "two candidates are each other's": (each_others_parents, "'parent': no candidate 2 came before"),
    "an unknown parent": (lambda e: of_kind(e, "candidate", 1).update(parent=77), "no candidate 77 came before"),
    "a second starting kernel": (lambda e: of_kind(e, "candidate", 1).update(parent=None), "only candidate 0"),
    "an unknown best": (lambda e: of_kind(e, "stop").update(best=99), "'best': no candidate 99"),
    "a key twice": (lambda e: e.append(copy.deepcopy(of_kind(e, "stop"))), "occurs twice"),
    "a key of another kind": (lambda e: of_kind(e, "step").update(key="evaluate/0"), "field 'key'"),
    "a value as text": (lambda e: of_kind(e, "candidate").update(value="many"), "field 'value'"),
    "no value": (lambda e: of_kind(e, "candidate").update(value=None), "missing, although the kernel ran"),
    "a negative value": (lambda e: of_kind(e, "candidate").update(value=-5), "field 'value'"),
    "a kernel in another folder": (lambda e: of_kind(e, "evaluate").update(kernel="../../secret"), "field 'kernel'"),
    "stages that are no list": (lambda e: of_kind(e, "evaluate")["evaluation"].update(stages=7), "evaluation.stages"),
    "a plan that is a number": (lambda e: of_kind(e, "plan").update(plans=[1]), "field 'plans.0'"),
    "an unknown field": (lambda e: of_kind(e, "candidate").update(kernl="0"), "field 'kernl' is unknown"),
    "a field that is missing": (lambda e: of_kind(e, "candidate").pop("outcome"), "field 'outcome' is missing"),
    "an outcome of another world": (lambda e: of_kind(e, "candidate").update(outcome="superb"), "field 'outcome'"),
    "a time in words": (lambda e: e[2].update(t="noon"), "field 't'"),
    "money without end": (lambda e: of_kind(e, "plan")["usage"].update(money=float("inf")), "not an event"),
    "negative tokens": (lambda e: of_kind(e, "plan")["usage"].update(prompt_tokens=-1), "usage.prompt_tokens"),
}


@pytest.mark.parametrize("name", EDITS)
def test_a_wrong_event_is_named_with_its_line_and_field(name: str, events: Events, tmp_path: Path) -> None:
    edit, message = EDITS[name]
    edited = copy.deepcopy(events)
    edit(edited)
    changed = next(
        (n for n, pair in enumerate(zip(edited, events, strict=False)) if pair[0] != pair[1]), len(edited) - 1
    )
    with pytest.raises(RunFolderError) as error:
        RunView.of(written(tmp_path, edited))
    assert f"events.jsonl:{changed + 1}: " in error.value.message
    assert message in error.value.message


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_change_of_one_value_is_read_or_refused(events: Events, tmp_path_factory: Any, data: st.DataObject) -> None:
    edited = copy.deepcopy(events)
    spot: Any = data.draw(st.sampled_from(edited))
    while True:
        key = data.draw(st.sampled_from(sorted(spot) if isinstance(spot, dict) else range(len(spot))))
        if not isinstance(spot[key], dict | list) or not spot[key] or data.draw(st.booleans()):
            break
        spot = spot[key]
    spot[key] = data.draw(st.sampled_from([None, -1, 0, 1, 2**70, 1.5, "", "x", [], {}, [1], {"a": 1}, True]))
    try:
        view = RunView.of(written(tmp_path_factory.mktemp("edited"), edited))
    except RunFolderError:
        return
    view.lineage(), view.outcomes, view.causes(), view.reuse()


def test_events_of_kinds_unknown_here_are_passed_over(events: Events, tmp_path: Path) -> None:
    extended = [*events, {"kind": "weather", "t": 0.0, "sky": "blue"}]
    assert read_events(written(tmp_path, extended))[0] == extended


def test_what_cannot_be_read_again_is_not_written(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "events.jsonl")
    journal.note("note", {"text": "half \ud800 a pair"})
    journal.close()
    assert read_events(tmp_path / "events.jsonl")[0][0]["text"] == "half ? a pair"


def link(path: Path, target: Path) -> None:
    path.symlink_to(target)


def pipe(path: Path, _: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize("make", [link, pipe, os.link])
@pytest.mark.parametrize("name", ["lock", "events.jsonl"])
def test_a_run_writes_to_no_file_outside_of_its_folder(name: str, make: Callable[..., None], tmp_path: Path) -> None:
    """A folder from somebody else may hold links to files of the user's."""
    victim = tmp_path / "victim"
    victim.write_text("precious\n")
    folder = RunFolder.create(tmp_path / "run", {})
    if make is os.link:
        os.link(victim, folder.path / name)
    else:
        make(folder.path / name, victim)
    with pytest.raises(RunFolderError, match=r"link|pipe"), folder.locked():
        Journal(folder.events)
    assert victim.read_text() == "precious\n"


@pytest.mark.parametrize("make", [link, pipe])
@pytest.mark.parametrize("name", ["config.json", "events.jsonl"])
def test_a_run_reads_no_link_and_no_pipe(name: str, make: Callable[..., None], tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    make(folder / name, Path("/dev/zero"))
    with pytest.raises(RunFolderError, match=r"link"):
        RunFolder.open(folder) if name == "config.json" else read_events(folder / name)


def test_kernels_of_a_run_lie_in_its_folder(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", {})
    (tmp_path / "elsewhere").mkdir()
    (folder.path / "kernels").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RunFolderError, match="is a link"):
        folder.store_kernel("text")
