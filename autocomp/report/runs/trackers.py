"""Runs in experiment trackers: MLflow, Weights & Biases and TensorBoard, each an optional package.

A run folder holds everything; a tracker gets a copy of its parameters, of its figures after each evaluation, and of its
best kernel. Nothing is sent anywhere unless the tracker's own settings (`MLFLOW_TRACKING_URI`, `WANDB_MODE`) say so.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from autocomp.errors import ConfigError
from autocomp.report.runs.run import RunView
from autocomp.search.log.folder import RunFolder
from autocomp.search.log.journal import read_events

PROJECT = "autocomp"

Metrics = Mapping[str, float]


class Tracker(Protocol):
    """A run under way in a tracker. Times are seconds since the epoch."""

    def metrics(self, values: Metrics, step: int, time: float) -> None:
        """Record figures after evaluation `step`."""

    def close(self, kernel: Path | None, time: float) -> str:
        """End the run, with its best kernel where there is one; where the result can be looked at."""


class MLflow:
    """A run of MLflow, in the store of MLFLOW_TRACKING_URI, else in a database below `folder`."""

    def __init__(self, folder: Path, name: str, parameters: Mapping[str, Any], time: float) -> None:
        mlflow = _package("mlflow")
        self._address = os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{folder.absolute() / 'mlflow.db'}"
        self._client = mlflow.MlflowClient(tracking_uri=self._address)
        known = self._client.get_experiment_by_name(PROJECT)
        place = None if os.environ.get("MLFLOW_TRACKING_URI") else (folder.absolute() / "artifacts").as_uri()
        experiment = known.experiment_id if known else self._client.create_experiment(PROJECT, artifact_location=place)
        made = self._client.create_run(experiment, start_time=int(1000 * time), run_name=name)
        self._run = made.info.run_id
        for key, value in parameters.items():
            self._client.log_param(self._run, key, value)

    def metrics(self, values: Metrics, step: int, time: float) -> None:
        for key, value in values.items():
            self._client.log_metric(self._run, key, value, timestamp=int(1000 * time), step=step)

    def close(self, kernel: Path | None, time: float) -> str:
        if kernel:
            self._client.log_artifact(self._run, str(kernel))
        self._client.set_terminated(self._run, end_time=int(1000 * time))
        return f"mlflow ui --backend-store-uri {self._address}"


class WeightsAndBiases:
    """A run of Weights & Biases: offline below `folder`, unless WANDB_MODE says otherwise."""

    def __init__(self, folder: Path, name: str, parameters: Mapping[str, Any], time: float) -> None:
        wandb = _package("wandb")
        settings = wandb.Settings(silent=True, console="off")
        mode = os.environ.get("WANDB_MODE", "offline")
        self._run = wandb.init(
            project=PROJECT, name=name, dir=str(folder), config=dict(parameters), mode=mode, settings=settings
        )

    def metrics(self, values: Metrics, step: int, time: float) -> None:
        self._run.log({**values, "time": time}, step=step)

    def close(self, kernel: Path | None, time: float) -> str:
        if kernel:
            copied = shutil.copy(kernel, self._run.dir)  # of a file elsewhere wandb keeps a link, and warns
            self._run.save(copied, base_path=self._run.dir, policy="now")
        self._run.finish()
        return f"wandb sync {Path(self._run.dir).parent}"


class TensorBoard:
    """Event files of TensorBoard below `folder`, written by tensorboardX."""

    def __init__(self, folder: Path, name: str, parameters: Mapping[str, Any], time: float) -> None:
        self._folder = folder
        self._writer = _package("tensorboardX").SummaryWriter(str(folder / name))
        rows = "\n".join(f"| {key} | {value} |" for key, value in parameters.items())
        self._writer.add_text("run", f"| | |\n|---|---|\n{rows}", 0, time)

    def metrics(self, values: Metrics, step: int, time: float) -> None:
        for key, value in values.items():
            self._writer.add_scalar(key, value, step, time)

    def close(self, kernel: Path | None, time: float) -> str:
        if kernel:
            text = kernel.read_text(encoding="utf-8")
            self._writer.add_text("best kernel", "\n".join("    " + line for line in text.splitlines()), 0, time)
        self._writer.close()
        return f"tensorboard --logdir {self._folder}"


Begin = Callable[[Path, str, Mapping[str, Any], float], Tracker]  # folder, name, parameters, time of the start

TRACKERS: dict[str, Begin] = {"mlflow": MLflow, "wandb": WeightsAndBiases, "tensorboard": TensorBoard}
PACKAGES = {"mlflow": "mlflow", "wandb": "wandb", "tensorboardX": "tensorboard"}  # module -> extra of this package


def track(folder: RunFolder, tracker: str, output: Path) -> str:
    """Copy a run into a tracker, by its name in TRACKERS; the command that shows it.

    Raises ConfigError where the tracker's package is missing, RunFolderError for a damaged run.
    """
    snapshot = folder.snapshot()
    events = read_events(folder.events)[0]
    output.mkdir(parents=True, exist_ok=True)
    created = datetime.fromisoformat(snapshot["created"]).timestamp()
    run = TRACKERS[tracker](output, folder.path.absolute().name, parameters_of(snapshot), created)
    view = RunView()
    for event in events:
        before = view.evaluations, view.best
        view.add(event)
        if before != (view.evaluations, view.best):
            run.metrics(dict(metrics_of(view, event)), view.evaluations, created + view.seconds)
    return run.close(folder.best_kernel if folder.best_kernel.exists() else None, created + view.seconds)


def parameters_of(snapshot: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that decides the result, by flat names."""
    about = {
        "workload": snapshot["workload"]["name"],
        "target": f"{snapshot['target']['kind']}:{snapshot['target']['name']}",
        "machine_digest": snapshot["target"]["digest"],
        "strategy": snapshot["strategy"],
    }
    versions = {f"version_{name}": version for name, version in snapshot["versions"].items()}
    return {
        **about,
        **{name: str(value) for name, value in snapshot["options"].items() if value is not None},
        **versions,
    }


def metrics_of(view: RunView, event: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """The figures of a run after an evaluation, by name: that kernel's own, the best so far, what was spent."""
    document = event.get("evaluation") or {}
    own = {view.objective.unit: document.get("value"), f"best_{view.objective.unit}": view.best}
    shares = {"share_of_bound": view.ratio, "gain_over_naive": view.gain, "seconds": view.seconds}
    for name, value in {**own, **shares, **view.usage}.items():
        if value is not None:
            yield name, float(value)


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        extra = PACKAGES[name]
        raise ConfigError(
            f"the package {name!r} cannot be imported: {error}", hint=f"pip install 'autocomp[{extra}]'"
        ) from error
