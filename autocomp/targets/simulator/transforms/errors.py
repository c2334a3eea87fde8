"""The error of a transformation that does not apply."""

from __future__ import annotations

from autocomp.errors import NotApplicable as NotApplicable
