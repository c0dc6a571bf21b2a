"""The hooks room."""
