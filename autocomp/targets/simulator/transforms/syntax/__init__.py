"""The syntax tree: walking, rewriting, loops and nests, integer expressions."""
