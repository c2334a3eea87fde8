"""All files of an export."""

from __future__ import annotations

from collections.abc import Sequence

from autocomp.export.any_size import AnySize
from autocomp.export.dispatch import dispatches
from autocomp.export.document import document
from autocomp.export.header import accelerator_header, recorder
from autocomp.export.quantised import layer_files, layers
from autocomp.export.schedule import Schedule, check_names
from autocomp.export.source import (
    DISPATCH,
    HEADER,
    any_size_source,
    dispatch_source,
    kernel_source,
    kernels_header,
)
from autocomp.targets.simulator.isa.model import Accelerator

DOCUMENT = "export.json"
HOST_FOLDER = "host"  # what stands in for the vendor's header and the hardware
RECORDER = "recorder.c"


def export_files(schedules: Sequence[Schedule], accelerator: Accelerator, vendor_header: str | None) -> dict[str, str]:
    """Texts by file name. `vendor_header` is what kernels include, as in `include/machine.h`; without one it is
    `machine.h`. The folder `host` holds a header of that name and a recorder.

    Raises ConfigError where two kernels have one name, KernelError for what C cannot say.
    """
    check_names(schedules)
    header = vendor_header or f"{accelerator.name}.h"
    files = {f"{s.function}.c": kernel_source(s, accelerator, header) for s in schedules}
    operations = dispatches(schedules, accelerator)
    others = [operation.fallback for operation in operations if isinstance(operation.fallback, AnySize)]
    files |= {f"{kernel.function}.c": any_size_source(kernel, accelerator, header) for kernel in others}
    files[HEADER] = kernels_header(schedules, operations)
    files[DISPATCH] = dispatch_source(operations)
    files |= layer_files(layers(schedules))
    files[DOCUMENT] = document(schedules, operations, accelerator, header).model_dump_json(indent=2) + "\n"
    files[f"{HOST_FOLDER}/{header}"] = accelerator_header(accelerator)
    files[f"{HOST_FOLDER}/{RECORDER}"] = recorder(accelerator)
    return files
