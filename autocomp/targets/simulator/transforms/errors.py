"""What a transformation says where it does not apply."""

from __future__ import annotations

from autocomp.errors import AutocompError


class NotApplicable(AutocompError):
    """A transformation does not fit a kernel, or not with these parameters; the message says why."""
