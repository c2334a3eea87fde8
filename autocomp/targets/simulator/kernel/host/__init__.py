"""The cycles of a machine's host."""
