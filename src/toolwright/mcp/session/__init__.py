"""Tool servers of one session: the toolbox, tools as the model sees them, resources, prompts, sampling, tool search."""
