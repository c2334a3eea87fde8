"""Whole models: their operations from ONNX or StableHLO, what each costs on a machine, and which are worth a search."""

from pathlib import Path

from autocomp.models.costs import Forecast, Prediction, forecast, ranked
from autocomp.models.graph import HostOperation, Model, import_onnx
from autocomp.models.operations import Layer, Operation
from autocomp.models.stablehlo import SUFFIXES, import_stablehlo

__all__ = [
    "SUFFIXES",
    "Forecast",
    "HostOperation",
    "Layer",
    "Model",
    "Operation",
    "Prediction",
    "forecast",
    "import_model",
    "ranked",
]


def import_model(path: Path) -> Model:
    """Read a StableHLO module (`.mlir`) or an ONNX model. Raises ConfigError for what neither of them can read."""
    return import_stablehlo(path) if path.suffix in SUFFIXES else import_onnx(path)
