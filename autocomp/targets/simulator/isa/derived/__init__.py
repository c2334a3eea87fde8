"""Facts that a description does not state, derived from the semantics of its instructions."""
