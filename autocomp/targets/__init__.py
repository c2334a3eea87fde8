"""The targets that kernels are written for and judged by: one package for each target."""
