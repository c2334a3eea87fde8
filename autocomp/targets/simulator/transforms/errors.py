"""What a transformation says where it does not apply."""

from __future__ import annotations

from autocomp.errors import NotApplicable as NotApplicable
