"""The cost of a model, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autocomp.models import Forecast, Layer, Model, Prediction
from autocomp.models.search import Improvement
from autocomp.report.grid import Grid, figure, name
from autocomp.report.terminal import amount_text, counted, percent


def document(
    model: Model,
    costs: Forecast,
    worth: Sequence[Prediction],
    rest: Sequence[Prediction],
    host_cycles: float,
    files: Sequence[str],
) -> dict[str, Any]:
    """The cost as --json prints it; cycles of operations are of one run of each."""

    def entry(prediction: Prediction, searched: bool) -> dict[str, Any]:
        operation = prediction.operation
        return {
            "operation": operation.kind,
            "dims": dict(operation.dims),
            "options": dict(operation.options),
            "layers": [{"name": layer.name, "dtype": layer.dtype} for layer in model.layers.get(operation, ())],
            "count": prediction.count,
            "naive_cycles": prediction.naive,
            "cycles": prediction.best,
            "bound_cycles": prediction.bound,
            "source": prediction.source,
            "layer_speed_up": prediction.speed_up,
            "model_speed_up": costs.speed_up(prediction),
            "worth_a_search": searched,
        }

    return {
        "model": model.name,
        "naive_cycles": costs.before,
        "cycles": costs.after,
        "host": [{"operation": h.name, "nodes": h.nodes, "cycles": h.work * host_cycles} for h in model.host],
        "folded_nodes": model.folded,
        "operations": [entry(p, True) for p in worth] + [entry(p, False) for p in rest],
        "workloads": list(files),
    }


def operations_table(
    model: Model, costs: Forecast, worth: Sequence[Prediction], rest: Sequence[Prediction], host_cycles: float
) -> Grid:
    """A row for each group of equal operations, those worth a search first, and for what stays on the host. Speed-ups
    are those at the bound, of the layer and of the whole model."""
    figures = [figure(heading) for heading in ("times", "naive", "best", "bound", "share", "layer", "model")]
    grid = Grid("", name("operation"), name("layers"), name("type"), *figures, name("from"))
    for p in [*worth, *rest]:
        layers = model.layers.get(p.operation, ())
        share = percent(costs.share(p.count * p.best))
        gains = [f"{gain:.2f} x" if p in worth else "-" for gain in (p.speed_up, costs.speed_up(p))]
        cycles = [amount_text(value) for value in (p.naive, p.best, p.bound)]
        types = "/".join(dict.fromkeys(layer.dtype for layer in layers))
        grid.add(p.operation.name, _named(layers), types, str(p.count), *cycles, share, *gains, p.source)
    for h in model.host:
        cost = round(h.work * host_cycles)
        cells = [str(h.nodes), "", amount_text(cost), "", percent(costs.share(cost)), "-", "-", ""]
        grid.add(f"host: {h.name}", "", "", *cells)
    return grid


def _named(layers: Sequence[Layer]) -> str:
    """The first layer's name, and how many others there are."""
    others = f" and {len(layers) - 1} more" if len(layers) > 1 else ""
    return f"{layers[0].name}{others}" if layers else ""


def summary(model: Model, costs: Forecast, worth: int, rest: int, host_cycles: float) -> list[str]:
    """Lines below the table."""
    searched, folded = counted(worth, "operation"), counted(model.folded, "node")
    return [
        f"{model.name}: {costs.before:,.0f} cycles with naive kernels, {costs.after:,.0f} with the best",
        f"of these {costs.host:,.0f} on the host, at {host_cycles:g} for an element or multiply-accumulate",
        f"{searched} worth a search, {rest} that cannot matter; {folded} merged into these",
    ]


def improvement_line(done: Improvement) -> str:
    """The result of the searches, in one line."""
    gain = done.before.after / done.after.after if done.after.after else 1.0
    searched, judged = counted(len(done.searched), "operation"), counted(done.evaluations, "evaluation")
    return (
        f"searched {searched} with {judged}: end to end "
        f"{done.before.after:,.0f} cycles before, {done.after.after:,.0f} after ({gain:.2f} x); {done.reason}"
    )


def improvement_document(done: Improvement) -> dict[str, Any]:
    """The same for --json; cycles of operations are of one run of each."""
    return {
        "cycles_before": done.before.after,
        "cycles_after": done.after.after,
        "evaluations": done.evaluations,
        "reason": done.reason,
        "searched": [
            {
                "operation": prediction.operation.name,
                "cycles_before": prediction.best,
                "cycles_after": min(prediction.best, improved.cycles),
                "evaluations": improved.evaluations,
            }
            for prediction, improved in done.searched
        ],
    }
