"""Files of the working folders: the boundary, reading, writing in one step, checkpoints, what a session has read."""
