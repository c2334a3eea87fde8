"""Search for fast, proven kernels for tensor accelerators."""
