"""From a manual to the description of a machine: a model drafts, we check, a person settles what is left."""
