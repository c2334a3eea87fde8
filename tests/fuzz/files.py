"""Fuzz the readers of files that people hand to one another: run folders, stores, menus, agents files, models and
archives; and of what endpoints answer. Whatever they are given, only located errors come out, soon, within memory.

    python -m tests.fuzz.files TARGET SECONDS [SEED]

Honest files are changed at random: JSON by values at any place, YAML by values too, other bytes as they lie.
"""

from __future__ import annotations

import copy
import gzip
import io
import json
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from autocomp import workload as workloads
from autocomp.agents import config
from autocomp.agents.config import Agents
from autocomp.agents.llm.answer import Answer, MalformedAnswerError, parse_completion, parse_stream
from autocomp.agents.llm.cache import AnswerCache
from autocomp.agents.llm.edits import EditError, apply_edits, parse_edits
from autocomp.agents.llm.parsing import parse_avenues, parse_plans, parse_selection
from autocomp.data import data_dir
from autocomp.export import of_record
from autocomp.report import RunView, make_console, print_search
from autocomp.report.page.document import run_document
from autocomp.report.page.html import render
from autocomp.report.runs import comparison, listing, summary_of
from autocomp.schedules.index import INDEX
from autocomp.schedules.library import Library
from autocomp.schedules.record import from_yaml
from autocomp.schedules.store import Store, all_schedules
from autocomp.schedules.verify import workload_of
from autocomp.search import Options, RunFolder
from autocomp.search.cache import EvaluationCache
from autocomp.search.session import Means, run_session
from autocomp.search.snapshot import Request, create, granted, restore
from autocomp.targets import menu_file
from autocomp.targets.menu import Menu
from autocomp.targets.planning import Usage
from autocomp.targets.protocol import Language
from autocomp.targets.registry import load_target
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.target import accelerator_of
from autocomp.targets.simulator.trace import read_trace

from .hunt import hunt
from .texts import changed

NOW = datetime(2026, 1, 1)
KEY = "0" * 64
BEAM = "beam"
VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 2**31, 2**63, 10**30, -(10**30), 0.5, 1e308, float("nan"), float("inf")),
    *("", "x", "../../x", "a\nb", "\x00", "\x1b[2J", "\ud800", "openai:m@http://h/v1", "gemmini", "0" * 64),
    *([], [[]], {}, {"a": 1}, [1] * 50, {"kind": "stop"}),
)


@dataclass(frozen=True)
class Kind:
    """Files of one kind: honest ones, what reads one, and what changes its bytes."""

    honest: Callable[[], list[bytes]]
    read: Callable[[bytes], object]
    change: Callable[[list[bytes], random.Random], bytes]


# --- changes ---------------------------------------------------------------------------------------------------------


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


# --- run folders -----------------------------------------------------------------------------------------------------


@cache
def folder() -> Path:
    """A folder that is emptied at the end, in memory where that is possible."""
    shared = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="autocomp-fuzz-", dir=shared if shared.is_dir() else None))


@cache
def honest_run(strategy: str) -> Path:
    """A run of the rules agent on a small operation."""
    path = folder() / strategy
    loaded = workloads.load("tiny_gemm_edges")
    target = load_target(f"simulator:{loaded.accelerator}", loaded.overrides)
    options = Options(evaluations=6, max_steps=2)
    request = Request(loaded, target, menu_file.load(["gemm"]), Agents(), options, strategy)
    run = create(path, request, NOW)
    run_session(request, run, Means(executor="inline", cache=False))
    return path


def run_file(name: str) -> Callable[[], list[bytes]]:
    return lambda: [(honest_run(BEAM) / name).read_bytes()]


def honest_logs() -> list[bytes]:
    """Logs that have events of all kinds between them."""
    cost = {"prompt_tokens": 5, "completion_tokens": 7, "requests": 1, "cached": 0, "money": 0.5, "unsent": 0}
    others: list[dict[str, Any]] = [
        {"kind": "grant", "key": "grant", "evaluations": 3, "seconds": 1.5, "tokens": None, "money": None},
        {"kind": "charge", "call": "plan/9/0", "cost": cost},
        {"kind": "cache", "damaged": 1},
        {"kind": "expired", "key": "expired", "step": 1},
    ]
    lines = [json.dumps({**event, "t": 0.5}).encode() + b"\n" for event in others]
    logs = [(honest_run(strategy) / "events.jsonl").read_bytes() for strategy in (BEAM, "evolve")]
    return [logs[0] + b"".join(lines), logs[1]]


def changed_run(name: str, data: bytes) -> RunFolder:
    """The honest run with other content in one of its files."""
    path = folder() / "run"
    if not path.exists():
        shutil.copytree(honest_run(BEAM), path)
    for file in ("config.json", "events.jsonl"):
        (path / file).write_bytes(data if file == name else (honest_run(BEAM) / file).read_bytes())
    return RunFolder.open(path)


def read_journal(data: bytes) -> None:
    run = changed_run("events.jsonl", data)
    view = RunView.of(run.events)
    console = make_console(io.StringIO(), plain=True)
    print_search(console, view)
    console.print(listing([summary_of(run)]))
    render(run_document(run, honest_request()))


def resume_journal(data: bytes) -> None:
    """As `autocomp resume` does, without new evaluations: those cost a second each."""
    run = changed_run("events.jsonl", data)
    request = honest_request()
    run_session(request, run, Means(executor="inline", cache=True))


@cache
def honest_request() -> Request:
    return restore(RunFolder.open(honest_run(BEAM)))


def read_config(data: bytes) -> None:
    run = changed_run("config.json", data)
    console = make_console(io.StringIO(), plain=True)
    console.print(comparison([summary_of(run)]))
    request = granted(restore(run), run, Agents())
    workloads.make_inputs(request.workload, workloads.InputSet("random", "random", 0))


# --- stores, menus, agents files, workloads --------------------------------------------------------------------------


def some(kind: str, suffix: str, count: int) -> Callable[[], list[bytes]]:
    """The shortest files of a folder: a reader needs most of its time for the length."""
    return lambda: sorted((path.read_bytes() for path in data_dir(kind).rglob(f"*{suffix}")), key=len)[:count]


def read_index(data: bytes) -> None:
    root = folder() / "store"
    if not root.exists():
        shutil.copytree(data_dir("schedules") / "tiny", root / "tiny")
    (root / INDEX).write_bytes(data)
    stored = all_schedules(lambda _: None, [root])
    library = Library(stored)
    library.lookup("gemm", {"I": 3, "J": 3, "K": 3}, "tiny")


def honest_index() -> list[bytes]:
    root = folder() / "indexed"
    if not root.exists():
        shutil.copytree(data_dir("schedules") / "tiny", root / "tiny")
        Store(root).entries(lambda _: None)
    return [(root / INDEX).read_bytes()]


def from_file(name: str, read: Callable[[Path], object]) -> Callable[[bytes], object]:
    """Readers of paths: the data goes into a file of this name."""

    def reader(data: bytes) -> object:
        path = folder() / name
        path.write_bytes(data)
        return read(path)

    return reader


def read_record(path: Path) -> None:
    """As far as `schedules verify` goes without running the kernel, and as a search that begins with the record."""
    record = from_yaml(path.read_bytes().decode("utf-8", "replace"), str(path))
    target = load_target(record.target.spec, record.target.parameters)
    workload_of(record, target, path, ())
    of_record(record, path.name, accelerator_of(target, "exporting"))


AGENTS = b"""\
planner:
  - {model: "openai:a@http://127.0.0.1:1/v1", weight: 2, price: {prompt: 0.5, completion: 2}, extra: {top_p: 0.9}}
  - {model: rules, samples: 2}
coder:
  - {model: openai:b, key: MY_KEY, stream: true, attempts: 3, requests_per_minute: 10, answers: json, max_tokens: 100}
plans: structured
codes: edits
combine: 0.25
"""
CUSTOM = b"""\
operation: custom
accelerator: tiny
tensors:
  - {name: x, dtype: int8, shape: [N, N + 1], role: input, range: [-3, 3]}
  - {name: y, dtype: float32, shape: [4, N * 2], role: inout}
constants: {N: 4}
reference: own.py:double
kernel: own.c
tolerance: {relative: 0.001}
"""
REFERENCE = b"""\
import numpy as np

def double(x, y):
    wide = np.concatenate([x, x], axis=1)[:, : y.shape[1]]
    return (2 * y + wide).astype(np.float32)
"""


def beside(reference: bytes = REFERENCE) -> None:
    """The files that CUSTOM names."""
    (folder() / "own.py").write_bytes(reference)
    (folder() / "own.c").write_text("void solution(int8_t x[4][5], float y[4][8]) { fence(); }")


def read_workload(path: Path) -> None:
    beside()
    loaded = workloads.load(path)
    if sum(tensor.bytes for tensor in loaded.tensors) < 1 << 22:
        for input_set in workloads.input_sets(loaded, "adversarial", 0):
            workloads.make_inputs(loaded, input_set)


def read_reference(data: bytes) -> None:
    """A user's Python, which runs."""
    beside(data)
    (folder() / "c.yaml").write_bytes(CUSTOM)
    loaded = workloads.load(folder() / "c.yaml")
    workloads.make_case(loaded, workloads.InputSet("random", "random", 0))


@cache
def honest_answer() -> list[bytes]:
    AnswerCache(folder() / "answers").put(KEY, {"model": "m"}, Answer("ok", "text", Usage(prompt_tokens=3)))
    return [next((folder() / "answers").rglob("*.json")).read_bytes()]


def read_kept_answer(data: bytes) -> None:
    honest_answer()
    next((folder() / "answers").rglob("*.json")).write_bytes(data)
    AnswerCache(folder() / "answers").get(KEY)


@cache
def honest_verdict() -> list[bytes]:
    EvaluationCache(folder() / "verdicts", "scope").keep("screen", "void", {"stages": [], "seed": 1})
    return [next((folder() / "verdicts").glob("*/*")).read_bytes()]


def read_kept_verdict(data: bytes) -> None:
    cache = EvaluationCache(folder() / "verdicts", "scope")
    cache.keep("screen", "void", {})
    next((folder() / "verdicts").glob("*/*")).write_bytes(data)
    cache.find("screen", "void")


# --- models, archives, traces ----------------------------------------------------------------------------------------


def honest_models() -> list[bytes]:
    from onnx import TensorProto, helper

    def info(name: str, *shape: int) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    def constant(name: str, *shape: int) -> Any:
        return helper.make_tensor(name, TensorProto.FLOAT, shape, [0.5] * int(np.prod(shape)))

    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], strides=[2, 2], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["p"]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("Gemm", ["f", "g", "h"], ["y"], transB=1),
        helper.make_node("Softmax", ["y"], ["z"]),
    ]
    constants = [constant("w", 4, 3, 3, 3), constant("b", 4), constant("g", 5, 4), constant("h", 5)]
    graph = helper.make_graph(nodes, "net", [info("x", 1, 3, 8, 8)], [info("z", 1, 5)], constants)
    data: bytes = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]).SerializeToString()
    return [data]


def read_model(path: Path) -> None:
    from autocomp.models import import_model
    from autocomp.models.quantise import random_samples

    import_model(path)
    random_samples(path, 0)


def honest_samples() -> list[bytes]:
    plain, packed = io.BytesIO(), io.BytesIO()
    np.savez(plain, x=np.zeros((2, 3), np.float32), y=np.arange(2))
    np.savez_compressed(packed, x=np.ones((4, 30)), y=np.array([[1], [2], [3], [4]], np.int8))
    return [plain.getvalue(), packed.getvalue()]


def read_samples(path: Path) -> None:
    from autocomp.models.quantise import read_samples

    read_samples(path)


@cache
def tiny() -> tuple[isa.Accelerator, isa.MachineTables]:
    machine = isa.load("tiny")
    return machine, isa.lower(machine)


# --- what endpoints answer -------------------------------------------------------------------------------------------

COMPLETION = {
    "choices": [{"message": {"content": "hi", "refusal": None}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 11, "completion_tokens": 7},
}
STREAM = b"".join(
    b"data: " + json.dumps(piece).encode() + b"\n\n"
    for piece in ({"choices": [{"delta": {"content": "he"}}]}, {"choices": [], "usage": {"prompt_tokens": 3}})
)
KERNEL = "void solution(int8_t A[4]) {\n  for (int i = 0; i < 4; i++) A[i] = 1;\n}\n"
ANSWERS = (
    '{"avenues": ["a"], "plans": [{"option": "tile", "plan": "Cut.", "gain": [1, 2], "parameters": {"loops": {"i": 4}}}'
    "]}",
    '1. Tile the loops.\n2. **Plan 2** option: hoist\n```json\n{"base": 3, "reference": "#4", "reason": "fast"}\n```',
    f"<think>hm</think>Here.\n```c\n{KERNEL}```\n",
    "<<<<<<< SEARCH\n  for (int i = 0; i < 4; i++) A[i] = 1;\n=======\n  A[0] = 1;\n>>>>>>> REPLACE\n",
)


def read_completion(data: bytes) -> None:
    try:
        parse_completion(data.decode("utf-8", "replace"))
    except MalformedAnswerError:
        return


def read_stream(data: bytes) -> None:
    try:
        parse_stream(data.decode("utf-8", "replace"))
    except MalformedAnswerError:
        return


@cache
def a_menu() -> Menu:
    return menu_file.load(["general"])


@cache
def language() -> Language:
    return load_target("simulator:tiny").language


def read_answer(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    parse_plans(text, a_menu(), "m")
    parse_avenues(text)
    parse_selection(text, {3, 4})
    language().locate(text)
    try:
        apply_edits(KERNEL, parse_edits(text))
    except EditError:
        return


KINDS: Mapping[str, Kind] = {
    "journal": Kind(honest_logs, read_journal, changed_lines),
    "resume": Kind(run_file("events.jsonl"), resume_journal, changed_lines),
    "config": Kind(run_file("config.json"), read_config, changed_json),
    "index": Kind(honest_index, read_index, changed_json),
    "record": Kind(some("schedules", ".yaml", 12), from_file("s.yaml", read_record), changed_yaml),
    "menu": Kind(some("menus", ".yaml", 4), from_file("m.yaml", lambda p: menu_file.load([str(p)])), changed_yaml),
    "agents": Kind(lambda: [AGENTS], from_file("a.yaml", config.load), changed_yaml),
    "task": Kind(lambda: [CUSTOM, *some("workloads", ".yaml", 12)()], from_file("w.yaml", read_workload), changed_yaml),
    "reference": Kind(lambda: [REFERENCE], read_reference, changed_bytes),
    "kept-answer": Kind(honest_answer, read_kept_answer, changed_bytes),
    "kept-verdict": Kind(honest_verdict, read_kept_verdict, changed_bytes),
    "onnx": Kind(honest_models, from_file("m.onnx", read_model), changed_bytes),
    "samples": Kind(honest_samples, from_file("s.npz", read_samples), changed_bytes),
    "archive": Kind(
        lambda: [gzip.compress(b"fence\n" * 50), b"fence\n" * 5],
        from_file("t.txt.gz", lambda p: read_trace(p, *tiny())),
        changed_bytes,
    ),
    "completion": Kind(lambda: [json.dumps(COMPLETION).encode()], read_completion, changed_json),
    "stream": Kind(lambda: [STREAM + b"data: [DONE]\n\n"], read_stream, changed_text),
    "answer": Kind(lambda: [text.encode() for text in ANSWERS], read_answer, changed_text),
}


def read(name: str, data: bytes) -> None:
    """Let a reader have the file; what it prints is of no interest."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        KINDS[name].read(data)


def main(name: str, seconds: float, seed: int) -> None:
    os.environ["AUTOCOMP_CACHE"] = str(folder() / "cache")
    honest = KINDS[name].honest()
    try:
        hunt(name, honest, lambda data: read(name, data), lambda c: KINDS[name].change(honest, c), seconds, seed)
    finally:
        shutil.rmtree(folder(), ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1)
