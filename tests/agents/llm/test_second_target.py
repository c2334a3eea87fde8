"""A model plans and writes kernels for a target of another package, in that target's own words."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import Reply, Request, Run, ScriptedServer, completion

KERNEL = "program:\nrows 16\ncolumns 16\nbeads 4\n"


def answer(request: Request) -> Reply:
    """A plan, and the kernel for it in a fenced block of the target's language."""
    task = request.body["messages"][-1]["content"]
    if "Write no kernel." in task:
        return completion(json.dumps({"plans": [{"option": "rows", "plan": "Take all at once.", "gain": [2, 500]}]}))
    return completion(f"Here it is.\n```words\n{KERNEL}```\n")


def test_a_model_writes_kernels_of_another_language(
    server: ScriptedServer, command: Run, abacus: str, tmp_path: Path
) -> None:
    server.respond = answer
    (tmp_path / "product.yaml").write_text(f"operation: gemm\ntarget: {abacus}\ndims: {{I: 32, J: 32, K: 8}}\n")
    fixed = ["--steps", "1", "--workers", "1", "--dropout", "0", "--reuse", "0", "--run-dir", "run", "--json"]
    code, out, err = command("search", "product.yaml", "--planner", server.spec, "--coder", server.spec, *fixed)
    assert code == 0, err
    assert Path(json.loads(out)["kernel"]).read_text() == KERNEL
    prompts = "\n".join(request.prompt for request in server.requests)
    assert "You know the abacus." in prompts
    assert "products/s" in prompts
    assert "cycles" not in prompts
