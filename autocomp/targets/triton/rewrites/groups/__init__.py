"""Kernels by groups of warps, written out in Gluon."""
