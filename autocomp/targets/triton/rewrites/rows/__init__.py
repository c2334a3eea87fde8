"""Rewrites of kernels that go through rows."""
