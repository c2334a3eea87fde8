"""The workbench over the Model Context Protocol, for coding agents."""
