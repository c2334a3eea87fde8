"""Readers of what people hand to one another: stores, records, workloads, references; and of what is kept."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

from autocomp import workload as workloads
from autocomp.agents.llm.endpoints.cache import AnswerCache
from autocomp.agents.llm.endpoints.forms.answer import Answer
from autocomp.data import data_dir
from autocomp.export import of_record
from autocomp.schedules.index import INDEX
from autocomp.schedules.library import Library
from autocomp.schedules.record import from_yaml
from autocomp.schedules.store import Store, all_schedules
from autocomp.schedules.verify import workload_of
from autocomp.search.cache import EvaluationCache
from autocomp.targets.planning import Usage
from autocomp.targets.registry import load_target
from autocomp.targets.simulator.target import accelerator_of

from .folder import folder

KEY = "0" * 64


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
