"""A model and its address, `openai:MODEL` or `openai:MODEL@BASE_URL`, and the place of its key."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from autocomp.errors import ConfigError, ModelError

PUBLIC_BASE_URL = "https://api.openai.com/v1"
KEY_VARIABLES = ("AUTOCOMP_API_KEY", "OPENAI_API_KEY")
KEYRING_SERVICE = "autocomp"
SHORTEST_SECRET = 16
_HOST = re.compile(r"[A-Za-z0-9_.:%-]+")
_FORM = "write openai:MODEL, or openai:MODEL@BASE_URL as in openai:my-model@http://localhost:8080/v1"


@dataclass(frozen=True)
class Endpoint:
    """A model and the address it is asked at. Holds no key, so that it may be written anywhere."""

    model: str
    base_url: str

    @property
    def public(self) -> bool:
        return self.base_url == PUBLIC_BASE_URL


def parse_spec(spec: str, environment: Mapping[str, str] = os.environ) -> Endpoint:
    """The endpoint that a spec names; without an address OPENAI_BASE_URL counts, else the public one.

    Raises ConfigError for another form, and for an address that carries a user, a password or a query: specs are
    stored with a run, and secrets must not be.
    """
    provider, colon, rest = spec.partition(":")
    if provider != "openai" or not colon:
        raise ConfigError(f"{spec!r} names no model endpoint", hint=_FORM)
    model, at, address = rest.partition("@")
    if at and not re.match(r"https?://", address):
        if re.search(r"[:/]", address):
            raise ConfigError(f"{spec!r}: an address starts with http:// or https://", hint=_FORM)
        model, address = rest, ""
    if not model:
        raise ConfigError(f"{spec!r} names no model", hint=_FORM)
    return Endpoint(model, _checked(address or environment.get("OPENAI_BASE_URL") or PUBLIC_BASE_URL))


def api_key(endpoint: Endpoint, variable: str | None = None, environment: Mapping[str, str] = os.environ) -> str | None:
    """The key, or None for an endpoint that may do without one. It comes from the environment (`variable` if one is
    named), else from the keyring of the operating system, under the service "autocomp" and the endpoint's host.

    Raises ModelError where one is needed, or the keyring is locked.
    """
    for name in (variable,) if variable else KEY_VARIABLES:
        if environment.get(name):
            return environment[name]
    host = urlsplit(endpoint.base_url).hostname or ""
    kept = _kept_key(host)
    if kept is None and (endpoint.public or variable):
        raise ModelError(
            f"{endpoint.base_url} needs a key and {variable or 'the environment'} has none",
            hint=f"set {variable or 'OPENAI_API_KEY'}, keep it with `keyring set {KEYRING_SERVICE} {host}`, or name an "
            "endpoint of your own: openai:MODEL@http://localhost:8080/v1",
        )
    return kept


def _kept_key(host: str) -> str | None:
    """The key in the operating system's keyring; None without one, or without the package `keyring`."""
    try:
        import keyring
        from keyring.errors import KeyringError, NoKeyringError
    except ImportError:
        return None
    try:
        return keyring.get_password(KEYRING_SERVICE, host)
    except NoKeyringError:
        return None
    except KeyringError as error:
        raise ModelError(
            f"the keyring does not give the key of {host}: {error}", hint="unlock it, or set OPENAI_API_KEY"
        ) from error


def redacted(text: str, key: str | None) -> str:
    """The text without the key, should an endpoint echo it. A short key such as "x" or "none" is a placeholder for a
    local server, not a secret; removing it would damage the text."""
    return text.replace(key, "***") if key and len(key) >= SHORTEST_SECRET else text


def _checked(address: str) -> str:
    try:
        parts = urlsplit(address)
        well_formed = bool(_HOST.fullmatch(parts.hostname or "")) and (parts.port is None or parts.port > 0)
    except ValueError:  # of brackets, or a port out of range
        raise ConfigError(f"{address!r} is not an http(s) address of a model endpoint", hint=_FORM) from None
    if parts.username or parts.password or parts.query:
        raise ConfigError(
            "the address of a model endpoint carries a secret or a query",
            hint="give the plain address, and the key as OPENAI_API_KEY",
        )
    if parts.scheme not in ("http", "https") or not well_formed or re.search(r"[\s\x00-\x1f\x7f]", address):
        raise ConfigError(f"{address!r} is not an http(s) address of a model endpoint", hint=_FORM)
    return address.rstrip("/")
