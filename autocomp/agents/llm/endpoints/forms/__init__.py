"""The forms in which an API is asked and answers."""
