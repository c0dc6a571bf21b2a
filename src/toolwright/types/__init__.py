"""The types room."""
