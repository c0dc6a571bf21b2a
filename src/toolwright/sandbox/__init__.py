"""Where commands are held: the sandbox and the cage, their policies, backends and probes."""
