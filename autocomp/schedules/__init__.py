"""Schedules: the fastest kernels known, one reviewable file each."""

from autocomp.schedules.record import ScheduleRecord
from autocomp.schedules.store import Store, all_schedules, find, user_root

__all__ = ["ScheduleRecord", "Store", "all_schedules", "find", "user_root"]
