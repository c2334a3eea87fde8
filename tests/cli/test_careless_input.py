"""Files that are not what a command expects: each is named, with its exit code, and no file remains."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from autocomp.cli import accept_all_text

Command = Callable[..., Result]
LONG = "x" * 5000  # longer than any system's names
GEMM = "operation: gemm\naccelerator: {}\ndims: {{I: {}, J: 4, K: 4}}\n"
FILES = {
    "empty.yaml": b"",
    "picture.yaml": b"\x89PNG\r\n\x1a\n",
    "list.yaml": b"- gemm\n",
    "nothing.yaml": GEMM.format("gemmini", 0).encode(),
    "unknown.yaml": GEMM.format("gemini", 4).encode(),
    "right.yaml": GEMM.format("gemmini", 4).encode(),
    "endless.yaml": GEMM.format("gemmini", 4).encode() + b"kernel: /dev/zero\n",
    "lost.yaml": GEMM.format("gemmini", 4).encode() + b"kernel: lost.c\n",
    "words.txt": "".join(f"a{n}\n" for n in range(2000)).encode(),
    "deep.isa": b"accelerator m { " + b"when 1 { " * 9000,
    "cut.onnx": b"\x08\x07\x12\x04torc\x3a\xff\xff\xff",
}


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ("search empty.yaml", 3, "expected keys and values, found an empty file"),
        ("search picture.yaml", 3, "byte 0x89 is not UTF-8"),
        ("search list.yaml", 3, "expected keys and values"),
        ("search nothing.yaml", 3, "key 'dims.I': found 0"),
        ("search unknown.yaml", 3, "did you mean 'gemmini'?"),
        ("search folder", 3, "no workload named 'folder': that is a folder"),
        ("search right.yaml --menu folder", 3, "no menu named 'folder': that is a folder"),
        ("search right.yaml --agents empty.yaml", 3, "found an empty file"),
        ("search right.yaml --executor fleet", 3, "unknown executor 'fleet'"),
        ("search right.yaml --run-dir empty.yaml", 7, "empty.yaml is a file, and a run needs a folder"),
        ("search right.yaml --run-dir empty.yaml/run", 7, "cannot write to empty.yaml/run"),
        ("search right.yaml right.yaml --run-dir both", 3, "workload right is given twice"),
        ("search right.yaml --path nowhere", 2, "Directory 'nowhere' does not exist"),
        ("resume folder", 7, "folder is not a run folder: cannot read config.json"),
        ("resume nowhere", 7, "nowhere is not a run folder: there is no such folder"),
        ("fidelity nowhere", 3, "nowhere is not a folder"),
        ("report empty.yaml", 7, "empty.yaml is not a run folder: that is a file"),
        ("prompt nowhere.c --workload right.yaml", 5, "cannot read the kernel nowhere.c"),
        ("run folder --workload right.yaml", 5, "cannot read the kernel folder"),
        ("export folder --workload right.yaml --output made", 5, "cannot read the kernel folder"),
        ("simulate folder", 3, "cannot read the trace folder: that is a folder"),
        ("run right.yaml --workload ~nobody/here", 3, "no workload named '~nobody/here'"),
        ("isa check deep.isa", 4, "the file ends too early"),
        ("run /dev/zero --workload right.yaml", 5, "it is larger than 4,194,304 bytes"),
        ("search endless.yaml", 3, "cannot read /dev/zero"),
        ("search lost.yaml", 3, "lost.yaml: key 'kernel': cannot read "),
        ("simulate words.txt --accelerator gemmini", 3, "a1002, a1003 and 1,992 more"),
        (f"isa show {LONG}", 3, "no accelerator named"),
        (f"search {LONG}", 3, "no workload named"),
        (f"search right.yaml --run-dir {LONG}", 7, "File name too long"),
        (f"simulate {LONG}", 3, "there is no such file"),
        (f"fidelity {LONG}", 1, "File name too long"),
        ("isa check gemmini --set GENERATION=7", 4, "GENERATION is 0, 1 or 2"),
        ("model cut.onnx --accelerator gemmini", 3, "cannot read the model cut.onnx: it is not an ONNX model"),
        ("model empty.yaml --accelerator gemmini", 3, "empty.yaml holds no model"),
    ],
)
def test_a_file_of_the_wrong_kind_is_named(autocomp: Command, command: str, code: int, message: str) -> None:
    Path("folder").mkdir()
    for name, content in FILES.items():
        Path(name).write_bytes(content)
    result = autocomp(*command.split())
    assert (result.exit_code, message in result.stderr) == (code, True), result.output
    assert not Path("runs").exists()


@pytest.mark.parametrize("command", ["search gemm", "model cut.onnx --accelerator gemmini --search 9"])
def test_a_store_that_cannot_be_written_is_named_before_a_search(autocomp: Command, command: str) -> None:
    Path("store").write_bytes(b"")
    Path("cut.onnx").write_bytes(FILES["cut.onnx"])
    result = autocomp(*command.split())
    assert (result.exit_code, "begin AUTOCOMP_SCHEDULES with a writable folder" in result.stderr) == (7, True)
    assert not Path("runs").exists()


@pytest.mark.parametrize("command", ["resume run", "report run", "runs show run"])
def test_an_event_that_lacks_something_is_named(autocomp: Command, toy: None, command: str) -> None:
    assert autocomp("search", "gemm", "--run-dir", "run", "--workers", 1, "--steps", 1).exit_code == 0
    log = Path("run/events.jsonl")
    events = [json.loads(line) for line in log.read_text().splitlines()]
    place = next(number for number, event in enumerate(events) if event["kind"] == "plan")
    del events[place]["plans"]
    log.write_text("".join(json.dumps(event) + "\n" for event in events))
    result = autocomp(*command.split())
    assert result.exit_code == 7, result.output
    assert "the run's event 'plan/1/0' is not as this version writes it" in result.stderr


def test_a_worker_whose_python_lacks_a_package_says_how_to_install_it(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError('no torch', name='torch')")
    worker = [sys.executable, "-m", "autocomp.targets.triton.worker"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(worker, env=environment, capture_output=True, text=True, input="")
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert "has no package 'torch'; install it there with: pip install 'autocomp[triton]'" in done.stderr


@pytest.mark.usefixtures("shipped_schedules")
def test_a_name_that_many_schedules_begin_with_is_told_with_a_few_of_them(autocomp: Command) -> None:
    result = autocomp("schedules", "show", "I1")
    assert (result.exit_code, " more" in result.stderr) == (3, True)
    assert len(result.stderr) < 1000


def test_text_that_an_encoding_lacks_is_written_as_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    accept_all_text()
    print("größe.yaml", flush=True)
    assert written.getvalue() == b"gr\\xf6\\xdfe.yaml\n"


def test_a_closed_output_takes_text_and_keeps_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    accept_all_text()
    with sys.stdout:
        print("nobody reads this")
