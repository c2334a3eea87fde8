"""What each kind of declaration adds to an accelerator, one module for each kind."""
