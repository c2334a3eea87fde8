"""Reading and changing the syntax trees of kernel modules."""
