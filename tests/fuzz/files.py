"""Fuzz the readers of files that people hand to one another: run folders, stores, menus, agents files, models and
archives; and of what endpoints answer. Whatever they are given, only located errors come out, soon, within memory.

    python -m tests.fuzz.files TARGET SECONDS [SEED]

Honest files are changed at random: JSON by values at any place, YAML by values too, other bytes as they lie.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

from autocomp.agents import config
from autocomp.targets import menu_file
from autocomp.targets.simulator.trace import read_trace

from . import answers, documents, models, run_folders
from .changes import changed_bytes, changed_json, changed_lines, changed_text, changed_yaml
from .folder import folder, from_file
from .hunt import hunt


@dataclass(frozen=True)
class Kind:
    """Files of one kind: honest ones, what reads one, and what changes its bytes."""

    honest: Callable[[], list[bytes]]
    read: Callable[[bytes], object]
    change: Callable[[list[bytes], random.Random], bytes]


KINDS: Mapping[str, Kind] = {
    "journal": Kind(run_folders.honest_logs, run_folders.read_journal, changed_lines),
    "resume": Kind(run_folders.run_file("events.jsonl"), run_folders.resume_journal, changed_lines),
    "config": Kind(run_folders.run_file("config.json"), run_folders.read_config, changed_json),
    "index": Kind(documents.honest_index, documents.read_index, changed_json),
    "record": Kind(documents.some("schedules", ".yaml", 12), from_file("s.yaml", documents.read_record), changed_yaml),
    "menu": Kind(
        documents.some("menus", ".yaml", 4), from_file("m.yaml", lambda p: menu_file.load([str(p)])), changed_yaml
    ),
    "agents": Kind(lambda: [documents.AGENTS], from_file("a.yaml", config.load), changed_yaml),
    "task": Kind(
        lambda: [documents.CUSTOM, *documents.some("workloads", ".yaml", 12)()],
        from_file("w.yaml", documents.read_workload),
        changed_yaml,
    ),
    "reference": Kind(lambda: [documents.REFERENCE], documents.read_reference, changed_bytes),
    "kept-answer": Kind(documents.honest_answer, documents.read_kept_answer, changed_bytes),
    "kept-verdict": Kind(documents.honest_verdict, documents.read_kept_verdict, changed_bytes),
    "onnx": Kind(models.honest_models, from_file("m.onnx", models.read_model), changed_bytes),
    "stablehlo": Kind(models.honest_modules, from_file("m.mlir", models.read_module), changed_text),
    "samples": Kind(models.honest_samples, from_file("s.npz", models.read_samples), changed_bytes),
    "archive": Kind(
        lambda: [gzip.compress(b"fence\n" * 50), b"fence\n" * 5],
        from_file("t.txt.gz", lambda p: read_trace(p, *models.tiny())),
        changed_bytes,
    ),
    "completion": Kind(lambda: [json.dumps(answers.COMPLETION).encode()], answers.read_completion, changed_json),
    "response": Kind(lambda: [json.dumps(answers.RESPONSE).encode()], answers.read_response, changed_json),
    "stream": Kind(lambda: [answers.STREAM + b"data: [DONE]\n\n"], answers.read_stream, changed_text),
    "answer": Kind(lambda: [text.encode() for text in answers.ANSWERS], answers.read_answer, changed_text),
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
