"""Views of runs: their tables, progress, costs and predictions."""
