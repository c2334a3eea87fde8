"""A run folder from somebody else names models; where they are asked, and with which key, is this user's word alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from autocomp.agents.llm.prompts import render_prompt
from autocomp.errors import ConfigError, ModelError, TrustError
from autocomp.targets.planning import Context

from .conftest import Run, ScriptedServer, completion

SECRET = "a-secret-of-mine-0123456789"


@pytest.fixture
def begun(server: ScriptedServer, command: Run, tmp_path: Path) -> dict[str, Any]:
    """The request of a run that was begun and can be resumed."""
    code, _, err = command(
        *("search", "small.yaml", "--planner", server.spec, "--run-dir", "run", "--menu", "few.yaml"),
        *("--steps", "1", "--workers", "1", "--evaluations", "1"),
    )
    assert code == 0, err
    Path("run/events.jsonl").write_text("")
    loaded: dict[str, Any] = json.loads(Path("run/config.json").read_text())
    loaded["options"]["evaluations"] = 3
    return loaded


def write(config: dict[str, Any]) -> None:
    Path("run/config.json").write_text(json.dumps(config))


def test_ones_own_run_asks_as_it_was_begun(server: ScriptedServer, command: Run) -> None:
    code, _, err = command(
        *("search", "small.yaml", "--planner", server.spec, "--run-dir", "run", "--menu", "few.yaml"),
        *("--steps", "1", "--workers", "1"),
    )
    asked = len(server.requests)
    assert (code, asked > 0) == (0, True), err
    Path("run/events.jsonl").write_text("")
    assert command("resume", "run", "--workers", "1")[0] == 0
    assert len(server.requests) > asked


def test_an_address_that_nobody_gave_is_not_asked(
    begun: dict[str, Any], server: ScriptedServer, command: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SECRET", SECRET)
    begun["agents"]["planner"][0]["key"] = "MY_SECRET"
    write(begun)
    code, _, err = command("resume", "run")
    assert code == TrustError.exit_code
    assert "MY_SECRET" in err
    assert "you have not allowed" in err
    assert server.requests == []


def test_the_command_line_says_where_its_models_are(
    begun: dict[str, Any], server: ScriptedServer, command: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key that the folder names is not used: the address was given without it."""
    monkeypatch.setenv("MY_SECRET", SECRET)
    begun["agents"]["planner"][0] |= {"key": "MY_SECRET", "model": "openai:test-model@http://127.0.0.1:9/v1"}
    write(begun)
    server.respond = lambda request: completion("1. Tile the loops.")
    code, _, err = command("resume", "run", "--planner", server.spec, "--workers", "1")
    assert code == ModelError.exit_code, err  # it was asked, and what it said is no plan
    assert server.requests
    assert all(SECRET not in str(request.headers) for request in server.requests)


def test_templates_come_from_the_user_alone(
    begun: dict[str, Any], server: ScriptedServer, command: Run, tmp_path: Path
) -> None:
    begun["agents"]["templates"] = str(tmp_path)
    write(begun)
    code, _, err = command("resume", "run", "--planner", server.spec)
    assert (code, "prompt templates" in err) == (TrustError.exit_code, True)
    assert server.requests == []


@pytest.mark.parametrize(
    "template",
    [
        "{{ cycler.__init__.__globals__.os.popen('touch owned').read() }}",
        "{{ workload.__class__.__mro__[-1].__subclasses__() }}",
        "{{ ''.__class__ }}",
        "{% for n in range(1000000000) %}{% endfor %}",
        "{{ menu.append(1) }}",
        "{{ 1 / 0 }}",
    ],
)
def test_a_template_is_no_program(
    context: Context, template: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.j2").write_text(template)
    with pytest.raises(ConfigError, match=r"plan\.j2"):
        render_prompt("plan", context, templates=tmp_path)
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize("name", ["../secret.j2", "/etc/passwd", "link.j2"])
def test_a_template_includes_no_file_from_elsewhere(context: Context, name: str, tmp_path: Path) -> None:
    (tmp_path / "secret.j2").write_text("secret")
    folder = tmp_path / "templates"
    folder.mkdir()
    (folder / "link.j2").symlink_to(tmp_path / "secret.j2")
    (folder / "plan.j2").write_text(f"{{% include {name!r} %}}")
    with pytest.raises(ConfigError, match="template"):
        render_prompt("plan", context, templates=folder)


def test_the_user_says_what_the_models_of_a_run_may_take(
    begun: dict[str, Any], server: ScriptedServer, command: Run
) -> None:
    """Whatever its author allowed, and its log grants on top."""
    begun["options"]["tokens"] = 10**9
    write(begun)
    grant = {
        "kind": "grant",
        "key": "grant",
        "evaluations": None,
        "seconds": None,
        "tokens": 10**9,
        "money": None,
        "t": 0,
    }
    Path("run/events.jsonl").write_text(json.dumps(grant) + "\n")
    code, out, err = command("resume", "run", "--planner", server.spec, "--tokens", "0", "--workers", "1", "--json")
    assert (code, server.requests) == (0, []), err
    assert json.loads(out)["reason"] == "budget of tokens spent"
