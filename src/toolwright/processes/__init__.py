"""Child processes: starting them, their output, environment and limits, and the end of everything that came of them."""
