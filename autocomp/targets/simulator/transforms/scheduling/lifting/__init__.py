"""From a kernel's commands to what it computes: whatever its text looks like."""
