"""Kernels as text: Python modules with Triton functions, parsed and checked, never imported."""

from __future__ import annotations

from autocomp.targets.triton.language.check import check_module as check_module
from autocomp.targets.triton.language.fingerprint import fingerprint as fingerprint
from autocomp.targets.triton.language.module import Launch as Launch
from autocomp.targets.triton.language.module import Module as Module
from autocomp.targets.triton.language.module import parse as parse

__all__ = ["Launch", "Module", "check_module", "fingerprint", "parse"]
