"""The log of a run: the content of its folder, from which everything else is rebuilt."""
