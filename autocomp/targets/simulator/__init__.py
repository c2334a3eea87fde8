"""Accelerators that one description defines, on the cycle-level simulator."""
