"""A hardware design as a compiled model: its sources, its ports, and the drivers that run it."""
