"""The permissions room."""
