"""Triton reads how it is to run when it is imported: before any test of this folder, say that there is no GPU."""

from __future__ import annotations

import os

os.environ.setdefault("TRITON_INTERPRET", "1")
