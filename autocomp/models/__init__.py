"""Whole models: their operations from ONNX, what each costs on a machine, and which are worth a search."""

from autocomp.models.costs import Forecast, Prediction, forecast, ranked
from autocomp.models.graph import HostOperation, Model, import_model
from autocomp.models.operations import Operation

__all__ = ["Forecast", "HostOperation", "Model", "Operation", "Prediction", "forecast", "import_model", "ranked"]
