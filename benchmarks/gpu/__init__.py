"""Searches for GPU kernels, and what they reach beside libraries, compilers and others' kernels on the same device."""
