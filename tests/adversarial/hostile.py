"""Hostile files in binary formats, or made from an honest file: archives, models, run folders, records.

Each function makes one in the folder that it is given. `Honest` holds what they start from.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import re
import shutil
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from autocomp.data import data_dir
from autocomp.schedules.record import VERSION, ScheduleRecord, from_yaml, to_yaml
from autocomp.targets.triton.connection import Host
from autocomp.targets.triton.roofline import Peaks
from autocomp.targets.triton.target import TritonTarget
from autocomp.workload import parse

VICTIM = "victim"  # a file of the user's beside the hostile ones
SHELL = "{{ cycler.__init__.__globals__.os.popen('touch owned').read() }}"
ESCAPES = "\x1b]0;owned\x07\x1b[2J[/red][link=http://elsewhere]\u202egnp.c"


@dataclass(frozen=True)
class Honest:
    """A folder with a finished run, and a record."""

    run: Path

    @property
    def record(self) -> ScheduleRecord:
        file = next(data_dir("schedules").glob("tiny/gemm/*.yaml"))
        return from_yaml(file.read_text(), str(file))


Make = Callable[[Path, Honest], None]


# --- archives and models ---------------------------------------------------------------------------------------------


def zip_bomb(folder: Path, _: Honest) -> None:
    with zipfile.ZipFile(folder / "bomb.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number in range(9):
            archive.writestr(f"x{number}.npy", bytes(1 << 26))


def pickled(folder: Path, _: Honest) -> None:
    class Owned:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.system, ("touch owned",)

    array = io.BytesIO()
    np.lib.format.write_array_header_1_0(array, {"descr": "|O", "fortran_order": False, "shape": (1,)})
    array.write(pickle.dumps([Owned()]))
    with zipfile.ZipFile(folder / "pickled.npz", "w") as archive:
        archive.writestr("x.npy", array.getvalue())


def huge_array(folder: Path, _: Honest) -> None:
    array = io.BytesIO()
    np.lib.format.write_array_header_1_0(array, {"descr": "<f4", "fortran_order": False, "shape": (1 << 50,)})
    with zipfile.ZipFile(folder / "huge.npz", "w") as archive:
        archive.writestr("x.npy", array.getvalue())


def gzip_bomb(folder: Path, _: Honest) -> None:
    zeros = gzip.compress(bytes(1 << 20))
    (folder / "bomb.txt.gz").write_bytes(zeros * 600)


def model(folder: Path, change: Callable[[Any, Any], None], name: str) -> None:
    from onnx import TensorProto, helper

    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])
    weights = helper.make_tensor("w", TensorProto.FLOAT, [4, 4], [0.5] * 16)
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "net", [x], [y], [weights])
    made = helper.make_model(graph)
    change(made.graph, TensorProto)
    (folder / name).write_bytes(made.SerializeToString())


def data_elsewhere(folder: Path, _: Honest) -> None:
    def change(graph: Any, kinds: Any) -> None:
        tensor = graph.initializer[0]
        tensor.ClearField("float_data")
        tensor.data_location = kinds.EXTERNAL
        entry = tensor.external_data.add()
        entry.key, entry.value = "location", f"../{VICTIM}"

    model(folder, change, "elsewhere.onnx")


def huge_tensor(folder: Path, _: Honest) -> None:
    def change(graph: Any, _: Any) -> None:
        graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1 << 62

    model(folder, change, "huge.onnx")


def lost_operand(folder: Path, _: Honest) -> None:
    model(folder, lambda graph, _: graph.node[0].input.pop(), "lost.onnx")


def module(folder: Path, name: str, *functions: str) -> None:
    (folder / f"{name}.mlir").write_text("\n".join(functions))


def endless_type(folder: Path, _: Honest) -> None:
    module(folder, "type", f"func.func @main() {{\n%0 = stablehlo.add %a : tensor<{'a' * 200_000}\n" * 3)


def many_types(folder: Path, _: Honest) -> None:
    module(
        folder,
        "types",
        f"func.func @main() {{\n%0 = stablehlo.add {'%a, ' * 200_000} : {'tensor<f32>, ' * 200_000}\n}}",
    )


def endless_head(folder: Path, _: Honest) -> None:
    module(folder, "head", "func.func @main(" * 50_000)


def billion_calls(folder: Path, _: Honest) -> None:
    twice = "func.func private @f{0}() {{\n  call @f{1}() : () -> ()\n  call @f{1}() : () -> ()\n}}"
    module(folder, "calls", *(twice.format(n, n + 1) for n in range(40)), "func.func @f40() {\n}")


def deep_calls(folder: Path, _: Honest) -> None:
    once = "func.func private @f{0}() {{\n  call @f{1}() : () -> ()\n}}"
    module(folder, "deep", *(once.format(n, n + 1) for n in range(5_000)), "func.func @f5000() {\n}")


def circle_of_values(folder: Path, _: Honest) -> None:
    shape = "tensor<4x4xf32>"
    lines = [f"%{n} = stablehlo.reshape %{1 - n} : ({shape}) -> {shape}" for n in (0, 1)]
    lines.append(f"%2 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : ({shape}, {shape}) -> {shape}")
    module(folder, "circle", "func.func @main() {", *lines, f"%3 = stablehlo.add %2, %0 : {shape}", "}")


def huge_extent(folder: Path, _: Honest) -> None:
    module(folder, "extent", f"func.func @main() {{\n%0 = stablehlo.add %a, %b : tensor<{'9' * 5000}xf32>\n}}")


# --- records and stores ----------------------------------------------------------------------------------------------


def forged_record(folder: Path, record: ScheduleRecord, changes: Mapping[str, Any]) -> None:
    """A record with other content, and the digest that goes with it."""
    document = record.model_dump(mode="json")
    for path, value in changes.items():
        *parents, last = path.split(".")
        node = document
        for key in parents:
            node = node[key]
        node[last] = value
    forged = ScheduleRecord.model_construct(**document)
    path = folder / "store" / "tiny" / "gemm" / "forged.yaml"
    path.parent.mkdir(parents=True)
    try:
        path.write_text(to_yaml(ScheduleRecord.model_validate(document)))
    except ValueError:  # what no record may hold: written without its check
        path.write_text(json.dumps({"version": VERSION, "digest": "0" * 64, **forged.__dict__}))


def one_cycle(folder: Path, honest: Honest) -> None:
    forged_record(folder, honest.record, {"result.value": 1, "result.bound": 1, "result.ratio": 1.0})


def wrong_kernel(folder: Path, honest: Honest) -> None:
    shortened = re.sub(r"(for \(int \w+ = )0;", r"\g<1>1;", honest.record.kernel, count=1)
    forged_record(folder, honest.record, {"kernel": shortened, "result.value": 5})


def code_in_a_name(folder: Path, honest: Honest) -> None:
    attack = "I) ) { __builtin_trap(); } if ((0"
    forged_record(folder, honest.record, {"operation.dims": {attack: 4}})


def code_in_a_comment(folder: Path, honest: Honest) -> None:
    attack = "relu\n__attribute__((constructor)) static void owned(void) { __builtin_trap(); }\n//"
    forged_record(folder, honest.record, {"operation.options": {"activation": attack}})


def edited_record(folder: Path, honest: Honest) -> None:
    path = folder / "store" / "tiny" / "gemm" / "edited.yaml"
    path.parent.mkdir(parents=True)
    value = honest.record.result.value
    path.write_text(to_yaml(honest.record).replace(f"value: {value}", "value: 7", 1))


# --- run folders -----------------------------------------------------------------------------------------------------


def copied(folder: Path, honest: Honest) -> Path:
    return Path(shutil.copytree(honest.run, folder / "run"))


def with_config(folder: Path, honest: Honest, change: Callable[[dict[str, Any]], object]) -> None:
    file = copied(folder, honest) / "config.json"
    document = json.loads(file.read_text())
    change(document)
    file.write_text(json.dumps(document))


def with_events(folder: Path, honest: Honest, change: Callable[[list[dict[str, Any]]], object]) -> None:
    file = copied(folder, honest) / "events.jsonl"
    events = [json.loads(line) for line in file.read_text().splitlines()]
    change(events)
    file.write_text("".join(json.dumps(event) + "\n" for event in events))


def of_kind(events: list[dict[str, Any]], kind: str, number: int = 0) -> dict[str, Any]:
    return [event for event in events if event["kind"] == kind][number]


def member(**fields: Any) -> dict[str, Any]:
    return {"model": "openai:m@http://127.0.0.1:9/v1", **fields}


def sends_a_secret(folder: Path, honest: Honest) -> None:
    with_config(folder, honest, lambda c: c["agents"].update(planner=[member(key="MY_SECRET")]))


def brings_templates(folder: Path, honest: Honest) -> None:
    (folder / "templates").mkdir()
    (folder / "templates" / "plan.j2").write_text(SHELL)
    agents = {"planner": [{"model": "openai:m"}], "templates": str(folder / "templates")}
    with_config(folder, honest, lambda c: c["agents"].update(agents))


def brings_code(folder: Path, honest: Honest) -> None:
    workload = (Path(__file__).parent / "files" / "runs.workload.yaml").read_text()
    reference = (Path(__file__).parent / "files" / "runs.py").read_text()
    files = {"kernel": "void solution(int8_t A[4][4]) { fence(); }\n", "reference": reference}
    with_config(folder, honest, lambda c: c["workload"].update(text=workload, files=files))
    (folder / "run" / "events.jsonl").write_text("")


def starts_a_program(folder: Path, honest: Honest) -> None:
    """A run on a GPU whose worker starts with a program of the folder's choice."""
    greeting = {"name": "GPU", "device": "cuda:0", "backend": "cuda", "multiprocessors": 8, "shared_bytes": 65536}
    host = Host(("touch", "owned"), "python3")
    target = TritonTarget("gpu", host, {**greeting, "capability": [9, 0]}, Peaks(1e12))
    text = (Path(__file__).parent / "files" / "host.workload.yaml").read_text().replace(":host.yaml", "")

    def change(document: dict[str, Any]) -> None:
        stages = [stage.name for stage in target.evaluator(parse(text, Path("w.yaml"))).stages]
        document["workload"].update(name="softmax", text=text, overrides={})
        document["target"].update(kind="triton", name="gpu", digest=target.digest, machine=target.snapshot())
        document["judge"].update(stages=stages)

    with_config(folder, honest, change)
    (folder / "run" / "events.jsonl").write_text("")


def asks_for_everything(folder: Path, honest: Honest) -> None:
    with_config(folder, honest, lambda c: c["options"].update(beam=10**12, codes_per_plan=10**12))


def deep_config(folder: Path, honest: Honest) -> None:
    (copied(folder, honest) / "config.json").write_text("[" * 100_000)


def own_parent(folder: Path, honest: Honest) -> None:
    with_events(folder, honest, lambda events: of_kind(events, "candidate", 1).update(parent=1))


def kernel_elsewhere(folder: Path, honest: Honest) -> None:
    attack = f"../../{VICTIM}"
    with_events(folder, honest, lambda events: of_kind(events, "candidate", 1).update(kernel=attack))


def proof_without_stages(folder: Path, honest: Honest) -> None:
    """The search would ask for the proof again and again."""

    def change(events: list[dict[str, Any]]) -> None:
        evaluation = of_kind(events, "prove")["evaluation"]
        evaluation["stages"] = evaluation["stages"][:1]

    with_events(folder, honest, change)


def claims_one_cycle(folder: Path, honest: Honest) -> None:
    def change(events: list[dict[str, Any]]) -> None:
        for event in events:
            if event["kind"] in ("evaluate", "prove") and event is not of_kind(events, "evaluate"):
                measured = event["evaluation"].get("measurement")
                if measured:
                    measured["value"] = 1
        del events[-1]

    with_events(folder, honest, change)


def speaks_to_the_terminal(folder: Path, honest: Honest) -> None:
    def change(events: list[dict[str, Any]]) -> None:
        of_kind(events, "stop")["reason"] = ESCAPES
        of_kind(events, "candidate", 1)["plan"]["text"] = ESCAPES
        of_kind(events, "candidate", 1)["plan"]["option"] = ESCAPES

    with_events(folder, honest, change)


def lock_elsewhere(folder: Path, honest: Honest) -> None:
    run = copied(folder, honest)
    (run / "lock").unlink(missing_ok=True)
    (run / "lock").symlink_to(folder / VICTIM)


def log_elsewhere(folder: Path, honest: Honest) -> None:
    run = copied(folder, honest)
    (run / "events.jsonl").unlink()
    os.link(folder / VICTIM, run / "events.jsonl")


def kernels_elsewhere(folder: Path, honest: Honest) -> None:
    run = copied(folder, honest)
    (run / "kernels").rename(folder / "kernels")
    (run / "kernels").symlink_to(folder / "kernels")


def endless_config(folder: Path, honest: Honest) -> None:
    run = copied(folder, honest)
    (run / "config.json").unlink()
    os.mkfifo(run / "config.json")


def linked_template(folder: Path, _: Honest) -> None:
    (folder / "linked").mkdir()
    (folder / "linked" / "plan.j2").symlink_to(folder / VICTIM)
    (folder / "linked.yaml").write_text("planner: [{model: 'openai:m@http://127.0.0.1:9/v1'}]\ntemplates: linked\n")


def shell_template(folder: Path, _: Honest) -> None:
    (folder / "shell").mkdir()
    (folder / "shell" / "plan.j2").write_text(SHELL)
    (folder / "shell.yaml").write_text("planner: [{model: 'openai:m@http://127.0.0.1:9/v1'}]\ntemplates: shell\n")


def large_description(folder: Path, _: Honest) -> None:
    (folder / "large.isa").write_text("accelerator m { doc " + '"' + "x" * 5_000_000 + '"; }')


MAKERS: Mapping[str, Make] = {
    make.__name__: make
    for make in (
        *(zip_bomb, pickled, huge_array, gzip_bomb, data_elsewhere, huge_tensor, lost_operand),
        *(endless_type, many_types, endless_head, billion_calls, deep_calls, circle_of_values, huge_extent),
        *(one_cycle, wrong_kernel, code_in_a_name, code_in_a_comment, edited_record),
        *(
            sends_a_secret,
            brings_templates,
            brings_code,
            starts_a_program,
            asks_for_everything,
            deep_config,
            own_parent,
            kernel_elsewhere,
        ),
        *(proof_without_stages, claims_one_cycle, speaks_to_the_terminal, lock_elsewhere, log_elsewhere),
        *(kernels_elsewhere, endless_config, linked_template, shell_template, large_description),
    )
}
