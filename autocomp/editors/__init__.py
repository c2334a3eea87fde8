"""Help for editors of machine descriptions (`.isa`): mistakes as one types, hover and completion."""
