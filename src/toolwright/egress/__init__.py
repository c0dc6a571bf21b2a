"""The only way out of a sandbox's network: a filtering proxy, and the namespace it is reached from."""
