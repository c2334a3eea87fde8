"""From a computation and a schedule to a kernel."""
