"""Help for editors of machine descriptions (`.isa`): errors while typing, hover and completion."""
