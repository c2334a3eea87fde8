"""Specs of models."""

from __future__ import annotations

import pytest

from autocomp.agents.llm import Endpoint, parse_spec
from autocomp.agents.llm.endpoints.endpoint import PUBLIC_BASE_URL, api_key
from autocomp.errors import ConfigError


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("openai:gpt", Endpoint("gpt", PUBLIC_BASE_URL)),
        ("openai:coder:7b@http://localhost:8080/v1/", Endpoint("coder:7b", "http://localhost:8080/v1")),
        ("openai:org/model@https://host/v1", Endpoint("org/model", "https://host/v1")),
        ("openai:model@2024", Endpoint("model@2024", PUBLIC_BASE_URL)),
    ],
)
def test_a_spec_names_a_model_and_perhaps_an_address(spec: str, expected: Endpoint) -> None:
    assert parse_spec(spec, {}) == expected


def test_the_environment_gives_the_address_that_a_spec_leaves_out() -> None:
    environment = {"OPENAI_BASE_URL": "http://there:1/v1"}
    assert parse_spec("openai:m", environment).base_url == "http://there:1/v1"
    assert parse_spec("openai:m@http://here/v1", environment).base_url == "http://here/v1"


def test_the_projects_own_key_comes_before_the_general_one() -> None:
    endpoint = parse_spec("openai:m", {})
    assert api_key(endpoint, environment={"OPENAI_API_KEY": "a", "AUTOCOMP_API_KEY": "b"}) == "b"
    assert api_key(endpoint, environment={"OPENAI_API_KEY": "a"}) == "a"
    assert api_key(Endpoint("m", "http://localhost/v1"), environment={}) is None


@pytest.mark.parametrize(
    "spec", ["gpt", "openai", "openai:", "other:m", "openai:@http://x/v1", "openai:m@localhost:80/v1"]
)
def test_another_form_is_refused_with_the_right_one(spec: str) -> None:
    with pytest.raises(ConfigError, match="openai:MODEL@BASE_URL"):
        parse_spec(spec, {})


@pytest.mark.parametrize("address", ["http://me:secret@host/v1", "https://host/v1?key=secret"])
def test_an_address_with_a_secret_is_refused_without_showing_it(address: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_spec(f"openai:m@{address}", {})
    assert "secret or" in str(caught.value)
    assert "key=secret" not in str(caught.value)
    assert "me:" not in str(caught.value)
