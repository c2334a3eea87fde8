"""Schedules: the fastest kernels known, one reviewable file each.

The imports here need only the standard library, so that a compiler can look up schedules without the other packages.
`autocomp.schedules.store` has the store, `autocomp.schedules.record` the records.
"""

from autocomp.schedules.index import Entry, Stored
from autocomp.schedules.library import Library, Match, lookup, why_none

__all__ = ["Entry", "Library", "Match", "Stored", "lookup", "why_none"]
