"""Kernels as computations and schedules: lifted from what a kernel does, lowered to a kernel by a schedule."""
