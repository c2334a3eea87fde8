"""Schedules: the fastest kernels known, one reviewable file each.

What is imported here needs the standard library alone, so that a compiler can look up schedules without the rest.
`autocomp.schedules.store` has the store, `autocomp.schedules.record` the records.
"""

from autocomp.schedules.index import Entry, Stored
from autocomp.schedules.library import Library, Match, lookup, why_none

__all__ = ["Entry", "Library", "Match", "Stored", "lookup", "why_none"]
