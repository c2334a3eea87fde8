"""Building blocks that move data: addresses, copies, background moves, settings, synchronisation."""
