"""Checks of a kernel's functions, which emit bytecode as they go."""
