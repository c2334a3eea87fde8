"""The workbench of an agent that works by itself: a session before our judge, and its tools."""
