"""Measurements: `make bench` and `make fidelity`."""
