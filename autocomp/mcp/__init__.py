"""A server of the Model Context Protocol: a coding agent optimises a kernel by itself, before our judge."""
