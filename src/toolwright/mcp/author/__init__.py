"""Tools written in Python: `@tool`, functions, their schemas, and the in-process servers that hold them."""
