"""Rewrites of kernels that follow one another."""
