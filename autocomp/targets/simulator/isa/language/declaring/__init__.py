"""The additions of each kind of declaration to an accelerator, one module for each kind."""
