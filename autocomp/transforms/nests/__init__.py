"""Transformations of loop nests."""
