"""From text to syntax tree, and back."""
