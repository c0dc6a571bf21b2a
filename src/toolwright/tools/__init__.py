"""The tools room."""
