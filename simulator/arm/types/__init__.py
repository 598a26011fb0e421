"""One resource type a module."""
