"""Asking a model: endpoints, exchanges over HTTP, limits, what it costs, and answers kept."""
