"""Facts about a kernel: its calls and operands, the machine's limits and settings, rough times."""
